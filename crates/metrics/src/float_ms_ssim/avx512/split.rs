//! Rows dealt out by turns, and whether their samples are in the range of the [`narrow`](super::narrow) form.

use std::arch::x86_64::*;

use super::CELL;
use super::narrow::RANGE;
use crate::float_ms_ssim::scalar;
use crate::float_ssim::Row;
use crate::simd::{Number, x86};

/// As [`split_row`](scalar::split_row); says whether all samples are in the range. Rows shorter than two cells count as outside.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn split_row(row: Row<'_>, even: &mut [f32], odd: &mut [f32]) -> bool {
    match row {
        Row::U8(row, factor) => split_values(row, factor, even, odd),
        Row::U16(row, factor) => split_values(row, factor, even, odd),
        Row::Floats(row) => split_values(row, 1.0, even, odd),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn split_values<T: Number + Into<f32>>(row: &[T], factor: f32, even: &mut [f32], odd: &mut [f32]) -> bool {
    let Some(last) = (row.len() / 2).checked_sub(CELL) else {
        scalar::split_values(row, factor, even, odd);
        return false;
    };
    let mut range = Within::of::<T>(factor);
    // The last vectors may take some samples again.
    for at in (0..last).step_by(CELL).chain([last]) {
        let [evens, odds] = deal_out(row, 2 * at, factor, &mut range);
        x86::store512(even, 2 + at, _mm512_castps_si512(evens));
        x86::store512(odd, 2 + at, _mm512_castps_si512(odds));
    }
    scalar::split_ends(row, factor, even, odd);
    // The last sample of an odd number of them was in no vector.
    let last = row[row.len() - 1].into() * factor;
    range.holds::<T>() && RANGE.0 <= last && last <= RANGE.1
}

/// How far samples are from the least one, such that those beyond a range are further than those within it. Samples are
/// whole numbers, or floats by their bits: positive ones have the order of these, and all others are beyond.
struct Within {
    least: __m512i,
    /// The furthest that is within.
    limit: __m512i,
    furthest: __m512i,
}

impl Within {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn of<T: Number>(factor: f32) -> Self {
        let (least, most) = RANGE;
        let (least, limit) = match size_of::<T>() {
            1 => {
                let (least, most) = (least.ceil() as u8, most as u8);
                (_mm512_set1_epi8(least as i8), _mm512_set1_epi8((most - least) as i8))
            }
            2 => {
                let (least, most) = ((least / factor).ceil() as u16, (most / factor) as u16);
                (_mm512_set1_epi16(least as i16), _mm512_set1_epi16((most - least) as i16))
            }
            _ => {
                let (least, most) = (least.to_bits(), most.to_bits());
                (_mm512_set1_epi32(least as i32), _mm512_set1_epi32((most - least) as i32))
            }
        };
        Self { least, limit, furthest: _mm512_setzero_si512() }
    }

    /// Looks at a vector of samples.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn look<T: Number>(&mut self, samples: __m512i) {
        self.furthest = match size_of::<T>() {
            1 => _mm512_max_epu8(self.furthest, _mm512_sub_epi8(samples, self.least)),
            2 => _mm512_max_epu16(self.furthest, _mm512_sub_epi16(samples, self.least)),
            _ => _mm512_max_epu32(self.furthest, _mm512_sub_epi32(samples, self.least)),
        };
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn holds<T: Number>(&self) -> bool {
        match size_of::<T>() {
            1 => _mm512_cmpgt_epu8_mask(self.furthest, self.limit) == 0,
            2 => _mm512_cmpgt_epu16_mask(self.furthest, self.limit) == 0,
            _ => _mm512_cmpgt_epu32_mask(self.furthest, self.limit) == 0,
        }
    }
}

/// Sixteen pairs of samples: the first of each, and the second.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn deal_out<T: Number>(row: &[T], at: usize, factor: f32, range: &mut Within) -> [__m512; 2] {
    match size_of::<T>() {
        1 => {
            let bytes = x86::load256(row, at);
            range.look::<T>(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(bytes), bytes));
            let pairs = _mm512_cvtepu16_epi32(bytes);
            let evens = _mm512_and_si512(pairs, _mm512_set1_epi32(0xff));
            [_mm512_cvtepi32_ps(evens), _mm512_cvtepi32_ps(_mm512_srli_epi32::<8>(pairs))]
        }
        2 => {
            let pairs = x86::load512(row, at);
            range.look::<T>(pairs);
            let (factor, evens) =
                (_mm512_set1_ps(factor), _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff)));
            let odds = _mm512_srli_epi32::<16>(pairs);
            [
                _mm512_mul_ps(_mm512_cvtepi32_ps(evens), factor),
                _mm512_mul_ps(_mm512_cvtepi32_ps(odds), factor),
            ]
        }
        _ => {
            let (first, second) = (x86::load512(row, at), x86::load512(row, at + CELL));
            range.look::<T>(first);
            range.look::<T>(second);
            let evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odds = _mm512_or_si512(evens, _mm512_set1_epi32(1));
            let (evens, odds) = (
                _mm512_permutex2var_epi32(first, evens, second),
                _mm512_permutex2var_epi32(first, odds, second),
            );
            [_mm512_castsi512_ps(evens), _mm512_castsi512_ps(odds)]
        }
    }
}
