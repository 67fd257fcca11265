// CAMBI: how strongly the distorted picture shows banding.
//
// One picture goes through five scales. `cambi_load` makes 10-bit samples without dithering and the mask of flat
// surroundings; `cambi_filter` (once per scale) applies the mode filter, finds the levels of the pixels that the mask keeps,
// and leaves every second pixel to the next scale. `cambi_contrast` counts, for every pixel with a level, how often that
// level and those up to four above and below it occur in the window, and makes the strength of the strongest step of it.
// All scales are one launch. Then the strongest share of all strengths is summed up.
//
// Why the result is exact: counts are integers; a strength is one conversion and one product of single precision, as on the
// CPU, with the CPU's table of reciprocals. Strengths lie between 0.5 and 2^14, so each is a multiple of 2^-24 and sums are
// 64-bit integers, which have no order. The n-th largest is found by counting, upper bits first (`cambi_coarse`), then the
// lower ones (`cambi_fine`); `cambi_total` adds up.
//
// A window is counted row by row: nine counters of seven bits share a 64-bit number, enough for a row of 65 pixels. A thread
// walks down four pixels of a column. As long as the level stays the same (which it mostly does where the mask keeps pixels),
// it adds the row that comes in and takes off the row that leaves.

#include "common.cuh"

#define SCALES 5
// The most steps between levels, up or down.
#define REACH 4
#define FIELDS (2 * REACH + 1)
#define FIELD_BITS 7
#define NO_LEVEL 0xffffu
// Half of the largest window of 65 pixels.
#define MAX_RADIUS 32

struct CambiLoadArguments {
    // The pictures, `frame` bytes apart, and where the first scale goes, `area` samples apart.
    const u8* picture;
    u64 frame;
    u16* image;
    u8* mask;
    u64 area;
    // Not zero where a sample is above the peak; `stride` numbers apart.
    u64* above_peak;
    i32 stride;
    i32 pitch;
    i32 width;
    i32 height;
    // To ten bits: up, or rounded and down.
    i32 up;
    i32 down;
    i32 undither;
    i32 halved;
    i32 threshold;
    // Zero where samples fill their memory.
    i32 peak;
};

struct CambiArguments {
    // The scales of a picture lie one after the other; pictures are `area` samples apart.
    u16* image;
    u8* mask;
    u16* level;
    float* strength;
    u64 area;
    // Tables: 1 / n, and for every level the steps that count, a bit each.
    const float* reciprocal;
    const u32* active;
    // Counters of a picture: COARSE and then FINE of every scale; and sums of every scale, two numbers each.
    u32* counters;
    u64 counters_frame;
    u64* partial;
    u64 partial_frame;
    // Results of a picture, two numbers for each scale, `stride` apart.
    u64* sums;
    i32 stride;
    i32 scale;
    i32 width[SCALES];
    i32 height[SCALES];
    i32 offset[SCALES];
    i32 first_tile[SCALES];
    i32 count[SCALES];
    i32 window;
    i32 base;
    i32 levels;
};

// ---- Samples and mask

#define LOAD_WIDTH 128
#define LOAD_ROWS 16
#define MASK_REACH 3
#define FLAT_WIDTH (LOAD_WIDTH + 2 * MASK_REACH)
#define FLAT_ROWS (LOAD_ROWS + 2 * MASK_REACH)

template <typename T>
__device__ __forceinline__ u32 cambi_ten_bits(const CambiLoadArguments& a, const T* picture, i32 x, i32 y) {
    const u32 sample = picture[(u64)y * a.pitch + x];
    return ((sample << a.up) + ((1u << a.down) >> 1)) >> a.down;
}

// The mean of a sample and those to the right, below, and below to the right, as far as there are any.
template <typename T>
__device__ __forceinline__ u32 cambi_value(const CambiLoadArguments& a, const T* picture, i32 x, i32 y) {
    const u32 own = cambi_ten_bits(a, picture, x, y);
    if (!a.undither) {
        return own;
    }
    const bool right = x + 1 < a.width, below = y + 1 < a.height;
    if (right && below) {
        return (own + cambi_ten_bits(a, picture, x + 1, y) + cambi_ten_bits(a, picture, x, y + 1) +
                cambi_ten_bits(a, picture, x + 1, y + 1)) >> 2;
    }
    if (right) {
        return (own + cambi_ten_bits(a, picture, x + 1, y)) >> 1;
    }
    return below ? (own + cambi_ten_bits(a, picture, x, y + 1)) >> 1 : own;
}

