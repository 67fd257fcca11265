//! A moving scene that looks natural enough for metrics: a smooth sky, a town with hard edges, textured ground, a ball
//! and a striped box that move on their own, and grain over all of it, while the camera pans by fractions of a sample.
//!
//! It is drawn at 16 bits and cut to the format's depth, so a clip of 8 bits is the upper part of the one of 10 bits.
//! Places are in 1/256 of a luma sample; chroma planes are the same scene seen at every second place.

use super::{grain, hash, set_row};
use crate::{Format, Frame};

/// Fixed-point one: places and blend weights count in 256ths.
const ONE: i64 = 256;
const ONE_LOG2: u32 = 8;

/// The scene of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scene {
    seed: u32,
}

impl Scene {
    pub fn new(seed: u32) -> Self {
        Self { seed }
    }

    /// Draws frame `index`.
    pub fn draw(&self, index: u64, frame: &mut Frame) {
        let format = *frame.format();
        let stage = Stage::new(self.seed, index, &format);
        for plane in 0..format.planes() {
            let (width, height) = format.plane_size(plane);
            let mut row = vec![0; width];
            for y in 0..height {
                stage.draw_row(plane, y, &mut row);
                let shift = 16 - format.depth();
                let cut = |value: &i32| ((*value).clamp(16 << 8, 235 << 8) >> shift) as u16;
                set_row(frame, plane, y, row.iter().map(cut));
            }
        }
    }
}

/// Colours at 16 bits, as luma and the two chroma planes.
type Colour = [i32; 3];
const SKY_TOP: Colour = [26_000, 42_500, 27_500];
const SKY_BOTTOM: Colour = [47_000, 36_000, 31_500];
const GROUND: Colour = [25_000, 28_500, 31_500];
const BALL: Colour = [36_000, 26_500, 44_000];
const BOX: Colour = [30_000, 39_500, 35_500];
const WINDOW: Colour = [52_000, 27_000, 35_500];

/// Texture of one scale: lattice points 2^`period_log2` luma samples apart, up to `strength` per plane.
struct Texture {
    period_log2: u32,
    strength: Colour,
}

const fn texture(period_log2: u32, luma: i32, chroma: i32) -> Texture {
    Texture { period_log2, strength: [luma, chroma, -chroma] }
}

const CLOUDS: [Texture; 3] = [texture(7, 5_000, 800), texture(6, 2_600, 300), texture(5, 900, 0)];
const SOIL: [Texture; 5] = [
    texture(6, 6_000, 1_500),
    texture(5, 4_500, 900),
    texture(4, 3_500, 500),
    texture(3, 3_000, 300),
    texture(2, 2_200, 0),
];
const WALL: [Texture; 2] = [texture(3, 700, 200), texture(1, 500, 0)];

/// One frame of the scene: where everything is at that moment.
struct Stage {
    seed: u32,
    index: i64,
    width: i64,
    height: i64,
    shifts: (u32, u32),
    horizon: i64,
    /// How far the camera has moved.
    pan: (i64, i64),
    ball: (i64, i64),
    ball_radius: i64,
    box_corner: (i64, i64),
    box_side: i64,
}

impl Stage {
    fn new(seed: u32, index: u64, format: &Format) -> Self {
        let (width, height) = (format.width() as i64, format.height() as i64);
        let (w, h, least) = (width * ONE, height * ONE, width.min(height) * ONE);
        // Positions repeat long before this many frames matter.
        let index = (index % (1 << 24)) as i64;
        let speed = 300 + i64::from(hash(seed, 1, 1) % 400);
        Self {
            seed,
            index,
            width,
            height,
            shifts: format.chroma().shifts(),
            horizon: h * 5 / 8,
            pan: (index * speed, there_and_back(index * 90, 6 * ONE)),
            ball: (there_and_back(w / 5 + index * 1_100, w), h / 3 + there_and_back(index * 700, h / 3)),
            ball_radius: least / 7,
            box_corner: (
                w - there_and_back(w / 4 + index * 500, w),
                h / 2 + there_and_back(index * 350, h / 4),
            ),
            box_side: least / 4,
        }
    }

