//! Black bars: rows and columns at the edges of a picture that hold nothing.

use visus_video::{ColourRange, Frame, Plane, PlaneView, Sample};

use crate::sync::signature::View;

/// How far above black a sample of a bar may lie, on the scale of 8 bits.
const TOLERANCE: u32 = 8;

/// Bars that all frames have: top, bottom, left, right, in luma samples. Frames that are black all over do not count.
pub(crate) fn of<'a>(frames: impl Iterator<Item = &'a Frame>, range: ColourRange) -> [usize; 4] {
    let mut common: Option<[usize; 4]> = None;
    for frame in frames {
        let black = if range == ColourRange::Full { 0 } else { 16 };
        let limit = (black + TOLERANCE) << (frame.format().depth() - 8);
        let bars = match frame.plane(0) {
            PlaneView::U8(plane) => one(plane, limit),
            PlaneView::U16(plane) => one(plane, limit),
        };
        common = match (common, bars) {
            (Some(common), Some(bars)) => Some(std::array::from_fn(|side| common[side].min(bars[side]))),
            (common, bars) => common.or(bars),
        };
    }
    common.unwrap_or_default()
}

/// Bars differ if one side has more of them by this share of the picture.
pub(crate) const APART: f64 = 0.02;

/// What the bars leave free, as shares of the picture.
pub(crate) fn view(bars: [usize; 4], (width, height): (usize, usize)) -> View {
    let side = |edge: usize| if edge < 2 { height } else { width };
    View(std::array::from_fn(|edge| bars[edge] as f64 / side(edge) as f64))
}

/// Where bars hide a part of one picture, what neither hides.
pub(crate) fn common(views: [View; 2]) -> View {
    View(std::array::from_fn(|edge| views[0].0[edge].max(views[1].0[edge])))
}

/// Whether one side has bars that the other has not.
pub(crate) fn one_sided(views: [View; 2]) -> bool {
    let wide = |view: &View, edge: usize| view.0[edge] + view.0[edge + 1];
    [0, 2].iter().any(|edge| (wide(&views[0], *edge) - wide(&views[1], *edge)).abs() > APART)
}

fn one<T: Sample>(plane: Plane<'_, T>, limit: u32) -> Option<[usize; 4]> {
    let dark = |sample: &T| -> bool {
        let value: u32 = (*sample).into();
        value <= limit
    };
    let dark_row = |y: &usize| plane.row(*y).iter().all(dark);
    let (width, height) = (plane.width(), plane.height());
    let top = (0..height).take_while(dark_row).count();
    if top == height {
        return None;
    }
    let bottom = (0..height).rev().take_while(dark_row).count();
    let inner = top..height - bottom;
    let dark_column = |x: &usize| inner.clone().all(|y| dark(&plane.row(y)[*x]));
    let left = (0..width).take_while(dark_column).count();
    let right = (0..width).rev().take_while(dark_column).count();
    Some([top, bottom, left, right])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rgb::write_row;
    use visus_video::{Chroma, Format};

    fn frame(depth: u8, rows: std::ops::Range<usize>, value: u16) -> Frame {
        let mut frame = Frame::new(Format::new(16, 12, Chroma::C420, depth).unwrap());
        for y in 0..12 {
            let sample = if rows.contains(&y) { value } else { 16 << (depth - 8) };
            write_row(&mut frame, 0, y, std::iter::repeat_n(sample, 16));
        }
        frame
    }

    #[test]
    fn bars_are_what_all_frames_have() {
        let frames = [frame(8, 3..10, 90), frame(8, 2..10, 60), frame(8, 0..0, 0)];
        assert_eq!(of(frames.iter(), ColourRange::Limited), [2, 2, 0, 0]);
        assert_eq!(of([frame(10, 3..9, 400)].iter(), ColourRange::Limited), [3, 3, 0, 0]);
        assert_eq!(of([frame(8, 0..0, 0)].iter(), ColourRange::Limited), [0; 4]);
    }
}
