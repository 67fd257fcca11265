//! ADM's decoupling, weights (CSF), contrast masking and cubes: the nine sums of every row, in both number formats.

use super::mask_formats::{Format, Long, Short, wrapped};
use super::{BASE, Chance, TOTALS, launch, places, shared};
use crate::arguments::{BAND_SUMS, Mask};
use crate::schedule::{Arguments, Kernel};

/// The coefficients of both pictures, horizontal, vertical and diagonal band each.
struct Bands {
    width: usize,
    height: usize,
    reference: [Vec<i64>; 3],
    distorted: [Vec<i64>; 3],
}

/// A place's coefficients.
struct Decoupled {
    reference: [i64; 3],
    restored: [i64; 3],
    additive: [i64; 3],
}

impl Bands {
    /// Whether reference and distorted detail point in the same direction, up to a degree.
    fn is_parallel(o: [i64; 3], t: [i64; 3], bound: f64) -> bool {
        let product = |one: [i64; 3], two: [i64; 3]| f64::from((one[0] * two[0] + one[1] * two[1]) as f32);
        product(o, t) >= 0.0 && product(o, t) * product(o, t) >= bound * product(o, o) * product(t, t)
    }

    /// Places beyond the edges: the second row or column at the start, the last one at the end.
    fn decoupled<F: Format>(&self, arguments: &Mask, x: isize, y: isize) -> Decoupled {
        let inside = |index: isize, length: usize| match index {
            -1 => 1,
            index => (index as usize).min(length - 1),
        };
        let place = inside(y, self.height) * self.width + inside(x, self.width);
        let [o, t] = [&self.reference, &self.distorted].map(|bands| bands.each_ref().map(|band| band[place]));
        let is_parallel = Self::is_parallel(o, t, arguments.bound);
        let restored = std::array::from_fn(|band| {
            let part = (F::share(o[band], t[band]) * o[band] + (1 << 14)) >> 15;
            if !is_parallel {
                return part;
            }
            let grown = part as f64 * arguments.gain_limit;
            match part.signum() {
                1 => grown.min(t[band] as f64) as i64,
                -1 => grown.max(t[band] as f64) as i64,
                _ => 0,
            }
        });
        Decoupled { reference: o, restored, additive: std::array::from_fn(|band| t[band] - restored[band]) }
    }

    /// The masking threshold at a place: what it and its eight neighbours add, of the additive or the restored picture.
    fn threshold<F: Format>(
        &self,
        arguments: &Mask,
        x: isize,
        y: isize,
        of: fn(&Decoupled) -> [i64; 3],
    ) -> i64 {
        let mut threshold = 0;
        for (dx, dy) in places(3, 3).map(|(dx, dy)| (dx - 1, dy - 1)) {
            let values = of(&self.decoupled::<F>(arguments, x + dx, y + dy));
            for (band, value) in values.into_iter().enumerate() {
                let [neighbour, own] = F::spread(value, arguments.weights[band], band);
                threshold += if (dx, dy) == (0, 0) { own } else { neighbour };
            }
        }
        threshold
    }

    /// The nine sums of every row.
    fn truth<F: Format>(&self, arguments: &Mask, aim: bool) -> Vec<[u64; BAND_SUMS]> {
        let mut rows = vec![[0u64; BAND_SUMS]; self.height];
        let [columns, scored] =
            [arguments.first_column..arguments.last_column, arguments.first_row..arguments.last_row];
        let mut add = |y: isize, kind: usize, value: u64| {
            rows[y as usize][kind] = rows[y as usize][kind].wrapping_add(value);
        };
        for (x, y) in scored.flat_map(|y| columns.clone().map(move |x| (x as isize, y as isize))) {
            let own = self.decoupled::<F>(arguments, x, y);
            let masked = self.threshold::<F>(arguments, x, y, |values| values.additive);
            let masking = self.threshold::<F>(arguments, x, y, |values| values.restored);
            for band in 0..3 {
                let above = |value: i64, threshold: i64| {
                    let size = F::weighted(value, arguments.weights[band]);
                    cube(wrapped(size - F::lifted(threshold, band)).max(0), arguments, band)
                };
                add(y, band, above(own.restored[band], masked));
                if aim {
                    add(y, 3 + band, above(own.additive[band], masking));
                }
                add(y, 6 + band, F::energy(own.reference[band], arguments));
            }
        }
        rows
    }
}

/// Rounded after the square and after the cube.
fn cube(above: i64, arguments: &Mask, band: usize) -> u64 {
    let (square, cube) = (arguments.square_shift[band], arguments.cube_shift[band]);
    let squared = wrapped((above * above + (1 << (square - 1))) >> square);
    ((squared * above + ((1 << cube) >> 1)) >> cube) as u64
}

