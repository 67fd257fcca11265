//! Kernels for AVX-512: what plain code writes down one by one, to drop some of it again, is chosen here in vectors.
//!
//! All of them go through the runs of a row, 16 at a time in lanes of 32 bits, and give what the plain ones give; where those
//! sort runs without keeping their order, it may be another order.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

use std::arch::x86_64::*;

use super::scalar::contrast::{Pieces, USUAL};
use super::scalar::histogram::{Counts, Held, Places, TILE};
use super::scalar::runs::Run;
use crate::simd::avx512::Avx512;
use crate::simd::x86::{load512, store256, store512};

/// Runs of a vector.
const LANES: usize = 16;
/// Every second lane of two vectors that are merged, and the ones between.
const EVEN: u32 = 0x5555_5555;
const ODD: u32 = !EVEN;

/// At which columns of a tile a level occurs that is at least a step of this size away from the one in the middle: a bit for
/// each. See `any_beside` of [`contrast`](super::scalar::contrast) for why lines are looked at twice.
#[inline(always)]
pub fn occupied_columns(_: Avx512, around: &[Counts; USUAL], least: usize) -> u32 {
    const MIDDLE: usize = USUAL / 2;
    // SAFETY: the features were detected before the proof was made.
    unsafe {
        let mut any = _mm512_or_si512(load512(&around[0].0, 0), load512(&around[2 * MIDDLE].0, 0));
        for step in 1..MIDDLE {
            let step = step.max(least).min(MIDDLE);
            let (below, above) = (load512(&around[MIDDLE - step].0, 0), load512(&around[MIDDLE + step].0, 0));
            any = _mm512_ternarylogic_epi32::<0xfe>(any, below, above);
        }
        _mm512_test_epi16_mask(any, any)
    }
}

/// [`Held::hold`] for runs that are no longer than a window, a vector of runs at a time. Longer ones are added to `long`.
#[inline(always)]
pub fn hold(_: Avx512, held: &mut Held, runs: &[Run], places: Places) {
    // SAFETY: the features were detected before the proof was made.
    unsafe { hold_runs(held, runs, places) }
}

#[target_feature(enable = "avx512f,avx512bw,bmi2,popcnt")]
fn hold_runs(held: &mut Held, runs: &[Run], places: Places) {
    let of = |number: usize| _mm512_set1_epi32(number as i32);
    let reach = of(places.window / 2);
    let (mut few, mut all) = (0, 0);
    for runs in runs.chunks(LANES) {
        let Lanes { used, level, start, len } = load(runs);
        let first = _mm512_srli_epi32::<5>(_mm512_max_epi32(_mm512_sub_epi32(start, reach), of(0)));
        let end = _mm512_add_epi32(_mm512_add_epi32(start, len), reach);
        let last = _mm512_srli_epi32::<5>(_mm512_sub_epi32(end, of(1)));
        let line = _mm512_add_epi32(_mm512_mullo_epi32(first, of(places.rows)), level);
        let line = _mm512_add_epi32(line, of(places.margin));
        let column = _mm512_add_epi32(_mm512_slli_epi32::<5>(first), of(TILE + places.window / 2));
        let shape = _mm512_add_epi32(_mm512_mullo_epi32(len, of(places.stride)), column);
        let shape = _mm512_sub_epi32(shape, start);
        let long = _mm512_mask_cmpgt_epu32_mask(used, len, of(places.window));
        let tiles = _mm512_sub_epi32(last, first);
        let reach_all = _mm512_mask_cmpeq_epi32_mask(used & !long, tiles, of(places.tiles - 1));
        let reach_few = used & !long & !reach_all;
        // Lanes 0, 1, 4, 5 and so on, then 2, 3, 6, 7 and so on.
        let parts =
            [(_mm512_unpacklo_epi32(line, shape), 0x3333), (_mm512_unpackhi_epi32(line, shape), 0xcccc)];
        for (spots, lanes) in parts {
            let put = |chosen: u16, list: &mut [u64], count: &mut usize| {
                let chosen = _pext_u32(u32::from(chosen), lanes) as u8;
                store512(list, *count, _mm512_maskz_compress_epi64(chosen, spots));
                *count += chosen.count_ones() as usize;
            };
            put(reach_few, &mut held.few, &mut few);
            put(reach_all, &mut held.all, &mut all);
        }
        let mut long = long;
        while long != 0 {
            held.long.push(runs[long.trailing_zeros() as usize]);
            long &= long - 1;
        }
    }
    (held.few_count, held.all_count) = (few, all);
}

