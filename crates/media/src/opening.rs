//! How ffmpeg opens an input: a file, a single picture, or numbered pictures of a folder.
//!
//! ffmpeg recognises pictures by the ending of their name, with a demuxer that opens further files. Here a picture is
//! recognised by its first bytes and read by a demuxer that sees nothing but it; numbered pictures are listed and checked
//! beforehand, and the decoder may read their folder and nothing else.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::shown;
use crate::tools::{FORMATS, MAX_PIXELS};
use crate::{Input, MediaError};

/// The rate at which numbered pictures are shown if none is declared, as in ffmpeg.
pub(crate) const USUAL_RATE: (u32, u32) = (25, 1);

/// Endings of numbered pictures.
const PICTURES: [&str; 18] = [
    "png", "jpg", "jpeg", "tif", "tiff", "exr", "dpx", "bmp", "webp", "jxl", "jp2", "j2k", "ppm", "pgm",
    "pam", "qoi", "tga", "pfm",
];

/// Numbered pictures of one folder, without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Where the child opens it; a handle of the folder has no readable name.
    folder: PathBuf,
    prefix: String,
    /// Digits that numbers are filled up to with zeros; 0 for none.
    digits: usize,
    suffix: String,
    first: u64,
    pub count: u64,
}

const NO_PATTERN: &str = "it is neither a folder nor a pattern such as %04d.png";
/// A folder with more files than this is not looked through.
const MOST_FILES: usize = 1 << 20;

impl Sequence {
    /// Whether a path means numbered pictures: a folder, or a name with a `%04d` that is not the name of a file.
    pub fn is_meant_by(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_dir() || (Pattern::parse(&name).is_some() && !path.is_file())
    }

    /// Lists the pictures that a path means: all of a folder, or those of a pattern.
    pub fn of(path: &Path) -> Result<Self, MediaError> {
        if path.is_dir() {
            return Self::in_folder(path, None, path);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let pattern = Pattern::parse(&name).ok_or_else(|| MediaError::open(path, NO_PATTERN))?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::in_folder(folder, Some(pattern), path)
    }

    /// The same for a folder that was opened: `folder` leads to it, `named` is what the user wrote.
    pub fn in_opened(folder: &Path, named: &Path) -> Result<Self, MediaError> {
        let name = named.file_name().unwrap_or_default().to_string_lossy();
        let pattern = Pattern::parse(&name);
        if pattern.is_none() && name.contains('%') {
            return Err(MediaError::open(named, NO_PATTERN));
        }
        Self::in_folder(folder, pattern, named)
    }

    fn in_folder(folder: &Path, pattern: Option<Pattern>, named: &Path) -> Result<Self, MediaError> {
        let fail = |reason: String| MediaError::open(named, reason);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|error| fail(error.to_string()))? {
            let entry = entry.map_err(|error| fail(error.to_string()))?;
            // Links are left out: what they lead to may lie outside of the folder.
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                names.extend(entry.file_name().into_string());
            }
            if names.len() > MOST_FILES {
                return Err(fail(format!("the folder has more than {MOST_FILES} files")));
            }
        }
        let pattern = match pattern {
            Some(pattern) => pattern,
            None => Pattern::common(&names).map_err(fail)?,
        };
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| pattern.number(name)).collect();
        numbers.sort_unstable();
        let (Some(first), Some(last)) = (numbers.first().copied(), numbers.last().copied()) else {
            return Err(fail(format!("no picture is called {pattern}")));
        };
        let gap = numbers.windows(2).find(|pair| pair[1] != pair[0] + 1).map(|pair| pair[0] + 1);
        if let Some(gap) = gap {
            let name = pattern.name(gap);
            return Err(fail(format!("{name} is missing between {first} and {last}")));
        }
        let Pattern { prefix, digits, suffix } = pattern;
        let folder = std::path::absolute(folder).map_err(|error| fail(error.to_string()))?;
        Ok(Self { folder, prefix, digits, suffix, first, count: last - first + 1 })
    }

    /// The pattern for ffmpeg, in which a percent sign stands twice.
    fn pattern(&self) -> OsString {
        let doubled = |text: &str| text.replace('%', "%%");
        let number = if self.digits == 0 { "%d".to_owned() } else { format!("%0{}d", self.digits) };
        let name = format!("{}{number}{}", doubled(&self.prefix), doubled(&self.suffix));
        let folder = PathBuf::from(doubled(&self.folder.to_string_lossy()));
        folder.join(name).into_os_string()
    }
}

