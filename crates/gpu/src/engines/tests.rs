//! Several decoders give the pictures of one, in order, whatever they are fed; they neither run away nor wait for ever.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};

use visus_video::{Chroma, Format};

use super::*;

/// A picture with a number.
struct Numbered {
    number: u8,
    format: Format,
    alive: Arc<AtomicUsize>,
}

impl Drop for Numbered {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl RemotePicture for Numbered {
    fn format(&self) -> &Format {
        &self.format
    }

    fn host(&self) -> &[u8] {
        &[]
    }

    fn cell_sums(&self, _rows: &[usize], _columns: &[usize]) -> Option<Vec<u64>> {
        None
    }

    fn same_as(&self, _other: &dyn RemotePicture) -> Option<bool> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Every unit is a picture, which is shown two pictures later, or at the end.
#[derive(Default)]
struct Delayed {
    waiting: VecDeque<u8>,
    ready: VecDeque<u8>,
    alive: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    ended: bool,
    fails_at: Option<u8>,
}

impl VideoDecoder for Delayed {
    fn feed(&mut self, data: &[u8]) -> Result<(), DeviceError> {
        assert!(!self.ended, "fed after the end");
        for unit in data.windows(7).filter(|seven| seven[..3] == [0, 0, 1] && matches!(seven[3] & 31, 1 | 5))
        {
            if self.fails_at == Some(unit[5]) {
                return Err(DeviceError::Decoder { reason: "damage".to_owned() });
            }
            self.waiting.push_back(unit[5]);
        }
        while self.waiting.len() > 2 {
            self.ready.extend(self.waiting.pop_front());
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), DeviceError> {
        self.ended = true;
        self.ready.append(&mut self.waiting);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Arc<dyn RemotePicture>>, DeviceError> {
        let Some(number) = self.ready.pop_front() else { return Ok(None) };
        let alive = self.alive.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(alive, Ordering::SeqCst);
        let format = Format::new(64, 36, Chroma::C420, 8).unwrap();
        Ok(Some(Arc::new(Numbered { number, format, alive: Arc::clone(&self.alive) })))
    }

    fn restart(&mut self) -> Result<(), DeviceError> {
        assert!(self.ended && self.ready.is_empty(), "begun anew before the end");
        self.ended = false;
        Ok(())
    }
}

/// Pictures with rising numbers, in groups of these sizes.
fn stream(groups: &[usize]) -> Vec<u8> {
    let mut number = 0_u8;
    let mut bytes = Vec::new();
    for group in groups {
        bytes.extend([0, 0, 0, 1, 0x67, 0x80, 7]);
        for picture in 0..*group {
            bytes.extend([0, 0, 1, if picture == 0 { 0x65 } else { 0x41 }, 0x88, number, 9]);
            number = number.wrapping_add(1).max(2);
        }
    }
    bytes
}

/// The numbers of all pictures, and how many of them were alive at once at most.
fn decoded(
    groups: &[usize],
    lanes: usize,
    step: usize,
    fails_at: Option<u8>,
) -> Result<(Vec<u8>, usize), DeviceError> {
    let (alive, most) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
    let lane =
        || Delayed { alive: Arc::clone(&alive), most: Arc::clone(&most), fails_at, ..Delayed::default() };
    let lanes = (0..lanes).map(|_| Box::new(lane()) as Box<dyn VideoDecoder>).collect();
    let mut engines = Engines::new(VideoCodec::H264, lanes, 8)?;
    let mut numbers = Vec::new();
    let stream = stream(groups);
    let mut pieces = stream.chunks(step);
    loop {
        while let Some(picture) = engines.next()? {
            numbers.push(picture.as_any().downcast_ref::<Numbered>().unwrap().number);
        }
        match pieces.next() {
            Some(piece) => engines.feed(piece)?,
            None => break,
        }
    }
    engines.end()?;
    while let Some(picture) = engines.next()? {
        numbers.push(picture.as_any().downcast_ref::<Numbered>().unwrap().number);
    }
    assert!(engines.next()?.is_none(), "the end stays the end");
    drop(engines);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    Ok((numbers, most.load(Ordering::SeqCst)))
}

#[test]
fn pictures_come_in_order_from_any_number_of_decoders() {
    for groups in [&[100, 40, 33, 60, 41, 5, 5, 80][..], &[1], &[500], &[32; 12]] {
        let (one, _) = decoded(groups, 1, 4096, None).unwrap();
        assert_eq!(one.len(), groups.iter().sum::<usize>());
        for (lanes, step) in [(2, 4096), (3, 64), (3, 1 << 20), (4, 7)] {
            let (numbers, most) = decoded(groups, lanes, step, None).unwrap();
            assert_eq!(numbers, one, "{lanes} decoders, {step} bytes at once");
            // What comes of one unit is handed over whole.
            assert!(most <= lanes * (8 + 4) + 1, "{most} pictures at once");
        }
    }
}

#[test]
fn damage_in_any_segment_is_an_error() {
    for at in [3, 90, 150] {
        let error = decoded(&[60, 60, 60], 3, 100, Some(at)).unwrap_err();
        assert!(error.to_string().contains("damage"), "{error}");
    }
}

#[test]
fn it_can_be_left_at_any_time() {
    let lanes = (0..3).map(|_| Box::new(Delayed::default()) as Box<dyn VideoDecoder>).collect();
    let mut engines = Engines::new(VideoCodec::H264, lanes, 8).unwrap();
    engines.feed(&stream(&[100, 100, 100, 100])).unwrap();
    while engines.next().unwrap().is_none() {
        engines.feed(&[]).unwrap();
    }
    drop(engines);
}
