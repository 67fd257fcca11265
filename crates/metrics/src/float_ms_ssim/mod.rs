//! MS-SSIM: structural similarity of luma at five scales (Wang et al., 2003), in single precision.
//!
//! Each scale is half the size of the one before; contrast and structure count at every scale, luminance at the last
//! alone. The statistic is that of [`float_ssim`](crate::float_ssim).
//!
//! Both sides must be 176 or more, so that the 11x11 window fits into the smallest scale.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod pyramid;
pub mod scalar;
#[cfg(test)]
mod tests;

use crate::float_ssim::{CLIP_OPTION, Comparison, Decibels, Luminance, Means, Statistic};
use crate::math::pow;
use crate::simd::Target;
use crate::{
    ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, OptionSpec, Options, Pair, PlanesRead,
    Spread, Window,
};
use pyramid::{Halving, Pyramid};

const SCALES: usize = 5;

/// The smallest side of a picture: 11 at the last scale.
const SMALLEST_SIDE: usize = 11 << (SCALES - 1);

/// What luminance counts at each scale.
const LUMINANCE_EXPONENTS: [f32; SCALES] = [0.0, 0.0, 0.0, 0.0, 0.1333];
/// What contrast and structure count at each scale.
const DETAIL_EXPONENTS: [f32; SCALES] = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];

pub static INFO: Info = Info {
    name: "float_ms_ssim",
    help: "Structural similarity of luma at five scales",
    options: OPTIONS,
    features: &["float_ms_ssim"],
    build: |info, options| Ok(Box::new(MsSsim::new(info, options))),
};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::bool("enable_lcs", false, "enable luminance, contrast and structure intermediate output"),
    OptionSpec::bool("enable_db", false, "write MS-SSIM values as dB"),
    CLIP_OPTION,
];

/// Names of the terms, in the order in which they are written.
const TERM_KEYS: [&str; 3 * SCALES] = [
    "float_ms_ssim_l_scale0",
    "float_ms_ssim_l_scale1",
    "float_ms_ssim_l_scale2",
    "float_ms_ssim_l_scale3",
    "float_ms_ssim_l_scale4",
    "float_ms_ssim_c_scale0",
    "float_ms_ssim_c_scale1",
    "float_ms_ssim_c_scale2",
    "float_ms_ssim_c_scale3",
    "float_ms_ssim_c_scale4",
    "float_ms_ssim_s_scale0",
    "float_ms_ssim_s_scale1",
    "float_ms_ssim_s_scale2",
    "float_ms_ssim_s_scale3",
    "float_ms_ssim_s_scale4",
];

struct MsSsim {
    info: &'static Info,
    options: Options,
    keys: Vec<Key>,
}

impl MsSsim {
    fn new(info: &'static Info, options: &Options) -> Self {
        let terms = TERM_KEYS.into_iter().filter(|_| options.flag("enable_lcs"));
        let names = std::iter::once("float_ms_ssim").chain(terms);
        let keys = names.map(|name| Key::new(name, name, options)).collect();
        Self { info, options: options.clone(), keys }
    }
}

impl Metric for MsSsim {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &self.keys
    }

    fn planes_read(&self) -> PlanesRead {
        PlanesRead::LUMA
    }

    fn extractor(&self, clip: &ClipInfo, level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        let format = &clip.format;
        let (width, height) = (format.width(), format.height());
        if width < SMALLEST_SIDE || height < SMALLEST_SIDE {
            let reason = format!("both sides must be {SMALLEST_SIDE} or more, for five scales");
            return Err(MetricError::Format { metric: self.info.name, format: *format, reason });
        }
        Ok(Box::new(MsSsimExtractor {
            terms: self.options.flag("enable_lcs"),
            decibels: Decibels::new(&self.options, format),
            reference: Pyramid::new(width, height),
            distorted: Pyramid::new(width, height),
            halving: Halving::new(width, Target::new(level)),
            statistic: Statistic::new(width, Target::new(level)),
        }))
    }
}

struct MsSsimExtractor {
    /// Whether the terms of each scale are scores, too.
    terms: bool,
    decibels: Decibels,
    reference: Pyramid,
    distorted: Pyramid,
    halving: Halving,
    statistic: Statistic,
}

impl MsSsimExtractor {
    fn measure(&mut self, pair: Pair<'_>, spread: &dyn Spread) -> [Means; SCALES] {
        let comparisons = std::array::from_fn(|scale| {
            let counts = self.terms || LUMINANCE_EXPONENTS[scale] != 0.0;
            Comparison {
                reference: self.reference.at_scale(pair.reference, scale),
                distorted: self.distorted.at_scale(pair.distorted, scale),
                luminance: if counts { Luminance::Wanted } else { Luminance::Skipped },
            }
        });
        self.statistic.measure(comparisons, spread)
    }
}

impl Extractor for MsSsimExtractor {
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        let pair = window.current;
        let (reference, distorted) = (&mut self.reference, &mut self.distorted);
        self.halving.load([(reference, pair.reference), (distorted, pair.distorted)], spread);
        let means = self.measure(pair, spread);
        raw[0] = self.decibels.apply(combine(&means));
        if self.terms {
            for (scale, means) in means.iter().enumerate() {
                raw[1 + scale] = means.luminance;
                raw[1 + SCALES + scale] = means.contrast;
                raw[1 + 2 * SCALES + scale] = means.structure;
            }
        }
        Ok(())
    }
}

/// The product of all terms to their exponents. Pictures that move against each other have a negative structure, which
/// has no such power: the score is then NaN, of the sign that it has in the reference's reports.
fn combine(means: &[Means; SCALES]) -> f64 {
    let mut product = 1.0;
    for (scale, means) in means.iter().enumerate() {
        let luminance = pow(means.luminance, f64::from(LUMINANCE_EXPONENTS[scale]));
        let detail = f64::from(DETAIL_EXPONENTS[scale]);
        product *= luminance * pow(means.contrast, detail) * pow(means.structure, detail);
    }
    if product.is_nan() { -f64::NAN } else { product }
}
