//! Eight pixels at a time: a quantity is a vector of eight `f64`, or of eight `f32` where the formula computes in those.
//!
//! A number that is rounded to `f32` and goes on in `f64` stays in its vector: adding half of what an `f32` lacks and
//! clearing the lost bits rounds it, except in the middle between two floats, and that is where it is in doubt anyway.

use std::arch::x86_64::*;

use super::super::labs::GROUP;
use crate::simd::{Number, x86};

/// Vectors that are worked on side by side, as few instructions wait for each other then.
pub const SIDE: usize = 4;

/// Pixels in one step of a loop.
pub const LANES: usize = 8 * SIDE;
/// Steps of a group.
pub const STEPS: usize = GROUP / LANES;

/// A quantity of eight pixels times `N`.
pub type Wides<const N: usize> = [__m512d; N];
/// The same as floats.
pub type Narrows<const N: usize> = [__m256; N];
/// The same as integers.
pub type Wholes<const N: usize> = [__m512i; N];
/// One bit per pixel.
pub type Masks<const N: usize> = [__mmask8; N];

/// A quantity of [`LANES`] pixels.
pub type Wide = Wides<SIDE>;
pub type Narrow = Narrows<SIDE>;
pub type Whole = Wholes<SIDE>;
pub type Mask = Masks<SIDE>;

pub const NONE: Mask = [0; SIDE];

/// How near the numbers of a pixel came to the middle between two floats, at the nearest: their lost bits above the
/// lower end of the margin. 0 where they must not be trusted.
pub type Nearest = Whole;
/// The same for a group.
pub type Distances = [u64; GROUP];
pub const FAR: u64 = u64::MAX;

/// Bits that an `f32` lacks.
const LOST: i64 = (1 << 29) - 1;
const HALF: i64 = 1 << 28;
/// Half of the margin: an estimate may be wrong by 2^-40 of its number. (Plain code allows for four times as much, as its
/// estimates are a little coarser. Here roots decide, with 2^-41.7; all others are better than that.)
const NEAR: i64 = 1 << 13;

