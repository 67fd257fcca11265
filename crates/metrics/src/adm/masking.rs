//! Row kernels that weight coefficients by the contrast sensitivity function (CSF) and raise them to the third power: with
//! contrast masking for the numerators (libvmaf's `adm_csf` and `adm_cm`), without for the denominator
//! (`adm_csf_den_scale`).
//!
//! The first scale calculates in 16 bits, the others in 32; [`Masking`] is what they have in common.

use super::decouple::{Bands, BandsMut, Decoupling};
use super::geometry::Axis;
use crate::math;

/// The CSF and contrast masking of a scale. All slices of a call have equal lengths, unless said otherwise.
pub trait Masking {
    /// Makes the restored and the additive image; see [`Decoupling::decouple_long`].
    fn decouple(
        &self,
        decoupling: &Decoupling,
        reference: Bands,
        distorted: Bands,
        restored: BandsMut,
        additive: BandsMut,
    );

    /// The size of coefficients after the CSF.
    fn magnitudes(&self, bands: Bands, out: BandsMut);

    /// What coefficients add to the masking threshold of their neighbours (`spread`, a thirtieth: libvmaf's `csf_f`), and
    /// how much more they add to their own (`centre`, which makes a fifteenth), over all three bands.
    fn thresholds(&self, bands: Bands, spread: &mut [i32], centre: &mut [i32]);

    /// The sum of cubes of what is above the threshold, for each band of a row.
    fn contrast_masked(&self, magnitudes: Bands, threshold: &[i32]) -> [i64; 3];

    /// A row's share of a sum over rows.
    fn share(&self, row: i64) -> i64;

    /// The sum of cubes, for each band of a row of the reference.
    fn csf_den(&self, bands: Bands) -> [u64; 3];

    /// The same as `share` for sums of energy.
    fn csf_den_share(&self, row: u64) -> u64;

    /// Sums over rows of `contrast_masked`, in units of the picture.
    fn masked_total(&self, sums: [i64; 3]) -> [f32; 3];

    /// Sums over rows of `csf_den`, in units of the picture and weighted.
    fn csf_den_total(&self, sums: [u64; 3]) -> [f32; 3];
}

/// The masking threshold of a row: the eight neighbours and the coefficient itself. The rows of `spread` are those above,
/// at and below it, and begin one sample earlier and end one later.
pub fn threshold(spread: [&[i32]; 3], centre: &[i32], out: &mut [i32]) {
    let len = out.len();
    let [above, here, below] = spread.map(|row| &row[..len + 2]);
    let centre = &centre[..len];
    for j in 0..len {
        let column = |k: usize| above[k].wrapping_add(here[k]).wrapping_add(below[k]);
        out[j] = centre[j].wrapping_add(column(j)).wrapping_add(column(j + 1)).wrapping_add(column(j + 2));
    }
}

/// How many bits squares and cubes are shifted by.
#[derive(Clone, Copy, Debug)]
pub struct Rounding {
    pub square: u32,
    pub cube: u32,
}

/// The first scale.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    /// Weights in units of 2^-21, diagonal 2^-23.
    weights: [i32; 3],
    cubed_weights: [f64; 3],
    cubes: [Rounding; 3],
    row_shift: u32,
    csf_den_shift: u32,
}

/// How weighted coefficients of the first scale become 16-bit numbers: rounding term and shift per band. The diagonal's
/// term is one less than half.
const SHORTEN: [(i32, u32); 3] = [(16384, 15), (16384, 15), (65535, 17)];
/// The shift that brings a threshold to the format of magnitudes.
pub const LIFT: [u32; 3] = [10, 10, 12];

