
// ADM: decouples the distorted picture's coefficients into what is restored of the reference and what was added, weighs
// them, and sums the cubes of what lies above the masking threshold of the neighbours, row by row, because libvmaf rounds
// the sum of each row.
//
// A workgroup covers 32 columns and 8 rows. Each invocation decouples one place, some of them also one of the places
// around the tile; what a place adds to the threshold of its neighbours goes to workgroup memory. The number formats of
// the first scale and of the others are in the files of their own.

struct Arguments {
    header: Header,
    bands: Word,
    band: Word,
    band_frame: Word,
    // Sums of rows: `row_capacity` numbers for each of the nine sums, `rows_frame` numbers to the next frame.
    rows: Word,
    rows_frame: Word,
    row_capacity: i32,
    pitch: i32,
    // Size of a band, and the part of it that is scored.
    width: i32,
    height: i32,
    first_column: i32,
    last_column: i32,
    first_row: i32,
    last_row: i32,
    strip_rows: i32,
    // Shifts of cubes above the threshold, and of the energy of the later scales.
    square_shift: array<i32, 3>,
    cube_shift: array<i32, 3>,
    energy_square_shift: i32,
    energy_cube_shift: i32,
    // How detail may grow and still count as the reference's: 0 for a limit of 1, 1 for one of 100, 2 for another.
    gain_kind: i32,
    gain_limit: Word,
    // The squared cosine from which on two directions are the same, a single-precision number.
    bound: Word,
    weights: array<Word, 3>,
}

const COLUMNS: u32 = 32u;
const ROWS: u32 = 8u;
const AROUND: u32 = 34u;
// Sums of a scale: restored, additive and energy of the reference, for the horizontal, vertical and diagonal band.
const RESTORED: u32 = 0u;
const ADDITIVE: u32 = 3u;
const ENERGY: u32 = 6u;
const KINDS: u32 = 9u;

// What each place of the tile and around it adds to the threshold of its neighbours.
var<workgroup> additive_spread: array<u32, 340>;
var<workgroup> restored_spread: array<u32, 340>;
var<workgroup> row_sums: array<atomic<u32>, 144>;

// A place's coefficients: of the reference, what is restored of them, and what was added.
struct Place {
    reference: vec3<i32>,
    restored: vec3<i32>,
    additive: vec3<i32>,
}

// What all coefficients add to the masking threshold of their neighbours, and how much more to their own.
struct Threshold {
    spread: u32,
    centre: u32,
}

// 2^30 / i, rounded down, for 0 < i <= 2^15; nothing is kept of a coefficient that is zero.
fn reciprocal(i: u32) -> u32 {
    return select((1u << 30u) / max(i, 1u), 0u, i == 0u);
}

fn with_sign_of(sign: i32, value: i32) -> i32 {
    let mask = sign >> 31u;
    return (value ^ mask) - mask;
}

fn magnitude_of(value: i32) -> u32 {
    return select(bitcast<u32>(value), 0u - bitcast<u32>(value), value < 0);
}

// An integer rounded to single precision.
fn single(value: u64) -> Float {
    let length = bit_length(value);
    if length <= 24u {
        return Float(value, 0);
    }
    let shift = length - 24u;
    let unit = 1lu << shift;
    return Float(rounded_up(value >> shift, value & (unit - 1lu), unit >> 1u), i32(shift));
}

fn long_magnitude(value: i64) -> u64 {
    return select(u64(value), 0lu - u64(value), value < 0li);
}

// Whether the squared cosine of two vectors' angle reaches the bound: both * both >= bound * alone * other, the three
// rounded to single precision and the right side to double precision; the left one and the first product are exact.
fn same_direction(both: i64, alone: i64, other: i64) -> bool {
    if both < 0li {
        return false;
    }
    if alone == 0li || other == 0li || (alone < 0li) != (other < 0li) {
        return true;
    }
    if both == 0li {
        return false;
    }
    let numerator = single(u64(both));
    let left = numerator.mantissa * numerator.mantissa;
    let one = single(long_magnitude(alone));
    let two = single(long_magnitude(other));
    let bound = float_of(a.bound);
    let product = Float((bound.mantissa >> 29u) * one.mantissa, bound.exponent + 29 + one.exponent);
    let right = times_integer(normalised(product), low_word(two.mantissa));
    let left_length = bit_length(left);
    let right_length = bit_length(right.mantissa);
    let left_end = i32(left_length) + 2 * numerator.exponent;
    let right_end = i32(right_length) + right.exponent + two.exponent;
    if left_end != right_end {
        return left_end > right_end;
    }
    return (left << (63u - left_length)) >= (right.mantissa << (63u - right_length));
}

// What is restored where the direction is the same: up to the distorted picture's detail, within the gain limit.
fn enhanced(part: i32, t: i32) -> i32 {
    let limit = magnitude_of(t);
    let size = magnitude_of(part);
    var grown = min(size, limit);
    if a.gain_kind == 1 {
        grown = low_word(min(100lu * u64(size), u64(limit)));
    } else if a.gain_kind == 2 && size != 0u {
        grown = low_word(min(truncated(times_integer(float_of(a.gain_limit), size)), u64(limit)));
    }
    return with_sign_of(t, bitcast<i32>(min(grown, 0x7fffffffu)));
}

