//! `float_adm`: how much detail a picture has lost and how much was added to it, in single precision.
//!
//! S. Li, F. Zhang, L. Ma, K. N. Ngan, "Image Quality Assessment by Separately Evaluating Detail Losses and Additive
//! Impairments", IEEE Transactions on Multimedia 13(5), 2011, with libvmaf's changes. Luma is transformed by wavelets
//! over four scales. At each, the distorted picture's coefficients are split into those that restore the reference's
//! and those that were added; either part is masked by the other and pooled. `adm2` compares the restored with the
//! reference, `aim` the added with the reference, and `adm3` combines both.
//!
//! Equal to libvmaf's plain C path to the last bit, on every machine; the module `reciprocal` says what that
//! depends on. No multiply-add is fused.

mod reciprocal;
mod scalar;
mod scale;
mod settings;
mod wavelet;

#[cfg(test)]
mod tests;

use visus_video::{Format, Frame};

use crate::picture::FloatPlane;
use crate::simd::Target;
use crate::{
    Appears, ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Options, Pair, PlanesRead, Spread,
    Window,
};

use scale::{Leftovers, Scale, SharedScales, Strengths, Workspace};
use settings::{OPTIONS, SCALES, Settings};
use wavelet::Axis;

/// What is taken from samples, on the 8-bit scale.
const MID_GREY: f32 = 128.0;

/// Features and their names in reports.
const FEATURES: [(&str, &str); 7] = [
    ("VMAF_feature_adm2_score", "adm2"),
    ("VMAF_feature_aim_score", "aim"),
    ("VMAF_feature_adm3_score", "adm3"),
    ("VMAF_feature_adm_scale0_score", "adm_scale0"),
    ("VMAF_feature_adm_scale1_score", "adm_scale1"),
    ("VMAF_feature_adm_scale2_score", "adm_scale2"),
    ("VMAF_feature_adm_scale3_score", "adm_scale3"),
];

const DEBUG_FEATURES: [&str; 10] = [
    "adm_num",
    "adm_den",
    "adm_num_scale0",
    "adm_den_scale0",
    "adm_num_scale1",
    "adm_den_scale1",
    "adm_num_scale2",
    "adm_den_scale2",
    "adm_num_scale3",
    "adm_den_scale3",
];

pub static INFO: Info = Info {
    name: "float_adm",
    help: "detail loss and additive impairment, in floating point",
    options: OPTIONS,
    features: &[
        "VMAF_feature_adm2_score",
        "VMAF_feature_aim_score",
        "VMAF_feature_adm3_score",
        "VMAF_feature_adm_scale0_score",
        "VMAF_feature_adm_scale1_score",
        "VMAF_feature_adm_scale2_score",
        "VMAF_feature_adm_scale3_score",
        "adm_num",
        "adm_den",
        "adm_scale0",
        "adm_num_scale0",
        "adm_den_scale0",
        "adm_num_scale1",
        "adm_den_scale1",
        "adm_num_scale2",
        "adm_den_scale2",
        "adm_num_scale3",
        "adm_den_scale3",
    ],
    build,
};

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let settings = Settings::new(options);
    let keys = keys(options, settings.debug);
    Ok(Box::new(FloatAdm { info, settings, keys }))
}

fn keys(options: &Options, debug: bool) -> Vec<Key> {
    let mut keys: Vec<Key> =
        FEATURES.iter().map(|(feature, short)| Key::new(feature, short, options)).collect();
    if debug {
        // Not among the features libvmaf makes names for, so its name never shows options.
        keys.push(Key { feature: "adm", name: "adm".to_owned(), appears: Appears::Frame(0) });
        keys.extend(DEBUG_FEATURES.iter().map(|feature| Key::new(feature, feature, options)));
    }
    keys
}

#[derive(Debug)]
struct FloatAdm {
    info: &'static Info,
    settings: Settings,
    keys: Vec<Key>,
}

impl Metric for FloatAdm {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn planes_read(&self) -> PlanesRead {
        PlanesRead::LUMA
    }

    fn extractor(&self, clip: &ClipInfo, _level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        let (width, height) = (format.width(), format.height());
        if Leftovers::needed(width, height)
            && let Some(reason) = Leftovers::refusal(width, height, &self.settings)
        {
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        Ok(Box::new(FloatAdmExtractor::new(self.settings.clone(), format)))
    }
}

#[derive(Debug)]
struct FloatAdmExtractor {
    settings: Settings,
    scales: Vec<Scale>,
    reference: FloatPlane,
    distorted: FloatPlane,
    workspace: Workspace,
    /// For pictures too small for the workspace alone.
    leftovers: Option<Leftovers>,
    /// For frames that several threads share: made with the first of them.
    shared: Option<SharedScales>,
    /// Totals below this count as zero.
    negligible: f64,
}

impl FloatAdmExtractor {
    fn new(settings: Settings, format: &Format) -> Self {
        let (width, height) = (format.width(), format.height());
        Self {
            scales: scales(&settings, width, height),
            settings,
            reference: FloatPlane::new(width, height),
            distorted: FloatPlane::new(width, height),
            workspace: Workspace::new(width),
            leftovers: Leftovers::needed(width, height).then(|| Leftovers::new(width, height)),
            shared: None,
            negligible: 1e-10 * (width * height) as f64 / (1920.0 * 1080.0),
        }
    }