/// A name with a number in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    prefix: String,
    digits: usize,
    suffix: String,
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.digits {
            0 => write!(f, "{}%d{}", self.prefix, self.suffix),
            digits => write!(f, "{}%0{digits}d{}", self.prefix, self.suffix),
        }
    }
}

impl Pattern {
    /// `shot_%04d.png` or `%d.exr`.
    fn parse(name: &str) -> Option<Self> {
        let (prefix, rest) = name.split_once('%')?;
        let (width, suffix) = rest.split_once('d')?;
        let digits = match width {
            "" => 0,
            width => width.strip_prefix('0')?.parse().ok().filter(|digits| (1..=18).contains(digits))?,
        };
        let ending = suffix.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())?;
        PICTURES.contains(&&*ending).then(|| Self {
            prefix: prefix.to_owned(),
            digits,
            suffix: suffix.to_owned(),
        })
    }

    fn name(&self, number: u64) -> String {
        format!("{}{number:0width$}{}", self.prefix, self.suffix, width = self.digits)
    }

    fn number(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(&self.prefix)?.strip_suffix(&self.suffix)?;
        let number = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        (self.name(number) == name).then_some(number)
    }

    /// The one pattern that all pictures among the names follow.
    fn common(names: &[String]) -> Result<Self, String> {
        let mut found: Option<Self> = None;
        for name in names {
            let Some((stem, ending)) = name.rsplit_once('.') else { continue };
            if !PICTURES.contains(&&*ending.to_ascii_lowercase()) {
                continue;
            }
            let start = stem.trim_end_matches(|c: char| c.is_ascii_digit());
            let digits = stem.len() - start.len();
            if digits == 0 {
                return Err(format!("{name} has no number before its ending; pictures must be numbered"));
            }
            let zeros = stem[start.len()..].starts_with('0') && digits > 1;
            let this = Self {
                prefix: start.to_owned(),
                digits: if zeros { digits } else { 0 },
                suffix: format!(".{ending}"),
            };
            match &mut found {
                None => found = Some(this),
                Some(known) if known.prefix == this.prefix && known.suffix == this.suffix => {
                    known.digits = known.digits.max(this.digits);
                }
                Some(known) => {
                    return Err(format!(
                        "it holds pictures of several kinds ({known}, {this}); name one of them: FOLDER/{known}"
                    ));
                }
            }
        }
        found.ok_or_else(|| format!("it is a folder without pictures ({})", PICTURES.join(", ")))
    }
}

/// What ffmpeg must be told to open an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Stream,
    /// A picture and the demuxer that reads it.
    Picture(&'static str),
    Sequence {
        of: Sequence,
        rate: (u32, u32),
    },
}

/// First bytes of pictures, where they stand, and the demuxer.
const MAGIC: [(&[u8], usize, &str); 12] = [
    (b"\x89PNG\r\n\x1a\n", 0, "png_pipe"),
    (b"\xff\xd8\xff", 0, "jpeg_pipe"),
    (b"\x76\x2f\x31\x01", 0, "exr_pipe"),
    (b"II*\0", 0, "tiff_pipe"),
    (b"MM\0*", 0, "tiff_pipe"),
    (b"\xff\x0a", 0, "jpegxl_pipe"),
    (b"\0\0\0\x0cJXL ", 0, "jpegxl_pipe"),
    (b"SDPX", 0, "dpx_pipe"),
    (b"XPDS", 0, "dpx_pipe"),
    (b"WEBP", 8, "webp_pipe"),
    (b"\0\0\0\x0cjP  ", 0, "j2k_pipe"),
    (b"qoif", 0, "qoi_pipe"),
];

