
// The sample at `index` of a picture that begins at byte `first`, a multiple of four.
fn sample(first: u32, index: i32) -> u32 {
    let place = u32(index);
    return (memory[(first + 2u * place) >> 2u] >> (16u * (place & 1u))) & 0xffffu;
}
