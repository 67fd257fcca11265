//! `speed_temporal`: how luma changes from the previous picture to the current one.

use super::front::Source;
use super::score::Weighting;
use super::{Comparer, KERNEL_SCALE, NN_FLOOR, PRESCALE, PRESCALE_METHOD, SIGMA_NN, Settings};
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Needs, OptionSpec, Options, PlanesRead,
    Spread, Window,
};

const NAME: &str = "speed_temporal";

pub static INFO: Info = Info {
    name: NAME,
    help: "SpEED of the changes from picture to picture: difference of their information (0 is equal)",
    options: &[
        KERNEL_SCALE,
        PRESCALE,
        PRESCALE_METHOD,
        SIGMA_NN,
        NN_FLOOR,
        OptionSpec::double(
            "speed_max_val",
            1000.0,
            0.0,
            1000.0,
            "without effect; it changes the score's name alone",
        )
        .named("mxv"),
        OptionSpec::bool(
            "speed_use_ref_diff",
            false,
            "subtract the reference's current picture from the distorted's previous one",
        )
        .named("urd"),
    ],
    features: &["Speed_temporal_feature_speed_temporal_score"],
    build,
};

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    Ok(Box::new(SpeedTemporal {
        keys: [Key::new(info.features[0], "speed_temporal", options)],
        settings: Settings::new(NAME, options)?,
        against_reference: options.flag("speed_use_ref_diff"),
    }))
}

#[derive(Debug)]
struct SpeedTemporal {
    keys: [Key; 1],
    settings: Settings,
    against_reference: bool,
}

impl Metric for SpeedTemporal {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn needs(&self) -> Needs {
        Needs { history: 1, every_frame: true }
    }

    fn planes_read(&self) -> PlanesRead {
        PlanesRead::LUMA
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        let comparer = self.settings.comparer(NAME, format, 0, Weighting::Own, level)?;
        Ok(Box::new(TemporalExtractor { comparer, against_reference: self.against_reference }))
    }
}

struct TemporalExtractor {
    comparer: Comparer,
    against_reference: bool,
}

impl Extractor for TemporalExtractor {
    /// The first picture has no change, and a singular side nothing to compare: both score 0.
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        raw[0] = 0.0;
        let Some(previous) = window.previous else { return Ok(()) };
        let [reference, distorted] = [window.current.reference, window.current.distorted];
        let subtracted = if self.against_reference { reference } else { distorted };
        let changes = [
            Source::Change { before: previous.reference.plane(0), after: reference.plane(0) },
            Source::Change { before: previous.distorted.plane(0), after: subtracted.plane(0) },
        ];
        let [score] = self.comparer.scores([changes], spread);
        raw[0] = f64::from(score.unwrap_or(0.0));
        Ok(())
    }
}
