//! Halving a picture with AVX-512: the sums of [`scalar`], with fewer weighted samples.
//!
//! Where sums are exact, columns are summed first and serve several outputs, in one of two forms that give the same bits:
//! in two sums of `f32` ([`narrow`]) where samples lie in a range that most pictures do not leave, otherwise in `f64`. It is
//! chosen for every batch of rows.
#![expect(unsafe_code, reason = "kernels: see the SAFETY notes")]

mod narrow;
mod split;

use std::arch::x86_64::*;
use std::ops::Range;

use super::pyramid::Band;
use super::scalar::{self, FILTER, LANES, STEPS, SplitRow, TAPS};
use crate::float_ssim::Source;
use crate::simd::avx512::parts::{self, Follower, Form};
use crate::simd::avx512::{Avx512, Fractions};
use crate::simd::{Lines, OnMultipliers, x86};
use narrow::{PLACE, Parts};

/// Outputs of a cell: a vector of `f32`, or so many of `f64`.
const CELL: usize = SIDE * LANES;
const SIDE: usize = 2;
/// Row pairs that are taken at a time.
const BATCH: usize = 8;
/// Outputs under way while rows go by: those that a row pair does not finish.
const UNDER_WAY: usize = TAPS / 2;

/// Row pairs that are taken in a loop without turning: sums then stay where they are while each becomes that of the next tap.
const UNROLLED: usize = UNDER_WAY;
/// Split rows begin so far behind a cache line that the picture's own samples, of which the first is the third of its kind,
/// begin at one.
const LEAD: usize = CELL - 2;

/// The sums of outputs under way of a cell, the one that began last at the start, for `N` columns of the filter: whole parts
/// and rests, or the bits of the `f64` of the first and of the second eight outputs.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct UnderWay<const N: usize>([[[[f32; CELL]; SIDE]; UNDER_WAY]; N]);

impl<const N: usize> UnderWay<N> {
    const ZERO: Self = Self([[[[0.0; CELL]; SIDE]; UNDER_WAY]; N]);

    /// A half of the outputs in `f64`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn load(&self, half: usize) -> [[__m512d; UNDER_WAY]; N] {
        let mut sums = [[_mm512_setzero_pd(); UNDER_WAY]; N];
        for (sum, kept) in sums.as_flattened_mut().iter_mut().zip(self.0.as_flattened()) {
            *sum = _mm512_castsi512_pd(x86::load512(&kept[half], 0));
        }
        sums
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn store(&mut self, half: usize, sums: [[__m512d; UNDER_WAY]; N]) {
        for (sum, kept) in sums.as_flattened().iter().zip(self.0.as_flattened_mut()) {
            x86::store512(&mut kept[half], 0, _mm512_castpd_si512(*sum));
        }
    }

    /// Brings sums to the other form.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn change(&mut self, form: Form) {
        for [first, second] in self.0.as_flattened_mut() {
            let now = [x86::load512(first, 0), x86::load512(second, 0)];
            let [now, then] = match form {
                Form::Wide => {
                    let [low, high] =
                        parts::widen([_mm512_castsi512_ps(now[0]), _mm512_castsi512_ps(now[1])]);
                    [_mm512_castpd_si512(low), _mm512_castpd_si512(high)]
                }
                Form::Narrow => {
                    let sums = [_mm512_castsi512_pd(now[0]), _mm512_castsi512_pd(now[1])];
                    let [whole, rest] = parts::narrow::<PLACE>(sums);
                    [_mm512_castps_si512(whole), _mm512_castps_si512(rest)]
                }
            };
            x86::store512(first, 0, now);
            x86::store512(second, 0, then);
        }
    }
}

/// The row pairs of a band, some at a time.
fn batches(to: &Band<'_>) -> impl Iterator<Item = Range<usize>> + use<> {
    let pairs = to.rows.start..to.rows.end + UNDER_WAY;
    pairs.clone().step_by(BATCH).map(move |first| first..pairs.end.min(first + BATCH))
}

