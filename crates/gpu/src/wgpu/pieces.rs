//! The launches of a batch, cut into submissions. A launch that is too long for one is cut between rows of workgroups:
//! workgroups do not see each other, so a cut does not show.

use super::kernels::workgroups;
use crate::schedule::{Kernel, Launch};

/// Rows of workgroups of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The launch, by its place in the batch.
    pub launch: usize,
    pub first_row: u32,
    /// Workgroups along each axis.
    pub groups: [u32; 3],
    pub cost: f64,
}

/// What of a batch has not been submitted.
#[derive(Debug, Default)]
pub struct Pieces {
    launches: Vec<Launch>,
    pairs: usize,
    /// The next launch, and the next row of it.
    next: (usize, u32),
}

impl Pieces {
    pub fn new(launches: Vec<Launch>, pairs: usize) -> Self {
        Self { launches, pairs, next: (0, 0) }
    }

    pub fn launch(&self, piece: &Piece) -> &Launch {
        &self.launches[piece.launch]
    }

    pub fn is_begun(&self) -> bool {
        self.next != (0, 0)
    }

    pub fn is_empty(&self) -> bool {
        self.next.0 >= self.launches.len()
    }

    /// What comes next, of about this cost: at least a row of workgroups, and at most one piece of a launch. A kernel that
    /// is new goes alone, and no more than a row of it.
    pub fn take(&mut self, budget: f64, is_new: impl Fn(Kernel) -> bool) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut left = budget;
        while let Some(launch) = self.launches.get(self.next.0) {
            let [x, rows, z] = workgroups(launch, self.pairs);
            let row_cost = cost(launch.kernel) * f64::from(x * z);
            let (place, first_row) = self.next;
            let is_new = is_new(launch.kernel);
            let room = if is_new { 0 } else { (left / row_cost.max(1.0)) as u32 };
            if room == 0 && !pieces.is_empty() {
                break;
            }
            let taken = room.max(1).min(rows - first_row);
            pieces.push(Piece {
                launch: place,
                first_row,
                groups: [x, taken, z],
                cost: row_cost * f64::from(taken),
            });
            left -= row_cost * f64::from(taken);
            if first_row + taken < rows {
                self.next = (place, first_row + taken);
                break;
            }
            self.next = (place + 1, 0);
            if is_new {
                break;
            }
        }
        pieces
    }
}

/// Of a workgroup: about the nanoseconds that lavapipe took on two cores. Only their ratios matter.
fn cost(kernel: Kernel) -> f64 {
    match kernel {
        Kernel::StatisticU8 | Kernel::StatisticU16 => 100_000.0,
        Kernel::Statistic1 | Kernel::Statistic2 | Kernel::Statistic3 => 80_000.0,
        Kernel::MaskLong | Kernel::MaskLongAim | Kernel::Wavelet1 | Kernel::Wavelet2 => 30_000.0,
        _ => 25_000.0,
    }
}

#[cfg(test)]
mod tests {
    use visus_metrics::registry;
    use visus_video::{Chroma, Format};

    use super::*;
    use crate::layout::Layout;
    use crate::schedule::{Addresses, MotionPlaces, launches};
    use crate::work::Work;

    fn pieces(pairs: usize) -> Pieces {
        let format = Format::new(1920, 1080, Chroma::C420, 8).unwrap();
        let metrics = ["vif", "adm", "motion"]
            .map(|name| registry::build(registry::by_name(name).unwrap(), &[]).unwrap());
        let work = Work::new(&format.into(), metrics.iter().map(AsRef::as_ref));
        let layout = Layout::new(&work, pairs);
        let places = vec![MotionPlaces::default(); pairs];
        Pieces::new(launches(&work, &layout, Addresses { batch: 256, tables: 0 }, &places), pairs)
    }

    /// All submissions of a batch.
    fn all(mut pieces: Pieces, budget: f64, is_new: impl Fn(Kernel) -> bool) -> Vec<Vec<Piece>> {
        let mut submissions = Vec::new();
        while !pieces.is_empty() {
            submissions.push(pieces.take(budget, &is_new));
            assert!(pieces.is_begun() && !submissions.last().unwrap().is_empty());
        }
        submissions
    }

    #[test]
    fn every_row_of_every_launch_is_submitted_once_and_in_order() {
        for budget in [0.0, 1e6, 3.3e7, f64::MAX] {
            let submissions = all(pieces(2), budget, |_| false);
            let whole = pieces(2);
            let mut next = (0, 0);
            for piece in submissions.iter().flatten() {
                assert_eq!((piece.launch, piece.first_row), next, "budget {budget}");
                let [x, rows, z] = workgroups(whole.launch(piece), 2);
                assert_eq!([x, z], [piece.groups[0], piece.groups[2]]);
                let end = piece.first_row + piece.groups[1];
                assert!(end <= rows && piece.groups[1] > 0);
                next = if end == rows { (piece.launch + 1, 0) } else { (piece.launch, end) };
            }
            assert_eq!(next, (whole.launches.len(), 0));
        }
    }

    #[test]
    fn submissions_keep_to_their_budget() {
        let cost = |submission: &Vec<Piece>| submission.iter().map(|piece| piece.cost).sum::<f64>();
        let total: f64 = all(pieces(1), f64::MAX, |_| false).iter().map(cost).sum();
        let budget = total / 20.0;
        let submissions = all(pieces(1), budget, |_| false);
        assert!((20..30).contains(&submissions.len()), "{}", submissions.len());
        assert!(submissions.iter().all(|submission| cost(submission) <= budget));
        assert_eq!(all(pieces(8), f64::MAX, |_| false).len(), 1, "a quick device gets a batch at once");
    }

    #[test]
    fn a_new_kernel_goes_alone() {
        let new = Kernel::MotionU8;
        let submissions = all(pieces(1), f64::MAX, |kernel| kernel == new);
        let whole = pieces(1);
        let is_new = |piece: &Piece| whole.launch(piece).kernel == new;
        let with_new: Vec<_> = submissions.iter().filter(|pieces| pieces.iter().any(is_new)).collect();
        assert!(with_new.len() > 100, "a row each: {}", with_new.len());
        assert!(with_new.iter().all(|pieces| pieces.len() == 1 && pieces[0].groups[1] == 1));
    }
}
