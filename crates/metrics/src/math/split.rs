//! Splitting a positive double into a power of two, a table interval and a remainder.

/// Bits below the exponent field of a double.
pub(super) const MANTISSA_BITS: u32 = 52;
/// Sign and exponent field of a double.
const TOP_MASK: u64 = 0xfff << MANTISSA_BITS;
/// Bits of the smallest positive normal double.
const MIN_NORMAL_BITS: u64 = 1 << MANTISSA_BITS;

/// `x = 2^exponent * mantissa`, with the mantissa in interval number `index` of the table.
pub(super) struct Split {
    pub index: usize,
    pub exponent: f64,
    pub mantissa: f64,
}

/// The bits of a positive finite `x`; for a subnormal `x` they are those of a normal number with
/// an exponent field below zero, wrapped around, which [`split`] reads correctly.
#[inline(always)]
pub(super) fn normalised_bits(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >= MIN_NORMAL_BITS {
        return bits;
    }
    let scaled = x * (1u64 << MANTISSA_BITS) as f64;
    scaled.to_bits().wrapping_sub(u64::from(MANTISSA_BITS) << MANTISSA_BITS)
}

/// Splits the number with the given [`normalised_bits`] such that the mantissa lies in
/// `[low, 2 low)`, where `low_bits` are the bits of `low`, divided into `2^table_bits` intervals
/// of equal spacing in the bit pattern.
#[inline(always)]
pub(super) fn split(bits: u64, low_bits: u64, table_bits: u32) -> Split {
    let above_low = bits.wrapping_sub(low_bits);
    let intervals = above_low >> (MANTISSA_BITS - table_bits);
    let mantissa = bits.wrapping_sub(above_low & TOP_MASK);
    Split {
        index: (intervals & ((1 << table_bits) - 1)) as usize,
        // An arithmetic shift: the exponent is signed.
        exponent: ((above_low as i64) >> MANTISSA_BITS) as f64,
        mantissa: f64::from_bits(mantissa),
    }
}
