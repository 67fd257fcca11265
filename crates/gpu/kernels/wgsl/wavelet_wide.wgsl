
// From the second scale on coefficients have 32 bits; they are rounded to the nearest, halves up.

fn filter_along(four: vec4<i32>, high: bool) -> i32 {
    let shift = along_shift();
    var sum = 1li << (shift - 1u);
    for (var k = 0; k < 4; k++) {
        sum += i64(select(low_tap(k), high_tap(k), high)) * i64(four[k]);
    }
    return i32(sum >> shift);
}

fn write_two(first: u32, place: u32, one: i32, two: i32) {
    memory[(first >> 2u) + place] = bitcast<u32>(one);
    memory[(first >> 2u) + place + 1u] = bitcast<u32>(two);
}
