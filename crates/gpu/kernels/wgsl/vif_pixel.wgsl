
// VIF's steps in double precision and its logarithms.

// 2048 * log2 of a number from 2^15 on, by its 16 leading bits.
fn log2_of(number: u64) -> i32 {
    let shift = bit_length(number) - 16u;
    let entry = u32(number >> shift) & 0x7fffu;
    let logarithm = (logarithms[entry >> 1u] >> (16u * (entry & 1u))) & 0xffffu;
    return i32(logarithm) + 2048 * i32(shift);
}

// covariance / (variance + 65536 * 1e-10), a mantissa from 2^52 on. The covariance is positive, the variance at least
// 2^17.
fn gain_of(covariance: u32, variance: u32) -> Float {
    let exponent = 31u - countLeadingZeros(variance);
    // What is added to the mantissa, rounded. It never lies halfway between two integers.
    let below = 18u + exponent;
    let divisor = (u64(variance) << (52u - exponent)) + ((EPSILON_MANTISSA + (1lu << (below - 1u))) >> below);
    let own_exponent = 31u - countLeadingZeros(covariance);
    var rest = u64(covariance) << (52u - own_exponent);
    var result = i32(own_exponent) - i32(exponent) - 52;
    if rest < divisor {
        rest <<= 1u;
        result -= 1;
    }
    // 54 bits of the quotient: the first is a one, the others come ten at a time. A digit is estimated from the leading
    // bits, which is too little by one at most.
    rest -= divisor;
    var quotient = 1lu;
    let estimate_by = high_word(divisor) + 1u;
    for (var step = 0u; step < 6u; step++) {
        let digits = select(10u, 3u, step == 5u);
        var digit = (high_word(rest) << digits) / estimate_by;
        rest = (rest << digits) - u64(digit) * divisor;
        if rest >= divisor {
            rest -= divisor;
            digit += 1u;
        }
        quotient = (quotient << digits) | u64(digit);
    }
    // The quotient of two mantissas never lies halfway between two others.
    return normalised(Float((quotient + 1lu) >> 1u, result));
}

// The integer part of variance - gain * covariance, or zero.
fn noise_of(gain: Float, covariance: u32, variance: u32) -> u32 {
    let explained = times_integer(gain, covariance);
    let whole = truncated(explained);
    if whole >= u64(variance) {
        return 0u;
    }
    let left = variance - low_word(whole);
    // The difference is `left` less the fraction. It is rounded before it is truncated: a fraction up to half a unit of
    // the double below `left` is lost.
    let fraction_bits = u32(-explained.exponent);
    var fraction = explained.mantissa;
    if fraction_bits < 64u {
        fraction &= (1lu << fraction_bits) - 1lu;
    }
    let exponent = 31 - i32(countLeadingZeros(left - 1u));
    let half_place = i32(fraction_bits) + exponent - 53;
    var is_lost = fraction == 0lu;
    if half_place >= 63 {
        is_lost = true;
    } else if half_place >= 0 {
        is_lost = fraction <= (1lu << u32(half_place));
    }
    return left - select(1u, 0u, is_lost);
}

// The integer part of gain * gain * variance, the gain being limited.
fn signal_of(gain: Float, limit: Float, variance: u32) -> u64 {
    let below =
        gain.exponent < limit.exponent || (gain.exponent == limit.exponent && gain.mantissa < limit.mantissa);
    var limited = limit;
    if below {
        limited = gain;
    }
    return truncated(times_integer(normalised(squared_float(limited)), variance));
}
