//! What is wrong with a frame, in figures and words. Simple measurements of the whole picture, each against the reference.

use serde_json::{Value, json};
use visus_video::Frame;

use super::{Moment, Region};
use crate::worst::picture::Luma;

/// The figures. Luma and chroma are on the scale of 8 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// Mean squared error of luma.
    pub error: f64,
    /// Fine detail of the distorted frame over that of the reference: below 1 it is blurred, above 1 something was added.
    pub detail: f64,
    /// How much stronger steps are at the borders of a grid of 8 than elsewhere, beyond the reference's own.
    pub blocking: f64,
    /// Error beside strong edges over error elsewhere.
    pub ringing: f64,
    /// Share of smooth places that became flat steps.
    pub banding: f64,
    /// Spread of the error in smooth places.
    pub noise: f64,
    /// Mean difference of luma and of the two chroma planes.
    pub brightness: f64,
    pub colour: [f64; 2],
    /// Mean squared error of the two chroma planes.
    pub colour_error: f64,
    /// The distorted video repeats its last frame although the reference moves.
    pub frozen: bool,
    /// The frame of the reference, relative to this one, that fits better.
    pub fits_frame: i32,
    /// By how many samples, right and down, the picture fits better if it is moved.
    pub fits_shift: (i32, i32),
}

/// From here on a fault stands out.
const BLURRED: f64 = 0.8;
const BLOCKY: f64 = 0.15;
const BANDED: f64 = 0.15;
const RINGING: f64 = 3.0;

impl Measures {
    pub(crate) fn of(moment: &Moment) -> Self {
        let luma = |frame: &Option<Frame>| frame.as_ref().map(Luma::of);
        let (Some(reference), Some(distorted)) = (luma(&moment.reference[1]), luma(&moment.distorted[1]))
        else {
            return Self::default();
        };
        let error = reference.error(&distorted, (0, 0));
        Self {
            error,
            detail: ratio(distorted.detail(), reference.detail()),
            blocking: distorted.blocking() - reference.blocking(),
            ringing: ringing(&reference, &distorted),
            banding: banding(&reference, &distorted),
            noise: noise(&reference, &distorted),
            brightness: distorted.mean() - reference.mean(),
            colour: colour(moment),
            colour_error: colour_error(moment),
            frozen: frozen(moment),
            fits_frame: fits_frame(moment, &distorted, error),
            fits_shift: fits_shift(&reference, &distorted, error),
        }
    }

