//! What encoders and transmission do to a picture, in the simplest form that looks like it.

use super::{grain, samples_of, set_row};
use crate::Frame;

/// Damage to a clip. Strengths are in 8-bit steps and mean the same at every bit depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distortion {
    /// A smooth low-pass, about `2 * radius` samples wide to each side.
    Blur { radius: usize },
    /// Blocks of 8x8 samples, transformed and quantised in steps of `step`.
    Blocking { step: u16 },
    /// Grain of up to `amplitude`, different in every frame.
    Noise { amplitude: u16, seed: u32 },
    /// Only the upper `bits` of every sample are kept.
    Banding { bits: u8 },
    /// Luma is raised or lowered.
    Brightness { shift: i16 },
    /// Every picture is shown for `hold` frames.
    Freeze { hold: u64 },
}

impl Distortion {
    /// The frame that is shown at `index`.
    pub fn source_index(&self, index: u64) -> u64 {
        match *self {
            Self::Freeze { hold } => index - index % hold.max(1),
            _ => index,
        }
    }

    /// Distorts the picture of frame `index` in place.
    pub fn apply(&self, index: u64, frame: &mut Frame) {
        for plane in 0..frame.format().planes() {
            if matches!(self, Self::Freeze { .. }) || (matches!(self, Self::Brightness { .. }) && plane > 0) {
                continue;
            }
            let mut picture = Picture::of(frame, plane);
            self.apply_to(&mut picture, index, plane);
            for (y, row) in picture.samples.chunks_exact(picture.width.max(1)).enumerate() {
                set_row(frame, plane, y, row.iter().copied());
            }
        }
    }

    fn apply_to(&self, picture: &mut Picture, index: u64, plane: usize) {
        match *self {
            Self::Blur { radius } => picture.blur(radius),
            Self::Blocking { step } => picture.block(step),
            Self::Noise { amplitude, seed } => {
                let place = (index.wrapping_mul(3).wrapping_add(plane as u64)) as i64;
                picture.add_noise(amplitude, seed, place);
            }
            Self::Banding { bits } => picture.band(bits),
            Self::Brightness { shift } => picture.brighten(shift),
            Self::Freeze { .. } => {}
        }
    }
}

/// One plane as plain numbers.
struct Picture {
    width: usize,
    height: usize,
    depth: u8,
    samples: Vec<u16>,
}

impl Picture {
    fn of(frame: &Frame, plane: usize) -> Self {
        let (width, height) = frame.format().plane_size(plane);
        Self { width, height, depth: frame.format().depth(), samples: samples_of(frame, plane) }
    }

    fn limited(&self, value: i32) -> u16 {
        value.clamp(0, (1 << self.depth) - 1) as u16
    }

    /// From 8-bit steps to steps of this depth.
    fn scaled(&self, steps: i32) -> i32 {
        steps << (self.depth - 8)
    }

    fn map(&mut self, change: impl Fn(i32) -> i32) {
        for at in 0..self.samples.len() {
            self.samples[at] = self.limited(change(self.samples[at].into()));
        }
    }

    fn brighten(&mut self, shift: i16) {
        let shift = self.scaled(shift.into());
        self.map(|sample| sample + shift);
    }

    /// Kept values lie in the middle of their band, so that brightness stays.
    fn band(&mut self, bits: u8) {
        let dropped = self.depth - bits.clamp(1, self.depth);
        let half = (1 << dropped) >> 1;
        self.map(|sample| (sample >> dropped << dropped) + half);
    }

    fn add_noise(&mut self, amplitude: u16, seed: u32, place: i64) {
        let strength = i64::from(self.scaled(amplitude.into()));
        for at in 0..self.samples.len() {
            let change = (i64::from(grain(seed, at as i64, place)) * strength / 255) as i32;
            self.samples[at] = self.limited(i32::from(self.samples[at]) + change);
        }
    }

    /// Two rounds of a moving average in each direction make a triangle; edges are continued.
    fn blur(&mut self, radius: usize) {
        for _ in 0..2 {
            for y in 0..self.height {
                self.average(y * self.width, 1, self.width, radius);
            }
            for x in 0..self.width {
                self.average(x, self.width, self.height, radius);
            }
        }
    }

    /// The moving average of `count` samples that lie `step` apart.
    fn average(&mut self, start: usize, step: usize, count: usize, radius: usize) {
        let line: Vec<u64> = (0..count).map(|i| self.samples[start + i * step].into()).collect();
        let at = |i: usize| line[i.saturating_sub(radius).min(count - 1)];
        let window = 2 * radius as u64 + 1;
        let mut sum: u64 = (0..=2 * radius).map(at).sum();
        for i in 0..count {
            self.samples[start + i * step] = ((sum + window / 2) / window) as u16;
            sum = sum + at(i + 2 * radius + 1) - at(i);
        }
    }

    fn block(&mut self, step: u16) {
        let quantiser = self.scaled(i32::from(step.max(1))) * 8;
        for top in (0..self.height).step_by(8) {
            for left in (0..self.width).step_by(8) {
                self.block_at(left, top, quantiser);
            }
        }
    }

    fn block_at(&mut self, left: usize, top: usize, quantiser: i32) {
        let (right, bottom) = (self.width - 1, self.height - 1);
        let place = |i: usize| (top + i / 8).min(bottom) * self.width + (left + i % 8).min(right);
        let mut block: [i32; 64] = std::array::from_fn(|i| self.samples[place(i)].into());
        walsh_hadamard(&mut block);
        for value in &mut block {
            *value = (value.abs() + quantiser / 2) / quantiser * quantiser * value.signum();
        }
        walsh_hadamard(&mut block);
        for (i, value) in block.iter().enumerate() {
            if left + i % 8 <= right && top + i / 8 <= bottom {
                self.samples[(top + i / 8) * self.width + left + i % 8] = self.limited((value + 32) >> 6);
            }
        }
    }
}

