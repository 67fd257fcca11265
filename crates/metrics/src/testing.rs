//! What the tests of every metric share: deterministic pictures, ways to score them, and what a machine must have for a
//! test to mean anything. The same rules feed the reference library when exact figures are taken from it.

use std::sync::atomic::{AtomicUsize, Ordering};

use visus_video::{Chroma, Format, Frame};

use crate::picture::FloatPlane;
use crate::{Alone, Emit, Info, Level, MetricError, Pair, Spread, Window, registry};

/// Says that it has many hands, and does the pieces from the last to the first.
#[derive(Debug)]
pub struct Backwards(pub usize);

impl Spread for Backwards {
    fn width(&self) -> usize {
        self.0
    }

    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..count).rev().for_each(work);
    }
}

/// Helping hands on threads of their own, which take pieces in an order that is none. Remembers the most pieces of a call.
#[derive(Debug)]
pub struct Hands {
    width: usize,
    pub most: AtomicUsize,
}

impl Hands {
    pub fn new(width: usize) -> Self {
        Self { width, most: AtomicUsize::new(0) }
    }
}

impl Spread for Hands {
    fn width(&self) -> usize {
        self.width
    }

    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        self.most.fetch_max(count, Ordering::Relaxed);
        let (mut order, mut noise): (Vec<usize>, _) = ((0..count).collect(), Noise::new(count as u32));
        (1..count).for_each(|place| order.swap(place, noise.below(place as u32 + 1) as usize));
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.width.min(count) {
                scope.spawn(|| {
                    while let Some(piece) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                        work(*piece);
                    }
                });
            }
        });
    }
}

/// Passes a test over because the machine lacks what it is about, such as a CPU level; fails it if the variable
/// `VISUS_REQUIRE`, a list separated by commas, says that the machine has it.
pub fn pass_over(missing: &str) {
    let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
    assert!(!is_listed(&required, missing), "this machine has no {missing}, but VISUS_REQUIRE={required}");
    eprintln!("passed over: this machine has no {missing}");
}

fn is_listed(list: &str, name: &str) -> bool {
    list.split(',').any(|entry| entry.trim() == name)
}

#[test]
fn required_things_are_listed_by_name() {
    assert!(is_listed("golden, avx512", "avx512") && is_listed("avx512", "avx512"));
    assert!(!is_listed("avx512", "avx") && !is_listed("", "avx2"));
}

/// A linear congruential generator; its high half is random enough for pictures, and other programs
/// can make the same ones.
#[derive(Clone, Debug)]
pub struct Noise(u32);

impl Noise {
    pub fn new(seed: u32) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 16
    }

    /// The next number, below `limit`.
    pub fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Full-range random samples.
    Noise,
    /// The three lowest values, at random.
    Dark,
    /// The three highest values, at random.
    Bright,
    /// Slanted triangle waves with a grain of about 1/64 of the range.
    Waves,
}

impl Content {
    pub const ALL: [Self; 4] = [Self::Noise, Self::Dark, Self::Bright, Self::Waves];

    fn sample(self, x: usize, y: usize, plane: usize, depth: u8, noise: &mut Noise) -> u32 {
        let peak = (1u32 << depth) - 1;
        match self {
            Self::Noise => noise.below(peak + 1),
            Self::Dark => noise.below(3),
            Self::Bright => peak - noise.below(3),
            Self::Waves => {
                let phase = (3 * x + 2 * y + 17 * plane) as u32 % 128;
                let wave = phase.min(128 - phase) * 3 + 20;
                (wave << (depth - 8)) + noise.below((peak + 1) / 64)
            }
        }
    }
}

/// A frame whose samples come from `sample`, which is given plane, column and row: plane by plane and row by row.
fn frame_by(format: Format, mut sample: impl FnMut(usize, usize, usize) -> u32) -> Frame {
    let mut frame = Frame::new(format);
    for plane in 0..format.planes() {
        let (width, height) = format.plane_size(plane);
        for y in 0..height {
            let row = (0..width).map(|x| sample(plane, x, y));
            if format.depth() == 8 {
                let mut rows = frame.plane_mut_u8(plane).expect("samples of 8 bits are bytes");
                rows.row_mut(y).iter_mut().zip(row).for_each(|(out, sample)| *out = sample as u8);
            } else {
                let mut rows = frame.plane_mut_u16(plane).expect("deeper samples are words");
                rows.row_mut(y).iter_mut().zip(row).for_each(|(out, sample)| *out = sample as u16);
            }
        }
    }
    frame
}

