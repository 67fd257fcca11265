
// Visual information fidelity: local moments of both pictures under a Gaussian window, and the information that the
// distorted picture still has about the reference.
//
// A workgroup covers a tile of 4 rows and 128 columns, of which those at its sides are neighbours only. Each invocation
// filters one column down, five moments a row; the moments go to workgroup memory, and then each invocation finishes a
// few pixels along the rows. Columns outside the picture are mirrored by the invocation that filters them, so the second
// pass has no edges. Lines that name the taps of a scale are put in where DOWN and ALONG stand.

struct Arguments {
    header: Header,
    pictures: Pictures,
    gains: array<Word, 4>,
    gain_count: i32,
    // Of frame 0 and this scale; those of the next frame are `stride` further on.
    stride: i32,
    sums: Word,
}

const COLUMNS: u32 = 128u;
const ROWS: u32 = 4u;
const PLANE: u32 = 512u;
const WIDTH: u32 = COLUMNS - 2u * u32(RADIUS);
// Variance of the visual noise, 2.0 with 16 fractional bits.
const SIGMA_NSQ: i32 = 131072;

// Where the sums of a scale stand: these, then one for each gain limit.
const DEN_LOG: u32 = 0u;
const NUM_PLAIN: u32 = 1u;
const DEN_PLAIN: u32 = 2u;
const NUM_LOG: u32 = 3u;
const NUM_PLAIN_HIGH: u32 = 7u;

var<workgroup> moments: array<u32, 2560>;
// The lower words of all sums; only one of them needs an upper word within a workgroup.
var<workgroup> group_sums: array<atomic<u32>, 8>;

struct Moments {
    mean_ref: u32,
    mean_dis: u32,
    square_ref: Wide,
    square_dis: Wide,
    product: Wide,
}

struct Sums {
    num_plain: u64,
    den_log: i32,
    den_plain: u32,
    num_log: vec4<i32>,
}

fn down(sums: ptr<function, Moments>, tap: u32, reference: u32, distorted: u32, row: i32, column: i32) {
    let place = mirrored(row, a.pictures.height) * a.pictures.pitch + column;
    let p = sample(reference, place);
    let q = sample(distorted, place);
    (*sums).mean_ref += tap * p;
    (*sums).mean_dis += tap * q;
    (*sums).square_ref += Wide(tap) * Wide(p * p);
    (*sums).square_dis += Wide(tap) * Wide(q * q);
    (*sums).product += Wide(tap) * Wide(p * q);
}

fn moments_down(reference: u32, distorted: u32, y: i32, column: i32) -> Moments {
    var sums = Moments(0u, 0u, Wide(0), Wide(0), Wide(0));
    // DOWN
    return sums;
}

fn store_moments(place: u32, sums: Moments) {
    let mean_shift = select(16u, u32(a.pictures.depth), SCALE == 0);
    let product_shift = select(16u, 2u * u32(a.pictures.depth - 8), SCALE == 0);
    let mean_round = 1u << (mean_shift - 1u);
    let product_round = (Wide(1) << product_shift) >> 1u;
    moments[place] = (sums.mean_ref + mean_round) >> mean_shift;
    moments[place + PLANE] = (sums.mean_dis + mean_round) >> mean_shift;
    moments[place + 2u * PLANE] = u32((sums.square_ref + product_round) >> product_shift);
    moments[place + 3u * PLANE] = u32((sums.square_dis + product_round) >> product_shift);
    moments[place + 4u * PLANE] = u32((sums.product + product_round) >> product_shift);
}

// The product of two means that carry 24 fractional bits, rounded to 16.
fn product_of_means(one: u32, two: u32) -> u32 {
    return high_word(u64(one) * u64(two) + 0x80000000lu);
}

struct Pixel {
    variance_ref: i32,
    variance_dis: i32,
    covariance: i32,
}

