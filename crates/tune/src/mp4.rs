//! Facts from MP4 files that ffmpeg has just written: codec string, frames, bytes, duration, and where fragments lie.
//!
//! ISO/IEC 14496-12 (boxes), 14496-15 (avcC, hvcC, vvcC), and the AV1 and VP9 bindings.

#![expect(
    clippy::disallowed_methods,
    reason = "works in folders of its own, or on files that the command line named"
)]

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::TuneError;
use crate::codecs;

/// A larger index than this is not read.
const MAX_MOOV: u64 = 256 << 20;

/// What a video file with one track is.
#[derive(Clone, Debug, PartialEq)]
pub struct Mp4Facts {
    /// As manifests name it (RFC 6381).
    pub codecs: String,
    pub width: u32,
    pub height: u32,
    pub frames: u64,
    /// Bytes of coded video, without the container.
    pub video_bytes: u64,
    /// In seconds.
    pub duration: f64,
    /// The most bits in any second, per second.
    pub peak_bps: f64,
}

impl Mp4Facts {
    pub fn kbps(&self) -> f64 {
        if self.duration > 0.0 { self.video_bytes as f64 * 8.0 / self.duration / 1000.0 } else { 0.0 }
    }
}

/// Reads the facts of a plain (not fragmented) file.
pub fn facts(path: &Path) -> Result<Mp4Facts, TuneError> {
    let odd = |reason: &str| TuneError::Mp4 { path: path.to_owned(), reason: reason.to_owned() };
    let mut file = File::open(path).map_err(|error| TuneError::io(path, error))?;
    let boxes = top_level(&mut file).map_err(|error| TuneError::io(path, error))?;
    let moov = boxes.iter().find(|found| &found.kind == b"moov").ok_or_else(|| odd("it has no index"))?;
    let moov = moov.read(&mut file, MAX_MOOV).map_err(|error| TuneError::io(path, error))?;
    track_facts(&moov).ok_or_else(|| odd("its index cannot be understood"))
}

/// A box in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopBox {
    pub kind: [u8; 4],
    /// Where the box begins.
    pub start: u64,
    /// How long it is, its header included.
    pub size: u64,
    header: u64,
}

impl TopBox {
    fn read(&self, file: &mut File, limit: u64) -> std::io::Result<Vec<u8>> {
        let length = self.size - self.header;
        if length > limit {
            return Err(std::io::Error::other(format!("box of {length} bytes, more than {limit}")));
        }
        file.seek(SeekFrom::Start(self.start + self.header))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The boxes that a file consists of.
pub fn top_level(file: &mut File) -> std::io::Result<Vec<TopBox>> {
    let length = file.seek(SeekFrom::End(0))?;
    let (mut boxes, mut start) = (Vec::new(), 0);
    while length - start >= 8 {
        file.seek(SeekFrom::Start(start))?;
        let mut head = [0; 16];
        file.read_exact(&mut head[..8])?;
        let kind = [head[4], head[5], head[6], head[7]];
        let (size, header) = match u64::from(u32_at(&head, 0).unwrap_or(0)) {
            0 => (length - start, 8),
            1 => {
                file.read_exact(&mut head[8..])?;
                (
                    u64::from_be_bytes([
                        head[8], head[9], head[10], head[11], head[12], head[13], head[14], head[15],
                    ]),
                    16,
                )
            }
            size => (size, 8),
        };
        if size < header || size > length - start {
            return Err(std::io::Error::new(
                std::io::ErrorKind::UnexpectedEof,
                "a box reaches beyond the file",
            ));
        }
        boxes.push(TopBox { kind, start, size, header });
        start += size;
    }
    Ok(boxes)
}

/// The content of the first box of this kind.
fn find<'a>(bytes: &'a [u8], kind: &[u8; 4]) -> Option<&'a [u8]> {
    children(bytes).find(|(found, _)| found == kind).map(|(_, content)| content)
}

