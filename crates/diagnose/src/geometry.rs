//! Whether the whole picture is moved or scaled: nine tiles are looked for near their places.
//!
//! That takes some milliseconds, so it is done only where the picture has as much fine detail as the reference, but not in
//! the same places, and there for every fourth frame.

use serde::{Deserialize, Serialize};
use visus_video::{Frame, PlaneView};

/// How far tiles are looked for, in samples.
const FAR: i32 = 10;
/// Tiles beside the middle one lie at most this far from it, so that a zoom of 5 % moves them less than [`FAR`].
const SPREAD: usize = 180;
/// Samples along each side of a tile.
const POINTS: usize = 24;

/// How the picture lies against the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Somebody looked.
    pub checked: bool,
    /// Tiles that were found elsewhere, and much better there.
    pub moved_tiles: u8,
    /// Tiles with enough detail to be found.
    pub tiles: u8,
    /// By how many samples the picture lies further right and down.
    pub shift: [f32; 2],
    /// Size over that of the reference.
    pub scale: f32,
    /// How far tiles lie from where shift and scale put them, in samples.
    pub apart: f32,
}

/// A tile's place relative to the picture's middle, and where it was found.
struct Found {
    place: [f32; 2],
    moved: [f32; 2],
    better: bool,
    /// Distance at every place that was tried.
    distances: Vec<i64>,
}

pub(crate) fn placement(reference: &Frame, distorted: &Frame) -> Placement {
    let (PlaneView::U8(_) | PlaneView::U16(_), (width, height)) =
        (reference.plane(0), (reference.format().width(), reference.format().height()));
    let step = (width / 640).max(1);
    let half = POINTS * step / 2;
    let reach = FAR as usize + half + 1;
    let spread = [width, height].map(|side| (side / 4).min(SPREAD).min((side / 2).saturating_sub(reach)));
    if spread.iter().any(|spread| *spread < 8) {
        return Placement { checked: true, scale: 1.0, ..Placement::default() };
    }
    let samples = [Samples::of(reference), Samples::of(distorted)];
    let mut found = Vec::new();
    for row in -1i32..=1 {
        for column in -1i32..=1 {
            let place = [column * spread[0] as i32, row * spread[1] as i32];
            let middle = [width as i32 / 2 + place[0], height as i32 / 2 + place[1]];
            found.extend(
                search(&samples, middle, step as i32, half as i32)
                    .map(|found| Found { place: place.map(|at| at as f32), ..found }),
            );
        }
    }
    together(&found).unwrap_or_else(|| fit(&found))
}

struct Samples<'a>(PlaneView<'a>);

impl<'a> Samples<'a> {
    fn of(frame: &'a Frame) -> Self {
        Self(frame.plane(0))
    }

    fn at(&self, x: i32, y: i32) -> i32 {
        let (x, y) = (x as usize, y as usize);
        match self.0 {
            PlaneView::U8(plane) => i32::from(plane.row(y)[x]),
            PlaneView::U16(plane) => i32::from(plane.row(y)[x]),
        }
    }
}

/// Where a tile of the reference lies in the distorted picture, and whether it fits there much better than at its own place.
/// `None` for a tile without detail.
fn search(samples: &[Samples<'_>; 2], middle: [i32; 2], step: i32, half: i32) -> Option<Found> {
    let points = || (0..POINTS as i32).map(|at| at * step - half);
    let tile: Vec<i32> = points()
        .flat_map(|y| points().map(move |x| (x, y)))
        .map(|(x, y)| samples[0].at(middle[0] + x, middle[1] + y))
        .collect();
    let mean = tile.iter().sum::<i32>() / tile.len() as i32;
    let busy = tile.iter().map(|sample| (sample - mean).abs()).sum::<i32>();
    let apart = |dx: i32, dy: i32| -> i64 {
        let mut sum = 0i64;
        for (y, row) in points().zip(tile.chunks(POINTS)) {
            for (x, sample) in points().zip(row) {
                sum += i64::from((samples[1].at(middle[0] + x + dx, middle[1] + y + dy) - sample).abs());
            }
        }
        sum
    };
    if i64::from(busy) <= 2 * (POINTS * POINTS) as i64 {
        return None;
    }
    let distances: Vec<i64> = tried().map(|[dx, dy]| apart(dx, dy)).collect();
    let here = distances[distances.len() / 2];
    let (moved, best) = nearest(&distances);
    Some(Found { place: [0.0; 2], moved, better: best * 10 < here * 6, distances })
}

/// The places that are tried; the tile's own is in the middle.
fn tried() -> impl Iterator<Item = [i32; 2]> {
    (-FAR..=FAR).flat_map(|dy| (-FAR..=FAR).map(move |dx| [dx, dy]))
}

/// The place with the least distance, its own where others are no better.
fn nearest(distances: &[i64]) -> ([f32; 2], i64) {
    let own = ([0, 0], distances[distances.len() / 2]);
    let best = tried()
        .zip(distances)
        .fold(own, |best, (place, distance)| if *distance < best.1 { (place, *distance) } else { best });
    (best.0.map(|at| at as f32), best.1)
}

/// One shift for all tiles, if that explains them: edges alone say little about their own direction, but together they do.
fn together(found: &[Found]) -> Option<Placement> {
    let mut sums = vec![0i64; tried().count()];
    for tile in found {
        sums.iter_mut().zip(&tile.distances).for_each(|(sum, distance)| *sum += distance);
    }
    let (shift, best) = nearest(&sums);
    let moved = shift != [0.0; 2] && best * 2 < sums[sums.len() / 2];
    let tiles = found.len() as u8;
    moved.then_some(Placement { checked: true, moved_tiles: tiles, tiles, shift, scale: 1.0, apart: 0.0 })
}

/// Shift and scale that explain most tiles.
fn fit(found: &[Found]) -> Placement {
    let moved: Vec<&Found> = found.iter().filter(|tile| tile.better || tile.moved == [0.0, 0.0]).collect();
    let count = moved.len().max(1) as f32;
    let mean = |axis: usize| moved.iter().map(|tile| tile.moved[axis]).sum::<f32>() / count;
    let mut shift = [mean(0), mean(1)];
    let middle = |axis: usize| moved.iter().map(|tile| tile.place[axis]).sum::<f32>() / count;
    let middles = [middle(0), middle(1)];
    let (mut with, mut without) = (0.0, 0.0);
    for tile in &moved {
        for axis in 0..2 {
            let place = tile.place[axis] - middles[axis];
            with += place * (tile.moved[axis] - shift[axis]);
            without += place * place;
        }
    }
    let slope = if without > 0.0 { with / without } else { 0.0 };
    for axis in 0..2 {
        shift[axis] -= slope * middles[axis];
    }
    let apart = |tile: &&Found| {
        let expected = |axis: usize| shift[axis] + slope * tile.place[axis];
        ((tile.moved[0] - expected(0)).powi(2) + (tile.moved[1] - expected(1)).powi(2)).sqrt()
    };
    Placement {
        checked: true,
        moved_tiles: found.iter().filter(|tile| tile.better).count() as u8,
        tiles: found.len() as u8,
        shift,
        scale: 1.0 + slope,
        apart: moved.iter().map(apart).sum::<f32>() / count,
    }
}
