//! Which chroma sample belongs to a pixel.
//!
//! Chroma is brought to the size of luma by repeating samples. Two readings need words:
//!
//! * 4:2:2. libvmaf mixes up the directions: it halves the row and not the column. Row `y` of the picture takes chroma
//!   row `y / 2` without horizontal scaling, runs over its end into the padding (zeros, up to a multiple of 32) and on
//!   into the next row. Its scores depend on this, so this does the same.
//! * 4:2:0 with an odd side. The planes are rounded down, and libvmaf reads one sample beyond them, which is undefined.
//!   Here the last sample is repeated.

use visus_video::{Chroma, Plane, Sample};

/// Rows of libvmaf's pictures are padded to a multiple of this many samples.
const PADDING: usize = 32;

/// Fills `out`, a row as wide as luma, with the chroma of row `y`.
pub fn chroma_row<T: Sample + Into<u16>>(plane: Plane<'_, T>, layout: Chroma, y: usize, out: &mut [u16]) {
    match layout {
        Chroma::C420 => repeat_each(plane, y / 2, out),
        Chroma::C422 => run_on(plane, y / 2, out),
        Chroma::C444 | Chroma::C400 => copy(plane.row(y), out),
    }
}

/// Widens samples.
pub fn copy<T: Sample + Into<u16>>(row: &[T], out: &mut [u16]) {
    for (out, sample) in out.iter_mut().zip(row) {
        *out = (*sample).into();
    }
}

fn repeat_each<T: Sample + Into<u16>>(plane: Plane<'_, T>, y: usize, out: &mut [u16]) {
    let (Some(last_row), Some(_)) = (plane.height().checked_sub(1), plane.width().checked_sub(1)) else {
        // A side of 1 leaves no chroma sample at all.
        return out.fill(0);
    };
    let row = plane.row(y.min(last_row));
    let (pairs, rest) = out.as_chunks_mut::<2>();
    for (pair, sample) in pairs.iter_mut().zip(row) {
        *pair = [(*sample).into(); 2];
    }
    if let ([single], Some(sample)) = (rest, row.last()) {
        *single = (*sample).into();
    }
}

/// Reads the plane as libvmaf's memory would be read from the start of row `y` on.
fn run_on<T: Sample + Into<u16>>(plane: Plane<'_, T>, y: usize, out: &mut [u16]) {
    out.fill(0);
    let padded = plane.width().next_multiple_of(PADDING);
    for (row, out) in (y..plane.height()).zip(out.chunks_mut(padded.max(1))) {
        copy(plane.row(row), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(data: &[u8], size: (usize, usize), layout: Chroma, y: usize, width: usize) -> Vec<u16> {
        let mut out = vec![99; width];
        chroma_row(Plane::new(data, size.0, size.1, size.0), layout, y, &mut out);
        out
    }

    #[test]
    fn samples_of_420_are_repeated_both_ways_and_at_odd_ends() {
        let data = [1, 2, 3, 4];
        assert_eq!(row(&data, (2, 2), Chroma::C420, 1, 4), [1, 1, 2, 2]);
        assert_eq!(row(&data, (2, 2), Chroma::C420, 2, 5), [3, 3, 4, 4, 4]);
        assert_eq!(row(&data, (2, 2), Chroma::C420, 4, 5), [3, 3, 4, 4, 4]);
        assert_eq!(row(&[], (0, 0), Chroma::C420, 0, 1), [0]);
    }

    #[test]
    fn rows_of_422_run_on_through_the_padding() {
        let data: Vec<u8> = (1..=80).collect();
        let expected: Vec<u16> = (21..=40).chain([0; 12]).chain(41..=48).collect();
        assert_eq!(row(&data, (20, 4), Chroma::C422, 3, 40), expected);
        let expected: Vec<u16> = (1..=32).chain(33..=64).collect();
        assert_eq!(row(&data, (32, 2), Chroma::C422, 1, 64), expected);
    }
}
