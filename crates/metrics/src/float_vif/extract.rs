//! The extractor: from a pair of frames through the four scales to the scores.

use super::scalar::{self, Halving, Information, Scratch};
use super::{Model, SCALES, Settings};
use crate::picture::FloatPlane;
use crate::resize::{self, Resizer};
use crate::simd::Target;
use crate::{Extractor, MetricError, Pair, Spread, Window, bands};

/// Samples are centred on zero.
const OFFSET: f32 = -128.0;

/// Reference and distorted plane of one size.
#[derive(Debug)]
struct Planes {
    reference: FloatPlane,
    distorted: FloatPlane,
}

impl Planes {
    fn new((width, height): (usize, usize)) -> Self {
        Self { reference: FloatPlane::new(width, height), distorted: FloatPlane::new(width, height) }
    }

    #[inline(always)]
    fn load(&mut self, pair: Pair<'_>) {
        for (plane, frame) in [(&mut self.reference, pair.reference), (&mut self.distorted, pair.distorted)] {
            plane.load(frame.plane(0), frame.format().depth(), OFFSET);
        }
    }

    fn load_shared(&mut self, pair: Pair<'_>, hands: &Hands<'_>) {
        for (plane, frame) in [(&mut self.reference, pair.reference), (&mut self.distorted, pair.distorted)] {
            plane.load_spread(frame.plane(0), frame.format().depth(), OFFSET, hands.target, hands.spread);
        }
    }

    fn resize_from(&mut self, source: &Self, resizer: &mut Resizer) {
        resizer.resize(&source.reference, &mut self.reference);
        resizer.resize(&source.distorted, &mut self.distorted);
    }

    #[inline(always)]
    fn halve_from(&mut self, source: &Self, halving: &mut Halving) {
        scalar::halve(&source.reference, halving, &mut self.reference);
        scalar::halve(&source.distorted, halving, &mut self.distorted);
    }
}

/// A scale after the first, made from the one before it.
#[derive(Debug)]
struct Coarser {
    halving: Halving,
    planes: Planes,
    scratch: Scratch,
}

#[derive(Debug)]
pub struct FloatVifExtractor {
    settings: Settings,
    loaded: Planes,
    prescaled: Option<(Resizer, Planes)>,
    /// Of the first scale; none if that is skipped.
    finest: Option<Scratch>,
    coarser: Vec<Coarser>,
    target: Target,
}

impl FloatVifExtractor {
    /// For luma planes of this (width, height). Precondition: the settings do not call it too small.
    pub fn new(settings: Settings, from: (usize, usize), target: Target) -> Self {
        let to = (resize::scaled(from.0, settings.prescale), resize::scaled(from.1, settings.prescale));
        let size = |scale: usize| (to.0 >> scale, to.1 >> scale);
        let scratch = |scale: usize| Scratch::new(size(scale).0, settings.window(scale));
        let coarser = (1..SCALES).map(|scale| Coarser {
            halving: Halving::new(size(scale - 1).0, settings.window(scale)),
            planes: Planes::new(size(scale)),
            scratch: scratch(scale),
        });
        Self {
            settings,
            loaded: Planes::new(from),
            prescaled: (from != to).then(|| (Resizer::new(settings.method, from, to), Planes::new(to))),
            finest: (!settings.skip_scale0).then(|| scratch(0)),
            coarser: coarser.collect(),
            target,
        }
    }

    #[inline(always)]
    fn information(&mut self) -> [Information; SCALES] {
        let model = &self.settings.model;
        let mut scales = [Information::default(); SCALES];
        let mut planes = &self.loaded;
        if let Some((resizer, resized)) = &mut self.prescaled {
            resized.resize_from(planes, resizer);
            planes = resized;
        }
        if let Some(scratch) = &mut self.finest {
            scales[0] = scalar::information(&planes.reference, &planes.distorted, model, scratch);
        }
        for (coarser, scale) in self.coarser.iter_mut().zip(&mut scales[1..]) {
            coarser.planes.halve_from(planes, &mut coarser.halving);
            planes = &coarser.planes;
            *scale = scalar::information(&planes.reference, &planes.distorted, model, &mut coarser.scratch);
        }
        scales
    }
}

