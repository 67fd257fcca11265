
// Motion: the difference of two reference pictures, blurred by a 5x5 window, as a sum of absolute values.
//
// A workgroup covers 124 columns and 8 rows. Each invocation filters one column down for the eight rows, then filters
// them along. Differences have up to 17 bits: where a sum of tap * value might not fit 32 bits, the upper bits and the
// lowest one are filtered apart.

struct Arguments {
    header: Header,
    // The two pictures of each frame of a batch. Where there is no earlier one, nothing is summed.
    earlier: array<Word, 32>,
    current: array<Word, 32>,
    // One sum for each frame, `stride` apart.
    sums: Word,
    stride: i32,
    pitch: i32,
    width: i32,
    height: i32,
    depth: i32,
    unused: i32,
}

const COLUMNS: u32 = 128u;
const WIDTH: i32 = 124;
const ROWS: i32 = 8;

var<workgroup> blurred: array<i32, 1024>;
var<workgroup> group_sum: atomic<u32>;

fn motion_tap(k: i32) -> u32 {
    return select(select(3571u, 16004u, k == 1 || k == 3), 26386u, k == 2);
}

// (sum of tap * value + half) >> shift, from the filtered upper bits and the filtered lowest one.
fn motion_rounded(upper: u32, lowest: u32, shift: u32) -> i32 {
    let carried = bitcast<u32>(bitcast<i32>(lowest + (1u << (shift - 1u))) >> 1u);
    return bitcast<i32>(upper + carried) >> (shift - 1u);
}

fn difference_down(earlier: u32, current: u32, column: i32, y: i32) -> i32 {
    var upper = 0u;
    var lowest = 0u;
    for (var k = 0; k < 5; k++) {
        let place = mirrored(y - 2 + k, a.height) * a.pitch + column;
        let difference = i32(sample(earlier, place)) - i32(sample(current, place));
        upper += motion_tap(k) * bitcast<u32>(difference >> 1u);
        lowest += motion_tap(k) * bitcast<u32>(difference & 1);
    }
    return motion_rounded(upper, lowest, u32(a.depth));
}

fn blurred_along(place: u32) -> i32 {
    var upper = 0u;
    var lowest = 0u;
    for (var k = 0; k < 5; k++) {
        let value = blurred[place + u32(k)];
        upper += motion_tap(k) * bitcast<u32>(value >> 1u);
        lowest += motion_tap(k) * bitcast<u32>(value & 1);
    }
    return motion_rounded(upper, lowest, 16u);
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x0 = i32(group.x) * WIDTH;
    let y0 = i32(group.y + a.header.first_group) * ROWS;
    let present = a.earlier[group.z].low != 0u;
    if present {
        let earlier = byte_of(a.earlier[group.z]);
        let current = byte_of(a.current[group.z]);
        let column = mirrored(x0 - 2 + i32(lane), a.width);
        for (var r = 0; r < ROWS; r++) {
            blurred[u32(r) * COLUMNS + lane] = difference_down(earlier, current, column, y0 + r);
        }
    }
    workgroupBarrier();
    if present && i32(lane) < WIDTH && x0 + i32(lane) < a.width {
        var sum = 0u;
        for (var r = 0; r < ROWS && y0 + r < a.height; r++) {
            sum += u32(abs(blurred_along(u32(r) * COLUMNS + lane)));
        }
        atomicAdd(&group_sum, sum);
    }
    workgroupBarrier();
    if present && lane == 0u {
        add_total(total_of(a.sums) + group.z * u32(a.stride), u64(atomicLoad(&group_sum)));
    }
}