    /// What stands out, the gravest first.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.frozen {
            faults
                .push("the picture is frozen: it repeats the last one while the reference moves".to_owned());
        }
        if self.fits_frame != 0 {
            let side = if self.fits_frame < 0 { "earlier" } else { "later" };
            faults.push(format!("misaligned: it shows the reference's {side} frame"));
        }
        if self.fits_shift != (0, 0) {
            let (x, y) = self.fits_shift;
            faults.push(format!("misaligned: the picture is moved by {x:+} samples across and {y:+} down"));
        }
        if self.brightness.abs() > 2.0 {
            let side = if self.brightness > 0.0 { "brighter" } else { "darker" };
            faults.push(format!("{side} by {:.1} levels of 255", self.brightness.abs()));
        }
        if self.colour.iter().any(|shift| shift.abs() > 2.0) {
            faults
                .push(format!("colours are shifted (Cb {:+.1}, Cr {:+.1})", self.colour[0], self.colour[1]));
        }
        self.texture_faults(&mut faults);
        faults
    }

    fn texture_faults(&self, faults: &mut Vec<String>) {
        let visible = self.error > 4.0;
        if self.blocking > BLOCKY {
            faults.push(format!(
                "blocking: steps at the borders of 8x8 blocks are {:.0} % stronger",
                100.0 * self.blocking
            ));
        }
        if self.detail < BLURRED {
            let how = if self.detail < 0.5 { "strongly blurred" } else { "blurred" };
            faults.push(format!("{how}: {:.0} % of the fine detail is gone", 100.0 * (1.0 - self.detail)));
        }
        if self.banding > BANDED {
            faults.push(format!(
                "banding: {:.0} % of the smooth places became flat steps",
                100.0 * self.banding
            ));
        }
        if self.ringing > RINGING && visible && self.detail > 0.5 {
            faults
                .push(format!("ringing: the error beside edges is {:.1} times that elsewhere", self.ringing));
        }
        if self.detail > 1.15 && self.noise > 1.0 && self.blocking <= BLOCKY {
            faults.push(format!(
                "noise was added ({:.0} % more fine detail than the reference has)",
                100.0 * (self.detail - 1.0)
            ));
        }
    }

    /// What is wrong in a few words; where nothing stands out, what comes nearest to it.
    pub fn summary(&self) -> String {
        let faults = self.faults();
        match faults.len() {
            0 if self.error < 0.5 && self.colour_error < 0.5 => "no visible difference".to_owned(),
            0 if self.colour_error > 4.0 && self.colour_error > self.error => {
                format!("colours differ by {:.1} levels of 255 (chroma)", self.colour_error.sqrt())
            }
            0 => self.nearest_fault(),
            _ => faults.join("; "),
        }
    }

    /// The texture fault that comes nearest to its limit, if it gets halfway.
    fn nearest_fault(&self) -> String {
        let hints = [
            ((1.0 - self.detail) / (1.0 - BLURRED), "blur"),
            (self.blocking / BLOCKY, "blocking"),
            (self.banding / BANDED, "banding"),
            (self.ringing / RINGING, "ringing"),
        ];
        let near = hints.into_iter().filter(|(share, _)| *share > 0.5).max_by(|a, b| a.0.total_cmp(&b.0));
        let none = "no single fault stands out";
        near.map_or(none.to_owned(), |(_, name)| format!("{none} (closest: {name})"))
    }

    pub(crate) fn describe(
        &self,
        index: u64,
        name: &str,
        score: f64,
        (what, region): (&str, Region),
    ) -> String {
        let psnr = if self.error > 0.0 { 10.0 * (255.0 * 255.0 / self.error).log10() } else { f64::INFINITY };
        let Region { x, y, width, height } = region;
        format!(
            "Frame {index}, {name} {score:.2}, luma PSNR {psnr:.1} dB: {what}. Worst in the {width}x{height} samples at {x},{y}."
        )
    }

    pub fn json(&self) -> Value {
        json!({
            "error": self.error, "detail": self.detail, "blocking": self.blocking, "ringing": self.ringing,
            "banding": self.banding, "noise": self.noise, "brightness": self.brightness, "colour": self.colour,
            "colour_error": self.colour_error,
            "frozen": self.frozen, "fits_frame": self.fits_frame, "fits_shift": [self.fits_shift.0, self.fits_shift.1],
        })
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 1e-6 { a / b } else { 1.0 }
}

/// Mean square of the error beside strong edges, over that at smooth places.
fn ringing(reference: &Luma, distorted: &Luma) -> f64 {
    const STRONG: f32 = 40.0;
    let (mut near, mut far) = ((0.0, 1u32), (0.0, 1u32));
    for y in (4..reference.height.saturating_sub(4)).step_by(2) {
        for x in (4..reference.width.saturating_sub(4)).step_by(2) {
            let own = reference.gradient(x, y);
            let around = [(x - 4, y), (x + 4, y), (x, y - 4), (x, y + 4)];
            let edge = around.iter().any(|(x, y)| reference.gradient(*x, *y) > STRONG);
            let error = f64::from(reference.at(x, y) - distorted.at(x, y)).powi(2);
            if own < STRONG / 4.0 {
                let sum = if edge { &mut near } else { &mut far };
                *sum = (sum.0 + error, sum.1 + 1);
            }
        }
    }
    let mean = |(sum, count): (f64, u32)| sum / f64::from(count);
    if near.1 < 50 || far.1 < 50 { 0.0 } else { mean(near) / (mean(far) + 1.0) }
}

