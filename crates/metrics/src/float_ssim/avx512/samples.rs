//! How samples are read, and dealt out in runs.

use std::arch::x86_64::*;

use super::{BLOCK, LANES, LINE, STRETCH, UNFINISHED, VECTORS, narrow};
use crate::float_ssim::source::{Row, Source};
use crate::simd::{Number, x86};

/// So many rows ahead, samples are asked for: the part of a row under a stretch is too short for the processor to see.
const AHEAD: usize = 4;

/// Samples of a part of a row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Line(pub [f32; LINE]);

/// Reads row `y` from column `from` on, as far as windows of a stretch reach and the picture does, and deals the samples out.
/// Says whether they are in the range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn read(
    line: &mut Line,
    source: Source<'_>,
    y: usize,
    from: usize,
    run: usize,
    out: &mut [[f32; LANES]; VECTORS],
) -> bool {
    let end = source.width().min(from + run * LANES + UNFINISHED);
    match source.row((y + AHEAD).min(source.height() - 1)) {
        Row::U8(row, _) => ask_for(&row[from..end]),
        Row::U16(row, _) => ask_for(&row[from..end]),
        Row::Floats(row) => ask_for(&row[from..end]),
    }
    let in_range = match source.row(y) {
        Row::U8(row, 1.0) if run.is_multiple_of(2) => {
            return deal_out_bytes(&row[from..], end - from, run, out);
        }
        Row::U8(row, factor) => fill_from(line, &row[from..end], factor),
        Row::U16(row, factor) => fill_from(line, &row[from..end], factor),
        Row::Floats(row) => fill_from(line, &row[from..end], 1.0),
    };
    deal_out(&line.0, run, out);
    in_range
}

/// Lanes whose samples of a block are taken by one permutation: so many runs, and the block, are no longer than a vector.
const TOGETHER: usize = 3;
/// Bytes from which the samples of a stretch are taken.
const BYTES: usize =
    ((LANES - 1) / TOGETHER * TOGETHER * STRETCH + VECTORS - BLOCK + 64).next_multiple_of(64);

/// For each word of a block, which of the runs together it is of, and which half of the four bytes it is.
const fn words_of_block() -> ([u16; 2 * LANES], [u16; 2 * LANES]) {
    let (mut runs, mut halves) = ([0; 2 * LANES], [0; 2 * LANES]);
    let mut word = 0;
    while word < 2 * LANES {
        (runs[word], halves[word]) = ((word / 2 % TOGETHER) as u16, (word % 2) as u16);
        word += 1;
    }
    (runs, halves)
}

/// As [`deal_out`], straight from bytes, where a run's length is even: four bytes of a run, which are two words, become a
/// number of the vector, and its bytes the samples of four vectors. The first `count` bytes are those of the stretch.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn deal_out_bytes(row: &[u8], count: usize, run: usize, out: &mut [[f32; LANES]; VECTORS]) -> bool {
    const { assert!((TOGETHER - 1) * STRETCH + BLOCK <= 64) };
    let mut padded;
    let row: &[u8; BYTES] = match row.first_chunk() {
        Some(row) => row,
        None => {
            padded = [row[0]; BYTES];
            padded[..count].copy_from_slice(&row[..count]);
            &padded
        }
    };
    let (runs, halves) = const { words_of_block() };
    let run_words = _mm512_set1_epi16((run / 2) as i16);
    let words =
        _mm512_add_epi16(_mm512_mullo_epi16(x86::load512(&runs, 0), run_words), x86::load512(&halves, 0));
    let mut least = _mm512_set1_epi8(-1);
    let blocks = out.as_chunks_mut::<BLOCK>().0;
    for (block, out) in blocks.iter_mut().enumerate().take((run + UNFINISHED).div_ceil(BLOCK)) {
        let mut fours = _mm512_setzero_si512();
        for (number, lane) in (0..LANES).step_by(TOGETHER).enumerate() {
            let bytes = x86::load512(row, lane * run + BLOCK * block);
            let lanes = 0b11_1111 << (6 * number);
            fours = _mm512_mask_permutexvar_epi16(fours, lanes, words, bytes);
        }
        least = _mm512_min_epu8(least, fours);
        let byte = _mm512_set1_epi32(0xff);
        let samples = [
            _mm512_and_si512(fours, byte),
            _mm512_and_si512(_mm512_srli_epi32::<8>(fours), byte),
            _mm512_and_si512(_mm512_srli_epi32::<16>(fours), byte),
            _mm512_srli_epi32::<24>(fours),
        ];
        for (samples, out) in samples.into_iter().zip(out) {
            x86::store512(out, 0, _mm512_castps_si512(_mm512_cvtepi32_ps(samples)));
        }
    }
    narrow::are_within(least)
}

/// Fills the line from a row of bytes, 16-bit numbers or floats. Says whether they are in the range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn fill_from<T: Number>(line: &mut Line, row: &[T], factor: f32) -> bool {
    let Some(last) = row.len().checked_sub(LANES) else {
        let mut padded = [row[0]; LANES];
        padded[..row.len()].copy_from_slice(row);
        return fill_from(line, &padded, factor);
    };
    let factor = _mm512_set1_ps(factor);
    let mut furthest = _mm512_setzero_si512();
    // The last vector may take some samples again.
    for at in (0..last).step_by(LANES).chain([last]) {
        let samples = _mm512_mul_ps(sixteen(row, at), factor);
        x86::store512(&mut line.0, at, _mm512_castps_si512(samples));
        furthest = _mm512_max_epu32(furthest, narrow::beyond_least(samples));
    }
    narrow::is_within(_mm512_reduce_max_epu32(furthest))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sixteen<T: Number>(row: &[T], at: usize) -> __m512 {
    match size_of::<T>() {
        1 => _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x86::load128(row, at))),
        2 => _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(x86::load256(row, at))),
        _ => _mm512_castsi512_ps(x86::load512(row, at)),
    }
}

/// Deals samples out in runs, a block of vectors at a time. A run's samples lie side by side: four of them from each of four
/// runs make a vector, four such vectors are transposed in their parts of four.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub fn deal_out(line: &[f32; LINE], run: usize, out: &mut [[f32; LANES]; VECTORS]) {
    let blocks = out.as_chunks_mut::<BLOCK>().0;
    for (block, out) in blocks.iter_mut().enumerate().take((run + UNFINISHED).div_ceil(BLOCK)) {
        let four = |lane: usize| {
            let quarter = |part: usize| x86::load128(line, (BLOCK * part + lane) * run + BLOCK * block);
            let low = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(quarter(0)), quarter(1));
            _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(low, quarter(2)), quarter(3))
        };
        let (a, b, c, d) = (four(0), four(1), four(2), four(3));
        let (ab, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (cd, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        x86::store512(&mut out[0], 0, _mm512_unpacklo_epi64(ab, cd));
        x86::store512(&mut out[1], 0, _mm512_unpackhi_epi64(ab, cd));
        x86::store512(&mut out[2], 0, _mm512_unpacklo_epi64(ab_high, cd_high));
        x86::store512(&mut out[3], 0, _mm512_unpackhi_epi64(ab_high, cd_high));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn ask_for<T: Number>(row: &[T]) {
    for at in (0..row.len()).step_by(64 / size_of::<T>()) {
        x86::prefetch(row, at);
    }
}
