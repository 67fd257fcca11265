//! ADM's wavelet: approximation and detail of both pictures, in the number formats of all scales.

use super::{BASE, Chance, LOOKS, Left, Look, Picture, laid_out, launch, pictures_of, places, shared};
use crate::arguments::Wavelet;
use crate::schedule::{Arguments, Kernel};
use crate::wgpu::Shared;

const LOW: [i64; 4] = [15826, 27411, 7345, -4240];
const HIGH: [i64; 4] = [-4240, -7345, 27411, -15826];

/// Mirrored without the edge at the start, with it at the end.
fn index(index: isize, length: usize) -> usize {
    let inner = index.unsigned_abs();
    if inner >= length { 2 * length - 1 - inner } else { inner }
}

/// A picture of coefficients, and how they are filtered.
struct Input<'a> {
    size: [usize; 2],
    at: &'a dyn Fn(usize, usize) -> i64,
    /// Bits that the passes down and along drop.
    shifts: [u32; 2],
}

impl Input<'_> {
    /// One coefficient: the sum of four down each of four columns, then along.
    fn truth(&self, horizontal: [i64; 4], vertical: [i64; 4], x: usize, y: usize) -> i64 {
        let [width, height] = self.size;
        let rounded = |sum: i64, shift: u32| (sum + ((1 << shift) >> 1)) >> shift;
        let down = |column: usize| {
            let at = |k: usize| (self.at)(column, index(2 * y as isize - 1 + k as isize, height));
            rounded((0..4).map(|k| vertical[k] * at(k)).sum(), self.shifts[0])
        };
        let along = |k: usize| down(index(2 * x as isize - 1 + k as isize, width));
        rounded((0..4).map(|k| horizontal[k] * along(k)).sum(), self.shifts[1])
    }
}

/// A kernel, the bytes of what it reads and writes, and its arguments beside the places.
#[derive(Clone, Copy)]
struct Scale {
    kernel: Kernel,
    read: usize,
    written: usize,
    depth: i32,
    along: i32,
}

/// Runs a kernel on two pictures that fill `memory`; gives what it left and where approximation and bands lie.
fn transformed(
    shared: &Shared,
    scale: Scale,
    memory: Vec<u32>,
    addresses: [u64; 2],
    shape: &Picture,
) -> (Left, Wavelet) {
    let (band_width, band_height) = (shape.width.div_ceil(2), shape.height.div_ceil(2));
    let pitch = band_width.next_multiple_of(2) + 2;
    let area = (pitch * band_height) as u64;
    let low = u64::from(BASE) + 4 * memory.len() as u64;
    let bands = low + 2 * area * scale.written as u64;
    let mut memory = memory;
    memory.resize(memory.len() + (8 * area as usize * scale.written).div_ceil(4), 0);
    let arguments = Wavelet {
        pictures: pictures_of(shape, addresses[0], addresses[1], scale.depth),
        low,
        low_picture: area,
        low_frame: 0,
        bands,
        band: area,
        band_frame: 0,
        pitch: pitch as i32,
        first_column: 0,
        last_column: band_width as i32,
        first_row: 0,
        last_row: band_height as i32,
        detail: 1,
        along: scale.along,
        unused: 0,
    };
    (launch(shared, scale.kernel, Arguments::Wavelet(arguments), &memory, &[0]), arguments)
}

/// Compares all four bands of a picture, the n-th of the pair.
fn compare(left: &Left, arguments: &Wavelet, written: usize, n: u64, input: &Input<'_>, what: &str) {
    let bands = [(LOW, LOW), (LOW, HIGH), (HIGH, LOW), (HIGH, HIGH)];
    for (band, (horizontal, vertical)) in (0..).zip(bands) {
        let address = match band {
            0 => arguments.low + n * arguments.low_picture * written as u64,
            band => arguments.bands + (3 * n + band - 1) * arguments.band * written as u64,
        };
        let first = (address - u64::from(BASE)) as usize / written;
        let [width, height] = input.size.map(|length| length.div_ceil(2));
        for (x, y) in places(width, height) {
            let place = first + y as usize * arguments.pitch as usize + x as usize;
            let got = match written {
                2 => i64::from(bytemuck::cast_slice::<u32, i16>(&left.memory)[place]),
                _ => i64::from(bytemuck::cast_slice::<u32, i32>(&left.memory)[place]),
            };
            let truth = input.truth(horizontal, vertical, x as usize, y as usize);
            assert_eq!(got, truth, "{what}, picture {n}, band {band}, {x}, {y}");
        }
    }
}

