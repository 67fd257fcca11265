//! Which size a picture is scored at, and how large the window is that looks for banding.

use visus_video::Format;

use crate::{MetricError, Options};

use super::NAME;

/// One side of a scored picture must have at least this many samples.
const MIN_SIDE: usize = 216;

/// The square of the window must stay below this: the table of reciprocals in libvmaf ends here.
const WINDOW_LIMIT: usize = 4226;

/// Pixels from which `cambi_high_res_speedup` works, for the values that it knows.
const SPEEDUPS: [(i32, usize); 3] = [(1080, 1920 * 1080), (1440, 2560 * 1440), (2160, 3840 * 2160)];

/// How one of the two pictures is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub width: usize,
    pub height: usize,
    /// Side of the window in the scaled picture, odd.
    pub window: usize,
    /// The picture is halved before its first scale.
    pub halved: bool,
}

/// Geometry of the distorted picture and of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometries {
    pub encode: Geometry,
    pub source: Geometry,
}

impl Geometries {
    pub fn new(options: &Options, format: &Format) -> Result<Self, MetricError> {
        let encode = encode_size(options, format);
        let source = given_size(options, "src_width", "src_height").unwrap_or(size_of(format));
        check_sizes(encode, source).map_err(|reason| refusal(format, reason))?;
        let halved = is_halved(options.int("cambi_high_res_speedup"), encode);
        let window = options.int("window_size") as usize;
        let geometry = |(width, height)| {
            let window = adjusted_window(window, width, height, halved);
            Geometry { width, height, window, halved }
        };
        let both = Self { encode: geometry(encode), source: geometry(source) };
        check_window(both.encode.window.max(both.source.window)).map_err(|reason| refusal(format, reason))?;
        Ok(both)
    }
}

impl Geometry {
    /// Size of the first scale.
    pub fn first_scale(&self) -> (usize, usize) {
        if self.halved { (half(self.width), half(self.height)) } else { (self.width, self.height) }
    }
}

/// Half of a side, rounded up: every second sample, from the first on.
pub fn half(side: usize) -> usize {
    side.div_ceil(2)
}

fn refusal(format: &Format, reason: String) -> MetricError {
    MetricError::Format { metric: NAME, format: *format, reason }
}

fn size_of(format: &Format) -> (usize, usize) {
    (format.width(), format.height())
}

/// A size counts if both of its sides are given.
fn given_size(options: &Options, width: &str, height: &str) -> Option<(usize, usize)> {
    let (width, height) = (options.int(width) as usize, options.int(height) as usize);
    (width != 0 && height != 0).then_some((width, height))
}

/// An encode is never scaled up: if it was larger than the picture, the picture is scored as it is.
fn encode_size(options: &Options, format: &Format) -> (usize, usize) {
    given_size(options, "enc_width", "enc_height")
        .filter(|(width, height)| *width <= format.width() && *height <= format.height())
        .unwrap_or(size_of(format))
}

fn check_sizes(encode: (usize, usize), source: (usize, usize)) -> Result<(), String> {
    for (what, (width, height)) in [("picture", encode), ("source", source)] {
        if width < MIN_SIDE && height < MIN_SIDE {
            let need = format!("width or height must be at least {MIN_SIDE}");
            return Err(format!("the {what} is scored at {width}x{height}, but {need}"));
        }
    }
    let crossed = |a: (usize, usize), b: (usize, usize)| a.0 > b.0 && a.1 < b.1;
    if crossed(encode, source) || crossed(source, encode) {
        let ((ew, eh), (sw, sh)) = (encode, source);
        return Err(format!("encode {ew}x{eh} and source {sw}x{sh}: one is wider, the other is higher"));
    }
    Ok(())
}

fn check_window(window: usize) -> Result<(), String> {
    if window * window < WINDOW_LIMIT {
        return Ok(());
    }
    Err(format!(
        "the window has {window}x{window} pixels at this size, it may have 65x65: set window_size lower"
    ))
}

/// The size of the encode decides, for the source as well.
fn is_halved(speedup: i32, (width, height): (usize, usize)) -> bool {
    SPEEDUPS.iter().any(|(value, pixels)| *value == speedup && width * height >= *pixels)
}

/// The window is given for 3840x2160 and shrinks with the sum of the sides.
fn adjusted_window(window: usize, width: usize, height: usize, halved: bool) -> usize {
    let scaled = (window * (width + height) / 375) >> 4;
    (if halved { half(scaled) } else { scaled }) | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    fn geometries(given: &str, width: usize, height: usize) -> Result<Geometries, MetricError> {
        let pairs: Vec<_> = given.split(':').filter_map(|pair| pair.split_once('=')).collect();
        let given: Vec<_> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let options = Options::parse(super::super::OPTIONS, &given).unwrap();
        Geometries::new(&options, &Format::new(width, height, Chroma::C420, 8).unwrap())
    }

    fn encode(given: &str, width: usize, height: usize) -> (usize, usize, usize, bool) {
        let Geometry { width, height, window, halved } = geometries(given, width, height).unwrap().encode;
        (width, height, window, halved)
    }

    #[test]
    fn windows_follow_the_size() {
        assert_eq!(encode("", 3840, 2160), (3840, 2160, 65, false));
        assert_eq!(encode("", 1920, 1080), (1920, 1080, 33, false));
        assert_eq!(encode("window_size=15", 216, 1), (216, 1, 1, false));
        assert_eq!(encode("cambi_high_res_speedup=1080", 3840, 2160), (3840, 2160, 33, true));
        assert_eq!(encode("cambi_high_res_speedup=1080", 1920, 1080), (1920, 1080, 17, true));
    }

    #[test]
    fn the_speedup_needs_its_size() {
        assert!(!encode("cambi_high_res_speedup=1080", 1918, 1080).3);
        assert!(!encode("cambi_high_res_speedup=1440", 1920, 1080).3);
        assert!(!encode("cambi_high_res_speedup=2160", 2560, 1440).3);
        assert!(!encode("cambi_high_res_speedup=1000", 3840, 2160).3);
        assert!(!encode("cambi_high_res_speedup=1080:enc_width=1280:enc_height=720", 1920, 1080).3);
    }

    #[test]
    fn an_encode_size_counts_if_it_is_whole_and_not_larger() {
        assert_eq!(encode("enc_width=320:enc_height=180", 480, 270), (320, 180, 5, false));
        assert_eq!(encode("enc_width=320", 480, 270), (480, 270, 9, false));
        assert_eq!(encode("enc_width=640:enc_height=180", 480, 270), (480, 270, 9, false));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let reason = |given, width, height| match geometries(given, width, height) {
            Err(MetricError::Format { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert!(reason("", 215, 215).contains("at least 216"));
        assert!(
            reason("enc_width=200:enc_height=200", 480, 270).contains("the picture is scored at 200x200")
        );
        assert!(reason("src_width=500:src_height=260", 480, 270).contains("500x260"));
        assert!(reason("", 7680, 4320).contains("window_size"));
        assert!(geometries("", 216, 1).is_ok() && geometries("window_size=32", 7680, 4320).is_ok());
    }
}
