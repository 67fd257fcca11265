//! Chroma and hue of a group of colours.

use super::difference::{chroma, positive_angle, stretched};
use super::estimate::{angle, middle_distance, slope};
use super::labs::{Distances, Doubles, GROUP, Labs, Singles};

#[derive(Debug)]
pub struct Colours {
    /// The stretched a, and what follows from it.
    axis: Singles,
    slopes: Doubles,
    pub chroma: Singles,
    pub hue: Singles,
}

impl Colours {
    pub const ZERO: Self =
        Self { axis: [0.0; GROUP], slopes: [0.0; GROUP], chroma: [0.0; GROUP], hue: [0.0; GROUP] };

    /// Stretches the a axis, by so much for each pixel, and goes on to chroma and hue.
    #[inline(always)]
    pub fn fill(&mut self, labs: Labs<'_>, stretches: &Doubles, distances: &mut Distances) {
        for n in 0..GROUP {
            let axis = stretched(labs.a[n], stretches[n]);
            self.axis[n] = axis as f32;
            distances[n] = distances[n].min(middle_distance(axis));
        }
        for n in 0..GROUP {
            let (a, b) = (self.axis[n], labs.b[n]);
            self.chroma[n] = chroma(a, b);
            self.slopes[n] = slope(f64::from(b), f64::from(a));
        }
        for n in 0..GROUP {
            let (a, b) = (self.axis[n], labs.b[n]);
            let grey = a == 0.0 && b == 0.0;
            let hue = if grey { 0.0 } else { angle(f64::from(b), f64::from(a), self.slopes[n]) };
            self.hue[n] = positive_angle(hue as f32);
            distances[n] = distances[n].min(middle_distance(hue));
        }
    }
}