/// Samples, which are centred around zero.
#[test]
fn first_scale() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(3);
    let formats = [([151, 41], 8), ([65, 33], 10), ([126, 17], 16)];
    for ((size, depth), look) in formats.into_iter().flat_map(|format| LOOKS.map(|look| (format, look))) {
        let pair = Picture::pair(&mut chance, look, size, (1 << depth) - 1);
        let (kernel, read) = if depth == 8 { (Kernel::WaveletU8, 1) } else { (Kernel::WaveletU16, 2) };
        let (memory, addresses) = laid_out(&[(&pair[0], read), (&pair[1], read)]);
        let scale = Scale { kernel, read, written: 2, depth, along: 15 };
        let (left, arguments) = transformed(shared, scale, memory, [addresses[0], addresses[1]], &pair[0]);
        for (n, picture) in (0..).zip(&pair) {
            let at =
                |x: usize, y: usize| i64::from(picture.samples[y * picture.pitch + x]) - (1 << (depth - 1));
            let input = Input { size, at: &at, shifts: [depth as u32, 16] };
            compare(&left, &arguments, 2, n, &input, &format!("{depth} bits, {look:?}"));
        }
    }
}

/// Of later scales. Paler stands for a few coarse values, which are filtered to exact halves.
const SHAPES: [([usize; 2], Look); 4] =
    [([67, 35], Look::Noise), ([126, 18], Look::Extreme), ([33, 20], Look::Flat), ([61, 21], Look::Paler)];

/// The second scale reads 16-bit coefficients and does not round down the columns; the third and fourth read 32-bit ones
/// and differ in what the rows drop.
#[test]
fn later_scales() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(8);
    let second = Scale { kernel: Kernel::Wavelet1, read: 2, written: 4, depth: 8, along: 15 };
    let third = Scale { kernel: Kernel::Wavelet2, read: 4, ..second };
    let shifts = [[0, 15], [16, 16], [16, 15]];
    for (scale, shifts) in [second, Scale { along: 16, ..third }, third].into_iter().zip(shifts) {
        for (size, look) in SHAPES {
            let shape = Picture::empty(size[0], size[1]);
            // As large as the scale before can make them; what they become just fits 32 bits.
            let most: i64 = if scale.read == 2 { 22_930 } else { 1_400_000_000 };
            let mut number = || match look {
                Look::Extreme => {
                    if chance.next().is_multiple_of(2) {
                        -most
                    } else {
                        most - 1
                    }
                }
                Look::Flat => chance.next() as i64 % 2 - 1,
                Look::Paler if scale.read == 2 => (chance.next() as i64 % 5 - 2) << 13,
                Look::Paler => (chance.next() as i64 % 3 - 1) << 30,
                _ => (chance.next() % (2 * most as u64)) as i64 - most,
            };
            let pair = [0; 2].map(|_| (0..shape.samples.len()).map(|_| number()).collect::<Vec<i64>>());
            let bytes: Vec<u8> = pair
                .iter()
                .flatten()
                .flat_map(|number| number.to_le_bytes()[..scale.read].to_vec())
                .collect();
            let second = u64::from(BASE) + (bytes.len() / 2) as u64;
            let memory = bytemuck::pod_collect_to_vec(&bytes);
            let (left, arguments) = transformed(shared, scale, memory, [u64::from(BASE), second], &shape);
            for (n, picture) in (0..).zip(&pair) {
                let at = |x: usize, y: usize| picture[y * shape.pitch + x];
                let input = Input { size, at: &at, shifts };
                compare(&left, &arguments, 4, n, &input, &format!("{shifts:?}, {look:?}"));
            }
        }
    }
}
