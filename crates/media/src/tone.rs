//! HDR to SDR, for a score of what an SDR screen would show.
//!
//! PQ (SMPTE ST 2084) and HLG (BT.2100, shown at 1000 cd/m² with a system gamma of 1.2) are brought to light; what is
//! brighter than 203 cd/m², the reference white of BT.2408, is compressed by the curve of BT.2390, from 1000 to 203 cd/m²,
//! by the largest of the three components, so that hue stays; the primaries become those of BT.709, what lies outside of them
//! is clipped; and the light is written with a gamma of 2.4 (BT.1886) in limited range. Size, chroma format and depth stay.

use visus_video::{ColourRange, Format, Frame, Info, PlaneView, ReadError, Source};

use crate::rgb::{levels, write_row};

/// How a sample stands for light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HdrTransfer {
    Pq,
    Hlg,
}

/// The brightest light of the source that keeps its own place, and white of the result, in cd/m².
const PEAK: f64 = 1000.0;
const WHITE: f64 = 203.0;

/// Entries of the tables.
const STEPS: usize = 4096;

/// What is done, in words.
pub const WORDS: &str =
    "tone-mapped to SDR (BT.2390, 1000 to 203 cd/m², BT.2020 to BT.709, gamma 2.4, limited range)";

fn pq_to_light(value: f64) -> f64 {
    let (m1, m2) = (2610.0 / 16384.0, 2523.0 / 4096.0 * 128.0);
    let (c1, c2, c3) = (3424.0 / 4096.0, 2413.0 / 4096.0 * 32.0, 2392.0 / 4096.0 * 32.0);
    let power = value.clamp(0.0, 1.0).powf(1.0 / m2);
    10_000.0 * ((power - c1).max(0.0) / (c2 - c3 * power)).powf(1.0 / m1)
}

fn light_to_pq(light: f64) -> f64 {
    let (m1, m2) = (2610.0 / 16384.0, 2523.0 / 4096.0 * 128.0);
    let (c1, c2, c3) = (3424.0 / 4096.0, 2413.0 / 4096.0 * 32.0, 2392.0 / 4096.0 * 32.0);
    let power = (light.max(0.0) / 10_000.0).powf(m1);
    ((c1 + c2 * power) / (1.0 + c3 * power)).powf(m2)
}

/// Scene light, 0 to 1.
fn hlg_to_scene(value: f64) -> f64 {
    let (a, b, c) = (0.178_832_77, 0.284_668_92, 0.559_910_73);
    let value = value.clamp(0.0, 1.0);
    if value <= 0.5 { value * value / 3.0 } else { (((value - c) / a).exp() + b) / 12.0 }
}

/// The curve of BT.2390: light in, light out, both in cd/m².
fn compress(light: f64) -> f64 {
    let peak = light_to_pq(PEAK);
    let (input, top) = ((light_to_pq(light) / peak).min(1.0), light_to_pq(WHITE) / peak);
    let knee = 1.5 * top - 0.5;
    if input < knee {
        return light;
    }
    let t = (input - knee) / (1.0 - knee);
    let (t2, t3) = (t * t, t * t * t);
    let hermite = (2.0 * t3 - 3.0 * t2 + 1.0) * knee
        + (t3 - 2.0 * t2 + t) * (1.0 - knee)
        + (-2.0 * t3 + 3.0 * t2) * top;
    pq_to_light(hermite * peak)
}

/// The tables of one transfer function.
struct Tables {
    transfer: HdrTransfer,
    /// A non-linear component to light: PQ in cd/m², HLG of the scene.
    light: Vec<f32>,
    /// The fourth root of light over 10,000 cd/m² to the factor that takes it to 0…1.
    gain: Vec<f32>,
    /// The square root of linear light to its gamma.
    gamma: Vec<f32>,
}

