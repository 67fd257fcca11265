//! Pure patterns: noise that exercises every value, and flat, checked and ramped pictures.

use super::set_row;
use crate::{Format, Frame};

/// A picture by formula. All but the noise are the same in every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Independent full-range samples of the generator `x = x * 1664525 + 1013904223 mod 2^32`, each sample
    /// `(x >> 16) mod 2^depth`; frame after frame, planes in order, rows from left to right.
    Noise { seed: u32 },
    /// One value per plane, limited to the peak of the format.
    Flat { values: [u16; 3] },
    /// Squares of zero and peak, `cell` samples wide in every plane, moved left by `shift` samples.
    Checkerboard { cell: usize, shift: usize },
    /// Zero to peak: luma from left to right, the first chroma plane downwards, the second upwards.
    Ramp,
}

impl Pattern {
    /// Draws frame `index`.
    pub fn draw(&self, index: u64, frame: &mut Frame) {
        let format = *frame.format();
        let mut noise = match *self {
            Self::Noise { seed } => Generator(seed).ahead(index.wrapping_mul(samples_per_frame(&format))),
            _ => Generator(0),
        };
        for plane in 0..format.planes() {
            let (width, height) = format.plane_size(plane);
            for y in 0..height {
                let sample = |x| self.sample(&format, plane, x, y, &mut noise);
                set_row(frame, plane, y, (0..width).map(sample));
            }
        }
    }

    fn sample(&self, format: &Format, plane: usize, x: usize, y: usize, noise: &mut Generator) -> u16 {
        let peak = format.peak() as u16;
        let (width, height) = format.plane_size(plane);
        match *self {
            Self::Noise { .. } => noise.next() & peak,
            Self::Flat { values } => values[plane].min(peak),
            Self::Checkerboard { cell, shift } => {
                let cell = cell.max(1);
                peak * ((((x + shift) / cell + y / cell) % 2) as u16)
            }
            Self::Ramp => match plane {
                0 => ramp(x, width, peak),
                1 => ramp(y, height, peak),
                _ => ramp(height - 1 - y, height, peak),
            },
        }
    }
}

fn ramp(at: usize, count: usize, peak: u16) -> u16 {
    (at as u64 * u64::from(peak) / (count as u64 - 1).max(1)) as u16
}

fn samples_per_frame(format: &Format) -> u64 {
    let area = |plane| {
        let (width, height) = format.plane_size(plane);
        width as u64 * height as u64
    };
    (0..format.planes()).map(area).sum()
}

/// The linear congruential generator of the noise.
struct Generator(u32);

impl Generator {
    const FACTOR: u32 = 1_664_525;
    const ADDEND: u32 = 1_013_904_223;

    fn next(&mut self) -> u16 {
        self.0 = self.0.wrapping_mul(Self::FACTOR).wrapping_add(Self::ADDEND);
        (self.0 >> 16) as u16
    }

    /// The generator after `steps` samples: the step is applied by repeated squaring, as an affine map.
    fn ahead(self, mut steps: u64) -> Self {
        let (mut factor, mut addend, mut state) = (Self::FACTOR, Self::ADDEND, self.0);
        while steps > 0 {
            if steps & 1 == 1 {
                state = state.wrapping_mul(factor).wrapping_add(addend);
            }
            addend = addend.wrapping_mul(factor).wrapping_add(addend);
            factor = factor.wrapping_mul(factor);
            steps >>= 1;
        }
        Self(state)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples_of;
    use super::*;
    use crate::Chroma;

    fn draw(pattern: Pattern, index: u64, width: usize, height: usize, depth: u8) -> Frame {
        let mut frame = Frame::new(Format::new(width, height, Chroma::C420, depth).unwrap());
        pattern.draw(index, &mut frame);
        frame
    }

    #[test]
    fn noise_continues_from_plane_to_plane_and_frame_to_frame() {
        for depth in [8, 10, 16] {
            let mut x = 7u32;
            for index in 0..3 {
                let frame = draw(Pattern::Noise { seed: 7 }, index, 6, 4, depth);
                for sample in (0..3).flat_map(|plane| samples_of(&frame, plane)) {
                    x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    assert_eq!(u32::from(sample), (x >> 16) % (1 << depth));
                }
            }
        }
    }

    #[test]
    fn noise_of_seed_1_begins_as_published() {
        let frame = draw(Pattern::Noise { seed: 1 }, 0, 4, 2, 16);
        assert_eq!(samples_of(&frame, 0)[..4], [15496, 24200, 33046, 46195]);
    }

    #[test]
    fn flat_is_limited_to_the_peak() {
        let frame = draw(Pattern::Flat { values: [16, 300, 128] }, 0, 4, 2, 8);
        assert_eq!(samples_of(&frame, 0), [16; 8]);
        assert_eq!(samples_of(&frame, 1), [255; 2]);
        assert_eq!(samples_of(&frame, 2), [128; 2]);
    }

    #[test]
    fn checkerboard_has_cells_and_a_shift() {
        let frame = draw(Pattern::Checkerboard { cell: 2, shift: 1 }, 0, 5, 3, 10);
        let (o, p) = (0, 1023);
        assert_eq!(samples_of(&frame, 0), [o, p, p, o, o, o, p, p, o, o, p, o, o, p, p]);
    }

    #[test]
    fn ramp_runs_from_zero_to_peak() {
        let frame = draw(Pattern::Ramp, 0, 256, 8, 8);
        let luma = samples_of(&frame, 0);
        assert!((0..256).all(|x| usize::from(luma[x]) == x && usize::from(luma[7 * 256 + x]) == x));
        let (u, v) = (samples_of(&frame, 1), samples_of(&frame, 2));
        assert_eq!((u[0], u[3 * 128], v[0], v[3 * 128]), (0, 255, 255, 0));
        assert_eq!(samples_of(&draw(Pattern::Ramp, 0, 1, 1, 8), 0), [0]);
    }
}
