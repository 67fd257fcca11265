//! Every sum of a device against the CPU's.

use std::sync::Arc;

use visus_gpu::{Device, Limits, Luma, PairJob, PairSums, Work};
use visus_metrics::{Level, Metric, Pair, adm, motion, registry, vif};
use visus_video::{Format, Frame};

use crate::pictures::{self, Kind};
use crate::{Failure, table};

/// Metrics with their options, so that every branch of the kernels is taken.
const METRICS: &[(&str, &[(&str, &str)])] = &[
    ("vif", &[]),
    ("vif", &[("vif_enhn_gain_limit", "1")]),
    ("vif", &[("vif_enhn_gain_limit", "1.2")]),
    ("vif", &[("vif_enhn_gain_limit", "7")]),
    ("vif", &[("vif_enhn_gain_limit", "1.01")]),
    ("vif", &[("vif_skip_scale0", "true")]),
    ("adm", &[]),
    ("adm", &[("adm_enhn_gain_limit", "1")]),
    ("adm", &[("adm_enhn_gain_limit", "1.3"), ("adm_skip_aim", "true")]),
    ("adm", &[("adm_skip_scale0", "true"), ("adm_skip_aim", "true")]),
    ("adm", &[("adm_csf_mode", "1"), ("adm_noise_weight", "0")]),
    ("adm", &[("adm_csf_mode", "2"), ("adm_norm_view_dist", "5"), ("adm_enhn_gain_limit", "1.01")]),
    ("motion", &[]),
    ("motion", &[("motion_five_frame_window", "true")]),
    ("motion", &[("motion_force_zero", "true")]),
];

/// Sizes: the smallest, odd ones, a tile more or less, and common ones.
const SIZES: &[(usize, usize)] = &[
    (33, 33),
    (34, 47),
    (64, 64),
    (67, 129),
    (241, 57),
    (250, 66),
    (483, 99),
    (509, 73),
    (640, 360),
    (1023, 577),
    (1920, 1080),
];
const FEW_SIZES: &[(usize, usize)] = &[(33, 33), (67, 49), (253, 66)];
const DEPTHS: &[u8] = &[8, 9, 10, 12, 14, 15, 16];

/// Frames of a clip.
const FRAMES: u32 = 5;

/// Compares and prints a line for every format. With `few`, only small pictures.
pub fn run(few: bool) -> Result<(), Failure> {
    let device = crate::device()?;
    println!("{} against the CPU ({:?})", device.info().name, Level::detect());
    let metrics = metrics()?;
    let metrics: Vec<&dyn Metric> = metrics.iter().map(AsRef::as_ref).collect();
    let depths: &[u8] = if few { &[8, 10, 16] } else { DEPTHS };
    let (mut rows, mut differences) = (Vec::new(), 0);
    for (width, height) in if few { FEW_SIZES } else { SIZES } {
        for depth in depths.iter().filter(|depth| *width < 1000 || [8, 10].contains(depth)) {
            let format = pictures::luma_format(*width, *height, *depth)?;
            let mut counts = Counts::default();
            // The CPU's kernels wrap on samples beyond their depth, which a build with overflow checks refuses.
            let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Beyond || !cfg!(debug_assertions));
            for kind in kinds {
                compare_clip(&device, format, kind, &metrics, &mut counts)?;
            }
            differences += counts.differences;
            rows.push(vec![
                format!("{width}x{height}, {depth} bit"),
                counts.sums.to_string(),
                counts.differences.to_string(),
            ]);
        }
    }
    table::print(&["pictures", "sums", "differ"], &rows);
    if differences > 0 {
        return Err(format!("{differences} sums differ").into());
    }
    println!("all sums are equal");
    Ok(())
}

/// The metrics with their options.
pub fn metrics() -> Result<Vec<Box<dyn Metric>>, Failure> {
    METRICS.iter().map(|(name, options)| metric(name, options)).collect()
}

/// A metric with its options.
pub fn metric(name: &str, options: &[(&str, &str)]) -> Result<Box<dyn Metric>, Failure> {
    let info = registry::by_name(name).ok_or_else(|| format!("{name} is no metric"))?;
    let given: Vec<(String, String)> =
        options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Ok(registry::build(info, &given)?)
}

