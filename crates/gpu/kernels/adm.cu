// ADM: detail that is lost and detail that is added, over four scales of a wavelet transform.
//
// For each scale, `adm_wavelet_*` transforms both pictures: a thread filters one column down for eight output rows, the
// results go to shared memory, and every warp filters one row along. It writes the approximation, which the next scale
// transforms, and three detail bands.
//
// `adm_mask_*` then walks down the bands, a warp to a strip of 30 columns and a neighbour on each side. A lane splits the
// distorted picture's coefficients into what is kept of the reference and what was added, weighs them, and learns from
// the lanes beside it what they add to its masking threshold; the sums of three rows are kept in registers. Cubes above
// the threshold are summed for every row of the band, because libvmaf rounds the sum of each row: `rows` has a number
// for each of the nine sums of every row, to which all strips add.
//
// `adm_total` rounds the sums of rows and adds them up.
//
// Widths differ by scale as on the CPU: the first has 16-bit coefficients, the others 32-bit ones.

#include "common.cuh"

// Sums of a scale: kept, added and energy of the reference, for the horizontal, vertical and diagonal band.
#define KEPT 0
#define ADDED 3
#define ENERGY 6
#define BAND_SUMS 9

// The index at which a filter over `length` samples reads: mirrored without the edge at the start, with it at the end.
__device__ __forceinline__ i32 wavelet_index(i32 index, i32 length) {
    index = index < 0 ? -index : index;
    index = index >= length ? 2 * length - 1 - index : index;
    return index < 0 ? 0 : index;
}

__device__ __forceinline__ i32 low_tap(i32 k) {
    return k == 0 ? 15826 : k == 1 ? 27411 : k == 2 ? 7345 : -4240;
}

__device__ __forceinline__ i32 high_tap(i32 k) {
    return k == 0 ? -4240 : k == 1 ? -7345 : k == 2 ? 27411 : -15826;
}

struct WaveletArguments {
    // What is transformed: samples, or approximations of the scale before.
    Pictures pictures;
    // Approximation of both pictures: `low_picture` numbers from the reference to the distorted one, `low_frame` to the
    // next frame.
    void* low;
    u64 low_picture;
    u64 low_frame;
    // Horizontal, vertical and diagonal band of the reference, then of the distorted picture, `band` numbers apart.
    void* bands;
    u64 band;
    u64 band_frame;
    // Numbers between the rows of `low` and of the bands.
    i32 pitch;
    // The columns and rows of the output that are written.
    i32 first_column;
    i32 last_column;
    i32 first_row;
    i32 last_row;
    // Whether detail is wanted.
    i32 detail;
    // Bits that the pass along the row drops, in the third and fourth scale.
    i32 along;
    i32 unused;
};

// Number formats of the scales. `Column` is what lies between the passes, `Accumulator` what the pass down adds up in.
template <typename T>
struct FirstScale {
    typedef T Input;
    typedef u32 Accumulator;
    typedef i16 Output;
    static __device__ __forceinline__ u32 low_start(i32 depth) {
        // Samples are centred around zero; the low-pass taps sum to 46342.
        return (1u << (depth - 1)) - 46342u * (1u << (depth - 1));
    }
    static __device__ __forceinline__ u32 high_start(i32 depth) {
        return 1u << (depth - 1);
    }
    static __device__ __forceinline__ void add(u32& sum, i32 tap, T value) {
        sum += (u32)tap * (u32)value;
    }
    static __device__ __forceinline__ i32 column(u32 sum, i32 depth) {
        return (i16)((i32)sum >> depth);
    }
    static __device__ __forceinline__ i32 along(i32 a, i32 b, i32 c, i32 d, bool high, i32) {
        const u32 sum = high ? (u32)high_tap(0) * a + (u32)high_tap(1) * b + (u32)high_tap(2) * c + (u32)high_tap(3) * d
                             : (u32)low_tap(0) * a + (u32)low_tap(1) * b + (u32)low_tap(2) * c + (u32)low_tap(3) * d;
        return (i32)(sum + (1u << 15)) >> 16;
    }
};

// Rounded to the nearest, halves up.
__device__ __forceinline__ i32 wide_along(i32 a, i32 b, i32 c, i32 d, bool high, i32 shift) {
    const i64 sum = high ? (i64)high_tap(0) * a + (i64)high_tap(1) * b + (i64)high_tap(2) * c + (i64)high_tap(3) * d
                         : (i64)low_tap(0) * a + (i64)low_tap(1) * b + (i64)low_tap(2) * c + (i64)low_tap(3) * d;
    return (i32)((sum + (1ll << (shift - 1))) >> shift);
}

