
// The later scales: 32-bit coefficients.

fn coefficient(index: u32) -> i32 {
    return bitcast<i32>(memory[(byte_of(a.bands) >> 2u) + index]);
}

// The reciprocal is that of the leading 15 bits.
fn restored_of(o: i32, t: i32) -> i32 {
    let size = magnitude_of(o);
    let zeros = countLeadingZeros(size | 1u);
    let shift = 17u - min(zeros, 17u);
    let leading = (size + ((1u << shift) >> 1u)) >> shift;
    let along = select(i64(t), -i64(t), o < 0);
    // A shift of 17 belongs to the smallest number alone; there libvmaf's rounding term is negative.
    let round = i64(bitcast<i32>(1u << (14u + shift)));
    let quotient = (i64(u64(reciprocal(leading))) * along + round) >> (15u + shift);
    let share = select(select(quotient, 32768li, quotient > 32768li), 0li, quotient < 0li);
    return i32((share * i64(o) + 16384li) >> 15u);
}

fn weighted(band: u32, value: i32) -> i32 {
    // By way of u64: the weight may have its upper bit, and some compilers would take that for a sign.
    let product = (i64(u64(a.weights[band].low)) * i64(value) + 134217728li) >> 28u;
    return bitcast<i32>(magnitude_of(i32(product)));
}

// libvmaf's rounding term has the wrong sign, so that a half is subtracted.
fn threshold_of(values: vec3<i32>) -> Threshold {
    var spread = 0u;
    var own = 0u;
    for (var band = 0u; band < 3u; band++) {
        let size = i64(weighted(band, values[band]));
        spread += low_word(u64((143165577li * size - 2147483648li) >> 32u));
        own += low_word(u64((286331153li * size - 2147483648li) >> 32u));
    }
    return Threshold(spread, own - spread);
}

fn lifted(threshold: u32, band: u32) -> u32 {
    return threshold;
}

// The square's rounding term is a whole unit, not a half.
fn energy_of(value: i32) -> u64 {
    let size = u64(magnitude_of(value));
    let square_shift = u32(a.energy_square_shift);
    let cube_shift = u32(a.energy_cube_shift);
    let squared = (size * size + (1lu << square_shift)) >> square_shift;
    return (squared * size + (1lu << (cube_shift - 1u))) >> cube_shift;
}
