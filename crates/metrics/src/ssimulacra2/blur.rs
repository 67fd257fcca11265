//! The blur: a Gaussian of standard deviation 1.5, as a recursion.
//!
//! Three cosines, cut off after four samples, add up to something close to a Gaussian. A running cosine of the sum of
//! two inputs needs just its last two outputs, so that the blur costs the same for any width (Charalampidis, *Recursive
//! Implementation of the Gaussian Filter Using Truncated Cosine Functions*, 2016; equation numbers are from there).
//! Outside of the picture there are zeros.
//!
//! In exact arithmetic this would be a filter of nine taps. In `f32` the recursion's rounding errors are larger, and flat
//! parts of pictures show them in the score; so the operations, and which of them are fused, are those of the published
//! tool.

mod side_by_side;

use std::ops::Range;

use super::fused::Fused;

pub use side_by_side::blur_along_rows;

/// Cosines in the sum.
const WAVES: usize = 3;
/// The recursion's radius: it takes the samples `RADIUS - 1` ahead and `RADIUS + 1` behind.
const RADIUS: usize = 5;
/// How many samples a blurred one lags behind the newest that went into it.
pub const LAG: usize = RADIUS - 1;
/// Rows between the newest and the oldest that go into a row, both counted.
pub const SPAN: usize = 2 * RADIUS + 1;
/// Samples of a row that are blurred at once.
const LANES: usize = 4;

/// What the input is multiplied by, and what the last output is, negated (equation 33).
const INPUT: [f64; WAVES] = [0.055295235726086633, -0.058836687026949969, 0.012955819110517089];
const LAST: [f64; WAVES] = [-1.9021130325903071, -1.1755705045849463, -1.2246467991473532e-16];

/// Four steps of a wave's recursion at once: what the inputs and the last two outputs contribute to each.
#[derive(Clone, Copy)]
struct Steps {
    input: [f32; LANES],
    last: [f32; LANES],
    before_last: [f32; LANES],
}

const STEPS: [Steps; WAVES] = [Steps::new(0), Steps::new(1), Steps::new(2)];

impl Steps {
    /// Equation 35, put into itself up to three times.
    const fn new(wave: usize) -> Self {
        let (n, d) = (INPUT[wave], LAST[wave]);
        let d2 = d * d;
        Self {
            input: [n as f32, (-d * n) as f32, (d2 * n - n) as f32, (-d2 * d * n + 2.0 * d * n) as f32],
            last: [
                -d as f32,
                (d2 - 1.0) as f32,
                (-d2 * d + 2.0 * d) as f32,
                (d2 * d2 - 3.0 * d2 + 1.0) as f32,
            ],
            before_last: [-1.0, d as f32, (-d2 + 1.0) as f32, (d2 * d - 2.0 * d) as f32],
        }
    }
}

/// The last two outputs of each wave.
#[derive(Clone, Copy, Default)]
struct Memory {
    last: [f32; WAVES],
    before_last: [f32; WAVES],
}

impl Memory {
    /// One sample.
    #[inline(always)]
    fn step<F: Fused>(&mut self, input: f32) -> f32 {
        let mut out = [0.0; WAVES];
        for wave in 0..WAVES {
            let steps = &STEPS[wave];
            let held = F::fused(steps.before_last[0], self.before_last[wave], input * steps.input[0]);
            out[wave] = F::fused(steps.last[0], self.last[wave], held);
        }
        (self.before_last, self.last) = (self.last, out);
        out[0] + (out[1] + out[2])
    }

    /// Four samples.
    #[inline(always)]
    fn step_four<F: Fused>(&mut self, inputs: &[f32; LANES], out: &mut [f32; LANES]) {
        let mut waves = [[0.0; LANES]; WAVES];
        for wave in 0..WAVES {
            self.wave_of_four::<F>(wave, inputs, &mut waves[wave]);
            (self.before_last[wave], self.last[wave]) = (waves[wave][LANES - 2], waves[wave][LANES - 1]);
        }
        for lane in 0..LANES {
            out[lane] = waves[0][lane] + (waves[1][lane] + waves[2][lane]);
        }
    }

    #[inline(always)]
    fn wave_of_four<F: Fused>(&self, wave: usize, inputs: &[f32; LANES], sums: &mut [f32; LANES]) {
        let steps = &STEPS[wave];
        for lane in 0..LANES {
            sums[lane] = inputs[0] * steps.input[lane];
        }
        // A later input has no part in an earlier output.
        for at in 1..LANES {
            for lane in at..LANES {
                sums[lane] = F::fused(steps.input[lane - at], inputs[at], sums[lane]);
            }
        }
        for lane in 0..LANES {
            sums[lane] = F::fused(steps.before_last[lane], self.before_last[wave], sums[lane]);
            sums[lane] = F::fused(steps.last[lane], self.last[wave], sums[lane]);
        }
    }
}

/// Blurs along a row.
#[inline(always)]
pub fn blur_along<F: Fused>(row: &[f32], out: &mut [f32]) {
    let mut memory = begin::<F>(row, out);
    go_on::<F>(row, out, &mut memory);
    end::<F>(row, out, memory);
}

