//! Motion.

use bytemuck::Zeroable;

use super::{Chance, LOOKS, Picture, TOTALS, filtered, laid_out, launch, mirrored, places, shared};
use crate::arguments::Motion;
use crate::schedule::{Arguments, Kernel};

const TAPS: [i64; 5] = [3571, 16004, 26386, 16004, 3571];

/// The difference, filtered down and then along.
fn truth(earlier: &Picture, current: &Picture, depth: u32) -> u64 {
    let (width, height) = (current.width, current.height);
    let down = |x: isize, y: isize| filtered(&TAPS, depth, |k| earlier.at(x, y + k) - current.at(x, y + k));
    let along = |x: isize, y: isize| filtered(&TAPS, 16, |k| down(mirrored(x + k, width) as isize, y));
    places(width, height).map(|(x, y)| along(x, y).unsigned_abs()).sum()
}

#[test]
fn motion() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(1);
    let formats = [(64, 40, 8), (131, 33, 8), (65, 41, 10), (130, 33, 16)];
    for ((width, height, depth), look) in
        formats.into_iter().flat_map(|format| LOOKS.map(|look| (format, look)))
    {
        let [earlier, current] = Picture::pair(&mut chance, look, [width, height], (1 << depth) - 1);
        let (kernel, bytes) = if depth == 8 { (Kernel::MotionU8, 1) } else { (Kernel::MotionU16, 2) };
        let (memory, addresses) = laid_out(&[(&earlier, bytes), (&current, bytes)]);
        let mut arguments = Motion::zeroed();
        (arguments.earlier[0], arguments.current[0]) = (addresses[0], addresses[1]);
        (arguments.pitch, arguments.width, arguments.height) =
            (current.pitch as i32, width as i32, height as i32);
        (arguments.depth, arguments.sums) = (depth as i32, u64::from(TOTALS) + 8);
        let left = launch(shared, kernel, Arguments::Motion(arguments), &memory, &[0, 5, 0]);
        let truth = truth(&earlier, &current, depth);
        assert_eq!(left.totals, [0, 5 + truth, 0], "{width}x{height}, {depth} bits, {look:?}");
    }
}
