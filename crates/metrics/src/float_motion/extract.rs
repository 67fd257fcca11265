//! The extractor: how far the blurred reference is from the one before it.

use visus_video::{Format, Frame};

use super::Settings;
use super::scalar::{self, Blur};
use crate::picture::FloatPlane;
use crate::resize::{self, Method, Resizer};
use crate::simd::Target;
use crate::{Extractor, MetricError, Window};

/// One plane of the reference through time.
#[derive(Debug)]
struct Track {
    plane: usize,
    blur: Blur,
    /// The latest plane after the blur.
    full: FloatPlane,
    half: Option<Half>,
}

/// The blurred plane at half size, where that counts as well.
#[derive(Debug)]
struct Half {
    resizer: Resizer,
    previous: FloatPlane,
    current: FloatPlane,
}

impl Half {
    fn new(size: (usize, usize)) -> Self {
        let half = (resize::scaled(size.0, 0.5), resize::scaled(size.1, 0.5));
        let plane = || FloatPlane::new(half.0, half.1);
        let resizer = Resizer::new(Method::Bilinear, size, half);
        Self { resizer, previous: plane(), current: plane() }
    }

    #[inline(always)]
    fn advance(&mut self, full: &FloatPlane) -> f32 {
        std::mem::swap(&mut self.previous, &mut self.current);
        self.resizer.resize(full, &mut self.current);
        scalar::mean_difference(&self.previous, &self.current)
    }
}

impl Track {
    fn new(settings: &Settings, format: &Format, plane: usize) -> Self {
        let (width, height) = format.plane_size(plane);
        Self {
            plane,
            blur: Blur::new(width, settings.taps),
            full: FloatPlane::new(width, height),
            half: settings.add_scale1.then(|| Half::new((width, height))),
        }
    }

    /// Goes on to a frame. Returns how far it is from the one before.
    #[inline(always)]
    fn advance(&mut self, frame: &Frame) -> f32 {
        let depth = frame.format().depth();
        let full = self.blur.advance(frame.plane(self.plane), depth, &mut self.full);
        match &mut self.half {
            Some(half) => full + half.advance(&self.full),
            None => full,
        }
    }
}

#[derive(Debug)]
pub struct FloatMotionExtractor {
    tracks: Vec<Track>,
    /// The frame that the tracks' planes were made from, so that frames in order are blurred once.
    held: Option<u64>,
    target: Target,
}

impl FloatMotionExtractor {
    /// Precondition: every plane that counts is larger than the blur.
    pub fn new(settings: &Settings, format: &Format, target: Target) -> Self {
        let tracks = settings.planes().map(|plane| Track::new(settings, format, plane)).collect();
        Self { tracks, held: None, target }
    }

    /// Goes on to a frame. Returns the sum of the tracks' differences to the one before.
    fn advance(&mut self, frame: &Frame) -> f64 {
        self.target.run(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for track in &mut self.tracks {
                    sum += f64::from(track.advance(frame));
                }
                sum
            },
        )
    }
}

impl Extractor for FloatMotionExtractor {
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        raw[0] = 0.0;
        if let Some(previous) = window.previous {
            if self.held.is_none_or(|held| held + 1 != window.index) {
                self.advance(previous.reference);
            }
            raw[0] = self.advance(window.current.reference);
            self.held = Some(window.index);
        }
        Ok(())
    }
}
