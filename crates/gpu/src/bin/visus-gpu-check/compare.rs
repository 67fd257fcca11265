//! Every raw number of a device against the CPU's.

use visus_gpu::{Device, Limits, PairJob, PairSums, Work};
use visus_metrics::{ClipInfo, Level, Metric, Pair, Window, registry};
use visus_video::{Chroma, Format, SharedFrame};

use crate::pictures::{self, Kind};
use crate::{Failure, table};

/// A metric's name and its options.
pub type NamedMetric = (&'static str, &'static [(&'static str, &'static str)]);

/// Metrics with their options, so that every branch of the kernels is taken; with numerators and denominators.
const METRICS: &[NamedMetric] = &[
    ("vif", &[("debug", "true")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "1")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "1.2")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "7")]),
    ("vif", &[("debug", "true"), ("vif_enhn_gain_limit", "1.01")]),
    ("vif", &[("debug", "true"), ("vif_skip_scale0", "true")]),
    ("adm", &[("debug", "true")]),
    ("adm", &[("debug", "true"), ("adm_enhn_gain_limit", "1")]),
    ("adm", &[("debug", "true"), ("adm_enhn_gain_limit", "1.3"), ("adm_skip_aim", "true")]),
    ("adm", &[("debug", "true"), ("adm_skip_scale0", "true"), ("adm_skip_aim", "true")]),
    ("adm", &[("debug", "true"), ("adm_csf_mode", "1"), ("adm_noise_weight", "0")]),
    (
        "adm",
        &[
            ("debug", "true"),
            ("adm_csf_mode", "2"),
            ("adm_norm_view_dist", "5"),
            ("adm_enhn_gain_limit", "1.01"),
        ],
    ),
    ("motion", &[]),
    ("motion", &[("motion_five_frame_window", "true"), ("motion_fps_weight", "2")]),
    ("motion", &[("motion_force_zero", "true")]),
];

/// What v1 needs beside these. Sums of strengths over all pixels of strong bands depend on their order, which a share of 1
/// brings about.
const METRICS_V1: &[NamedMetric] = &[
    ("cambi", &[]),
    (
        "cambi",
        &[("cambi_high_res_speedup", "1080"), ("cambi_vis_lum_threshold", "0.06"), ("cambi_max_val", "17")],
    ),
    ("cambi", &[("cambi_high_res_speedup", "1080"), ("cambi_vis_lum_threshold", "0.06")]),
    ("cambi", &[("max_log_contrast", "1"), ("topk", "0.05"), ("eotf", "pq")]),
    ("cambi", &[("max_log_contrast", "0"), ("enc_bitdepth", "10"), ("tvi_threshold", "0.01")]),
    ("cambi", &[("topk", "1")]),
    ("speed_chroma", &[]),
    (
        "speed_chroma",
        &[
            ("speed_nn_floor", "0.1"),
            ("speed_sigma_nn", "0.19"),
            ("speed_weight_var_mode", "5"),
            ("speed_max_val", "45"),
        ],
    ),
    ("speed_chroma", &[("speed_kernelscale", "0.5")]),
    ("speed_chroma", &[("speed_kernelscale", "3"), ("speed_weight_var_mode", "3")]),
];

/// Sizes for these: the smallest, odd ones, and common ones.
const SIZES_V1: &[(usize, usize)] =
    &[(216, 160), (333, 217), (640, 360), (1023, 577), (1920, 1080), (2562, 1442), (3840, 2160)];
const FEW_SIZES_V1: &[(usize, usize)] = &[(217, 161)];

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
const FEW_SIZES: &[(usize, usize)] = &[(33, 35), (253, 66)];
const DEPTHS: &[u8] = &[8, 9, 10, 12, 14, 15, 16];

/// Frames of a clip.
const FRAMES: u32 = 5;

/// Compares and prints a line for every format. With `few`, only what an emulated device computes in seconds; of
/// the formats, only those whose number leaves the rest `part` when it is divided by `parts`.
pub fn run(few: bool, [part, parts]: [usize; 2]) -> Result<(), Failure> {
    let device = crate::device()?;
    println!("{} against the CPU ({:?})", device.info().name, Level::detect());
    let mut rows = Vec::new();
    let sizes = if few { [FEW_SIZES, FEW_SIZES_V1] } else { [SIZES, SIZES_V1] };
    let sets = [(METRICS, Chroma::C400, sizes[0]), (METRICS_V1, Chroma::C420, sizes[1])];
    let (mut differences, mut number) = (0, 0);
    for (names, chroma, sizes) in sets {
        let metrics: Result<Vec<_>, _> = names.iter().map(|(name, options)| metric(name, options)).collect();
        let set = Set { names, metrics: metrics? };
        for (width, height) in sizes {
            for depth in depths(few, *width) {
                number += 1;
                if number % parts != part {
                    continue;
                }
                let counts =
                    compare_format(&device, Format::new(*width, *height, chroma, *depth)?, &set, few)?;
                differences += counts.differences;
                rows.push(vec![
                    format!("{width}x{height}, {depth} bit"),
                    counts.numbers.to_string(),
                    counts.differences.to_string(),
                    counts.ordered.to_string(),
                ]);
            }
        }
    }
    table::print(&["pictures", "numbers", "differ", "ordered sums"], &rows);
    if differences > 0 {
        return Err(format!("{differences} numbers differ").into());
    }
    println!("all numbers are equal");
    Ok(())
}

