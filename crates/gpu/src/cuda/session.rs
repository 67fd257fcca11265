//! Batches in flight: each slot has a stream, device memory for a batch and pinned memory for its sums. While one slot
//! computes, others upload and read back.

use std::sync::Arc;
use std::time::Duration;

use visus_video::SharedFrame;

use super::driver::{Buffer, Context, Event, Pinned, Rows, Stream};
use super::kernels::Kernels;
use super::picture::DevicePicture;
use crate::arguments::MAX_BATCH;
use crate::device::{Limits, PairJob, Session};
use crate::error::DeviceError;
use crate::layout::{Layout, Size};
use crate::schedule::{self, Addresses, Kernel, MotionPlaces};
use crate::slots::{Slots, check, place_pictures, sums_of};
use crate::sums::PairSums;
use crate::work::Work;

/// Kernels, memory and streams for pictures of one format.
#[derive(Debug)]
pub struct CudaSession {
    context: Context,
    work: Work,
    layout: Layout,
    kernels: Arc<Kernels>,
    /// What the kernels look up.
    tables: Buffer,
    slots: Slots<Slot>,
}

/// Fields are dropped in this order: the stream first, which waits for what uses the rest.
struct Slot {
    stream: Stream,
    uploaded: Event,
    done: Event,
    buffer: Buffer,
    results: Pinned,
    /// Pictures that may still be read.
    held: Vec<SharedFrame>,
    /// Of each pair: how many earlier pictures there were.
    histories: Vec<usize>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("pairs", &self.histories.len()).finish_non_exhaustive()
    }
}

impl Slot {
    fn new(context: &Context, layout: &Layout) -> Result<Self, DeviceError> {
        Ok(Self {
            stream: Stream::new(context)?,
            uploaded: Event::new(context, false)?,
            done: Event::new(context, false)?,
            buffer: Buffer::new(context, layout.total)?,
            results: Pinned::new(context, layout.batch * layout.sums.part)?,
            held: Vec::new(),
            histories: Vec::new(),
        })
    }
}

impl CudaSession {
    /// The largest batch within the limits.
    pub fn new(
        context: &Context,
        kernels: Arc<Kernels>,
        work: Work,
        limits: Limits,
    ) -> Result<Self, DeviceError> {
        let slots = limits.slots.max(1);
        // Others may have taken most of the device's memory: then batches are smaller.
        let available = context.free_memory()? / 10 * 9;
        let allowed = limits.device_bytes.min(available) / slots;
        let most = limits.batch.clamp(1, MAX_BATCH);
        let layout = Layout::within(&work, most, allowed)
            .ok_or_else(|| DeviceError::Budget { needed: Layout::new(&work, 1).total, allowed })?;
        let slots = Slots::new(slots, || Slot::new(context, &layout))?;
        let tables = uploaded(context, &schedule::tables(&work))?;
        Ok(Self { context: context.clone(), work, layout, kernels, tables, slots })
    }

    /// Milliseconds of every launch of a batch, each the mean of `rounds`, with nothing else on the device.
    pub fn profile(&mut self, pairs: Vec<PairJob>, rounds: usize) -> Result<Vec<(Kernel, f32)>, DeviceError> {
        let slot = self.slots.any_free().ok_or(DeviceError::Batch { got: 1, allowed: 0 })?;
        let mut held = Vec::new();
        let places = self.upload(slot, &pairs, &mut held)?;
        slot.stream.clear(&slot.buffer, self.layout.cleared())?;
        let (start, end) = (Event::new(&self.context, true)?, Event::new(&self.context, true)?);
        let launches = schedule::launches(&self.work, &self.layout, self.addresses(slot), &places);
        launches
            .iter()
            .map(|launch| {
                self.kernels.launch(&slot.stream, launch)?;
                start.record(&slot.stream)?;
                (0..rounds).try_for_each(|_| self.kernels.launch(&slot.stream, launch))?;
                end.record(&slot.stream)?;
                end.wait()?;
                Ok((launch.kernel, end.since(&start)? / rounds as f32))
            })
            .collect()
    }

    fn addresses(&self, slot: &Slot) -> Addresses {
        Addresses { batch: slot.buffer.address(), tables: self.tables.address() }
    }

    /// Queues the copies of all pictures, each once, and says where motion finds them.
    fn upload(
        &self,
        slot: &Slot,
        pairs: &[PairJob],
        held: &mut Vec<SharedFrame>,
    ) -> Result<Vec<MotionPlaces>, DeviceError> {
        let places = place_pictures(&self.work, &self.layout, pairs, |picture, offset| {
            self.copy(slot, picture, offset, held)
        })?;
        for (n, pair) in pairs.iter().enumerate().filter(|_| self.work.needs_chroma()) {
            for (side, picture) in [&pair.reference, &pair.distorted].into_iter().enumerate() {
                let offsets = [0, 1].map(|plane| self.layout.chroma_plane(n, 2 * side + plane));
                self.copy_chroma(slot, picture, offsets)?;
            }
        }
        Ok(places)
    }

    fn copy(
        &self,
        slot: &Slot,
        picture: &SharedFrame,
        offset: usize,
        held: &mut Vec<SharedFrame>,
    ) -> Result<(), DeviceError> {
        held.push(picture.clone());
        self.copy_plane(slot, picture, 0, &self.layout.luma, offset)
    }

    /// Both chroma planes; the picture is held already.
    fn copy_chroma(
        &self,
        slot: &Slot,
        picture: &SharedFrame,
        offsets: [usize; 2],
    ) -> Result<(), DeviceError> {
        let mut planes = offsets.into_iter().zip(1..);
        planes.try_for_each(|(offset, plane)| {
            self.copy_plane(slot, picture, plane, &self.layout.chroma, offset)
        })
    }