/// Halves pictures. Rows go by once, in pairs, and add to all outputs that they are under: the filter is symmetric, so
/// that a weighted sample serves several of them.
#[derive(Debug)]
pub struct Pairs {
    _proof: Avx512,
    fractions: Fractions,
    even: Lines<f32>,
    odd: Lines<f32>,
    /// Length of a split row and what is before it.
    stride: usize,
    /// Columns 0, 2, 4 of the filter, which are also 8, 6, 4, for every cell.
    even_sums: Vec<UnderWay<3>>,
    /// Columns 1 and 3, which are also 7 and 5.
    odd_sums: Vec<UnderWay<2>>,
    /// All columns.
    sums: Vec<UnderWay<1>>,
}

impl Pairs {
    pub fn new(proof: Avx512, width: usize) -> Self {
        Self::splitting(proof, width, Fractions::of_machine(proof))
    }

    pub fn splitting(proof: Avx512, width: usize, fractions: Fractions) -> Self {
        // An output takes samples of its own cell and of the next one.
        let cells = width.div_ceil(2).div_ceil(CELL) + 1;
        let stride = LEAD + cells * CELL + 2;
        let rows = || Lines::new(2 * BATCH * stride);
        Self {
            _proof: proof,
            fractions,
            even: rows(),
            odd: rows(),
            stride,
            even_sums: vec![UnderWay::ZERO; cells],
            odd_sums: vec![UnderWay::ZERO; cells],
            sums: vec![UnderWay::ZERO; cells],
        }
    }

    /// Makes some rows of half the size. Row pairs begin four rows above the picture; output `y` ends with the first row of
    /// pair `y + 4`.
    pub fn halve(&mut self, from: Source<'_>, mut to: Band<'_>) {
        // SAFETY: the features were detected before the proof was made.
        unsafe {
            if !self.halve_exact(from, &mut to) {
                self.halve_in_order(from, &mut to);
            }
        }
    }

    /// Stops and gives `false` where the order of sums matters.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn halve_exact(&mut self, from: Source<'_>, to: &mut Band<'_>) -> bool {
        let (mut follower, mut exact) = (Follower::FIRST, None);
        for batch in batches(to) {
            let in_range = self.split(from, batch.clone());
            let before = follower.form;
            let form = follower.follow(in_range);
            // In the range of the narrow form sums are exact, too.
            if form == Form::Wide && !*exact.get_or_insert_with(|| to.sums_are_exact(from)) {
                return false;
            }
            if form != before {
                self.change_form(form);
            }
            match (form, self.fractions) {
                (Form::Wide, _) => self.filter_exact(batch, to),
                (Form::Narrow, Fractions::Rounded) => self.filter_narrow::<true>(batch, to),
                (Form::Narrow, Fractions::Reduced) => self.filter_narrow::<false>(batch, to),
            }
        }
        true
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn halve_in_order(&mut self, from: Source<'_>, to: &mut Band<'_>) {
        for batch in batches(to) {
            self.split(from, batch.clone());
            self.filter_in_order(batch, to);
        }
    }

    /// Deals out the rows of some pairs. Says whether all samples are in the range of the narrow form.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn split(&mut self, from: Source<'_>, pairs: Range<usize>) -> bool {
        let rows = self.even.chunks_exact_mut(self.stride).zip(self.odd.chunks_exact_mut(self.stride));
        let mut in_range = true;
        for (y, (even, odd)) in (2 * pairs.start..2 * pairs.end).zip(rows) {
            let row = from.row(scalar::mirrored(y, from.height()));
            in_range &= split::split_row(row, &mut even[LEAD..], &mut odd[LEAD..]);
        }
        in_range
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn change_form(&mut self, form: Form) {
        for (even, odd) in self.even_sums.iter_mut().zip(&mut self.odd_sums) {
            even.change(form);
            odd.change(form);
        }
    }

    /// The samples under a cell of a split row.
    fn cell(rows: &[f32], stride: usize, number: usize, cell: usize) -> &[f32; CELL] {
        rows[number * stride + LEAD + cell * CELL..].first_chunk().expect("a cell more than outputs have")
    }