impl Short {
    /// `weights` are those of straight and diagonal bands, `fixed` the same in the format of this scale.
    pub fn new(weights: [f32; 2], fixed: [u16; 2], columns: &Axis, rows: &Axis) -> Self {
        let [straight, diagonal] = fixed.map(i32::from);
        let area = columns.scored.len() * rows.scored.len();
        let width = bits(columns.output);
        Self {
            weights: [straight, straight, diagonal],
            cubed_weights: cubed(weights),
            cubes: [(29, width - 4), (29, width - 4), (30, width - 3)]
                .map(|(square, cube)| Rounding { square, cube }),
            row_shift: bits(rows.output),
            csf_den_shift: bits(area).saturating_sub(20),
        }
    }
}

impl Masking for Short {
    fn decouple(
        &self,
        decoupling: &Decoupling,
        reference: Bands,
        distorted: Bands,
        restored: BandsMut,
        additive: BandsMut,
    ) {
        decoupling.decouple_short(reference, distorted, restored, additive);
    }

    fn magnitudes(&self, bands: Bands, out: BandsMut) {
        for ((weight, band), out) in self.weights.iter().zip(bands).zip(out) {
            for (out, value) in out.iter_mut().zip(band) {
                *out = (value * weight).abs();
            }
        }
    }

    fn thresholds(&self, bands: Bands, spread: &mut [i32], centre: &mut [i32]) {
        let len = spread.len();
        let [h, v, d] = bands.map(|band| &band[..len]);
        let centre = &mut centre[..len];
        for j in 0..len {
            let terms = [self.terms(0, h[j]), self.terms(1, v[j]), self.terms(2, d[j])];
            spread[j] = terms[0].0 + terms[1].0 + terms[2].0;
            centre[j] = terms[0].1 + terms[1].1 + terms[2].1 - spread[j];
        }
    }

    fn contrast_masked(&self, magnitudes: Bands, threshold: &[i32]) -> [i64; 3] {
        std::array::from_fn(|band| cubes_above(magnitudes[band], threshold, LIFT[band], self.cubes[band]))
    }

    fn share(&self, row: i64) -> i64 {
        row.wrapping_add(half(self.row_shift)) >> self.row_shift
    }

    fn csf_den(&self, bands: Bands) -> [u64; 3] {
        bands.map(|band| {
            band.iter().fold(0, |sum, value| {
                let size = value.unsigned_abs();
                sum + u64::from(size * size) * u64::from(size)
            })
        })
    }

    fn csf_den_share(&self, row: u64) -> u64 {
        (row + half(self.csf_den_shift) as u64) >> self.csf_den_shift
    }

    fn masked_total(&self, sums: [i64; 3]) -> [f32; 3] {
        std::array::from_fn(|band| {
            let exponent = [52, 52, 57][band] - self.cubes[band].cube - self.row_shift;
            (sums[band] as f64 / power_of_two(exponent)) as f32
        })
    }

    fn csf_den_total(&self, sums: [u64; 3]) -> [f32; 3] {
        let unit = power_of_two(18 - self.csf_den_shift);
        std::array::from_fn(|band| (sums[band] as f64 / unit * self.cubed_weights[band]) as f32)
    }
}

impl Short {
    pub fn weights(&self) -> [u16; 3] {
        self.weights.map(|weight| weight as u16)
    }

    /// For each band.
    pub fn cubes(&self) -> [Rounding; 3] {
        self.cubes
    }

    /// Bits that [`Masking::share`] drops.
    pub fn row_shift(&self) -> u32 {
        self.row_shift
    }

    /// Bits that [`Masking::csf_den_share`] drops.
    pub fn csf_den_shift(&self) -> u32 {
        self.csf_den_shift
    }

    /// A thirtieth and a fifteenth of a weighted coefficient. At extreme contrast both lose their upper bits; libvmaf's
    /// scalar path is defined so.
    #[inline(always)]
    fn terms(&self, band: usize, value: i32) -> (i32, i32) {
        let (round, shift) = SHORTEN[band];
        let size = i32::from(((value * self.weights[band] + round) >> shift) as i16).abs();
        let part = |fraction: i32| i32::from(((fraction * size + 2048) >> 12) as i16);
        (part(4369), part(8738))
    }
}

