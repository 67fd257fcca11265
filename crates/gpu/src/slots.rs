//! What the sessions of every kind of device share: which slots are free and which are in flight, whether pairs fit a
//! session, where the pictures of a batch go, and how its sums are read.

use std::collections::{BTreeMap, VecDeque};

use visus_video::{Format, SharedFrame};

use crate::device::PairJob;
use crate::error::DeviceError;
use crate::layout::Layout;
use crate::schedule::MotionPlaces;
use crate::sums::PairSums;
use crate::work::Work;

/// Slots, each with memory for a batch.
#[derive(Debug)]
pub struct Slots<S> {
    free: Vec<S>,
    /// In flight, oldest first.
    busy: VecDeque<S>,
}

impl<S> Slots<S> {
    pub fn new(count: usize, slot: impl FnMut() -> Result<S, DeviceError>) -> Result<Self, DeviceError> {
        let free = std::iter::repeat_with(slot).take(count).collect::<Result<_, _>>()?;
        Ok(Self { free, busy: VecDeque::new() })
    }

    pub fn count(&self) -> usize {
        self.free.len() + self.busy.len()
    }

    pub fn in_flight(&self) -> usize {
        self.busy.len()
    }

    pub fn any_free(&self) -> Option<&S> {
        self.free.last()
    }

    /// A free slot for so many pairs.
    pub fn take_free(&mut self, pairs: usize) -> Result<S, DeviceError> {
        self.free.pop().ok_or(DeviceError::Batch { got: pairs, allowed: 0 })
    }

    /// The batch of this slot is in flight.
    pub fn begin(&mut self, slot: S) {
        self.busy.push_back(slot);
    }

    pub fn oldest(&self) -> Option<&S> {
        self.busy.front()
    }

    pub fn take_oldest(&mut self) -> Option<S> {
        self.busy.pop_front()
    }

    /// Its batch has been read.
    pub fn give_back(&mut self, slot: S) {
        self.free.push(slot);
    }

    /// In flight, oldest first.
    #[cfg(feature = "wgpu")]
    pub fn busy(&self) -> &VecDeque<S> {
        &self.busy
    }

    pub fn busy_mut(&mut self) -> &mut VecDeque<S> {
        &mut self.busy
    }
}

/// Refuses too many pairs and pictures of another format. Chroma counts where a metric looks at it.
pub fn check(work: &Work, layout: &Layout, pairs: &[PairJob]) -> Result<(), DeviceError> {
    let (got, allowed) = (pairs.len(), layout.batch);
    if got == 0 || got > allowed {
        return Err(DeviceError::Batch { got, allowed });
    }
    let chroma = |format: &Format| work.needs_chroma().then(|| format.chroma());
    let shape = |format: &Format| (format.width(), format.height(), format.depth(), chroma(format));
    let frames = pairs
        .iter()
        .flat_map(|pair| [&pair.reference, &pair.distorted].into_iter().chain(pair.earlier.iter().flatten()));
    for format in frames.map(|frame| frame.format()) {
        if shape(format) != shape(&work.format) {
            return Err(DeviceError::Picture { got: *format, needed: work.format });
        }
    }
    Ok(())
}

/// Has the luma of all pictures copied to its offset, each once, and says where motion finds them.
pub fn place_pictures(
    work: &Work,
    layout: &Layout,
    pairs: &[PairJob],
    mut copy: impl FnMut(&SharedFrame, usize) -> Result<(), DeviceError>,
) -> Result<Vec<MotionPlaces>, DeviceError> {
    let mut known: Vec<(*const u8, usize)> = Vec::new();
    for (n, pair) in pairs.iter().enumerate() {
        copy(&pair.reference, layout.plane(n, 0))?;
        copy(&pair.distorted, layout.plane(n, 1))?;
        known.push((start(&pair.reference), layout.plane(n, 0)));
    }
    let mut extra = 0;
    let mut place_of = |picture: &SharedFrame| {
        if let Some((_, offset)) = known.iter().find(|(known, _)| *known == start(picture)) {
            return Ok(*offset);
        }
        let offset = layout.earlier_plane(extra);
        extra += 1;
        copy(picture, offset)?;
        known.push((start(picture), offset));
        Ok(offset)
    };
    let mut places = Vec::with_capacity(pairs.len());
    for (n, pair) in pairs.iter().enumerate() {
        let mut place = MotionPlaces { current: layout.plane(n, 0), earlier: [None; 2] };
        for (distance, picture) in pair.earlier.iter().enumerate() {
            let picture = picture.as_ref().filter(|_| work.distances[distance]);
            place.earlier[distance] = picture.map(&mut place_of).transpose()?;
        }
        places.push(place);
    }
    Ok(places)
}