    /// As [`halve_row`](scalar::ColumnSums::halve_row), in the narrow form. Always takes a whole batch: after the last rows of a
    /// picture no sums are wanted.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn filter_narrow<const ROUND: bool>(&mut self, pairs: Range<usize>, to: &mut Band<'_>) {
        let one = _mm512_set1_ps(OnMultipliers::new().one() as f32);
        let Self { even, odd, stride, even_sums, odd_sums, .. } = self;
        // The first pairs finish nothing.
        let finished = (to.rows.start + UNDER_WAY).saturating_sub(pairs.start)..pairs.len();
        let mut steps = [[Parts::zero(); STEPS]; BATCH];
        let mut done = [[Parts::zero(); 3]; BATCH];
        for cell in 0..=to.width.div_ceil(CELL) {
            let row = |rows, number| Self::cell(rows, *stride, number, cell);
            let mut sums = narrow::load(&even_sums[cell]);
            for (some, done) in done.as_chunks_mut::<UNROLLED>().0.iter_mut().enumerate() {
                macro_rules! pairs {
                    ($($number:literal)*) => {
                        $(
                            let pair = UNROLLED * some + $number;
                            let (first, second) = (row(even, 2 * pair), row(even, 2 * pair + 1));
                            narrow::add_even::<ROUND>(one, first, second, &mut sums, &mut done[$number]);
                        )*
                    };
                }
                pairs!(0 1 2 3);
            }
            narrow::store(&mut even_sums[cell], &sums);
            let mut sums = narrow::load(&odd_sums[cell]);
            for (some, steps) in steps.as_chunks_mut::<UNROLLED>().0.iter_mut().enumerate() {
                macro_rules! pairs {
                    ($($number:literal)*) => {
                        $(
                            let pair = UNROLLED * some + $number;
                            let (first, second) = (row(odd, 2 * pair), row(odd, 2 * pair + 1));
                            let (evens, kept) = (&done[pair], &mut steps[$number]);
                            let out = narrow::add_odd::<ROUND>(one, first, second, &mut sums, evens, kept);
                            if cell > 0 && finished.contains(&pair) {
                                let row = to.padded_row_mut(pairs.start + pair - UNDER_WAY);
                                x86::store512(row, (cell - 1) * CELL, _mm512_castps_si512(out));
                            }
                        )*
                    };
                }
                pairs!(0 1 2 3);
            }
            narrow::store(&mut odd_sums[cell], &sums);
        }
    }

    /// As [`halve_row`](scalar::halve_row).
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn filter_in_order(&mut self, pairs: Range<usize>, to: &mut Band<'_>) {
        let one = OnMultipliers::new();
        let cells = to.width.div_ceil(CELL);
        for (at, under_way) in (0..).step_by(CELL).zip(&mut self.sums[..cells]) {
            let ([first], [second]) = (under_way.load(0), under_way.load(1));
            let mut sums = [first, second];
            for (number, pair) in pairs.clone().enumerate() {
                let row = |number: usize| {
                    let at = number * self.stride + LEAD + at;
                    SplitRow { even: &self.even[at..], odd: &self.odd[at..] }
                };
                let done = add_in_order(one, row(2 * number), row(2 * number + 1), &mut sums);
                // The first pairs finish nothing.
                if let Some(y) = pair.checked_sub(UNDER_WAY).filter(|y| *y >= to.rows.start) {
                    for (cell, done) in done.into_iter().enumerate() {
                        store(to.padded_row_mut(y), at + cell * LANES, done);
                    }
                }
            }
            under_way.store(0, [sums[0]]);
            under_way.store(1, [sums[1]]);
        }
    }

    /// As [`halve_row`](scalar::ColumnSums::halve_row): sums of columns serve several outputs.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn filter_exact(&mut self, pairs: Range<usize>, to: &mut Band<'_>) {
        let one = OnMultipliers::new();
        let halves = to.width.div_ceil(LANES);
        let mut steps = [[[_mm512_setzero_pd(); STEPS]; BATCH]; 2];
        for half in 0..=halves {
            self.sum_columns(one, half, &mut steps[half % 2][..pairs.len()]);
            let Some(before) = half.checked_sub(1) else { continue };
            // The first pairs finish nothing.
            for pair in (to.rows.start + UNDER_WAY).saturating_sub(pairs.start)..pairs.len() {
                let sum = sum_steps(&steps[before % 2][pair], &steps[half % 2][pair]);
                store(to.padded_row_mut(pairs.start + pair - UNDER_WAY), before * LANES, sum);
            }
        }
    }

    /// The steps of half a cell for every row pair; see [`ColumnSums`](super::scalar::ColumnSums).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn sum_columns(&mut self, one: OnMultipliers, half: usize, steps: &mut [[__m512d; STEPS]]) {
        let row = |rows: &[f32], number: usize| {
            _mm256_castsi256_ps(x86::load256(rows, number * self.stride + LEAD + half * LANES))
        };
        let (cell, half) = (half / SIDE, half % SIDE);
        let mut sums = self.even_sums[cell].load(half);
        for (pair, steps) in steps.iter_mut().enumerate() {
            let done = add_even(one, row(&self.even, 2 * pair), row(&self.even, 2 * pair + 1), &mut sums);
            steps[..3].copy_from_slice(&done);
        }
        self.even_sums[cell].store(half, sums);
        let mut sums = self.odd_sums[cell].load(half);
        for (pair, steps) in steps.iter_mut().enumerate() {
            let odd = add_odd(one, row(&self.odd, 2 * pair), row(&self.odd, 2 * pair + 1), &mut sums);
            *steps = join([steps[0], steps[1], steps[2]], odd);
        }
        self.odd_sums[cell].store(half, sums);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn weighted(samples: &[f32], at: usize, weight: f32) -> __m512d {
    wide(_mm256_castsi256_ps(x86::load256(samples, at)), weight)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn wide(samples: __m256, weight: f32) -> __m512d {
    _mm512_cvtps_pd(_mm256_mul_ps(samples, _mm256_set1_ps(weight)))
}

/// A third of the sums by the adders, which also convert; the others on the multipliers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add(one: OnMultipliers, number: usize, sum: __m512d, term: __m512d) -> __m512d {
    if number.is_multiple_of(3) {
        _mm512_add_pd(sum, term)
    } else {
        _mm512_fmadd_pd(term, _mm512_set1_pd(one.one()), sum)
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn store(out: &mut [f32], at: usize, sums: __m512d) {
    x86::store256(out, at, _mm256_castps_si256(_mm512_cvtpd_ps(sums)));
}

/// Adds a row pair to the outputs under way: the first row is tap 0, 2, 4, 6, 8 of five outputs, the second tap 1, 3, 5,
/// 7 of four. Gives the one that this finishes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_in_order(
    one: OnMultipliers,
    first: SplitRow<'_>,
    second: SplitRow<'_>,
    sums: &mut [[__m512d; UNDER_WAY]; SIDE],
) -> [__m512d; SIDE] {
    let sum = |number: usize| sums.map(|sums| sums[number]);
    let [done, tap_0] = add_row(one, first, 0, [sum(3), [_mm512_setzero_pd(); SIDE]]);
    let [tap_6, tap_2] = add_row(one, first, 2, [sum(2), sum(0)]);
    let [tap_4] = add_row(one, first, 4, [sum(1)]);
    let [tap_1, tap_7] = add_row(one, second, 1, [tap_0, tap_6]);
    let [tap_3, tap_5] = add_row(one, second, 3, [tap_2, tap_4]);
    for (cell, sums) in sums.iter_mut().enumerate() {
        *sums = [tap_1, tap_3, tap_5, tap_7].map(|sum| sum[cell]);
    }
    done
}

/// Adds a row of the filter to those outputs for which it has these weights, in the order of the columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_row<const N: usize>(
    one: OnMultipliers,
    row: SplitRow<'_>,
    number: usize,
    mut sums: [[__m512d; SIDE]; N],
) -> [[__m512d; SIDE]; N] {
    let (even, odd) = (&row.even[..(SIDE + 1) * LANES], &row.odd[..(SIDE + 1) * LANES]);
    for (tap, weight) in FILTER[number].iter().enumerate() {
        let side = if tap.is_multiple_of(2) { even } else { odd };
        for cell in 0..SIDE {
            let term = weighted(side, cell * LANES + tap / 2, *weight);
            for sums in &mut sums {
                sums[cell] = add(one, tap, sums[cell], term);
            }
        }
    }
    sums
}

