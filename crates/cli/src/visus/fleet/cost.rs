//! What a task costs, where long pairs are cut, and which shard gets which task.

use anyhow::Result;
use visus_engine::{Cancel, Silent};
use visus_scoring::{RunOptions, Selection, Shape, run_sources};
use visus_video::synthetic::Clip;
use visus_video::{Chroma, Format};

use crate::visus::demo::made;

/// Processor time for decoding both videos, in nanoseconds per pixel of one: H.264 at 1080p with ffmpeg, two decoders.
const DECODING: f64 = 7.0;

/// Ranges cost at least this many times their fixed cost, unless the user chooses their length.
const TIMES_FIXED_COST: f64 = 5.0;

/// What a pair costs whatever its length, in seconds: opening it, preparing the metrics, writing the result.
const EACH: f64 = 0.0015;

/// What an encoded pair costs on top of that: looking at both videos and starting two decoders.
const EACH_ENCODED: f64 = 0.1;

/// A pair of which nothing is known, in seconds.
const UNKNOWN: f64 = 60.0;

/// The clip that speed is measured with: large enough for full rows of vectors, small enough to take a tenth of a second.
const MEASURED: (usize, usize, u64) = (640, 360, 12);

/// Nanoseconds of one processor for a pixel of a frame pair, with what is asked for: a made clip is scored with one thread.
pub fn measure(selection: &Selection) -> Result<f64> {
    let (width, height, frames) = MEASURED;
    let format = Format::new(width, height, Chroma::C420, 8)?;
    let resolved = selection.resolve(&Clip::scene(format, frames, 1))?;
    let options = RunOptions { threads: Some(1), ..RunOptions::from_environment()? };
    let mut best = f64::INFINITY;
    for _ in 0..2 {
        let [reference, distorted] = [1, 2].map(|seed| made(Clip::scene(format, frames, seed)));
        let outcome =
            run_sources(&resolved.plan, reference?, distorted?, &options, &Cancel::new(), &mut Silent)?;
        best = best.min(outcome.elapsed.as_secs_f64());
    }
    Ok(best * 1e9 / (width * height) as f64 / frames as f64)
}

/// A range of frames; without an end, all that follow.
pub type Range = (u64, Option<u64>);

/// A pair of videos, as far as its cost is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Film {
    /// Of a frame.
    pixels: f64,
    frames: Option<u64>,
    decoded: Decoded,
}

/// What is decoded for a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decoded {
    Nothing,
    FromBeginning,
    FromKeyFrame,
}

/// Frames from one key frame to the next, as most encoders make them.
const KEY_FRAME_EVERY: u64 = 250;

impl Film {
    /// With so many pairs, if they have been found.
    pub fn of(shape: Option<Shape>, found: Option<u64>) -> Option<Self> {
        let Shape { width, height, frames, is_encoded } = shape?;
        let decoded = match (is_encoded, found) {
            (false, _) => Decoded::Nothing,
            (true, None) => Decoded::FromBeginning,
            (true, Some(_)) => Decoded::FromKeyFrame,
        };
        Some(Self { pixels: (width * height) as f64, frames: found.or(frames), decoded })
    }

    pub fn with_frames(self, frames: u64) -> Self {
        Self { frames: Some(frames), ..self }
    }

    pub fn frames(self) -> Option<u64> {
        self.frames
    }

    /// Seconds that a range costs whatever its length.
    fn fixed_cost(self) -> f64 {
        if self.decoded == Decoded::Nothing { EACH } else { EACH + EACH_ENCODED }
    }

    /// Seconds for decoding both videos once.
    pub fn decoding(self) -> f64 {
        self.pixels * self.frames.unwrap_or(0) as f64 * DECODING * 1e-9
    }
}

/// Seconds of one processor for a range, or for all of a pair.
pub fn seconds(film: Option<Film>, range: Option<Range>, per_pixel: f64) -> f64 {
    let (from, to) = range.unwrap_or((0, None));
    let known = film.and_then(|film| Some((film, to.or(film.frames)?)));
    let Some((film, end)) = known else { return UNKNOWN };
    let frames = end.saturating_sub(from) as f64;
    let decode = |frames: f64| EACH_ENCODED + film.pixels * frames * DECODING * 1e-9;
    let decoding = match film.decoded {
        Decoded::Nothing => 0.0,
        Decoded::FromBeginning => decode(end as f64),
        // Half the way from one key frame to the next is decoded in vain.
        Decoded::FromKeyFrame => decode(frames + from.min(KEY_FRAME_EVERY / 2) as f64),
    };
    EACH + film.pixels * frames * per_pixel * 1e-9 + decoding
}

/// About how many seconds of one core a range of a long pair costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    pub seconds: f64,
    /// The user chose it, so it is used as it is.
    is_given: bool,
}

/// The length of ranges in the plan that is made again, and how many shards it has.
#[derive(Clone, Copy, Debug)]
pub struct Earlier {
    pub seconds: f64,
    pub shards: usize,
}

impl Piece {
    pub const USUAL: Self = Self { seconds: 60.0, is_given: false };

