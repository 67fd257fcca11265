// What all kernels share: memory, arguments, mirrored indices, sums of 64 bits.
//
// Only integers decide a result: WGSL lets a compiler reassociate and fuse floats, so there are none. Sums are made in two
// stages, within a workgroup and then over all of them, each with atomic additions of 32 bits and their carries (Metal
// has no 64-bit atomics). Integer addition has no order, so none can show.

// A batch's pictures and intermediate results.
@group(0) @binding(0) var<storage, read_write> memory: array<u32>;
// Sums of ADM's rows and of pairs, 64-bit numbers in two words each, zero before a batch.
@group(0) @binding(1) var<storage, read_write> totals: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> a: Arguments;
// VIF's table of logarithms: 2^15 numbers of 16 bits.
@group(0) @binding(3) var<storage, read> logarithms: array<u32>;

// A 64-bit argument: an address in bytes, a count, a double.
struct Word {
    low: u32,
    high: u32,
}

struct Header {
    // The address at which `memory` begins, and the one at which `totals` does.
    memory: u32,
    totals: u32,
    // The row of workgroups that this dispatch begins with: a launch may be cut into several dispatches.
    first_group: u32,
    unused: u32,
}

// Two pictures of every frame of a batch. Frame `n` begins `n * frame` bytes after the first; rows are `pitch` samples
// apart.
struct Pictures {
    reference: Word,
    distorted: Word,
    frame: Word,
    pitch: i32,
    width: i32,
    height: i32,
    depth: i32,
}

// The sample that stands at `index` when `length` samples are mirrored around the first and the last one. Indices more
// than a length outside belong to no result; they are only kept inside the picture.
fn mirrored(index: i32, length: i32) -> i32 {
    let last = length - 1;
    let inner = abs(index);
    return max(select(inner, 2 * last - inner, inner > last), 0);
}

// Where an address of a picture lies in `memory`, in bytes.
fn byte_of(address: Word) -> u32 {
    return address.low - a.header.memory;
}

// Where an address of a sum lies in `totals`, in 64-bit numbers.
fn total_of(address: Word) -> u32 {
    return (address.low - a.header.totals) >> 3u;
}

fn low_word(value: u64) -> u32 {
    return u32(value & 0xfffffffflu);
}

fn high_word(value: u64) -> u32 {
    return u32(value >> 32u);
}

fn add_total(place: u32, value: u64) {
    let low = low_word(value);
    let before = atomicAdd(&totals[2u * place], low);
    let high = high_word(value) + select(0u, 1u, before + low < before);
    if high != 0u {
        atomicAdd(&totals[2u * place + 1u], high);
    }
}

// Bits of a number up to its leading one.
fn bit_length(value: u64) -> u32 {
    let high = high_word(value);
    return select(32u - countLeadingZeros(low_word(value)), 64u - countLeadingZeros(high), high != 0u);
}
