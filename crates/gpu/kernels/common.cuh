#pragma once

// What all kernels share: integer types, mirrored indices, sums over a warp.
//
// Results are integers and every float operation is written as an intrinsic with a fixed rounding, so that a device
// gives the bits of the CPU. Sums are added up with integer atomics: their order cannot show.

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define ALL_LANES 0xffffffffu

// Threads of a block, in every kernel that works on tiles: a thread per column, eight rows at a time.
#define THREADS 256
#define ROWS 8

// The sample that stands at `index` when `length` samples are mirrored around the first and the last one. Indices more
// than a length outside belong to no result; they are only kept inside the picture.
__device__ __forceinline__ i32 mirrored(i32 index, i32 length) {
    i32 last = length - 1;
    index = index < 0 ? -index : index;
    index = index > last ? 2 * last - index : index;
    return index < 0 ? 0 : index;
}

__device__ __forceinline__ u64 warp_sum(u64 value) {
    for (i32 distance = 16; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    }
    return value;
}

__device__ __forceinline__ i32 warp_sum(i32 value) {
    for (i32 distance = 16; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    }
    return value;
}

// Two pictures of every frame of a batch. Frame `n` begins `n * frame` bytes after the first; rows are `pitch` samples
// apart.
struct Pictures {
    const u8* reference;
    const u8* distorted;
    u64 frame;
    i32 pitch;
    i32 width;
    i32 height;
    i32 depth;
};