    fn strengths(&mut self) -> [Strengths; SCALES] {
        let mut all = [Strengths::default(); SCALES];
        for (index, (scale, strengths)) in self.scales.iter().zip(&mut all).enumerate() {
            *strengths = if index == 0 && self.settings.skip_scale0 {
                self.workspace.shrink(scale, &mut self.reference);
                self.workspace.shrink(scale, &mut self.distorted);
                // Something to divide by.
                Strengths { original: 1e-10, ..Strengths::default() }
            } else {
                let Self { settings, reference, distorted, workspace, .. } = self;
                match &mut self.leftovers {
                    None => workspace.score(scale, settings, reference, distorted),
                    Some(leftovers) => leftovers.score(workspace, scale, settings, reference, distorted),
                }
            };
        }
        all
    }
}

fn scales(settings: &Settings, width: usize, height: usize) -> Vec<Scale> {
    let (mut columns, mut rows) = (Axis::new(width), Axis::new(height));
    let mut scales = Vec::with_capacity(SCALES);
    for weights in settings.weights {
        let (next_columns, next_rows) = (columns.next(), rows.next());
        scales.push(Scale::new(columns, rows, weights, settings));
        (columns, rows) = (next_columns, next_rows);
    }
    scales
}

impl Extractor for FloatAdmExtractor {
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        load(&mut self.reference, window.current.reference);
        load(&mut self.distorted, window.current.distorted);
        let strengths = self.strengths();
        self.write_scores(&strengths, raw);
        Ok(())
    }

    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        if spread.width() <= 1 || self.leftovers.is_some() {
            return self.extract(window, raw);
        }
        let Pair { reference, distorted } = window.current;
        for (plane, frame) in [(&mut self.reference, reference), (&mut self.distorted, distorted)] {
            // The kernels of this metric have no levels.
            let target = Target::new(Level::Scalar);
            plane.load_spread(frame.plane(0), frame.format().depth(), -MID_GREY, target, spread);
        }
        let strengths = self.shared_strengths(spread);
        self.write_scores(&strengths, raw);
        Ok(())
    }
}

impl FloatAdmExtractor {
    /// The same as [`strengths`](Self::strengths), from pictures that stay as they are.
    fn shared_strengths(&mut self, spread: &dyn Spread) -> [Strengths; SCALES] {
        let Self { settings, scales, reference, distorted, workspace, shared, .. } = self;
        let make = || SharedScales::new(reference.width(), reference.height());
        let shared = shared.get_or_insert_with(make);
        let mut all = [Strengths::default(); SCALES];
        for (index, (scale, strengths)) in scales.iter().zip(&mut all).enumerate() {
            *strengths = shared.score(index, scale, settings, [reference, distorted], workspace, spread);
        }
        all
    }

    fn write_scores(&self, strengths: &[Strengths; SCALES], raw: &mut [f64]) {
        let pooled = Pooled::new(strengths, &self.settings, self.negligible);
        let scores = pooled.scores(strengths, &self.settings);
        for (raw, score) in raw.iter_mut().zip(scores) {
            *raw = score;
        }
    }
}

fn load(plane: &mut FloatPlane, frame: &Frame) {
    plane.load(frame.plane(0), frame.format().depth(), -MID_GREY);
}

/// The scales' strengths put together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pooled {
    restored: f64,
    original: f64,
    detail: f64,
    additive: f64,
}

impl Pooled {
    fn new(strengths: &[Strengths; SCALES], settings: &Settings, negligible: f64) -> Self {
        let sum = |part: fn(&Strengths) -> f32| strengths.iter().map(|s| f64::from(part(s))).sum();
        let flush = |value: f64| if value < negligible { 0.0 } else { value };
        let (restored, original) = (flush(sum(|s| s.restored)), flush(sum(|s| s.original)));
        let counted = || {
            let skipped = settings.scale_without_additive;
            strengths.iter().enumerate().filter(move |(scale, _)| Some(*scale) != skipped).map(|(_, s)| s)
        };
        let added: f64 = counted().map(|s| f64::from(s.additive)).sum();
        let against: f64 = counted().map(|s| f64::from(s.original)).sum();
        if original == 0.0 {
            // libvmaf leaves the additive impairment undefined here: anything added to nothing is as much as can be.
            let additive = if added > 0.0 { 1.0 } else { 0.0 };
            return Self { restored, original, detail: 1.0, additive };
        }
        let ratio = added / against;
        let additive = if ratio < 1.0 { ratio } else { 1.0 };
        Self { restored, original, detail: restored / original, additive }
    }

    fn combined(&self, settings: &Settings) -> f64 {
        let Self { detail, additive, .. } = *self;
        let combined = if settings.harmonic {
            2.0 * detail * additive / (detail + additive)
        } else {
            detail * settings.detail_weight + (1.0 - additive) * (1.0 - settings.detail_weight)
        };
        if combined > settings.smallest { combined } else { settings.smallest }
    }

    /// All scores in the order of the keys, those for debugging last.
    fn scores(&self, strengths: &[Strengths; SCALES], settings: &Settings) -> impl Iterator<Item = f64> {
        let parts = strengths.map(|s| [f64::from(s.restored), f64::from(s.original)]);
        [self.detail, self.additive, self.combined(settings)]
            .into_iter()
            .chain(parts.map(|[restored, original]| restored / original))
            .chain([self.detail, self.restored, self.original])
            .chain(parts.into_iter().flatten())
    }
}
