
// Double precision in integers. A `Float` is mantissa * 2^exponent; every operation rounds to 53 bits, to the nearest and
// halves to even, as C does without contraction. Numbers are positive and far from the ends of the exponent's range.

struct Float {
    mantissa: u64,
    exponent: i32,
}

// Of the bits of a normal double.
fn float_of(word: Word) -> Float {
    let high = (word.high & 0xfffffu) | 0x100000u;
    return Float((u64(high) << 32u) | u64(word.low), i32((word.high >> 20u) & 0x7ffu) - 1075);
}

// The same number with a mantissa from 2^52 to 2^53 - 1. It must not be zero, and has at most 54 bits.
fn normalised(number: Float) -> Float {
    if number.mantissa == 0x20000000000000lu {
        return Float(0x10000000000000lu, number.exponent + 1);
    }
    let up = 53u - bit_length(number.mantissa);
    return Float(number.mantissa << up, number.exponent - i32(up));
}

// Rounded down to an integer.
fn truncated(number: Float) -> u64 {
    if number.exponent <= -64 {
        return 0lu;
    }
    return number.mantissa >> u32(-number.exponent);
}

// Drops bits of which the remainder is given; `half` is half of a unit, or zero if nothing is dropped.
fn rounded_up(mantissa: u64, dropped: u64, half: u64) -> u64 {
    let up = dropped > half || (dropped == half && half != 0lu && (mantissa & 1lu) == 1lu);
    return mantissa + select(0lu, 1lu, up);
}

// The product with an integer from 1 to 2^31. The mantissa must be at least 2^52.
fn times_integer(number: Float, factor: u32) -> Float {
    let low = (number.mantissa & 0xfffffffflu) * u64(factor);
    let high = (number.mantissa >> 32u) * u64(factor) + (low >> 32u);
    let rest = low_word(low);
    // The product is high * 2^32 + rest and has at least 53 bits.
    let shift = bit_length(high) - 21u;
    let mantissa = (high << (32u - shift)) | u64(rest >> shift);
    let unit = 1u << shift;
    return Float(rounded_up(mantissa, u64(rest & (unit - 1u)), u64(unit >> 1u)), number.exponent + i32(shift));
}

// The square. The mantissa must be from 2^52 to 2^53 - 1.
fn squared_float(number: Float) -> Float {
    let low = number.mantissa & 0xfffffffflu;
    let high = number.mantissa >> 32u;
    let low_low = low * low;
    let middle = 2lu * low * high + (low_low >> 32u);
    // The square is top * 2^64 + the lower words of `middle` and `low_low`, and has 105 or 106 bits.
    let top = high * high + (middle >> 32u);
    let second = low_word(middle);
    let shift = bit_length(top) + 11u;
    let mantissa = (top << (64u - shift)) | u64(second >> (shift - 32u));
    let dropped = (u64(second & ((1u << (shift - 32u)) - 1u)) << 32u) | (low_low & 0xfffffffflu);
    return Float(rounded_up(mantissa, dropped, 1lu << (shift - 1u)), 2 * number.exponent + i32(shift));
}
