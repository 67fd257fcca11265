//! The video that is to be encoded: what it is, its content's hash, and the words that make ffmpeg read it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use visus_child::OpenedFile;
use visus_engine::Cancel;
use visus_media::Probe;
use visus_video::{Chroma, Format};

use crate::TuneError;
use crate::cache::{Cache, Key};
use crate::tools::{Files, Tools, file_url};

/// What has to be known of raw video, which has no header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawShape {
    pub width: usize,
    pub height: usize,
    /// ffmpeg's name, such as yuv420p10le.
    pub pix_fmt: String,
    /// Frames per second as a ratio.
    pub rate: (u32, u32),
}

/// A video that can be encoded and measured.
#[derive(Clone, Debug)]
pub struct Source {
    /// For people.
    pub path: PathBuf,
    /// What is read: the path, or a handle that stays the same whatever the path leads to.
    place: PathBuf,
    /// Keeps the handle open.
    _file: Option<Arc<OpenedFile>>,
    /// Size, chroma and depth in which it is measured.
    pub format: Format,
    /// The same by ffmpeg's name.
    pub pix_fmt: String,
    pub rate: (u32, u32),
    /// From the container; an estimate where it does not count them.
    pub frames: u64,
    /// Of the file.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub digest: String,
    demuxer: String,
    /// The video stream, as ffmpeg's `-map` names it.
    map: String,
    raw: Option<RawShape>,
    /// A time leads to the frame that has it. Elsewhere frames are counted from the start, which takes longer.
    seekable: bool,
    /// The words that make ffmpeg hand over every frame once.
    every_frame: [&'static str; 2],
    /// The sizes of its packets, once they were asked for.
    sizes: Arc<OnceLock<Option<Vec<u32>>>>,
}

/// What it takes since ffmpeg 5.1.
const PASS: [&str; 2] = ["-fps_mode", "passthrough"];

/// Containers whose index leads to the frame.
const INDEXED: [&str; 4] = ["mov", "matroska", "yuv4mpegpipe", "rawvideo"];

/// Names that mean raw video.
const RAW_ENDINGS: [&str; 3] = ["yuv", "raw", "i420"];

/// Whether a file is raw video by its name.
pub fn looks_raw(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    RAW_ENDINGS.contains(&&*ending)
}

impl Source {
    /// Looks at the file. Raw video needs its shape; any other video has it in its header.
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line names its source; a server hands over the opened file"
    )]
    pub fn open(
        path: &Path,
        raw: Option<RawShape>,
        tools: &Tools,
        cache: &Cache,
        cancel: &Cancel,
    ) -> Result<Self, TuneError> {
        let file = File::open(path)
            .map_err(|error| TuneError::Source { path: path.to_owned(), reason: error.to_string() })?;
        Self::look(path, path, &file, raw, tools, cache, cancel)
    }

    /// The same of a file that was opened before. Its path is only shown.
    pub fn from_file(
        path: &Path,
        file: &File,
        raw: Option<RawShape>,
        tools: &Tools,
        cache: &Cache,
        cancel: &Cancel,
    ) -> Result<Self, TuneError> {
        let opened = OpenedFile::new(file, path).map_err(|error| TuneError::io(path, error))?;
        let mut source = Self::look(path, opened.path(), file, raw, tools, cache, cancel)?;
        source._file = Some(Arc::new(opened));
        Ok(source)
    }

    fn look(
        path: &Path,
        place: &Path,
        file: &File,
        raw: Option<RawShape>,
        tools: &Tools,
        cache: &Cache,
        cancel: &Cancel,
    ) -> Result<Self, TuneError> {
        let unreadable = |reason: String| TuneError::Source { path: path.to_owned(), reason };
        let metadata = file.metadata().map_err(|error| unreadable(error.to_string()))?;
        if !metadata.is_file() {
            return Err(unreadable("it is not a regular file".to_owned()));
        }
        if raw.is_none() && looks_raw(path) {
            return Err(unreadable(
                "raw video needs its width, height, pixel format and frame rate".to_owned(),
            ));
        }
        let mut source = match raw {
            Some(raw) => Self::raw(path, raw, metadata.len())?,
            None => Self::probed(path, place, tools, cancel)?,
        };
        source.place = place.to_owned();
        source.bytes = metadata.len();
        source.every_frame = tools.every_frame();
        source.digest = digest(path, file, &metadata, cache, cancel)?;
        Ok(source)
    }

    fn raw(path: &Path, raw: RawShape, bytes: u64) -> Result<Self, TuneError> {
        let invalid = |value: &str, reason: String| TuneError::Invalid {
            name: "pix_fmt",
            value: value.to_owned(),
            reason,
        };
        let (chroma, depth) = planar(&raw.pix_fmt).ok_or_else(|| {
            invalid(
                &raw.pix_fmt,
                "must be yuv420p, yuv422p or yuv444p, with 10le, 12le or 16le for more bits".to_owned(),
            )
        })?;
        let format = Format::new(raw.width, raw.height, chroma, depth)
            .map_err(|error| TuneError::Source { path: path.to_owned(), reason: error.to_string() })?;
        let pixels = (raw.width as u64).saturating_mul(raw.height as u64);
        if pixels > visus_media::MAX_PIXELS {
            let (limit, size) = (visus_media::MAX_PIXELS, format!("{}x{}", raw.width, raw.height));
            let reason =
                format!("pictures of {size} pixels are more than the limit of {limit} pixels per picture");
            return Err(TuneError::Source { path: path.to_owned(), reason });
        }
        let frame: usize = (0..format.planes())
            .map(|plane| {
                let (sx, sy) = if plane == 0 { (0, 0) } else { chroma.shifts() };
                raw.width.div_ceil(1 << sx) * raw.height.div_ceil(1 << sy) * format.sample_bytes()
            })
            .sum();
        let frames = bytes / frame as u64;
        if frames == 0 {
            let reason = format!("{bytes} bytes are less than one frame of {format} ({frame} bytes)");
            return Err(TuneError::Source { path: path.to_owned(), reason });
        }
        let (pix_fmt, rate) = (raw.pix_fmt.clone(), raw.rate);
        let (path, demuxer, map) = (path.to_owned(), "rawvideo".to_owned(), "0:v:0".to_owned());
        Ok(Self {
            place: path.clone(),
            _file: None,
            path,
            format,
            pix_fmt,
            rate,
            frames,
            bytes,
            digest: String::new(),
            demuxer,
            map,
            raw: Some(raw),
            seekable: true,
            every_frame: PASS,
            sizes: Arc::default(),
        })
    }

    fn probed(path: &Path, place: &Path, tools: &Tools, cancel: &Cancel) -> Result<Self, TuneError> {
        let unreadable = |reason: String| TuneError::Source { path: path.to_owned(), reason };
        let probe = Probe::of(&tools.media, place, cancel).map_err(|error| match error {
            visus_media::MediaError::Cancelled => TuneError::Cancelled,
            other => unreadable(other.to_string()),
        })?;
        let format = probe.format(true).map_err(|error| unreadable(error.to_string()))?;
        // RGB becomes YUV on the way to the encoder and to the measurement alike.
        let pix_fmt =
            if probe.delivery.rgb { plain_pix_fmt(&format) } else { probe.delivery.pix_fmt.clone() };
        let rate = probe.frame_rate.ok_or_else(|| unreadable("its frame rate is unknown".to_owned()))?;
        let seconds = probe.duration.unwrap_or(0.0) * f64::from(rate.0) / f64::from(rate.1);
        let frames = probe.frames.unwrap_or(seconds.round() as u64);
        let demuxer = probe.container.split(',').next().unwrap_or_default().to_owned();
        let seekable = INDEXED.contains(&&*demuxer) && !probe.variable_rate;
        let (path, map) = (path.to_owned(), format!("0:{}", probe.stream));
        Ok(Self {
            place: path.clone(),
            _file: None,
            path,
            format,
            pix_fmt,
            rate,
            frames,
            bytes: 0,
            digest: String::new(),
            demuxer,
            map,
            raw: None,
            seekable,
            every_frame: PASS,
            sizes: Arc::default(),
        })
    }

    pub fn fps(&self) -> f64 {
        f64::from(self.rate.0) / f64::from(self.rate.1.max(1))
    }

    /// In seconds.
    pub fn duration(&self) -> f64 {
        self.frames as f64 / self.fps()
    }

    pub fn size(&self) -> (u32, u32) {
        (self.format.width() as u32, self.format.height() as u32)
    }

    /// The bytes of every packet, in the order of the file, which tell how hard its pictures are to encode; `None` where all
    /// are alike (raw video), or they cannot be listed. Nothing is decoded.
    pub(crate) fn packet_sizes(&self, tools: &Tools, cancel: &Cancel) -> Option<Vec<u32>> {
        let compressed = self.raw.is_none() && self.demuxer != "yuv4mpegpipe";
        self.sizes.get_or_init(|| compressed.then(|| self.list_packets(tools, cancel)).flatten()).clone()
    }

    /// ffmpeg writes a line for each packet: stream, two times, duration, size, checksum.
    fn list_packets(&self, tools: &Tools, cancel: &Cancel) -> Option<Vec<u32>> {
        let mut args: Vec<OsString> =
            ["-hide_banner", "-nostdin", "-v", "error"].map(OsString::from).to_vec();
        args.extend([
            "-protocol_whitelist".into(),
            "file,pipe".into(),
            "-f".into(),
            OsString::from(&self.demuxer),
        ]);
        args.extend(["-i".into(), file_url(&self.place), "-map".into(), OsString::from(&self.map)]);
        args.extend(["-c", "copy", "-f", "framecrc", "pipe:1"].map(OsString::from));
        let files = Files { read: &[&self.place], folder: None };
        let reader = BufReader::new(tools.stream(&args, files, cancel).ok()?);
        let mut sizes = Vec::new();
        for line in reader.lines() {
            let line = line.ok()?;
            if !line.starts_with('#') {
                sizes.push(line.split(',').nth(4)?.trim().parse().ok()?);
            }
        }
        Some(sizes)
    }

    /// What identifies the source in the cache.
    pub(crate) fn facts(&self) -> Value {
        json!({
            "sha256": self.digest,
            "pix_fmt": self.pix_fmt,
            "raw": self.raw.as_ref().map(|raw| json!([raw.width, raw.height, raw.pix_fmt, raw.rate.0, raw.rate.1])),
        })
    }

    /// The words that make ffmpeg read a window of it, and filter it. The seek goes a quarter of a frame before the first
    /// one wanted: time stamps may be rounded to milliseconds, and demuxers of raw video go to the nearest frame.
    pub(crate) fn input(&self, window: Window, filter: Option<String>) -> Vec<OsString> {
        let pixels = visus_media::MAX_PIXELS.to_string();
        self.input_from(&self.place, &["-max_pixels", &pixels], window, filter)
    }

    /// The same words for a person, with the path.
    pub(crate) fn shown_input(&self, window: Window, filter: Option<String>) -> Vec<OsString> {
        self.input_from(&self.path, &[], window, filter)
    }

    /// Where it is read, by a child.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    fn input_from(
        &self,
        place: &Path,
        limits: &[&str],
        window: Window,
        filter: Option<String>,
    ) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["-protocol_whitelist".into(), "file,pipe".into()];
        if window.start > 0 && self.seekable {
            let seconds = (window.start as f64 - 0.25) / self.fps();
            args.extend(["-ss".into(), format!("{seconds:.6}").into()]);
        }
        args.extend(["-f".into(), OsString::from(&self.demuxer)]);
        if let Some(raw) = &self.raw {
            let words = [
                "-video_size".to_owned(),
                format!("{}x{}", raw.width, raw.height),
                "-pixel_format".to_owned(),
                raw.pix_fmt.clone(),
                "-framerate".to_owned(),
                format!("{}/{}", raw.rate.0, raw.rate.1),
            ];
            args.extend(words.map(OsString::from));
        }
        args.extend(limits.iter().map(OsString::from));
        args.extend(["-i".into(), file_url(place)]);
        args.extend(["-map".into(), OsString::from(&self.map)]);
        args.extend(window.count.iter().flat_map(|count| ["-frames:v".into(), count.to_string().into()]));
        let counted = window.start > 0 && !self.seekable;
        let trim = counted.then(|| format!("trim=start_frame={},setpts=PTS-STARTPTS", window.start));
        let filters: Vec<String> = trim.into_iter().chain(filter).collect();
        if !filters.is_empty() {
            args.extend(["-vf".into(), filters.join(",").into()]);
        }
        args.extend(self.every_frame.map(OsString::from));
        args
    }

    pub(crate) fn every_frame(&self) -> [&'static str; 2] {
        self.every_frame
    }
}

