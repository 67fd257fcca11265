//! CAMBI as its definition reads, pixel by pixel: the truth that the kernels are compared with.

use super::super::luminance::Eotf;

/// A plane of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<T> {
    pub width: usize,
    pub height: usize,
    pub data: Vec<T>,
}

impl<T: Copy> Grid<T> {
    pub fn from_fn(width: usize, height: usize, mut value: impl FnMut(usize, usize) -> T) -> Self {
        let data = (0..width * height).map(|i| value(i % width, i / width)).collect();
        Self { width, height, data }
    }

    pub fn at(&self, x: usize, y: usize) -> T {
        self.data[y * self.width + x]
    }

    pub fn get(&self, x: isize, y: isize) -> Option<T> {
        let inside = (0..self.width as isize).contains(&x) && (0..self.height as isize).contains(&y);
        inside.then(|| self.at(x as usize, y as usize))
    }

    /// Values in the square of this side around a pixel, as far as it lies in the picture.
    fn around(&self, x: usize, y: usize, side: usize) -> Vec<T> {
        let reach = (side / 2) as isize;
        let offsets = (-reach..=reach).flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)));
        offsets.filter_map(|(dx, dy)| self.get(x as isize + dx, y as isize + dy)).collect()
    }

    pub fn halved(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        Self::from_fn(width, height, |x, y| self.at(2 * x, 2 * y))
    }
}

pub struct Settings {
    pub window: usize,
    pub halved: bool,
    pub undither: bool,
    pub steps: i32,
    pub threshold: f64,
    pub floor: f64,
    pub share: f64,
    pub eotf: Eotf,
}

pub fn ten_bits(samples: &Grid<u16>, depth: u32) -> Grid<u16> {
    let convert = |sample: u32| match depth {
        ..10 => sample << (10 - depth),
        10 => sample,
        _ => (sample + (1 << (depth - 11))) >> (depth - 10),
    };
    let value = |x, y| convert(u32::from(samples.at(x, y))) as u16;
    Grid::from_fn(samples.width, samples.height, value)
}

/// The mean with the right and lower neighbours that there are.
pub fn without_dither(image: &Grid<u16>) -> Grid<u16> {
    Grid::from_fn(image.width, image.height, |x, y| {
        let (x, y) = (x as isize, y as isize);
        let square = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)];
        let values: Vec<u16> = square.iter().filter_map(|(x, y)| image.get(*x, *y)).collect();
        values.iter().sum::<u16>() / values.len() as u16
    })
}

pub fn mask(image: &Grid<u16>) -> Grid<bool> {
    let flat = Grid::from_fn(image.width, image.height, |x, y| {
        let own = image.at(x, y);
        let same = |dx, dy| image.get((x + dx) as isize, (y + dy) as isize).is_none_or(|v| v == own);
        same(1, 0) && same(0, 1)
    });
    let blocks = ((image.width / 64) * (image.height / 64)).max(1) as f64;
    let threshold = (49 + 3 * (blocks.log2().ceil() as i32 - 11) - 1) / 2;
    Grid::from_fn(image.width, image.height, |x, y| {
        flat.around(x, y, 7).iter().filter(|flat| **flat).count() as i32 > threshold
    })
}

pub fn mode_filter(image: &Grid<u16>) -> Grid<u16> {
    fn mode(mut three: [u16; 3]) -> u16 {
        three.sort_unstable();
        if three[1] == three[2] { three[1] } else { three[0] }
    }
    let across = Grid::from_fn(image.width, image.height, |x, y| match x {
        0 => image.at(x, y),
        _ if x + 1 == image.width => image.at(x, y),
        _ => mode([image.at(x - 1, y), image.at(x, y), image.at(x + 1, y)]),
    });
    Grid::from_fn(image.width, image.height, |x, y| match y {
        0 => image.at(x, y),
        _ if y + 1 == image.height => image.at(x, y),
        _ => mode([across.at(x, y - 1), across.at(x, y), across.at(x, y + 1)]),
    })
}

/// The table's figure for `1 / n`: nine significant digits.
fn reciprocal(n: usize) -> f32 {
    format!("{:.8e}", 1.0 / n as f64).parse().unwrap()
}

pub fn strengths(image: &Grid<u16>, mask: &Grid<bool>, settings: &Settings) -> Grid<f32> {
    const WEIGHTS: [usize; 32] =
        [1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9];
    let dark = settings.eotf.first_with(settings.floor);
    let last: Vec<i32> =
        (1..=settings.steps).map(|step| settings.eotf.last_visible(step, settings.threshold)).collect();
    let kept = Grid::from_fn(image.width, image.height, |x, y| {
        if mask.at(x, y) { i32::from(image.at(x, y)) } else { -1000 }
    });
    Grid::from_fn(image.width, image.height, |x, y| {
        let own = kept.at(x, y);
        let window = if own < 0 { Vec::new() } else { kept.around(x, y, settings.window) };
        let count = |value: i32| window.iter().filter(|other| **other == value).count();
        let mut strongest = 0.0f32;
        for step in (1..=settings.steps).filter(|_| own >= 0) {
            if own <= last[step as usize - 1] && own + settings.steps + step > dark {
                let (p, q) = (count(own), count(own + step).max(count(own - step)));
                let strength = || (WEIGHTS[step as usize - 1] * p * q) as f32 * reciprocal(p + q);
                strongest = strongest.max(if q == 0 { 0.0 } else { strength() });
            }
        }
        strongest
    })
}

pub fn pooled(values: &[f32], share: f64) -> f64 {
    let count = ((values.len() as f64 * share) as usize).max(1);
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted[..count].iter().map(|value| f64::from(*value)).sum::<f64>() / count as f64
}

pub fn cambi(samples: &Grid<u16>, depth: u32, settings: &Settings) -> f64 {
    let mut image = ten_bits(samples, depth);
    if settings.undither {
        image = without_dither(&image);
    }
    let mut mask = mask(&image);
    let mut score = 0.0;
    for (scale, weight) in [16.0, 8.0, 4.0, 2.0, 1.0].into_iter().enumerate() {
        if scale > 0 || settings.halved {
            (image, mask) = (image.halved(), mask.halved());
        }
        image = mode_filter(&image);
        score += pooled(&strengths(&image, &mask, settings).data, settings.share) * weight;
    }
    score / (settings.window * settings.window) as f64
}
