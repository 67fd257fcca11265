//! The arithmetic of ADM's masks: 16-bit coefficients in the first scale, 32-bit ones in the others.

use crate::arguments::Mask;

/// The arithmetic of a number format.
pub trait Format {
    /// What is restored of a coefficient before gain is allowed for: a share of it, rounded to 15 bits.
    fn share(o: i64, t: i64) -> i64;
    /// What a coefficient adds to the threshold of its neighbours, and to its own.
    fn spread(value: i64, weight: i64, band: usize) -> [i64; 2];
    /// Its weighted size, and the threshold in the same unit.
    fn weighted(value: i64, weight: i64) -> i64;
    fn lifted(threshold: i64, band: usize) -> i64;
    fn energy(value: i64, arguments: &Mask) -> u64;
}

pub struct Short;
pub struct Long;

/// Numbers that C keeps in 32 bits.
pub fn wrapped(number: i64) -> i64 {
    i64::from(number as i32)
}

fn short(number: i64) -> i64 {
    i64::from(number as i16)
}

impl Format for Short {
    fn share(o: i64, t: i64) -> i64 {
        if o == 0 {
            return 32768;
        }
        (((1 << 30) / o * t + (1 << 14)) >> 15).clamp(0, 32768)
    }

    fn spread(value: i64, weight: i64, band: usize) -> [i64; 2] {
        let (half, shift) = [(1 << 14, 15), (1 << 14, 15), (65535, 17)][band];
        let size = short(wrapped(value * weight + half) >> shift).abs();
        // A thirtieth and a fifteenth.
        [4369, 8738].map(|factor| short((factor * size + 2048) >> 12))
    }

    fn weighted(value: i64, weight: i64) -> i64 {
        wrapped(wrapped(value * weight).abs())
    }

    fn lifted(threshold: i64, band: usize) -> i64 {
        threshold << [10, 10, 12][band]
    }

    fn energy(value: i64, _: &Mask) -> u64 {
        value.unsigned_abs().pow(3)
    }
}

impl Format for Long {
    /// By the 15 leading bits of the reference's coefficient, rounded.
    fn share(o: i64, t: i64) -> i64 {
        if o == 0 {
            return 32768;
        }
        let mut shift = 0;
        while o.abs() >> shift > 32767 {
            shift += 1;
        }
        let leading = (o.abs() + ((1 << shift) >> 1)) >> shift;
        let quotient = i128::from((1 << 30) / leading * o.signum()) * i128::from(t) + (1 << (14 + shift));
        (quotient >> (15 + shift)).clamp(0, 32768) as i64
    }

    fn spread(value: i64, weight: i64, _: usize) -> [i64; 2] {
        let size = Self::weighted(value, weight);
        // A thirtieth and a fifteenth of 2^32; libvmaf subtracts the half that it means to add.
        [143_165_577, 286_331_153].map(|factor| (factor * size - (1 << 31)) >> 32)
    }

    fn weighted(value: i64, weight: i64) -> i64 {
        wrapped((value * weight + (1 << 27)) >> 28).abs()
    }

    fn lifted(threshold: i64, _: usize) -> i64 {
        threshold
    }

    /// libvmaf adds a whole unit to the square where it means a half.
    fn energy(value: i64, arguments: &Mask) -> u64 {
        let (square, cube) = (arguments.energy_square_shift, arguments.energy_cube_shift);
        let size = u128::from(value.unsigned_abs());
        let squared = (size * size + (1 << square)) >> square;
        ((squared * size + (1 << (cube - 1))) >> cube) as u64
    }
}