/// The steps that columns make.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn join([far, middle, centre]: [__m512d; 3], [outer, inner]: [__m512d; 2]) -> [__m512d; STEPS] {
    [
        _mm512_add_pd(far, outer),
        _mm512_add_pd(middle, inner),
        _mm512_add_pd(centre, inner),
        _mm512_add_pd(middle, outer),
        far,
    ]
}

/// Adds a row pair to the even columns of the filter, and gives the sums that this finishes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_even(
    one: OnMultipliers,
    first: __m256,
    second: __m256,
    sums: &mut [[__m512d; UNDER_WAY]; 3],
) -> [__m512d; 3] {
    let [t00, t02, t04, t22, t24, t44] = [(0, 0), (0, 2), (0, 4), (2, 2), (2, 4), (4, 4)]
        .map(|(row, column)| wide(first, FILTER[row][column]));
    let [t10, t12, t14, t30, t32, t34] = [(1, 0), (1, 2), (1, 4), (3, 0), (3, 2), (3, 4)]
        .map(|(row, column)| wide(second, FILTER[row][column]));
    [
        add_column(one, [t00, t02, t04], [t10, t30], &mut sums[0]),
        add_column(one, [t02, t22, t24], [t12, t32], &mut sums[1]),
        add_column(one, [t04, t24, t44], [t14, t34], &mut sums[2]),
    ]
}

