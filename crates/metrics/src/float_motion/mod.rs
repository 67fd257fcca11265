//! `float_motion`: how much the reference changes from frame to frame, in floating point.
//!
//! Each frame is blurred; the mean absolute difference to the previous blurred frame is the motion of that frame.
//! Motion2 is the minimum over neighbouring frames, motion3 the same after blending and clipping; both depend on order
//! and are made in the [`fold`]. Planes and sums are `f32`, in libvmaf's order; no multiply-add is fused.
//!
//! With `motion_add_uv` and `motion_add_scale1` together, libvmaf reads the half-size chroma with the wrong distance
//! between rows, and so memory that was never written, unless chroma is as wide as luma. Here chroma is halved like
//! luma, which is the same where libvmaf is well defined.

mod extract;
mod fold;
mod scalar;
#[cfg(test)]
mod tests;

use visus_video::{Chroma, Format, PlaneSet};

use crate::motion::Blend;
use crate::simd::Target;
use crate::{
    Appears, ClipInfo, Extractor, Fold, Info, Key, Level, Metric, MetricError, Needs, OptionSpec, Options,
    PlanesRead, Reach, Spread, Window,
};

pub static INFO: Info = Info {
    name: "float_motion",
    help: "motion of the reference, floating point (used by the float models)",
    options: OPTIONS,
    features: &["VMAF_feature_motion_score", "VMAF_feature_motion2_score", "VMAF_feature_motion3_score"],
    build,
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("debug", true, "also write the score before the minimum is taken"),
    OptionSpec::bool("motion_force_zero", false, "all motion scores are zero").named("force_0"),
    OptionSpec::double("motion_fps_weight", 1.0, 0.0, 5.0, "factor that corrects for the frame rate")
        .named("mfw"),
    OptionSpec::double("motion_blend_factor", 1.0, 0.0, 1.0, "weight of motion above the blend offset")
        .named("mbf"),
    OptionSpec::double("motion_blend_offset", 40.0, 0.0, 1000.0, "motion from which on it is blended")
        .named("mbo"),
    OptionSpec::bool("motion_add_scale1", false, "add the motion at half size").named("mdc"),
    OptionSpec::int("motion_filter_size", 5, 0, 9, "taps of the blur: 1 (none), 3, and 5 for all else")
        .named("mfs"),
    OptionSpec::bool("motion_add_uv", false, "add the motion of the chroma planes").named("mau"),
    OptionSpec::double("motion_max_val", 10000.0, 0.0, 10000.0, "larger values are clipped to this one")
        .named("mmxv"),
];

const TAPS_1: &[f32] = &[1.0];
const TAPS_3: &[f32] = &[0.166378498, 0.667243004, 0.166378498];
const TAPS_5: &[f32] = &[0.054488685, 0.244201342, 0.402619947, 0.244201342, 0.054488685];

#[derive(Clone, Copy, Debug)]
struct Settings {
    force_zero: bool,
    fps_weight: f64,
    blend: Blend,
    add_scale1: bool,
    add_uv: bool,
    taps: &'static [f32],
    debug: bool,
}

impl Settings {
    fn new(options: &Options) -> Self {
        Self {
            force_zero: options.flag("motion_force_zero"),
            fps_weight: options.double("motion_fps_weight"),
            blend: Blend {
                factor: options.double("motion_blend_factor"),
                offset: options.double("motion_blend_offset"),
                max: options.double("motion_max_val"),
            },
            add_scale1: options.flag("motion_add_scale1"),
            add_uv: options.flag("motion_add_uv"),
            taps: match options.int("motion_filter_size") {
                1 => TAPS_1,
                3 => TAPS_3,
                _ => TAPS_5,
            },
            debug: options.flag("debug"),
        }
    }

    /// The planes that count.
    fn planes(&self) -> std::ops::Range<usize> {
        0..if self.add_uv { 3 } else { 1 }
    }

    /// Why frames of this format cannot be scored, if so: mirrored borders need planes larger than the blur's radius.
    fn refusal(&self, format: &Format) -> Option<String> {
        if self.add_uv && format.chroma() == Chroma::C400 {
            return Some("motion_add_uv needs chroma planes".to_owned());
        }
        let side = self.taps.len() / 2 + 1;
        let (sx, sy) = if self.add_uv { format.chroma().shifts() } else { (0, 0) };
        let (width, height) = (side << sx, side << sy);
        let fits = self.force_zero || (format.width() >= width && format.height() >= height);
        (!fits).then(|| format!("with these options it needs at least {width}x{height}"))
    }
}

/// Where the scores go. Their order is that in which libvmaf first writes them.
#[derive(Clone, Copy, Debug)]
struct Columns {
    motion2: usize,
    motion: Option<usize>,
    motion3: usize,
}

impl Columns {
    fn new(settings: &Settings) -> Self {
        match (settings.debug, settings.force_zero) {
            (false, _) => Self { motion2: 0, motion: None, motion3: 1 },
            (true, false) => Self { motion2: 0, motion: Some(1), motion3: 2 },
            (true, true) => Self { motion2: 0, motion: Some(2), motion3: 1 },
        }
    }
}

#[derive(Debug)]
struct FloatMotion {
    info: &'static Info,
    keys: Vec<Key>,
    settings: Settings,
}

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let settings = Settings::new(options);
    Ok(Box::new(FloatMotion { info, keys: keys(info, options, &settings), settings }))
}

fn keys(info: &'static Info, options: &Options, settings: &Settings) -> Vec<Key> {
    let [motion, motion2, motion3] = [(0, "motion"), (1, "motion2"), (2, "motion3")]
        .map(|(at, short)| Key::new(info.features[at], short, options));
    // Frame 0's motion3 is written with frame 1, whose difference it takes; when there is none, at the end.
    let motion3 = if settings.force_zero { motion3 } else { motion3.appearing(Appears::Frame(1)) };
    let columns = Columns::new(settings);
    let mut keys = vec![motion2, motion3];
    if let Some(at) = columns.motion {
        keys.insert(at, motion);
    }
    keys
}

impl Metric for FloatMotion {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn needs(&self) -> Needs {
        Needs { history: 1, every_frame: true }
    }

    /// The minimum is taken over the differences on both sides.
    fn reach(&self) -> Reach {
        Reach { before: 1, after: 1 }
    }

    /// Motion is that of the reference.
    fn planes_read(&self) -> PlanesRead {
        let reference = if self.settings.add_uv { PlaneSet::ALL } else { PlaneSet::LUMA };
        PlanesRead { reference, ..PlanesRead::NONE }
    }

    fn raw_len(&self) -> usize {
        1
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        if let Some(reason) = self.settings.refusal(format) {
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        if self.settings.force_zero {
            return Ok(Box::new(NoMotion));
        }
        Ok(Box::new(extract::FloatMotionExtractor::new(&self.settings, format, Target::new(level))))
    }

    fn fold(&self, _format: &Format) -> Box<dyn Fold> {
        Box::new(fold::FloatMotionFold::new(self.settings, Columns::new(&self.settings)))
    }
}

/// The extractor when motion is forced to zero: frames are not looked at.
struct NoMotion;

impl Extractor for NoMotion {
    fn extract_spread(
        &mut self,
        _window: &Window<'_>,
        raw: &mut [f64],
        _spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        raw.fill(0.0);
        Ok(())
    }
}
