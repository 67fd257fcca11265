
// ADM: rounds the sums of rows and adds them up. A workgroup to a scale of a frame.

struct Arguments {
    header: Header,
    rows: Word,
    rows_frame: Word,
    // Nine sums for each scale, `stride` numbers to the next frame.
    sums: Word,
    stride: i32,
    row_capacity: i32,
    // For each scale: where its nine sums begin in `rows`, the rows that are scored, and the shifts of a row's sum.
    start: array<i32, 4>,
    first_row: array<i32, 4>,
    last_row: array<i32, 4>,
    masked_shift: array<i32, 4>,
    energy_shift: array<i32, 4>,
}

const KINDS: u32 = 9u;
// Sums from this one on are the reference's energy, which is never negative.
const ENERGY: u32 = 6u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let scale = group.x;
    let first = total_of(a.rows) + group.z * a.rows_frame.low + u32(a.start[scale]);
    let sums = total_of(a.sums) + group.z * u32(a.stride) + scale * KINDS;
    for (var kind = 0u; kind < KINDS; kind++) {
        let shift = u32(select(a.energy_shift[scale], a.masked_shift[scale], kind < ENERGY));
        let round = (1lu << shift) >> 1u;
        var sum = 0lu;
        for (var y = a.first_row[scale] + i32(lane); y < a.last_row[scale]; y += 64) {
            let place = 2u * (first + kind * u32(a.row_capacity) + u32(y));
            let row = (u64(atomicLoad(&totals[place])) | (u64(atomicLoad(&totals[place + 1u])) << 32u)) + round;
            if kind < ENERGY {
                sum += u64(i64(row) >> shift);
            } else {
                sum += row >> shift;
            }
        }
        add_total(sums + kind, sum);
    }
}