    pub fn given(seconds: f64) -> Self {
        Self { seconds, is_given: true }
    }

    /// So that each of so many shards has work, where the whole list takes `total` seconds.
    pub fn for_shards(total: f64, shards: usize) -> Self {
        Self { seconds: Self::USUAL.seconds.min(total / shards as f64), is_given: false }
    }

    /// For a list of `pairs` pairs that takes `total` seconds. With fewer pairs than shards, only parts of them give each shard
    /// work. An earlier plan's ranges are kept, since their results can be used again, unless there are too few of them for the
    /// shards.
    pub fn choose(shards: Option<usize>, pairs: usize, total: f64, earlier: Option<Earlier>) -> Self {
        let wanted = shards.filter(|shards| pairs < *shards);
        let new = wanted.map_or(Self::USUAL, |shards| Self::for_shards(total, shards));
        let kept = earlier.map(|earlier| Self { seconds: earlier.seconds, is_given: false });
        match (kept, wanted) {
            (Some(kept), Some(shards)) if earlier.is_some_and(|earlier| earlier.shards < shards) => {
                if new.seconds < kept.seconds { new } else { kept }
            }
            (Some(kept), _) => kept,
            (None, _) => new,
        }
    }
}

/// Where a pair is cut so that no piece costs much more than `piece` says: ranges of frames, the last without an end. A
/// pair that is not cut has no range. Where the user does not say how, pieces are not so short that most of their cost is that of
/// starting, and video that is decoded from its beginning is cut into no more of them than double its cost.
pub fn cut(film: Option<Film>, per_pixel: f64, piece: Piece) -> Vec<Option<Range>> {
    let frames = film.and_then(|film| film.frames).unwrap_or(0);
    let whole = seconds(film, None, per_pixel);
    let most = match film {
        Some(film) if !piece.is_given => piece.seconds.max(TIMES_FIXED_COST * film.fixed_cost()),
        _ => piece.seconds,
    };
    // A quotient that should be a whole number may be a little above it.
    let mut pieces = (whole / most - 1e-6).ceil().max(1.0) as u64;
    if let Some(film) = film.filter(|film| !piece.is_given && film.decoded == Decoded::FromBeginning) {
        // Pieces decode half of the film on average: n of them cost (n - 1) / 2 times its decoding more.
        pieces = pieces.min(1 + (2.0 * whole / film.decoding().max(f64::MIN_POSITIVE)) as u64);
    }
    let pieces = if frames == 0 { 1 } else { pieces.min(frames) };
    if pieces == 1 {
        return vec![None];
    }
    let start = |piece: u64| (u128::from(frames) * u128::from(piece) / u128::from(pieces)) as u64;
    let range = |piece: u64| (start(piece), (piece + 1 < pieces).then(|| start(piece + 1)));
    (0..pieces).map(|piece| Some(range(piece))).collect()
}

/// How large shards are, relative to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// For as many workers as shards.
    Even,
    /// For many times fewer workers than shards, which take them in order: large ones first, so that few are started, and
    /// small ones last, so that nobody waits long for a slow machine at the end.
    Falling,
}

/// The largest falling shard, as a multiple of the mean; the smallest is what this leaves of two.
const LARGEST: f64 = 1.9;

impl Sizes {
    fn weight(self, shard: usize, shards: usize) -> f64 {
        match self {
            Self::Falling if shards > 1 => {
                LARGEST - 2.0 * (LARGEST - 1.0) * shard as f64 / (shards - 1) as f64
            }
            _ => 1.0,
        }
    }
}