impl Opening {
    /// Of a file, by its first bytes.
    pub fn file(path: &Path) -> Self {
        let first = beginning(path);
        let mut start = [0; 16];
        let known = first.len().min(start.len());
        start[..known].copy_from_slice(&first[..known]);
        // An animation has pictures in time, which a demuxer for one picture does not know. It says so before its first one.
        let animated = first.starts_with(b"\x89PNG") && first.windows(4).any(|bytes| bytes == b"acTL");
        let magic = |(bytes, at, _): &&(&[u8], usize, &str)| start[*at..].starts_with(bytes);
        let kind = match MAGIC.iter().find(magic) {
            Some((_, _, demuxer)) if !animated => Kind::Picture(demuxer),
            _ => Kind::Stream,
        };
        Self { path: path.to_path_buf(), kind }
    }

    /// Of numbered pictures, shown at a rate.
    pub fn sequence(of: Sequence, rate: Option<(u32, u32)>) -> Self {
        let path = PathBuf::from(of.pattern());
        Self { path, kind: Kind::Sequence { of, rate: rate.unwrap_or(USUAL_RATE) } }
    }

    pub(crate) fn of(input: &Input, rate: Option<(u32, u32)>) -> Self {
        match input {
            Input::Sequence(_, sequence) => Self::sequence((**sequence).clone(), rate),
            other => Self::file(other.path()),
        }
    }

    /// The file or folder that a child must be able to read.
    pub(crate) fn access(&self) -> &Path {
        match &self.kind {
            Kind::Sequence { of, .. } => &of.folder,
            Kind::Stream | Kind::Picture(_) => &self.path,
        }
    }

    /// How many pictures there are, where that is known without a look inside.
    pub(crate) fn frames(&self) -> Option<u64> {
        match &self.kind {
            Kind::Sequence { of, .. } => Some(of.count),
            Kind::Picture(demuxer) if *demuxer != "jpeg_pipe" => Some(1),
            _ => None,
        }
    }

    /// Pictures are numbered or alone, so their order is known.
    pub(crate) fn is_pictures(&self) -> bool {
        !matches!(self.kind, Kind::Stream)
    }

    pub(crate) fn is_sequence(&self) -> bool {
        matches!(self.kind, Kind::Sequence { .. })
    }

    pub(crate) fn shown(&self) -> String {
        shown(&self.path)
    }

    /// The words that name the input. The prefix makes a path of every name, also of one that looks like an option or a
    /// URL.
    pub(crate) fn args(&self) -> Vec<OsString> {
        let mut name = OsString::from("file:");
        name.push(&self.path);
        let formats = match &self.kind {
            Kind::Stream => FORMATS,
            Kind::Picture(demuxer) => demuxer,
            Kind::Sequence { .. } => "image2",
        };
        let pixels = MAX_PIXELS.to_string();
        let words =
            ["-protocol_whitelist", "file,pipe", "-format_whitelist", formats, "-max_pixels", &pixels];
        let mut args: Vec<OsString> = words.map(Into::into).to_vec();
        match &self.kind {
            Kind::Stream => {}
            Kind::Picture(demuxer) => args.extend(["-f", demuxer].map(OsString::from)),
            Kind::Sequence { of, rate } => {
                let (first, rate) = (of.first.to_string(), format!("{}/{}", rate.0, rate.1));
                let words = [
                    "-f",
                    "image2",
                    "-pattern_type",
                    "sequence",
                    "-start_number",
                    &first,
                    "-framerate",
                    &rate,
                ];
                args.extend(words.map(OsString::from));
            }
        }
        args.extend(["-i".into(), name]);
        args
    }
}

