//! From frame differences to motion, motion2 and motion3, in frame order.

use super::{Columns, Settings};
use crate::motion::smaller;
use crate::{Emit, Fold};

/// Holds back the last difference only: the next frame still decides on that frame's minimum.
#[derive(Debug)]
pub struct FloatMotionFold {
    settings: Settings,
    columns: Columns,
    /// The newest frame and its difference.
    last: Option<(u64, f64)>,
}

impl FloatMotionFold {
    pub fn new(settings: Settings, columns: Columns) -> Self {
        Self { settings, columns, last: None }
    }

    fn weighted(&self, difference: f64) -> f64 {
        difference * self.settings.fps_weight
    }

    fn clipped(&self, difference: f64) -> f64 {
        smaller(self.weighted(difference), self.settings.blend.max)
    }

    fn blended(&self, difference: f64) -> f64 {
        self.settings.blend.apply(self.weighted(difference))
    }

    fn write_zeros(&self, index: u64, out: &mut dyn Emit) {
        out.score(self.columns.motion2, index, 0.0);
        out.score(self.columns.motion3, index, 0.0);
        self.write_motion(index, 0.0, out);
    }

    /// Motion2 and motion3 of a frame whose smallest difference is known.
    fn write_settled(&self, index: u64, difference: f64, out: &mut dyn Emit) {
        out.score(self.columns.motion2, index, self.clipped(difference));
        out.score(self.columns.motion3, index, self.blended(difference));
    }

    fn write_motion(&self, index: u64, difference: f64, out: &mut dyn Emit) {
        if let Some(column) = self.columns.motion {
            out.score(column, index, self.clipped(difference));
        }
    }
}

impl Fold for FloatMotionFold {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit) {
        if self.settings.force_zero {
            return self.write_zeros(index, out);
        }
        let difference = raw[0];
        match self.last {
            // Nothing to be compared with: no motion, and motion3 waits for the first real difference.
            None => {
                out.score(self.columns.motion2, index, 0.0);
                self.write_motion(index, 0.0, out);
            }
            Some((first @ 0, _)) => {
                self.write_motion(index, difference, out);
                out.score(self.columns.motion3, first, self.blended(difference));
            }
            Some((previous, before)) => {
                self.write_motion(index, difference, out);
                self.write_settled(previous, smaller(before, difference), out);
            }
        }
        self.last = Some((index, difference));
    }

    fn finish(&mut self, out: &mut dyn Emit) {
        match self.last.take() {
            Some((only @ 0, _)) => out.score(self.columns.motion3, only, 0.0),
            Some((index, difference)) => self.write_settled(index, difference, out),
            None => {}
        }
    }
}