fn decoupled(frame: u32, column: i32, row: i32) -> Place {
    // Mirrored without the edge at the start, with it at the end.
    let x = select(select(column, a.width - 1, column >= a.width), 1, column < 0);
    let y = select(select(row, a.height - 1, row >= a.height), 1, row < 0);
    let first = frame * a.band_frame.low + u32(y * a.pitch + x);
    var o = vec3(0);
    var t = vec3(0);
    for (var band = 0u; band < 3u; band++) {
        o[band] = coefficient(first + band * a.band.low);
        t[band] = coefficient(first + (3u + band) * a.band.low);
    }
    let parallel = same_direction(
        i64(o.x) * i64(t.x) + i64(o.y) * i64(t.y),
        i64(o.x) * i64(o.x) + i64(o.y) * i64(o.y),
        i64(t.x) * i64(t.x) + i64(t.y) * i64(t.y),
    );
    var restored = vec3(0);
    for (var band = 0u; band < 3u; band++) {
        restored[band] = restored_of(o[band], t[band]);
        if parallel {
            restored[band] = enhanced(restored[band], t[band]);
        }
    }
    return Place(o, restored, t - restored);
}

fn spread_to(place: u32, values: Place) {
    additive_spread[place] = threshold_of(values.additive).spread;
    if AIM {
        restored_spread[place] = threshold_of(values.restored).spread;
    }
}

// The cube of what is above the threshold. Squares and cubes are rounded after a shift; what does not fit wraps.
fn cube_above(band: u32, magnitude: i32, threshold: u32) -> u64 {
    let above = i64(max(bitcast<i32>(bitcast<u32>(magnitude) - threshold), 0));
    let square_shift = u32(a.square_shift[band]);
    let cube_shift = u32(a.cube_shift[band]);
    let squared = i64(i32((above * above + (1li << (square_shift - 1u))) >> square_shift));
    let round = i64((1lu << cube_shift) >> 1u);
    return u64((squared * above + round) >> cube_shift);
}

fn add_row_sum(row: u32, kind: u32, value: u64) {
    let place = 2u * (row * KINDS + kind);
    let low = low_word(value);
    let before = atomicAdd(&row_sums[place], low);
    let high = high_word(value) + select(0u, 1u, before + low < before);
    if high != 0u {
        atomicAdd(&row_sums[place + 1u], high);
    }
}

fn additive_around(place: u32) -> u32 {
    var sum = 0u;
    for (var row = 0u; row < 3u; row++) {
        let first = place + row * AROUND;
        sum += additive_spread[first] + additive_spread[first + 1u] + additive_spread[first + 2u];
    }
    return sum;
}

fn restored_around(place: u32) -> u32 {
    var sum = 0u;
    for (var row = 0u; row < 3u; row++) {
        let first = place + row * AROUND;
        sum += restored_spread[first] + restored_spread[first + 1u] + restored_spread[first + 2u];
    }
    return sum;
}

// The n-th of the 84 places around a tile, from its upper left corner on.
fn place_around(n: u32) -> vec2<u32> {
    if n < AROUND {
        return vec2(n, 0u);
    }
    if n < 2u * AROUND {
        return vec2(n - AROUND, ROWS + 1u);
    }
    let side = n - 2u * AROUND;
    return vec2(select(0u, AROUND - 1u, side >= ROWS), 1u + side % ROWS);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x0 = a.first_column + i32(group.x * COLUMNS);
    let y0 = a.first_row + i32((group.y + a.header.first_group) * ROWS);
    let x = lane % COLUMNS;
    let y = lane / COLUMNS;
    let own = decoupled(group.z, x0 + i32(x), y0 + i32(y));
    spread_to((y + 1u) * AROUND + x + 1u, own);
    if lane < 2u * AROUND + 2u * ROWS {
        let around = place_around(lane);
        let values = decoupled(group.z, x0 + i32(around.x) - 1, y0 + i32(around.y) - 1);
        spread_to(around.y * AROUND + around.x, values);
    }
    workgroupBarrier();

    if x0 + i32(x) < a.last_column && y0 + i32(y) < a.last_row {
        let place = y * AROUND + x;
        let threshold = threshold_of(own.additive).centre + additive_around(place);
        for (var band = 0u; band < 3u; band++) {
            let cube = cube_above(band, weighted(band, own.restored[band]), lifted(threshold, band));
            add_row_sum(y, RESTORED + band, cube);
            add_row_sum(y, ENERGY + band, energy_of(own.reference[band]));
        }
        if AIM {
            let other = threshold_of(own.restored).centre + restored_around(place);
            for (var band = 0u; band < 3u; band++) {
                let cube = cube_above(band, weighted(band, own.additive[band]), lifted(other, band));
                add_row_sum(y, ADDITIVE + band, cube);
            }
        }
    }
    workgroupBarrier();

    if lane < ROWS * KINDS {
        let row = lane / KINDS;
        let kind = lane - row * KINDS;
        if y0 + i32(row) < a.last_row {
            let first = total_of(a.rows) + group.z * a.rows_frame.low + kind * u32(a.row_capacity);
            let low = u64(atomicLoad(&row_sums[2u * lane]));
            let high = u64(atomicLoad(&row_sums[2u * lane + 1u]));
            add_total(first + u32(y0) + row, low | (high << 32u));
        }
    }
}
