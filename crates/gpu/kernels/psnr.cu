// PSNR: the sum of squared differences of each plane, as integers.
//
// A block takes a run of rows of one plane of one pair. A square has up to 32 bits, so sums are 64-bit numbers from the
// start; the kernel is bound by memory all the same.

#include "common.cuh"

#define PSNR_ROWS 16
#define PSNR_PLANES 3

struct PsnrArguments {
    // Of each plane: where the first pair's two pictures lie, bytes from one pair to the next, and the plane's size.
    const u8* reference[PSNR_PLANES];
    const u8* distorted[PSNR_PLANES];
    u64 frame[PSNR_PLANES];
    i32 pitch[PSNR_PLANES];
    i32 width[PSNR_PLANES];
    i32 height[PSNR_PLANES];
    i32 stride;
    // One sum for each plane of a pair, pairs `stride` apart.
    u64* sums;
};

template <typename T>
__device__ __forceinline__ void psnr(const PsnrArguments& a) {
    const i32 plane = blockIdx.y, first = blockIdx.x * PSNR_ROWS, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const T* reference = (const T*)(a.reference[plane] + blockIdx.z * a.frame[plane]);
    const T* distorted = (const T*)(a.distorted[plane] + blockIdx.z * a.frame[plane]);
    u64 sum = 0;
    for (i32 y = first + warp; y < first + PSNR_ROWS && y < a.height[plane]; y += THREADS / 32) {
        for (i32 x = lane; x < a.width[plane]; x += 32) {
            const u64 place = (u64)y * a.pitch[plane] + x;
            const i64 difference = (i32)reference[place] - (i32)distorted[place];
            sum += (u64)(difference * difference);
        }
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) {
        atomicAdd(a.sums + blockIdx.z * a.stride + plane, sum);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) psnr_u8(PsnrArguments a) {
    psnr<u8>(a);
}

extern "C" __global__ void __launch_bounds__(THREADS) psnr_u16(PsnrArguments a) {
    psnr<u16>(a);
}
