//! What is known of every pair, as it is found.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::sync::evidence::FLOOR;
use crate::sync::findings::{Findings, Sync};
use crate::sync::found::Print;
use crate::sync::look::Look;
use crate::sync::plan::Start;
use crate::sync::runs::Alternative;

/// How two pictures lie over each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Laid {
    #[default]
    Whole,
    /// Only what no black bar hides was looked at.
    WithoutBars,
    /// One picture is fitted between its bars: the same film, at another place.
    Fitted,
}

/// How surely a pair belongs together, beside its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// Nothing was compared.
    #[default]
    None,
    Sure,
    /// Neighbours would fit as well.
    Unclear,
    /// A neighbour would fit better.
    Contradicted,
    /// The distorted video stands still while the reference moves.
    Frozen,
    /// The pictures are not alike.
    Unlike,
}

impl Check {
    /// How far around a pair it is looked.
    const AROUND: usize = 25;
    /// Frames of the reference that differ by less than this (square levels) are one picture.
    const SAME: f32 = 0.02;

    /// Compares the pair at the front with pairs of one of its frames and a later one of the other side.
    pub(crate) fn of_front(look: &dyn Look) -> Self {
        let (reference, distorted) = look.lengths();
        let own = look.distance(0, 0).max(FLOOR);
        let later = |count: usize| 1..count.min(Self::AROUND + 1);
        let rows = later(reference).filter(|at| look.within(0, 0, *at) >= Self::SAME);
        // While the reference stands still, later frames of the other show the same, better or worse coded.
        let columns = later(distorted.min(reference)).filter(|at| look.within(0, 0, *at) >= Self::SAME);
        let rows = rows.map(|at| look.distance(at, 0));
        let other = columns.map(|at| look.distance(0, at)).chain(rows).fold(f32::MAX, f32::min).max(FLOOR);
        match (own * 2.0 <= other, other * 2.0 < own) {
            (true, _) => Self::Sure,
            (_, true) => Self::Contradicted,
            _ => Self::Unclear,
        }
    }
}

/// What is known of one pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// Numbers of its frames in both files.
    pub reference: u64,
    pub distorted: u64,
    /// How much the reference changes from the pair before, on the scale of 8 bits.
    pub change: f32,
    /// How far the two are apart where they are farthest.
    pub farthest: f32,
    pub check: Check,
    /// Another pairing explains the frame nearly as well.
    pub doubt: Option<Alternative>,
    /// The pair's score, and what it would be by that other pairing.
    pub rescored: Option<[f64; 2]>,
}

/// What is known once the streams have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tail {
    /// The side that goes on after the other has ended: 0 the reference, 1 the distorted video.
    pub longer: Option<u8>,
    /// Frames of both files, of those that were read to their end.
    pub counted: [Option<u64>; 2],
    /// Frames after the last pair that only repeat it.
    pub copies: [u64; 2],
}

/// Pair by pair, everything that is known. A report is made of that part of it that was scored: what was read ahead does not
/// show.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Log {
    pub sync: Sync,
    pub start: Option<Start>,
    pub searched_far: bool,
    /// The pair before the first, in a part of a clip.
    pub before: Option<Noted>,
    pub pairs: Vec<Noted>,
    pub tail: Option<Tail>,
    /// Frames of the distorted video that show two frames of the reference at once.
    pub blended: Vec<u64>,
    pub brightness: Option<(f32, f32)>,
    pub bars: [[usize; 4]; 2],
    pub laid: Laid,
    /// Of the frames of every pair, where they are kept.
    #[serde(skip)]
    pub prints: Vec<[Print; 2]>,
}

impl Log {
    /// What is known about these pairs only, and about the one before them.
    pub fn part(&self, scored: Range<u64>, ended: bool) -> Self {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(self.pairs.len());
        let (from, to) = (place(scored.start), place(scored.end));
        Self {
            before: from.checked_sub(1).map(|before| self.pairs[before]).or(self.before),
            pairs: self.pairs[from..to].to_vec(),
            tail: self.tail.filter(|_| ended && to == self.pairs.len()),
            prints: Vec::new(),
            blended: self.blended.clone(),
            ..*self
        }
    }

    /// What was found about these pairs, and if `ended`, about what follows the last of them.
    pub fn findings(&self, scored: Range<u64>, ended: bool) -> Findings {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(self.pairs.len());
        let scored = place(scored.start)..place(scored.end);
        let mut all = Findings {
            sync: self.sync,
            start: self.start,
            searched_far: self.searched_far,
            brightness: self.brightness,
            bars: self.bars,
            laid: self.laid,
            ..Findings::default()
        };
        for at in scored.clone() {
            all.add(
                &self.pairs[at],
                at.checked_sub(1).map(|before| &self.pairs[before]).or(self.before.as_ref()),
            );
        }
        all.add_blends(&self.blended);
        if let Some(tail) = self.tail.filter(|_| ended && scored.end == self.pairs.len()) {
            all.end(&tail, self.pairs.last());
        }
        all
    }
}
