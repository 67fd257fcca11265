//! Small copies of two whole videos, to look at them from afar.
//!
//! ffmpeg shrinks every frame to [`SIZE`] while it decodes; what is kept of a frame is about a kilobyte. An hour at 25 frames per
//! second takes 100 MB for each side.

use std::sync::Arc;

use visus_engine::Cancel;
use visus_video::{ColourRange, Frame, Source};

use crate::MediaError;
use crate::sync::look::Look;
use crate::sync::signature::{Grid, Signature, View};
use crate::timestamps;

/// Width and height of a small picture.
pub const SIZE: (usize, usize) = (32, 18);
/// The most frames that are looked at: two hours at 60 frames per second. What comes later is paired as what came before.
pub const MOST: u64 = 432_000;
const CELLS: usize = SIZE.0 * SIZE.1;
/// Parts of a level of 8 bits that are kept.
const PARTS: f32 = 64.0;

/// The small pictures of one video, brightness apart.
#[derive(Debug, Default)]
pub struct Strip {
    cells: Vec<i16>,
    /// Mean square of each picture's cells.
    variances: Vec<f32>,
    means: Vec<f32>,
    /// When each is shown, in seconds, where that is known of all.
    times: Option<Vec<f64>>,
}

/// Those of both.
#[derive(Debug, Default)]
pub struct Thumbnails {
    pub sides: [Strip; 2],
    /// Frames at the beginning that were paired already.
    passed: [usize; 2],
}

impl Strip {
    /// All frames of a source of pictures of [`SIZE`].
    pub fn read(source: &mut dyn Source, range: ColourRange, cancel: &Cancel) -> Result<Self, MediaError> {
        Self::read_view(source, range, View::default(), cancel)
    }

    /// The same of pictures that are shrunk here; `None` if they are smaller than that.
    pub fn shrink(
        source: &mut dyn Source,
        range: ColourRange,
        view: View,
        cancel: &Cancel,
    ) -> Result<Option<Self>, MediaError> {
        let format = *source.format();
        if format.width() < SIZE.0 || format.height() < SIZE.1 {
            return Ok(None);
        }
        Self::read_view(source, range, view, cancel).map(Some)
    }

    fn read_view(
        source: &mut dyn Source,
        range: ColourRange,
        view: View,
        cancel: &Cancel,
    ) -> Result<Self, MediaError> {
        let mut strip = Self::default();
        let mut frame = Frame::new(*source.format());
        while (strip.frames() as u64) < MOST && source.read(&mut frame)? {
            if cancel.is_fired() {
                return Err(MediaError::Cancelled);
            }
            strip.push(&Signature::cells_of(&frame, range, Grid::new(SIZE.0, SIZE.1), view));
        }
        Ok(strip)
    }

    fn push(&mut self, cells: &[f32]) {
        let count = cells.len().max(1) as f32;
        let mean = cells.iter().sum::<f32>() / count;
        self.variances.push(cells.iter().map(|cell| (cell - mean) * (cell - mean)).sum::<f32>() / count);
        self.means.push(mean);
        self.cells.extend(cells.iter().map(|cell| ((cell - mean) * PARTS).round() as i16));
    }

    pub fn with_times(self, times: Option<Vec<f64>>) -> Self {
        Self { times, ..self }
    }

    pub fn frames(&self) -> usize {
        self.means.len()
    }

    fn picture(&self, at: usize) -> &[i16] {
        &self.cells[at * CELLS..][..CELLS]
    }
}

impl Thumbnails {
    pub fn new(sides: [Strip; 2]) -> Self {
        Self { sides, passed: [0, 0] }
    }

    /// Looks at what follows these many frames of both.
    pub fn pass(&mut self, frames: [u64; 2]) {
        let most = |side: usize| self.sides[side].frames();
        self.passed = [0, 1].map(|side| usize::try_from(frames[side]).unwrap_or(usize::MAX).min(most(side)));
    }

    /// Which frame of the reference every frame of the distorted video shows by their timestamps, where frame rates do not say it.
    pub fn due(&self) -> Option<Arc<[u32]>> {
        let left = |side: usize| self.sides[side].times.as_deref().map(|times| &times[self.passed[side]..]);
        timestamps::due(left(0)?, left(1)?)
    }
}

/// Mean squared difference, in square levels.
fn distance(a: &[i16], b: &[i16]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for lane in 0..LANES {
            let difference = f32::from(a[lane]) - f32::from(b[lane]);
            sums[lane] += difference * difference;
        }
    }
    sums.iter().sum::<f32>() / (CELLS as f32 * PARTS * PARTS)
}

impl Look for Thumbnails {
    fn lengths(&self) -> (usize, usize) {
        let left = |side: usize| self.sides[side].frames() - self.passed[side];
        (left(0), left(1))
    }

    fn distance(&self, reference: usize, distorted: usize) -> f32 {
        let (a, b) = (reference + self.passed[0], distorted + self.passed[1]);
        distance(self.sides[0].picture(a), self.sides[1].picture(b))
    }

    fn within(&self, side: usize, a: usize, b: usize) -> f32 {
        let (a, b) = (a + self.passed[side], b + self.passed[side]);
        let strip = &self.sides[side];
        let shift = strip.means[a] - strip.means[b];
        distance(strip.picture(a), strip.picture(b)) + shift * shift
    }

    fn brighter(&self, side: usize, a: usize, b: usize) -> f32 {
        let means = &self.sides[side].means;
        means[b + self.passed[side]] - means[a + self.passed[side]]
    }

    fn likeness(&self, reference: usize, distorted: usize) -> Option<f32> {
        /// Pictures whose cells spread less than this (in square levels) cannot be told apart.
        const FLAT: f32 = 4.0;
        let spread = self.sides[0].variances[reference + self.passed[0]]
            + self.sides[1].variances[distorted + self.passed[1]];
        (spread > FLAT).then(|| 1.0 - self.distance(reference, distorted) / spread)
    }
}
