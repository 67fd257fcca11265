// SpEED of the chroma planes, up to the statistics of a plane: its field (low-passed, taken down by 16, minus the local
// mean) and the covariance of the cells of a block of 5 x 5. What follows is small and serial, and is left to the CPU.
//
// All sums are floats here, so their order is part of the result. It is the CPU's: taps from the first to the last, rows
// from the top, columns from the left, no multiply-add fused. What runs side by side are different sums: a thread per sample
// of the decimated plane, per cell of the means, per pair of cells of the covariance.

#include "common.cuh"

#define MAX_TAPS 35
#define MAX_LOCAL_TAPS 9
#define BLOCK 5
#define CELLS (BLOCK * BLOCK)
#define PAIRS (CELLS * (CELLS + 1) / 2)
#define DECIMATION 16
#define PLANES 4
#define STATISTIC_THREADS 352

struct SpeedArguments {
    // Four planes of every pair: U and V of the reference, U and V of the distorted picture.
    const u8* planes;
    u64 plane;
    u64 frame;
    float* decimated;
    // Results of a plane: the covariances, CELLS rows of CELLS, then the field. Planes are `result` apart.
    float* results;
    u64 results_frame;
    i32 result;
    i32 pitch;
    i32 width;
    i32 height;
    i32 out_width;
    i32 out_height;
    i32 field_width;
    i32 field_height;
    i32 tap_count;
    i32 local_count;
    // To the 8-bit scale.
    float factor;
    float taps[MAX_TAPS];
    float local[MAX_LOCAL_TAPS];
    i32 unused;
};

// `sum + a * b`, rounded twice.
__device__ __forceinline__ float plus_product(float sum, float a, float b) {
    return __fadd_rn(sum, __fmul_rn(a, b));
}

__device__ __forceinline__ float* speed_decimated(const SpeedArguments& a, u32 plane) {
    return a.decimated + (u64)plane * a.out_width * a.out_height;
}

template <typename T>
__device__ __forceinline__ void speed_front(const SpeedArguments& a) {
    const i32 place = blockIdx.x * THREADS + threadIdx.x;
    if (place >= a.out_width * a.out_height) {
        return;
    }
    const i32 x = place % a.out_width * DECIMATION, y = place / a.out_width * DECIMATION;
    const u32 plane = blockIdx.z;
    const T* samples = (const T*)(a.planes + plane / PLANES * a.frame + plane % PLANES * a.plane);
    const i32 reach = a.tap_count / 2;
    float along = 0;
    for (i32 k = 0; k < a.tap_count; k++) {
        const i32 column = mirrored(x - reach + k, a.width);
        float down = 0;
        for (i32 j = 0; j < a.tap_count; j++) {
            const i32 row = mirrored(y - reach + j, a.height);
            const float sample = __int2float_rn((i32)samples[(u64)row * a.pitch + column]);
            down = plus_product(down, a.taps[j], __fadd_rn(__fmul_rn(sample, a.factor), -128.0f));
        }
        along = plus_product(along, a.taps[k], down);
    }
    speed_decimated(a, plane)[place] = along;
}

extern "C" __global__ void __launch_bounds__(THREADS) speed_front_u8(SpeedArguments a) {
    speed_front<u8>(a);
}

extern "C" __global__ void __launch_bounds__(THREADS) speed_front_u16(SpeedArguments a) {
    speed_front<u16>(a);
}

// The plane minus its local mean.
__device__ __forceinline__ float speed_field(const SpeedArguments& a, const float* plane, i32 x, i32 y) {
    const i32 reach = a.local_count / 2;
    float along = 0;
    for (i32 k = 0; k < a.local_count; k++) {
        const i32 column = mirrored(x - reach + k, a.out_width);
        float down = 0;
        for (i32 j = 0; j < a.local_count; j++) {
            const i32 row = mirrored(y - reach + j, a.out_height);
            down = plus_product(down, a.local[j], plane[row * a.out_width + column]);
        }
        along = plus_product(along, a.local[k], down);
    }
    return __fadd_rn(plane[y * a.out_width + x], -along);
}

// A block for each plane.
extern "C" __global__ void __launch_bounds__(STATISTIC_THREADS) speed_statistic(SpeedArguments a) {
    __shared__ float means[CELLS];
    const u32 plane = blockIdx.z;
    float* covariance = a.results + plane / PLANES * a.results_frame + plane % PLANES * a.result;
    float* field = covariance + CELLS * CELLS;
    const float* decimated = speed_decimated(a, plane);
    for (i32 i = threadIdx.x; i < a.field_width * a.field_height; i += STATISTIC_THREADS) {
        field[i] = speed_field(a, decimated, i % a.field_width, i / a.field_width);
    }
    __syncthreads();

    const i32 width = a.field_width - BLOCK + 1, height = a.field_height - BLOCK + 1;
    if (threadIdx.x < CELLS) {
        const float* first = field + threadIdx.x / BLOCK * a.field_width + threadIdx.x % BLOCK;
        float sum = 0;
        for (i32 y = 0; y < height; y++) {
#pragma unroll 4
            for (i32 x = 0; x < width; x++) {
                sum = __fadd_rn(sum, first[y * a.field_width + x]);
            }
        }
        means[threadIdx.x] = __fdiv_rn(sum, __int2float_rn(width * height));
    }
    __syncthreads();

    if (threadIdx.x < PAIRS) {
        i32 i = 0;
        while ((i + 1) * (i + 2) / 2 <= (i32)threadIdx.x) {
            i++;
        }
        const i32 j = threadIdx.x - i * (i + 1) / 2;
        const float* one = field + i / BLOCK * a.field_width + i % BLOCK;
        const float* other = field + j / BLOCK * a.field_width + j % BLOCK;
        const double one_mean = means[i], other_mean = means[j];
        double sum = 0;
        for (i32 y = 0; y < height; y++) {
#pragma unroll 4
            for (i32 x = 0; x < width; x++) {
                const double p = __dadd_rn((double)one[y * a.field_width + x], -one_mean);
                const double q = __dadd_rn((double)other[y * a.field_width + x], -other_mean);
                sum = __dadd_rn(sum, __dmul_rn(p, q));
            }
        }
        const float value = __double2float_rn(__ddiv_rn(sum, (double)(width * height)));
        covariance[i * CELLS + j] = value;
        covariance[j * CELLS + i] = value;
    }
}