/// Coefficients up to so many bits, in turns independent, alike, opposite and about a degree apart.
fn bands(chance: &mut Chance, [width, height]: [usize; 2], bits: u32) -> Bands {
    let mut bands = Bands { width, height, reference: Default::default(), distorted: Default::default() };
    let most = (1i64 << bits) - 1;
    for n in 0..width * height {
        let mut number = || {
            // Among them the largest, and multiples of 2^20, which are weighted to exact halves.
            let size = match chance.next() % 4 {
                0 => most,
                1 if bits > 20 => (chance.bits(bits) >> 20 << 20) as i64,
                _ => chance.bits(bits) as i64,
            };
            if chance.next().is_multiple_of(2) { size } else { -size }
        };
        let reference = [number(), number(), number()];
        let other = [number(), number(), number()];
        let turned = {
            let (sine, cosine) = (1.0f64 + (n % 5) as f64 * 0.01 - 0.02).to_radians().sin_cos();
            let [x, y] = [reference[0] as f64, reference[1] as f64];
            [(x * cosine - y * sine) as i64, (x * sine + y * cosine) as i64, other[2]]
        };
        let distorted = match n % 6 {
            0 => other,
            1 => reference,
            2 => reference.map(|value| -value),
            3 => reference.map(|value| value / 3),
            4 => reference.map(|value| 3 * value),
            _ => turned,
        };
        for band in 0..3 {
            bands.reference[band].push(reference[band]);
            bands.distorted[band].push(distorted[band].clamp(-most, most));
        }
    }
    bands
}

/// Rows of coefficients with rubbish behind them, and the arguments that name them.
fn laid_out(bands: &Bands, chance: &mut Chance, sample_bytes: usize) -> (Vec<u32>, Mask) {
    let pitch = bands.width.next_multiple_of(2) + 2;
    let mut bytes: Vec<u8> = Vec::new();
    for band in bands.reference.iter().chain(&bands.distorted) {
        for row in band.chunks(bands.width) {
            let rubbish = (bands.width..pitch).map(|_| chance.next() as i64).collect::<Vec<_>>();
            for value in row.iter().chain(&rubbish) {
                bytes.extend(&value.to_le_bytes()[..sample_bytes]);
            }
        }
    }
    let arguments = Mask {
        bands: u64::from(BASE),
        band: (pitch * bands.height) as u64,
        band_frame: 0,
        rows: u64::from(TOTALS),
        rows_frame: 0,
        row_capacity: bands.height as i32,
        pitch: pitch as i32,
        width: bands.width as i32,
        height: bands.height as i32,
        first_column: 0,
        last_column: bands.width as i32,
        first_row: 0,
        last_row: bands.height as i32,
        strip_rows: 0,
        square_shift: [29, 29, 30],
        cube_shift: [2, 3, 5],
        energy_square_shift: 0,
        energy_cube_shift: 0,
        gain_kind: 1,
        gain_limit: 100.0,
        bound: f64::from((f64::cos(std::f64::consts::PI / 180.0).powi(2)) as f32),
        weights: [36453, 36453, 49417],
    };
    (bytemuck::pod_collect_to_vec(&bytes), arguments)
}

/// Runs both kernels of a format, with and without AIM, under three gain limits, on the whole band and on a part of it.
fn compare<F: Format>(kernels: [Kernel; 2], sample_bytes: usize, bits: u32, adjust: impl Fn(&mut Mask)) {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(u64::from(bits));
    let mut restored = 0;
    for (size, inset, gain) in [([33, 11], 0, (1, 100.0)), ([70, 9], 2, (0, 1.0)), ([35, 17], 1, (2, 1.37))] {
        let bands = bands(&mut chance, size, bits);
        let (memory, mut arguments) = laid_out(&bands, &mut chance, sample_bytes);
        adjust(&mut arguments);
        (arguments.gain_kind, arguments.gain_limit) = gain;
        (arguments.first_column, arguments.last_column) = (inset, size[0] as i32 - inset);
        (arguments.first_row, arguments.last_row) = (inset, size[1] as i32 - inset);
        for (kernel, aim) in kernels.into_iter().zip([false, true]) {
            let totals = vec![0; BAND_SUMS * bands.height];
            let left = launch(shared, kernel, Arguments::Mask(arguments), &memory, &totals);
            let truth = bands.truth::<F>(&arguments, aim);
            for (y, row) in truth.iter().enumerate() {
                let got: [u64; BAND_SUMS] = std::array::from_fn(|kind| left.totals[kind * bands.height + y]);
                assert_eq!(got, *row, "{size:?}, {bits} bits, gain {gain:?}, AIM {aim}, row {y}");
                restored += usize::from(row[..3] != [0; 3]);
            }
        }
    }
    assert!(restored > 10, "{restored} rows with something above the threshold");
}

#[test]
fn short_coefficients() {
    for bits in [15, 9] {
        compare::<Short>([Kernel::MaskShort, Kernel::MaskShortAim], 2, bits, |_| {});
    }
}

#[test]
fn long_coefficients() {
    for bits in [29, 22, 16] {
        compare::<Long>([Kernel::MaskLong, Kernel::MaskLongAim], 4, bits, |arguments| {
            arguments.weights = [50_000_000, 3_000_000_000, 90_000_000];
            (arguments.square_shift, arguments.cube_shift) = ([30; 3], [6, 7, 8]);
            (arguments.energy_square_shift, arguments.energy_cube_shift) = (31, 14);
        });
    }
}
