//! A source whose frame rate the user declares, whatever its file says.

use std::fmt;

use crate::{Format, Frame, Info, PlaneSet, ReadError, Source, Spread};

/// A source with another frame rate.
pub struct Declared {
    source: Box<dyn Source>,
    info: Info,
}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declared").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Declared {
    pub fn new(source: Box<dyn Source>, frame_rate: (u32, u32)) -> Self {
        let info = Info { frame_rate: Some(frame_rate), ..source.info().clone() };
        Self { source, info }
    }
}

impl Source for Declared {
    fn format(&self) -> &Format {
        self.source.format()
    }

    fn name(&self) -> &str {
        self.source.name()
    }

    fn info(&self) -> &Info {
        &self.info
    }

    fn frames_read(&self) -> u64 {
        self.source.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        self.source.read(frame)
    }

    fn read_planes(
        &mut self,
        frame: &mut Frame,
        planes: PlaneSet,
        hands: &dyn Spread,
    ) -> Result<bool, ReadError> {
        self.source.read_planes(frame, planes, hands)
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
        Some(Box::new(Self { source: self.source.fork()?, info: self.info.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chroma;
    use crate::synthetic::Clip;

    #[test]
    fn only_the_rate_is_another() {
        let format = Format::new(16, 16, Chroma::C420, 8).unwrap();
        let plain = Clip::scene(format, 2, 1);
        let info = plain.info().clone();
        let mut declared = Declared::new(Box::new(plain), (24000, 1001));
        assert_eq!(declared.frame_rate(), Some((24000, 1001)));
        assert_eq!(Info { frame_rate: info.frame_rate, ..declared.info().clone() }, info);
        assert_eq!(declared.skip(5).unwrap(), 2);
    }
}