// The pass down the columns is exact.
struct SecondScale {
    typedef i16 Input;
    typedef u32 Accumulator;
    typedef i32 Output;
    static __device__ __forceinline__ u32 low_start(i32) {
        return 0;
    }
    static __device__ __forceinline__ u32 high_start(i32) {
        return 0;
    }
    static __device__ __forceinline__ void add(u32& sum, i32 tap, i16 value) {
        sum += (u32)(tap * value);
    }
    static __device__ __forceinline__ i32 column(u32 sum, i32) {
        return (i32)sum;
    }
    static __device__ __forceinline__ i32 along(i32 a, i32 b, i32 c, i32 d, bool high, i32) {
        return wide_along(a, b, c, d, high, 15);
    }
};

struct LaterScale {
    typedef i32 Input;
    typedef i64 Accumulator;
    typedef i32 Output;
    static __device__ __forceinline__ i64 low_start(i32) {
        return 1 << 15;
    }
    static __device__ __forceinline__ i64 high_start(i32) {
        return 1 << 15;
    }
    static __device__ __forceinline__ void add(i64& sum, i32 tap, i32 value) {
        sum += (i64)tap * value;
    }
    static __device__ __forceinline__ i32 column(i64 sum, i32) {
        return (i32)(sum >> 16);
    }
    static __device__ __forceinline__ i32 along(i32 a, i32 b, i32 c, i32 d, bool high, i32 shift) {
        return wide_along(a, b, c, d, high, shift);
    }
};

// Outputs of a tile: each reads two columns, and two more are read beside them.
#define WAVELET_WIDTH 124

