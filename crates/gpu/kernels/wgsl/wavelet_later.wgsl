
// The third and fourth scale transform 32-bit coefficients.

fn coefficient(source: u32, index: i32) -> i32 {
    return bitcast<i32>(memory[(source >> 2u) + u32(index)]);
}

fn low_start() -> i64 {
    return 32768li;
}

fn high_start() -> i64 {
    return 32768li;
}

fn with_product(sum: i64, tap: i32, value: i32) -> i64 {
    return sum + i64(tap) * i64(value);
}

fn rounded_down(sum: i64) -> i32 {
    return i32(sum >> 16u);
}

fn along_shift() -> u32 {
    return u32(a.along);
}
