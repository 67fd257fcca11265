// Visual information fidelity: local moments of both pictures under a Gaussian window, and the information that the
// distorted picture still has about the reference, over four scales.
//
// `vif_statistic` covers a tile of 8 rows. Each thread filters one column down: it reads 8 + 2 * radius samples of both
// pictures once and adds each to all of its eight rows that see it, five moments a row, all in registers. The moments go
// to shared memory; then every warp filters one row along, four pixels to a thread, so that a window of 4 + 2 * radius
// numbers is read once for four pixels with 16-byte loads. Columns outside the picture are mirrored by the thread that
// filters them, so the second pass has no edges.
//
// The statistic has five double-precision steps, none fused; logarithms are the polynomial of `Log2` (see there). Sums
// are integers.
//
// `vif_decimate` makes the next scale's pictures, computing only the samples that are kept.

#include "common.cuh"

#define SIGMA_NSQ (2 << 16)
#define MAX_GAINS 4

// Where the sums of a scale stand, in 64-bit numbers: these, then one `num_log` for each gain limit.
#define DEN_LOG 0
#define NUM_PLAIN 1
#define DEN_PLAIN 2
#define NUM_LOG 3
#define SCALE_SUMS (NUM_LOG + MAX_GAINS)

struct VifArguments {
    Pictures pictures;
    double gains[MAX_GAINS];
    i32 gain_count;
    // Of frame 0 and this scale; those of the next frame are `stride` further on.
    i32 stride;
    u64* sums;
};

// Gaussian windows of the four scales; each sums to 2^16. `k` counts from the edge to the centre, which is `8 >> scale`.
template <i32 SCALE>
__device__ __forceinline__ constexpr u32 half_window(i32 k);

template <>
__device__ __forceinline__ constexpr u32 half_window<0>(i32 k) {
    return k == 0 ? 489u : k == 1 ? 935u : k == 2 ? 1640u : k == 3 ? 2640u : k == 4 ? 3896u
         : k == 5 ? 5274u : k == 6 ? 6547u : k == 7 ? 7455u : 7784u;
}

template <>
__device__ __forceinline__ constexpr u32 half_window<1>(i32 k) {
    return k == 0 ? 1244u : k == 1 ? 3663u : k == 2 ? 7925u : k == 3 ? 12590u : 14692u;
}

template <>
__device__ __forceinline__ constexpr u32 half_window<2>(i32 k) {
    return k == 0 ? 3571u : k == 1 ? 16004u : 26386u;
}

template <>
__device__ __forceinline__ constexpr u32 half_window<3>(i32 k) {
    return k == 0 ? 10904u : 43728u;
}

template <i32 SCALE>
__device__ __forceinline__ constexpr u32 tap(i32 k) {
    return half_window<SCALE>(k < (8 >> SCALE) ? k : 2 * (8 >> SCALE) - k);
}

__constant__ u32 LOG2_INVERSES[16] = {0x3f77502d, 0x3f6a09ff, 0x3f5d6707, 0x3f522881, 0x3f47d2aa, 0x3f3e82d1,
                                      0x3f361059, 0x3f2e4934, 0x3f272df2, 0x3f20a265, 0x3f1a8096, 0x3f14f4f0,
                                      0x3f0fb523, 0x3f0abcba, 0x3f064d4a, 0x3f020d6a};
__constant__ i32 LOG2_BASES[16] = {102, 265, 429, 583, 732, 873, 1007, 1136,
                                   1259, 1377, 1492, 1600, 1706, 1810, 1906, 2001};

// 2048 * log2, the values of the CPU's table of 2^15 entries. The four leading bits of the mantissa choose an interval;
// there x = mantissa * inverse - 1 is small and a cubic is enough. The constants were searched so that all 2^15 values
// are those of the table; `log2_table` below lets the host look at each of them. Every step is one IEEE operation.
struct Log2 {
    // Inverse of the interval's middle; 1.5 * 2^23 plus the logarithm there, less 128 for each interval before it.
    float2 intervals[16];