/// A stretch of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    pub start: u64,
    /// `None`: to the end.
    pub count: Option<u64>,
}

impl Window {
    pub const WHOLE: Self = Self { start: 0, count: None };

    pub fn new(start: u64, count: u64) -> Self {
        Self { start, count: Some(count) }
    }
}

/// Chroma and depth of a planar format by ffmpeg's name.
fn planar(name: &str) -> Option<(Chroma, u8)> {
    let families = [("yuv420p", Chroma::C420), ("yuv422p", Chroma::C422), ("yuv444p", Chroma::C444)];
    let (bits, chroma) =
        families.iter().find_map(|(family, chroma)| Some((name.strip_prefix(family)?, *chroma)))?;
    let depth = match bits {
        "" => 8,
        bits => {
            let digits = bits.strip_suffix("le").filter(|digits| digits.starts_with(['1', '9']))?;
            digits.parse().ok().filter(|bits| (9..=16).contains(bits))?
        }
    };
    Some((chroma, depth))
}

/// Whether this is ffmpeg's name of a planar format that can be measured.
pub fn is_pix_fmt(name: &str) -> bool {
    planar(name).is_some()
}

/// ffmpeg's name for a format.
pub(crate) fn plain_pix_fmt(format: &Format) -> String {
    let family = match format.chroma() {
        Chroma::C400 => "gray",
        Chroma::C420 => "yuv420p",
        Chroma::C422 => "yuv422p",
        Chroma::C444 => "yuv444p",
    };
    if format.depth() > 8 { format!("{family}{}le", format.depth()) } else { family.to_owned() }
}

