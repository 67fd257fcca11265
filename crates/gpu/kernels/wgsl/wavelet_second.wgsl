
// The second scale transforms 16-bit coefficients; the pass down the columns is exact.

fn coefficient(source: u32, index: i32) -> i32 {
    return (bitcast<i32>(sample(source, index)) << 16u) >> 16u;
}

fn low_start() -> u32 {
    return 0u;
}

fn high_start() -> u32 {
    return 0u;
}

fn with_product(sum: u32, tap: i32, value: i32) -> u32 {
    return sum + bitcast<u32>(tap * value);
}

fn rounded_down(sum: u32) -> i32 {
    return bitcast<i32>(sum);
}

fn along_shift() -> u32 {
    return 15u;
}
