//! Sums of `f32` terms in two parts, a whole and a rest, which are exact where terms are split at a fixed place, and the same sums
//! in `f64`. Kernels change between the two forms.

use std::arch::x86_64::*;

/// In which form sums are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In two parts, each of sixteen `f32`.
    Narrow,
    /// As sixteen `f64`.
    Wide,
}

/// What the batch of rows before has left.
#[derive(Clone, Copy, Debug)]
pub struct Follower {
    pub form: Form,
    /// Whether all samples of that batch were in the range of the narrow form: then what it left holds no others.
    in_range: bool,
}

impl Follower {
    /// Before the first batch there is nothing, and whatever is there is taken for sums.
    pub const FIRST: Self = Self { form: Form::Narrow, in_range: true };

    /// The form in which the next batch is to be taken, and to which what is there must be brought.
    pub fn follow(&mut self, in_range: bool) -> Form {
        let form = if self.in_range && in_range { Form::Narrow } else { Form::Wide };
        *self = Self { form, in_range };
        form
    }
}

/// A sum in `f64`, of a whole and a rest.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn widen([whole, rest]: [__m512; 2]) -> [__m512d; 2] {
    let half = |part: __m512, upper: bool| {
        let part = _mm512_castps_pd(part);
        let half = if upper { _mm512_extractf64x4_pd::<1>(part) } else { _mm512_castpd512_pd256(part) };
        _mm512_cvtps_pd(_mm256_castpd_ps(half))
    };
    let join = |upper: bool| _mm512_add_pd(half(whole, upper), half(rest, upper));
    [join(false), join(true)]
}

/// The whole and the rest of a sum in `f64`. Its terms must be such that both fit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn narrow<const PLACE: i32>([low, high]: [__m512d; 2]) -> [__m512; 2] {
    let join = |low: __m512d, high: __m512d| {
        let (low, high) = (_mm512_cvtpd_ps(low), _mm512_cvtpd_ps(high));
        let low = _mm512_castpd256_pd512(_mm256_castps_pd(low));
        _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(high)))
    };
    let (low_rest, high_rest) = (_mm512_reduce_pd::<PLACE>(low), _mm512_reduce_pd::<PLACE>(high));
    [join(_mm512_sub_pd(low, low_rest), _mm512_sub_pd(high, high_rest)), join(low_rest, high_rest)]
}
