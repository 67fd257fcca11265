//! A part of every picture: regions, and a source that hands over nothing but one.

use std::fmt;
use std::str::FromStr;

use crate::{Alone, Format, Frame, Info, Plane, PlaneSet, PlaneView, ReadError, Source, Spread};

/// A rectangle of luma samples, written as in X11 and ImageMagick: `1920x800+0+140`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    pub width: usize,
    pub height: usize,
    pub x: usize,
    pub y: usize,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}+{}+{}", self.width, self.height, self.x, self.y)
    }
}

impl FromStr for Region {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = || {
            let (width, rest) = text.split_once('x')?;
            let mut numbers = rest.split('+').map(|part| part.parse::<usize>().ok());
            let (height, x, y) = (numbers.next()??, numbers.next()??, numbers.next()??);
            let region = Self { width: width.parse().ok()?, height, x, y };
            (numbers.next().is_none() && region.width > 0 && region.height > 0).then_some(region)
        };
        parts().ok_or_else(|| {
            format!(
                "'{text}' is no region; it is WIDTHxHEIGHT+X+Y, counted from the top left: 1920x800+0+140"
            )
        })
    }
}

impl Region {
    /// The format of the part of a picture. Chroma samples stand for several luma samples, so a part must begin on one of
    /// them.
    pub fn of(&self, format: &Format) -> Result<Format, String> {
        let whole = (format.width(), format.height());
        let fits = |start: usize, length: usize, side: usize| {
            start.checked_add(length).is_some_and(|end| end <= side)
        };
        if !fits(self.x, self.width, whole.0) || !fits(self.y, self.height, whole.1) {
            return Err(format!("the region {self} lies outside of a picture of {}x{}", whole.0, whole.1));
        }
        let (across, down) = format.chroma().shifts();
        let (across, down) = (1usize << across, 1usize << down);
        if !self.x.is_multiple_of(across) || !self.y.is_multiple_of(down) {
            return Err(format!(
                "the region {self} begins inside of a chroma sample: in {} video X must be a multiple of {across} and Y a \
                 multiple of {down}",
                format.chroma()
            ));
        }
        Format::new(self.width, self.height, format.chroma(), format.depth())
            .map_err(|error| error.to_string())
    }
}

/// A source of which a region is handed over.
pub struct Cropped {
    source: Box<dyn Source>,
    region: Region,
    format: Format,
    /// The whole picture; taken where it is first needed.
    whole: Option<Frame>,
}

impl fmt::Debug for Cropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cropped").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Cropped {
    /// Fails where the region does not fit the picture, with the reason.
    pub fn new(source: Box<dyn Source>, region: Region) -> Result<Self, String> {
        let format = region.of(source.format())?;
        Ok(Self { source, region, format, whole: None })
    }
}

fn copy(from: &Frame, to: &mut Frame, index: usize, region: &Region) {
    let (across, down) = if index == 0 { (0, 0) } else { from.format().chroma().shifts() };
    let (x, y) = (region.x >> across, region.y >> down);
    match from.plane(index) {
        PlaneView::U8(plane) => {
            if let Some(mut out) = to.plane_mut_u8(index) {
                let rows = out.height();
                (0..rows).for_each(|row| part(plane, x, y + row, out.row_mut(row)));
            }
        }
        PlaneView::U16(plane) => {
            if let Some(mut out) = to.plane_mut_u16(index) {
                let rows = out.height();
                (0..rows).for_each(|row| part(plane, x, y + row, out.row_mut(row)));
            }
        }
    }
}

fn part<T: crate::Sample>(plane: Plane<'_, T>, x: usize, y: usize, out: &mut [T]) {
    let width = out.len();
    out.copy_from_slice(&plane.row(y)[x..x + width]);
}

impl Source for Cropped {
    fn format(&self) -> &Format {
        &self.format
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn info(&self) -> &Info {
        self.source.info()
    }

    fn frames_read(&self) -> u64 {
        self.source.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.read_planes(frame, PlaneSet::ALL, &Alone)
    }

    fn read_planes(
        &mut self,
        frame: &mut Frame,
        planes: PlaneSet,
        hands: &dyn Spread,
    ) -> Result<bool, ReadError> {
        let format = *self.source.format();
        let whole = self.whole.get_or_insert_with(|| Frame::new(format));
        let more = self.source.read_planes(whole, planes, hands)?;
        if more {
            planes.range(format.planes()).for_each(|index| copy(whole, frame, index, &self.region));
        }
        Ok(more)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.source.skip(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.source.total_frames()
    }

    fn never_blocks(&self) -> bool {
        self.source.never_blocks()
    }

    fn fork(&self) -> Option<Box<dyn Source>> {
        let source = self.source.fork()?;
        Some(Box::new(Self { source, region: self.region, format: self.format, whole: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chroma;
    use crate::synthetic::Clip;

    #[test]
    fn regions_are_read_and_checked() {
        let region: Region = "16x8+4+2".parse().unwrap();
        assert_eq!(region, Region { width: 16, height: 8, x: 4, y: 2 });
        assert_eq!(region.to_string(), "16x8+4+2");
        for text in ["", "16x8", "16x8+4", "0x8+0+0", "16x8+4+2+1", "16x-8+0+0", "axb+c+d"] {
            assert!(text.parse::<Region>().is_err(), "{text}");
        }
        let format = Format::new(32, 16, Chroma::C420, 8).unwrap();
        assert!(region.of(&format).is_ok());
        for (text, reason) in [
            ("32x16+1+0", "outside"),
            ("18446744073709551615x2+2+0", "outside"),
            ("8x8+1+0", "chroma sample"),
            ("8x8+0+3", "chroma sample"),
        ] {
            let refused = text.parse::<Region>().unwrap().of(&format).unwrap_err();
            assert!(refused.contains(reason), "{text}: {refused}");
        }
        let upright = Format::new(32, 16, Chroma::C422, 8).unwrap();
        assert!("8x8+2+3".parse::<Region>().unwrap().of(&upright).is_ok(), "4:2:2 has all rows of chroma");
    }

    #[test]
    fn the_samples_are_those_of_the_picture() {
        for (chroma, depth) in [(Chroma::C420, 8), (Chroma::C422, 10), (Chroma::C444, 12), (Chroma::C400, 8)]
        {
            let format = Format::new(32, 16, chroma, depth).unwrap();
            let region = Region { width: 12, height: 6, x: 8, y: 4 };
            let mut cropped = Cropped::new(Box::new(Clip::scene(format, 3, 7)), region).unwrap();
            let (mut part, mut whole) = (Frame::new(*cropped.format()), Frame::new(format));
            let mut plain = Clip::scene(format, 3, 7);
            assert_eq!(cropped.total_frames(), plain.total_frames());
            while cropped.read(&mut part).unwrap() {
                assert!(plain.read(&mut whole).unwrap());
                for index in 0..format.planes() {
                    compare(&whole, &part, index, &region);
                }
            }
            assert_eq!(cropped.frames_read(), 3);
        }
    }

    fn compare(whole: &Frame, part: &Frame, index: usize, region: &Region) {
        let (across, down) = if index == 0 { (0, 0) } else { whole.format().chroma().shifts() };
        let sample = |frame: &Frame, x: usize, y: usize| match frame.plane(index) {
            PlaneView::U8(plane) => u32::from(plane.row(y)[x]),
            PlaneView::U16(plane) => u32::from(plane.row(y)[x]),
        };
        let (width, height) = part.format().plane_size(index);
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let place = ((region.x >> across) + x, (region.y >> down) + y);
            assert_eq!(sample(part, x, y), sample(whole, place.0, place.1));
        }
    }
}