/// The other scales.
#[derive(Clone, Copy, Debug)]
pub struct Long {
    /// Weights in units of 2^-32.
    weights: [i64; 3],
    cubed_weights: [f64; 3],
    cubes: Rounding,
    row_shift: u32,
    /// What is left to divide `contrast_masked` by, as a power of two.
    masked_exponent: u32,
    csf_den_rounding: Rounding,
    csf_den_row_shift: u32,
    csf_den_exponent: u32,
}

/// Formats by scale, from the second: bits after the binary point of a cube, of an energy, and of an energy's square.
const LONG_FORMATS: [(u32, u32, u32); 3] = [(45, 32, 31), (39, 27, 30), (36, 23, 31)];

impl Long {
    /// `scale` is 1 to 3.
    pub fn new(scale: usize, weights: [f32; 2], fixed: [u32; 2], columns: &Axis, rows: &Axis) -> Self {
        let (masked, csf_den, csf_den_square_shift) = LONG_FORMATS[scale - 1];
        let [straight, diagonal] = fixed.map(i64::from);
        let (cube_shift, row_shift) = (bits(columns.output), bits(rows.output));
        let (csf_den_cube_shift, csf_den_row_shift) = (bits(columns.scored.len()), bits(rows.scored.len()));
        Self {
            weights: [straight, straight, diagonal],
            cubed_weights: cubed(weights),
            cubes: Rounding { square: 30, cube: cube_shift },
            row_shift,
            masked_exponent: masked - cube_shift - row_shift,
            csf_den_rounding: Rounding { square: csf_den_square_shift, cube: csf_den_cube_shift },
            csf_den_row_shift,
            csf_den_exponent: csf_den - csf_den_cube_shift - csf_den_row_shift,
        }
    }

    /// The weights; see [`Long::weights_fit`].
    pub fn weights(&self) -> [i32; 3] {
        self.weights.map(|weight| weight as i32)
    }

    /// Of what is above the threshold.
    pub fn cubes(&self) -> Rounding {
        self.cubes
    }

    /// Of the reference's energy.
    pub fn csf_den_rounding(&self) -> Rounding {
        self.csf_den_rounding
    }

    /// Bits that [`Masking::share`] drops.
    pub fn row_shift(&self) -> u32 {
        self.row_shift
    }

    /// Bits that [`Masking::csf_den_share`] drops.
    pub fn csf_den_row_shift(&self) -> u32 {
        self.csf_den_row_shift
    }

    /// Whether the weights are signed double words.
    pub fn weights_fit(&self) -> bool {
        self.weights.iter().all(|weight| i32::try_from(*weight).is_ok())
    }

    /// Whether no size after the CSF wraps, whatever the coefficient: weights are below a sixteenth.
    pub fn sizes_fit(&self) -> bool {
        self.weights.iter().all(|weight| *weight < 1 << 28)
    }

    #[inline(always)]
    fn magnitude(&self, band: usize, value: i32) -> i32 {
        let weighted = self.weights[band].wrapping_mul(i64::from(value)).wrapping_add(1 << 27) >> 28;
        (weighted as i32).wrapping_abs()
    }

    /// A thirtieth and a fifteenth of a weighted coefficient. libvmaf's rounding term has the wrong sign, so that a half
    /// is subtracted.
    #[inline(always)]
    fn terms(&self, band: usize, value: i32) -> (i32, i32) {
        let size = i64::from(self.magnitude(band, value));
        let part = |fraction: i64| ((fraction * size - (1 << 31)) >> 32) as i32;
        (part(143_165_577), part(286_331_153))
    }
}

impl Masking for Long {
    fn decouple(
        &self,
        decoupling: &Decoupling,
        reference: Bands,
        distorted: Bands,
        restored: BandsMut,
        additive: BandsMut,
    ) {
        decoupling.decouple_long(reference, distorted, restored, additive);
    }

