//! The extractor: how far the blurred reference is from the one before it.

use std::sync::Mutex;

use visus_video::{Format, Frame};

use super::Settings;
use super::scalar::{self, Blur};
use crate::bands::{self, lock};
use crate::picture::FloatPlane;
use crate::resize::{self, Method, Resizer};
use crate::simd::Target;
use crate::{Extractor, MetricError, Spread, Window};

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

impl Track {
    /// The same with helping hands.
    fn advance_shared(&mut self, frame: &Frame, target: Target, spread: &dyn Spread) -> f32 {
        let (plane, depth) = (frame.plane(self.plane), frame.format().depth());
        let (width, height) = (self.full.width(), self.full.height());
        let bands = bands::bands(height, 1, LEAST_ROWS, spread);
        let parts: Vec<_> =
            self.full.bands_mut(&bands).into_iter().map(|part| Mutex::new(Some(part))).collect();
        let blur = &self.blur;
        let sums = bands::map(parts.len(), spread, |index| {
            let Some((rows, held)) = lock(&parts[index]).take() else { return Vec::new() };
            let (mut blur, mut sums) = (blur.clone(), Vec::with_capacity(rows.len()));
            target.run(
                #[inline(always)]
                || blur.exchange_rows(plane, depth, rows, held, |row| sums.push(row)),
            );
            sums
        });
        let sum = sums.into_iter().flatten().fold(0.0f32, |sum, row| sum + row);
        let full = sum / (width * height) as f32;
        match &mut self.half {
            Some(half) => target.run(
                #[inline(always)]
                || full + half.advance(&self.full),
            ),
            None => full,
        }
    }
}

/// Rows that are worth a call of their own: the blur reads some beyond them.
const LEAST_ROWS: usize = 32;

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
    fn advance(&mut self, frame: &Frame, spread: &dyn Spread) -> f64 {
        if spread.width() > 1 {
            let target = self.target;
            let advance = |track: &mut Track| f64::from(track.advance_shared(frame, target, spread));
            return self.tracks.iter_mut().map(advance).fold(0.0, |sum, track| sum + track);
        }
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
    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        raw[0] = 0.0;
        if let Some(previous) = window.previous {
            if self.held.is_none_or(|held| held + 1 != window.index) {
                self.advance(previous.reference, spread);
            }
            raw[0] = self.advance(window.current.reference, spread);
            self.held = Some(window.index);
        }
        Ok(())
    }
}
