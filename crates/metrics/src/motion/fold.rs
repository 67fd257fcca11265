//! From frame differences to motion2 and motion3, in frame order.

use super::MotionSettings;
use crate::{Emit, Fold};

/// Holds back only what a later frame can still change: the last few differences.
#[derive(Debug)]
pub struct MotionFold {
    settings: MotionSettings,
    /// Differences of the last frames, newest last; at most three.
    recent: Vec<f64>,
    /// Frames seen.
    count: u64,
    /// The frame before's motion3, before it is averaged.
    processed: f64,
}

impl MotionFold {
    pub fn new(settings: MotionSettings) -> Self {
        Self { settings, recent: Vec::with_capacity(3), count: 0, processed: 0.0 }
    }

    fn motion2_key(&self) -> usize {
        1 + usize::from(self.settings.debug)
    }

    /// The difference of frame `index`, which is one of the last three; `None` before the start of a part.
    fn difference(&self, index: u64) -> Option<f64> {
        let back = usize::try_from(self.count - index).ok()?;
        self.recent.len().checked_sub(back).map(|place| self.recent[place])
    }

    /// The newest difference.
    fn newest(&self) -> f64 {
        self.recent.last().copied().unwrap_or(0.0)
    }

    fn write(&mut self, index: u64, motion2: f64, motion3: f64, out: &mut dyn Emit) {
        let key = self.motion2_key();
        out.score(key, index, motion2);
        out.score(key + 1, index, motion3);
    }

    /// The first frames have nothing to be compared with: no motion2, and the first real difference as motion3.
    fn write_first(&mut self, frames: u64, stamp: f64, out: &mut dyn Emit) {
        for index in 0..frames {
            self.write(index, 0.0, stamp, out);
        }
        self.processed = stamp;
    }

    fn write_settled(&mut self, index: u64, motion2: f64, out: &mut dyn Emit) {
        let processed = self.settings.blend.apply(motion2);
        let motion3 =
            if self.settings.moving_average { (processed + self.processed) / 2.0 } else { processed };
        self.processed = processed;
        self.write(index, motion2, motion3, out);
    }

    /// Motion2 of frame `index`, now that its successor is known: the smaller of the differences on its two sides. With
    /// the five-frame window these are the neighbours' differences, and the first one has a successor only.
    fn settled(&self, index: u64) -> f64 {
        let distance = self.settings.distance;
        let after = self.newest();
        let before = index + 1 - distance;
        match self.difference(before) {
            Some(difference) if before >= distance => super::smaller(difference, after),
            _ => after,
        }
    }
}

impl Fold for MotionFold {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit) {
        let first = self.settings.distance;
        out.score(0, index, raw[0]);
        if self.settings.debug {
            out.score(1, index, raw[0]);
        }
        if self.recent.len() == 3 {
            self.recent.remove(0);
        }
        self.recent.push(raw[0]);
        self.count = index + 1;
        if index == first {
            self.write_first(first, self.settings.blend.apply(raw[0]), out);
        } else if index > first {
            self.write_settled(index - 1, self.settled(index - 1), out);
        }
    }

    fn finish(&mut self, out: &mut dyn Emit) {
        let first = self.settings.distance;
        if self.count <= first {
            self.write_first(self.count, 0.0, out);
        } else {
            self.write_settled(self.count - 1, self.newest(), out);
        }
    }
}
