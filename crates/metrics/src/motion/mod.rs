//! `motion`: how much the reference changes from frame to frame, in integer arithmetic.
//!
//! Per frame, the difference to the previous frame (or, with the five-frame window, to the one before it) is blurred
//! and its absolute values are summed. Motion2 is the minimum over neighbouring frames, motion3 the same after blending
//! and clipping; both depend on order and are made in the [`fold`].

mod dispatch;
mod fold;
mod scalar;
mod score;
#[cfg(test)]
mod tests;
mod vector;

use visus_video::{Format, PlaneSet, PlaneView};

pub use scalar::TAPS;
pub use score::MotionSettings;

use crate::device::DeviceTask;
use crate::{
    Appears, ClipInfo, Extractor, Fold, GroupExtractor, Info, Key, Level, Metric, MetricError, Needs,
    OptionSpec, Options, PlanesRead, Reach, Spread, Window, group_settings,
};

pub static INFO: Info = Info {
    name: "motion",
    help: "motion of the reference, integer arithmetic (used by the v0 and v1 models)",
    options: OPTIONS,
    features: &[
        "VMAF_integer_feature_motion_sad_score",
        "VMAF_integer_feature_motion_score",
        "VMAF_integer_feature_motion2_score",
        "VMAF_integer_feature_motion3_score",
    ],
    build,
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("motion_force_zero", false, "all motion scores are zero").named("force_0"),
    OptionSpec::double("motion_blend_factor", 1.0, 0.0, 1.0, "weight of motion above the blend offset")
        .named("mbf"),
    OptionSpec::double("motion_blend_offset", 40.0, 0.0, 1000.0, "motion from which on it is blended")
        .named("mbo"),
    OptionSpec::double("motion_fps_weight", 1.0, 0.0, 5.0, "factor that corrects for the frame rate")
        .named("mfw"),
    OptionSpec::double("motion_max_val", 10000.0, 0.0, 10000.0, "larger values are clipped to this one")
        .named("mmxv"),
    OptionSpec::bool("motion_five_frame_window", false, "compare frames at distance two").named("mffw"),
    OptionSpec::bool("motion_moving_average", false, "average motion3 with the frame before").named("mma"),
    OptionSpec::bool("debug", false, "also write the score before the minimum is taken"),
];

/// Mirrored borders need a second row and column.
const SMALLEST_SIDE: usize = 2;

/// Motion3's treatment of large motion, shared with the float metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blend {
    pub factor: f64,
    pub offset: f64,
    pub max: f64,
}

impl Blend {
    pub fn apply(&self, motion: f64) -> f64 {
        let blended = motion * self.factor + (1.0 - self.factor) * smaller(self.offset, motion);
        smaller(blended, self.max)
    }
}

/// The smaller of two numbers; of two that do not compare, the second.
pub fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[derive(Debug)]
struct Motion {
    info: &'static Info,
    keys: Vec<Key>,
    settings: MotionSettings,
}

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let settings = MotionSettings {
        force_zero: options.flag("motion_force_zero"),
        blend: Blend {
            factor: options.double("motion_blend_factor"),
            offset: options.double("motion_blend_offset"),
            max: options.double("motion_max_val"),
        },
        fps_weight: options.double("motion_fps_weight"),
        distance: if options.flag("motion_five_frame_window") { 2 } else { 1 },
        moving_average: options.flag("motion_moving_average"),
        debug: options.flag("debug"),
    };
    Ok(Box::new(Motion { info, keys: keys(info, options, settings.debug), settings }))
}

fn keys(info: &'static Info, options: &Options, debug: bool) -> Vec<Key> {
    let key = |feature: usize, short: &str| Key::new(info.features[feature], short, options);
    let mut keys = vec![key(0, info.features[0])];
    if debug {
        keys.push(key(1, "integer_motion"));
    }
    keys.push(key(2, "integer_motion2").appearing(Appears::End));
    keys.push(key(3, "integer_motion3").appearing(Appears::End));
    keys
}

