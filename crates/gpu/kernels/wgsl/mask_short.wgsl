
// The first scale: 16-bit coefficients; at extreme contrast thresholds lose their upper bits, as in libvmaf's scalar path.

fn coefficient(index: u32) -> i32 {
    let word = memory[(byte_of(a.bands) + 2u * index) >> 2u];
    return bitcast<i32>(word << (16u - 16u * (index & 1u))) >> 16u;
}

fn restored_of(o: i32, t: i32) -> i32 {
    let size = abs(o);
    // More than the whole is kept as the whole; held down to just above it, the product fits 32 bits.
    let along = clamp(with_sign_of(o, t), 0, size + 1);
    let share = min((reciprocal(u32(size)) * u32(along) + (1u << 14u)) >> 15u, 32768u);
    return (i32(share) * o + (1 << 14u)) >> 15u;
}

fn weighted(band: u32, value: i32) -> i32 {
    return bitcast<i32>(magnitude_of(bitcast<i32>(bitcast<u32>(value) * a.weights[band].low)));
}

fn as_short(value: i32) -> i32 {
    return (value << 16u) >> 16u;
}

fn threshold_of(values: vec3<i32>) -> Threshold {
    var spread = 0u;
    var own = 0u;
    for (var band = 0u; band < 3u; band++) {
        let round = select(16384u, 65535u, band == 2u);
        let shift = select(15u, 17u, band == 2u);
        let product = bitcast<u32>(values[band]) * a.weights[band].low + round;
        let size = abs(as_short(bitcast<i32>(product) >> shift));
        spread += bitcast<u32>(as_short((4369 * size + 2048) >> 12u));
        own += bitcast<u32>(as_short((8738 * size + 2048) >> 12u));
    }
    return Threshold(spread, own - spread);
}

fn lifted(threshold: u32, band: u32) -> u32 {
    return threshold << select(10u, 12u, band == 2u);
}

fn energy_of(value: i32) -> u64 {
    let size = magnitude_of(value);
    return u64(size * size) * u64(size);
}