impl Tables {
    fn new(transfer: HdrTransfer) -> Self {
        let table = |value: &dyn Fn(f64) -> f64| -> Vec<f32> {
            (0..STEPS).map(|step| value(step as f64 / (STEPS - 1) as f64) as f32).collect()
        };
        let light = match transfer {
            HdrTransfer::Pq => table(&pq_to_light),
            HdrTransfer::Hlg => table(&hlg_to_scene),
        };
        let gain = table(&|root: f64| {
            let light = root.powi(4) * 10_000.0;
            if light <= 0.0 { 1.0 / WHITE } else { compress(light).min(WHITE) / light / WHITE }
        });
        Self { transfer, light, gain, gamma: table(&|root: f64| (root * root).powf(1.0 / 2.4)) }
    }

    fn at(table: &[f32], value: f32) -> f32 {
        table[(value.clamp(0.0, 1.0) * (STEPS - 1) as f32 + 0.5) as usize]
    }

    /// Non-linear BT.2020 to non-linear BT.709, both 0…1.
    fn map(&self, rgb: [f32; 3]) -> [f32; 3] {
        let mut light = rgb.map(|value| Self::at(&self.light, value));
        if self.transfer == HdrTransfer::Hlg {
            let luminance = 0.2627 * light[0] + 0.678 * light[1] + 0.0593 * light[2];
            let factor = PEAK as f32 * luminance.powf(0.2);
            light = light.map(|value| value * factor);
        }
        let largest = light[0].max(light[1]).max(light[2]);
        let gain = Self::at(&self.gain, (largest / 10_000.0).sqrt().sqrt());
        let [r, g, b] = light.map(|value| value * gain);
        [
            1.660_491 * r - 0.587_641 * g - 0.072_850 * b,
            -0.124_550 * r + 1.132_900 * g - 0.008_349 * b,
            -0.018_151 * r - 0.100_579 * g + 1.118_730 * b,
        ]
        .map(|value| Self::at(&self.gamma, value.clamp(0.0, 1.0).sqrt()))
    }
}

/// A source whose pictures are tone-mapped.
pub(crate) struct ToneMapped {
    source: Box<dyn Source>,
    info: Info,
    range: ColourRange,
    tables: Tables,
    whole: Frame,
}

impl ToneMapped {
    pub fn new(source: Box<dyn Source>, transfer: HdrTransfer, range: ColourRange) -> Self {
        let info = Info { range: Some(ColourRange::Limited), ..source.info().clone() };
        let whole = Frame::new(*source.format());
        Self { source, info, range, tables: Tables::new(transfer), whole }
    }

    fn convert(&self, out: &mut Frame) {
        let format = *self.source.format();
        let (width, height) = (format.width(), format.height());
        let (across, down) = format.chroma().shifts();
        let coloured = format.planes() == 3;
        let (chroma_width, chroma_height) = if coloured { format.plane_size(1) } else { (0, 0) };
        let mut sums = [vec![0f32; chroma_width], vec![0f32; chroma_width]];
        let (low, luma, chroma) = levels(self.range, format.depth());
        let (out_low, out_luma, out_chroma) = levels(ColourRange::Limited, format.depth());
        let centre = f64::from(1u32 << (format.depth() - 1));
        let mut row = vec![0u16; width];
        for y in 0..height {
            let chroma_row = (y >> down).min(chroma_height.saturating_sub(1));
            for x in 0..width {
                let of = |plane: usize| {
                    let place = ((x >> across).min(chroma_width.saturating_sub(1)), chroma_row);
                    (sample(&self.whole, plane, place.0, place.1) - centre as f32) / chroma as f32
                };
                let light = (sample(&self.whole, 0, x, y) - low as f32) / luma as f32;
                let (cb, cr) = if coloured { (of(1), of(2)) } else { (0.0, 0.0) };
                let rgb = [light + 1.4746 * cr, light - 0.164_553 * cb - 0.571_353 * cr, light + 1.8814 * cb];
                let [r, g, b] = self.tables.map(rgb);
                let value = 0.2126 * r + 0.7152 * g + 0.0722 * b;
                row[x] = (value * out_luma as f32 + out_low as f32 + 0.5) as u16;
                if coloured && (x >> across) < chroma_width {
                    sums[0][x >> across] += (b - value) / 1.8556;
                    sums[1][x >> across] += (r - value) / 1.5748;
                }
            }
            write_row(out, 0, y, row.iter().copied());
            if coloured && ((y + 1) % (1 << down) == 0) && (y >> down) < chroma_height {
                let count = (1u32 << (across + down)) as f32;
                for (plane, sums) in sums.iter_mut().enumerate() {
                    let value = |sum: &f32| (sum / count * out_chroma as f32 + centre as f32 + 0.5) as u16;
                    write_row(out, plane + 1, y >> down, sums.iter().map(value));
                    sums.fill(0.0);
                }
            }
        }
    }
}