    fn draw_row(&self, plane: usize, y: usize, row: &mut [i32]) {
        let (sx, sy) = if plane == 0 { (0, 0) } else { self.shifts };
        let line = Line { plane, y: ((y as i64) << sy) * ONE, step: ONE << sx };
        self.backdrop(&line, row);
        self.town(&line, row);
        self.moving_box(&line, row);
        self.ball(&line, row);
        let strength = if plane == 0 { 420 } else { 160 };
        let place = (self.index * 3 + plane as i64) * (1 << 20) + y as i64;
        for (x, value) in row.iter_mut().enumerate() {
            *value += grain(self.seed ^ 0x5eed, x as i64, place) * strength / 255;
        }
    }

    fn backdrop(&self, line: &Line, row: &mut [i32]) {
        let y = line.y + self.pan.1;
        if line.y < self.horizon {
            let weight = line.y * ONE / self.horizon.max(1);
            row.fill(mix(SKY_TOP[line.plane], SKY_BOTTOM[line.plane], weight));
            // Clouds are far away and pass slowly.
            self.add_textures(line, row, &CLOUDS, (self.pan.0 / 4, y), 0);
        } else {
            row.fill(GROUND[line.plane]);
            self.add_textures(line, row, &SOIL, (self.pan.0, y), 100);
        }
    }

    fn add_textures(&self, line: &Line, row: &mut [i32], textures: &[Texture], at: (i64, i64), salt: u32) {
        for texture in textures.iter().filter(|texture| texture.strength[line.plane] != 0) {
            let seed = self.seed.wrapping_add(salt + texture.period_log2);
            texture.add(seed, line, at, row);
        }
    }

    /// Houses of different heights stand on the horizon, with rows of windows.
    fn town(&self, line: &Line, row: &mut [i32]) {
        let house = (self.width / 9).max(6) * ONE;
        let (floor, left) = (self.horizon + self.height * ONE / 20, self.pan.0 / 2);
        let tallest = (self.height * ONE / 3).max(1);
        if !(floor - tallest..floor).contains(&line.y) {
            return;
        }
        let mut walls = vec![0; row.len()];
        self.add_textures(line, &mut walls, &WALL, (left, line.y + self.pan.1), 200);
        let mut known = (i64::MIN, 0, 0);
        for (x, value) in row.iter_mut().enumerate() {
            let at = left + x as i64 * line.step;
            if known.0 != at / house {
                let bits = hash(self.seed ^ 0x70_77, at / house, 0);
                let height = tallest / 4 + i64::from(bits % 1024) * (tallest * 3 / 4) / 1024;
                known = (at / house, bits, floor - height);
            }
            let (_, bits, roof) = known;
            if line.y >= roof {
                *value = house_colour(bits, at % house, line.y - roof, line.plane) + walls[x];
            }
        }
    }

    fn moving_box(&self, line: &Line, row: &mut [i32]) {
        let (left, top) = self.box_corner;
        if !(top..top + self.box_side).contains(&line.y) {
            return;
        }
        for (x, value) in row.iter_mut().enumerate() {
            let at = x as i64 * line.step;
            if (left..left + self.box_side).contains(&at) {
                let stripe = ((at - left + line.y - top) / (5 * ONE)) % 2;
                let contrast = if line.plane == 0 { 9_000 } else { 1_500 };
                *value = BOX[line.plane] + contrast * stripe as i32;
            }
        }
    }

    /// A ball that is lit from above, with a soft rim.
    fn ball(&self, line: &Line, row: &mut [i32]) {
        let (dy, radius) = (line.y - self.ball.1, self.ball_radius);
        if dy.abs() >= radius {
            return;
        }
        let half = (radius * radius - dy * dy).isqrt();
        let light = if line.plane == 0 { (-dy * 12_000 / radius) as i32 } else { 0 };
        for (x, value) in row.iter_mut().enumerate() {
            let inside = half - (x as i64 * line.step - self.ball.0).abs();
            let cover = (inside + ONE / 2).clamp(0, ONE);
            *value = mix(*value, BALL[line.plane] + light, cover);
        }
    }
}

/// The row being drawn: its plane, its place in the picture, and the distance of its samples.
struct Line {
    plane: usize,
    y: i64,
    step: i64,
}

