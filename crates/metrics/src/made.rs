//! Pictures made by rule, and a way to score them, for the tests of every metric. The same rules feed the reference
//! library when exact figures are taken from it.

use visus_video::{Chroma, Format, Frame};

use crate::{Emit, Info, Level, MetricError, Pair, Window, registry};

/// A linear congruential generator; its high half is random enough for pictures.
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

    fn sample(self, x: usize, y: usize, plane: usize, depth: u8, noise: &mut Noise) -> u16 {
        let peak = (1u32 << depth) - 1;
        let value = match self {
            Self::Noise => noise.below(peak + 1),
            Self::Dark => noise.below(3),
            Self::Bright => peak - noise.below(3),
            Self::Waves => {
                let phase = (3 * x + 2 * y + 17 * plane) as u32 % 128;
                let wave = phase.min(128 - phase) * 3 + 20;
                (wave << (depth - 8)) + noise.below((peak + 1) / 64)
            }
        };
        value as u16
    }
}

/// A picture; the same arguments always give the same one.
pub fn frame(format: Format, content: Content, seed: u32) -> Frame {
    let mut frame = Frame::new(format);
    let mut noise = Noise::new(seed);
    for plane in 0..format.planes() {
        let (width, height) = format.plane_size(plane);
        for y in 0..height {
            let row: Vec<u16> =
                (0..width).map(|x| content.sample(x, y, plane, format.depth(), &mut noise)).collect();
            if let Some(mut out) = frame.plane_mut_u8(plane) {
                out.row_mut(y).iter_mut().zip(&row).for_each(|(out, sample)| *out = *sample as u8);
            }
            if let Some(mut out) = frame.plane_mut_u16(plane) {
                out.row_mut(y).copy_from_slice(&row);
            }
        }
    }
    frame
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

impl Emit for Scores {
    fn score(&mut self, key: usize, index: u64, value: f64) {
        assert_eq!(self.scores[key].len() as u64, index, "frames in order, none twice");
        self.scores[key].push(value);
    }

    fn aggregate(&mut self, name: &str, value: f64) {
        self.aggregates.push((name.to_owned(), value));
    }
}

/// Scores pairs of pictures, which all have one format, each on its own.
pub fn score(
    info: &'static Info,
    options: &[(&str, &str)],
    pairs: &[(Frame, Frame)],
) -> Result<Scores, MetricError> {
    let given: Vec<_> = options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let metric = registry::build(info, &given)?;
    let format = *pairs[0].0.format();
    let mut extractor = metric.extractor(&format.into(), Level::detect())?;
    let mut fold = metric.fold(&format);
    let keys: Vec<String> = metric.keys().iter().map(|key| key.name.clone()).collect();
    let mut out = Scores { scores: vec![Vec::new(); keys.len()], keys, aggregates: Vec::new() };
    for (index, (reference, distorted)) in (0..).zip(pairs) {
        let mut raw = vec![0.0; metric.raw_len()];
        let window =
            Window { index, current: Pair { reference, distorted }, previous: None, before_previous: None };
        extractor.extract(&window, &mut raw)?;
        fold.push(index, &raw, &mut out);
    }
    fold.finish(&mut out);
    Ok(out)
}

/// The raw numbers of every frame of a clip at a level, as bits, or why there are none.
fn raw_bits(
    level: Level,
    info: &'static Info,
    options: &[(&str, &str)],
    clip: &[(Frame, Frame)],
) -> Result<Vec<Vec<u64>>, MetricError> {
    let given: Vec<_> = options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let metric = registry::build(info, &given)?;
    let mut extractor = metric.extractor(&(*clip[0].0.format()).into(), level)?;
    let pair = |index: usize| Pair { reference: &clip[index].0, distorted: &clip[index].1 };
    (0..clip.len())
        .map(|index| {
            let (previous, before) = (index.checked_sub(1), index.checked_sub(2));
            let (previous, before_previous) = (previous.map(pair), before.map(pair));
            let window = Window { index: index as u64, current: pair(index), previous, before_previous };
            let mut raw = vec![0.0; metric.raw_len()];
            extractor.extract(&window, &mut raw)?;
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