    __device__ __forceinline__ void fill() {
        const i32 i = threadIdx.x;
        if (i < 16) {
            intervals[i].x = __int_as_float(LOG2_INVERSES[i]);
            intervals[i].y = (float)(12582912 + LOG2_BASES[i] - 128 * i);
        }
    }

    // Of a number whose leading bit stands for 2^exponent and is followed by `mantissa`, 15 bits.
    __device__ __forceinline__ i32 of(i32 exponent, u32 mantissa) const {
        const u32 interval = mantissa >> 11;
        const float2 constants = intervals[interval];
        const float x = __fmaf_rn(__int_as_float(0x3f800000u | mantissa << 8), constants.x, -1.0f);
        float sum = __int_as_float(0x4476636b);
        sum = __fmaf_rn(x, sum, __int_as_float(0xc4b8be70));
        sum = __fmaf_rn(x, sum, __int_as_float(0x4538aa3b));
        sum = __fmaf_rn(x, sum, 1.0f / 1024.0f);
        const i32 rounded = __float_as_int(__fadd_rn(sum, constants.y)) - __float_as_int(12582912.0f);
        return 2048 * exponent + 128 * (i32)interval + rounded;
    }

    // Of a number from 2^15 on.
    __device__ __forceinline__ i32 of(u32 number) const {
        const i32 zeros = __clz(number);
        return of(31 - zeros, (number << zeros) >> 16 & 0x7fffu);
    }

    // Of an integer from 2^15 on that is given as a float.
    __device__ __forceinline__ i32 of(double number) const {
        const u32 high = (u32)__double2hiint(number);
        return of((i32)(high >> 20) - 1023, high >> 5 & 0x7fffu);
    }
};

// What a thread has added up.
struct Residuals {
    u64 num_plain;
    i32 den_log;
    i32 den_plain;
    i32 num_log[MAX_GAINS];
};

// Adds one pixel's information; variances and covariance have 16 fractional bits.
__device__ __forceinline__ void add_pixel(
    Residuals& sums, const VifArguments& a, const Log2& log2, i32 variance_ref, i32 variance_dis, i32 covariance) {
    variance_dis = variance_dis > 0 ? variance_dis : 0;
    if (variance_ref < SIGMA_NSQ) {
        sums.num_plain += (u32)variance_dis;
        sums.den_plain += 1;
        return;
    }
    sums.den_log += log2.of((u32)variance_ref + SIGMA_NSQ) - 17 * 2048;
    if (covariance <= 0 || variance_dis == 0) {
        return;
    }
    // The distorted picture as the reference with a gain plus noise.
    const double reference = (double)variance_ref, both = (double)covariance;
    const double gain = __ddiv_rn(both, __dadd_rn(reference, 65536.0 * 1.0e-10));
    const i32 rest = __double2int_rz(__dadd_rn((double)variance_dis, -__dmul_rn(gain, both)));
    const u32 noise = (u32)(rest > 0 ? rest : 0) + SIGMA_NSQ;
    const i32 log_noise = log2.of(noise);
#pragma unroll
    for (i32 g = 0; g < MAX_GAINS; g++) {
        if (g < a.gain_count) {
            const double limited = gain < a.gains[g] ? gain : a.gains[g];
            const double signal = trunc(__dmul_rn(__dmul_rn(limited, limited), reference));
            // Both are integers below 2^46: the sum is exact.
            sums.num_log[g] += log2.of(__dadd_rn(signal, (double)noise)) - log_noise;
        }
    }
}

// Filters of the pass along a row, for four neighbouring pixels whose windows begin at `row`.
template <i32 SCALE>
struct Along {
    enum { RADIUS = 8 >> SCALE, SPAN = (4 + 2 * RADIUS + 3) / 4 * 4 };
    u32 window[SPAN];

