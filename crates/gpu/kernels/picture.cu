// Pictures that the device's own decoder made: planes apart, sums of cells, comparison.
//
// A decoder delivers luma and, below it, chroma with U and V interleaved; samples of more than 8 bits lie in the upper bits
// of 16. The kernels that score want planes apart with samples in the lower bits.

#include "common.cuh"

struct UnpackArguments {
    // First sample that is shown, of luma and of chroma.
    const u8* luma;
    const u8* chroma;
    u8* planes[3];
    // Bytes from one row to the next of the surface; samples from one row to the next of the planes.
    i32 pitch;
    i32 luma_pitch;
    i32 chroma_pitch;
    i32 width;
    i32 height;
    // Unused bits below a sample.
    i32 shift;
};

// A row of the surface to a block row: luma first, then pairs of chroma.
template <typename T>
__device__ __forceinline__ void unpack(const UnpackArguments& a) {
    const i32 x = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y;
    if (y < a.height) {
        if (x < a.width) {
            const T* row = (const T*)(a.luma + (u64)y * a.pitch);
            ((T*)a.planes[0])[(u64)y * a.luma_pitch + x] = row[x] >> a.shift;
        }
        return;
    }
    const i32 line = y - a.height;
    if (x < a.width / 2) {
        const T* row = (const T*)(a.chroma + (u64)line * a.pitch);
        const u64 place = (u64)line * a.chroma_pitch + x;
        ((T*)a.planes[1])[place] = row[2 * x] >> a.shift;
        ((T*)a.planes[2])[place] = row[2 * x + 1] >> a.shift;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) picture_unpack_u8(UnpackArguments a) {
    unpack<u8>(a);
}

extern "C" __global__ void __launch_bounds__(THREADS) picture_unpack_u16(UnpackArguments a) {
    unpack<u16>(a);
}

#define MOST_EDGES 65

struct CellsArguments {
    const u8* luma;
    // A sum for each cell, row by row.
    u64* sums;
    i32 pitch;
    i32 columns;
    // Where cells begin; the last entry is where the last one ends.
    i32 row_edges[MOST_EDGES];
    i32 column_edges[MOST_EDGES];
};

// A block adds up one cell.
template <typename T>
__device__ __forceinline__ void cells(const CellsArguments& a) {
    const i32 column = blockIdx.x, row = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 sum = 0;
    for (i32 y = a.row_edges[row] + warp; y < a.row_edges[row + 1]; y += THREADS / 32) {
        const T* samples = (const T*)a.luma + (u64)y * a.pitch;
        for (i32 x = a.column_edges[column] + lane; x < a.column_edges[column + 1]; x += 32) {
            sum += samples[x];
        }
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) {
        atomicAdd(a.sums + row * a.columns + column, sum);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) picture_cells_u8(CellsArguments a) {
    cells<u8>(a);
}

extern "C" __global__ void __launch_bounds__(THREADS) picture_cells_u16(CellsArguments a) {
    cells<u16>(a);
}

struct CompareArguments {
    const u8* a;
    const u8* b;
    // Counts words that differ.
    u64* differences;
    u64 words;
};

// All bytes of two pictures, padding included: it is cleared when a picture is allocated and never written.
extern "C" __global__ void __launch_bounds__(THREADS) picture_compare(CompareArguments c) {
    u64 count = 0;
    for (u64 n = (u64)blockIdx.x * THREADS + threadIdx.x; n < c.words; n += (u64)gridDim.x * THREADS) {
        count += ((const u64*)c.a)[n] != ((const u64*)c.b)[n];
    }
    count = warp_sum(count);
    if ((threadIdx.x & 31) == 0 && count) {
        atomicAdd(c.differences, count);
    }
}