impl Texture {
    /// Adds smooth noise: random values on a lattice, blended in between. `at` is the place of the row's first sample.
    fn add(&self, seed: u32, line: &Line, at: (i64, i64), row: &mut [i32]) {
        let cell_log2 = ONE_LOG2 + self.period_log2;
        let strength = self.strength[line.plane];
        let (cell_y, weight_y) = lattice(at.1, cell_log2);
        let value = |cell_x: i64| {
            let corner = |y: i64| (hash(seed, cell_x, y) >> 16) as i32 - 32_768;
            mix(corner(cell_y), corner(cell_y + 1), weight_y)
        };
        let mut known = (i64::MIN, 0, 0);
        for (x, sample) in row.iter_mut().enumerate() {
            let (cell_x, weight_x) = lattice(at.0 + x as i64 * line.step, cell_log2);
            if known.0 != cell_x {
                known = (cell_x, value(cell_x), value(cell_x + 1));
            }
            let texture = i64::from(mix(known.1, known.2, weight_x)) * i64::from(strength);
            *sample += (texture >> 15) as i32;
        }
    }
}

/// The cell a place lies in, and the smoothed way through it, 0 to `ONE`.
fn lattice(place: i64, cell_log2: u32) -> (i64, i64) {
    let cell = place >> cell_log2;
    let way = (place - (cell << cell_log2)) >> (cell_log2 - ONE_LOG2);
    (cell, (way * way * (3 * ONE - 2 * way)) >> (2 * ONE_LOG2))
}

fn mix(a: i32, b: i32, weight: i64) -> i32 {
    (i64::from(a) + (((i64::from(b) - i64::from(a)) * weight) >> ONE_LOG2)) as i32
}

/// A walk from 0 to `end` and back, for ever.
fn there_and_back(way: i64, end: i64) -> i64 {
    let end = end.max(1);
    let at = way % (2 * end);
    at.min(2 * end - at)
}

/// The front of a house, `x` and `y` from its upper left corner: plain wall with windows, some of them lit.
fn house_colour(bits: u32, x: i64, y: i64, plane: usize) -> i32 {
    let wall = [16_000 + (bits >> 10 & 0x3fff) as i32, 30_500 + (bits >> 24 & 0xff) as i32 * 16, 33_500];
    let (column, row) = (x / (7 * ONE), y / (9 * ONE));
    let in_window = x % (7 * ONE) >= 3 * ONE && y % (9 * ONE) >= 4 * ONE;
    let lit = hash(bits, column, row).is_multiple_of(3);
    match (in_window, lit) {
        (true, true) => WINDOW[plane],
        (true, false) => wall[plane] - if plane == 0 { 7_000 } else { 0 },
        _ => wall[plane],
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples_of;
    use super::*;
    use crate::Chroma;

    fn draw(seed: u32, index: u64, width: usize, height: usize, chroma: Chroma, depth: u8) -> Frame {
        let mut frame = Frame::new(Format::new(width, height, chroma, depth).unwrap());
        Scene::new(seed).draw(index, &mut frame);
        frame
    }

    #[test]
    fn fewer_bits_are_the_upper_part_of_more_bits() {
        let deep = samples_of(&draw(4, 9, 96, 54, Chroma::C420, 16), 0);
        for depth in 8..16 {
            let cut = samples_of(&draw(4, 9, 96, 54, Chroma::C420, depth), 0);
            assert!(cut.iter().zip(&deep).all(|(cut, deep)| *cut == deep >> (16 - depth)));
        }
    }

    #[test]
    fn chroma_of_420_is_taken_from_444() {
        let full = draw(4, 9, 64, 36, Chroma::C444, 16);
        let half = draw(4, 9, 64, 36, Chroma::C420, 16);
        let (full, half) = (samples_of(&full, 1), samples_of(&half, 1));
        // Grain is drawn for every plane on its own.
        for (at, sample) in half.iter().enumerate() {
            assert!(sample.abs_diff(full[at / 32 * 2 * 64 + at % 32 * 2]) <= 2 * 160);
        }
    }

    #[test]
    fn frames_and_seeds_differ_but_repeat() {
        let frame = |seed, index| samples_of(&draw(seed, index, 64, 36, Chroma::C420, 8), 0);
        assert_eq!(frame(1, 5), frame(1, 5));
        assert_ne!(frame(1, 5), frame(1, 6));
        assert_ne!(frame(1, 5), frame(2, 5));
    }

    #[test]
    fn smallest_pictures_and_last_indices_work() {
        for (width, height) in [(1, 1), (1, 9), (9, 1), (2, 2), (7, 5)] {
            for index in [0, 1, u64::MAX] {
                draw(1, index, width, height, Chroma::C420, 10);
            }
        }
    }
}