    __device__ __forceinline__ Along(const u32* row) {
#pragma unroll
        for (i32 i = 0; i < SPAN; i += 4) {
            const uint4 four = *(const uint4*)(row + i);
            window[i] = four.x;
            window[i + 1] = four.y;
            window[i + 2] = four.z;
            window[i + 3] = four.w;
        }
    }

    __device__ __forceinline__ u32 mean(i32 pixel) const {
        u32 sum = 0;
#pragma unroll
        for (i32 k = 0; k <= 2 * RADIUS; k++) {
            sum += tap<SCALE>(k) * window[pixel + k];
        }
        return sum;
    }

    __device__ __forceinline__ u32 product(i32 pixel) const {
        u64 sum = 1u << 15;
#pragma unroll
        for (i32 k = 0; k <= 2 * RADIUS; k++) {
            sum += (u64)tap<SCALE>(k) * window[pixel + k];
        }
        return (u32)(sum >> 16);
    }
};

// The product of two means that carry 24 fractional bits, rounded to 16.
__device__ __forceinline__ u32 squared(u32 a, u32 b) {
    return (u32)(((u64)a * b + (1ull << 31)) >> 32);
}

// The sums of squares and products: of bytes they fit 32 bits.
template <typename T>
struct Sum {
    typedef u64 Type;
};
template <>
struct Sum<u8> {
    typedef u32 Type;
};