/// Cuts runs into pieces and keeps those of `visible` levels. How many runs were cut: before one that lies in more than two
/// tiles it ends, and at the end. `rows` is from one tile of the histogram to the next.
#[inline(always)]
pub fn cut(_: Avx512, runs: &[Run], visible: std::ops::Range<u16>, rows: usize, out: &mut Pieces) -> usize {
    // SAFETY: the features were detected before the proof was made.
    unsafe { cut_runs(runs, visible, rows, out) }
}

#[target_feature(enable = "avx512f,avx512bw,bmi2,popcnt")]
fn cut_runs(all_runs: &[Run], visible: std::ops::Range<u16>, rows: usize, out: &mut Pieces) -> usize {
    let of = |number: i32| _mm512_set1_epi32(number);
    // First and second pieces of eight runs, by turns.
    let order = [
        _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
    ];
    let (low, count) = (of(i32::from(visible.start)), of(visible.len() as i32));
    for (index, runs) in all_runs.chunks(LANES).enumerate() {
        let Lanes { used, level, start, len } = load(runs);
        let last = _mm512_sub_epi32(_mm512_add_epi32(start, len), of(1));
        let (tile, last_tile) = (_mm512_srli_epi32::<5>(start), _mm512_srli_epi32::<5>(last));
        let tiles = _mm512_sub_epi32(last_tile, tile);
        let many = _mm512_mask_cmpgt_epi32_mask(used, tiles, of(1));
        if many != 0 {
            return index * LANES;
        }
        let seen = _mm512_mask_cmplt_epu32_mask(used, _mm512_sub_epi32(level, low), count);
        let in_two = _mm512_mask_cmpeq_epi32_mask(seen, tiles, of(1));
        let from = _mm512_sllv_epi32(of(-1), _mm512_and_si512(start, of(31)));
        let to = _mm512_srlv_epi32(of(-1), _mm512_andnot_si512(last, of(31)));
        let line = _mm512_add_epi32(_mm512_mullo_epi32(tile, of(rows as i32)), level);
        let level_and_tile = _mm512_or_si512(level, _mm512_slli_epi32::<16>(tile));
        let lines = [line, _mm512_add_epi32(line, of(rows as i32))];
        let insides = [_mm512_mask_and_epi32(from, !in_two, from, to), to];
        let levels = [level_and_tile, _mm512_add_epi32(level_and_tile, of(1 << 16))];
        let chosen = _pdep_u32(u32::from(seen), EVEN) | _pdep_u32(u32::from(in_two), ODD);
        for (half, order) in order.into_iter().enumerate() {
            let chosen = (chosen >> (half * LANES)) as u16;
            let merge = |two: [__m512i; 2]| {
                _mm512_maskz_compress_epi32(chosen, _mm512_permutex2var_epi32(two[0], order, two[1]))
            };
            store512(&mut out.lines, out.count, merge(lines));
            store512(&mut out.insides, out.count, merge(insides));
            store512(&mut out.levels_and_tiles, out.count, merge(levels));
            out.count += chosen.count_ones() as usize;
        }
    }
    all_runs.len()
}

/// The numbers of the groups, two for each piece, in which any column is occupied. How many there are.
#[inline(always)]
pub fn find_places(_: Avx512, occupied: &[u32], out: &mut [u32]) -> usize {
    // SAFETY: the features were detected before the proof was made.
    unsafe { find_groups(occupied, out) }
}

#[target_feature(enable = "avx512f,avx512bw,bmi2,popcnt")]
fn find_groups(occupied: &[u32], out: &mut [u32]) -> usize {
    let of = |number: i32| _mm512_set1_epi32(number);
    let numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut found = 0;
    for (index, occupied) in occupied.chunks(LANES).enumerate() {
        let used = used_lanes(occupied.len());
        // SAFETY: lanes that are not used are not read.
        let occupied = unsafe { _mm512_maskz_loadu_epi32(used, occupied.as_ptr().cast()) };
        let first = _mm512_test_epi32_mask(occupied, of(0xffff));
        let second = _mm512_test_epi32_mask(occupied, of(!0xffff));
        let chosen = _pdep_u32(u32::from(first), EVEN) | _pdep_u32(u32::from(second), ODD);
        for half in 0..2 {
            let numbers = _mm512_add_epi32(numbers, of(((2 * index + half) * LANES) as i32));
            let chosen = (chosen >> (half * LANES)) as u16;
            store512(out, found, _mm512_maskz_compress_epi32(chosen, numbers));
            found += chosen.count_ones() as usize;
        }
    }
    found
}

