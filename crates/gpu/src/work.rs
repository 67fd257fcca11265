//! What a device computes of a plan: each distinct sum once, and who reads it.

use visus_metrics::device::{
    AdmTask, CambiTask, DeviceTask, MotionSettings, PsnrTask, SpeedTask, VifSettings,
};
use visus_metrics::{ClipInfo, Metric, MetricError};
use visus_video::Format;

use crate::arguments::MAX_GAINS;
use crate::sums::PairSums;

/// The kernels mirror a picture's edges once, and leave libvmaf's figures for the tiniest pictures to the CPU.
pub const SMALLEST_SIDE: usize = 33;

/// A metric, and where it finds its sums.
#[derive(Clone, Debug)]
enum Reader {
    /// The limit of the gain, by its place.
    Vif(VifSettings, usize),
    /// The variant, by its place.
    Adm(Box<AdmTask>, usize),
    Motion(MotionSettings),
    Psnr(PsnrTask),
    Cambi(Box<CambiTask>, usize),
    Speed(Box<SpeedTask>, usize),
}

/// The sums that a set of metrics needs of pictures of one format.
#[derive(Clone, Debug)]
pub struct Work {
    pub(crate) format: Format,
    pub(crate) gains: Vec<f64>,
    /// Whether some VIF scores the finest scale.
    pub(crate) vif_scale0: bool,
    pub(crate) adm: Vec<AdmTask>,
    /// Whether motion is wanted at a distance of one frame, and of two.
    pub(crate) distances: [bool; 2],
    /// Planes of which PSNR is wanted: none, luma, or all.
    pub(crate) psnr_planes: usize,
    pub(crate) cambi: Vec<CambiTask>,
    pub(crate) speed: Vec<SpeedTask>,
    readers: Vec<Option<Reader>>,
}

impl Work {
    /// What of these metrics a device with all kernels can sum up.
    pub fn new<'a>(clip: &ClipInfo, metrics: impl IntoIterator<Item = &'a dyn Metric>) -> Self {
        Self::of(clip, metrics, |_| true)
    }

    /// What of these metrics a device can sum up that has kernels for some of them.
    pub fn of<'a>(
        clip: &ClipInfo,
        metrics: impl IntoIterator<Item = &'a dyn Metric>,
        takes: impl Fn(&DeviceTask) -> bool,
    ) -> Self {
        let mut work = Self {
            format: clip.format,
            gains: Vec::new(),
            vif_scale0: false,
            adm: Vec::new(),
            distances: [false; 2],
            psnr_planes: 0,
            cambi: Vec::new(),
            speed: Vec::new(),
            readers: Vec::new(),
        };
        let large_enough = clip.format.width().min(clip.format.height()) >= SMALLEST_SIDE;
        for metric in metrics {
            let task = metric.device_task(clip).filter(|task| large_enough && takes(task));
            let reader = task.map(|task| work.add(task));
            work.readers.push(reader);
        }
        work
    }

    fn add(&mut self, task: DeviceTask) -> Reader {
        match task {
            DeviceTask::Vif(vif) => {
                self.vif_scale0 |= !vif.skip_scale0;
                let gain = place(&mut self.gains, vif.gain_limit, |a, b| a == b);
                Reader::Vif(vif, gain)
            }
            DeviceTask::Adm(adm) => {
                let variant = place(&mut self.adm, (*adm).clone(), has_sums_of);
                Reader::Adm(adm, variant)
            }
            DeviceTask::Motion(motion) => {
                if !motion.force_zero {
                    self.distances[usize::from(motion.distance == 2)] = true;
                }
                Reader::Motion(motion)
            }
            DeviceTask::Psnr(psnr) => {
                self.psnr_planes = self.psnr_planes.max(psnr.planes);
                Reader::Psnr(psnr)
            }
            DeviceTask::Cambi(cambi) => {
                let variant = place(&mut self.cambi, (*cambi).clone(), CambiTask::has_sums_of);
                Reader::Cambi(cambi, variant)
            }
            DeviceTask::Speed(speed) => {
                let variant = place(&mut self.speed, (*speed).clone(), SpeedTask::has_planes_of);
                Reader::Speed(speed, variant)
            }
        }
    }

    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The metrics that the device computes, by their places in the set.
    pub fn places(&self) -> Vec<usize> {
        (0..self.readers.len()).filter(|place| self.readers[*place].is_some()).collect()
    }

    /// How many earlier pairs the device looks at.
    pub fn history(&self) -> usize {
        (0..2).rev().find(|place| self.distances[*place]).map_or(0, |place| place + 1)
    }

    /// Whether [`finish`](Self::finish) takes long enough to be worth threads of its own.
    pub fn finishes_slowly(&self) -> bool {
        !self.speed.is_empty()
    }

    /// Whether chroma planes are looked at.
    pub fn needs_chroma(&self) -> bool {
        !self.speed.is_empty() || self.psnr_planes > 1
    }

    /// How many launches of the VIF statistic a scale takes.
    pub(crate) fn gain_groups(&self) -> usize {
        self.gains.len().div_ceil(MAX_GAINS)
    }

    /// The row of raw numbers of a metric of the set, from the sums of pair `index`. Nothing is written if the device does
    /// not compute that metric.
    pub fn finish(
        &self,
        place: usize,
        index: u64,
        sums: &PairSums,
        raw: &mut [f64],
    ) -> Result<(), MetricError> {
        match self.readers.get(place).and_then(Option::as_ref) {
            None => {}
            Some(Reader::Vif(vif, gain)) => vif.finish(&sums.vif(*gain), raw),
            Some(Reader::Adm(adm, variant)) => adm.finish().finish(&sums.adm(*variant), raw),
            Some(Reader::Motion(motion)) => {
                let sum = if motion.force_zero { None } else { sums.motion(motion.distance as usize) };
                motion.finish(sum, &self.format, raw);
            }
            Some(Reader::Psnr(psnr)) => psnr.finish(sums.psnr(), raw),
            Some(Reader::Cambi(cambi, variant)) => {
                if sums.is_above_peak(*variant) {
                    return Err(cambi.above_peak(index));
                }
                let strengths = |scale: usize| sums.strengths.get(&(*variant, scale)).cloned();
                cambi.finish(&sums.cambi(*variant), strengths, raw);
            }
            Some(Reader::Speed(speed, variant)) => speed.finish(sums.speed(*variant), raw),
        }
        Ok(())
    }
}

/// Whether two sets of options differ in what is made of the sums only.
fn has_sums_of(a: &AdmTask, b: &AdmTask) -> bool {
    let weights = |task: &AdmTask| task.scales.each_ref().map(|scale| scale.csf);
    a.gain_limit == b.gain_limit
        && (a.skip_scale0, a.skip_aim) == (b.skip_scale0, b.skip_aim)
        && weights(a) == weights(b)
}

/// Where `value` stands in the list, at its end if it is new.
fn place<T>(list: &mut Vec<T>, value: T, same: impl Fn(&T, &T) -> bool) -> usize {
    list.iter().position(|known| same(known, &value)).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}
