//! Made pictures: moving textures, drawings, fades, cuts and cards, each frame a pure function of its number.

/// Width and height of made pictures.
pub const SIZE: (usize, usize) = (320, 180);
const TILE: usize = 512;

/// What a clip shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Two textured layers that move at different speeds, with grain.
    Natural,
    /// Flat shapes, drawn anew for every second frame.
    Animated,
    /// A texture that moves by a quarter of a sample per frame.
    SlowPan,
    /// Dissolves, and fades from and to black.
    Fades,
    /// A new texture every second or so.
    Cuts,
    /// Fine blades that sway.
    Grass,
    /// Text on plain ground, one card after another.
    Titles,
    /// A still with a small thing that moves, and grain.
    NearStill,
    /// A texture that comes closer.
    Zoom,
    /// A camera in an unsteady hand.
    Handheld,
}

pub const ALL: [Content; 10] = [
    Content::Natural,
    Content::Animated,
    Content::SlowPan,
    Content::Fades,
    Content::Cuts,
    Content::Grass,
    Content::Titles,
    Content::NearStill,
    Content::Zoom,
    Content::Handheld,
];

/// SplitMix64: the same numbers everywhere.
#[derive(Clone, Copy)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// A square texture that repeats, with detail at all scales.
struct Texture(Vec<f32>);

impl Texture {
    /// `fall` is the weight of each finer octave against the one before.
    fn new(seed: u64, octaves: std::ops::Range<u32>, fall: f32) -> Self {
        let mut random = Random::new(seed);
        let mut all = vec![0.0f32; TILE * TILE];
        let mut weight = 1.0;
        let mut total = 0.0;
        for octave in octaves {
            let cells = 1usize << octave;
            let lattice: Vec<f32> = (0..cells * cells).map(|_| random.unit() - 0.5).collect();
            let step = TILE as f32 / cells as f32;
            for y in 0..TILE {
                for x in 0..TILE {
                    let (u, v) = (x as f32 / step, y as f32 / step);
                    all[y * TILE + x] += weight * smooth(&lattice, cells, u, v);
                }
            }
            total += weight;
            weight *= fall;
        }
        all.iter_mut().for_each(|value| *value *= 2.0 / total);
        Self(all)
    }

    /// Bilinear, endless.
    fn at(&self, x: f32, y: f32) -> f32 {
        let (fx, fy) = (x.floor(), y.floor());
        let (dx, dy) = (x - fx, y - fy);
        let place = |x: i64, y: i64| {
            self.0[(y.rem_euclid(TILE as i64) as usize) * TILE + x.rem_euclid(TILE as i64) as usize]
        };
        let (ix, iy) = (fx as i64, fy as i64);
        let top = place(ix, iy) * (1.0 - dx) + place(ix + 1, iy) * dx;
        let bottom = place(ix, iy + 1) * (1.0 - dx) + place(ix + 1, iy + 1) * dx;
        top * (1.0 - dy) + bottom * dy
    }
}

fn smooth(lattice: &[f32], cells: usize, u: f32, v: f32) -> f32 {
    let (fu, fv) = (u.floor(), v.floor());
    let ease = |t: f32| t * t * (3.0 - 2.0 * t);
    let (du, dv) = (ease(u - fu), ease(v - fv));
    let at = |x: usize, y: usize| lattice[(y % cells) * cells + x % cells];
    let (x, y) = (fu as usize, fv as usize);
    let top = at(x, y) * (1.0 - du) + at(x + 1, y) * du;
    let bottom = at(x, y + 1) * (1.0 - du) + at(x + 1, y + 1) * du;
    top * (1.0 - dv) + bottom * dv
}

/// A clip that can show any of its frames.
pub struct Clip {
    content: Content,
    textures: Vec<Texture>,
    seed: u64,
}

impl Clip {
    pub fn new(content: Content, seed: u64) -> Self {
        let fine = if content == Content::Grass { 0.95 } else { 0.6 };
        let textures = (0..3).map(|at| Texture::new(seed * 7 + at, 2..8, fine)).collect();
        Self { content, textures, seed }
    }

    /// Luma of frame `number`.
    pub fn luma(&self, number: usize) -> Vec<u8> {
        let t = number as f32;
        let grain = match self.content {
            Content::Natural | Content::Handheld => 6.0,
            Content::NearStill | Content::Cuts => 3.0,
            _ => 0.0,
        };
        let mut noise = Random::new(self.seed ^ (number as u64) << 20);
        let mut all = Vec::with_capacity(SIZE.0 * SIZE.1);
        let shown = self.shown(number);
        for y in 0..SIZE.1 {
            for x in 0..SIZE.0 {
                let value = self.sample(shown, t, x as f32, y as f32);
                let value = if grain > 0.0 { value + grain * (noise.unit() - 0.5) } else { value };
                all.push(value.clamp(16.0, 235.0).round() as u8);
            }
        }
        all
    }

