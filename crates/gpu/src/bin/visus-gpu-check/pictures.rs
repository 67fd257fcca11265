//! Made pictures: noise of several ranges, edges at full contrast, and scenes with a distorted copy.

use visus_video::{Chroma, Format, Frame, SharedFrame};

/// A linear congruential generator.
#[derive(Clone, Debug)]
pub struct Noise(pub u32);

impl Noise {
    /// A number below `bound`, which is at most 2^16.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.0 >> 8) * u64::from(bound)) >> 24) as u32
    }
}

/// What a pair looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Independent noise over the full range.
    Noise,
    /// Two neighbouring levels at the dark end, and at the bright one.
    Dark,
    Bright,
    /// Black and white squares, the other way round in the distorted picture.
    Squares,
    /// A soft scene; the distorted one has less contrast and some noise.
    Scene,
    /// The same with more contrast, which is what gain limits are about.
    Enhanced,
    /// A soft scene and its copy.
    Same,
    /// A soft scene, and wide bands of neighbouring levels, the second of which is hardly wider than CAMBI's window.
    Bands,
    /// Samples beyond the announced depth, where there is room for them.
    Beyond,
}

impl Kind {
    pub const ALL: [Self; 9] = [
        Self::Noise,
        Self::Dark,
        Self::Bright,
        Self::Squares,
        Self::Scene,
        Self::Enhanced,
        Self::Same,
        Self::Bands,
        Self::Beyond,
    ];
}

/// A format with luma alone.
pub fn luma_format(width: usize, height: usize, depth: u8) -> Result<Format, crate::Failure> {
    Ok(Format::new(width, height, Chroma::C400, depth)?)
}

/// Reference and distorted picture of a clip's frame.
pub fn pair(format: Format, kind: Kind, index: u32) -> [SharedFrame; 2] {
    let mut noise = Noise(index * 7919 + format.width() as u32 * 31 + format.height() as u32);
    let full = 1u32 << format.depth();
    let scene = |x: u32, y: u32| {
        let (x, y) = (x + 3 * index, y + index);
        let waves = (x * 5 % 97) * (y * 3 % 61) + (x / 9 % 2) * 2000 + (x * y) % 113 * 7;
        full / 4 + waves % 8000 * (full / 2) / 8000
    };
    let mut reference = Frame::new(format);
    let mut distorted = Frame::new(format);
    let mut both = |x: u32, y: u32| -> [u32; 2] {
        match kind {
            Kind::Noise => [noise.below(full), noise.below(full)],
            Kind::Dark => [noise.below(2), noise.below(2)],
            Kind::Bright => [full - 1 - noise.below(2), full - 1 - noise.below(2)],
            Kind::Squares => {
                let square = ((x + index) / 4 + y / 4) % 2;
                [square * (full - 1), (1 - square) * (full - 1)]
            }
            Kind::Scene => [scene(x, y), scene(x, y) * 7 / 8 + noise.below(full / 32)],
            Kind::Enhanced => [scene(x, y), (scene(x, y) * 5 / 4).saturating_sub(full / 16).min(full - 1)],
            Kind::Same => [scene(x, y); 2],
            Kind::Bands => {
                let wide = (x / 24 + y / 40 + index) % 12;
                [scene(x, y), full / 5 + wide * (full / 256).max(1) + x / 100 % 3 * (full / 1024)]
            }
            Kind::Beyond => {
                let most = if format.sample_bytes() == 1 { 256 } else { 65536 };
                [noise.below(most), noise.below(most)]
            }
        }
    };
    for plane in 0..format.planes() {
        let (width, height) = format.plane_size(plane);
        for y in 0..height {
            for x in 0..width {
                // Chroma looks at another part of the same scene.
                let samples = both((x + 40 * plane) as u32, (y + 11 * plane) as u32);
                for (frame, sample) in [&mut reference, &mut distorted].into_iter().zip(samples) {
                    if let Some(mut rows) = frame.plane_mut_u8(plane) {
                        rows.row_mut(y)[x] = sample as u8;
                    }
                    if let Some(mut rows) = frame.plane_mut_u16(plane) {
                        rows.row_mut(y)[x] = sample as u16;
                    }
                }
            }
        }
    }
    [reference.into(), distorted.into()]
}