impl Metric for Motion {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn needs(&self) -> Needs {
        Needs { history: self.settings.distance as usize, every_frame: true }
    }

    /// Motion3 averages with the frame before, whose minimum looks a further frame back.
    fn reach(&self) -> Reach {
        // The first frames, as many as the distance, wait for the first difference.
        Reach { before: 2, after: self.settings.distance }
    }

    /// Motion is that of the reference.
    fn planes_read(&self) -> PlanesRead {
        PlanesRead { distorted: PlaneSet::NONE, ..PlanesRead::LUMA }
    }

    fn raw_len(&self) -> usize {
        1
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        Ok(Box::new(self.joint(vec![self.settings], &clip.format, level)?))
    }

    fn device_task(&self, clip: &ClipInfo) -> Option<DeviceTask> {
        (!is_too_small(&clip.format)).then_some(DeviceTask::Motion(self.settings))
    }

    /// Metrics that compare frames at the same distance share all of the work.
    fn group_extractor(
        &self,
        group: &[&dyn Metric],
        clip: &ClipInfo,
        level: Level,
    ) -> Option<Result<Box<dyn GroupExtractor>, MetricError>> {
        let settings = group_settings(group, |metric: &Self| metric.settings)?;
        let joint = self.joint(settings, &clip.format, level);
        Some(joint.map(|joint| Box::new(joint) as Box<dyn GroupExtractor>))
    }

    fn fold(&self, _format: &Format) -> Box<dyn Fold> {
        Box::new(fold::MotionFold::new(self.settings))
    }
}

impl Motion {
    fn joint(
        &self,
        settings: Vec<MotionSettings>,
        format: &Format,
        level: Level,
    ) -> Result<MotionExtractor, MetricError> {
        if is_too_small(format) {
            let reason = format!("it needs at least {SMALLEST_SIDE}x{SMALLEST_SIDE}");
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        let depth = u32::from(format.depth());
        let kernel = dispatch::Kernel::new(level, format.width(), format.height(), depth);
        Ok(MotionExtractor { settings, kernel })
    }
}

fn is_too_small(format: &Format) -> bool {
    format.width().min(format.height()) < SMALLEST_SIDE
}

/// One or more sets of settings.
struct MotionExtractor {
    settings: Vec<MotionSettings>,
    kernel: dispatch::Kernel,
}

impl Extractor for MotionExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        self.write(window, &mut [raw], spread);
        Ok(())
    }
}

impl GroupExtractor for MotionExtractor {
    fn extract(
        &mut self,
        window: &Window<'_>,
        rows: &mut [&mut [f64]],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        self.write(window, rows, spread);
        Ok(())
    }
}

impl MotionExtractor {
    /// Each distance is computed once, and only if someone asks for it.
    fn write(&mut self, window: &Window<'_>, rows: &mut [&mut [f64]], spread: &dyn Spread) {
        let format = window.current.reference.format();
        for distance in [1, 2] {
            let asks = |settings: &MotionSettings| settings.distance == distance && !settings.force_zero;
            let sad = if self.settings.iter().any(asks) { self.sad(window, distance, spread) } else { None };
            for (settings, row) in self.settings.iter().zip(rows.iter_mut()) {
                if settings.distance == distance {
                    settings.finish(sad, format, row);
                }
            }
        }
    }

    /// The blurred difference to the frame before, or to the one before that, if there is such a frame.
    fn sad(&mut self, window: &Window<'_>, distance: u64, spread: &dyn Spread) -> Option<u64> {
        let earlier = if distance == 2 { window.before_previous } else { window.previous };
        match (earlier?.reference.plane(0), window.current.reference.plane(0)) {
            (PlaneView::U8(earlier), PlaneView::U8(current)) => {
                Some(self.kernel.blurred_difference(earlier, current, spread))
            }
            (PlaneView::U16(earlier), PlaneView::U16(current)) => {
                Some(self.kernel.blurred_difference(earlier, current, spread))
            }
            _ => unreachable!("a clip has one format"),
        }
    }
}