template <typename T, i32 SCALE>
__device__ __forceinline__ void vif_statistic(const VifArguments& a) {
    enum { RADIUS = 8 >> SCALE, WIDTH = (THREADS - 2 * RADIUS) / 4 * 4 };
    typedef typename Sum<T>::Type Wide;
    __shared__ __align__(16) u32 moments[5][ROWS][THREADS];
    __shared__ Log2 log2;
    __shared__ u64 totals[ROWS][SCALE_SUMS];
    log2.fill();
    const i32 width = a.pictures.width, height = a.pictures.height;
    const i32 x0 = blockIdx.x * WIDTH, y0 = blockIdx.y * ROWS;
    const u64 frame = blockIdx.z * a.pictures.frame;
    {
        const T* reference = (const T*)(a.pictures.reference + frame);
        const T* distorted = (const T*)(a.pictures.distorted + frame);
        const i32 column = mirrored(x0 - RADIUS + (i32)threadIdx.x, width);
        u32 mean_ref[ROWS] = {0}, mean_dis[ROWS] = {0};
        Wide square_ref[ROWS] = {0}, square_dis[ROWS] = {0}, product[ROWS] = {0};
#pragma unroll
        for (i32 k = 0; k < ROWS + 2 * RADIUS; k++) {
            const i32 place = mirrored(y0 - RADIUS + k, height) * a.pictures.pitch + column;
            const u32 p = reference[place], q = distorted[place];
            const u32 pp = p * p, qq = q * q, pq = p * q;
#pragma unroll
            for (i32 r = 0; r < ROWS; r++) {
                const i32 t = k - r;
                if (t >= 0 && t <= 2 * RADIUS) {
                    mean_ref[r] += tap<SCALE>(t) * p;
                    mean_dis[r] += tap<SCALE>(t) * q;
                    square_ref[r] += (Wide)tap<SCALE>(t) * pp;
                    square_dis[r] += (Wide)tap<SCALE>(t) * qq;
                    product[r] += (Wide)tap<SCALE>(t) * pq;
                }
            }
        }
        const i32 mean_shift = SCALE == 0 ? a.pictures.depth : 16;
        const i32 product_shift = SCALE == 0 ? 2 * (a.pictures.depth - 8) : 16;
        const u32 mean_round = 1u << (mean_shift - 1);
        const Wide product_round = ((Wide)1 << product_shift) >> 1;
#pragma unroll
        for (i32 r = 0; r < ROWS; r++) {
            moments[0][r][threadIdx.x] = (mean_ref[r] + mean_round) >> mean_shift;
            moments[1][r][threadIdx.x] = (mean_dis[r] + mean_round) >> mean_shift;
            moments[2][r][threadIdx.x] = (u32)((square_ref[r] + product_round) >> product_shift);
            moments[3][r][threadIdx.x] = (u32)((square_dis[r] + product_round) >> product_shift);
            moments[4][r][threadIdx.x] = (u32)((product[r] + product_round) >> product_shift);
        }
    }
    __syncthreads();

    const i32 lane = threadIdx.x & 31, r = threadIdx.x >> 5;
    Residuals sums = {0, 0, 0, {0}};
    if (y0 + r < height) {
        for (i32 group = lane; group < WIDTH / 4 && x0 + 4 * group < width; group += 32) {
            u32 mean_ref[4], mean_dis[4];
            i32 variance_ref[4], variance_dis[4], covariance[4];
            {
                const Along<SCALE> row(moments[0][r] + 4 * group);
#pragma unroll
                for (i32 i = 0; i < 4; i++) {
                    mean_ref[i] = row.mean(i);
                }
            }
            {
                const Along<SCALE> row(moments[1][r] + 4 * group);
#pragma unroll
                for (i32 i = 0; i < 4; i++) {
                    mean_dis[i] = row.mean(i);
                }
            }
            {
                const Along<SCALE> row(moments[2][r] + 4 * group);
#pragma unroll
                for (i32 i = 0; i < 4; i++) {
                    variance_ref[i] = (i32)(row.product(i) - squared(mean_ref[i], mean_ref[i]));
                }
            }
            {
                const Along<SCALE> row(moments[3][r] + 4 * group);
#pragma unroll
                for (i32 i = 0; i < 4; i++) {
                    variance_dis[i] = (i32)(row.product(i) - squared(mean_dis[i], mean_dis[i]));
                }
            }
            {
                const Along<SCALE> row(moments[4][r] + 4 * group);
#pragma unroll
                for (i32 i = 0; i < 4; i++) {
                    covariance[i] = (i32)(row.product(i) - squared(mean_ref[i], mean_dis[i]));
                }
            }
#pragma unroll
            for (i32 i = 0; i < 4; i++) {
                if (x0 + 4 * group + i < width) {
                    add_pixel(sums, a, log2, variance_ref[i], variance_dis[i], covariance[i]);
                }
            }
        }
    }

    sums.den_log = warp_sum(sums.den_log);
    sums.num_plain = warp_sum(sums.num_plain);
    sums.den_plain = warp_sum(sums.den_plain);
#pragma unroll
    for (i32 g = 0; g < MAX_GAINS; g++) {
        if (g < a.gain_count) {
            sums.num_log[g] = warp_sum(sums.num_log[g]);
        }
    }
    if (lane == 0) {
        totals[r][DEN_LOG] = (u64)(i64)sums.den_log;
        totals[r][NUM_PLAIN] = sums.num_plain;
        totals[r][DEN_PLAIN] = (u64)sums.den_plain;
        for (i32 g = 0; g < MAX_GAINS; g++) {
            totals[r][NUM_LOG + g] = (u64)(i64)sums.num_log[g];
        }
    }
    __syncthreads();
    if (threadIdx.x < NUM_LOG + a.gain_count) {
        u64 total = 0;
        for (i32 row = 0; row < ROWS; row++) {
            total += totals[row][threadIdx.x];
        }
        atomicAdd(a.sums + blockIdx.z * a.stride + threadIdx.x, total);
    }
}

struct DecimateArguments {
    Pictures pictures;
    // The pictures of the next scale, `pitch` samples between rows and `frame` bytes between frames.
    u16* reference;
    u16* distorted;
    u64 frame;
    i32 pitch;
    i32 unused;
};

