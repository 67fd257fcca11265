//! How much the errors in each block count.
//!
//! Errors hide in busy blocks: a block's weight is the inverse of its activity. In small pictures a weight is no larger
//! than the largest one among its neighbours to the left, to the right and above.

use super::layout::Layout;

/// The weight of a block from its activity per pixel, spatial and temporal together.
pub fn weight(activity: f64, layout: &Layout) -> f64 {
    1.0 / activity.max(layout.least_activity)
}

/// The weight of a block that is too small to have an activity.
pub const TINY_BLOCK: f64 = 1.0;

/// Limits weights by their neighbours', in place and in the order of the blocks: the neighbour to the left and the one
/// above are limited already, the one to the right is not.
pub fn smooth(weights: &mut [f64], columns: usize) {
    for next in 1..weights.len() {
        let limit = neighbours_of_previous(weights, columns, next);
        limit_to(&mut weights[next - 1], limit);
    }
    let last = weights.len().saturating_sub(1);
    if last > columns {
        let limit = weights[last - 1].max(weights[last - columns]);
        limit_to(&mut weights[last], limit);
    }
}

fn limit_to(weight: &mut f64, limit: f64) {
    if *weight > limit {
        *weight = limit;
    }
}

/// The largest weight around block `next - 1`. Where it ends a row, block `next` is no neighbour of it, but begins the
/// next row.
fn neighbours_of_previous(weights: &[f64], columns: usize, next: usize) -> f64 {
    let left = |is_there: bool| if is_there { weights[next - 2] } else { 0.0 };
    let beside = match next % columns {
        0 => left(next > 1),
        column => left(column > 1).max(weights[next]),
    };
    if next > columns { beside.max(weights[next - 1 - columns]) } else { beside }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_limited_by_their_neighbours() {
        // Each is at most the maximum of left, right and above; the last one of left and above.
        let mut weights = [9.0, 2.0, 3.0, 1.0, 8.0, 2.0, 4.0, 1.0, 7.0];
        smooth(&mut weights, 3);
        assert_eq!(weights, [2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0]);
    }

    #[test]
    fn a_row_of_blocks_has_nothing_above() {
        let mut weights = [5.0, 1.0, 3.0];
        smooth(&mut weights, 3);
        assert_eq!(weights, [1.0, 1.0, 3.0]);
        smooth(&mut [], 0);
    }
}
