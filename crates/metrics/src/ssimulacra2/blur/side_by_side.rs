//! The blur along four rows at once, for processors without fused multiply-add.
//!
//! Along a row every step waits for the one before, and a multiply-add by way of `f64` takes long. Four rows do not wait for each
//! other, and each is a lane of vectors. Sums are watched, and where one was spoilt the rows are blurred again one by one.

use super::super::fused::Fused;
use super::{LANES, Memory, STEPS, WAVES, begin, end, go_on, inputs};

/// Rows that are blurred side by side.
pub const ROWS: usize = 4;

/// A number of each row.
type Lanes = [f32; ROWS];

/// [`Memory`] of each row.
#[derive(Clone, Copy, Default)]
struct Memories {
    last: [Lanes; WAVES],
    before_last: [Lanes; WAVES],
}

/// Blurs along rows of one length.
#[inline(always)]
pub fn blur_along_rows<F: Fused>(rows: [&[f32]; ROWS], mut out: [&mut [f32]; ROWS]) {
    let mut memories = [Memory::default(); ROWS];
    for row in 0..ROWS {
        memories[row] = begin::<F>(rows[row], out[row]);
    }
    let mut joined = Memories::default();
    for (row, memory) in memories.iter().enumerate() {
        for wave in 0..WAVES {
            joined.last[wave][row] = memory.last[wave];
            joined.before_last[wave][row] = memory.before_last[wave];
        }
    }
    let spoilt = joined.go_on::<F>(rows, &mut out);
    for row in 0..ROWS {
        let memory = &mut memories[row];
        if spoilt {
            go_on::<F>(rows[row], out[row], memory);
        } else {
            for wave in 0..WAVES {
                memory.last[wave] = joined.last[wave][row];
                memory.before_last[wave] = joined.before_last[wave][row];
            }
        }
        end::<F>(rows[row], out[row], *memory);
    }
}

impl Memories {
    /// All steps by fours. Whether a sum was spoilt.
    #[inline(always)]
    fn go_on<F: Fused>(&mut self, rows: [&[f32]; ROWS], out: &mut [&mut [f32]; ROWS]) -> bool {
        let samples = rows.map(inputs);
        let (count, first) = (samples[0][0].len(), super::by_fours(rows[0].len()).start);
        let mut spoilt = [0; ROWS];
        for at in 0..count {
            let mut inputs = [Lanes::default(); LANES];
            for row in 0..ROWS {
                let [oldest, newest] = [&samples[row][0][at], &samples[row][1][at]];
                for step in 0..LANES {
                    inputs[step][row] = oldest[step] + newest[step];
                }
            }
            let blurred = self.step_four::<F>(&inputs, &mut spoilt);
            for row in 0..ROWS {
                let out = &mut out[row][first + at * LANES..][..LANES];
                for step in 0..LANES {
                    out[step] = blurred[step][row];
                }
            }
        }
        spoilt != [0; ROWS]
    }

    /// See [`Memory::step_four`].
    #[inline(always)]
    fn step_four<F: Fused>(&mut self, inputs: &[Lanes; LANES], spoilt: &mut [u32; ROWS]) -> [Lanes; LANES] {
        let mut waves = [[Lanes::default(); LANES]; WAVES];
        for wave in 0..WAVES {
            let (steps, sums) = (&STEPS[wave], &mut waves[wave]);
            for lane in 0..LANES {
                for row in 0..ROWS {
                    sums[lane][row] = inputs[0][row] * steps.input[lane];
                }
            }
            for at in 1..LANES {
                for lane in at..LANES {
                    sums[lane] = watched::<F>(steps.input[lane - at], &inputs[at], &sums[lane], spoilt);
                }
            }
            for sums in sums.iter_mut().zip(steps.before_last).zip(steps.last) {
                let ((sums, before_last), last) = sums;
                *sums = watched::<F>(before_last, &self.before_last[wave], sums, spoilt);
                *sums = watched::<F>(last, &self.last[wave], sums, spoilt);
            }
            (self.before_last[wave], self.last[wave]) = (sums[LANES - 2], sums[LANES - 1]);
        }
        let mut out = [Lanes::default(); LANES];
        for lane in 0..LANES {
            for row in 0..ROWS {
                out[lane][row] = waves[0][lane][row] + (waves[1][lane][row] + waves[2][lane][row]);
            }
        }
        out
    }
}

#[inline(always)]
fn watched<F: Fused>(factor: f32, values: &Lanes, sums: &Lanes, spoilt: &mut [u32; ROWS]) -> Lanes {
    let mut out = Lanes::default();
    for row in 0..ROWS {
        out[row] = F::watched(factor, values[row], sums[row], &mut spoilt[row]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::fused::Portable;
    use super::super::blur_along;
    use super::*;
    use crate::testing::Noise;

    #[test]
    fn rows_are_blurred_as_they_are_alone() {
        let mut generator = Noise::new(11);
        for width in [4, 7, 8, 12, 13, 16, 17, 64, 301] {
            // The second row is flat, the third one black: zeros count as spoilt.
            let rows: [Vec<f32>; ROWS] = std::array::from_fn(|row| {
                let mut value = |_| [generator.below(65536) as f32 / 65536.0, 0.3, 0.0, 0.5][row];
                (0..width).map(&mut value).collect()
            });
            for first in [0, 3] {
                let rows: [&[f32]; ROWS] = std::array::from_fn(|row| rows[(row * first) % ROWS].as_slice());
                let mut found = [(); ROWS].map(|()| vec![f32::NAN; width]);
                let [a, b, c, d] = &mut found;
                blur_along_rows::<Portable>(rows, [a, b, c, d]);
                for (row, found) in rows.iter().zip(&found) {
                    let mut alone = vec![f32::NAN; width];
                    blur_along::<Portable>(row, &mut alone);
                    assert!(
                        alone
                            .iter()
                            .map(|value| value.to_bits())
                            .eq(found.iter().map(|value| value.to_bits()))
                    );
                }
            }
        }
    }
}