impl FloatVifExtractor {
    /// The same with helping hands: rows are shared out at every scale.
    fn shared_information(&mut self, pair: Pair<'_>, hands: &Hands<'_>) -> [Information; SCALES] {
        self.loaded.load_shared(pair, hands);
        let model = &self.settings.model;
        let mut scales = [Information::default(); SCALES];
        let mut planes = &self.loaded;
        if let Some((resizer, resized)) = &mut self.prescaled {
            resized.resize_from(planes, resizer);
            planes = resized;
        }
        if let Some(scratch) = &self.finest {
            scales[0] = hands.information(planes, model, scratch);
        }
        for (coarser, scale) in self.coarser.iter_mut().zip(&mut scales[1..]) {
            let Coarser { halving, planes: halves, scratch } = coarser;
            hands.halve(&planes.reference, halving, &mut halves.reference);
            hands.halve(&planes.distorted, halving, &mut halves.distorted);
            planes = halves;
            *scale = hands.information(planes, model, scratch);
        }
        scales
    }
}

impl Extractor for FloatVifExtractor {
    fn extract(&mut self, window: &Window<'_>, raw: &mut [f64]) -> Result<(), MetricError> {
        let scales = self.target.run(
            #[inline(always)]
            || {
                self.loaded.load(window.current);
                self.information()
            },
        );
        write_scores(&scales, &self.settings, raw);
        Ok(())
    }

    fn extract_spread(
        &mut self,
        window: &Window<'_>,
        raw: &mut [f64],
        spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        if spread.width() <= 1 {
            return self.extract(window, raw);
        }
        let hands = Hands { target: self.target, spread };
        let scales = self.shared_information(window.current, &hands);
        write_scores(&scales, &self.settings, raw);
        Ok(())
    }
}

/// Rows that are worth a call of their own.
const LEAST_ROWS: usize = 8;

/// Threads that share the rows of a frame.
struct Hands<'a> {
    target: Target,
    spread: &'a dyn Spread,
}

impl Hands<'_> {
    fn information(&self, planes: &Planes, model: &Model, scratch: &Scratch) -> Information {
        let (reference, distorted) = (&planes.reference, &planes.distorted);
        let bands = bands::bands(reference.height(), 1, LEAST_ROWS, self.spread);
        let rows = bands::map(bands.len(), self.spread, |index| {
            let (mut scratch, band) = (scratch.clone(), bands[index].clone());
            self.target.run(
                #[inline(always)]
                || {
                    let mut rows = Vec::with_capacity(band.len());
                    for y in band {
                        rows.push(scalar::information_of_row(reference, distorted, y, model, &mut scratch));
                    }
                    rows
                },
            )
        });
        let mut sum = Information::default();
        rows.into_iter().flatten().for_each(|row| sum.add(row));
        sum
    }

    fn halve(&self, source: &FloatPlane, halving: &Halving, out: &mut FloatPlane) {
        let (width, stride) = (out.width(), out.stride());
        let bands = bands::bands(out.height(), 1, LEAST_ROWS, self.spread);
        bands::for_each(out.bands_mut(&bands), self.spread, |(rows, data)| {
            let mut halving = halving.clone();
            self.target.run(
                #[inline(always)]
                || {
                    for (y, row) in rows.zip(data.chunks_mut(stride)) {
                        scalar::halve_row(source, y, &mut halving, &mut row[..width]);
                    }
                },
            );
        });
    }
}

fn write_scores(scales: &[Information; SCALES], settings: &Settings, raw: &mut [f64]) {
    let mut parts = scales.map(|scale| (f64::from(scale.kept), f64::from(scale.held)));
    let counted = &parts[usize::from(settings.skip_scale0)..];
    let kept = counted.iter().fold(0.0, |sum, part| sum + part.0);
    let held = counted.iter().fold(0.0, |sum, part| sum + part.1);
    for (score, (kept, held)) in raw.iter_mut().zip(parts) {
        *score = kept / held;
    }
    for (score, min) in raw[1..].iter_mut().zip(settings.min_values) {
        *score = if *score > min { *score } else { min };
    }
    if settings.skip_scale0 {
        raw[0] = 0.0;
        parts[0] = (0.0, -1.0);
    }
    if settings.debug {
        raw[4] = if held == 0.0 { 1.0 } else { kept / held };
        raw[5] = kept;
        raw[6] = held;
        for (scale, (kept, held)) in parts.into_iter().enumerate() {
            raw[7 + 2 * scale] = kept;
            raw[8 + 2 * scale] = held;
        }
    }
}