/// The first bytes of a regular file. A pipe would have to be waited for.
fn beginning(path: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    if path.metadata().is_ok_and(|metadata| metadata.is_file()) {
        let _ = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| std::fs::write(folder.path().join(name), "x").unwrap());
        folder
    }

    #[test]
    fn patterns() {
        let parsed = |name: &str| Pattern::parse(name).map(|pattern| pattern.name(7));
        assert_eq!(parsed("a_%04d.png").as_deref(), Some("a_0007.png"));
        assert_eq!(parsed("%d.EXR").as_deref(), Some("7.EXR"));
        for name in ["a.png", "%s.png", "%04d", "%04d.mp4", "%4d.png", "%0d.png", "100%.png"] {
            assert_eq!(parsed(name), None, "{name}");
        }
        let pattern = Pattern::parse("f%03d.png").unwrap();
        assert_eq!(pattern.number("f012.png"), Some(12));
        assert_eq!(pattern.number("f1000.png"), Some(1000));
        for name in ["f12.png", "f0012.png", "f+12.png", "f012.jpg", "g012.png"] {
            assert_eq!(pattern.number(name), None, "{name}");
        }
    }

    #[test]
    fn pictures_of_a_folder() {
        let good = folder(&["f_0003.png", "f_0004.png", "f_0005.png", "notes.txt"]);
        let found = Sequence::of(good.path()).unwrap();
        assert_eq!((found.first, found.count, found.digits), (3, 3, 4));
        assert_eq!(Sequence::of(&good.path().join("f_%04d.png")).unwrap(), found);
        assert!(Sequence::is_meant_by(good.path()) && Sequence::is_meant_by(Path::new("/x/%02d.png")));
        assert!(!Sequence::is_meant_by(&good.path().join("f_0003.png")));
        for name in ["%s%n.png", "f_%0999999999d.png", "%"] {
            let refused = Sequence::in_opened(good.path(), Path::new(name)).unwrap_err().to_string();
            assert!(refused.contains("neither a folder nor a pattern"), "{refused}");
        }
        let plain = folder(&["9.exr", "10.exr", "11.exr"]);
        let found = Sequence::of(plain.path()).unwrap();
        assert_eq!((found.first, found.count, found.digits), (9, 3, 0));
        for (names, reason) in [
            (&["a1.png", "a3.png"][..], "a2.png is missing"),
            (&["a1.png", "b2.png"], "several kinds"),
            (&["a1.png", "a2.jpg"], "several kinds"),
            (&["cover.png"], "must be numbered"),
            (&["a.txt"], "without pictures"),
        ] {
            let error = Sequence::of(folder(names).path()).unwrap_err().to_string();
            assert!(error.contains(reason), "{names:?}: {error}");
        }
        let error = Sequence::of(&good.path().join("g_%04d.png")).unwrap_err().to_string();
        assert!(error.contains("no picture is called g_%04d.png"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_no_pictures() {
        let folder = folder(&["1.png"]);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("2.png")).unwrap();
        assert_eq!(Sequence::of(folder.path()).unwrap().count, 1);
    }

    #[test]
    fn what_ffmpeg_is_told() {
        let folder = folder(&["5%_7.png", "5%_8.png"]);
        let opening = Opening::sequence(Sequence::of(folder.path()).unwrap(), Some((24, 1)));
        let words: Vec<String> =
            opening.args().into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let text = words.join(" ");
        assert!(text.contains("-start_number 7 -framerate 24/1 -i file:"), "{text}");
        assert!(text.ends_with("5%%_%d.png"), "{text}");
        assert_eq!((opening.frames(), opening.access()), (Some(2), folder.path()));
        let last = |name: &str| Opening::file(Path::new(name)).args().pop();
        assert_eq!(last("-y"), Some("file:-y".into()));
        assert_eq!(last("http://a/b"), Some("file:http://a/b".into()));
    }

    #[test]
    fn pictures_by_their_first_bytes() {
        let folder = folder(&[]);
        let kind = |bytes: &[u8]| {
            let path = folder.path().join("x");
            std::fs::write(&path, bytes).unwrap();
            Opening::file(&path).kind
        };
        assert_eq!(kind(b"\xff\xd8\xff\xe0....JFIF"), Kind::Picture("jpeg_pipe"));
        assert_eq!(kind(b"RIFF....WEBPVP8 "), Kind::Picture("webp_pipe"));
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n...IHDR....."), Kind::Picture("png_pipe"));
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n...IHDR.....acTL"), Kind::Stream);
        assert_eq!((kind(b"....ftypisom"), kind(b"")), (Kind::Stream, Kind::Stream));
    }
}