    fn copy_plane(
        &self,
        slot: &Slot,
        picture: &SharedFrame,
        plane: usize,
        size: &Size,
        offset: usize,
    ) -> Result<(), DeviceError> {
        let sample_bytes = self.layout.sample_bytes;
        let decoded = picture.remote().and_then(|remote| remote.as_any().downcast_ref::<DevicePicture>());
        if let Some((from, start, own)) = decoded.and_then(|decoded| decoded.plane_on(&self.context, plane))
            && own == *size
        {
            // The picture is complete since it was handed over, and its frame is held until the copy is done.
            return slot.stream.copy(from, start, &slot.buffer, offset, size.area() * sample_bytes);
        }
        let layout = picture.plane_layout(plane);
        let rows = Rows {
            bytes: &picture.bytes()[layout.offset..],
            pitch: layout.stride,
            width: size.width * sample_bytes,
            height: size.height,
        };
        slot.stream.upload(&rows, &slot.buffer, offset, size.pitch * sample_bytes)
    }

    fn queue(&self, slot: &mut Slot, pairs: &[PairJob]) -> Result<(), DeviceError> {
        slot.histories = pairs.iter().map(PairJob::history).collect();
        slot.stream.clear(&slot.buffer, self.layout.cleared())?;
        let mut held = std::mem::take(&mut slot.held);
        let places = self.upload(slot, pairs, &mut held);
        slot.held = held;
        let places = places?;
        slot.uploaded.record(&slot.stream)?;
        for launch in schedule::launches(&self.work, &self.layout, self.addresses(slot), &places) {
            self.kernels.launch(&slot.stream, &launch)?;
        }
        let bytes = pairs.len() * self.layout.sums.part;
        slot.stream.read_back(&slot.buffer, self.layout.sums.offset, &mut slot.results, bytes)?;
        slot.done.record(&slot.stream)
    }

    fn read(&self, slot: &Slot) -> Result<Vec<PairSums>, DeviceError> {
        let sums = sums_of(&self.layout, &slot.histories, slot.results.bytes()).into_iter().enumerate();
        sums.map(|(pair, sums)| self.with_strengths(slot, pair, sums)).collect()
    }

    /// Fetches the strengths of CAMBI whose sum depends on their order, which is rare.
    fn with_strengths(&self, slot: &Slot, pair: usize, mut sums: PairSums) -> Result<PairSums, DeviceError> {
        for (variant, (task, layout)) in self.work.cambi.iter().zip(&self.layout.cambi).enumerate() {
            for (scale, scale_sums) in sums.cambi(variant).iter().enumerate() {
                if scale_sums.is_exact() {
                    continue;
                }
                let bytes = 4 * task.scales[scale][0] * task.scales[scale][1];
                let offset = layout.strength.offset + pair * layout.strength.part + 4 * layout.offsets[scale];
                let mut pinned = Pinned::new(&self.context, bytes)?;
                slot.stream.read_back(&slot.buffer, offset, &mut pinned, bytes)?;
                slot.stream.wait()?;
                let values = pinned.bytes().as_chunks().0.iter().map(|four| f32::from_ne_bytes(*four));
                sums.strengths.insert((variant, scale), values.collect());
            }
        }
        Ok(sums)
    }
}

/// Numbers on the device.
fn uploaded(context: &Context, numbers: &[u32]) -> Result<Buffer, DeviceError> {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    let buffer = Buffer::new(context, bytes.len())?;
    if !bytes.is_empty() {
        let stream = Stream::new(context)?;
        let rows = Rows { bytes, pitch: bytes.len(), width: bytes.len(), height: 1 };
        stream.upload(&rows, &buffer, 0, bytes.len())?;
        stream.wait()?;
    }
    Ok(buffer)
}

impl Session for CudaSession {
    fn batch(&self) -> usize {
        self.layout.batch
    }

    fn slots(&self) -> usize {
        self.slots.count()
    }

    fn device_bytes(&self) -> usize {
        self.slots() * self.layout.total
    }

    fn in_flight(&self) -> usize {
        self.slots.in_flight()
    }

    fn submit(&mut self, pairs: Vec<PairJob>) -> Result<(), DeviceError> {
        check(&self.work, &self.layout, &pairs)?;
        self.release()?;
        let mut slot = self.slots.take_free(pairs.len())?;
        // Where this fails half-way, dropping the slot waits for what was queued before the pictures are let go.
        self.queue(&mut slot, &pairs)?;
        self.slots.begin(slot);
        Ok(())
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        for slot in self.slots.busy_mut().iter_mut().filter(|slot| !slot.held.is_empty()) {
            if slot.uploaded.has_passed()? {
                slot.held.clear();
            }
        }
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, DeviceError> {
        self.slots.oldest().map_or(Ok(true), |slot| slot.done.has_passed())
    }

    /// A batch takes milliseconds, and the driver's own wait costs least.
    fn wait(&mut self, _patience: Duration) -> Result<bool, DeviceError> {
        self.slots.oldest().map_or(Ok(()), |slot| slot.done.wait())?;
        Ok(true)
    }

    fn collect(&mut self) -> Result<Option<Vec<PairSums>>, DeviceError> {
        let Some(mut slot) = self.slots.take_oldest() else { return Ok(None) };
        slot.done.wait()?;
        slot.held.clear();
        let sums = self.read(&slot)?;
        self.slots.give_back(slot);
        Ok(Some(sums))
    }
}
