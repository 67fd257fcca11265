
// ADM's wavelet transform of both pictures of a scale: the approximation, which the next scale transforms, and three
// detail bands.
//
// A workgroup covers 62 columns and 8 rows of the output. Each invocation filters one column down, the results go to
// workgroup memory, and then rows are filtered along, two neighbouring outputs at a time: 16-bit coefficients share a
// word. The number formats of the scales are in the files of their own.

struct Arguments {
    header: Header,
    // What is transformed: samples, or approximations of the scale before.
    pictures: Pictures,
    // Approximation of both pictures: `low_picture` numbers from the reference to the distorted one, `low_frame` to the
    // next frame.
    low: Word,
    low_picture: Word,
    low_frame: Word,
    // Horizontal, vertical and diagonal band of the reference, then of the distorted picture, `band` numbers apart.
    bands: Word,
    band: Word,
    band_frame: Word,
    // Numbers between the rows of `low` and of the bands.
    pitch: i32,
    // The columns and rows of the output that are written.
    first_column: i32,
    last_column: i32,
    first_row: i32,
    last_row: i32,
    // Whether detail is wanted.
    detail: i32,
    // Bits that the pass along the row drops, in the third and fourth scale.
    along: i32,
    unused: i32,
}

const COLUMNS: u32 = 128u;
const ROWS: i32 = 8;
const WIDTH: i32 = 62;

var<workgroup> low_columns: array<i32, 1024>;
var<workgroup> high_columns: array<i32, 1024>;

// The index at which a filter over `length` samples reads: mirrored without the edge at the start, with it at the end.
fn wavelet_index(index: i32, length: i32) -> i32 {
    let inner = abs(index);
    return max(select(inner, 2 * length - 1 - inner, inner >= length), 0);
}

fn low_tap(k: i32) -> i32 {
    return select(select(select(-4240, 7345, k == 2), 27411, k == 1), 15826, k == 0);
}

fn high_tap(k: i32) -> i32 {
    return select(select(select(-15826, 27411, k == 2), -7345, k == 1), -4240, k == 0);
}

fn filter_down(source: u32, column: i32, y: i32, place: u32) {
    var low = low_start();
    var high = high_start();
    for (var k = 0; k < 4; k++) {
        let row = wavelet_index(2 * y - 1 + k, a.pictures.height);
        let value = coefficient(source, row * a.pictures.pitch + column);
        low = with_product(low, low_tap(k), value);
        high = with_product(high, high_tap(k), value);
    }
    low_columns[place] = rounded_down(low);
    high_columns[place] = rounded_down(high);
}

fn low_along(place: u32, high: bool) -> i32 {
    let four = vec4(low_columns[place], low_columns[place + 1u], low_columns[place + 2u], low_columns[place + 3u]);
    return filter_along(four, high);
}

fn high_along(place: u32, high: bool) -> i32 {
    let four =
        vec4(high_columns[place], high_columns[place + 1u], high_columns[place + 2u], high_columns[place + 3u]);
    return filter_along(four, high);
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Pairs of outputs begin at even columns.
    let x0 = (a.first_column & ~1) + i32(group.x) * WIDTH;
    let y0 = a.first_row + i32(group.y + a.header.first_group) * ROWS;
    let frames = groups.z / 2u;
    let picture = select(0u, 1u, group.z >= frames);
    let frame = group.z - picture * frames;
    var source = byte_of(a.pictures.reference);
    if picture == 1u {
        source = byte_of(a.pictures.distorted);
    }
    source += frame * a.pictures.frame.low;
    let column = wavelet_index(2 * x0 - 1 + i32(lane), a.pictures.width);
    for (var r = 0; r < ROWS; r++) {
        filter_down(source, column, y0 + r, u32(r) * COLUMNS + lane);
    }
    workgroupBarrier();

    let low = frame * a.low_frame.low + picture * a.low_picture.low;
    let bands = frame * a.band_frame.low + 3u * picture * a.band.low;
    let pairs = u32(WIDTH) / 2u;
    for (var i = lane; i < pairs * u32(ROWS); i += COLUMNS) {
        let r = i / pairs;
        let x = 2u * (i - r * pairs);
        let row = y0 + i32(r);
        if row >= a.last_row || x0 + i32(x) >= a.last_column {
            continue;
        }
        let place = u32(row * a.pitch + x0) + x;
        let origin = r * COLUMNS + 2u * x;
        let next = origin + 2u;
        write_two(byte_of(a.low), low + place, low_along(origin, false), low_along(next, false));
        if a.detail != 0 {
            let first = byte_of(a.bands);
            write_two(first, bands + place, high_along(origin, false), high_along(next, false));
            write_two(first, bands + a.band.low + place, low_along(origin, true), low_along(next, true));
            write_two(first, bands + 2u * a.band.low + place, high_along(origin, true), high_along(next, true));
        }
    }
}
