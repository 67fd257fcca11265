//! ADM, the detail loss metric, in integer arithmetic: how much of the reference's detail is still to be seen in the
//! distorted picture, and how much detail was added to it, over four scales of a wavelet transform.
//!
//! S. Li, F. Zhang, L. Ma, K. N. Ngan, "Image Quality Assessment by Separately Evaluating Detail Losses and Additive
//! Impairments", IEEE Transactions on Multimedia 13(5), 2011, in the fixed-point form of libvmaf. Every sum of a scale is
//! equal to that of libvmaf's scalar path, also where that path wraps or rounds in a way of its own.
//!
//! The words are those of the paper and of libvmaf:
//!
//! | word | meaning | libvmaf | here |
//! |---|---|---|---|
//! | band | horizontal, vertical or diagonal detail of a wavelet scale | `band_h`, `band_v`, `band_d` | `wavelet` |
//! | restored image | what is left of the reference's coefficients in the distorted picture | `decouple_r` | `decouple` |
//! | additive image | the rest of the distorted picture | `decouple_a` | `decouple` |
//! | CSF | contrast sensitivity function, a weight for each band and scale | `adm_csf` | `masking`, `settings` |
//! | contrast masking | what of a coefficient is above the threshold that the other image makes | `adm_cm` | `masking` |
//! | numerator, denominator | cubes of the masked restored image, and of the reference | `adm_cm`, `adm_csf_den_scale` | `score` |
//! | AIM | additive impairment measure: the numerator with the images exchanged | `aim` | `score` |
//!
//! A scale is worked on row by row (`scale`) by kernels over rows: `wavelet`, `decouple`, `masking`. Number formats of the
//! scales, and kernels of a CPU level, are implementations of the traits `Wavelet` and `Masking`. The sums of a scale are
//! integers ([`AdmSums`]); [`AdmFinish`] alone turns them into scores.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod decouple;
mod device;
mod extractor;
mod geometry;
mod masking;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plan;
mod scalar;
mod scale;
mod score;
mod settings;
#[cfg(test)]
mod tests;
mod vector;
mod wavelet;

use visus_video::Format;

use crate::device::DeviceTask;
use crate::{
    ClipInfo, Direct, Emit, Extractor, Fold, Info, Key, Level, Metric, MetricError, Options, PlanesRead,
};
pub use decouple::reciprocals;
pub use device::{AdmScale, AdmShifts, AdmTask};
pub use score::{AdmFinish, AdmSums};
use settings::Settings;

const NAME: &str = "adm";

/// Low-pass and high-pass taps.
pub const WAVELET: [[i32; 4]; 2] = [wavelet::LOW, wavelet::HIGH];

/// The smallest picture whose fourth scale libvmaf defines.
const MIN_WIDTH: usize = 17;
const MIN_HEIGHT: usize = 33;

/// Names for models and for reports, in the order in which libvmaf writes them; those from [`DEBUG_FROM`] on with
/// `debug` only.
const FEATURES: [(&str, &str); 18] = [
    ("VMAF_integer_feature_adm2_score", "integer_adm2"),
    ("VMAF_integer_feature_aim_score", "integer_aim"),
    ("VMAF_integer_feature_adm3_score", "integer_adm3"),
    ("integer_adm_scale0", "integer_adm_scale0"),
    ("integer_adm_scale1", "integer_adm_scale1"),
    ("integer_adm_scale2", "integer_adm_scale2"),
    ("integer_adm_scale3", "integer_adm_scale3"),
    ("integer_adm", "integer_adm"),
    ("integer_adm_num", "integer_adm_num"),
    ("integer_adm_den", "integer_adm_den"),
    ("integer_adm_num_scale0", "integer_adm_num_scale0"),
    ("integer_adm_den_scale0", "integer_adm_den_scale0"),
    ("integer_adm_num_scale1", "integer_adm_num_scale1"),
    ("integer_adm_den_scale1", "integer_adm_den_scale1"),
    ("integer_adm_num_scale2", "integer_adm_num_scale2"),
    ("integer_adm_den_scale2", "integer_adm_den_scale2"),
    ("integer_adm_num_scale3", "integer_adm_num_scale3"),
    ("integer_adm_den_scale3", "integer_adm_den_scale3"),
];
const DEBUG_FROM: usize = 7;

const FEATURE_NAMES: [&str; FEATURES.len()] = {
    let mut names = [""; FEATURES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = FEATURES[i].0;
        i += 1;
    }
    names
};

pub static INFO: Info = Info {
    name: NAME,
    help: "Detail loss and additive impairment over four wavelet scales, in integer arithmetic.",
    options: settings::OPTIONS,
    features: &FEATURE_NAMES,
    build,
};

struct Adm {
    info: &'static Info,
    settings: Settings,
    keys: Vec<Key>,
    /// Nobody reads what depends on the additive image.
    lean: bool,
}

/// The keys that depend on the additive image.
const OF_AIM: [usize; 2] = [1, 2];

/// Raw numbers are the scores, but for those that nobody reads.
struct LeanFold;

impl Fold for LeanFold {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit) {
        for (key, value) in raw.iter().enumerate().filter(|(key, _)| !OF_AIM.contains(key)) {
            out.score(key, index, *value);
        }
    }
}

fn build(info: &'static Info, options: &Options) -> Result<Box<dyn Metric>, MetricError> {
    let settings = Settings::new(info.name, options)?;
    let written = if settings.debug { FEATURES.len() } else { DEBUG_FROM };
    let keys = FEATURES[..written].iter().map(|(feature, short)| Key::new(feature, short, options)).collect();
    Ok(Box::new(Adm { info, settings, keys, lean: false }))
}

impl Metric for Adm {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn planes_read(&self) -> PlanesRead {
        PlanesRead::LUMA
    }

    fn lean(&self, is_read: &dyn Fn(&Key) -> bool) -> Option<Box<dyn Metric>> {
        if !self.settings.aim || OF_AIM.iter().any(|key| is_read(&self.keys[*key])) {
            return None;
        }
        let settings = Settings { aim: false, ..self.settings };
        Some(Box::new(Self { info: self.info, settings, keys: self.keys.clone(), lean: true }))
    }

    fn fold(&self, _format: &Format) -> Box<dyn Fold> {
        if self.lean { Box::new(LeanFold) } else { Box::new(Direct) }
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        if is_too_small(format) {
            let reason = format!("the picture must be at least {MIN_WIDTH}x{MIN_HEIGHT}");
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        Ok(Box::new(extractor::Adm::new(self.settings, format, level)))
    }

    fn device_task(&self, clip: &ClipInfo) -> Option<DeviceTask> {
        let task = || DeviceTask::Adm(Box::new(AdmTask::new(&self.settings, &clip.format)));
        (!is_too_small(&clip.format)).then(task)
    }
}

fn is_too_small(format: &Format) -> bool {
    format.width() < MIN_WIDTH || format.height() < MIN_HEIGHT
}