/// A two-dimensional Walsh-Hadamard transform; twice is 64 times the original. Unlike a cosine transform it is exact.
fn walsh_hadamard(block: &mut [i32; 64]) {
    for distance in [1, 2, 4, 8, 16, 32] {
        for at in (0..64).filter(|at| at & distance == 0) {
            let (a, b) = (block[at], block[at + distance]);
            (block[at], block[at + distance]) = (a + b, a - b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Clip, Pattern};
    use crate::{Chroma, Format};

    fn picture(width: usize, height: usize, depth: u8, samples: &[u16]) -> Picture {
        Picture { width, height, depth, samples: samples.to_vec() }
    }

    fn noise(depth: u8) -> Clip {
        let format = Format::new(33, 18, Chroma::C420, depth).unwrap();
        Clip::pattern(format, 4, Pattern::Noise { seed: 3 })
    }

    #[test]
    fn blur_of_a_point_is_a_triangle_and_keeps_flat() {
        let mut row = picture(7, 1, 8, &[0, 0, 0, 90, 0, 0, 0]);
        row.blur(1);
        assert_eq!(row.samples, [0, 10, 20, 30, 20, 10, 0]);
        let mut flat = picture(3, 3, 10, &[700; 9]);
        flat.blur(5);
        assert_eq!(flat.samples, [700; 9]);
    }

    #[test]
    fn blocking_with_the_smallest_step_changes_little_and_a_large_one_flattens_blocks() {
        let clip = noise(8);
        let mut fine = Picture::of(&clip.frame(0), 0);
        let before = fine.samples.clone();
        fine.block(1);
        let worst = fine.samples.iter().zip(&before).map(|(a, b)| a.abs_diff(*b)).max();
        assert!((1..=5).contains(&worst.unwrap()), "{worst:?}");
        let mut coarse = picture(8, 8, 8, &(0..64).map(|i| 100 + i % 8).collect::<Vec<_>>());
        coarse.block(100);
        assert_eq!(coarse.samples, [100; 64]);
    }

    #[test]
    fn banding_keeps_the_upper_bits() {
        let mut row = picture(4, 1, 10, &[0, 63, 64, 1023]);
        row.band(4);
        assert_eq!(row.samples, [32, 32, 96, 992]);
        let mut row = picture(2, 1, 8, &[3, 255]);
        row.band(9);
        assert_eq!(row.samples, [3, 255]);
    }

    #[test]
    fn brightness_moves_luma_alone_and_stops_at_the_ends() {
        let format = Format::new(2, 2, Chroma::C420, 10).unwrap();
        let clip = Clip::pattern(format, 1, Pattern::Flat { values: [1000, 500, 400] });
        let frame = clip.clone().distorted(Distortion::Brightness { shift: 10 }).frame(0);
        assert_eq!([0, 1, 2].map(|plane| samples_of(&frame, plane)[0]), [1023, 500, 400]);
        let frame = clip.distorted(Distortion::Brightness { shift: -10 }).frame(0);
        assert_eq!(samples_of(&frame, 0), [960; 4]);
    }

    #[test]
    fn noise_stays_within_its_amplitude_and_differs_between_frames() {
        let format = Format::new(32, 32, Chroma::C420, 10).unwrap();
        let flat = Clip::pattern(format, 2, Pattern::Flat { values: [500, 500, 500] });
        let clip = flat.distorted(Distortion::Noise { amplitude: 5, seed: 1 });
        let frames: Vec<_> = (0..2).map(|index| samples_of(&clip.frame(index), 0)).collect();
        let worst = frames.iter().flatten().map(|sample| sample.abs_diff(500)).max();
        assert!((15..=20).contains(&worst.unwrap()), "{worst:?}");
        assert_ne!(frames[0], frames[1]);
    }

    #[test]
    fn freeze_holds_a_picture_with_the_damage_done_before() {
        let before = Distortion::Noise { amplitude: 9, seed: 5 };
        let clip = noise(8).distorted(before).distorted(Distortion::Freeze { hold: 3 });
        let frames: Vec<_> = (0..4).map(|index| samples_of(&clip.frame(index), 0)).collect();
        assert!(frames[0] == frames[1] && frames[1] == frames[2] && frames[2] != frames[3]);
        assert_eq!(frames[3], samples_of(&noise(8).distorted(before).frame(3), 0));
    }

    #[test]
    fn every_distortion_works_at_every_depth_and_on_the_smallest_pictures() {
        let all = [
            Distortion::Blur { radius: 40 },
            Distortion::Blocking { step: u16::MAX },
            Distortion::Noise { amplitude: u16::MAX, seed: 1 },
            Distortion::Banding { bits: 0 },
            Distortion::Brightness { shift: i16::MIN },
            Distortion::Freeze { hold: 0 },
        ];
        for (depth, size) in [(8, 1), (9, 2), (12, 3), (16, 9)] {
            let format = Format::new(size, size, Chroma::C420, depth).unwrap();
            for distortion in all {
                let frame = Clip::pattern(format, 1, Pattern::Ramp).distorted(distortion).frame(0);
                assert!(samples_of(&frame, 0).iter().all(|sample| u32::from(*sample) <= format.peak()));
            }
        }
    }
}