/// Up to 16 runs.
struct Lanes {
    used: u16,
    level: __m512i,
    start: __m512i,
    len: __m512i,
}

fn used_lanes(count: usize) -> u16 {
    (u32::MAX >> (32 - count.min(LANES))) as u16
}

/// Which words of two vectors, the numbers of the second from 32 on, are a member of runs of three words.
const fn member(which: i16) -> [i16; 32] {
    let mut words = [0; 32];
    let mut lane = 0;
    while lane < LANES {
        words[2 * lane] = 3 * lane as i16 + which;
        lane += 1;
    }
    words
}

/// At least one run, and 16 at most.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2,popcnt")]
fn load(runs: &[Run]) -> Lanes {
    const MEMBERS: [[i16; 32]; 3] = [member(0), member(1), member(2)];
    let used = used_lanes(runs.len());
    let words = u64::MAX >> (64 - 3 * runs.len().min(LANES));
    let at: *const i16 = runs.as_ptr().cast();
    // SAFETY: runs are three words each, one after the other, and words that are not theirs are not read.
    let (low, high) = unsafe {
        let high = at.wrapping_add(32);
        (_mm512_maskz_loadu_epi16(words as u32, at), _mm512_maskz_loadu_epi16((words >> 32) as u32, high))
    };
    let of = |member: &[i16; 32]| _mm512_maskz_permutex2var_epi16(EVEN, low, load512(member, 0), high);
    let [level, start, len] = MEMBERS.each_ref().map(of);
    Lanes { used, level, start, len }
}

/// Pixels of a group: a bit of a word for each.
pub const WORD: usize = u64::BITS as usize;

/// Bits for the first pixels of a group.
fn first_bits(count: usize) -> u64 {
    if count < WORD { (1 << count) - 1 } else { u64::MAX }
}

/// 64 samples from `at` on, two vectors of them.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_samples(row: &[u16], at: usize) -> [__m512i; 2] {
    let samples: &[u16; WORD] = row[at..].first_chunk().expect("a group of the row");
    [load512(samples, 0), load512(samples, 32)]
}

/// The samples of a row that are left from `at` on, up to 64 of them, and zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_rest(row: &[u16], at: usize) -> [__m512i; 2] {
    let rest = &row[at.min(row.len())..];
    let lanes = first_bits(rest.len());
    [0, 32].map(|half| {
        // SAFETY: lanes beyond the end of the row are not read.
        unsafe { _mm512_maskz_loadu_epi16((lanes >> half) as u32, rest.as_ptr().wrapping_add(half).cast()) }
    })
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal(one: [__m512i; 2], two: [__m512i; 2]) -> u64 {
    let [low, high] = [0, 1].map(|half| _mm512_cmpeq_epi16_mask(one[half], two[half]));
    u64::from(low) | u64::from(high) << 32
}

