// Motion: the difference of two reference pictures, blurred by a 5x5 window, as a sum of absolute values.
//
// A block covers 252 columns and 8 rows. Each thread filters one column down for its eight rows (twelve samples of each
// picture), then every warp filters one row along. Differences have up to 17 bits: where a sum of tap * value might not
// fit 32 bits, the upper bits and the lowest one are filtered apart.

#include "common.cuh"

#define MAX_BATCH 32

struct MotionArguments {
    // The two pictures of each frame of a batch. Where there is no earlier one, nothing is summed.
    const u8* earlier[MAX_BATCH];
    const u8* current[MAX_BATCH];
    // One sum for each frame, `stride` apart.
    u64* sums;
    i32 stride;
    i32 pitch;
    i32 width;
    i32 height;
    i32 depth;
    i32 unused;
};

#define MOTION_RADIUS 2
#define MOTION_WIDTH (THREADS - 2 * MOTION_RADIUS)

__device__ __forceinline__ u32 motion_tap(i32 k) {
    return k == 2 ? 26386u : (k == 1 || k == 3 ? 16004u : 3571u);
}

// (sum of tap * value + half) >> shift, from the filtered upper bits and the filtered lowest one.
__device__ __forceinline__ i32 motion_rounded(u32 upper, u32 lowest, i32 shift) {
    u32 carried = (u32)((i32)(lowest + (1u << (shift - 1))) >> 1);
    return (i32)(upper + carried) >> (shift - 1);
}

template <typename T>
__device__ __forceinline__ void motion(const MotionArguments& a) {
    __shared__ i32 blurred[ROWS][THREADS];
    __shared__ u32 row_sums[ROWS];
    const i32 x0 = blockIdx.x * MOTION_WIDTH, y0 = blockIdx.y * ROWS;
    const T* earlier = (const T*)a.earlier[blockIdx.z];
    const T* current = (const T*)a.current[blockIdx.z];
    if (!earlier) {
        return;
    }
    const i32 column = mirrored(x0 - MOTION_RADIUS + (i32)threadIdx.x, a.width);

    u32 upper[ROWS] = {0}, lowest[ROWS] = {0};
#pragma unroll
    for (i32 k = 0; k < ROWS + 2 * MOTION_RADIUS; k++) {
        const i32 place = mirrored(y0 - MOTION_RADIUS + k, a.height) * a.pitch + column;
        const i32 difference = (i32)earlier[place] - (i32)current[place];
#pragma unroll
        for (i32 r = 0; r < ROWS; r++) {
            const i32 t = k - r;
            if (t >= 0 && t <= 2 * MOTION_RADIUS) {
                upper[r] += motion_tap(t) * (u32)(difference >> 1);
                lowest[r] += motion_tap(t) * (u32)(difference & 1);
            }
        }
    }
#pragma unroll
    for (i32 r = 0; r < ROWS; r++) {
        blurred[r][threadIdx.x] = motion_rounded(upper[r], lowest[r], a.depth);
    }
    __syncthreads();

    const i32 lane = threadIdx.x & 31, r = threadIdx.x >> 5;
    u32 sum = 0;
    if (y0 + r < a.height) {
        for (i32 x = lane; x < MOTION_WIDTH && x0 + x < a.width; x += 32) {
            u32 high = 0, low = 0;
#pragma unroll
            for (i32 k = 0; k <= 2 * MOTION_RADIUS; k++) {
                const i32 value = blurred[r][x + k];
                high += motion_tap(k) * (u32)(value >> 1);
                low += motion_tap(k) * (u32)(value & 1);
            }
            const i32 along = motion_rounded(high, low, 16);
            sum += along < 0 ? 0u - (u32)along : (u32)along;
        }
    }
    sum = (u32)warp_sum((i32)sum);
    if (lane == 0) {
        row_sums[r] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 total = 0;
        for (i32 row = 0; row < ROWS; row++) {
            total += row_sums[row];
        }
        atomicAdd(a.sums + blockIdx.z * a.stride, total);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) motion_u8(MotionArguments a) {
    motion<u8>(a);
}

extern "C" __global__ void __launch_bounds__(THREADS) motion_u16(MotionArguments a) {
    motion<u16>(a);
}
