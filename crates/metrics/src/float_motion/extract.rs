//! The extractor: how far the blurred reference is from the one before it.

use visus_video::{Format, Frame};

use super::Settings;
use super::scalar::{self, Blur};
use crate::picture::FloatPlane;
use crate::resize::{self, Method, Resizer};
use crate::simd::Target;
use crate::{Extractor, MetricError, Window};

/// Samples are centred on zero.
const OFFSET: f32 = -128.0;

/// A plane after the blur, and at half size if that counts as well.
#[derive(Debug)]
struct Blurred {
    full: FloatPlane,
    half: Option<FloatPlane>,
}

/// One plane of the reference through time.
#[derive(Debug)]
struct Track {
    plane: usize,
    /// None where the filter has one tap only.
    blur: Option<Blur>,
    halve: Option<Resizer>,
    loaded: FloatPlane,
    previous: Blurred,
    current: Blurred,
}

impl Track {
    fn new(settings: &Settings, format: &Format, plane: usize) -> Self {
        let (width, height) = format.plane_size(plane);
        let half = (resize::scaled(width, 0.5), resize::scaled(height, 0.5));
        let blurred = || Blurred {
            full: FloatPlane::new(width, height),
            half: settings.add_scale1.then(|| FloatPlane::new(half.0, half.1)),
        };
        Self {
            plane,
            blur: (settings.taps.len() > 1).then(|| Blur::new(width, settings.taps)),
            halve: settings.add_scale1.then(|| Resizer::new(Method::Bilinear, (width, height), half)),
            loaded: FloatPlane::new(width, height),
            previous: blurred(),
            current: blurred(),
        }
    }

    /// Makes `current` from a frame; what it was before becomes `previous`.
    #[inline(always)]
    fn advance(&mut self, frame: &Frame) {
        std::mem::swap(&mut self.previous, &mut self.current);
        let (plane, depth) = (frame.plane(self.plane), frame.format().depth());
        if let Some(blur) = &mut self.blur {
            self.loaded.load(plane, depth, OFFSET);
            scalar::blur(&self.loaded, blur, &mut self.current.full);
        } else {
            self.current.full.load(plane, depth, OFFSET);
        }
        if let (Some(resizer), Some(half)) = (&mut self.halve, &mut self.current.half) {
            resizer.resize(&self.current.full, half);
        }
    }

    #[inline(always)]
    fn difference(&self) -> f32 {
        let full = scalar::mean_difference(&self.previous.full, &self.current.full);
        match (&self.previous.half, &self.current.half) {
            (Some(previous), Some(current)) => full + scalar::mean_difference(previous, current),
            _ => full,
        }
    }
}

#[derive(Debug)]
pub struct FloatMotionExtractor {
    tracks: Vec<Track>,
    /// The frame that the tracks' `current` planes were made from, so that frames in order are blurred once.
    held: Option<u64>,
    target: Target,
}

impl FloatMotionExtractor {
    /// Precondition: every plane that counts is larger than the blur.
    pub fn new(settings: &Settings, format: &Format, target: Target) -> Self {
        let tracks = settings.planes().map(|plane| Track::new(settings, format, plane)).collect();
        Self { tracks, held: None, target }
    }

    fn advance(&mut self, frame: &Frame) {
        self.target.run(
            #[inline(always)]
            || {
                for track in &mut self.tracks {
                    track.advance(frame);
                }
            },
        );
    }

    /// The sum of the tracks' differences.
    fn difference(&self) -> f64 {
        self.target.run(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for track in &self.tracks {
                    sum += f64::from(track.difference());
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
            self.advance(window.current.reference);
            self.held = Some(window.index);
            raw[0] = self.difference();
        }
        Ok(())
    }
}