/// Features of every function in this folder.
macro_rules! vector_functions {
    ($($(#[$note:meta])* $access:vis fn $name:ident$(<const $n:ident: usize>)?($($arg:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$note])*
            #[inline]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
            $access fn $name$(<const $n: usize>)?($($arg: $kind),*) $(-> $result)? $body
        )*
    };
}
pub(super) use vector_functions;

/// Functions that do the same with each vector.
macro_rules! each {
    ($($(#[$note:meta])* $name:ident($($arg:ident: $kind:ty),*) -> $result:ty { $zero:expr; $one:expr })*) => {
        $(
            $(#[$note])*
            #[inline]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
            pub fn $name<const N: usize>($($arg: $kind),*) -> $result {
                let mut out: $result = [$zero; N];
                for side in 0..N {
                    $(let $arg = $arg[side];)*
                    out[side] = $one;
                }
                out
            }
        )*
    };
}

each! {
    wide(a: Narrows<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_cvtps_pd(a) }
    narrow(a: Wides<N>) -> Narrows<N> { _mm256_setzero_ps(); _mm512_cvtpd_ps(a) }
    bits(a: Wides<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_castpd_si512(a) }
    number(a: Wholes<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_castsi512_pd(a) }

    add(a: Wides<N>, b: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_add_pd(a, b) }
    sub(a: Wides<N>, b: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_sub_pd(a, b) }
    mul(a: Wides<N>, b: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_mul_pd(a, b) }
    fmadd(a: Wides<N>, b: Wides<N>, c: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_fmadd_pd(a, b, c) }
    fmsub(a: Wides<N>, b: Wides<N>, c: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_fmsub_pd(a, b, c) }
    fnmadd(a: Wides<N>, b: Wides<N>, c: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_fnmadd_pd(a, b, c) }
    fnmsub(a: Wides<N>, b: Wides<N>, c: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_fnmsub_pd(a, b, c) }
    abs(a: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_abs_pd(a) }
    min(a: Wides<N>, b: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_min_pd(a, b) }
    max(a: Wides<N>, b: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_max_pd(a, b) }
    copy_sign(magnitude: Wides<N>, sign: Wides<N>) -> Wides<N> {
        _mm512_setzero_pd(); _mm512_or_pd(magnitude, _mm512_and_pd(sign, _mm512_set1_pd(-0.0)))
    }
    /// The mantissa, from 1 to 2.
    mantissa(a: Wides<N>) -> Wides<N> {
        _mm512_setzero_pd(); _mm512_getmant_pd::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(a)
    }

    is_negative(a: Wides<N>) -> Masks<N> { 0; _mm512_movepi64_mask(_mm512_castpd_si512(a)) }
    is_above(a: Wides<N>, b: Wides<N>) -> Masks<N> { 0; _mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b) }
    is_below(a: Wides<N>, b: Wides<N>) -> Masks<N> { 0; _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b) }
    differs(a: Masks<N>, b: Masks<N>) -> Masks<N> { 0; a ^ b }
    both(a: Masks<N>, b: Masks<N>) -> Masks<N> { 0; a & b }
    either(a: Masks<N>, b: Masks<N>) -> Masks<N> { 0; a | b }
    keep(mask: Masks<N>, a: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_maskz_mov_pd(mask, a) }
    /// The first number, or where the mask is set the second.
    choose(mask: Masks<N>, a: Wides<N>, b: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_mask_blend_pd(mask, a, b) }
    /// `a`, plus `b` where the mask is set.
    add_where(mask: Masks<N>, a: Wides<N>, b: Wides<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_mask_add_pd(a, mask, a, b) }
    /// `other`, or where the mask is set `a - b`.
    sub_where(other: Wides<N>, mask: Masks<N>, a: Wides<N>, b: Wides<N>) -> Wides<N> {
        _mm512_setzero_pd(); _mm512_mask_sub_pd(other, mask, a, b)
    }

    exponent_bits(a: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_srli_epi64::<52>(a) }
    /// The exponent and four bits of the mantissa.
    sixteenths(a: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_srli_epi64::<48>(a) }
    /// The exponent fields' signed number.
    exponent(a: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_srai_epi64::<52>(a) }
    exponent_field(a: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_slli_epi64::<52>(a) }
    /// What adds a number of 32nds to the exponent, the rest of them to the bits below.
    thirty_seconds(a: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_slli_epi64::<47>(a) }
    /// What adds whole numbers among so many 16ths to the exponent.
    whole_sixteenths(a: Wholes<N>) -> Wholes<N> {
        _mm512_setzero_si512(); _mm512_slli_epi64::<48>(_mm512_andnot_si512(_mm512_set1_epi64(15), a))
    }
    from_whole(a: Wholes<N>) -> Wides<N> { _mm512_setzero_pd(); _mm512_cvtepi64_pd(a) }
    any_bit(a: Wholes<N>, b: Wholes<N>) -> Masks<N> { 0; _mm512_test_epi64_mask(a, b) }
    add_whole(a: Wholes<N>, b: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_add_epi64(a, b) }
    sub_whole(a: Wholes<N>, b: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_sub_epi64(a, b) }

    add_singles(a: Narrows<N>, b: Narrows<N>) -> Narrows<N> { _mm256_setzero_ps(); _mm256_add_ps(a, b) }
    sub_singles(a: Narrows<N>, b: Narrows<N>) -> Narrows<N> { _mm256_setzero_ps(); _mm256_sub_ps(a, b) }
    mul_singles(a: Narrows<N>, b: Narrows<N>) -> Narrows<N> { _mm256_setzero_ps(); _mm256_mul_ps(a, b) }
    div_singles(a: Narrows<N>, b: Narrows<N>) -> Narrows<N> { _mm256_setzero_ps(); _mm256_div_ps(a, b) }
    abs_singles(a: Narrows<N>) -> Narrows<N> { _mm256_setzero_ps(); _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
    keep_singles(mask: Masks<N>, a: Narrows<N>) -> Narrows<N> { _mm256_setzero_ps(); _mm256_maskz_mov_ps(mask, a) }
    singles_below(a: Narrows<N>, b: Narrows<N>) -> Masks<N> { 0; _mm256_cmp_ps_mask::<_CMP_LT_OQ>(a, b) }
    singles_equal(a: Narrows<N>, b: Narrows<N>) -> Masks<N> { 0; _mm256_cmp_ps_mask::<_CMP_EQ_OQ>(a, b) }
}

vector_functions! {
    pub fn load<const N: usize>(values: &[impl Number; GROUP], step: usize) -> Wides<N> {
        let mut out = all(0.0);
        for (side, out) in out.iter_mut().enumerate() {
            *out = _mm512_castsi512_pd(x86::load512(values, (step * N + side) * 8));
        }
        out
    }

    pub fn store<const N: usize>(values: &mut [impl Number; GROUP], step: usize, numbers: Wides<N>) {
        for (side, number) in numbers.into_iter().enumerate() {
            x86::store512(values, (step * N + side) * 8, _mm512_castpd_si512(number));
        }
    }

    pub fn load_singles<const N: usize>(values: &[f32; GROUP], step: usize) -> Narrows<N> {
        let mut out = all_single(0.0);
        for (side, out) in out.iter_mut().enumerate() {
            *out = _mm256_castsi256_ps(x86::load256(values, (step * N + side) * 8));
        }
        out
    }

    pub fn store_singles<const N: usize>(values: &mut [f32; GROUP], step: usize, numbers: Narrows<N>) {
        for (side, number) in numbers.into_iter().enumerate() {
            x86::store256(values, (step * N + side) * 8, _mm256_castps_si256(number));
        }
    }

    pub fn load_wide<const N: usize>(values: &[f32; GROUP], step: usize) -> Wides<N> {
        wide(load_singles(values, step))
    }

    pub fn load_samples<const N: usize>(values: &[u16; GROUP], step: usize) -> Wides<N> {
        let mut out = all(0.0);
        for (side, out) in out.iter_mut().enumerate() {
            let samples = x86::load128(values, (step * N + side) * 8);
            *out = _mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(samples));
        }
        out
    }

    pub fn all<const N: usize>(value: f64) -> Wides<N> {
        [_mm512_set1_pd(value); N]
    }

    pub fn all_single<const N: usize>(value: f32) -> Narrows<N> {
        [_mm256_set1_ps(value); N]
    }

    pub fn all_whole<const N: usize>(value: i64) -> Wholes<N> {
        [_mm512_set1_epi64(value); N]
    }

    pub fn mean<const N: usize>(a: Narrows<N>, b: Narrows<N>) -> Narrows<N> {
        mul_singles(add_singles(a, b), all_single(0.5))
    }

    /// Rounds to `f32` precision and notes how near that is to a doubt. The numbers must be zero, or normal as `f32`.
    pub fn rounded<const N: usize>(numbers: Wides<N>, nearest: &mut Wholes<N>) -> Wides<N> {
        let up = add_whole(bits(numbers), all_whole(HALF));
        *nearest = nearer(*nearest, add_whole(up, all_whole(NEAR)));
        number(without_lost_bits(up))
    }

    /// The same, as floats.
    pub fn narrowed<const N: usize>(numbers: Wides<N>, nearest: &mut Wholes<N>) -> Narrows<N> {
        *nearest = nearer(*nearest, add_whole(bits(numbers), all_whole(HALF + NEAR)));
        narrow(numbers)
    }

    pub fn load_nearest<const N: usize>(distances: &Distances, step: usize) -> Wholes<N> {
        bits(load(distances, step))
    }

    pub fn store_nearest<const N: usize>(distances: &mut Distances, step: usize, nearest: Wholes<N>) {
        store(distances, step, number(nearest));
    }

    /// One bit for each of eight pixels: whether they are beyond doubt.
    pub fn beyond_doubt(distances: &Distances, vector: usize) -> __mmask8 {
        let distances = x86::load512(distances, 8 * vector);
        _mm512_cmpge_epu64_mask(distances, _mm512_set1_epi64(2 * NEAR))
    }

    /// The polynomial with these coefficients, the constant one first.
    pub fn polynomial<const N: usize>(coefficients: &[f64], x: Wides<N>) -> Wides<N> {
        let mut sum = all(coefficients[coefficients.len() - 1]);
        for coefficient in coefficients.iter().rev().skip(1) {
            sum = fmadd(sum, x, all(*coefficient));
        }
        sum
    }

    /// One of 16 numbers, by the low bits of the lanes.
    pub fn look_up<const N: usize>(table: &[f64; 16], index: Wholes<N>) -> Wides<N> {
        let (low, high) = (x86::load512(table, 0), x86::load512(table, 8));
        let (low, high) = (_mm512_castsi512_pd(low), _mm512_castsi512_pd(high));
        let mut out = all(0.0);
        for (out, index) in out.iter_mut().zip(index) {
            *out = _mm512_permutex2var_pd(low, index, high);
        }
        out
    }

    /// One of 8 numbers, by the low bits of the lanes.
    pub fn look_up_8<const N: usize>(table: &[f64; 8], index: Wholes<N>) -> Wides<N> {
        let table = _mm512_castsi512_pd(x86::load512(table, 0));
        let mut out = all(0.0);
        for (out, index) in out.iter_mut().zip(index) {
            *out = _mm512_permutexvar_pd(index, table);
        }
        out
    }
}

each! {
    /// The smaller of a distance and a number's lost bits.
    nearer(nearest: Wholes<N>, moved: Wholes<N>) -> Wholes<N> {
        _mm512_setzero_si512();
        _mm512_min_epu32(nearest, _mm512_and_si512(moved, _mm512_set1_epi64(LOST)))
    }
    keep_whole(mask: Masks<N>, a: Wholes<N>) -> Wholes<N> { _mm512_setzero_si512(); _mm512_maskz_mov_epi64(mask, a) }
    without_lost_bits(a: Wholes<N>) -> Wholes<N> {
        _mm512_setzero_si512(); _mm512_and_si512(a, _mm512_set1_epi64(!LOST))
    }
    /// The reciprocal root to 2^-14; something finite for zero.
    guess_reciprocal_root(x: Wides<N>) -> Wides<N> {
        _mm512_setzero_pd(); _mm512_min_pd(_mm512_rsqrt14_pd(x), _mm512_set1_pd(1e200))
    }
}

/// `(1 - e)^(-1/2) = 1 + e (ROOT[0] + ROOT[1] e)` to 2^-41, for `|e|` up to 2^-13: twice the error of the instruction that
/// guesses, which is at most 2^-14 on any processor.
const ROOT: [f64; 2] = [0.5000000023329654, 0.3750000020413447];

vector_functions! {
    /// Square roots and their reciprocals, of numbers that are zero or positive and normal. The root of zero is zero, and
    /// its reciprocal is finite.
    pub fn roots<const N: usize>(x: Wides<N>) -> (Wides<N>, Wides<N>) {
        let guess = guess_reciprocal_root(x);
        let root = mul(x, guess);
        let e = fnmadd(root, guess, all(1.0));
        let correction = mul(e, polynomial(&ROOT, e));
        (fmadd(root, correction, root), fmadd(guess, correction, guess))
    }

    pub fn root<const N: usize>(x: Wides<N>) -> Wides<N> {
        roots(x).0
    }
}