/// As [`add_even`], for the odd columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_odd(
    one: OnMultipliers,
    first: __m256,
    second: __m256,
    sums: &mut [[__m512d; UNDER_WAY]; 2],
) -> [__m512d; 2] {
    let [t01, t21, t41, t03, t23, t43] = [(0, 1), (2, 1), (4, 1), (0, 3), (2, 3), (4, 3)]
        .map(|(row, column)| wide(first, FILTER[row][column]));
    let [t11, t13, t33] = [(1, 1), (1, 3), (3, 3)].map(|(row, column)| wide(second, FILTER[row][column]));
    [
        add_column(one, [t01, t21, t41], [t11, t13], &mut sums[0]),
        add_column(one, [t03, t23, t43], [t13, t33], &mut sums[1]),
    ]
}

/// Adds the terms of a row pair to a column: the first row is tap 0, 2, 4, 6, 8 of five outputs, the second tap 1, 3, 5,
/// 7 of four.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn add_column(
    one: OnMultipliers,
    [outer, middle, centre]: [__m512d; 3],
    [far, near]: [__m512d; 2],
    sums: &mut [__m512d; UNDER_WAY],
) -> __m512d {
    let done = add(one, 0, sums[3], outer);
    sums[3] = add(one, 2, add(one, 1, sums[2], middle), far);
    sums[2] = add(one, 1, add(one, 0, sums[1], centre), near);
    sums[1] = add(one, 2, add(one, 1, sums[0], middle), near);
    sums[0] = add(one, 1, outer, far);
    done
}

/// An output is the sum of its steps, of which those that lie in the next vector are shifted over.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn sum_steps(now: &[__m512d; STEPS], next: &[__m512d; STEPS]) -> __m512d {
    let first = _mm512_add_pd(now[0], x86::shifted512::<1>(now[1], next[1]));
    let second = _mm512_add_pd(x86::shifted512::<2>(now[2], next[2]), x86::shifted512::<3>(now[3], next[3]));
    _mm512_add_pd(second, _mm512_add_pd(x86::shifted512::<4>(now[4], next[4]), first))
}
