//! ADM's totals.

use super::{Chance, TOTALS, launch, shared};
use crate::arguments::Total;
use crate::schedule::{Arguments, Kernel};

/// Rows are rounded one by one; sums may be negative, energies fill all bits.
#[test]
fn totals_of_rows() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(6);
    let capacity = 100;
    let rows: Vec<u64> =
        (0..4 * 9 * capacity).map(|_| chance.bits(62).wrapping_neg() << (chance.next() % 2)).collect();
    let mut totals = rows.clone();
    totals.extend([0; 36]);
    let arguments = Total {
        rows: u64::from(TOTALS),
        rows_frame: 0,
        sums: u64::from(TOTALS) + 8 * rows.len() as u64,
        stride: 36,
        row_capacity: capacity as i32,
        start: [0, 900, 1800, 2700],
        first_row: [3, 0, 7, 9],
        last_row: [97, 100, 70, 10],
        masked_shift: [5, 0, 9, 1],
        energy_shift: [0, 4, 30, 2],
    };
    let left = launch(shared, Kernel::Total, Arguments::Total(arguments), &[0], &totals);
    for (scale, kind) in (0..4).flat_map(|scale| (0..9).map(move |kind| (scale, kind))) {
        let first = 900 * scale + capacity * kind;
        let shift = if kind < 6 { arguments.masked_shift[scale] } else { arguments.energy_shift[scale] };
        let range = arguments.first_row[scale] as usize..arguments.last_row[scale] as usize;
        let rounded = |row: &u64| {
            let row = row.wrapping_add((1 << shift) >> 1);
            if kind < 6 { (row as i64 >> shift) as u64 } else { row >> shift }
        };
        let truth = rows[first..][range].iter().map(rounded).fold(0u64, u64::wrapping_add);
        assert_eq!(left.totals[rows.len() + 9 * scale + kind], truth, "scale {scale}, sum {kind}");
    }
    assert_eq!(left.totals[..rows.len()], rows);
}
