
// VIF: filters a picture with the window of the next scale and keeps every second sample of every second row. The picture
// is the reference or, in the upper half of the grid's third dimension, the distorted one.
//
// A workgroup makes 8 rows. Each invocation filters one column down, then rows are filtered along, two neighbouring
// outputs at a time, which share a word. Lines that name the taps are put in where DOWN and ALONG stand.

struct Arguments {
    header: Header,
    pictures: Pictures,
    // The pictures of the next scale, `pitch` samples between rows and `frame` bytes between frames.
    reference: Word,
    distorted: Word,
    frame: Word,
    pitch: i32,
    unused: i32,
}

const COLUMNS: u32 = 128u;
const ROWS: u32 = 8u;
// Outputs to a row, an even number.
const WIDTH: u32 = (COLUMNS - 2u * u32(RADIUS)) / 4u * 2u;

var<workgroup> filtered: array<u32, 1024>;

fn sample_at(source: u32, row: i32, column: i32) -> u32 {
    return sample(source, mirrored(row, a.pictures.height) * a.pictures.pitch + column);
}

fn mean_down(source: u32, y: i32, column: i32) -> u32 {
    let shift = select(16u, u32(a.pictures.depth), SCALE == 0);
    var sum = 1u << (shift - 1u);
    // DOWN
    return sum >> shift;
}

fn mean_along(place: u32) -> u32 {
    var sum = 32768u;
    // ALONG
    return sum >> 16u;
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let x0 = group.x * WIDTH;
    let y0 = (group.y + a.header.first_group) * ROWS;
    let frames = groups.z / 2u;
    let second = group.z >= frames;
    let frame = group.z - select(0u, frames, second);
    var source = byte_of(a.pictures.reference);
    var out = byte_of(a.reference);
    if second {
        source = byte_of(a.pictures.distorted);
        out = byte_of(a.distorted);
    }
    source += frame * a.pictures.frame.low;
    out += frame * a.frame.low;
    let column = mirrored(i32(2u * x0 + lane) - RADIUS, a.pictures.width);
    for (var r = 0u; r < ROWS; r++) {
        filtered[r * COLUMNS + lane] = mean_down(source, 2 * i32(y0 + r), column);
    }
    workgroupBarrier();

    let pairs = WIDTH / 2u;
    for (var i = lane; i < pairs * ROWS; i += COLUMNS) {
        let r = i / pairs;
        let x = 2u * (i - r * pairs);
        if i32(y0 + r) < a.pictures.height / 2 && i32(x0 + x) < a.pictures.width / 2 {
            let origin = r * COLUMNS + 2u * x;
            let place = (y0 + r) * u32(a.pitch) + x0 + x;
            memory[(out + 2u * place) >> 2u] = mean_along(origin) | (mean_along(origin + 2u) << 16u);
        }
    }
}
