//! Colours that were seen before.
//!
//! Pictures repeat their colours, and to find one is several times as fast as to compute it. What is found is what was
//! computed, so nothing but time depends on the table.

use std::arch::x86_64::*;

use super::super::labs::{GROUP, LabsMut, Pixels};
use super::lanes::vector_functions;
use crate::simd::{Lines, x86};

/// Low bits of Y, U and V that choose the slot of a colour. Neighbouring pixels have similar colours, which lie in
/// different slots, and close together.
const SLOT_BITS: [u32; 3] = [6, 4, 4];
const SLOTS: usize = 1 << (SLOT_BITS[0] + SLOT_BITS[1] + SLOT_BITS[2]);
/// Pixels that are looked up at a time.
const LANES: usize = 16;
/// Marks an entry that is in use; above all bits of a key.
const USED: i32 = 1 << 30;

/// The latest colour for each slot: its samples in one number, then L, a and b.
#[derive(Debug)]
pub struct Known {
    entries: Lines<u32>,
    /// How many bits a sample has, at most 10.
    depth: u8,
}

/// The pixels of a group that are not known: their samples in one number, their slots, and where they are.
#[derive(Debug)]
pub struct Unknown {
    count: usize,
    keys: [u32; GROUP + LANES],
    slots: [u32; GROUP + LANES],
    places: [u32; GROUP + LANES],
}

impl Unknown {
    pub const NONE: Self = {
        let none = [0; GROUP + LANES];
        Self { count: 0, keys: none, slots: none, places: none }
    };

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.places[..self.count].iter().map(|place| *place as usize)
    }
}

impl Known {
    /// Samples of more than 10 bits hardly ever repeat.
    pub fn new(depth: u8) -> Option<Self> {
        (depth <= 10).then(|| Self { entries: Lines::new(4 * SLOTS), depth })
    }

    /// Keeps the colours of all pixels that were not known.
    pub fn keep(&mut self, unknown: &Unknown, colour: impl Fn(usize) -> [f32; 3]) {
        for n in 0..unknown.count {
            let [l, a, b] = colour(n).map(f32::to_bits);
            let entry = &mut self.entries[4 * unknown.slots[n] as usize..][..4];
            entry.copy_from_slice(&[unknown.keys[n], l, a, b]);
        }
    }
}

vector_functions! {
    /// Fills in the colours that are known and lists the other pixels.
    pub fn find(known: &Known, pixels: Pixels<'_>, out: &mut LabsMut<'_>, unknown: &mut Unknown) {
        let (mut keys, mut slots) = ([0u32; GROUP], [0u32; GROUP]);
        for at in (0..GROUP).step_by(LANES) {
            let samples = [load(pixels.y, at), load(pixels.u, at), load(pixels.v, at)];
            x86::store512(&mut keys, at, key_of(known, samples));
            x86::store512(&mut slots, at, slot_of(samples));
        }
        unknown.count = 0;
        for at in (0..GROUP).step_by(LANES) {
            let [found, l, a, b] = transposed(entries_at(known, &slots, at));
            x86::store512(out.l, at, l);
            x86::store512(out.a, at, a);
            x86::store512(out.b, at, b);
            let key = x86::load512(&keys, at);
            let missing = _mm512_cmpneq_epi32_mask(found, key);
            let places = _mm512_add_epi32(counting(), _mm512_set1_epi32(at as i32));
            let kept = |numbers: __m512i| _mm512_maskz_compress_epi32(missing, numbers);
            x86::store512(&mut unknown.keys, unknown.count, kept(key));
            x86::store512(&mut unknown.slots, unknown.count, kept(x86::load512(&slots, at)));
            x86::store512(&mut unknown.places, unknown.count, kept(places));
            unknown.count += missing.count_ones() as usize;
        }
    }

    fn load(samples: &[u16; GROUP], at: usize) -> __m512i {
        _mm512_cvtepu16_epi32(x86::load256(samples, at))
    }

    fn counting() -> __m512i {
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    }

    fn key_of(known: &Known, samples: [__m512i; 3]) -> __m512i {
        let [y, u, v] = samples;
        let count = _mm_cvtsi32_si128(i32::from(known.depth));
        let high = _mm512_or_si512(u, _mm512_sll_epi32(v, count));
        let low = _mm512_or_si512(y, _mm512_set1_epi32(USED));
        _mm512_or_si512(low, _mm512_sll_epi32(high, count))
    }

    fn slot_of(samples: [__m512i; 3]) -> __m512i {
        const Y: u32 = SLOT_BITS[0];
        const U: u32 = SLOT_BITS[1];
        let low = |n: usize| _mm512_and_si512(samples[n], _mm512_set1_epi32((1 << SLOT_BITS[n]) - 1));
        let high = _mm512_or_si512(low(1), _mm512_slli_epi32::<U>(low(2)));
        _mm512_or_si512(low(0), _mm512_slli_epi32::<Y>(high))
    }

    /// Part `q` of vector `j` is the entry of pixel `4 q + j`.
    fn entries_at(known: &Known, slots: &[u32; GROUP], at: usize) -> [__m512i; 4] {
        [
            every_fourth(known, slots, at),
            every_fourth(known, slots, at + 1),
            every_fourth(known, slots, at + 2),
            every_fourth(known, slots, at + 3),
        ]
    }

    fn every_fourth(known: &Known, slots: &[u32; GROUP], at: usize) -> __m512i {
        let entries = _mm512_castsi128_si512(entry(known, slots[at]));
        let entries = _mm512_inserti32x4::<1>(entries, entry(known, slots[at + 4]));
        let entries = _mm512_inserti32x4::<2>(entries, entry(known, slots[at + 8]));
        _mm512_inserti32x4::<3>(entries, entry(known, slots[at + 12]))
    }

    fn entry(known: &Known, slot: u32) -> __m128i {
        x86::load128(&known.entries, 4 * slot as usize)
    }

    /// Transposes the 4x4 numbers in each part.
    fn transposed(rows: [__m512i; 4]) -> [__m512i; 4] {
        let [a, b, c, d] = rows;
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        [
            _mm512_unpacklo_epi64(ab, cd),
            _mm512_unpackhi_epi64(ab, cd),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ]
    }
}