/// The boxes inside a box.
fn children(mut bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let size = u32_at(bytes, 0)? as usize;
        let kind = bytes.get(4..8)?.try_into().ok()?;
        let content = bytes.get(8..size)?;
        bytes = &bytes[size..];
        Some((kind, content))
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn track_facts(moov: &[u8]) -> Option<Mp4Facts> {
    let video = |trak: &&[u8]| {
        let handler = find(trak, b"mdia").and_then(|mdia| find(mdia, b"hdlr"));
        handler.is_some_and(|handler| handler.get(8..12) == Some(b"vide"))
    };
    let traks = children(moov).filter(|(kind, _)| kind == b"trak").map(|(_, content)| content);
    let mdia = find(traks.into_iter().find(|trak| video(trak))?, b"mdia")?;
    let mdhd = find(mdia, b"mdhd")?;
    let timescale = if mdhd.first()? == &1 { u32_at(mdhd, 20)? } else { u32_at(mdhd, 12)? };
    let stbl = find(find(mdia, b"minf")?, b"stbl")?;
    let entry = find(stbl, b"stsd")?.get(8..)?;
    let (fourcc, sample) = children(entry).next()?;
    let sizes = sample_sizes(find(stbl, b"stsz")?)?;
    let times = sample_times(find(stbl, b"stts")?, sizes.len())?;
    let scale = f64::from(timescale.max(1));
    Some(Mp4Facts {
        codecs: codecs::of_sample_entry(&fourcc, |kind| find(sample.get(78..)?, kind))?,
        width: u16_at(sample, 24)?.into(),
        height: u16_at(sample, 26)?.into(),
        frames: sizes.len() as u64,
        video_bytes: sizes.iter().map(|size| u64::from(*size)).sum(),
        duration: times.iter().map(|time| u64::from(*time)).sum::<u64>() as f64 / scale,
        peak_bps: peak(&sizes, &times, scale),
    })
}

fn sample_sizes(stsz: &[u8]) -> Option<Vec<u32>> {
    let (same, count) = (u32_at(stsz, 4)?, u32_at(stsz, 8)? as usize);
    if same != 0 {
        // A file whose frames are all alike still has fewer frames than its own index could list.
        return (count < MAX_MOOV as usize / 4).then(|| vec![same; count]);
    }
    let table = stsz.get(12..12 + count.checked_mul(4)?)?;
    Some(table.chunks_exact(4).filter_map(|chunk| u32_at(chunk, 0)).collect())
}

fn sample_times(stts: &[u8], samples: usize) -> Option<Vec<u32>> {
    let mut times = Vec::with_capacity(samples);
    for run in 0..u32_at(stts, 4)? as usize {
        let (count, delta) = (u32_at(stts, 8 + run * 8)?, u32_at(stts, 12 + run * 8)?);
        let room = samples - times.len();
        times.extend(std::iter::repeat_n(delta, (count as usize).min(room)));
    }
    Some(times)
}

/// The most bits within any second, per second; a shorter clip is taken as a whole.
fn peak(sizes: &[u32], times: &[u32], scale: f64) -> f64 {
    let (mut first, mut bytes, mut ticks, mut most) = (0, 0u64, 0u64, 0.0f64);
    for (size, time) in sizes.iter().zip(times) {
        bytes += u64::from(*size);
        ticks += u64::from(*time);
        while ticks as f64 / scale > 1.0 && ticks > u64::from(times[first]) {
            let shorter = ticks - u64::from(times[first]);
            if (shorter as f64) / scale < 1.0 {
                break;
            }
            bytes -= u64::from(sizes[first]);
            ticks = shorter;
            first += 1;
        }
        most = most.max(bytes as f64 * 8.0 / (ticks as f64 / scale).max(1.0));
    }
    most
}

/// Where the pieces of a fragmented file with a global index lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Fragments {
    /// Bytes of everything before the index: file type and movie header.
    pub init: (u64, u64),
    /// First byte and length of the segment index.
    pub index: (u64, u64),
    /// First byte, length and duration in seconds of each fragment.
    pub pieces: Vec<(u64, u64, f64)>,
}