#[derive(Default)]
struct Counts {
    sums: usize,
    differences: usize,
}

impl Counts {
    fn add<T: PartialEq + std::fmt::Debug>(&mut self, what: &dyn Fn() -> String, device: T, cpu: T) {
        self.sums += 1;
        if device != cpu {
            self.differences += 1;
            if self.differences <= 4 {
                println!("{}\n  device {device:?}\n  cpu    {cpu:?}", what());
            }
        }
    }
}

fn compare_clip(
    device: &dyn Device,
    format: Format,
    kind: Kind,
    metrics: &[&dyn Metric],
    counts: &mut Counts,
) -> Result<(), Failure> {
    let clip: Vec<[Arc<Frame>; 2]> = (0..FRAMES).map(|index| pictures::pair(format, kind, index)).collect();
    let work = Work::new(format, metrics);
    let mut session = device.session(&work, Limits { batch: 3, slots: 2, ..Limits::default() })?;
    let mut sums = Vec::new();
    let jobs = jobs(&clip);
    for batch in jobs.chunks(session.batch()) {
        session.submit(batch.to_vec())?;
        if session.in_flight() == session.slots() {
            sums.extend(session.collect()?.unwrap_or_default());
        }
    }
    while let Some(batch) = session.collect()? {
        sums.extend(batch);
    }
    for (index, sums) in sums.iter().enumerate() {
        for (place, metric) in metrics.iter().enumerate() {
            compare_metric(&Case { format, kind, clip: &clip, index, place }, *metric, &work, sums, counts);
        }
    }
    Ok(())
}

/// All pairs of a clip.
pub fn jobs(clip: &[[Arc<Frame>; 2]]) -> Vec<PairJob> {
    let reference = |index: usize| -> Arc<dyn Luma> { clip[index][0].clone() };
    (0..clip.len())
        .map(|index| PairJob {
            reference: reference(index),
            distorted: clip[index][1].clone(),
            earlier: [1, 2].map(|distance| index.checked_sub(distance).map(reference)),
        })
        .collect()
}

struct Case<'a> {
    format: Format,
    kind: Kind,
    clip: &'a [[Arc<Frame>; 2]],
    index: usize,
    place: usize,
}

impl Case<'_> {
    fn pair(&self, index: usize) -> Pair<'_> {
        Pair { reference: &self.clip[index][0], distorted: &self.clip[index][1] }
    }
}

/// Sums that no score reads (the finest scale of one that leaves it out) are not compared.
fn compare_metric(case: &Case<'_>, metric: &dyn Metric, work: &Work, sums: &PairSums, counts: &mut Counts) {
    let Case { format, kind, index, place, .. } = *case;
    let (name, options) = METRICS[place];
    let what = || format!("{name} {options:?}: {format}, {kind:?}, frame {index}");
    if !work.has(place) {
        counts.add(&what, "nothing", "sums");
        return;
    }
    let level = Level::detect();
    if let Some(cpu) = vif::device::sums(metric, &format, level, case.pair(index)) {
        let gain = vif::device::work(metric, &format).and_then(|vif| work.gain_place(vif.gain_limit));
        let first = usize::from(options.iter().any(|(key, _)| *key == "vif_skip_scale0"));
        for scale in first..4 {
            let what = || format!("{} scale {scale}", what());
            counts.add(&what, gain.map(|gain| sums.vif(gain)[scale]), Some(cpu[scale]));
        }
    }
    if let Some(cpu) = adm::device::sums(metric, &format, level, case.pair(index)) {
        let variant = adm::device::work(metric, &format).and_then(|adm| work.adm_place(&adm));
        for scale in 0..4 {
            let what = || format!("{} scale {scale}", what());
            counts.add(&what, variant.map(|variant| sums.adm(variant)[scale]), Some(cpu[scale]));
        }
    }
    if let Some(distance) = motion::device::work(metric, &format).and_then(|motion| motion.distance) {
        let cpu = index.checked_sub(distance).and_then(|earlier| {
            motion::device::sum(&format, level, case.pair(earlier), case.pair(index))
        });
        counts.add(&what, sums.motion(distance), cpu);
    }
}
