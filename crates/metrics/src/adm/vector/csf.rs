//! The first scale's CSF and thresholds of contrast masking. Why they are exact stands at the head of [`short`](super::short).

use super::short::{LARGEST_USUAL, unload};
use super::{AdmVector, MAX_WORDS};
use crate::adm::masking::{LIFT, Short};

/// What thresholds are multiplied by: they are negative and lifted, to be added to magnitudes.
const NEGATIVE: i32 = -(1 << LIFT[0]);

/// What a pixel's eight neighbours and the pixel itself add to its threshold, at even and at odd places, times [`NEGATIVE`].
#[inline(always)]
pub fn thresholds<V: AdmVector>(v: V, masking: &Short, bands: [V::Int; 3]) -> [[V::Int; 2]; 2] {
    let csf = csf(v, masking, bands);
    let either = v.or(v.or(csf[0], csf[1]), csf[2]);
    // A size of 2^15 is a negative word.
    if v.any_negative16(v.or(either, v.add16(either, v.splat16(i16::MAX - LARGEST_USUAL)))) {
        return large_thresholds(v, masking, bands);
    }
    // (4369 x + 2^11) >> 12 and (8738 x + 2^11) >> 12, both less 2 x, summed over the bands.
    let thirtieths = three!(|band| v.mul_round16(csf[band], v.splat16(-30584)));
    let fifteenths = three!(|band| v.mul_round16(csf[band], v.splat16(4368)));
    let sum = |terms: [V::Int; 3]| v.add16(v.add16(terms[0], terms[1]), terms[2]);
    let (sizes, thirtieths, fifteenths) = (sum(csf), sum(thirtieths), sum(fifteenths));
    let spread = v.add16(thirtieths, v.add16(sizes, sizes));
    let centre = v.sub16(fifteenths, thirtieths);
    [places(v, spread), places(v, centre)]
}

/// Words at even and at odd places, times [`NEGATIVE`].
#[inline(always)]
fn places<V: AdmVector>(v: V, words: V::Int) -> [V::Int; 2] {
    [v.products(words, v.splat32(NEGATIVE & 0xffff)), v.products(words, v.splat32(NEGATIVE << 16))]
}

/// Coefficients after the CSF, their sizes.
#[inline(always)]
fn csf<V: AdmVector>(v: V, masking: &Short, bands: [V::Int; 3]) -> [V::Int; 3] {
    let [straight, _, diagonal] = masking.weights();
    [
        csf_straight(v, bands[0], straight),
        csf_straight(v, bands[1], straight),
        csf_diagonal(v, bands[2], diagonal),
    ]
}

/// Thresholds whose sums do not fit words.
#[cold]
#[inline(never)]
fn large_thresholds<V: AdmVector>(v: V, masking: &Short, bands: [V::Int; 3]) -> [[V::Int; 2]; 2] {
    v.run(
        #[inline(always)]
        || {
            let csf = csf(v, masking, bands);
            if v.any_negative16(v.or(v.or(csf[0], csf[1]), csf[2])) {
                return exact_thresholds(v, masking, bands);
            }
            let mut sums = [[v.splat32(0); 2]; 2];
            for size in csf {
                let twice = v.add16(size, size);
                for (sums, factor) in sums.iter_mut().zip([-30584, 4368]) {
                    let part = places(v, v.add16(v.mul_round16(size, v.splat16(factor)), twice));
                    *sums = two!(|place| v.add32(sums[place], part[place]));
                }
            }
            let [spread, own] = sums;
            [spread, two!(|place| v.sub32(own[place], spread[place]))]
        },
    )
}

/// `(weight * a + 2^14) >> 15` as a word, its size.
#[inline(always)]
fn csf_straight<V: AdmVector>(v: V, a: V::Int, weight: u16) -> V::Int {
    // As a signed word the weight is too small by 2^16 if it has its top bit; twice `a` is missing then.
    let missing = v.and(v.add16(a, a), v.splat16(weight as i16 >> 15));
    v.abs16(v.add16(v.mul_round16(a, v.splat16(weight as i16)), missing))
}

/// `(weight * a + 2^16 - 1) >> 17` as a word, its size: half of the quotient by 2^16 that is rounded up.
#[inline(always)]
fn csf_diagonal<V: AdmVector>(v: V, a: V::Int, weight: u16) -> V::Int {
    let zero = v.splat16(0);
    let negative = v.sub16(zero, a);
    let missing = v.and(negative, v.splat16(weight as i16 >> 15));
    let quotient = v.add16(v.mul_high16(negative, v.splat16(weight as i16)), missing);
    v.abs16(v.halve16(v.sub16(zero, quotient)))
}

#[cold]
#[inline(never)]
fn exact_thresholds<V: AdmVector>(v: V, masking: &Short, bands: [V::Int; 3]) -> [[V::Int; 2]; 2] {
    let bands = bands.map(|band| unload(v, band).map(i32::from));
    let (mut spread, mut centre) = ([0; MAX_WORDS], [0; MAX_WORDS]);
    use crate::adm::masking::Masking;
    masking.thresholds(bands.each_ref().map(|band| &band[..]), &mut spread, &mut centre);
    [spread, centre].map(|values| {
        [0, 1].map(|place| {
            let half: [i32; MAX_WORDS / 2] =
                std::array::from_fn(|i| values[2 * i + place].wrapping_mul(NEGATIVE));
            v.load(&half, 0)
        })
    })
}