template <typename T>
__device__ __forceinline__ void cambi_load(const CambiLoadArguments& a) {
    __shared__ u16 values[FLAT_ROWS + 1][FLAT_WIDTH + 2];
    __shared__ u8 flat[FLAT_ROWS][FLAT_WIDTH + 2];
    __shared__ u8 columns[LOAD_ROWS][FLAT_WIDTH + 2];
    const T* picture = (const T*)(a.picture + blockIdx.z * a.frame);
    u16* image = a.image + blockIdx.z * a.area;
    u8* mask = a.mask + blockIdx.z * a.area;
    const i32 x0 = blockIdx.x * LOAD_WIDTH, y0 = blockIdx.y * LOAD_ROWS;

    bool above_peak = false;
    for (i32 i = threadIdx.x; i < (FLAT_ROWS + 1) * (FLAT_WIDTH + 1); i += THREADS) {
        const i32 r = i / (FLAT_WIDTH + 1), c = i % (FLAT_WIDTH + 1);
        const i32 x = x0 - MASK_REACH + c, y = y0 - MASK_REACH + r;
        u32 value = 0;
        if (x >= 0 && x < a.width && y >= 0 && y < a.height) {
            value = cambi_value(a, picture, x, y);
            above_peak |= a.peak && (u32)picture[(u64)y * a.pitch + x] > (u32)a.peak;
        }
        values[r][c] = (u16)value;
    }
    if (above_peak) {
        a.above_peak[blockIdx.z * a.stride] = 1;
    }
    __syncthreads();

    for (i32 i = threadIdx.x; i < FLAT_ROWS * FLAT_WIDTH; i += THREADS) {
        const i32 r = i / FLAT_WIDTH, c = i % FLAT_WIDTH;
        const i32 x = x0 - MASK_REACH + c, y = y0 - MASK_REACH + r;
        const u32 own = values[r][c];
        const bool inside = x >= 0 && x < a.width && y >= 0 && y < a.height;
        const bool across = x + 1 == a.width || own == values[r][c + 1];
        const bool down = y + 1 == a.height || own == values[r + 1][c];
        flat[r][c] = inside && across && down;
    }
    __syncthreads();

    for (i32 i = threadIdx.x; i < LOAD_ROWS * FLAT_WIDTH; i += THREADS) {
        const i32 r = i / FLAT_WIDTH, c = i % FLAT_WIDTH;
        u32 sum = 0;
#pragma unroll
        for (i32 k = 0; k <= 2 * MASK_REACH; k++) {
            sum += flat[r + k][c];
        }
        columns[r][c] = (u8)sum;
    }
    __syncthreads();

    const i32 step = a.halved ? 2 : 1, out_width = (a.width + step - 1) / step;
    for (i32 i = threadIdx.x; i < LOAD_ROWS / step * (LOAD_WIDTH / step); i += THREADS) {
        const i32 r = i / (LOAD_WIDTH / step) * step, c = i % (LOAD_WIDTH / step) * step;
        if (x0 + c >= a.width || y0 + r >= a.height) {
            continue;
        }
        u32 sum = 0;
#pragma unroll
        for (i32 k = 0; k <= 2 * MASK_REACH; k++) {
            sum += columns[r][c + k];
        }
        const i32 place = (y0 + r) / step * out_width + (x0 + c) / step;
        image[place] = values[r + MASK_REACH][c + MASK_REACH];
        mask[place] = sum > (u32)a.threshold;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) cambi_load_u8(CambiLoadArguments a) {
    cambi_load<u8>(a);
}

extern "C" __global__ void __launch_bounds__(THREADS) cambi_load_u16(CambiLoadArguments a) {
    cambi_load<u16>(a);
}

// ---- Mode filter and levels

// The value that occurs at least twice, or else the smallest.
__device__ __forceinline__ u32 cambi_mode(u32 a, u32 b, u32 c) {
    const u32 smallest = a < b ? (a < c ? a : c) : (b < c ? b : c);
    return a == b || a == c ? a : (b == c ? b : smallest);
}

__device__ __forceinline__ u32 cambi_across(const u16* row, i32 x, i32 width) {
    return x == 0 || x + 1 == width ? row[x] : cambi_mode(row[x - 1], row[x], row[x + 1]);
}

extern "C" __global__ void __launch_bounds__(THREADS) cambi_filter(CambiArguments a) {
    const i32 scale = a.scale, width = a.width[scale], height = a.height[scale];
    const i32 x = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y;
    if (x >= width) {
        return;
    }
    const u64 start = blockIdx.z * a.area + a.offset[scale];
    const u16* row = a.image + start + (u64)y * width;
    u32 value = row[x];
    if (y > 0 && y + 1 < height) {
        value = cambi_mode(cambi_across(row - width, x, width), cambi_across(row, x, width),
                           cambi_across(row + width, x, width));
    }
    const u64 place = start + (u64)y * width + x;
    const u32 kept = a.mask[place], level = (value - a.base) & 0xffffu;
    a.level[place] = (u16)(kept && level < (u32)a.levels ? level : NO_LEVEL);
    if (scale + 1 < SCALES && x % 2 == 0 && y % 2 == 0) {
        const u64 next = blockIdx.z * a.area + a.offset[scale + 1] + (u64)(y / 2) * a.width[scale + 1] + x / 2;
        a.image[next] = (u16)value;
        a.mask[next] = (u8)kept;
    }
}

// ---- Contrast

#define TILE 32
#define TILE_ROWS 4
#define TILE_SIDE (TILE + 2 * MAX_RADIUS)

// A row of the window, counted: for each field how often that level occurs.
__device__ __forceinline__ u64 cambi_row(const u16* row, i32 window, u32 lowest) {
    u64 fields = 0;
#pragma unroll 4
    for (i32 x = 0; x < window; x++) {
        const u32 field = (u32)row[x] - lowest;
        fields += field < FIELDS ? (u64)1 << (field * FIELD_BITS) : 0;
    }
    return fields;
}

extern "C" __global__ void __launch_bounds__(THREADS) cambi_contrast(CambiArguments a) {
    // An odd number of words to a row: columns of a tile lie in different banks.
    __shared__ u16 levels[TILE_SIDE][TILE_SIDE + 2];
    i32 scale = SCALES - 1;
    while (scale > 0 && (i32)blockIdx.x < a.first_tile[scale]) {
        scale--;
    }
    const i32 width = a.width[scale], height = a.height[scale], radius = a.window / 2;
    const i32 across = (width + TILE - 1) / TILE, tile = blockIdx.x - a.first_tile[scale];
    const i32 x0 = tile % across * TILE, y0 = tile / across * TILE;
    const u64 start = blockIdx.z * a.area + a.offset[scale];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

    const i32 side = TILE + 2 * radius;
    for (i32 r = warp; r < side; r += THREADS / 32) {
        const i32 y = y0 - radius + r;
        for (i32 c = lane; c < side; c += 32) {
            const i32 x = x0 - radius + c;
            const bool inside = x >= 0 && x < width && y >= 0 && y < height;
            levels[r][c] = inside ? a.level[start + (u64)y * width + x] : (u16)NO_LEVEL;
        }
    }
    __syncthreads();

    u32 counts[FIELDS];
    u32 counted = NO_LEVEL;
    for (i32 r = warp * TILE_ROWS; r < (warp + 1) * TILE_ROWS; r++) {
        const u32 level = levels[r + radius][lane + radius];
        const u32 steps = level == NO_LEVEL ? 0 : a.active[level];
        float strongest = 0;
        if (steps) {
            const u32 lowest = level - REACH;
            if (level == counted) {
                const u64 enters = cambi_row(&levels[r + 2 * radius][lane], a.window, lowest);
                const u64 leaves = cambi_row(&levels[r - 1][lane], a.window, lowest);
#pragma unroll
                for (i32 i = 0; i < FIELDS; i++) {
                    counts[i] += (u32)(enters >> (i * FIELD_BITS)) & 127u;
                    counts[i] -= (u32)(leaves >> (i * FIELD_BITS)) & 127u;
                }
            } else {
#pragma unroll
                for (i32 i = 0; i < FIELDS; i++) {
                    counts[i] = 0;
                }
                for (i32 y = 0; y < a.window; y++) {
                    const u64 fields = cambi_row(&levels[r + y][lane], a.window, lowest);
#pragma unroll
                    for (i32 i = 0; i < FIELDS; i++) {
                        counts[i] += (u32)(fields >> (i * FIELD_BITS)) & 127u;
                    }
                }
            }
            const u32 own = counts[REACH];
#pragma unroll
            for (i32 size = 1; size <= REACH; size++) {
                const u32 above = counts[REACH + size], below = counts[REACH - size];
                const u32 other = above > below ? above : below;
                // The weights of the first four steps are their sizes.
                const float product = __int2float_rn((i32)(own * size * other));
                const float strength = __fmul_rn(product, a.reciprocal[own + other]);
                strongest = (steps >> (size - 1) & 1) && strength > strongest ? strength : strongest;
            }
        }
        counted = steps ? level : NO_LEVEL;
        if (x0 + lane < width && y0 + r < height) {
            a.strength[start + (u64)(y0 + r) * width + x0 + lane] = strongest;
        }
    }
}

// ---- The strongest share

#define FINE_BITS 14
// Bins of the upper bits; those of 0.5 have number 1.
#define FIRST_BIN 64511
#define COARSE 7681
#define FINE (1 << FINE_BITS)
#define POOL_CHUNK 32768

// In units of 2^-24.
__device__ __forceinline__ u64 cambi_fixed(u32 bits) {
    return (u64)((bits & 0x7fffffu) | 0x800000u) << ((bits >> 23) - 126u);
}

__device__ __forceinline__ u32* cambi_coarse_bins(const CambiArguments& a, i32 scale, u32 picture) {
    return a.counters + picture * a.counters_frame + scale * (COARSE + FINE);
}

__device__ __forceinline__ u64* cambi_partial(const CambiArguments& a, i32 scale, u32 picture) {
    return a.partial + picture * a.partial_frame + 2 * scale;
}

struct Found {
    u32 bin;
    u32 left;
    u32 total;
};

// The bin that holds the n-th largest value, and which of the bin's values that is. All threads of the block take part.
__device__ __forceinline__ Found cambi_find(const u32* bins, i32 length, u32 n) {
    __shared__ u32 suffix[THREADS + 1];
    __shared__ Found found;
    const i32 each = (length + THREADS - 1) / THREADS, t = threadIdx.x;
    const i32 first = t * each, last = first + each < length ? first + each : length;
    u32 sum = 0;
    for (i32 i = first; i < last; i++) {
        sum += bins[i];
    }
    suffix[t] = sum;
    if (t == 0) {
        suffix[THREADS] = 0;
        found.bin = 0;
        found.left = 0;
    }
    __syncthreads();
    for (i32 distance = 1; distance < THREADS; distance *= 2) {
        const u32 more = t + distance < THREADS ? suffix[t + distance] : 0;
        __syncthreads();
        suffix[t] += more;
        __syncthreads();
    }
    if (t == 0) {
        found.total = suffix[0];
    }
    if (suffix[t] >= n && suffix[t + 1] < n) {
        u32 left = n - suffix[t + 1];
        i32 bin = last - 1;
        while (left > bins[bin]) {
            left -= bins[bin];
            bin--;
        }
        found.bin = (u32)bin;
        found.left = left;
    }
    __syncthreads();
    const Found result = found;
    __syncthreads();
    return result;
}

// Counts the upper bits of all strengths, and adds the strengths up.
extern "C" __global__ void __launch_bounds__(THREADS) cambi_coarse(CambiArguments a) {
    __shared__ u32 bins[COARSE];
    const i32 scale = blockIdx.y, length = a.width[scale] * a.height[scale];
    const i32 first = blockIdx.x * POOL_CHUNK, last = first + POOL_CHUNK < length ? first + POOL_CHUNK : length;
    if (first >= length) {
        return;
    }
    for (i32 i = threadIdx.x; i < COARSE; i += THREADS) {
        bins[i] = 0;
    }
    __syncthreads();
    const float* strength = a.strength + blockIdx.z * a.area + a.offset[scale];
    u64 sum = 0;
    for (i32 i = first + threadIdx.x; i < last; i += THREADS) {
        const u32 bits = (u32)__float_as_int(strength[i]);
        if (bits) {
            sum += cambi_fixed(bits);
            atomicAdd(&bins[(bits >> FINE_BITS) - FIRST_BIN], 1u);
        }
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0 && sum) {
        atomicAdd(cambi_partial(a, scale, blockIdx.z), sum);
    }
    __syncthreads();
    u32* all = cambi_coarse_bins(a, scale, blockIdx.z);
    for (i32 i = threadIdx.x; i < COARSE; i += THREADS) {
        if (bins[i]) {
            atomicAdd(&all[i], bins[i]);
        }
    }
}

// Counts the lower bits of those strengths that have the upper bits of the n-th, and adds up what lies above.
extern "C" __global__ void __launch_bounds__(THREADS) cambi_fine(CambiArguments a) {
    // Two counters to a number: a chunk has fewer than 2^16 values.
    __shared__ u32 bins[FINE / 2];
    const i32 scale = blockIdx.y, length = a.width[scale] * a.height[scale];
    const i32 first = blockIdx.x * POOL_CHUNK, last = first + POOL_CHUNK < length ? first + POOL_CHUNK : length;
    if (first >= length) {
        return;
    }
    u32* coarse = cambi_coarse_bins(a, scale, blockIdx.z);
    const Found found = cambi_find(coarse, COARSE, (u32)a.count[scale]);
    if (found.total <= (u32)a.count[scale]) {
        return;
    }
    for (i32 i = threadIdx.x; i < FINE / 2; i += THREADS) {
        bins[i] = 0;
    }
    __syncthreads();
    const float* strength = a.strength + blockIdx.z * a.area + a.offset[scale];
    const u32 upper = found.bin + FIRST_BIN;
    u64 sum = 0;
    for (i32 i = first + threadIdx.x; i < last; i += THREADS) {
        const u32 bits = (u32)__float_as_int(strength[i]);
        if (bits >> FINE_BITS > upper) {
            sum += cambi_fixed(bits);
        } else if (bits >> FINE_BITS == upper) {
            const u32 bin = bits & (FINE - 1);
            atomicAdd(&bins[bin / 2], bin % 2 ? 1u << 16 : 1u);
        }
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0 && sum) {
        atomicAdd(cambi_partial(a, scale, blockIdx.z) + 1, sum);
    }
    __syncthreads();
    u32* all = coarse + COARSE;
    for (i32 i = threadIdx.x; i < FINE / 2; i += THREADS) {
        if (bins[i] & 0xffffu) {
            atomicAdd(&all[2 * i], bins[i] & 0xffffu);
        }
        if (bins[i] >> 16) {
            atomicAdd(&all[2 * i + 1], bins[i] >> 16);
        }
    }
}

// The sum of the largest strengths and the smallest of them, of which the exponent alone is looked at.
extern "C" __global__ void __launch_bounds__(THREADS) cambi_total(CambiArguments a) {
    __shared__ u64 sums[THREADS / 32];
    const i32 scale = blockIdx.x;
    const u32* coarse = cambi_coarse_bins(a, scale, blockIdx.z);
    const u32* fine = coarse + COARSE;
    const u64* partial = cambi_partial(a, scale, blockIdx.z);
    u64* out = a.sums + blockIdx.z * a.stride + 2 * scale;
    const u32 count = (u32)a.count[scale];
    const Found upper = cambi_find(coarse, COARSE, count);
    if (upper.total <= count) {
        // The smallest of all.
        const Found smallest = cambi_find(coarse, COARSE, upper.total);
        if (threadIdx.x == 0) {
            out[0] = partial[0];
            out[1] = upper.total ? (u64)(smallest.bin + FIRST_BIN) << FINE_BITS : 0;
        }
        return;
    }
    const Found lower = cambi_find(fine, FINE, upper.left);
    const u32 high = (upper.bin + FIRST_BIN) << FINE_BITS;
    u64 sum = 0;
    for (i32 i = lower.bin + 1 + threadIdx.x; i < FINE; i += THREADS) {
        sum += fine[i] * cambi_fixed(high | (u32)i);
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) {
        sums[threadIdx.x >> 5] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 total = partial[1] + lower.left * cambi_fixed(high | lower.bin);
        for (i32 warp = 0; warp < THREADS / 32; warp++) {
            total += sums[warp];
        }
        out[0] = total;
        out[1] = high | lower.bin;
    }
}
