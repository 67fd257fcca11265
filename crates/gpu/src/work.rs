//! What a device computes of a plan: each distinct sum once, and who reads it.

use visus_metrics::{Metric, adm, motion, vif};
use visus_video::Format;

use crate::arguments::MAX_GAINS;
use crate::sums::PairSums;

/// The kernels mirror a picture's edges once, and leave libvmaf's figures for the tiniest pictures to the CPU.
pub const SMALLEST_SIDE: usize = 33;

/// Where a metric finds its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The limit of the gain, by its place.
    Vif(usize),
    /// The variant, by its place.
    Adm(usize),
    /// At this distance, or zero throughout.
    Motion(Option<usize>),
}

/// The sums that a set of metrics needs of pictures of one format.
#[derive(Clone, Debug)]
pub struct Work {
    pub(crate) format: Format,
    pub(crate) gains: Vec<f64>,
    /// Whether some VIF scores the finest scale.
    pub(crate) vif_scale0: bool,
    pub(crate) adm: Vec<adm::device::Work>,
    /// Whether motion is wanted at a distance of one frame, and of two.
    pub(crate) distances: [bool; 2],
    sources: Vec<Option<Source>>,
}

impl Work {
    /// What of these metrics a device can sum up.
    pub fn new(format: Format, metrics: &[&dyn Metric]) -> Self {
        let mut work = Self {
            format,
            gains: Vec::new(),
            vif_scale0: false,
            adm: Vec::new(),
            distances: [false; 2],
            sources: Vec::new(),
        };
        for metric in metrics {
            let source = work.add(*metric);
            work.sources.push(source);
        }
        work
    }

    fn add(&mut self, metric: &dyn Metric) -> Option<Source> {
        let format = self.format;
        if format.width().min(format.height()) < SMALLEST_SIDE {
            return None;
        }
        if let Some(vif) = vif::device::work(metric, &format) {
            self.vif_scale0 |= !vif.skip_scale0;
            return Some(Source::Vif(place(&mut self.gains, vif.gain_limit)));
        }
        if let Some(adm) = adm::device::work(metric, &format) {
            return Some(Source::Adm(place(&mut self.adm, adm)));
        }
        let motion = motion::device::work(metric, &format)?;
        if let Some(distance) = motion.distance {
            self.distances[distance - 1] = true;
        }
        Some(Source::Motion(motion.distance))
    }

    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Whether the device computes this metric, by its place in the set.
    pub fn has(&self, metric: usize) -> bool {
        self.sources.get(metric).is_some_and(Option::is_some)
    }

    /// Whether there is nothing for a device to do.
    pub fn is_empty(&self) -> bool {
        self.sources.iter().all(Option::is_none)
    }

    /// How many earlier pairs the device looks at.
    pub fn history(&self) -> usize {
        (0..2).rev().find(|place| self.distances[*place]).map_or(0, |place| place + 1)
    }

    /// Where the sums of a VIF with this limit of the gain stand.
    pub fn gain_place(&self, limit: f64) -> Option<usize> {
        self.gains.iter().position(|known| *known == limit)
    }

    /// Where the sums of an ADM with these options stand.
    pub fn adm_place(&self, work: &adm::device::Work) -> Option<usize> {
        self.adm.iter().position(|known| known == work)
    }

    /// How many launches of the VIF statistic a scale takes.
    pub(crate) fn gain_groups(&self) -> usize {
        self.gains.len().div_ceil(MAX_GAINS)
    }

    /// The row of raw numbers of a metric of the set, from the sums of a pair. False if the device does not compute it.
    pub fn finish(&self, place: usize, metric: &dyn Metric, sums: &PairSums, raw: &mut [f64]) -> bool {
        let done = match self.sources.get(place).copied().flatten() {
            None => None,
            Some(Source::Vif(gain)) => vif::device::finish(metric, &sums.vif(gain), raw),
            Some(Source::Adm(variant)) => {
                adm::device::finish(metric, &self.format, &sums.adm(variant), raw)
            }
            Some(Source::Motion(distance)) => {
                let sum = distance.and_then(|distance| sums.motion(distance));
                motion::device::finish(metric, &self.format, sum, raw)
            }
        };
        done.is_some()
    }
}

/// Where `value` stands in the list, at its end if it is new.
fn place<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}