template <typename Scale>
__device__ __forceinline__ void adm_wavelet(const WaveletArguments& a) {
    typedef typename Scale::Input Input;
    typedef typename Scale::Accumulator Accumulator;
    typedef typename Scale::Output Output;
    __shared__ __align__(16) i32 columns[2][ROWS][THREADS];
    const i32 width = a.pictures.width, height = a.pictures.height, depth = a.pictures.depth;
    const i32 x0 = a.first_column + blockIdx.x * WAVELET_WIDTH, y0 = a.first_row + blockIdx.y * ROWS;
    const i32 frames = gridDim.z / 2;
    const i32 picture = (i32)blockIdx.z >= frames;
    const i32 frame = picture ? blockIdx.z - frames : blockIdx.z;
    {
        const u8* first = picture ? a.pictures.distorted : a.pictures.reference;
        const Input* source = (const Input*)(first + frame * a.pictures.frame);
        const i32 column = wavelet_index(2 * x0 - 1 + (i32)threadIdx.x, width);
        Accumulator low[ROWS], high[ROWS];
#pragma unroll
        for (i32 r = 0; r < ROWS; r++) {
            low[r] = Scale::low_start(depth);
            high[r] = Scale::high_start(depth);
        }
#pragma unroll
        for (i32 k = 0; k < 2 * ROWS + 2; k++) {
            const Input value = source[wavelet_index(2 * y0 - 1 + k, height) * a.pictures.pitch + column];
#pragma unroll
            for (i32 r = 0; r < ROWS; r++) {
                const i32 t = k - 2 * r;
                if (t >= 0 && t < 4) {
                    Scale::add(low[r], low_tap(t), value);
                    Scale::add(high[r], high_tap(t), value);
                }
            }
        }
#pragma unroll
        for (i32 r = 0; r < ROWS; r++) {
            columns[0][r][threadIdx.x] = Scale::column(low[r], depth);
            columns[1][r][threadIdx.x] = Scale::column(high[r], depth);
        }
    }
    __syncthreads();

    const i32 lane = threadIdx.x & 31, r = threadIdx.x >> 5;
    if (y0 + r >= a.last_row) {
        return;
    }
    Output* low = (Output*)a.low + frame * a.low_frame + picture * a.low_picture;
    Output* bands = (Output*)a.bands + frame * a.band_frame + 3 * picture * a.band;
    for (i32 x = lane; x < WAVELET_WIDTH && x0 + x < a.last_column; x += 32) {
        const u64 place = (u64)(y0 + r) * a.pitch + x0 + x;
        const int2 l0 = *(const int2*)(columns[0][r] + 2 * x), l1 = *(const int2*)(columns[0][r] + 2 * x + 2);
        low[place] = (Output)Scale::along(l0.x, l0.y, l1.x, l1.y, false, a.along);
        if (a.detail) {
            const int2 h0 = *(const int2*)(columns[1][r] + 2 * x), h1 = *(const int2*)(columns[1][r] + 2 * x + 2);
            bands[place] = (Output)Scale::along(h0.x, h0.y, h1.x, h1.y, false, a.along);
            bands[a.band + place] = (Output)Scale::along(l0.x, l0.y, l1.x, l1.y, true, a.along);
            bands[2 * a.band + place] = (Output)Scale::along(h0.x, h0.y, h1.x, h1.y, true, a.along);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) adm_wavelet_u8(WaveletArguments a) {
    adm_wavelet<FirstScale<u8> >(a);
}
extern "C" __global__ void __launch_bounds__(THREADS) adm_wavelet_u16(WaveletArguments a) {
    adm_wavelet<FirstScale<u16> >(a);
}
extern "C" __global__ void __launch_bounds__(THREADS) adm_wavelet_1(WaveletArguments a) {
    adm_wavelet<SecondScale>(a);
}
extern "C" __global__ void __launch_bounds__(THREADS) adm_wavelet_2(WaveletArguments a) {
    adm_wavelet<LaterScale>(a);
}

struct MaskArguments {
    const void* bands;
    u64 band;
    u64 band_frame;
    // Sums of rows: `row_capacity` numbers for each of the nine sums, `rows_frame` numbers to the next frame.
    u64* rows;
    u64 rows_frame;
    i32 row_capacity;
    i32 pitch;
    // Size of a band, and the part of it that is scored.
    i32 width;
    i32 height;
    i32 first_column;
    i32 last_column;
    i32 first_row;
    i32 last_row;
    // Rows to a warp.
    i32 strip_rows;
    // Shifts of cubes above the threshold, and of the energy of the later scales.
    i32 square_shift[3];
    i32 cube_shift[3];
    i32 energy_square_shift;
    i32 energy_cube_shift;
    // How detail may grow and still count as the reference's: 0 for a limit of 1, 1 for one of 100, 2 for another.
    i32 gain_kind;
    double gain_limit;
    // The squared cosine from which on two directions are the same.
    double bound;
    i64 weights[3];
};

// 2^30 / i, rounded down, for 0 < i <= 2^15; nothing is kept of a coefficient that is zero.
__device__ __forceinline__ u32 reciprocal(u32 i) {
    return i == 0 ? 0 : (1u << 30) / i;
}

__device__ __forceinline__ i32 with_sign_of(i32 sign, i32 value) {
    const u32 mask = (u32)(sign >> 31);
    return (i32)(((u32)value ^ mask) - mask);
}

__device__ __forceinline__ u32 magnitude_of(i32 value) {
    return value < 0 ? 0u - (u32)value : (u32)value;
}

// What is kept where the direction is the same: up to the distorted picture's detail, within the gain limit.
__device__ __forceinline__ i32 enhanced(const MaskArguments& a, i32 part, i32 t) {
    const u32 limit = magnitude_of(t), size = magnitude_of(part);
    u32 grown;
    if (a.gain_kind == 0) {
        grown = size < limit ? size : limit;
    } else if (a.gain_kind == 1) {
        const u64 hundredfold = 100ull * size;
        grown = hundredfold < limit ? (u32)hundredfold : limit;
    } else {
        const double product = __dmul_rn((double)size, a.gain_limit);
        grown = product < (double)limit ? (u32)__double2uint_rz(product) : limit;
    }
    return with_sign_of(t, (i32)(grown < 0x7fffffffu ? grown : 0x7fffffffu));
}

__device__ __forceinline__ bool same_direction(double bound, float both, float alone, float other) {
    const double b = both;
    return b >= 0.0 && __dmul_rn(b, b) >= __dmul_rn(__dmul_rn(bound, (double)alone), (double)other);
}

// What all coefficients add to the masking threshold of their neighbours, and how much more to their own.
struct Threshold {
    u32 spread;
    u32 centre;
};

// The first scale: 16-bit coefficients; at extreme contrast thresholds lose their upper bits, as in libvmaf's scalar path.
struct ShortMask {
    typedef i16 Coefficient;

    static __device__ __forceinline__ float product(i32 a0, i32 a1, i32 b0, i32 b1) {
        return __int2float_rn(a0 * b0 + a1 * b1);
    }

    static __device__ __forceinline__ i32 kept(i32 o, i32 t) {
        const i32 size = o < 0 ? -o : o;
        i32 along = with_sign_of(o, t);
        // More than the whole is kept as the whole; held down to just above it, the product fits 32 bits.
        along = along < 0 ? 0 : along;
        along = along > size + 1 ? size + 1 : along;
        u32 share = (reciprocal(size) * (u32)along + (1u << 14)) >> 15;
        share = share < 32768u ? share : 32768u;
        return ((i32)share * o + (1 << 14)) >> 15;
    }

    static __device__ __forceinline__ i32 magnitude(const MaskArguments& a, i32 band, i32 value) {
        return (i32)magnitude_of((i32)((u32)value * (u32)a.weights[band]));
    }

    static __device__ __forceinline__ Threshold threshold(const MaskArguments& a, const i32* values) {
        u32 spread = 0, own = 0;
#pragma unroll
        for (i32 band = 0; band < 3; band++) {
            const u32 round = band == 2 ? 65535u : 16384u;
            const i32 shift = band == 2 ? 17 : 15;
            i32 size = (i16)((i32)((u32)values[band] * (u32)a.weights[band] + round) >> shift);
            size = size < 0 ? -size : size;
            spread += (i16)((4369 * size + 2048) >> 12);
            own += (i16)((8738 * size + 2048) >> 12);
        }
        return Threshold{spread, own - spread};
    }

    static __device__ __forceinline__ u32 lifted(u32 threshold, i32 band) {
        return threshold << (band == 2 ? 12 : 10);
    }

    static __device__ __forceinline__ u64 energy(const MaskArguments&, i32 value) {
        const u32 size = magnitude_of(value);
        return (u64)(size * size) * size;
    }
};

// The other scales.
struct LongMask {
    typedef i32 Coefficient;

    static __device__ __forceinline__ float product(i32 a0, i32 a1, i32 b0, i32 b1) {
        return __ll2float_rn((i64)((u64)((i64)a0 * b0) + (u64)((i64)a1 * b1)));
    }

    // The reciprocal is that of the leading 15 bits.
    static __device__ __forceinline__ i32 kept(i32 o, i32 t) {
        const u32 size = magnitude_of(o);
        const i32 zeros = __clz(size | 1u);
        const i32 shift = zeros < 17 ? 17 - zeros : 0;
        const u32 leading = (size + ((1u << shift) >> 1)) >> shift;
        const i64 along = o < 0 ? -(i64)t : (i64)t;
        // A shift of 17 belongs to the smallest number alone; there libvmaf's rounding term is negative.
        const i64 round = (i32)(1u << (14 + shift));
        const i64 quotient = ((i64)reciprocal(leading) * along + round) >> (15 + shift);
        const i64 share = quotient < 0 ? 0 : quotient > 32768 ? 32768 : quotient;
        return (i32)((share * o + (1 << 14)) >> 15);
    }

    static __device__ __forceinline__ i32 magnitude(const MaskArguments& a, i32 band, i32 value) {
        const i64 weighted = (i64)((u64)a.weights[band] * (u64)(i64)value + (1u << 27)) >> 28;
        return (i32)magnitude_of((i32)weighted);
    }

    // libvmaf's rounding term has the wrong sign, so that a half is subtracted.
    static __device__ __forceinline__ Threshold threshold(const MaskArguments& a, const i32* values) {
        u32 spread = 0, own = 0;
#pragma unroll
        for (i32 band = 0; band < 3; band++) {
            const i64 size = magnitude(a, band, values[band]);
            spread += (u32)((143165577ll * size - (1ll << 31)) >> 32);
            own += (u32)((286331153ll * size - (1ll << 31)) >> 32);
        }
        return Threshold{spread, own - spread};
    }

    static __device__ __forceinline__ u32 lifted(u32 threshold, i32) {
        return threshold;
    }

    // The square's rounding term is a whole unit, not a half.
    static __device__ __forceinline__ u64 energy(const MaskArguments& a, i32 value) {
        const u64 size = magnitude_of(value);
        const u64 squared = (size * size + (1ull << a.energy_square_shift)) >> a.energy_square_shift;
        return (squared * size + (1ull << (a.energy_cube_shift - 1))) >> a.energy_cube_shift;
    }
};

// The cube of what is above the threshold. Squares and cubes are rounded after a shift; what does not fit wraps.
__device__ __forceinline__ u64 cube_above(const MaskArguments& a, i32 band, i32 magnitude, u32 threshold) {
    const i32 difference = (i32)((u32)magnitude - threshold);
    const i64 above = difference > 0 ? difference : 0;
    const i32 square_shift = a.square_shift[band], cube_shift = a.cube_shift[band];
    const i64 squared = (i32)((above * above + (1ll << (square_shift - 1))) >> square_shift);
    const i64 round = cube_shift == 0 ? 0 : 1ll << (cube_shift - 1);
    return (u64)((squared * above + round) >> cube_shift);
}

// Sums of eight numbers over a warp at the price of little more than one: in every step a lane gives half of its numbers
// away and adds up the other half. Lane 4 * n then has sum n.
__device__ __forceinline__ u64 warp_sums(u64* values, i32 lane) {
#pragma unroll
    for (i32 step = 0; step < 3; step++) {
        const i32 distance = 16 >> step, half = 4 >> step;
        const bool upper = lane & distance;
#pragma unroll
        for (i32 i = 0; i < half; i++) {
            const u64 given = upper ? values[i] : values[i + half];
            const u64 held = upper ? values[i + half] : values[i];
            values[i] = held + __shfl_xor_sync(ALL_LANES, given, distance);
        }
    }
    values[0] += __shfl_xor_sync(ALL_LANES, values[0], 2);
    values[0] += __shfl_xor_sync(ALL_LANES, values[0], 1);
    return values[0];
}

// A sample on each side is a neighbour only.
#define MASK_WIDTH 30
#define MASK_WARPS (THREADS / 32)

// A row whose neighbours below are not known yet.
struct Waiting {
    i32 kept[3];
    i32 added[3];
    u32 kept_centre;
    u32 added_centre;
    u64 energy[3];
};

__device__ __forceinline__ u32 with_neighbours(u32 value) {
    return value + __shfl_up_sync(ALL_LANES, value, 1) + __shfl_down_sync(ALL_LANES, value, 1);
}

// `AIM`: whether the sums of added detail are wanted.
template <typename Mask, bool AIM>
__device__ __forceinline__ void adm_mask(const MaskArguments& a) {
    typedef typename Mask::Coefficient Coefficient;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i32 strip = a.first_column + (blockIdx.x * MASK_WARPS + warp) * MASK_WIDTH;
    if (strip >= a.last_column) {
        return;
    }
    const i32 column = strip - 1 + lane;
    const bool scored = lane > 0 && lane <= MASK_WIDTH && column < a.last_column;
    // Mirrored without the edge at the start, with it at the end.
    const i32 inside = column < 0 ? 1 : column >= a.width ? a.width - 1 : column;
    const i32 first = a.first_row + blockIdx.y * a.strip_rows;
    const i32 last = first + a.strip_rows < a.last_row ? first + a.strip_rows : a.last_row;
    const Coefficient* bands = (const Coefficient*)a.bands + blockIdx.z * a.band_frame + inside;
    u64* rows = a.rows + blockIdx.z * a.rows_frame;

    u32 kept_above = 0, kept_here = 0, added_above = 0, added_here = 0;
    Waiting waiting = {};
    for (i32 y = first - 1; y <= last; y++) {
        const i32 row = y < 0 ? 1 : y >= a.height ? a.height - 1 : y;
        i32 o[3], t[3], kept[3], added[3];
#pragma unroll
        for (i32 band = 0; band < 3; band++) {
            o[band] = bands[band * a.band + (u64)row * a.pitch];
            t[band] = bands[(3 + band) * a.band + (u64)row * a.pitch];
        }
        const bool parallel = same_direction(
            a.bound, Mask::product(o[0], o[1], t[0], t[1]), Mask::product(o[0], o[1], o[0], o[1]),
            Mask::product(t[0], t[1], t[0], t[1]));
#pragma unroll
        for (i32 band = 0; band < 3; band++) {
            kept[band] = Mask::kept(o[band], t[band]);
            kept[band] = parallel ? enhanced(a, kept[band], t[band]) : kept[band];
            added[band] = (i32)((u32)t[band] - (u32)kept[band]);
        }
        const Threshold by_added = Mask::threshold(a, added);
        const u32 added_below = with_neighbours(by_added.spread);
        Threshold by_kept = {0, 0};
        u32 kept_below = 0;
        if (AIM) {
            by_kept = Mask::threshold(a, kept);
            kept_below = with_neighbours(by_kept.spread);
        }
        if (y > first) {
            const u32 threshold = waiting.added_centre + added_above + added_here + added_below;
            u64 sums[8] = {0};
            u64 ninth = 0;
#pragma unroll
            for (i32 band = 0; band < 3; band++) {
                const u64 cube = cube_above(a, band, waiting.kept[band], Mask::lifted(threshold, band));
                sums[band] = scored ? cube : 0;
                sums[3 + band] = scored ? waiting.energy[band] : 0;
            }
            if (AIM) {
                const u32 other = waiting.kept_centre + kept_above + kept_here + kept_below;
#pragma unroll
                for (i32 band = 0; band < 3; band++) {
                    u64 cube = cube_above(a, band, waiting.added[band], Mask::lifted(other, band));
                    cube = scored ? cube : 0;
                    if (band < 2) {
                        sums[6 + band] = cube;
                    } else {
                        ninth = cube;
                    }
                }
                ninth = warp_sum(ninth);
            }
            const u64 sum = warp_sums(sums, lane);
            const i32 n = lane >> 2;
            if ((lane & 3) == 0 && (AIM || n < 6)) {
                const i32 kind = n < 3 ? KEPT + n : n < 6 ? ENERGY + n - 3 : ADDED + n - 6;
                atomicAdd(rows + kind * a.row_capacity + y - 1, sum);
            }
            if (AIM && lane == 1) {
                atomicAdd(rows + (ADDED + 2) * a.row_capacity + y - 1, ninth);
            }
        }
#pragma unroll
        for (i32 band = 0; band < 3; band++) {
            waiting.kept[band] = Mask::magnitude(a, band, kept[band]);
            waiting.energy[band] = Mask::energy(a, o[band]);
            if (AIM) {
                waiting.added[band] = Mask::magnitude(a, band, added[band]);
            }
        }
        waiting.added_centre = by_added.centre;
        added_above = added_here;
        added_here = added_below;
        if (AIM) {
            waiting.kept_centre = by_kept.centre;
            kept_above = kept_here;
            kept_here = kept_below;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) adm_mask_short(MaskArguments a) {
    adm_mask<ShortMask, false>(a);
}
extern "C" __global__ void __launch_bounds__(THREADS) adm_mask_short_aim(MaskArguments a) {
    adm_mask<ShortMask, true>(a);
}
extern "C" __global__ void __launch_bounds__(THREADS) adm_mask_long(MaskArguments a) {
    adm_mask<LongMask, false>(a);
}
extern "C" __global__ void __launch_bounds__(THREADS) adm_mask_long_aim(MaskArguments a) {
    adm_mask<LongMask, true>(a);
}

struct TotalArguments {
    const u64* rows;
    u64 rows_frame;
    // Nine sums for each scale, `stride` numbers to the next frame.
    u64* sums;
    i32 stride;
    i32 row_capacity;
    // For each scale: where its nine sums begin in `rows`, the rows that are scored, and the shifts of a row's sum.
    i32 start[4];
    i32 first_row[4];
    i32 last_row[4];
    i32 masked_shift[4];
    i32 energy_shift[4];
};

// A block to a scale of a frame, a warp to each sum.
extern "C" __global__ void __launch_bounds__(32 * BAND_SUMS) adm_total(TotalArguments a) {
    const i32 scale = blockIdx.x, kind = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const u64* rows = a.rows + blockIdx.z * a.rows_frame + a.start[scale] + kind * a.row_capacity;
    const i32 shift = kind < ENERGY ? a.masked_shift[scale] : a.energy_shift[scale];
    const u64 round = shift == 0 ? 0 : 1ull << (shift - 1);
    u64 sum = 0;
    for (i32 y = a.first_row[scale] + lane; y < a.last_row[scale]; y += 32) {
        const u64 row = rows[y] + round;
        sum += kind < ENERGY ? (u64)((i64)row >> shift) : row >> shift;
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        a.sums[blockIdx.z * a.stride + scale * BAND_SUMS + kind] = sum;
    }
}