/// Reads where the fragments of a file lie, from its `sidx` box.
pub fn fragments(path: &Path) -> Result<Fragments, TuneError> {
    let odd = |reason: &str| TuneError::Mp4 { path: path.to_owned(), reason: reason.to_owned() };
    let mut file = File::open(path).map_err(|error| TuneError::io(path, error))?;
    let boxes = top_level(&mut file).map_err(|error| TuneError::io(path, error))?;
    let moov = boxes.iter().find(|found| &found.kind == b"moov").ok_or_else(|| odd("it has no header"))?;
    let sidx =
        boxes.iter().find(|found| &found.kind == b"sidx").ok_or_else(|| odd("it has no segment index"))?;
    let content = sidx.read(&mut file, MAX_MOOV).map_err(|error| TuneError::io(path, error))?;
    let pieces =
        index_entries(&content, sidx.start + sidx.size).ok_or_else(|| odd("its segment index is broken"))?;
    Ok(Fragments { init: (0, moov.start + moov.size), index: (sidx.start, sidx.size), pieces })
}

fn index_entries(sidx: &[u8], anchor: u64) -> Option<Vec<(u64, u64, f64)>> {
    let timescale = f64::from(u32_at(sidx, 8)?.max(1));
    let wide = sidx.first()? == &1;
    let (offset, table) = if wide {
        (u64::from(u32_at(sidx, 20)?) << 32 | u64::from(u32_at(sidx, 24)?), 28)
    } else {
        (u64::from(u32_at(sidx, 16)?), 20)
    };
    let mut start = anchor.checked_add(offset)?;
    let mut pieces = Vec::new();
    for entry in 0..usize::from(u16_at(sidx, table + 2)?) {
        let at = table + 4 + entry * 12;
        let size = u64::from(u32_at(sidx, at)? & 0x7fff_ffff);
        pieces.push((start, size, f64::from(u32_at(sidx, at + 4)?) / timescale));
        start = start.checked_add(size)?;
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_would_wrap_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mp4");
        // A box of 2⁶⁴ - 8 bytes would lead back to where it begins.
        for size in [u64::MAX - 7, u64::MAX, 1 << 63, 15, 0] {
            let bytes = [&[0, 0, 0, 1], b"free".as_slice(), &size.to_be_bytes(), &[0; 16]].concat();
            std::fs::write(&path, bytes).unwrap();
            assert!(top_level(&mut File::open(&path).unwrap()).is_err(), "{size}");
        }
        let sidx =
            [&[1, 0, 0, 0], [0; 16].as_slice(), &u64::MAX.to_be_bytes(), &[0, 0, 0, 1], &[0; 12]].concat();
        assert_eq!(index_entries(&sidx, 100), None);
    }

    #[test]
    fn peaks_are_of_a_second() {
        // 4 frames a second; the busy second holds 4 frames of 1000 bytes.
        let sizes = [100, 100, 100, 100, 1000, 1000, 1000, 1000, 100, 100, 100, 100];
        assert_eq!(peak(&sizes, &[25; 12], 100.0), 32000.0);
        assert_eq!(peak(&[500], &[25], 100.0), 4000.0);
        assert_eq!(peak(&[], &[], 100.0), 0.0);
    }

    #[test]
    fn broken_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mp4");
        for bytes in [
            &b""[..],
            b"\0\0\0\x08moov",
            b"\xff\xff\xff\xffmoov",
            b"\0\0\0\0moov",
            b"\0\0\0\x10moov\0\0\0\x08trak",
            b"\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert!(facts(&path).is_err(), "{bytes:?}");
            assert!(fragments(&path).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn an_index_lists_its_pieces() {
        let mut sidx = vec![0u8; 8];
        for word in [1000u32, 0, 0, 2, 300, 2000, 0x9000_0000, 200, 1500, 0x9000_0000] {
            sidx.extend(word.to_be_bytes());
        }
        assert_eq!(index_entries(&sidx, 50), Some(vec![(50, 300, 2.0), (350, 200, 1.5)]));
        assert_eq!(index_entries(&sidx[..30], 50), None);
    }
}