/// Puts flags, a bit for each pixel, in the place of those of an older row, and exchanges them in the sums of columns as well.
/// A flag is set where a pixel equals its right and its lower neighbour; nothing is to the right of the last one.
#[inline(always)]
pub fn exchange_flags(_: Avx512, row: &[u16], below: &[u16], flags: &mut [u64], sums: &mut [u8]) {
    // SAFETY: the features were detected before the proof was made.
    unsafe { exchange(row, below, flags, sums) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn exchange(row: &[u16], below: &[u16], flags: &mut [u64], sums: &mut [u8]) {
    let one = _mm512_set1_epi8(1);
    let exchanged = |sums: __m512i, old: &mut u64, new: u64| {
        let more = _mm512_mask_add_epi8(sums, new, sums, one);
        let exchanged = _mm512_mask_sub_epi8(more, *old, more, one);
        *old = new;
        exchanged
    };
    // Groups that have a pixel to the right of them.
    let whole = (row.len() - 1) / WORD;
    for (group, old) in flags[..whole].iter_mut().enumerate() {
        let at = group * WORD;
        let samples = load_samples(row, at);
        let new = equal(samples, load_samples(row, at + 1)) & equal(samples, load_samples(below, at));
        let held = exchanged(load512(sums, at), old, new);
        store512(sums, at, held);
    }
    let (at, sums) = (whole * WORD, &mut sums[whole * WORD..row.len()]);
    let (used, last) = (first_bits(sums.len()), 1 << (sums.len() - 1));
    let samples = load_rest(row, at);
    let new = (equal(samples, load_rest(row, at + 1)) | last) & equal(samples, load_rest(below, at)) & used;
    // SAFETY: only lanes for which there are sums are read and written.
    unsafe {
        let held = _mm512_maskz_loadu_epi8(used, sums.as_ptr().cast());
        let held = exchanged(held, &mut flags[whole], new);
        _mm512_mask_storeu_epi8(sums.as_mut_ptr().cast(), used, held);
    }
}

/// Every second sample, from the first on.
#[inline(always)]
pub fn decimate_samples(_: Avx512, row: &[u16], out: &mut [u16]) {
    // SAFETY: the features were detected before the proof was made.
    unsafe { every_second_sample(row, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn every_second_sample(row: &[u16], out: &mut [u16]) {
    let (pairs, rest) = row.as_chunks::<32>();
    let mut outs = out.chunks_mut(16);
    for (samples, out) in pairs.iter().zip(&mut outs) {
        store256(out, 0, _mm512_cvtepi32_epi16(load512(samples, 0)));
    }
    let rest = rest.iter().step_by(2);
    outs.flatten().zip(rest).for_each(|(out, sample)| *out = *sample);
}

/// Every second flag, from the first on.
#[inline(always)]
pub fn decimate_flags(_: Avx512, row: &[u8], out: &mut [u8]) {
    // SAFETY: the features were detected before the proof was made.
    unsafe { every_second_flag(row, out) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn every_second_flag(row: &[u8], out: &mut [u8]) {
    let (pairs, rest) = row.as_chunks::<64>();
    let mut outs = out.chunks_mut(32);
    for (flags, out) in pairs.iter().zip(&mut outs) {
        store256(out, 0, _mm512_cvtepi16_epi8(load512(flags, 0)));
    }
    let rest = rest.iter().step_by(2);
    outs.flatten().zip(rest).for_each(|(out, flag)| *out = *flag);
}

/// Where runs begin, and behind which pixels they end: a bit for each. A run is of equal samples, kept by the mask and no less than
/// `base` by `levels` at most. `starts` and `ends` have a word for each whole
/// group, and one more.
#[inline(always)]
pub fn mark_runs(
    _: Avx512,
    row: &[u16],
    mask: &[u8],
    (base, levels): (u16, u16),
    starts: &mut [u64],
    ends: &mut [u64],
) {
    // SAFETY: the features were detected before the proof was made.
    unsafe { mark(row, mask, (base, levels), starts, ends) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn mark(row: &[u16], mask: &[u8], (base, levels): (u16, u16), starts: &mut [u64], ends: &mut [u64]) {
    let (base, levels) = (_mm512_set1_epi16(base as i16), _mm512_set1_epi16(levels as i16));
    // Whether the pixel before a group is in a run.
    let mut before = 0;
    let mut put = |group: usize, samples: [__m512i; 2], left: [__m512i; 2], mask: __m512i| {
        let same = equal(samples, left);
        let [low, high] =
            samples.map(|samples| _mm512_cmplt_epu16_mask(_mm512_sub_epi16(samples, base), levels));
        let kept = _mm512_test_epi8_mask(mask, mask) & (u64::from(low) | u64::from(high) << 32);
        let kept_before = kept << 1 | before;
        before = kept >> (WORD - 1);
        starts[group] = kept & !(kept_before & same);
        ends[group] = kept_before & !(kept & same);
    };
    let (whole, rest) = mask.as_chunks::<WORD>();
    // Whatever stands before the first pixel, it is in no run.
    let left_of = |group: usize| (group * WORD).saturating_sub(1);
    for (group, mask) in whole.iter().enumerate() {
        let left = if group == 0 { first_left(row) } else { load_samples(row, left_of(group)) };
        put(group, load_samples(row, group * WORD), left, load512(mask, 0));
    }
    // SAFETY: lanes beyond the end of the row are not read.
    let mask = unsafe { _mm512_maskz_loadu_epi8(first_bits(rest.len()), rest.as_ptr().cast()) };
    let left = if whole.is_empty() { first_left(row) } else { load_rest(row, left_of(whole.len())) };
    put(whole.len(), load_rest(row, whole.len() * WORD), left, mask);
}

/// The samples to the left of the first 64; that of the first one is any.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn first_left(row: &[u16]) -> [__m512i; 2] {
    let mut left = [0; WORD];
    left[1..].iter_mut().zip(row).for_each(|(left, sample)| *left = *sample);
    load_samples(&left, 0)
}
