//! Why a frame is bad, for somebody who is to do something about it: the kind of fault, how sure that is, where it is in time
//! and in the picture, and what to try.

use visus_media::worst::{Measures, Region};

/// A likely cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cause {
    /// One word for the kind of fault.
    pub fault: &'static str,
    /// high, medium or low.
    pub confidence: &'static str,
    /// What to try.
    pub advice: &'static str,
}

/// A fault: its name, by how much the measurement exceeds what is usual (1 is the limit), and what to try.
type Candidate = (&'static str, f64, &'static str);

/// Twice the limit is sure, and a little above it is not.
const SURE: f64 = 2.0;
const LIKELY: f64 = 1.25;

impl Cause {
    /// The fault that stands out most. Faults of timing and place come first: they make every other measurement mean less.
    pub fn of(measures: &Measures) -> Self {
        let fits = |found: bool| if found { SURE } else { 0.0 };
        let misplaced: [Candidate; 3] = [
            (
                "frozen",
                fits(measures.frozen),
                "look for dropped frames or a stalled input; encode this part again",
            ),
            (
                "misaligned_in_time",
                fits(measures.fits_frame != 0),
                "frames are out of step: leave sync at full, or set frame_skip_ref or frame_skip_dist for raw video",
            ),
            (
                "misaligned_in_place",
                fits(measures.fits_shift != (0, 0)),
                "the picture is moved: check cropping, padding and scaling of the encode",
            ),
        ];
        let colour = measures.colour[0].abs().max(measures.colour[1].abs());
        let texture: [Candidate; 7] = [
            (
                "brightness",
                measures.brightness.abs() / 2.0,
                "check colour range (limited or full) and any filter that changes levels",
            ),
            ("colour", colour / 2.0, "check the colour matrix and primaries of the encode"),
            (
                "blocking",
                measures.blocking / 0.15,
                "lower the CRF by 3 to 4, or turn the deblocking filter on",
            ),
            (
                "blur",
                (1.0 - measures.detail) / 0.2,
                "lower the CRF by 3 to 4, avoid a smaller encode size, or turn denoising off",
            ),
            ("banding", measures.banding / 0.15, "encode with 10 bits, or with dithering and aq-mode 3"),
            (
                "ringing",
                if measures.detail > 0.5 && measures.error > 4.0 { measures.ringing / 3.0 } else { 0.0 },
                "lower the CRF by 2 to 3, or use a softer scaler",
            ),
            (
                "noise",
                if measures.noise > 1.0 { (measures.detail - 1.0) / 0.15 } else { 0.0 },
                "something was added: turn sharpening or film-grain synthesis off",
            ),
        ];
        let strongest = |found: &[Candidate]| {
            found
                .iter()
                .copied()
                .filter(|(_, share, _)| share.is_finite() && *share > 0.0)
                .max_by(|a, b| a.1.total_cmp(&b.1))
        };
        let misplaced = strongest(&misplaced).filter(|(_, share, _)| *share >= 1.0);
        match misplaced.or_else(|| strongest(&texture)) {
            Some((fault, share, advice)) if share >= 0.5 => {
                Self { fault, confidence: confidence(share), advice }
            }
            _ if measures.error < 0.5 => Self {
                fault: "none",
                confidence: "high",
                advice: "nothing: the frame equals the reference to the eye",
            },
            _ => Self {
                fault: "mixed",
                confidence: "low",
                advice: "no single fault stands out: look at the picture, and lower the CRF if the bit rate allows",
            },
        }
    }
}

fn confidence(share: f64) -> &'static str {
    match share {
        share if share >= SURE => "high",
        share if share >= LIKELY => "medium",
        _ => "low",
    }
}

/// Where in the picture a region is, in words.
pub fn place(region: Region, (width, height): (usize, usize)) -> &'static str {
    let third = |middle: usize, whole: usize| (3 * middle / whole.max(1)).min(2);
    let column = third(region.x + region.width / 2, width);
    let row = third(region.y + region.height / 2, height);
    const NAMES: [[&str; 3]; 3] = [
        ["top left", "top", "top right"],
        ["left", "centre", "right"],
        ["bottom left", "bottom", "bottom right"],
    ];
    // A region that is nearly the whole picture is in no place.
    if 10 * region.width * region.height >= 8 * width * height { "whole picture" } else { NAMES[row][column] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Measures {
        Measures { detail: 1.0, error: 10.0, ..Measures::default() }
    }

    #[test]
    fn the_strongest_fault_is_named_with_what_to_try() {
        let blocky = Cause::of(&Measures { blocking: 0.4, detail: 0.85, ..plain() });
        assert_eq!((blocky.fault, blocky.confidence), ("blocking", "high"));
        assert!(blocky.advice.contains("CRF"));
        let blurred = Cause::of(&Measures { detail: 0.7, ..plain() });
        assert_eq!((blurred.fault, blurred.confidence), ("blur", "medium"));
        let slightly = Cause::of(&Measures { detail: 0.88, ..plain() });
        assert_eq!((slightly.fault, slightly.confidence), ("blur", "low"));
    }

    #[test]
    fn timing_comes_before_texture() {
        let late = Cause::of(&Measures { fits_frame: 1, detail: 0.2, blocking: 3.0, ..plain() });
        assert_eq!(late.fault, "misaligned_in_time");
        assert_eq!(Cause::of(&Measures { frozen: true, ..plain() }).fault, "frozen");
    }

    #[test]
    fn nothing_is_called_nothing() {
        assert_eq!(Cause::of(&Measures { error: 0.1, ..plain() }).fault, "none");
        assert_eq!(Cause::of(&plain()).fault, "mixed");
    }

    #[test]
    fn places_have_names() {
        let region = |x, y| Region { x, y, width: 100, height: 100 };
        assert_eq!(place(region(0, 0), (900, 900)), "top left");
        assert_eq!(place(region(400, 400), (900, 900)), "centre");
        assert_eq!(place(region(800, 400), (900, 900)), "right");
        assert_eq!(place(region(0, 0), (100, 110)), "whole picture");
    }
}
