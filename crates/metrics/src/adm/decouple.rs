//! Decouples the distorted picture's coefficients into a restored image, which is what is left of the reference, and an
//! additive one, which is the rest (libvmaf's `adm_decouple`, with its `r` and `a`).

use crate::math;

/// The three detail bands of a row: horizontal, vertical, diagonal.
pub type Bands<'a> = [&'a [i32]; 3];
/// The same for writing.
pub type BandsMut<'a> = [&'a mut [i32]; 3];

/// 2^30 / i, rounded down. Nothing is restored of a coefficient that is zero, whatever stands in front.
static RECIPROCALS: [u32; 32769] = {
    let mut table = [0; 32769];
    let mut i = 1;
    while i < table.len() {
        table[i] = (1 << 30) / i as u32;
        i += 1;
    }
    table
};

/// The table of reciprocals.
pub fn reciprocals() -> &'static [u32; 32769] {
    &RECIPROCALS
}

/// One whole, where shares (libvmaf's `kh`, `kv`, `kd`) are counted in units of 2^-15.
const WHOLE: u32 = 1 << 15;

/// How much a coefficient may grow in the reference's direction: the kinds of `adm_enhn_gain_limit`.
#[derive(Clone, Copy, Debug)]
pub enum Gain {
    /// Not at all: a limit of 1.
    None,
    /// The usual limit of 100.
    Hundred,
    Other,
}

/// How coefficients may grow and still count as restored.
#[derive(Clone, Copy, Debug)]
pub struct Decoupling {
    /// The largest gain of an enhancement, from 1.
    gain_limit: f64,
    /// Two directions are the same if the square of their angle's cosine is at least this: one degree (`cos_1deg_sq`).
    bound: f64,
}

impl Decoupling {
    pub fn new(gain_limit: f64) -> Self {
        let cosine = math::cos(std::f64::consts::PI / 180.0);
        Self { gain_limit, bound: f64::from((cosine * cosine) as f32) }
    }

    pub fn gain(&self) -> Gain {
        match self.gain_limit {
            1.0 => Gain::None,
            100.0 => Gain::Hundred,
            _ => Gain::Other,
        }
    }

    pub fn gain_limit(&self) -> f64 {
        self.gain_limit
    }

    /// The bound of a squared cosine, which single precision holds.
    pub fn bound(&self) -> f32 {
        self.bound as f32
    }

    /// Whether two vectors have the same direction, libvmaf's `angle_flag`; see [`Decoupling::decouple_short`] for their range.
    pub fn same_direction_short(&self, o: [i32; 2], t: [i32; 2]) -> bool {
        self.same_direction(o, t, product_short)
    }

    /// The same for all vectors.
    pub fn same_direction_long(&self, o: [i32; 2], t: [i32; 2]) -> bool {
        self.same_direction(o, t, product_long)
    }

    /// `product` is that of two vectors, rounded to single precision. The products are compared in double precision.
    #[inline(always)]
    fn same_direction(&self, o: [i32; 2], t: [i32; 2], product: impl Fn([i32; 2], [i32; 2]) -> f32) -> bool {
        let [both, alone, other] = [product(o, t), product(o, o), product(t, t)].map(f64::from);
        both >= 0.0 && both * both >= self.bound * alone * other
    }

    /// Writes the `restored` and the `additive` image; together they are the distorted picture's bands. All slices have equal lengths, and coefficients are from -32767 to 32767; those of the first scale are.
    pub fn decouple_short(&self, reference: Bands, distorted: Bands, restored: BandsMut, additive: BandsMut) {
        self.decouple(reference, distorted, restored, additive, product_short, restored_short);
    }

    /// The same for all coefficients.
    pub fn decouple_long(&self, reference: Bands, distorted: Bands, restored: BandsMut, additive: BandsMut) {
        self.decouple(reference, distorted, restored, additive, product_long, restored_long);
    }