// Filters a picture with the window of the next scale and keeps every second sample of every second row. The picture is
// the reference or, in the upper half of the grid's third dimension, the distorted one.
template <typename T, i32 SCALE>
__device__ __forceinline__ void vif_decimate(const DecimateArguments& a) {
    enum { NEXT = SCALE + 1, RADIUS = 8 >> NEXT, WIDTH = (THREADS - 2 * RADIUS) / 2 };
    __shared__ u32 filtered[ROWS][THREADS];
    const i32 width = a.pictures.width, height = a.pictures.height;
    const i32 x0 = blockIdx.x * WIDTH, y0 = blockIdx.y * ROWS;
    const i32 frames = gridDim.z / 2;
    const bool second = (i32)blockIdx.z >= frames;
    const i32 index = second ? blockIdx.z - frames : blockIdx.z;
    const T* source = (const T*)((second ? a.pictures.distorted : a.pictures.reference) + index * a.pictures.frame);
    u16* out = (u16*)((u8*)(second ? a.distorted : a.reference) + index * a.frame);
    {
        const i32 column = mirrored(2 * x0 - RADIUS + (i32)threadIdx.x, width);
        const i32 shift = SCALE == 0 ? a.pictures.depth : 16;
        u32 sums[ROWS];
#pragma unroll
        for (i32 r = 0; r < ROWS; r++) {
            sums[r] = 1u << (shift - 1);
        }
#pragma unroll
        for (i32 k = 0; k < 2 * ROWS - 1 + 2 * RADIUS; k++) {
            const u32 p = source[mirrored(2 * y0 - RADIUS + k, height) * a.pictures.pitch + column];
#pragma unroll
            for (i32 r = 0; r < ROWS; r++) {
                const i32 t = k - 2 * r;
                if (t >= 0 && t <= 2 * RADIUS) {
                    sums[r] += tap<NEXT>(t) * p;
                }
            }
        }
#pragma unroll
        for (i32 r = 0; r < ROWS; r++) {
            filtered[r][threadIdx.x] = sums[r] >> shift;
        }
    }
    __syncthreads();
    const i32 lane = threadIdx.x & 31, r = threadIdx.x >> 5;
    if (y0 + r < height / 2) {
        for (i32 x = lane; x < WIDTH && x0 + x < width / 2; x += 32) {
            u32 sum = 1u << 15;
#pragma unroll
            for (i32 k = 0; k <= 2 * RADIUS; k++) {
                sum += tap<NEXT>(k) * filtered[r][2 * x + k];
            }
            out[(y0 + r) * a.pitch + x0 + x] = (u16)(sum >> 16);
        }
    }
}

#define STATISTIC(name, sample, scale)                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(VifArguments a) {                                 \
        vif_statistic<sample, scale>(a);                                                                            \
    }
STATISTIC(vif_statistic_u8, u8, 0)
STATISTIC(vif_statistic_u16, u16, 0)
STATISTIC(vif_statistic_1, u16, 1)
STATISTIC(vif_statistic_2, u16, 2)
STATISTIC(vif_statistic_3, u16, 3)

#define DECIMATE(name, sample, scale)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS) name(DecimateArguments a) {                               \
        vif_decimate<sample, scale>(a);                                                                             \
    }
DECIMATE(vif_decimate_u8, u8, 0)
DECIMATE(vif_decimate_u16, u16, 0)
DECIMATE(vif_decimate_1, u16, 1)
DECIMATE(vif_decimate_2, u16, 2)

// The logarithms of 2^15 to 2^16 - 1, for the host to compare with its table.
extern "C" __global__ void __launch_bounds__(THREADS) log2_table(i32* out) {
    __shared__ Log2 log2;
    log2.fill();
    __syncthreads();
    const u32 i = blockIdx.x * THREADS + threadIdx.x;
    out[i] = log2.of(32768u + i);
    if (log2.of((double)(32768u + i)) != out[i]) {
        out[i] = -1;
    }
}