/// The hash of a file's bytes. It is remembered for as long as the file stays the same by size, time and place.
fn digest(
    path: &Path,
    file: &File,
    metadata: &std::fs::Metadata,
    cache: &Cache,
    cancel: &Cancel,
) -> Result<String, TuneError> {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let place = std::path::absolute(path).map_err(|error| TuneError::io(path, error))?;
    let key = Key::new(json!({
        "kind": "source",
        "path": place.to_string_lossy(),
        "bytes": metadata.len(),
        "modified": modified.map(|time| time.as_nanos().to_string()),
        "inode": inode(metadata),
    }));
    if let Some(known) = cache.get::<String>(&key) {
        return Ok(known);
    }
    let digest = hash_file(path, file, cancel)?;
    // A file that was changed within the clock's grain could be taken for the old one.
    if modified
        .is_some_and(|time| UNIX_EPOCH.elapsed().is_ok_and(|now| now.saturating_sub(time).as_secs() >= 2))
    {
        let _ = cache.put(&key, &digest);
    }
    Ok(digest)
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("{}:{}", metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn inode(_metadata: &std::fs::Metadata) -> String {
    String::new()
}

fn hash_file(path: &Path, mut file: &File, cancel: &Cancel) -> Result<String, TuneError> {
    let fail = |error| TuneError::io(path, error);
    file.rewind().map_err(fail)?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        if cancel.is_fired() {
            return Err(TuneError::Cancelled);
        }
        match file.read(&mut piece).map_err(fail)? {
            0 => return Ok(crate::cache::hex(&hash.finalize())),
            count => hash.update(&piece[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_formats() {
        assert_eq!(planar("yuv420p"), Some((Chroma::C420, 8)));
        assert_eq!(planar("yuv444p12le"), Some((Chroma::C444, 12)));
        for name in ["nv12", "yuv420p10be", "yuv420p7le", "yuv420p10", ""] {
            assert_eq!(planar(name), None, "{name}");
        }
        let format = Format::new(16, 16, Chroma::C422, 10).unwrap();
        assert_eq!(plain_pix_fmt(&format), "yuv422p10le");
        assert!(looks_raw(Path::new("a/b.YUV")) && !looks_raw(Path::new("yuv.mp4")));
    }
}