    /// `restore` gives the share of a coefficient that is left.
    #[inline(always)]
    fn decouple(
        &self,
        reference: Bands,
        distorted: Bands,
        restored: BandsMut,
        additive: BandsMut,
        product: impl Fn([i32; 2], [i32; 2]) -> f32,
        restore: impl Fn(i32, i32) -> i32,
    ) {
        let len = restored[0].len();
        let [oh, ov, od] = reference.map(|band| &band[..len]);
        let [th, tv, td] = distorted.map(|band| &band[..len]);
        let [rh, rv, rd] = restored.map(|band| &mut band[..len]);
        let [ah, av, ad] = additive.map(|band| &mut band[..len]);
        for j in 0..len {
            let mut rest = [restore(oh[j], th[j]), restore(ov[j], tv[j]), restore(od[j], td[j])];
            if self.same_direction([oh[j], ov[j]], [th[j], tv[j]], &product) {
                rest = [(rest[0], th[j]), (rest[1], tv[j]), (rest[2], td[j])]
                    .map(|(part, t)| self.enhanced(part, t));
            }
            [rh[j], rv[j], rd[j]] = rest;
            ah[j] = th[j].wrapping_sub(rest[0]);
            av[j] = tv[j].wrapping_sub(rest[1]);
            ad[j] = td[j].wrapping_sub(rest[2]);
        }
    }

    /// What is restored where the direction is the same: up to the distorted picture's coefficient, within the gain limit.
    /// Where anything is restored, `t` has the same sign.
    #[inline(always)]
    fn enhanced(&self, part: i32, t: i32) -> i32 {
        let grown = f64::from(part).abs() * self.gain_limit;
        let limit = f64::from(t).abs();
        let size = (if grown < limit { grown } else { limit }) as i32;
        with_sign_of(t, size)
    }
}

#[inline(always)]
fn product_short(a: [i32; 2], b: [i32; 2]) -> f32 {
    (a[0] * b[0] + a[1] * b[1]) as f32
}

#[inline(always)]
fn product_long(a: [i32; 2], b: [i32; 2]) -> f32 {
    let wide = |a: i32, b: i32| i64::from(a) * i64::from(b);
    wide(a[0], b[0]).wrapping_add(wide(a[1], b[1])) as f32
}

/// `value`, negated if `sign` is negative. Signs of coefficients are random, so this must not branch.
#[inline(always)]
fn with_sign_of(sign: i32, value: i32) -> i32 {
    let mask = sign >> 31;
    (value ^ mask).wrapping_sub(mask)
}

/// The part of `o` that is still there in `t`.
#[inline(always)]
fn restored_short(o: i32, t: i32) -> i32 {
    let size = o.unsigned_abs();
    let along = with_sign_of(o, t);
    // More than the whole counts as the whole; held down to just above it, the product fits 32 bits.
    let along = along.clamp(0, size as i32 + 1) as u32;
    let share = ((RECIPROCALS[size as usize & 0x7fff] * along + (1 << 14)) >> 15).min(WHOLE);
    (share as i32 * o + (1 << 14)) >> 15
}

/// The same for large coefficients: the reciprocal is that of the leading 15 bits.
#[inline(always)]
fn restored_long(o: i32, t: i32) -> i32 {
    let (leading, shift) = leading_bits(o.unsigned_abs());
    let sign = i64::from(o >> 31);
    let along = (i64::from(t) ^ sign) - sign;
    // A shift of 17 belongs to i32::MIN alone; there libvmaf's rounding term is negative.
    let round = i64::from(1i32 << (14 + shift));
    let quotient = (i64::from(RECIPROCALS[leading as usize]) * along + round) >> (15 + shift);
    let share = quotient.clamp(0, i64::from(WHOLE));
    ((share * i64::from(o) + (1 << 14)) >> 15) as i32
}

/// A number of at most 15 bits (or 2^15) and the shift that makes it about `size` again.
#[inline(always)]
fn leading_bits(size: u32) -> (u32, u32) {
    let shift = 17u32.saturating_sub((size | 1).leading_zeros());
    ((size + ((1 << shift) >> 1)) >> shift, shift)
}
