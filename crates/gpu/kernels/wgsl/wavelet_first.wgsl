
// The first scale: samples are centred around zero, coefficients have 16 bits and wrap.

fn coefficient(source: u32, index: i32) -> i32 {
    return i32(sample(source, index));
}

// The low-pass taps sum to 46342.
fn low_start() -> u32 {
    let half = 1u << u32(a.pictures.depth - 1);
    return half - 46342u * half;
}

fn high_start() -> u32 {
    return 1u << u32(a.pictures.depth - 1);
}

fn with_product(sum: u32, tap: i32, value: i32) -> u32 {
    return sum + bitcast<u32>(tap) * bitcast<u32>(value);
}

fn rounded_down(sum: u32) -> i32 {
    return ((bitcast<i32>(sum) >> u32(a.pictures.depth)) << 16u) >> 16u;
}

fn filter_along(four: vec4<i32>, high: bool) -> i32 {
    var sum = 1u << 15u;
    for (var k = 0; k < 4; k++) {
        sum += bitcast<u32>(select(low_tap(k), high_tap(k), high)) * bitcast<u32>(four[k]);
    }
    return bitcast<i32>(sum) >> 16u;
}

fn write_two(first: u32, place: u32, one: i32, two: i32) {
    memory[(first + 2u * place) >> 2u] = (bitcast<u32>(one) & 0xffffu) | (bitcast<u32>(two) << 16u);
}
