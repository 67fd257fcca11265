//! How strong the banding is at every pixel of a run.
//!
//! A pixel sees a band edge if its window holds many pixels of its own level and many of a level one step away. For
//! counts `p` and `q` of these the strength is `weight * p * q / (p + q)`, and the strongest step counts.

use std::sync::LazyLock;

use super::super::steps::Steps;
use super::histogram::{Histogram, READ};
use super::runs::Run;

/// Sums of two counts in one window stay below 4226; a power of two lets the index be masked instead of checked.
const TABLE: usize = 8192;
const USED: usize = 4226;

/// `1 / n` to nine significant decimal digits. libvmaf's table is written that way, and 42 of its entries are not the
/// nearest single precision number for it.
static RECIPROCALS: LazyLock<Box<[f32; TABLE]>> = LazyLock::new(|| {
    let mut table = Box::new([0.0; TABLE]);
    for (n, entry) in table.iter_mut().enumerate().take(USED).skip(1) {
        let digits = format!("{:.8e}", 1.0 / n as f64);
        *entry = digits.parse().expect("a number that was just printed");
    }
    table
});

/// `1 / n` for every sum of two counts.
pub fn reciprocals() -> &'static [f32] {
    &RECIPROCALS[..USED]
}

/// Writes the strength at the pixels of the run, around whose row the histogram's windows lie. `out` must go on for
/// another [`READ`] values, which may be overwritten.
pub fn contrast_run(run: &Run, histogram: &Histogram, steps: &Steps, out: &mut [f32]) {
    let reciprocals = &**RECIPROCALS;
    for x in run.columns().step_by(READ) {
        let strengths = contrast(run.level, x, histogram, steps, reciprocals);
        out[x - usize::from(run.start)..][..READ].copy_from_slice(&strengths);
    }
}

/// The strength at the columns from `x` on, as if they were all of this level.
#[inline]
fn contrast(
    level: u16,
    x: usize,
    histogram: &Histogram,
    steps: &Steps,
    reciprocals: &[f32; TABLE],
) -> [f32; READ] {
    let mut strongest = [0.0f32; READ];
    let own = histogram.counts(level, 0, x);
    for (size, weight) in steps.at(level) {
        let above = histogram.counts(level, size as isize, x);
        let below = histogram.counts(level, -(size as isize), x);
        for i in 0..READ {
            // Counts fit 15 bits, of which there is a signed maximum everywhere.
            let other = (above[i] as i16).max(below[i] as i16) as u16;
            let product = (u32::from(own[i] * weight) * u32::from(other)) as i32 as f32;
            let strength = product * reciprocals[usize::from(own[i] + other) % TABLE];
            strongest[i] = if strength > strongest[i] { strength } else { strongest[i] };
        }
    }
    strongest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reciprocals_have_nine_digits() {
        let off: Vec<_> = (1..USED).filter(|n| RECIPROCALS[*n] != 1.0 / *n as f32).collect();
        assert_eq!((off.len(), off[0], off[41]), (42, 82, 4224));
        assert_eq!(RECIPROCALS[83].to_bits(), 0x3c4565c9);
        assert_eq!((RECIPROCALS[0], RECIPROCALS[2], RECIPROCALS[USED]), (0.0, 0.5, 0.0));
    }
}