/// What tells pictures apart: where each lies, in host memory or as a picture of a device.
fn start(picture: &SharedFrame) -> *const u8 {
    match picture.remote() {
        Some(remote) => std::ptr::from_ref(remote).cast::<u8>(),
        None => picture.bytes().as_ptr(),
    }
}

/// The sums of a batch, as the device left them: for each pair how many earlier pictures there were.
pub fn sums_of(layout: &Layout, histories: &[usize], bytes: &[u8]) -> Vec<PairSums> {
    let parts = bytes.chunks_exact(layout.sums.part);
    let sums = histories.iter().zip(parts).map(|(history, bytes)| PairSums {
        layout: layout.sums_layout,
        words: bytes.as_chunks().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect(),
        history: *history,
        strengths: BTreeMap::new(),
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use visus_metrics::registry;
    use visus_video::Chroma;

    use super::*;

    #[test]
    fn slots_come_back_in_order() {
        let mut next = 0;
        let mut slots = Slots::new(2, || {
            next += 1;
            Ok(next)
        })
        .unwrap();
        for _ in 0..2 {
            let slot = slots.take_free(1).unwrap();
            slots.begin(slot);
        }
        assert_eq!((slots.count(), slots.in_flight(), slots.oldest()), (2, 2, Some(&2)));
        assert_eq!(slots.take_free(5), Err(DeviceError::Batch { got: 5, allowed: 0 }));
        let oldest = slots.take_oldest().unwrap();
        slots.give_back(oldest);
        assert_eq!((slots.count(), slots.in_flight(), slots.any_free()), (2, 1, Some(&2)));
    }

    /// Every picture once: earlier ones of a batch are the references of its other pairs.
    #[test]
    fn pictures_are_copied_once() {
        let format = Format::new(64, 64, Chroma::C400, 8).unwrap();
        let window = ("motion_five_frame_window".to_owned(), "true".to_owned());
        let metrics = [vec![], vec![window]]
            .map(|options| registry::build(registry::by_name("motion").unwrap(), &options).unwrap());
        let work = Work::new(&format.into(), metrics.iter().map(AsRef::as_ref));
        let layout = Layout::new(&work, 2);
        let frames: Vec<SharedFrame> = (0..6).map(|_| visus_video::Frame::new(format).into()).collect();
        let job = |index: usize| PairJob {
            reference: frames[index].clone(),
            distorted: frames[index + 2].clone(),
            earlier: [index - 1, index - 2].map(|earlier| Some(frames[earlier].clone())),
        };
        let jobs = [job(2), job(3)];
        let mut copied = Vec::new();
        let places = place_pictures(&work, &layout, &jobs, |picture, offset| {
            copied.push((start(picture), offset));
            Ok(())
        })
        .unwrap();
        assert_eq!(copied.len(), 6, "two references, two distorted pictures, two earlier ones");
        assert_eq!(places[1].earlier[0], Some(places[0].current));
        assert_eq!(places[1].earlier[1], places[0].earlier[0]);
        let failed =
            place_pictures(&work, &layout, &jobs, |_, _| Err(DeviceError::Batch { got: 1, allowed: 0 }));
        assert!(failed.is_err());
    }
}
