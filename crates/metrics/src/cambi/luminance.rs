//! How bright samples are, and which steps between them can be seen.
//!
//! All samples here are 10-bit and of limited range, whatever the input was.

use crate::math::pow;

/// Black and white of 10-bit limited range.
const FOOT: i32 = 64;
const HEAD: i32 = 940;
const PEAK: i32 = 1023;

/// White and black level of the display that BT.1886 is evaluated for, in cd/m², and its exponent.
const BT1886_WHITE: f64 = 300.0;
const BT1886_BLACK: f64 = 0.01;
const BT1886_GAMMA: f64 = 2.4;

/// The transfer function from samples to luminance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eotf {
    Bt1886,
    /// SMPTE ST 2084.
    Pq,
}

impl Eotf {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "bt1886" => Some(Self::Bt1886),
            "pq" => Some(Self::Pq),
            _ => None,
        }
    }

    /// Luminance of a sample in cd/m²; samples outside the range count as its ends.
    fn luminance(self, sample: i32) -> f64 {
        let signal = f64::from(sample.clamp(FOOT, HEAD) - FOOT) / f64::from(HEAD - FOOT);
        match self {
            Self::Bt1886 => bt1886(signal),
            Self::Pq => pq(signal),
        }
    }

    /// Whether the step from `sample` up by `step` exceeds `threshold` times the sample's luminance.
    fn step_is_visible(self, sample: i32, step: i32, threshold: f64) -> bool {
        let luminance = self.luminance(sample);
        self.luminance(sample + step) - luminance > threshold * luminance
    }

    /// The brightest sample from which a step up by `step` is still visible: 0 if there is none, the largest sample
    /// of all if there is no end to it.
    pub fn last_visible(self, step: i32, threshold: f64) -> i32 {
        let visible = |sample| self.step_is_visible(sample, step, threshold);
        let (mut low, mut high) = (FOOT, HEAD - step - 1);
        if !visible(low) {
            return 0;
        }
        if !visible(low + 1) {
            return low;
        }
        if visible(high) {
            return if visible(high + 1) { PEAK } else { high };
        }
        // The step is visible at `low` and at `low + 1`, but not at `high`: `high - low` never falls below two.
        loop {
            let middle = low + (high - low) / 2;
            if !visible(middle) {
                high = middle;
            } else if visible(middle + 1) {
                low = middle;
            } else {
                return middle;
            }
        }
    }

    /// The darkest sample with at least this luminance, or 0 if that is black. A luminance above white gives white.
    pub fn first_with(self, luminance: f64) -> i32 {
        let first = (FOOT..HEAD).find(|sample| self.luminance(*sample) >= luminance).unwrap_or(HEAD);
        if first == FOOT { 0 } else { first }
    }
}

/// ITU-R BT.1886, annex 1.
fn bt1886(signal: f64) -> f64 {
    let root = |level| pow(level, 1.0 / BT1886_GAMMA);
    let span = root(BT1886_WHITE) - root(BT1886_BLACK);
    let gain = pow(span, BT1886_GAMMA);
    let lift = root(BT1886_BLACK) / span;
    gain * pow((signal + lift).max(0.0), BT1886_GAMMA)
}

/// SMPTE ST 2084, equation 4.1.
fn pq(signal: f64) -> f64 {
    const M1: f64 = 0.1593017578125;
    const M2: f64 = 78.84375;
    const C1: f64 = 0.8359375;
    const C2: f64 = 18.8515625;
    const C3: f64 = 18.6875;
    let root = pow(signal, 1.0 / M2);
    10000.0 * pow((root - C1).max(0.0) / (C2 - C3 * root), 1.0 / M1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_the_curves() {
        assert_eq!(Eotf::Bt1886.luminance(0), 0.0099999999999999985);
        assert_eq!(Eotf::Bt1886.luminance(1023), 300.0);
        assert_eq!(Eotf::Pq.luminance(64), 0.0);
        assert_eq!(Eotf::Pq.luminance(940), 10000.0);
    }

    #[test]
    fn default_thresholds() {
        let last = |eotf: Eotf| [1, 2, 3, 4].map(|step| eotf.last_visible(step, 0.019));
        assert_eq!(last(Eotf::Bt1886), [178, 305, 432, 559]);
        assert_eq!(last(Eotf::Pq), [233, 1023, 1023, 1023]);
    }

    /// Both curves have a Weber fraction that falls with luminance, so that a linear search finds the same end.
    #[test]
    fn the_last_visible_step_is_followed_by_an_invisible_one() {
        for eotf in [Eotf::Bt1886, Eotf::Pq] {
            for threshold in [0.0001, 0.0005, 0.002, 0.01, 0.019, 0.06, 0.3, 1.0] {
                for step in [1, 2, 7, 16, 32] {
                    let visible = |sample: &i32| eotf.step_is_visible(*sample, step, threshold);
                    let truth = match (FOOT..=HEAD - step).rev().find(visible) {
                        None => 0,
                        Some(sample) if sample == HEAD - step => PEAK,
                        Some(sample) => sample,
                    };
                    assert_eq!(eotf.last_visible(step, threshold), truth, "{eotf:?} {threshold} {step}");
                }
            }
        }
    }

    #[test]
    fn dark_samples_are_invisible() {
        assert_eq!(Eotf::Bt1886.first_with(0.0), 0);
        assert_eq!(Eotf::Bt1886.first_with(300.0), 940);
        let first = Eotf::Bt1886.first_with(0.06);
        assert!(Eotf::Bt1886.luminance(first) >= 0.06 && Eotf::Bt1886.luminance(first - 1) < 0.06);
    }
}