/// Places where the reference rises gently and the distorted frame does not at all.
fn banding(reference: &Luma, distorted: &Luma) -> f64 {
    const RUN: usize = 8;
    let (mut smooth, mut flat) = (0u32, 0u32);
    for y in (0..reference.height).step_by(4) {
        for x in (0..reference.width.saturating_sub(RUN)).step_by(RUN / 2) {
            let rise = (reference.at(x + RUN, y) - reference.at(x, y)).abs();
            let rough =
                (1..RUN).any(|at| (reference.at(x + at, y) - reference.at(x + at - 1, y)).abs() > 2.0);
            if !(1.0..=6.0).contains(&rise) || rough {
                continue;
            }
            smooth += 1;
            let level = distorted.at(x, y);
            flat += u32::from((1..RUN).all(|at| distorted.at(x + at, y) == level));
        }
    }
    let natural = flat_share(reference);
    if smooth < 200 { 0.0 } else { (f64::from(flat) / f64::from(smooth) - natural).max(0.0) }
}

/// How often the reference itself is flat where it rises gently.
fn flat_share(reference: &Luma) -> f64 {
    const RUN: usize = 8;
    let (mut smooth, mut flat) = (1u32, 0u32);
    for y in (0..reference.height).step_by(4) {
        for x in (0..reference.width.saturating_sub(RUN)).step_by(RUN / 2) {
            let rise = (reference.at(x + RUN, y) - reference.at(x, y)).abs();
            if (1.0..=6.0).contains(&rise) {
                smooth += 1;
                flat += u32::from((1..RUN).all(|at| reference.at(x + at, y) == reference.at(x, y)));
            }
        }
    }
    f64::from(flat) / f64::from(smooth)
}

/// Standard deviation of the error where the reference is smooth.
fn noise(reference: &Luma, distorted: &Luma) -> f64 {
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0u32);
    for y in (1..reference.height.saturating_sub(1)).step_by(2) {
        for x in (1..reference.width.saturating_sub(1)).step_by(2) {
            if reference.gradient(x, y) < 8.0 {
                let error = f64::from(distorted.at(x, y) - reference.at(x, y));
                (sum, squares, count) = (sum + error, squares + error * error, count + 1);
            }
        }
    }
    let count = f64::from(count.max(1));
    (squares / count - (sum / count).powi(2)).max(0.0).sqrt()
}

fn colour_error(moment: &Moment) -> f64 {
    let (Some(a), Some(b)) = (&moment.reference[1], &moment.distorted[1]) else { return 0.0 };
    let planes = 1..a.format().planes();
    let count = planes.len().max(1) as f64;
    planes.map(|plane| Luma::of_plane(a, plane).error(&Luma::of_plane(b, plane), (0, 0))).sum::<f64>() / count
}

fn colour(moment: &Moment) -> [f64; 2] {
    [1, 2].map(|plane| match (&moment.reference[1], &moment.distorted[1]) {
        (Some(a), Some(b)) if a.format().planes() > plane => {
            Luma::of_plane(b, plane).mean() - Luma::of_plane(a, plane).mean()
        }
        _ => 0.0,
    })
}

/// Frames closer than this (mean squared error) are the same.
const SAME: f64 = 0.3;

fn frozen(moment: &Moment) -> bool {
    let moved = |frames: &[Option<Frame>; 3]| {
        let (before, now) = (frames[0].as_ref()?, frames[1].as_ref()?);
        Some(Luma::of(before).error(&Luma::of(now), (0, 0)))
    };
    match (moved(&moment.reference), moved(&moment.distorted)) {
        (Some(reference), Some(distorted)) => {
            distorted < SAME && reference > 10.0 * SAME && reference > 10.0 * distorted
        }
        _ => false,
    }
}

fn fits_frame(moment: &Moment, distorted: &Luma, error: f64) -> i32 {
    let other =
        |at: usize| moment.reference[at].as_ref().map(|frame| Luma::of(frame).error(distorted, (0, 0)));
    let better = |found: Option<f64>| found.is_some_and(|found| found * 2.0 < error);
    match (better(other(0)), better(other(2))) {
        (true, _) => -1,
        (false, true) => 1,
        (false, false) => 0,
    }
}

fn fits_shift(reference: &Luma, distorted: &Luma, error: f64) -> (i32, i32) {
    const FAR: i32 = 2;
    if error < 4.0 {
        return (0, 0);
    }
    let shifts = (-FAR..=FAR).flat_map(|x| (-FAR..=FAR).map(move |y| (x, y)));
    let best =
        shifts.map(|shift| (reference.error(distorted, shift), shift)).min_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(found, _)| found * 2.0 < error).map_or((0, 0), |(_, shift)| shift)
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
