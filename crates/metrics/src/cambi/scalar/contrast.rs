//! How strong the banding is at every pixel of a row.
//!
//! A pixel sees a band edge if its window holds many pixels of its own level and many of a level one step away. For
//! counts `p` and `q` of these the strength is `weight * p * q / (p + q)`, and the strongest step counts.

use std::sync::LazyLock;

use super::super::steps::{NO_LEVEL, Steps};
use super::histogram::Histogram;

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

/// Writes the strength at every pixel of the row with these levels, around which the histogram's windows lie.
pub fn contrast_row(levels: &[u16], histogram: &Histogram, steps: &Steps, out: &mut [f32]) {
    let reciprocals = &**RECIPROCALS;
    let mut x = 0;
    while x < levels.len() {
        let (start, level) = (x, levels[x]);
        while x < levels.len() && levels[x] == level {
            x += 1;
        }
        let out = &mut out[start..x];
        out.fill(0.0);
        if level != NO_LEVEL {
            contrast_run(level, start, histogram, steps, reciprocals, out);
        }
    }
}

/// The same for a run of pixels of one level.
#[inline]
fn contrast_run(
    level: u16,
    start: usize,
    histogram: &Histogram,
    steps: &Steps,
    reciprocals: &[f32; TABLE],
    out: &mut [f32],
) {
    let len = out.len();
    let own = &histogram.row(level, 0)[start..][..len];
    for (size, weight) in steps.at(level) {
        let above = &histogram.row(level, size as isize)[start..][..len];
        let below = &histogram.row(level, -(size as isize))[start..][..len];
        for (((out, own), above), below) in out.iter_mut().zip(own).zip(above).zip(below) {
            let (own, other) = (u32::from(*own), u32::from((*above).max(*below)));
            let product = (weight * own * other) as i32 as f32;
            let strength = product * reciprocals[(own + other) as usize % TABLE];
            *out = if strength > *out { strength } else { *out };
        }
    }
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
