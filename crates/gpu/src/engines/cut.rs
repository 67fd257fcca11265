//! Cuts a byte stream of H.264 or HEVC where a decoder can begin anew.
//!
//! An IDR picture needs nothing that came before it but the parameter sets, and whatever comes before it is shown before it.
//! So the units from one IDR picture to the next are a stream of their own, once the parameter sets stand in front of them.
//! Other random access points (recovery points, CRA pictures) may have pictures that look back beyond them and are not used.

use std::collections::VecDeque;

use crate::decoder::VideoCodec;

/// Pictures of a segment, at least: a decoder runs empty at the end of each.
const SHORTEST: u32 = 32;
/// Bytes of all parameter sets. A stream with more is not cut any further.
const MOST_PARAMETERS: usize = 64 << 10;

/// What comes out of a stream, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// The next bytes of the segment.
    Data(Vec<u8>),
    /// What follows is a new segment.
    Cut,
}

/// What a unit of the stream is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Parameters,
    /// Goes with the picture that follows.
    Before,
    /// A part of a picture.
    Slice {
        is_first: bool,
        is_idr: bool,
    },
    /// Goes with the picture before it.
    After,
}

/// A stream that is being cut.
#[derive(Debug)]
pub struct Cutter {
    codec: VideoCodec,
    /// Fed, from the start code of a unit whose end has not been seen.
    rest: Vec<u8>,
    /// How much of it has been searched for the next start code.
    searched: usize,
    /// Units that belong to the next picture.
    held: Vec<u8>,
    /// Every parameter set once, latest last.
    parameters: VecDeque<Vec<u8>>,
    pictures: u32,
}

impl Cutter {
    pub fn new(codec: VideoCodec) -> Self {
        let (rest, held, parameters) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { codec, rest, searched: 0, held, parameters, pictures: 0 }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, data: &[u8], pieces: &mut Vec<Piece>) {
        self.rest.extend_from_slice(data);
        let rest = std::mem::take(&mut self.rest);
        let mut begin = 0;
        // The first unit's own start code is not the next one.
        let mut from = self.searched.max(usize::from(rest.starts_with(&START)));
        while let Some(next) = find_start(&rest, from) {
            self.unit(&rest[begin..next], pieces);
            (begin, from) = (next, next + START.len());
        }
        self.rest = rest[begin..].to_vec();
        self.searched = self.rest.len().saturating_sub(START.len() - 1);
    }

    /// There is no more.
    pub fn end(&mut self, pieces: &mut Vec<Piece>) {
        let rest = std::mem::take(&mut self.rest);
        self.searched = 0;
        if !rest.is_empty() {
            self.unit(&rest, pieces);
        }
        let held = std::mem::take(&mut self.held);
        pieces.extend((!held.is_empty()).then_some(Piece::Data(held)));
    }

    fn unit(&mut self, bytes: &[u8], pieces: &mut Vec<Piece>) {
        match kind(bytes, self.codec) {
            Unit::Parameters => {
                self.remember(bytes);
                self.held.extend_from_slice(bytes);
            }
            Unit::Before => self.held.extend_from_slice(bytes),
            Unit::After => pieces.push(Piece::Data(bytes.to_vec())),
            Unit::Slice { is_first, is_idr } => {
                let mut data = std::mem::take(&mut self.held);
                if is_first && is_idr && self.pictures >= SHORTEST && self.is_cuttable() {
                    pieces.push(Piece::Cut);
                    self.pictures = 0;
                    data = self.parameters.iter().flatten().copied().chain(data).collect();
                }
                self.pictures += u32::from(is_first);
                data.extend_from_slice(bytes);
                pieces.push(Piece::Data(data));
            }
        }
    }

    /// A zero at the end belongs to the next start code.
    fn remember(&mut self, bytes: &[u8]) {
        if self.is_cuttable() {
            let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            self.parameters.retain(|known| *known != bytes[..length]);
            self.parameters.push_back(bytes[..length].to_vec());
        }
    }

    fn is_cuttable(&self) -> bool {
        self.parameters.iter().map(Vec::len).sum::<usize>() <= MOST_PARAMETERS
    }
}

const START: [u8; 3] = [0, 0, 1];

