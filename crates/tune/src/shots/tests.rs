//! Cuts, fades, dissolves and flashes in made clips; pans and noise that are none.

use super::*;
use visus_video::synthetic::Clip;
use visus_video::{Chroma, Format, Info, PlaneView, ReadError};

/// Frames of luma that a function draws.
struct Drawn {
    format: Format,
    info: Info,
    next: u64,
    frames: u64,
    draw: Box<dyn Fn(u64, usize, usize) -> f64 + Send>,
}

impl Frames for Drawn {
    fn format(&self) -> &Format {
        &self.format
    }
    fn name(&self) -> &str {
        "drawn"
    }
    fn info(&self) -> &Info {
        &self.info
    }
    fn frames_read(&self) -> u64 {
        self.next
    }
    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        if self.next == self.frames {
            return Ok(false);
        }
        let mut plane = frame.plane_mut_u8(0).unwrap();
        for y in 0..plane.height() {
            for (x, sample) in plane.row_mut(y).iter_mut().enumerate() {
                *sample = (self.draw)(self.next, x, y).clamp(0.0, 255.0) as u8;
            }
        }
        self.next += 1;
        Ok(true)
    }
    fn skip(&mut self, _count: u64) -> Result<u64, ReadError> {
        Ok(0)
    }
    fn total_frames(&self) -> Option<u64> {
        Some(self.frames)
    }
}

/// Luma of moving scenes with different seeds, as functions of frame and place.
fn scene(seed: u32) -> impl Fn(u64, usize, usize) -> f64 + Send + Clone {
    let format = Format::new(192, 108, Chroma::C420, 8).unwrap();
    let pictures: Vec<Vec<u8>> = Clip::scene(format, 101, seed)
        .frames()
        .map(|frame| match frame.plane(0) {
            PlaneView::U8(plane) => plane.rows().flatten().copied().collect(),
            PlaneView::U16(_) => Vec::new(),
        })
        .collect();
    let pictures = std::sync::Arc::new(pictures);
    move |frame, x, y| f64::from(pictures[frame as usize % 101][y * 192 + x])
}

fn shots_of(frames: u64, draw: impl Fn(u64, usize, usize) -> f64 + Send + 'static) -> Shots {
    let format = Format::new(192, 108, Chroma::C420, 8).unwrap();
    let mut drawn = Drawn { format, info: Info::default(), next: 0, frames, draw: Box::new(draw) };
    find_in(&mut drawn, &DetectSettings::default(), &Cancel::new(), |_| {}).unwrap()
}

fn boundaries(shots: &Shots) -> Vec<(u64, Kind)> {
    shots.boundaries.iter().map(|boundary| (boundary.frame, boundary.kind)).collect()
}

#[test]
fn hard_cuts_are_found_to_the_frame() {
    let (a, b, c) = (scene(1), scene(2), scene(3));
    let shots = shots_of(75, move |frame, x, y| match frame {
        0..25 => a(frame, x, y),
        25..40 => b(frame, x, y),
        _ => c(frame, x, y),
    });
    assert_eq!(boundaries(&shots), [(25, Kind::Cut), (40, Kind::Cut)]);
    assert_eq!(
        shots.shots.iter().map(|shot| (shot.start, shot.end)).collect::<Vec<_>>(),
        [(0, 25), (25, 40), (40, 75)]
    );
    assert!(shots.flashes.is_empty());
}

#[test]
fn a_flash_is_no_cut() {
    for length in [1, 2, 4] {
        let a = scene(1);
        let shots = shots_of(60, move |frame, x, y| {
            let lit = (30..30 + length).contains(&frame);
            a(frame, x, y) + if lit { 120.0 } else { 0.0 }
        });
        assert_eq!((boundaries(&shots), shots.flashes), (vec![], vec![30]), "{length} frames");
    }
}

#[test]
fn a_fade_through_black_is_one_boundary() {
    let (a, b) = (scene(1), scene(2));
    let shots = shots_of(100, move |frame, x, y| {
        let light = (frame as f64 - 50.0).abs().min(20.0) / 20.0;
        16.0 + light * (if frame < 50 { a(frame, x, y) } else { b(frame, x, y) } - 16.0)
    });
    let found = boundaries(&shots);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0.abs_diff(50) <= 4 && found[0].1 == Kind::Fade, "{found:?}");
}

#[test]
fn a_dissolve_is_one_boundary() {
    let (a, b) = (scene(1), scene(2));
    let shots = shots_of(100, move |frame, x, y| {
        let part = ((frame as f64 - 40.0) / 20.0).clamp(0.0, 1.0);
        (1.0 - part) * a(frame / 8, x, y) + part * b(frame / 8, x, y)
    });
    let found = boundaries(&shots);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0.abs_diff(50) <= 6 && found[0].1 == Kind::Dissolve, "{found:?}");
}

#[test]
fn pans_noise_and_changing_light_are_no_cuts() {
    let a = scene(1);
    let pan = shots_of(60, move |frame, x, y| a(0, (x + frame as usize * 5) % 192, y));
    assert_eq!(boundaries(&pan), [], "a pan");
    let noise = shots_of(40, |frame, x, y| {
        let mixed = (frame.wrapping_mul(0x9e37_79b9) ^ (x as u64 * 7919) ^ (y as u64 * 104_729))
            .wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed >> 56) as f64
    });
    assert_eq!(boundaries(&noise), [], "noise");
    let a = scene(1);
    let light = shots_of(60, move |frame, x, y| a(frame, x, y) * 0.5 + 2.0 * frame as f64);
    assert_eq!(boundaries(&light), [], "slowly rising light");
}

#[test]
fn very_short_shots_are_joined() {
    let (a, b, c) = (scene(1), scene(2), scene(3));
    let shots = shots_of(60, move |frame, x, y| match frame {
        0..30 => a(frame, x, y),
        30..33 => b(frame, x, y),
        _ => c(frame, x, y),
    });
    assert_eq!(shots.shots.len(), 2);
    assert_eq!(shots_of(0, |_, _, _| 0.0).shots, []);
    assert_eq!(shots_of(1, |_, _, _| 0.0).shots.len(), 1);
}
