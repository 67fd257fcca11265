//! From sums of squared differences to decibels, and the sums over the whole clip.

use visus_video::Format;

use super::Settings;
use crate::math::log10;
use crate::{Emit, Fold};

/// Sums of squares need up to 62 bits, so they travel as two numbers of 32 bits, which an `f64` holds exactly.
pub fn split(sum: u64) -> [f64; 2] {
    [(sum >> 32) as f64, (sum & 0xffff_ffff) as f64]
}

fn join(halves: &[f64]) -> u64 {
    ((halves[0] as u64) << 32) | halves[1] as u64
}

/// A plane's constants, and what has been seen of it.
#[derive(Clone, Copy, Debug, Default)]
struct Plane {
    /// Samples per picture.
    size: u32,
    /// The largest PSNR that is reported.
    best: f64,
    pixels: u64,
    squares: u64,
}

/// Turns a frame's sums into PSNR (and MSE), and collects them for APSNR.
#[derive(Debug)]
pub struct PsnrFold {
    settings: Settings,
    peak_squared: u32,
    /// Planes that are not measured stay at zero; libvmaf reports an APSNR of minus infinity for them.
    planes: [Plane; 3],
    measured: usize,
}

impl PsnrFold {
    pub fn new(settings: Settings, format: &Format) -> Self {
        let peak = settings.peak(format);
        let measured = settings.planes(format);
        let mut planes = [Plane::default(); 3];
        for (index, plane) in planes.iter_mut().enumerate().take(measured) {
            let (width, height) = format.plane_size(index);
            plane.size = (width * height) as u32;
            plane.best = best(settings, format, peak * peak, plane.size);
        }
        Self { settings, peak_squared: peak * peak, planes, measured }
    }

    fn psnr(&self, plane: &Plane, mse: f64) -> f64 {
        let psnr = 10.0 * log10(f64::from(self.peak_squared) / mse.max(1e-16));
        psnr.min(plane.best)
    }

    fn apsnr(&self, plane: &Plane) -> f64 {
        let pixels = log10(plane.pixels as f64);
        let apsnr = 10.0 * (log10(f64::from(self.peak_squared)) + pixels - log10(plane.squares as f64));
        // The product wraps in libvmaf too: at 16 bits after a few hundred large pictures.
        let most = u64::from(self.peak_squared).wrapping_mul(plane.pixels).wrapping_mul(2);
        // Of an empty plane, the first is not a number; `min` then takes the second.
        apsnr.min((10.0 * log10(most as f64)).ceil())
    }
}

/// 6 dB per bit and 12 more, or the PSNR of the smallest sum of squares that is told apart from zero.
fn best(settings: Settings, format: &Format, peak_squared: u32, size: u32) -> f64 {
    if settings.min_sse == 0.0 {
        return f64::from(6 * u32::from(format.depth()) + 12);
    }
    let mse = settings.min_sse / f64::from(size);
    (10.0 * log10(f64::from(peak_squared) / mse)).ceil()
}

impl Fold for PsnrFold {
    fn push(&mut self, index: u64, raw: &[f64], out: &mut dyn Emit) {
        let columns = self.settings.columns_per_plane();
        for (number, halves) in raw.chunks_exact(2).take(self.measured).enumerate() {
            let squares = join(halves);
            let plane = &mut self.planes[number];
            plane.pixels += u64::from(plane.size);
            plane.squares = plane.squares.wrapping_add(squares);
            let plane = &self.planes[number];
            let mse = squares as f64 / f64::from(plane.size);
            out.score(number * columns, index, self.psnr(plane, mse));
            if self.settings.mse {
                out.score(number * columns + 1, index, mse);
            }
        }
    }

    fn finish(&mut self, out: &mut dyn Emit) {
        if self.settings.apsnr {
            for (name, plane) in ["apsnr_y", "apsnr_cb", "apsnr_cr"].into_iter().zip(&self.planes) {
                out.aggregate(name, self.apsnr(plane));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_keep_every_bit() {
        for sum in [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 62) - 1, 0x1234_5678_9abc_def1] {
            assert_eq!(join(&split(sum)), sum);
        }
    }
}
