//! The Y4M container: the header line at the start of the file and the one before each frame.
//!
//! Accepted is all that libvmaf's reader accepts, and what it chokes on although the meaning is plain: lines of any
//! sensible length, CR LF, odd sizes, 8-bit 4:2:2, monochrome, alpha (passed over), and every depth from 8 to 16.
//! Samples are never resampled: the variants of 4:2:0 differ only in where chroma samples sit, which metrics ignore.

use crate::input::{Input, Shortfall};
use crate::{Chroma, ColourRange, Format, HeaderFault, Info, Interlacing, ReadError, Warning};

/// The longest header line of a file or a frame, newline included.
pub(crate) const LONGEST_LINE: usize = 4096;

/// The shortest frame header: `FRAME` and a newline.
pub(crate) const SHORTEST_FRAME_HEADER: usize = SHORTEST_FRAME_HEADER_WORDS.len();
pub(crate) const SHORTEST_FRAME_HEADER_WORDS: &[u8] = b"FRAME\n";

const MAGIC: &[u8] = b"YUV4MPEG";
const FRAME: &[u8] = b"FRAME";

#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) format: Format,
    pub(crate) alpha: bool,
    pub(crate) info: Info,
}

/// Reads the header line at the start of the input.
pub(crate) fn read_header(input: &mut Input) -> Result<Header, ReadError> {
    let file = input.name().to_owned();
    let line = match input.line(LONGEST_LINE) {
        Ok(line) => line,
        Err(source) => return Err(ReadError::Io { file, frame: 0, byte: input.position(), source }),
    };
    parse_line(line).map_err(|(byte, fault)| ReadError::Header { file, byte, fault })
}

/// What a frame header turned out to be.
pub(crate) enum FrameHeader {
    /// The input ended where a header could have begun.
    End,
    Good,
    TooLong,
    /// Something else stands there.
    Lost(String),
}

/// Reads the line before a frame. Its parameters are ignored.
pub(crate) fn read_frame_header(input: &mut Input) -> Result<FrameHeader, Shortfall> {
    let mut start = [0; SHORTEST_FRAME_HEADER];
    let got = input.read_up_to(&mut start)?;
    if got == 0 {
        return Ok(FrameHeader::End);
    }
    let word = &start[..got.min(FRAME.len())];
    if !FRAME.starts_with(word) {
        return Ok(FrameHeader::Lost(excerpt(&start[..got])));
    }
    if got < start.len() {
        return Err(Shortfall::End);
    }
    if start[FRAME.len()] == b'\n' { Ok(FrameHeader::Good) } else { pass_parameters(input) }
}

fn pass_parameters(input: &mut Input) -> Result<FrameHeader, Shortfall> {
    let limit = LONGEST_LINE - SHORTEST_FRAME_HEADER;
    match input.line(limit)? {
        (_, true) => Ok(FrameHeader::Good),
        (line, false) if line.len() < limit => Err(Shortfall::End),
        _ => Ok(FrameHeader::TooLong),
    }
}

/// The length of the frame header that lies ahead, if it is in sight.
pub(crate) fn frame_header_ahead(ahead: &[u8]) -> Option<usize> {
    let sight = &ahead[..ahead.len().min(LONGEST_LINE)];
    let newline = sight.iter().position(|byte| *byte == b'\n')?;
    sight.starts_with(FRAME).then_some(newline + 1)
}

/// A fault and the byte it stands at.
type Fault = (u64, HeaderFault);

fn parse_line((line, ended): (Vec<u8>, bool)) -> Result<Header, Fault> {
    let got = line.len() as u64;
    if line.is_empty() && !ended {
        return Err((0, HeaderFault::Empty));
    }
    if !line.starts_with(MAGIC) {
        return Err((0, HeaderFault::NotY4m { found: excerpt(&line) }));
    }
    if !ended && line.len() < LONGEST_LINE {
        return Err((got, HeaderFault::EndsEarly { got }));
    }
    if !ended {
        return Err((got, HeaderFault::TooLong { limit: got }));
    }
    parse_words(line.strip_suffix(b"\r").unwrap_or(&line))
}

fn parse_words(line: &[u8]) -> Result<Header, Fault> {
    let mut tags = Tags::default();
    let mut at = 0;
    for word in line.split(|byte| *byte == b' ') {
        if at == 0 {
            tags.version(&word[MAGIC.len()..]);
        } else if let Some((letter, value)) = word.split_first() {
            tags.tag(at, *letter, value, word).map_err(|fault| (at, fault))?;
        }
        at += word.len() as u64 + 1;
    }
    tags.finish()
}

/// What was found so far; a later tag replaces an earlier one.
#[derive(Default)]
struct Tags {
    width: Option<u64>,
    height: Option<u64>,
    /// The chroma tag and where it stands.
    chroma: Option<(u64, String)>,
    /// mplayer's chroma tag, for files that have no other.
    chroma_extension: Option<(u64, String)>,
    rate_given: bool,
    info: Info,
}

impl Tags {
    fn version(&mut self, version: &[u8]) {
        if version != b"2" {
            self.info.warnings.push(Warning::Version { version: excerpt(version) });
        }
    }