/// The place of the next start code.
fn find_start(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at + START.len() <= bytes.len() {
        match bytes[at + 2] {
            // Neither of the three can be the end of a start code.
            2.. => at += 3,
            1 if bytes[at..at + 2] == [0, 0] => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// What a unit is that begins with its start code; anything else goes with what was before.
fn kind(bytes: &[u8], codec: VideoCodec) -> Unit {
    let header = bytes.strip_prefix(&START).unwrap_or_default();
    match (codec, header) {
        (VideoCodec::H264, [header, rest @ ..]) => match header & 31 {
            number @ (1 | 2 | 5) => Unit::Slice {
                // The number of its first block: zero is a single bit.
                is_first: rest.first().is_some_and(|byte| byte & 0x80 != 0),
                is_idr: number == 5,
            },
            7 | 8 | 13 | 15 => Unit::Parameters,
            6 | 9 | 14 => Unit::Before,
            _ => Unit::After,
        },
        (VideoCodec::Hevc, [header, _, rest @ ..]) => match header >> 1 & 63 {
            number @ 0..=31 => Unit::Slice {
                is_first: rest.first().is_some_and(|byte| byte & 0x80 != 0),
                is_idr: matches!(number, 19 | 20),
            },
            32..=34 => Unit::Parameters,
            35 | 39 | 41..=44 | 48..=55 => Unit::Before,
            _ => Unit::After,
        },
        _ => Unit::After,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit of H.264: its number, and whether it begins a picture.
    fn unit(number: u8, first: bool, filler: u8) -> Vec<u8> {
        vec![0, 0, 0, 1, 0x60 | number, if first { 0x88 } else { 0x10 }, filler, 2, 3]
    }

    /// So many pictures from an IDR picture on, with parameter sets and an SEI message.
    fn group(pictures: usize, filler: u8) -> Vec<u8> {
        let mut stream: Vec<u8> = [unit(7, true, 7), unit(8, true, 8), unit(6, true, 6)].concat();
        stream.extend(unit(5, true, filler));
        (1..pictures).for_each(|_| stream.extend(unit(1, true, filler)));
        stream
    }

    /// The segments of a stream that is fed in steps of this size.
    fn segments(stream: &[u8], step: usize) -> Vec<Vec<u8>> {
        let mut cutter = Cutter::new(VideoCodec::H264);
        let mut pieces = Vec::new();
        stream.chunks(step).for_each(|chunk| cutter.feed(chunk, &mut pieces));
        cutter.end(&mut pieces);
        let mut found = vec![Vec::new()];
        for piece in pieces {
            match piece {
                Piece::Data(data) => found.last_mut().unwrap().extend(data),
                Piece::Cut => found.push(Vec::new()),
            }
        }
        found
    }

    #[test]
    fn a_stream_is_cut_at_idr_pictures() {
        let stream = [group(40, 1), group(50, 2), group(3, 3), group(40, 4)].concat();
        let whole = segments(&stream, stream.len());
        assert_eq!(whole.len(), 3, "a group of three is too short for itself");
        for step in [1, 2, 3, 7, 100] {
            assert_eq!(segments(&stream, step), whole, "{step}");
        }
        let count = |bytes: &[u8], number: u8| {
            bytes.windows(4).filter(|four| four[..3] == START && four[3] & 31 == number).count()
        };
        let pictures: Vec<_> = whole.iter().map(|one| count(one, 1) + count(one, 5)).collect();
        assert_eq!(pictures, [40, 50, 43]);
        // Each begins with the parameter sets, and an SEI message stays with its picture.
        assert!(whole.iter().all(|one| one.windows(4).find(|four| four[..3] == START).unwrap()[3] & 31 == 7));
        assert_eq!(whole.iter().map(|one| count(one, 6)).collect::<Vec<_>>(), [1, 1, 2]);
    }

    #[test]
    fn the_latest_parameter_sets_come_last() {
        let old = [unit(7, true, 1), unit(8, true, 8)].concat();
        let new = unit(7, true, 2);
        let pictures: Vec<u8> =
            std::iter::once(unit(5, true, 0)).chain((0..40).map(|_| unit(1, true, 0))).flatten().collect();
        let stream = [&old[..], &pictures, &new, &pictures, &old, &pictures, &pictures].concat();
        let found = segments(&stream, 11);
        assert_eq!(found.len(), 4);
        let sets = |segment: &[u8]| -> Vec<u8> {
            let is_sequence = |at: &usize| segment[*at..].starts_with(&[0, 0, 1, 0x67]);
            (0..segment.len()).filter(is_sequence).map(|at| segment[at + 5]).collect()
        };
        assert_eq!(sets(&found[0]), [1]);
        assert_eq!(sets(&found[1]).last(), Some(&2));
        assert_eq!(sets(&found[2]).last(), Some(&1));
        assert_eq!(sets(&found[3]).last(), Some(&1));
    }

    #[test]
    fn slices_of_one_picture_stay_together() {
        let mut stream = group(40, 1);
        stream.extend(unit(5, true, 9));
        stream.extend(unit(5, false, 9));
        stream.extend(unit(1, true, 9));
        let found = segments(&stream, 5);
        assert_eq!(found.len(), 2);
        assert_eq!(
            kind(&[0, 0, 1, 19 << 1, 1, 0x80], VideoCodec::Hevc),
            Unit::Slice { is_first: true, is_idr: true }
        );
        assert_eq!(
            kind(&[0, 0, 1, 21 << 1, 1, 0x80], VideoCodec::Hevc),
            Unit::Slice { is_first: true, is_idr: false }
        );
        assert_eq!(kind(&[0, 0, 1, 33 << 1, 1], VideoCodec::Hevc), Unit::Parameters);
        assert_eq!(kind(&[9, 9], VideoCodec::H264), Unit::After);
    }
}