    fn magnitudes(&self, bands: Bands, out: BandsMut) {
        for (index, (band, out)) in bands.into_iter().zip(out).enumerate() {
            for (out, value) in out.iter_mut().zip(band) {
                *out = self.magnitude(index, *value);
            }
        }
    }

    fn thresholds(&self, bands: Bands, spread: &mut [i32], centre: &mut [i32]) {
        let len = spread.len();
        let [h, v, d] = bands.map(|band| &band[..len]);
        let centre = &mut centre[..len];
        for j in 0..len {
            let terms = [self.terms(0, h[j]), self.terms(1, v[j]), self.terms(2, d[j])];
            spread[j] = terms[0].0.wrapping_add(terms[1].0).wrapping_add(terms[2].0);
            let own = terms[0].1.wrapping_add(terms[1].1).wrapping_add(terms[2].1);
            centre[j] = own.wrapping_sub(spread[j]);
        }
    }

    fn contrast_masked(&self, magnitudes: Bands, threshold: &[i32]) -> [i64; 3] {
        magnitudes.map(|band| cubes_above(band, threshold, 0, self.cubes))
    }

    fn share(&self, row: i64) -> i64 {
        row.wrapping_add(half(self.row_shift)) >> self.row_shift
    }

    fn csf_den(&self, bands: Bands) -> [u64; 3] {
        // The square's rounding term is a whole unit, not a half.
        let Rounding { square, cube } = self.csf_den_rounding;
        bands.map(|band| {
            band.iter().fold(0, |sum: u64, value| {
                let size = u64::from(value.unsigned_abs());
                let squared = (size * size + (1 << square)) >> square;
                sum.wrapping_add((squared * size + (1 << (cube - 1))) >> cube)
            })
        })
    }

    fn csf_den_share(&self, row: u64) -> u64 {
        row.wrapping_add(half(self.csf_den_row_shift) as u64) >> self.csf_den_row_shift
    }

    fn masked_total(&self, sums: [i64; 3]) -> [f32; 3] {
        // Here libvmaf divides in single precision.
        sums.map(|sum| sum as f32 / power_of_two(self.masked_exponent) as f32)
    }

    fn csf_den_total(&self, sums: [u64; 3]) -> [f32; 3] {
        let unit = power_of_two(self.csf_den_exponent);
        std::array::from_fn(|band| (sums[band] as f64 / unit * self.cubed_weights[band]) as f32)
    }
}

/// The sum of cubes of what of the magnitudes is above the threshold. Squares and cubes are rounded after a shift; what
/// does not fit (at extreme contrast) wraps, as it does in libvmaf.
#[inline(always)]
fn cubes_above(magnitudes: &[i32], threshold: &[i32], lift: u32, Rounding { square, cube }: Rounding) -> i64 {
    let (square_round, cube_round) = (half(square), half(cube));
    magnitudes.iter().zip(threshold).fold(0, |sum: i64, (magnitude, threshold)| {
        let above = i64::from(magnitude.wrapping_sub(threshold << lift).max(0));
        let squared = i64::from(((above * above + square_round) >> square) as i32);
        sum.wrapping_add((squared * above + cube_round) >> cube)
    })
}

fn cubed([straight, diagonal]: [f32; 2]) -> [f64; 3] {
    [straight, straight, diagonal].map(|weight| math::pow(f64::from(weight), 3.0))
}

/// The logarithm of `count` to base 2, rounded up.
fn bits(count: usize) -> u32 {
    count.next_power_of_two().trailing_zeros()
}

/// Half a unit of what a shift leaves.
fn half(shift: u32) -> i64 {
    if shift == 0 { 0 } else { 1 << (shift - 1) }
}

fn power_of_two(exponent: u32) -> f64 {
    (1u64 << exponent) as f64
}
