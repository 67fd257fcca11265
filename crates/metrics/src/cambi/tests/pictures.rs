//! Pictures for the tests, made with a seeded generator.

use super::naive::Grid;

/// The generator `x = x * 1664525 + 1013904223`, of which the upper half is used.
pub struct Lcg(pub u32);

impl Lcg {
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        self.0 >> 16
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Noise,
    /// Bands one luma value apart (of 8 bits, or of the depth if it is higher), with few disturbed pixels.
    Bands,
    /// The same, finer and steeper.
    Slopes,
    NearZero,
    NearPeak,
    Flat,
}

pub const KINDS: [Kind; 6] =
    [Kind::Noise, Kind::Bands, Kind::Slopes, Kind::NearZero, Kind::NearPeak, Kind::Flat];

pub fn picture(kind: Kind, width: usize, height: usize, depth: u32, seed: u32) -> Grid<u16> {
    let (mut random, peak) = (Lcg(seed), (1u32 << depth) - 1);
    Grid::from_fn(width, height, |x, y| {
        let noise = random.next();
        let rare = |one_in: u32, most: u32| {
            if noise.is_multiple_of(one_in) { noise / one_in % (most + 1) } else { 0 }
        };
        let (x, y) = (x as u32, y as u32);
        let value = match kind {
            Kind::Noise => (noise * 65537) >> (32 - depth),
            Kind::Bands => peak / 4 + (x + 2 * y) / 19 + rare(40, 2),
            Kind::Slopes => peak / 8 + (3 * x + y) / 16 + (y / 7) % 3 + rare(25, 4),
            Kind::NearZero => rare(30, 3) + (x / 50) % 2,
            Kind::NearPeak => peak - rare(30, 3) - (y / 30) % 3,
            Kind::Flat => peak / 2,
        };
        value.min(peak) as u16
    })
}
