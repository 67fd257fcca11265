//! One source for several readers: each picture is read once and handed to all of them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::{Format, Frame, Info, Pool, PooledFrame, ReadError, Source, chain};

/// Pictures that wait for each reader. All readers walk in step, so a slow one holds up the others by that much.
const AHEAD: usize = 2;

/// What a reader gets: a picture, the regular end (`None`), or in words why there is none.
type Shared = Result<Option<Arc<PooledFrame>>, String>;

/// So many sources that all give the pictures of this one. It is read on a thread of its own, no faster than the
/// slowest reader takes it, and until the last reader is dropped.
pub fn share(source: Box<dyn Source>, readers: usize) -> Result<Vec<Box<dyn Source>>, ReadError> {
    let facts = Arc::new(Facts {
        format: *source.format(),
        name: source.name().to_owned(),
        info: source.info().clone(),
        total: source.total_frames(),
    });
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..readers).map(|_| sync_channel(AHEAD)).unzip();
    let thread = std::thread::Builder::new().name("read for several".to_owned());
    let spawned = thread.spawn(move || hand_out(source, senders));
    spawned.map_err(|source| ReadError::Open { file: facts.name.clone(), source })?;
    let reader = |frames| -> Box<dyn Source> {
        Box::new(SharedSource { facts: Arc::clone(&facts), frames, taken: 0, ended: false })
    };
    Ok(receivers.into_iter().map(reader).collect())
}

/// Reads until the end, an error, or until nobody listens.
fn hand_out(mut source: Box<dyn Source>, mut readers: Vec<SyncSender<Shared>>) {
    // One picture is being read, one is in each reader's hands, the rest wait; those in step share theirs.
    let pool = Pool::new(*source.format(), AHEAD + 2 + readers.len());
    while let (false, Some(mut frame)) = (readers.is_empty(), pool.take()) {
        let shared: Shared = match source.read(&mut frame) {
            Ok(true) => Ok(Some(Arc::new(frame))),
            Ok(false) => Ok(None),
            Err(error) => Err(chain(&error)),
        };
        let last = !matches!(shared, Ok(Some(_)));
        readers.retain(|reader| reader.send(shared.clone()).is_ok());
        if last {
            return;
        }
    }
}

struct Facts {
    format: Format,
    name: String,
    info: Info,
    total: Option<u64>,
}

struct SharedSource {
    facts: Arc<Facts>,
    frames: Receiver<Shared>,
    taken: u64,
    ended: bool,
}

impl SharedSource {
    fn next(&mut self) -> Result<Option<Arc<PooledFrame>>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        match self.frames.recv() {
            Ok(Ok(Some(frame))) => {
                self.taken += 1;
                Ok(Some(frame))
            }
            Ok(Ok(None)) => {
                self.ended = true;
                Ok(None)
            }
            Ok(Err(words)) => Err(self.failed(std::io::Error::other(words))),
            Err(_) => Err(ReadError::Failed { file: self.facts.name.clone() }),
        }
    }

    fn failed(&self, source: std::io::Error) -> ReadError {
        ReadError::Io { file: self.facts.name.clone(), frame: self.taken, byte: 0, source }
    }
}

impl Source for SharedSource {
    fn format(&self) -> &Format {
        &self.facts.format
    }

    fn name(&self) -> &str {
        &self.facts.name
    }

    fn info(&self) -> &Info {
        &self.facts.info
    }

    fn frames_read(&self) -> u64 {
        self.taken
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        let next = self.next()?;
        if let Some(shared) = &next {
            frame.copy_from(shared);
        }
        Ok(next.is_some())
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        for passed in 0..count {
            if self.next()?.is_none() {
                return Ok(passed);
            }
        }
        Ok(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.facts.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Clip;
    use crate::{Chroma, PlaneView};

    fn clip(frames: u64) -> Clip {
        Clip::scene(Format::new(32, 16, Chroma::C420, 8).unwrap(), frames, 3)
    }

    fn luma(frame: &Frame) -> Vec<u8> {
        let PlaneView::U8(plane) = frame.plane(0) else { panic!("8 bits") };
        plane.rows().flatten().copied().collect()
    }

    #[test]
    fn all_readers_get_every_picture() {
        let readers = share(Box::new(clip(9)), 3).unwrap();
        let threads: Vec<_> = readers
            .into_iter()
            .map(|mut reader| {
                std::thread::spawn(move || {
                    let mut frame = Frame::new(*reader.format());
                    let mut seen = Vec::new();
                    while reader.read(&mut frame).unwrap() {
                        seen.push(luma(&frame));
                    }
                    assert!(!reader.read(&mut frame).unwrap());
                    seen
                })
            })
            .collect();
        let want: Vec<_> = clip(9).frames().map(|frame| luma(&frame)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), want);
        }
    }

    #[test]
    fn readers_may_leave_early_and_skip() {
        let mut readers = share(Box::new(clip(30)), 2).unwrap();
        let (mut stays, leaves) = (readers.remove(0), readers.remove(0));
        drop(leaves);
        assert_eq!(stays.skip(28).unwrap(), 28);
        assert_eq!((stays.frames_read(), stays.total_frames()), (28, Some(30)));
        assert_eq!(stays.skip(5).unwrap(), 2);
    }

    #[test]
    fn an_error_reaches_everyone() {
        let mut bytes = b"YUV4MPEG2 W4 H4 F25:1 Ip C420\nFRAME\n".to_vec();
        bytes.extend([0; 10]);
        let source = crate::y4m_stream("cut.y4m", std::io::Cursor::new(bytes)).unwrap();
        for mut reader in share(Box::new(source), 2).unwrap() {
            let mut frame = Frame::new(*reader.format());
            let error = chain(&reader.read(&mut frame).unwrap_err());
            assert!(error.contains("cut short"), "{error}");
        }
    }
}
