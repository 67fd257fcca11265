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
