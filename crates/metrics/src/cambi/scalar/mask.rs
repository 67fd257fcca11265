//! The spatial mask: which pixels lie in a flat surrounding.
//!
//! A pixel is flat if it equals its right and its lower neighbour. It is kept by the mask if more than a given number
//! of the 7x7 pixels around it are flat. The square sum is kept as sums of columns, to which one row is added and from
//! which one is taken; 49 fits a byte, so that everything here works on bytes.

use super::spans::{SPAN, part, part_mut, spans};
use crate::simd::Target;
#[cfg(target_arch = "x86_64")]
use {
    super::super::avx512::{WORD, exchange_flags},
    crate::simd::avx512::Avx512,
};

/// Side of the square.
const SIDE: usize = 7;
const REACH: usize = SIDE / 2;

/// Sums of flat pixels for a sliding band of rows.
#[derive(Clone, Debug)]
pub struct FlatSums {
    #[cfg(target_arch = "x86_64")]
    avx512: Option<Avx512>,
    /// The last rows of flags in a ring, a bit for each, in place of `rows`.
    #[cfg(target_arch = "x86_64")]
    bits: Vec<u64>,
    width: usize,
    /// The last rows of flags, in a ring.
    rows: Vec<u8>,
    next: usize,
    /// Column sums, with zeros left and right.
    sums: Vec<u8>,
}

impl FlatSums {
    /// For rows of `width` pixels.
    pub fn new(width: usize, target: Target) -> Self {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = target;
        Self {
            #[cfg(target_arch = "x86_64")]
            avx512: target.avx512(),
            #[cfg(target_arch = "x86_64")]
            bits: vec![0; SIDE * width.div_ceil(WORD)],
            width,
            rows: vec![0; SIDE * width],
            next: 0,
            sums: vec![0; width + 2 * REACH],
        }
    }

    /// Begins a picture.
    #[inline(always)]
    pub fn start(&mut self) {
        self.next = 0;
        self.rows.fill(0);
        #[cfg(target_arch = "x86_64")]
        self.bits.fill(0);
        self.sums.fill(0);
    }

    /// Adds the flags of the next row, 1 where a pixel equals its right and its lower neighbour, and takes those of the
    /// oldest away. For the last row, `below` is the row itself.
    #[inline(always)]
    pub fn push(&mut self, row: &[u16], below: &[u16]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = self.avx512 {
            let (flags, sums) = self.slot_of_bits();
            return exchange_flags(avx512, row, below, flags, sums);
        }
        let (flags, sums) = self.slot();
        let last = row.len() - 1;
        if let Some(spans) = spans(last) {
            for x in spans {
                exchange::<SPAN>(row, below, x, flags, sums);
            }
        } else {
            for x in 0..last {
                exchange::<1>(row, below, x, flags, sums);
            }
        }
        // The last one has no right neighbour to differ from.
        let flat = u8::from(row[last] == below[last]);
        sums[last] = sums[last] + flat - flags[last];
        flags[last] = flat;
    }

    /// Goes on by one row below the picture, where nothing is flat.
    #[inline(always)]
    pub fn push_blank(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if self.avx512.is_some() {
            let (flags, sums) = self.slot_of_bits();
            for (x, sum) in sums.iter_mut().enumerate() {
                *sum -= (flags[x / WORD] >> (x % WORD) & 1) as u8;
            }
            return flags.fill(0);
        }
        let (flags, sums) = self.slot();
        for (sum, flag) in sums.iter_mut().zip(flags.iter_mut()) {
            *sum -= *flag;
            *flag = 0;
        }
    }

    /// Which pixels are kept in the row that the pushed rows lie around: the one pushed three rows ago.
    #[inline(always)]
    pub fn mask_row(&self, threshold: u8, out: &mut [u8]) {
        for (out, square) in out.iter_mut().zip(self.sums.windows(SIDE)) {
            let [a, b, c, d, e, f, g] = *square else { continue };
            *out = u8::from(a + b + c + d + e + f + g > threshold);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn slot_of_bits(&mut self) -> (&mut [u64], &mut [u8]) {
        let (at, words) = (self.next, self.width.div_ceil(WORD));
        self.next = (at + 1) % SIDE;
        (&mut self.bits[at * words..][..words], &mut self.sums[REACH..][..self.width])
    }

    /// The oldest row's flags and the inner part of the sums.
    #[inline(always)]
    fn slot(&mut self) -> (&mut [u8], &mut [u8]) {
        let at = self.next;
        self.next = (at + 1) % SIDE;
        let flags = &mut self.rows[at * self.width..][..self.width];
        (flags, &mut self.sums[REACH..][..self.width])
    }
}

/// Puts the flags of pixels from `x` on in the place of old ones, in the sums as well; a second time it changes nothing.
#[inline(always)]
fn exchange<const N: usize>(row: &[u16], below: &[u16], x: usize, flags: &mut [u8], sums: &mut [u8]) {
    let (row, right, below) = (part::<u16, N>(row, x), part::<u16, N>(row, x + 1), part::<u16, N>(below, x));
    let (flags, sums) = (part_mut::<u8, N>(flags, x), part_mut::<u8, N>(sums, x));
    for lane in 0..N {
        let flat = u8::from(row[lane] == right[lane]) & u8::from(row[lane] == below[lane]);
        sums[lane] = sums[lane] + flat - flags[lane];
        flags[lane] = flat;
    }
}

/// How many rows must be pushed after a row before its mask is known.
pub const MASK_DELAY: usize = REACH;

/// The number of flat pixels that the mask must exceed. It grows with the size of the picture.
pub fn mask_threshold(width: usize, height: usize) -> u8 {
    let blocks = (width >> 6) * (height >> 6);
    let log = if blocks == 0 { 0 } else { blocks.next_power_of_two().trailing_zeros() };
    ((SIDE * SIDE + 3 * log as usize - 3 * 11 - 1) >> 1) as u8
}