fn sample(frame: &Frame, plane: usize, x: usize, y: usize) -> f32 {
    match frame.plane(plane) {
        PlaneView::U8(plane) => f32::from(plane.row(y)[x]),
        PlaneView::U16(plane) => f32::from(plane.row(y)[x]),
    }
}

impl Source for ToneMapped {
    fn format(&self) -> &Format {
        self.source.format()
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.source.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        let more = self.source.read(&mut self.whole)?;
        if more {
            self.convert(frame);
        }
        Ok(more)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.source.skip(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.source.total_frames()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    #[test]
    fn curves_have_the_values_of_the_standards() {
        assert!((pq_to_light(0.508_078) - 100.0).abs() < 0.1, "{}", pq_to_light(0.508_078));
        assert!((light_to_pq(1000.0) - 0.751_827).abs() < 1e-4);
        for light in [0.1, 5.0, 100.0, 4000.0] {
            assert!((pq_to_light(light_to_pq(light)) / light - 1.0).abs() < 1e-6);
        }
        assert!((hlg_to_scene(0.5) - 1.0 / 12.0).abs() < 1e-9 && (hlg_to_scene(1.0) - 1.0).abs() < 1e-4);
        assert!((compress(PEAK) - WHITE).abs() < 0.01 && compress(10.0) == 10.0);
        let rising = (1..100).map(|step| compress(f64::from(step) * 10.0)).collect::<Vec<_>>();
        assert!(rising.windows(2).all(|pair| pair[1] >= pair[0]));
    }

    #[test]
    fn grey_stays_grey_and_white_becomes_white() {
        for transfer in [HdrTransfer::Pq, HdrTransfer::Hlg] {
            let tables = Tables::new(transfer);
            for value in [0.0, 0.2, 0.5, 0.75, 1.0] {
                let [r, g, b] = tables.map([value; 3]);
                assert!((r - g).abs() < 2e-3 && (g - b).abs() < 2e-3, "{transfer:?} {value}: {r} {g} {b}");
            }
            let peak = if transfer == HdrTransfer::Pq { light_to_pq(PEAK) as f32 } else { 1.0 };
            assert!(tables.map([peak; 3])[1] > 0.99, "{transfer:?}");
            assert!(tables.map([0.0; 3])[1] < 0.01, "{transfer:?}");
        }
    }

    #[test]
    fn pictures_of_every_chroma_format() {
        for chroma in [Chroma::C420, Chroma::C422, Chroma::C444, Chroma::C400] {
            let format = Format::new(18, 10, chroma, 10).unwrap();
            let clip = visus_video::synthetic::Clip::scene(format, 2, 3);
            let mut mapped = ToneMapped::new(Box::new(clip), HdrTransfer::Pq, ColourRange::Limited);
            let mut frame = Frame::new(format);
            assert!(mapped.read(&mut frame).unwrap());
            let PlaneView::U16(luma) = frame.plane(0) else { panic!("10 bits are two bytes") };
            assert!(luma.rows().flatten().all(|sample| (64..=941).contains(sample)));
            assert_eq!(mapped.info().range, Some(ColourRange::Limited));
        }
    }
}
