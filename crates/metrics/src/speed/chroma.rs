//! `speed_chroma`: the two chroma planes, each on its own and together.

use visus_video::{Chroma, PlaneSet};

use super::device::SpeedTask;
use super::front::Source;
use super::score::Weighting;
use super::stats::Singular;
use super::{Comparer, KERNEL_SCALE, NN_FLOOR, PRESCALE, PRESCALE_METHOD, SIGMA_NN, Settings};
use crate::device::DeviceTask;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, PlanesRead, Spread,
    Window,
};

const NAME: &str = "speed_chroma";

pub static INFO: Info = Info {
    name: NAME,
    help: "SpEED of the chroma planes: difference of the information in coarse structure (0 is equal)",
    options: &[
        KERNEL_SCALE,
        PRESCALE,
        PRESCALE_METHOD,
        SIGMA_NN,
        NN_FLOOR,
        OptionSpec::double("speed_max_val", 1000.0, 0.0, 1000.0, "larger scores are clipped to this value")
            .named("mxv"),
        OptionSpec::int(
            "speed_weight_var_mode",
            0,
            0,
            6,
            "whose variances weigh the entropies: 0 each its own, 1 reference, 2 distorted, 3 mean; with the \
             reference by its own, the distorted by 4 mean, 5 3/4 reference, 6 1/4 reference",
        )
        .named("wvm"),
    ],
    features: &[
        "Speed_chroma_feature_speed_chroma_u_score",
        "Speed_chroma_feature_speed_chroma_v_score",
        "Speed_chroma_feature_speed_chroma_uv_score",
    ],
    build,
};

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let shorts = ["speed_chroma_u", "speed_chroma_v", "speed_chroma_uv"];
    Ok(Box::new(SpeedChroma {
        keys: info.features.iter().zip(shorts).map(|(name, short)| Key::new(name, short, options)).collect(),
        settings: Settings::new(NAME, options)?,
        weighting: Weighting::MODES[options.int("speed_weight_var_mode") as usize],
        max: options.double("speed_max_val"),
    }))
}

#[derive(Debug)]
struct SpeedChroma {
    keys: Vec<Key>,
    settings: Settings,
    weighting: Weighting,
    max: f64,
}

impl Metric for SpeedChroma {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn planes_read(&self) -> PlanesRead {
        PlanesRead::of_both(PlaneSet::CHROMA)
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        if format.chroma() == Chroma::C400 {
            let reason = "it has no chroma planes".to_owned();
            return Err(MetricError::Format { metric: NAME, format: *format, reason });
        }
        let comparer = self.settings.comparer(NAME, format, 1, self.weighting, level)?;
        Ok(Box::new(ChromaExtractor { comparer, max: self.max }))
    }

    fn device_task(&self, clip: &ClipInfo) -> Option<DeviceTask> {
        let format = &clip.format;
        let task = SpeedTask::new(&self.settings, format, self.weighting, self.max)?;
        (format.chroma() != Chroma::C400).then(|| DeviceTask::Speed(Box::new(task)))
    }
}

struct ChromaExtractor {
    comparer: Comparer,
    max: f64,
}

impl Extractor for ChromaExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let pair = window.current;
        let planes = [1, 2]
            .map(|plane| [pair.reference, pair.distorted].map(|frame| Source::Plane(frame.plane(plane))));
        let [u, v] = self.comparer.scores(planes, spread);
        write_scores(u, v, self.max, raw);
        Ok(())
    }
}

/// The row of raw numbers, from the scores of the two planes.
pub fn write_scores(u: Result<f32, Singular>, v: Result<f32, Singular>, max: f64, raw: &mut [f64]) {
    let scores = [u.unwrap_or(0.0), v.unwrap_or(0.0), together(u, v)];
    for (raw, score) in raw.iter_mut().zip(scores) {
        *raw = clipped(f64::from(score), max);
    }
}

/// A plane without a score (because it is flat, say) takes the other's; zero is left if neither has one.
fn together(u: Result<f32, Singular>, v: Result<f32, Singular>) -> f32 {
    match (u, v) {
        (Ok(u), Ok(v)) => (u + v) / 2.0,
        (Ok(score), Err(Singular)) | (Err(Singular), Ok(score)) => score,
        (Err(Singular), Err(Singular)) => 0.0,
    }
}

/// Not `f64::min`: a score that is no number becomes the maximum.
fn clipped(score: f64, max: f64) -> f64 {
    if score < max { score } else { max }
}