/// A picture; the same arguments always give the same one.
pub fn frame(format: Format, content: Content, seed: u32) -> Frame {
    let mut noise = Noise::new(seed);
    frame_by(format, |plane, x, y| content.sample(x, y, plane, format.depth(), &mut noise))
}

/// A frame whose samples come from `sample`, plane by plane and row by row.
pub fn frame_of(format: Format, mut sample: impl FnMut() -> u32) -> Frame {
    frame_by(format, |_, _, _| sample())
}

/// A clip of noise, and one that is a quarter other noise.
pub fn clips(format: Format, frames: usize) -> (Vec<Frame>, Vec<Frame>) {
    let range = format.peak() + 1;
    let (mut same, mut original, mut other) = (Noise::new(1), Noise::new(1), Noise::new(2));
    (0..frames)
        .map(|_| {
            let reference = frame_of(format, || same.below(range));
            let distorted = frame_of(format, || (3 * original.below(range) + other.below(range)) / 4);
            (reference, distorted)
        })
        .unzip()
}

/// A plane of values from `low` on, in steps of 1/256, less than `range` apart.
pub fn plane(width: usize, height: usize, low: f32, range: u32, noise: &mut Noise) -> FloatPlane {
    let mut plane = FloatPlane::new(width, height);
    for y in 0..height {
        plane.row_mut(y).fill_with(|| low + noise.below(range * 256) as f32 / 256.0);
    }
    plane
}

/// A format that is known to be good.
pub fn format(width: usize, height: usize, chroma: Chroma, depth: u8) -> Format {
    Format::new(width, height, chroma, depth).expect("test formats are good")
}

/// What a metric said: `scores[key][frame]`, and the numbers for the whole clip.
#[derive(Debug, Default)]
pub struct Scores {
    pub keys: Vec<String>,
    pub scores: Vec<Vec<f64>>,
    pub aggregates: Vec<(String, f64)>,
}

impl Scores {
    /// The columns with their names.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.keys.iter().map(String::as_str).zip(self.scores.iter().map(Vec::as_slice))
    }
}

impl Emit for Scores {
    fn score(&mut self, key: usize, index: u64, value: f64) {
        let (column, index) = (&mut self.scores[key], index as usize);
        column.resize(column.len().max(index + 1), f64::NAN);
        assert!(column[index].is_nan(), "a score is written once");
        column[index] = value;
    }

    fn aggregate(&mut self, name: &str, value: f64) {
        self.aggregates.push((name.to_owned(), value));
    }
}

/// The window of frame `index` of a clip.
fn window<'a>(clip: &[Pair<'a>], index: usize) -> Window<'a> {
    let earlier = |distance: usize| index.checked_sub(distance).map(|index| clip[index]);
    Window { index: index as u64, current: clip[index], previous: earlier(1), before_previous: earlier(2) }
}