/// The columns that are blurred by fours: from where the oldest sample is inside and the position is a multiple of four.
fn by_fours(width: usize) -> Range<usize> {
    let first = (RADIUS + 1).next_multiple_of(LANES).min(width);
    first..first + width.saturating_sub(first + LAG) / LANES * LANES
}

/// What goes into a step; `ahead` is where the newest sample is. The output lags behind it.
#[inline(always)]
fn input(row: &[f32], ahead: usize) -> f32 {
    let newest = row.get(ahead).copied().unwrap_or(0.0);
    let oldest = ahead.checked_sub(SPAN - 1).map_or(0.0, |at| row[at]);
    oldest + newest
}

/// Single steps at the beginning.
#[inline(always)]
fn begin<F: Fused>(row: &[f32], out: &mut [f32]) -> Memory {
    let mut memory = Memory::default();
    for ahead in 0..LAG {
        memory.step::<F>(input(row, ahead));
    }
    for x in 0..by_fours(row.len()).start {
        out[x] = memory.step::<F>(input(row, x + LAG));
    }
    memory
}

/// The oldest and the newest samples of the steps by fours.
#[inline(always)]
fn inputs(row: &[f32]) -> [&[[f32; LANES]]; 2] {
    let fours = by_fours(row.len());
    let count = fours.len() / LANES;
    if count == 0 {
        return [&[]; 2];
    }
    let oldest = row[fours.start - RADIUS - 1..].as_chunks::<LANES>().0;
    let newest = row[fours.start + LAG..].as_chunks::<LANES>().0;
    [&oldest[..count], &newest[..count]]
}

#[inline(always)]
fn go_on<F: Fused>(row: &[f32], out: &mut [f32], memory: &mut Memory) {
    let [oldest, newest] = inputs(row);
    let out = out[by_fours(row.len())].as_chunks_mut::<LANES>().0;
    for (out, (oldest, newest)) in out.iter_mut().zip(oldest.iter().zip(newest)) {
        let mut input = *oldest;
        (0..LANES).for_each(|lane| input[lane] += newest[lane]);
        memory.step_four::<F>(&input, out);
    }
}

/// Single steps at the end.
#[inline(always)]
fn end<F: Fused>(row: &[f32], out: &mut [f32], mut memory: Memory) {
    for x in by_fours(row.len()).end..row.len() {
        out[x] = memory.step::<F>(input(row, x + LAG));
    }
}

/// What is remembered of the rows above, for a blur down the columns.
#[derive(Debug)]
pub struct Columns {
    last: [Vec<f32>; WAVES],
    before_last: [Vec<f32>; WAVES],
}

impl Columns {
    pub fn new(width: usize) -> Self {
        let rows = || [(); WAVES].map(|()| vec![0.0; width]);
        Self { last: rows(), before_last: rows() }
    }

    pub fn reset(&mut self) {
        self.last.iter_mut().chain(&mut self.before_last).for_each(|row| row.fill(0.0));
    }

    /// Takes the sum of the newest and the oldest row, and gives the blurred row that lies [`LAG`] above the newest.
    #[inline(always)]
    pub fn step<F: Fused>(&mut self, input: &[f32], out: &mut [f32]) {
        for wave in 0..WAVES {
            let (last, before_last) = (&self.last[wave], &mut self.before_last[wave]);
            step_wave::<F>(wave, input, last, before_last);
        }
        std::mem::swap(&mut self.last, &mut self.before_last);
        let [first, second, third] = &self.last;
        for (((out, first), second), third) in out.iter_mut().zip(first).zip(second).zip(third) {
            *out = first + (second + third);
        }
    }
}

/// One step of one wave in every column; the output takes the place of the output before last.
#[inline(always)]
fn step_wave<F: Fused>(wave: usize, input: &[f32], last: &[f32], before_last: &mut [f32]) {
    if F::BY_DOUBLE {
        let groups = before_last.chunks_mut(GROUP).zip(last.chunks(GROUP)).zip(input.chunks(GROUP));
        for ((out, last), input) in groups {
            step_group::<F>(wave, input, last, out);
        }
        return;
    }
    let (n, d) = (INPUT[wave] as f32, LAST[wave] as f32);
    for ((out, last), input) in before_last.iter_mut().zip(last).zip(input) {
        *out = F::fused(n, *input, F::fused(-d, *last, -*out));
    }
}

/// Columns that are blurred at once where a multiply-add is watched.
const GROUP: usize = 64;