    /// Which shot or card, and the frame within it.
    fn shown(&self, number: usize) -> (usize, f32) {
        let lengths: [usize; 5] = match self.content {
            Content::Cuts => [31, 22, 43, 27, 36],
            Content::Titles => [48, 40, 55, 44, 50],
            Content::Fades => [40, 40, 40, 40, 40],
            _ => return (0, number as f32),
        };
        let (mut shot, mut left) = (0, number);
        while left >= lengths[shot % 5] {
            left -= lengths[shot % 5];
            shot += 1;
        }
        (shot, left as f32)
    }

    fn sample(&self, (shot, within): (usize, f32), t: f32, x: f32, y: f32) -> f32 {
        let tex = |at: usize, x: f32, y: f32| 126.0 + 190.0 * self.textures[at % 3].at(x, y);
        let s = self.seed as f32;
        match self.content {
            Content::Natural => {
                let hill = 90.0 + 40.0 * (x * 0.02 + t * 0.012 + s).sin();
                if y > hill { tex(0, x + 1.7 * t, y + 0.3 * t) } else { 0.5 * tex(1, x + 0.6 * t, y) + 80.0 }
            }
            Content::SlowPan => tex(0, x + 0.25 * t, y + 0.05 * t),
            Content::Grass => {
                let sway = 3.0 * (t * 0.21 + y * 0.03 + s).sin() + 1.5 * (t * 0.073 + x * 0.05).sin();
                tex(0, x + sway, y * 0.4)
            }
            Content::Cuts => {
                let (dx, dy) = [(2.1, 0.4), (-0.8, 0.9), (0.3, -0.2), (4.0, 0.0), (-1.5, -1.1)][shot % 5];
                tex(shot, x + dx * within + 97.0 * shot as f32, y + dy * within + 55.0 * shot as f32)
            }
            Content::Fades => {
                let a = tex(shot, x + 0.8 * t, y + 40.0 * shot as f32);
                let b = tex(shot + 1, x + 0.8 * t, y + 40.0 * (shot + 1) as f32);
                let share = ((within - 20.0) / 20.0).clamp(0.0, 1.0);
                if shot % 3 == 2 {
                    let dark = (within - 20.0).abs() / 20.0;
                    16.0 + (a - 16.0) * dark.min(1.0) * if within < 20.0 { 1.0 } else { 0.0 }
                        + (b - 16.0) * dark.min(1.0) * if within < 20.0 { 0.0 } else { 1.0 }
                } else {
                    a * (1.0 - share) + b * share
                }
            }
            Content::Zoom => {
                let scale = 1.0 / (1.0 + 0.008 * t);
                tex(0, 160.0 + (x - 160.0) * scale, 90.0 + (y - 90.0) * scale)
            }
            Content::Handheld => {
                let (dx, dy) = (
                    5.0 * (t * 0.31 + s).sin() + 3.0 * (t * 0.127).sin() + 0.5 * t,
                    4.0 * (t * 0.23).cos() + 2.0 * (t * 0.41 + s).sin(),
                );
                tex(0, x + dx, y + dy)
            }
            Content::NearStill => {
                let (cx, cy) = (160.0 + 60.0 * (t * 0.05 + s).sin(), 90.0 + 30.0 * (t * 0.037).cos());
                let near = (x - cx).powi(2) + (y - cy).powi(2);
                if near < 150.0 { 200.0 } else { tex(0, x, y) }
            }
            Content::Animated => self.drawing((t / 2.0).floor() * 2.0, x, y),
            Content::Titles => self.card(shot, within, x, y),
        }
    }

    fn drawing(&self, t: f32, x: f32, y: f32) -> f32 {
        let s = self.seed as f32;
        let mut value = 170.0 + 0.1 * y;
        for shape in 0..6 {
            let k = shape as f32;
            let (cx, cy) = (
                160.0 + 130.0 * (t * (0.02 + 0.006 * k) + k + s).sin(),
                90.0 + 70.0 * (t * (0.017 + 0.004 * k) + 2.0 * k).cos(),
            );
            let radius = 14.0 + 5.0 * k;
            let distance = ((x - cx).powi(2) + (y - cy).powi(2)).sqrt();
            if distance < radius {
                value = if distance > radius - 2.0 { 30.0 } else { 60.0 + 25.0 * k };
            }
        }
        value
    }

    fn card(&self, shot: usize, within: f32, x: f32, y: f32) -> f32 {
        let appear = (within / 8.0).min(1.0);
        let (column, row) = ((x / 10.0) as u64, (y / 18.0) as u64);
        let inside = (5..27).contains(&column) && (3..8).contains(&row) && y % 18.0 > 4.0 && x % 10.0 > 2.0;
        let mut dice = Random::new(self.seed ^ (shot as u64) << 32 ^ row << 16 ^ column);
        if inside && dice.unit() < 0.6 {
            24.0 + 190.0 * appear * if dice.unit() < 0.5 { 1.0 } else { ((x + y) % 4.0) / 4.0 }
        } else {
            24.0
        }
    }
}