/// Options as pairs of texts that own them.
pub fn given(options: &[(&str, &str)]) -> Vec<(String, String)> {
    options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn score_pairs(
    info: &'static Info,
    options: &[(&str, &str)],
    clip: &[Pair<'_>],
) -> Result<Scores, MetricError> {
    let metric = registry::build(info, &given(options))?;
    let format = *clip[0].reference.format();
    let mut extractor = metric.extractor(&format.into(), Level::detect())?;
    let mut fold = metric.fold(&format);
    let keys: Vec<String> = metric.keys().iter().map(|key| key.name.clone()).collect();
    let mut out = Scores { scores: vec![Vec::new(); keys.len()], keys, aggregates: Vec::new() };
    for index in 0..clip.len() {
        let mut raw = vec![f64::NAN; metric.raw_len()];
        extractor.extract(&window(clip, index), &mut raw)?;
        fold.push(index as u64, &raw, &mut out);
    }
    fold.finish(&mut out);
    Ok(out)
}

/// Scores a clip of pairs, which all have one format.
pub fn score(
    info: &'static Info,
    options: &[(&str, &str)],
    pairs: &[(Frame, Frame)],
) -> Result<Scores, MetricError> {
    let pairs: Vec<_> = pairs.iter().map(|(reference, distorted)| Pair { reference, distorted }).collect();
    score_pairs(info, options, &pairs)
}

/// Scores two clips with options given as `name=value` pairs, separated by colons.
pub fn score_clips(info: &'static Info, options: &str, clips: &(Vec<Frame>, Vec<Frame>)) -> Scores {
    let options: Vec<_> = options.split(':').filter_map(|option| option.split_once('=')).collect();
    let pair = |(reference, distorted)| Pair { reference, distorted };
    let pairs: Vec<_> = clips.0.iter().zip(&clips.1).map(pair).collect();
    score_pairs(info, &options, &pairs).expect("a well-formed test")
}

/// The raw numbers of every frame of a clip at a level, as bits, or why there are none.
pub fn raw_bits(
    level: Level,
    info: &'static Info,
    options: &[(&str, &str)],
    clip: &[(Frame, Frame)],
) -> Result<Vec<Vec<u64>>, MetricError> {
    raw_bits_spread(level, info, options, clip, &Alone)
}

/// The same with helping hands.
pub fn raw_bits_spread(
    level: Level,
    info: &'static Info,
    options: &[(&str, &str)],
    clip: &[(Frame, Frame)],
    spread: &dyn Spread,
) -> Result<Vec<Vec<u64>>, MetricError> {
    let metric = registry::build(info, &given(options))?;
    let mut extractor = metric.extractor(&(*clip[0].0.format()).into(), level)?;
    let pairs: Vec<_> = clip.iter().map(|(reference, distorted)| Pair { reference, distorted }).collect();
    (0..pairs.len())
        .map(|index| {
            let mut raw = vec![0.0; metric.raw_len()];
            extractor.extract_spread(&window(&pairs, index), &mut raw, spread)?;
            Ok(raw.into_iter().map(f64::to_bits).collect())
        })
        .collect()
}

/// Checks that a metric gives the same bits at a level as in plain Rust, on clips of all kinds of content.
pub fn assert_as_scalar(level: Level, info: &'static Info, options: &[(&str, &str)], formats: &[Format]) {
    use Content::{Bright, Dark, Noise, Waves};
    let contents =
        [(Waves, Waves), (Waves, Noise), (Dark, Bright), (Noise, Noise), (Dark, Dark), (Bright, Waves)];
    for format in formats {
        let pair = |(seed, (one, two))| (frame(*format, one, seed), frame(*format, two, 50 + seed));
        let clip: Vec<_> = (1..).zip(contents).map(pair).collect();
        let expected = raw_bits(Level::Scalar, info, options, &clip);
        let got = raw_bits(level, info, options, &clip);
        assert_eq!(got, expected, "{} at {level}: {format} {options:?}", info.name);
    }
}

/// The scores of one pair, key by key.
pub fn score_pair(
    info: &'static Info,
    options: &[(&str, &str)],
    reference: &Frame,
    distorted: &Frame,
) -> Result<Vec<(String, f64)>, MetricError> {
    let scores = score(info, options, &[(reference.clone(), distorted.clone())])?;
    let first = |column: &Vec<f64>| column.first().copied();
    Ok(scores.keys.into_iter().zip(&scores.scores).filter_map(|(key, s)| Some((key, first(s)?))).collect())
}

/// Content and seed of a picture.
pub type Picture = (Content, u32);

/// Checks the scores of one pair to the last bit.
pub fn assert_scores(
    info: &'static Info,
    options: &[(&str, &str)],
    format: Format,
    pair: (Picture, Picture),
    expected: &[(&str, f64)],
) {
    let [reference, distorted] = [pair.0, pair.1].map(|(content, seed)| frame(format, content, seed));
    let scores = score_pair(info, options, &reference, &distorted).expect("the metric takes this format");
    let text = |name: &str, value: f64| format!("{name} {value:e} {:016x}", value.to_bits());
    let got: Vec<String> = scores.iter().map(|(name, value)| text(name, *value)).collect();
    let expected: Vec<String> = expected.iter().map(|(name, value)| text(name, *value)).collect();
    assert_eq!(got, expected, "{format} {pair:?} {options:?}");
}
