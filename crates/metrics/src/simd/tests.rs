//! Loads and stores move exactly what they name, and refuse the rest.

use super::{Lines, level_tests};
use crate::Level;

#[test]
fn lines_start_at_a_cache_line_and_keep_their_length() {
    for len in [0, 1, 31, 32, 33, 1000] {
        let mut lines = Lines::<u16>::new(len);
        assert_eq!(lines.len(), len);
        assert_eq!(lines.as_ptr().align_offset(64), 0);
        lines.fill(7);
        assert!(lines.iter().all(|value| *value == 7));
    }
}

/// Copies 32 values through loads and stores.
#[cfg(target_arch = "x86_64")]
fn copy(level: Level, source: &[u16], from: usize, target: &mut [u16], to: usize) {
    use super::x86::*;
    #[target_feature(enable = "avx2")]
    fn avx2(source: &[u16], from: usize, target: &mut [u16], to: usize) {
        store256(target, to, load256(source, from));
        store128(target, to + 16, load128(source, from + 16));
        store128(target, to + 24, load128(source, from + 24));
    }
    #[target_feature(enable = "avx512f")]
    fn avx512(source: &[u16], from: usize, target: &mut [u16], to: usize) {
        store512(target, to, load512(source, from));
    }
    #[expect(unsafe_code, reason = "calls a kernel as its callers do")]
    match level {
        // SAFETY: the level was detected.
        Level::Avx2 => unsafe { avx2(source, from, target, to) },
        // SAFETY: the level was detected.
        Level::Avx512 => unsafe { avx512(source, from, target, to) },
        _ => target[to..to + 32].copy_from_slice(&source[from..from + 32]),
    }
}

#[cfg(target_arch = "aarch64")]
fn copy(level: Level, source: &[u16], from: usize, target: &mut [u16], to: usize) {
    use super::neon::{load, store};
    #[target_feature(enable = "neon")]
    fn neon(source: &[u16], from: usize, target: &mut [u16], to: usize) {
        for part in (0..32).step_by(8) {
            store(target, to + part, load(source, from + part));
        }
    }
    #[expect(unsafe_code, reason = "calls a kernel as its callers do")]
    match level {
        // SAFETY: the level was detected.
        Level::Neon => unsafe { neon(source, from, target, to) },
        _ => target[to..to + 32].copy_from_slice(&source[from..from + 32]),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
level_tests! {
    fn a_copy_moves_what_it_names(level) {
        let source: Vec<u16> = (100..200).collect();
        let mut target = vec![0; 50];
        copy(level, &source, 3, &mut target, 7);
        let moved = |at: usize| if (7..39).contains(&at) { 100 + 3 + at as u16 - 7 } else { 0 };
        let expected: Vec<u16> = (0..50).map(moved).collect();
        assert_eq!(target, expected);
    }

    fn a_load_beyond_the_end_is_refused(level) {
        let refused = std::panic::catch_unwind(|| copy(level, &[0; 40], 9, &mut [0; 32], 0)).is_err();
        assert!(refused);
    }

    fn a_store_beyond_the_end_is_refused(level) {
        let refused = std::panic::catch_unwind(|| copy(level, &[0; 40], 0, &mut [0; 32], 1)).is_err();
        assert!(refused);
    }
}

/// What `dot` and its relatives are to give for one lane.
#[cfg(target_arch = "x86_64")]
fn naive_dot(sum: i32, a: [i16; 2], b: [i16; 2]) -> i32 {
    let product = |i: usize| i32::from(a[i]) * i32::from(b[i]);
    sum.wrapping_add(product(0)).wrapping_add(product(1))
}

/// All ways to multiply and add up words, on the extremes and on noise.
#[cfg(target_arch = "x86_64")]
fn check_dots<S: super::Vector>(s: S) {
    use super::Splats;
    static TAPS: [Splats<2>; 2] = [Splats::new([0x7fff_8000, -5]), Splats::new([-1, 0x0001_7fff])];
    let taps = |table: usize, index: usize| {
        let pair = TAPS[table].number(index);
        [pair as i16, (pair >> 16) as i16]
    };
    let extremes = [i16::MIN, i16::MAX, 0, -1];
    let word = |i: usize| if i.is_multiple_of(3) { extremes[i / 3 % 4] } else { (i * 40_503) as i16 };
    let planes: [Vec<i16>; 4] =
        std::array::from_fn(|plane| (0..S::WORDS + 2).map(|i| word(i + 50 * plane)).collect());
    let sum_of = |lane: usize| (lane as i32).wrapping_mul(0x3779_b97f);
    let starts: Vec<i32> = (0..S::LANES).map(sum_of).collect();
    let pair = |plane: usize, at: usize, lane: usize| {
        [planes[plane][at + 2 * lane], planes[plane][at + 2 * lane + 1]]
    };
    let lanes = |vector: S::Int| {
        let mut lanes = vec![0i32; S::LANES];
        s.store(&mut lanes, 0, vector);
        lanes
    };
    let naive = |plane: usize, at: usize, tap: [i16; 2]| -> Vec<i32> {
        (0..S::LANES).map(|lane| naive_dot(starts[lane], pair(plane, at, lane), tap)).collect()
    };
    let start = s.load(&starts, 0);
    let words = s.load(&planes[0], 0);
    assert_eq!(lanes(s.dot(start, words, s.splat32(TAPS[0].number(0)))), naive(0, 0, taps(0, 0)));
    assert_eq!(lanes(s.dot_splat::<1, 2>(start, words, &TAPS[1])), naive(0, 0, taps(1, 1)));
    let mut sums = [[start; 2]; 4];
    s.dot_planes::<1, 2>(&mut sums, planes.each_ref().map(|plane| &plane[..]), [&TAPS[0], &TAPS[1]]);
    for plane in 0..4 {
        for parity in 0..2 {
            assert_eq!(
                lanes(sums[plane][parity]),
                naive(plane, 2, taps(parity, 1)),
                "plane {plane}, {parity}"
            );
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn dots_equal_the_naive_sums() {
    use super::{avx2, avx512};
    super::with_level(Level::Avx2, |level| check_dots(avx2::Avx2::new(level).unwrap()));
    super::with_level(Level::Avx512, |level| check_dots(avx512::Avx512::new(level).unwrap()));
    match avx2::AvxVnni::new(Level::Avx2) {
        Some(s) => check_dots(s),
        None => crate::testing::pass_over("avxvnni"),
    }
}