/// The same for at most [`GROUP`] columns.
#[inline(always)]
fn step_group<F: Fused>(wave: usize, input: &[f32], last: &[f32], before_last: &mut [f32]) {
    let (n, d) = (INPUT[wave] as f32, LAST[wave] as f32);
    let width = before_last.len().min(GROUP);
    let (input, last, before_last) = (&input[..width], &last[..width], &mut before_last[..width]);
    let (mut out, mut spoilt) = ([0.0; GROUP], 0);
    for x in 0..width {
        let held = F::watched(-d, last[x], -before_last[x], &mut spoilt);
        out[x] = F::watched(n, input[x], held, &mut spoilt);
    }
    if spoilt != 0 {
        for x in 0..width {
            out[x] = F::fused(n, input[x], F::fused(-d, last[x], -before_last[x]));
        }
    }
    before_last.copy_from_slice(&out[..width]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssimulacra2::fused::Portable;
    use crate::testing::Noise;
    use std::f64::consts::PI;

    /// The weights of the waves in the sum: the solution of equations 39, 44 and 53, from the equations' own terms.
    fn wave_weights(sigma: f64) -> [f64; WAVES] {
        let radius = RADIUS as f64;
        let omega = [1.0, 3.0, 5.0].map(|k| k * PI / (2.0 * radius));
        let sign = [1.0, -1.0, 1.0];
        let p: [f64; 3] = std::array::from_fn(|k| sign[k] / (0.5 * omega[k]).tan());
        let r: [f64; 3] = std::array::from_fn(|k| sign[k] * p[k] * p[k] / omega[k].sin());
        let rho = omega.map(|omega| (-0.5 * sigma * sigma * omega * omega).exp() / radius);
        let minor = |a: usize, b: usize| p[a] * r[b] - r[a] * p[b];
        let (z1, z3) = (minor(1, 2) / minor(0, 1), minor(2, 0) / minor(0, 1));
        let rows = [p, r, [z1, z3, 1.0]];
        let right = [1.0, radius * radius - sigma * sigma, z1 * rho[0] + z3 * rho[1] + rho[2]];
        cramer(rows, right)
    }

    fn cramer(rows: [[f64; 3]; 3], right: [f64; 3]) -> [f64; 3] {
        let det = |m: [[f64; 3]; 3]| {
            (0..3).fold(0.0, |sum, k| {
                let (a, b) = ((k + 1) % 3, (k + 2) % 3);
                sum + m[0][k] * (m[1][a] * m[2][b] - m[1][b] * m[2][a])
            })
        };
        std::array::from_fn(|column| {
            let mut replaced = rows;
            (0..3).for_each(|row| replaced[row][column] = right[row]);
            det(replaced) / det(rows)
        })
    }

    #[test]
    fn constants_follow_from_the_paper() {
        let weights = wave_weights(1.5);
        for wave in 0..WAVES {
            let omega = (2 * wave + 1) as f64 * PI / (2 * RADIUS) as f64;
            let input = -weights[wave] * (omega * (RADIUS + 1) as f64).cos();
            assert!((input - INPUT[wave]).abs() < 1e-15, "{wave}: {input}");
            assert!((-2.0 * omega.cos() - LAST[wave]).abs() < 1e-15, "{wave}");
        }
    }

    /// The nine taps that the recursion amounts to.
    fn taps() -> [f64; LAG + 1] {
        let weights = wave_weights(1.5);
        std::array::from_fn(|step| {
            (0..WAVES).map(|k| weights[k] * ((2 * k + 1) as f64 * PI / 10.0 * step as f64).cos()).sum()
        })
    }

    fn filtered(row: &[f32], at: usize) -> f64 {
        let value =
            |at: isize| usize::try_from(at).ok().and_then(|at| row.get(at)).map_or(0.0, |v| f64::from(*v));
        let at = at as isize;
        (1..=LAG as isize).fold(taps()[0] * value(at), |sum, step| {
            sum + taps()[step as usize] * (value(at - step) + value(at + step))
        })
    }

    #[test]
    fn the_recursion_is_a_filter_in_both_directions() {
        let mut generator = Noise::new(7);
        for width in [4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 30, 77, 200] {
            let row: Vec<f32> = (0..width).map(|_| generator.below(65536) as f32 / 65536.0).collect();
            let (mut along, mut down) = (vec![f32::NAN; width], [f32::NAN]);
            blur_along::<Portable>(&row, &mut along);
            let mut columns = Columns::new(1);
            for at in 0..width + LAG {
                let newest = row.get(at).copied().unwrap_or(0.0);
                let oldest = at.checked_sub(SPAN - 1).map_or(0.0, |at| row[at]);
                columns.step::<Portable>(&[newest + oldest], &mut down);
                if let Some(at) = at.checked_sub(LAG) {
                    let expected = filtered(&row, at);
                    assert!((f64::from(down[0]) - expected).abs() < 2e-5, "down {at} of {width}");
                    assert!((f64::from(along[at]) - expected).abs() < 2e-5, "along {at} of {width}");
                }
            }
        }
    }

    #[test]
    fn the_filter_is_close_to_a_gaussian() {
        let taps = taps();
        let sum = taps[0] + 2.0 * taps[1..].iter().sum::<f64>();
        assert!((sum - 1.0).abs() < 1e-12);
        for (step, tap) in taps.iter().enumerate() {
            let gaussian = (-((step * step) as f64) / 4.5).exp() / (1.5 * (2.0 * PI).sqrt());
            assert!((tap - gaussian).abs() < 2e-3, "{step}: {tap} and {gaussian}");
        }
    }
}
