//! Clips that are computed instead of read, for tests, self-checks and demonstrations.
//!
//! Everything here is integer arithmetic on a seed, so the same clip has the same bytes on every machine, and any frame
//! can be drawn without those before it. A [`Clip`] is a [`Source`]: a natural-looking [`Scene`] or a pure
//! [`Pattern`], followed by any number of [`Distortion`]s.

mod distortion;
mod pattern;
mod scene;

use crate::{Format, Frame, Info, PlaneView, ReadError, Source};

pub use distortion::Distortion;
pub use pattern::Pattern;
pub use scene::Scene;

/// What a clip shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Scene(Scene),
    Pattern(Pattern),
}

/// A computed clip.
#[derive(Clone, Debug)]
pub struct Clip {
    name: String,
    format: Format,
    frames: u64,
    content: Content,
    distortions: Vec<Distortion>,
    info: Info,
    next: u64,
}

impl Clip {
    pub fn new(format: Format, frames: u64, content: Content) -> Self {
        let info = Info { frame_rate: Some((25, 1)), ..Info::default() };
        let name = "synthetic".to_owned();
        Self { name, format, frames, content, distortions: Vec::new(), info, next: 0 }
    }

    /// The moving scene of this seed.
    pub fn scene(format: Format, frames: u64, seed: u32) -> Self {
        Self::new(format, frames, Content::Scene(Scene::new(seed)))
    }

    pub fn pattern(format: Format, frames: u64, pattern: Pattern) -> Self {
        Self::new(format, frames, Content::Pattern(pattern))
    }

    /// The same clip seen through one more distortion.
    #[must_use]
    pub fn distorted(mut self, distortion: Distortion) -> Self {
        self.distortions.push(distortion);
        self
    }

    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Frame `index`, whatever was read so far; indices beyond the end go on.
    pub fn frame(&self, index: u64) -> Frame {
        let mut frame = Frame::new(self.format);
        self.draw(index, &mut frame);
        frame
    }

    /// All frames in order, from the first.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        (0..self.frames).map(|index| self.frame(index))
    }

    fn draw(&self, index: u64, frame: &mut Frame) {
        self.draw_through(&self.distortions, index, frame);
    }

    /// From the last distortion back to the content: a frozen picture is frozen with all that was done to it before.
    fn draw_through(&self, distortions: &[Distortion], index: u64, frame: &mut Frame) {
        let Some((last, before)) = distortions.split_last() else {
            return match self.content {
                Content::Scene(scene) => scene.draw(index, frame),
                Content::Pattern(pattern) => pattern.draw(index, frame),
            };
        };
        self.draw_through(before, last.source_index(index), frame);
        last.apply(index, frame);
    }
}

impl Source for Clip {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.next
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.check_frame(frame)?;
        if self.next == self.frames {
            return Ok(false);
        }
        self.draw(self.next, frame);
        self.next += 1;
        Ok(true)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        let skipped = count.min(self.frames - self.next);
        self.next += skipped;
        Ok(skipped)
    }

    fn total_frames(&self) -> Option<u64> {
        Some(self.frames)
    }
}

/// Well mixed bits of a seed and a place.
fn hash(seed: u32, x: i64, y: i64) -> u32 {
    let place =
        (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (y as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    let mixed = (place ^ u64::from(seed)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (mixed >> 32) as u32
}

/// The sum of two even distributions: -255 to 255, most often near 0.
fn grain(seed: u32, x: i64, y: i64) -> i32 {
    let bits = hash(seed, x, y);
    (bits & 0xff) as i32 - ((bits >> 8) & 0xff) as i32
}

/// Samples of a plane, whatever they are stored as.
pub(crate) fn samples_of(frame: &Frame, plane: usize) -> Vec<u16> {
    match frame.plane(plane) {
        PlaneView::U8(plane) => plane.rows().flatten().map(|sample| u16::from(*sample)).collect(),
        PlaneView::U16(plane) => plane.rows().flatten().copied().collect(),
    }
}

/// Sets row `y` of a plane; the samples must fit the format's depth.
fn set_row(frame: &mut Frame, plane: usize, y: usize, samples: impl Iterator<Item = u16>) {
    if let Some(mut plane) = frame.plane_mut_u8(plane) {
        plane.row_mut(y).iter_mut().zip(samples).for_each(|(old, new)| *old = new as u8);
    } else if let Some(mut plane) = frame.plane_mut_u16(plane) {
        plane.row_mut(y).iter_mut().zip(samples).for_each(|(old, new)| *old = new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chroma;

    /// FNV-1a over all samples of a frame.
    fn digest(frame: &Frame) -> u64 {
        let bytes = (0..3).flat_map(|plane| samples_of(frame, plane)).flat_map(u16::to_le_bytes);
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        bytes.fold(0xcbf2_9ce4_8422_2325, step)
    }

    fn clip(chroma: Chroma, depth: u8) -> Clip {
        Clip::scene(Format::new(97, 53, chroma, depth).unwrap(), 5, 1)
    }

    /// Recorded on x86-64. Self-checks and demonstrations rely on these clips, so they must not change unnoticed.
    #[test]
    fn clips_have_the_same_bytes_everywhere() {
        let plain = clip(Chroma::C420, 8);
        let distorted = |distortion| digest(&plain.clone().distorted(distortion).frame(2));
        let digests = [
            digest(&plain.frame(0)),
            digest(&plain.frame(4)),
            digest(&clip(Chroma::C422, 10).frame(1)),
            digest(&clip(Chroma::C444, 16).frame(1)),
            digest(&clip(Chroma::C400, 12).frame(1)),
            distorted(Distortion::Blur { radius: 1 }),
            distorted(Distortion::Blocking { step: 20 }),
            distorted(Distortion::Noise { amplitude: 10, seed: 1 }),
            distorted(Distortion::Banding { bits: 4 }),
            distorted(Distortion::Brightness { shift: 12 }),
        ];
        let recorded = [
            0xbf21_fa92_d219_32b6,
            0x322a_1c00_dcdc_51e0,
            0x7f2b_7d12_9edd_e5ee,
            0x429b_640b_a8bd_90e4,
            0x2069_09dc_1d07_24cb,
            0x934a_f024_abfa_c4bb,
            0xd52c_21b4_9966_ce21,
            0x40fe_7391_2675_48f9,
            0x319d_556a_8fb5_a365,
            0xca36_1c71_1763_a22a,
        ];
        assert_eq!(digests, recorded);
        assert_eq!(distorted(Distortion::Freeze { hold: 3 }), digests[0]);
    }

    #[test]
    fn a_clip_is_a_source() {
        let mut clip = clip(Chroma::C420, 8).named("demo");
        assert_eq!((clip.name(), clip.total_frames(), clip.frame_rate()), ("demo", Some(5), Some((25, 1))));
        let mut frame = Frame::new(*clip.format());
        assert!(clip.read(&mut frame).unwrap());
        assert_eq!(clip.skip(2).unwrap(), 2);
        assert!(clip.read(&mut frame).unwrap());
        assert_eq!((digest(&frame), clip.frames_read()), (digest(&clip.frame(3)), 4));
        assert_eq!(clip.skip(u64::MAX).unwrap(), 1);
        assert!(!clip.read(&mut frame).unwrap());
        let mut other = Frame::new(Format::new(97, 53, Chroma::C420, 10).unwrap());
        assert!(matches!(clip.read(&mut other), Err(ReadError::WrongFrame { .. })));
    }
}