fn pixel_along(place: u32) -> Pixel {
    var mean_ref = 0u;
    var mean_dis = 0u;
    var square_ref = 32768lu;
    var square_dis = 32768lu;
    var product = 32768lu;
    // ALONG
    return Pixel(
        bitcast<i32>(u32(square_ref >> 16u) - product_of_means(mean_ref, mean_ref)),
        bitcast<i32>(u32(square_dis >> 16u) - product_of_means(mean_dis, mean_dis)),
        bitcast<i32>(u32(product >> 16u) - product_of_means(mean_ref, mean_dis)),
    );
}

// Adds one pixel's information; variances and covariance have 16 fractional bits.
fn add_pixel(sums: ptr<function, Sums>, pixel: Pixel) {
    let variance_dis = u32(max(pixel.variance_dis, 0));
    if pixel.variance_ref < SIGMA_NSQ {
        (*sums).num_plain += u64(variance_dis);
        (*sums).den_plain += 1u;
        return;
    }
    let variance_ref = u32(pixel.variance_ref);
    (*sums).den_log += log2_of(u64(variance_ref + u32(SIGMA_NSQ))) - 17 * 2048;
    if pixel.covariance <= 0 || variance_dis == 0u {
        return;
    }
    let gain = gain_of(u32(pixel.covariance), variance_ref);
    let noise = noise_of(gain, u32(pixel.covariance), variance_dis) + u32(SIGMA_NSQ);
    let log_noise = log2_of(u64(noise));
    for (var g = 0; g < a.gain_count; g++) {
        let signal = signal_of(gain, float_of(a.gains[g]), variance_ref);
        (*sums).num_log[g] += log2_of(signal + u64(noise)) - log_noise;
    }
}

fn add_group_sums(sums: Sums) {
    atomicAdd(&group_sums[DEN_LOG], bitcast<u32>(sums.den_log));
    atomicAdd(&group_sums[DEN_PLAIN], sums.den_plain);
    let low = low_word(sums.num_plain);
    let before = atomicAdd(&group_sums[NUM_PLAIN], low);
    atomicAdd(&group_sums[NUM_PLAIN_HIGH], high_word(sums.num_plain) + select(0u, 1u, before + low < before));
    for (var g = 0; g < a.gain_count; g++) {
        atomicAdd(&group_sums[NUM_LOG + u32(g)], bitcast<u32>(sums.num_log[g]));
    }
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x0 = group.x * WIDTH;
    let y0 = (group.y + a.header.first_group) * ROWS;
    let reference = byte_of(a.pictures.reference) + group.z * a.pictures.frame.low;
    let distorted = byte_of(a.pictures.distorted) + group.z * a.pictures.frame.low;
    let column = mirrored(i32(x0 + lane) - RADIUS, a.pictures.width);
    for (var r = 0u; r < ROWS; r++) {
        store_moments(r * COLUMNS + lane, moments_down(reference, distorted, i32(y0 + r), column));
    }
    workgroupBarrier();

    var sums = Sums(0lu, 0, 0u, vec4(0));
    for (var i = lane; i < ROWS * WIDTH; i += COLUMNS) {
        let r = i / WIDTH;
        let x = i - r * WIDTH;
        if i32(y0 + r) < a.pictures.height && i32(x0 + x) < a.pictures.width {
            add_pixel(&sums, pixel_along(r * COLUMNS + x));
        }
    }
    add_group_sums(sums);
    workgroupBarrier();

    if i32(lane) < i32(NUM_LOG) + a.gain_count {
        let low = atomicLoad(&group_sums[lane]);
        // Logarithms may be negative; all others are not.
        var value = u64(low);
        if lane == NUM_PLAIN {
            value |= u64(atomicLoad(&group_sums[NUM_PLAIN_HIGH])) << 32u;
        } else if lane != DEN_PLAIN {
            value = u64(i64(bitcast<i32>(low)));
        }
        add_total(total_of(a.sums) + group.z * u32(a.stride) + lane, value);
    }
}
