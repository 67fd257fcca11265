//! Splits the distorted picture's detail into what is left of the reference's detail and what was added.

use crate::math;

/// The three detail bands of a row: horizontal, vertical, diagonal.
pub type Bands<'a> = [&'a [i32]; 3];
/// The same for writing.
pub type BandsMut<'a> = [&'a mut [i32]; 3];

/// 2^30 / i, rounded down.
static RECIPROCALS: [i32; 32769] = {
    let mut table = [0; 32769];
    let mut i = 1;
    while i < table.len() {
        table[i] = (1 << 30) / i as i32;
        i += 1;
    }
    table
};

/// 1 in the format of [`kept`].
const ONE: i32 = 32768;

/// How detail may grow and still count as the reference's.
#[derive(Clone, Copy, Debug)]
pub struct Decoupling {
    /// The largest gain of an enhancement, from 1.
    gain_limit: f64,
    /// Two directions are the same if the square of their angle's cosine is at least this: one degree.
    same_direction: f64,
}

impl Decoupling {
    pub fn new(gain_limit: f64) -> Self {
        let cosine = math::cos(std::f64::consts::PI / 180.0);
        Self { gain_limit, same_direction: f64::from((cosine * cosine) as f32) }
    }

    /// Writes what is `kept` of the reference and what was `added`; together they are the distorted picture's bands.
    /// All slices have equal lengths.
    pub fn split(&self, reference: Bands, distorted: Bands, kept: BandsMut, added: BandsMut) {
        let len = kept[0].len();
        let reference = reference.map(|band| &band[..len]);
        let distorted = distorted.map(|band| &band[..len]);
        let kept = kept.map(|band| &mut band[..len]);
        let added = added.map(|band| &mut band[..len]);
        for j in 0..len {
            let o = reference.map(|band| band[j]);
            let t = distorted.map(|band| band[j]);
            let parallel = self.parallel(o, t);
            for band in 0..3 {
                let rest =
                    if parallel { self.enhanced(o[band], t[band]) } else { kept_part(o[band], t[band]).0 };
                kept[band][j] = rest;
                added[band][j] = t[band].wrapping_sub(rest);
            }
        }
    }

    /// Whether the detail points in the same direction in both pictures. The sums are rounded to single precision
    /// before they are compared in double precision.
    #[inline(always)]
    fn parallel(&self, o: [i32; 3], t: [i32; 3]) -> bool {
        let product = |a: [i32; 3], b: [i32; 3]| {
            let (h, v) = (i64::from(a[0]) * i64::from(b[0]), i64::from(a[1]) * i64::from(b[1]));
            f64::from(h.wrapping_add(v) as f32)
        };
        let both = product(o, t);
        both >= 0.0 && both * both >= self.same_direction * product(o, o) * product(t, t)
    }

    /// What is kept where the direction is the same: up to the distorted picture's detail, within the gain limit.
    #[inline(always)]
    fn enhanced(&self, o: i32, t: i32) -> i32 {
        let (rest, some) = kept_part(o, t);
        if !some || o == 0 {
            return rest;
        }
        let (grown, limit) = (f64::from(rest) * self.gain_limit, f64::from(t));
        let within = if o > 0 { grown < limit } else { grown > limit };
        (if within { grown } else { limit }) as i32
    }
}

/// The part of the reference's coefficient that is still there, and whether any is.
#[inline(always)]
fn kept_part(o: i32, t: i32) -> (i32, bool) {
    let share = i64::from(kept(o, t));
    (((share * i64::from(o) + 16384) >> 15) as i32, share > 0)
}

/// t / o as a fraction from 0 to 1, in units of 2^-15. The division is a multiplication by a tabulated reciprocal of the
/// leading 15 bits of o.
#[inline(always)]
fn kept(o: i32, t: i32) -> i32 {
    if o == 0 {
        return ONE;
    }
    let (leading, shift) = leading_bits(o.unsigned_abs());
    let along = if o < 0 { -i64::from(t) } else { i64::from(t) };
    // A shift of 17 belongs to i32::MIN alone; there libvmaf's rounding term is negative.
    let round = i64::from(1i32 << (14 + shift));
    let quotient = (i64::from(RECIPROCALS[leading as usize]) * along + round) >> (15 + shift);
    quotient.clamp(0, i64::from(ONE)) as i32
}

/// A number of at most 15 bits (or 2^15) and the shift that makes it about `size` again.
#[inline(always)]
fn leading_bits(size: u32) -> (u32, u32) {
    if size < 32768 {
        return (size, 0);
    }
    let shift = 17 - size.leading_zeros();
    ((size + (1 << (shift - 1))) >> shift, shift)
}