/// The shard of each task: the dearest first, each to the shard that has least of what it should have. No even shard ends with
/// more than the mean and one task above it.
pub fn balance(costs: &[f64], shards: usize, sizes: Sizes) -> Vec<usize> {
    use std::cmp::Reverse;
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|a, b| costs[*b].total_cmp(&costs[*a]));
    // Whole numbers, so that a heap can order them: nanoseconds for a shard of mean size.
    let share = |cost: f64, shard: usize| (cost * 1e9 / sizes.weight(shard, shards)).max(1.0) as u64;
    let mut heap: std::collections::BinaryHeap<_> = (0..shards).map(|shard| Reverse((0u64, shard))).collect();
    let mut assigned = vec![0; costs.len()];
    for task in order {
        let Some(Reverse((load, shard))) = heap.pop() else { break };
        assigned[task] = shard;
        heap.push(Reverse((load.saturating_add(share(costs[task], shard)), shard)));
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(frames: u64, is_encoded: bool) -> Option<Shape> {
        Some(Shape { width: 1920, height: 1080, frames: Some(frames), is_encoded })
    }

    fn film(frames: u64) -> Option<Film> {
        Film::of(shape(frames, false), None)
    }

    #[test]
    fn pieces_cover_a_film_without_gap_or_overlap() {
        for (frames, most) in [(172_800, 30.0), (100, 0.001), (7, 0.05), (24, 1e9)] {
            let pieces = cut(film(frames), 4.0, Piece::given(most));
            let mut next = 0;
            for piece in pieces.iter().flatten() {
                assert_eq!(piece.0, next);
                next = piece.1.unwrap_or(frames);
            }
            assert!(pieces == [None] || next == frames, "{frames} frames: {pieces:?}");
            assert!(pieces.last().is_some_and(|last| last.is_none_or(|(_, end)| end.is_none())));
        }
        assert_eq!(cut(None, 4.0, Piece::given(1.0)), [None], "what is not known is not cut");
    }

    /// A range of encoded video costs the decoding of all before it.
    #[test]
    fn encoded_films_are_cut_less() {
        let film = Film::of(shape(172_800, true), None);
        let cost = |most| cut(film, 4.0, most).iter().map(|range| seconds(film, *range, 4.0)).sum::<f64>();
        let whole = seconds(film, None, 4.0);
        for piece in [Piece::USUAL, Piece::for_shards(whole, 400)] {
            let pieces = cut(film, 4.0, piece).len();
            assert!(
                (2..6).contains(&pieces) && cost(piece) < 2.1 * whole,
                "{pieces} pieces, {} of {whole}",
                cost(piece)
            );
        }
        assert!(cost(Piece::given(60.0)) > 10.0 * whole, "as the user wishes");
    }

    /// Where pairs are known, it costs the way from a key frame.
    #[test]
    fn films_whose_pairs_are_found_are_cut_as_raw_ones() {
        let film = Film::of(shape(172_900, true), Some(172_800));
        let pieces = cut(film, 4.0, Piece::USUAL);
        let whole = seconds(film, None, 4.0);
        let cost: f64 = pieces.iter().map(|range| seconds(film, *range, 4.0)).sum();
        assert!(pieces.len() > 50 && cost < 1.1 * whole, "{} pieces, {cost} of {whole}", pieces.len());
        assert!(pieces.iter().flatten().all(|(from, _)| *from < 172_800));
    }

    /// Each shard has a part, unless parts would be too short to be worth their start.
    #[test]
    fn a_film_is_cut_for_all_shards() {
        let found = Film::of(shape(172_900, true), Some(172_800));
        for (film, shards) in [(film(172_800), 40), (film(1_000), 7), (found, 40), (film(172_800), 3)] {
            let whole = seconds(film, None, 4.0);
            let pieces = cut(film, 4.0, Piece::for_shards(whole, shards)).len();
            let usual = cut(film, 4.0, Piece::USUAL).len();
            assert_eq!(pieces, shards.max(usual));
        }
        let short = Film::of(shape(12, true), Some(12));
        assert_eq!(cut(short, 4.0, Piece::for_shards(seconds(short, None, 4.0), 1_000)), [None]);
    }

    /// A plan that is made again keeps its ranges, but not if there are too few of them.
    #[test]
    fn ranges_of_an_earlier_plan_are_kept() {
        let seconds = |shards, earlier| Piece::choose(shards, 2, 400.0, earlier).seconds;
        assert_eq!(seconds(Some(40), None), 10.0);
        assert_eq!(seconds(None, None), 60.0);
        assert_eq!(seconds(Some(2), None), 60.0, "each pair is work for a shard");
        let earlier = |seconds, shards| Some(Earlier { seconds, shards });
        assert_eq!(seconds(Some(40), earlier(8.0, 40)), 8.0, "the list was longer before");
        assert_eq!(seconds(Some(40), earlier(12.0, 40)), 12.0, "the list was shorter before");
        assert_eq!(seconds(Some(80), earlier(10.0, 40)), 5.0, "more shards");
        assert_eq!(seconds(Some(40), earlier(60.0, 7)), 10.0, "no shards were asked for before");
        assert_eq!(seconds(Some(80), earlier(4.0, 60)), 4.0, "they are short enough");
        assert_eq!(seconds(None, earlier(10.0, 40)), 10.0);
    }

    #[test]
    fn shards_are_even() {
        let costs: Vec<f64> = (0..1000).map(|task| 1.0 + f64::from(task % 17)).collect();
        let shards = balance(&costs, 8, Sizes::Even);
        let load =
            |shard| (0..1000).filter(|task| shards[*task] == shard).map(|task| costs[task]).sum::<f64>();
        let loads: Vec<f64> = (0..8).map(load).collect();
        let (least, most) =
            (loads.iter().copied().fold(f64::MAX, f64::min), loads.iter().copied().fold(0.0, f64::max));
        assert!(most - least <= 18.0, "{loads:?}");
    }

    #[test]
    fn falling_shards_end_small() {
        let costs = vec![1.0; 10_000];
        let shards = balance(&costs, 20, Sizes::Falling);
        let load = |shard| shards.iter().filter(|of| **of == shard).count();
        let loads: Vec<usize> = (0..20).map(load).collect();
        assert!(loads.is_sorted_by(|one, next| one >= next), "{loads:?}");
        assert!(loads[0] > 900 && loads[19] < 100 && loads[19] > 0, "{loads:?}");
        assert_eq!(balance(&costs[..1], 1, Sizes::Falling), [0]);
    }
}