    fn tag(&mut self, at: u64, letter: u8, value: &[u8], word: &[u8]) -> Result<(), HeaderFault> {
        let bad = |what, example| HeaderFault::BadTag { tag: excerpt(word), what, example };
        match letter {
            b'W' => self.width = Some(self.side(value, word).ok_or_else(|| bad("width", "W1920"))?),
            b'H' => self.height = Some(self.side(value, word).ok_or_else(|| bad("height", "H1080"))?),
            b'F' => {
                self.info.frame_rate = self.ratio(value, word).ok_or_else(|| bad("frame rate", "F25:1"))?;
                self.rate_given = true;
            }
            b'A' => {
                self.info.aspect =
                    self.ratio(value, word).ok_or_else(|| bad("sample aspect ratio", "A1:1"))?
            }
            b'I' => {
                self.info.interlacing = interlacing(value).ok_or_else(|| bad("kind of interlacing", "Ip"))?;
            }
            b'C' => self.chroma = Some((at, excerpt(value))),
            b'X' => self.extension(at, value),
            _ => {}
        }
        Ok(())
    }

    fn side(&mut self, value: &[u8], word: &[u8]) -> Option<u64> {
        let (number, rest) = leading_number(value)?;
        self.note_rest(rest, word);
        u64::try_from(number).ok()
    }

    /// Two numbers; `Some(None)` if one of them is not positive, which stands for an unknown ratio.
    fn ratio(&mut self, value: &[u8], word: &[u8]) -> Option<Option<(u32, u32)>> {
        let (numerator, rest) = leading_number(value)?;
        let (denominator, rest) = leading_number(rest.strip_prefix(b":")?)?;
        self.note_rest(rest, word);
        let positive = |number: i64| u32::try_from(number).ok().filter(|number| *number > 0);
        Some(positive(numerator).zip(positive(denominator)))
    }

    fn note_rest(&mut self, rest: &[u8], word: &[u8]) {
        if !rest.is_empty() {
            self.info.warnings.push(Warning::TrailingCharacters { tag: excerpt(word) });
        }
    }

    fn extension(&mut self, at: u64, value: &[u8]) {
        if let Some(chroma) = value.strip_prefix(b"YSCSS=") {
            self.chroma_extension = Some((at, excerpt(chroma).to_ascii_lowercase()));
        }
        match value {
            b"COLORRANGE=FULL" => self.info.range = Some(ColourRange::Full),
            b"COLORRANGE=LIMITED" => self.info.range = Some(ColourRange::Limited),
            _ => {}
        }
    }

    fn finish(self) -> Result<Header, Fault> {
        let missing = |tag, what| (0, HeaderFault::Missing { tag, what });
        let width = self.width.ok_or(missing('W', "width"))?;
        let height = self.height.ok_or(missing('H', "height"))?;
        if !self.rate_given {
            return Err(missing('F', "frame rate"));
        }
        // Old writers leave the chroma format out; it is 4:2:0 then.
        let (at, tag) = self.chroma.or(self.chroma_extension).unwrap_or_else(|| (0, "420".to_owned()));
        let chroma = chroma_format(&tag).ok_or_else(|| (at, HeaderFault::Chroma { tag: tag.clone() }));
        let (chroma, depth, alpha) = chroma?;
        let side = |side: u64| usize::try_from(side).unwrap_or(usize::MAX);
        let format =
            Format::new(side(width), side(height), chroma, depth).map_err(|error| (0, error.into()))?;
        let mut info = Info { chroma_tag: Some(tag), ..self.info };
        add_warnings(&mut info, alpha);
        Ok(Header { format, alpha, info })
    }
}

fn add_warnings(info: &mut Info, alpha: bool) {
    if info.interlacing == Interlacing::Unknown {
        info.warnings.push(Warning::InterlacingUnknown);
    }
    if info.interlacing.is_interlaced() {
        info.warnings.push(Warning::Interlaced(info.interlacing));
    }
    if alpha {
        info.warnings.push(Warning::AlphaIgnored);
    }
}

/// The number at the start and what follows it. Numbers beyond 64 bits become the largest.
fn leading_number(text: &[u8]) -> Option<(i64, &[u8])> {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, text),
    };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(count);
    let add = |value: i64, digit: &u8| value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    (count > 0).then(|| (sign * digits.iter().fold(0, add), rest))
}

fn interlacing(value: &[u8]) -> Option<Interlacing> {
    // Only the first letter counts, as in libvmaf.
    match value.first()? {
        b'p' => Some(Interlacing::Progressive),
        b't' => Some(Interlacing::TopFieldFirst),
        b'b' => Some(Interlacing::BottomFieldFirst),
        b'm' => Some(Interlacing::Mixed),
        b'?' => Some(Interlacing::Unknown),
        _ => None,
    }
}

/// Chroma layout, bit depth, and whether an alpha plane follows.
fn chroma_format(tag: &str) -> Option<(Chroma, u8, bool)> {
    let (chroma, alpha) = match tag {
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => (Chroma::C420, false),
        "422" => (Chroma::C422, false),
        "444" => (Chroma::C444, false),
        "444alpha" => (Chroma::C444, true),
        "mono" => (Chroma::C400, false),
        _ => return deep_format(tag),
    };
    Some((chroma, 8, alpha))
}

fn deep_format(tag: &str) -> Option<(Chroma, u8, bool)> {
    let families =
        [("420p", Chroma::C420), ("422p", Chroma::C422), ("444p", Chroma::C444), ("mono", Chroma::C400)];
    let (bits, chroma) =
        families.iter().find_map(|(name, chroma)| Some((tag.strip_prefix(name)?, chroma)))?;
    let depth = (9..=16).find(|depth: &u8| depth.to_string() == bits)?;
    Some((*chroma, depth, false))
}

/// The beginning of foreign bytes, fit to be shown.
fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let cut = &bytes[..bytes.len().min(LONGEST)];
    let more = if cut.len() < bytes.len() { "..." } else { "" };
    format!("{}{more}", cut.escape_ascii())
}
