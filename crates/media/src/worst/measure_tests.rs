//! Every fault, made on purpose, is named, and a clean frame has none.

use super::*;
use crate::rgb::write_row;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format, PlaneView};

fn format() -> Format {
    Format::new(320, 180, Chroma::C420, 8).unwrap()
}

fn frames(distortion: Option<Distortion>) -> Vec<Frame> {
    let clip = Clip::scene(format(), 3, 11);
    match distortion {
        Some(distortion) => clip.distorted(distortion).frames().collect(),
        None => clip.frames().collect(),
    }
}

fn measure(reference: Vec<Frame>, distorted: Vec<Frame>) -> Measures {
    let three = |frames: Vec<Frame>| {
        let mut frames = frames.into_iter();
        std::array::from_fn(|_| frames.next())
    };
    let moment = Moment { reference: three(reference), distorted: three(distorted) };
    Measures::of(&moment)
}

type Change = fn(usize, usize, &dyn Fn(i64, i64) -> u8) -> i32;

/// The frame with every sample of a plane changed.
fn changed(
    frame: &Frame,
    plane: usize,
    change: impl Fn(usize, usize, &dyn Fn(i64, i64) -> u8) -> i32,
) -> Frame {
    let mut out = frame.clone();
    let PlaneView::U8(view) = frame.plane(plane) else { panic!("8 bits") };
    let (width, height) = (view.width(), view.height());
    let at = |x: i64, y: i64| {
        view.row(y.clamp(0, height as i64 - 1) as usize)[x.clamp(0, width as i64 - 1) as usize]
    };
    for y in 0..height {
        let row: Vec<u16> = (0..width).map(|x| change(x, y, &at).clamp(0, 255) as u16).collect();
        write_row(&mut out, plane, y, row.into_iter());
    }
    out
}

fn says(measures: &Measures, word: &str) -> bool {
    measures.faults().iter().any(|fault| fault.contains(word))
}

#[test]
fn a_clean_frame_has_no_fault() {
    let measures = measure(frames(None), frames(None));
    assert_eq!(measures.faults(), Vec::<String>::new(), "{measures:?}");
    let region = Region { x: 0, y: 0, width: 10, height: 10 };
    let words = measures.describe(7, "vmaf", 99.0, ("no visible difference", region));
    assert!(words.starts_with("Frame 7, vmaf 99.00") && words.contains("no visible difference"));
}

#[test]
fn faults_are_named() {
    let blur = measure(frames(None), frames(Some(Distortion::Blur { radius: 2 })));
    assert!(says(&blur, "blurred"), "{blur:?}");
    let blocks = measure(frames(None), frames(Some(Distortion::Blocking { step: 40 })));
    assert!(says(&blocks, "blocking"), "{blocks:?}");
    let grain = measure(frames(None), frames(Some(Distortion::Noise { amplitude: 14, seed: 3 })));
    assert!(says(&grain, "noise"), "{grain:?}");
}

#[test]
fn light_colour_and_place() {
    let clean = frames(None);
    let with = |plane: usize, change: Change| {
        let distorted: Vec<Frame> = clean.iter().map(|frame| changed(frame, plane, change)).collect();
        measure(frames(None), distorted)
    };
    let bright = with(0, |x, y, at| i32::from(at(x as i64, y as i64)) + 9);
    assert!(says(&bright, "brighter by"), "{bright:?}");
    let tinted = with(1, |x, y, at| i32::from(at(x as i64, y as i64)) + 6);
    assert!(says(&tinted, "colours are shifted"), "{tinted:?}");
    let moved = with(0, |x, y, at| i32::from(at(x as i64 - 2, y as i64)));
    assert!(says(&moved, "moved by"), "{moved:?}");
}

#[test]
fn bands_in_a_gentle_slope() {
    let slope = |step: u16| {
        let mut frame = Frame::new(format());
        for y in 0..180 {
            write_row(
                &mut frame,
                0,
                y,
                (0..320).map(|x| (60 + (x as u16 + (y as u16 % 3)) / 4) / step * step),
            );
        }
        vec![frame.clone(), frame.clone(), frame]
    };
    let bands = measure(slope(1), slope(6));
    assert!(says(&bands, "banding"), "{bands:?}");
}

#[test]
fn time_that_stands_or_is_off() {
    let far = |start: usize| -> Vec<Frame> {
        Clip::scene(format(), 30, 11).frames().skip(start).step_by(5).take(3).collect()
    };
    let reference = far(5);
    let mut frozen = far(5);
    frozen[1] = frozen[0].clone();
    let measures = measure(reference.clone(), frozen);
    assert!(says(&measures, "frozen"), "{measures:?}");
    let mut late = far(5);
    late.swap(1, 2);
    let measures = measure(reference, late);
    assert_eq!(measures.fits_frame, 1, "{measures:?}");
}

#[test]
fn where_nothing_stands_out_the_nearest_fault_is_named() {
    let quiet = Measures { error: 15.0, detail: 1.0, ..Measures::default() };
    assert_eq!(quiet.summary(), "no single fault stands out");
    let soft = Measures { detail: 0.82, blocking: 0.08, ..quiet };
    assert!(soft.faults().is_empty() && soft.summary().ends_with("(closest: blur)"), "{}", soft.summary());
    let blocky = Measures { detail: 0.95, blocking: 0.14, ..quiet };
    assert!(blocky.summary().ends_with("(closest: blocking)"), "{}", blocky.summary());
    assert_eq!(Measures { error: 0.2, ..blocky }.summary(), "no visible difference");
}
