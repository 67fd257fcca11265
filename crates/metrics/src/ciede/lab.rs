//! From Y'CbCr samples to CIE L*a*b*.
//!
//! The way is libvmaf's: limited range, the BT.709 matrix of analogue YUV, the sRGB curve, D65 white. Curves are computed in `f64`; what
//! leaves a curve or a colour is rounded to `f32`.

use super::difference;
use crate::math::pow;

/// A colour whose distance can be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lab {
    pub l: f32,
    pub a: f32,
    pub b: f32,
}

impl Lab {
    /// From the lightnesses of X, Y and Z.
    #[inline(always)]
    pub fn new(lightnesses: [f32; 3]) -> Self {
        let [x, y, z] = lightnesses.map(f64::from);
        Self { l: (116.0 * y - 16.0) as f32, a: (500.0 * (x - y)) as f32, b: (200.0 * (y - z)) as f32 }
    }

    #[inline(always)]
    pub fn chroma(&self) -> f32 {
        difference::chroma(self.a, self.b)
    }

    #[inline(always)]
    pub fn is_grey(&self) -> bool {
        self.a == 0.0 && self.b == 0.0
    }
}

/// Sample values of one pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Yuv {
    pub y: u16,
    pub u: u16,
    pub v: u16,
}

/// Converts samples of one bit depth.
#[derive(Clone, Copy, Debug)]
pub struct Converter {
    pub black: f64,
    pub centre: f64,
    pub luma: f64,
    pub chroma: f64,
}

impl Converter {
    pub fn new(depth: u8) -> Self {
        let scale = f64::from(1u32 << (depth - 8));
        Self {
            black: 16.0 * scale,
            centre: 128.0 * scale,
            luma: 1.0 / (219.0 * scale),
            chroma: 1.0 / (224.0 * scale),
        }
    }

    pub fn lab(&self, pixel: Yuv) -> Lab {
        let [x, y, z] = xyz(self.rgb(pixel).map(linear));
        Lab::new([x, y, z].map(lightness))
    }

    /// Red, green and blue, as they are stored.
    #[inline(always)]
    pub fn rgb(&self, pixel: Yuv) -> [f64; 3] {
        let y = (f64::from(pixel.y) - self.black) * self.luma;
        let u = (f64::from(pixel.u) - self.centre) * self.chroma;
        let v = (f64::from(pixel.v) - self.centre) * self.chroma;
        [y + 1.28033 * v, y - 0.21482 * u - 0.38059 * v, y + 2.12798 * u]
    }
}

/// Linear RGB to X, Y and Z, relative to D65.
#[inline(always)]
pub fn xyz(rgb: [f64; 3]) -> [f64; 3] {
    let [r, g, b] = rgb;
    let x = r * 0.4124564390896921 + g * 0.357576077643909 + b * 0.18043748326639894;
    let y = r * 0.21267285140562248 + g * 0.715152155287818 + b * 0.07217499330655958;
    let z = r * 0.019333895582329317 + g * 0.119192025881303 + b * 0.9503040785363677;
    [x * (1.0 / 0.95047), y, z * (1.0 / 1.08883)]
}

/// The knee of the sRGB curve is 10/255 and not the standard's 0.04045, as in libvmaf.
pub const CURVE_KNEE: f64 = 10.0 / 255.0;
/// The knee of CIE's lightness curve.
pub const LIGHTNESS_KNEE: f64 = 216.0 / 24389.0;

/// The sRGB curve.
fn linear(value: f64) -> f64 {
    if value > CURVE_KNEE { pow(curve_base(value), 2.4) } else { curve_foot(value) }
}

/// What the curve takes a power of.
#[inline(always)]
pub fn curve_base(value: f64) -> f64 {
    (value + 0.055) * (1.0 / 1.055)
}

#[inline(always)]
pub fn curve_foot(value: f64) -> f64 {
    value * (1.0 / 12.92)
}

/// CIE's lightness curve: a cube root with a straight foot.
fn lightness(value: f64) -> f32 {
    (if value > LIGHTNESS_KNEE { pow(value, 1.0 / 3.0) } else { lightness_foot(value) }) as f32
}

#[inline(always)]
pub fn lightness_foot(value: f64) -> f64 {
    const KAPPA: f64 = 24389.0 / 27.0;
    (KAPPA * value + 16.0) * (1.0 / 116.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_colours() {
        for depth in [8, 10, 12, 16] {
            let convert = Converter::new(depth);
            let shift = depth - 8;
            let lab =
                |y: u16, u: u16, v: u16| convert.lab(Yuv { y: y << shift, u: u << shift, v: v << shift });
            let white = lab(235, 128, 128);
            assert!((white.l - 100.0).abs() < 1e-3 && white.a.abs() < 0.02 && white.b.abs() < 0.02);
            let black = lab(16, 128, 128);
            assert!(black.l.abs() < 1e-4 && black.a == 0.0 && black.b == 0.0);
            // The matrix is that of YUV, not YCbCr, so pure colours are off; their directions are not.
            let (red, blue, green) = (lab(63, 102, 240), lab(32, 240, 118), lab(173, 42, 26));
            assert!(red.a > 40.0 && red.b > 20.0 && blue.b < -60.0 && green.a < -50.0 && green.b > 40.0);
        }
    }
}