/// Metrics that are compared together.
struct Set {
    names: &'static [NamedMetric],
    metrics: Vec<Box<dyn Metric>>,
}

fn compare_format(device: &dyn Device, format: Format, set: &Set, few: bool) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let frames = match (few, format.width()) {
        (true, _) => 3,
        (_, 2000..) => 2,
        _ => FRAMES,
    };
    // CAMBI refuses samples beyond their depth.
    let has_cambi = set.names.iter().any(|(name, _)| *name == "cambi");
    for kind in kinds(few).into_iter().filter(|kind| !(has_cambi && *kind == Kind::Beyond)) {
        compare_clip(device, format, kind, frames, set, &mut counts)?;
    }
    Ok(counts)
}

fn depths(few: bool, width: usize) -> &'static [u8] {
    match (few, width) {
        (true, 253..) => &[8],
        (true, _) => &[8, 10, 16],
        (_, 1000..) => &[8, 10],
        _ => DEPTHS,
    }
}

fn kinds(few: bool) -> Vec<Kind> {
    if few {
        return vec![Kind::Noise, Kind::Squares, Kind::Enhanced, Kind::Bands];
    }
    // The CPU's kernels wrap on samples beyond their depth, which a build with overflow checks refuses.
    Kind::ALL.into_iter().filter(|kind| *kind != Kind::Beyond || !cfg!(debug_assertions)).collect()
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
    numbers: usize,
    differences: usize,
    /// Sums of CAMBI that needed all strengths.
    ordered: usize,
}

fn compare_clip(
    device: &dyn Device,
    format: Format,
    kind: Kind,
    frames: u32,
    Set { names, metrics }: &Set,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let clip: Vec<[SharedFrame; 2]> = (0..frames).map(|index| pictures::pair(format, kind, index)).collect();
    let work = Work::new(&format.into(), metrics.iter().map(AsRef::as_ref));
    let places = work.places().len();
    if places != metrics.len() {
        return Err(format!("the device takes {places} of {} metrics", metrics.len()).into());
    }
    let sums = sums(device, &work, &clip)?;
    counts.ordered += sums.iter().map(PairSums::ordered_sums).sum::<usize>();
    let clip_info = ClipInfo::from(format);
    for (place, metric) in metrics.iter().enumerate() {
        let mut extractor = metric.extractor(&clip_info, Level::detect())?;
        let mut row = [vec![0.0; metric.raw_len()], vec![0.0; metric.raw_len()]];
        for (index, sums) in sums.iter().enumerate() {
            let [device_row, cpu_row] = &mut row;
            work.finish(place, index as u64, sums, device_row)?;
            extractor.extract(&window(&clip, index), cpu_row)?;
            let what = || format!("{:?}: {format}, {kind:?}, frame {index}", names[place]);
            counts.add(device_row, cpu_row, &what);
        }
    }
    Ok(())
}

impl Counts {
    /// The bits count: a NaN has a sign in reports.
    fn add(&mut self, device: &[f64], cpu: &[f64], what: &dyn Fn() -> String) {
        self.numbers += device.len();
        let differ = device.iter().zip(cpu).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
        if differ > 0 && self.differences < 40 {
            println!("{}\n  device {device:?}\n  cpu    {cpu:?}", what());
        }
        self.differences += differ;
    }
}

fn sums(device: &dyn Device, work: &Work, clip: &[[SharedFrame; 2]]) -> Result<Vec<PairSums>, Failure> {
    let mut session = device.session(work, Limits { batch: 3, slots: 2, ..Limits::default() })?;
    let mut sums = Vec::new();
    for batch in jobs(clip).chunks(session.batch()) {
        session.submit(batch.to_vec())?;
        if session.in_flight() == session.slots() {
            sums.extend(session.collect()?.unwrap_or_default());
        }
    }
    while let Some(batch) = session.collect()? {
        sums.extend(batch);
    }
    Ok(sums)
}

/// All pairs of a clip.
pub fn jobs(clip: &[[SharedFrame; 2]]) -> Vec<PairJob> {
    let reference = |index: usize| clip[index][0].clone();
    (0..clip.len())
        .map(|index| PairJob {
            reference: reference(index),
            distorted: clip[index][1].clone(),
            earlier: [1, 2].map(|distance| index.checked_sub(distance).map(reference)),
        })
        .collect()
}

fn window(clip: &[[SharedFrame; 2]], index: usize) -> Window<'_> {
    let pair = |index: usize| Pair { reference: &clip[index][0], distorted: &clip[index][1] };
    Window {
        index: index as u64,
        current: pair(index),
        previous: index.checked_sub(1).map(pair),
        before_previous: index.checked_sub(2).map(pair),
    }
}
