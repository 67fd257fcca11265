//! Batches in flight: each slot has memory for a batch, for its sums and for reading them back.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use visus_video::{Format, SharedFrame};
use wgpu::{BindGroupEntry, BindingResource, BufferBinding, BufferUsages, MapMode, PollType};

use super::Shared;
use super::kernels::workgroups;
use crate::arguments::MAX_BATCH;
use crate::device::{Limits, PairJob, Session};
use crate::error::DeviceError;
use crate::layout::Layout;
use crate::schedule::{self, Addresses, Launch, MotionPlaces};
use crate::sums::PairSums;
use crate::work::Work;

/// The address of a batch's first byte. It is not zero, because that says "no picture".
const BASE: usize = 256;
/// Bytes in front of a launch's arguments: where memory and totals begin.
const HEADER: usize = 16;
/// Bytes that a launch's arguments may take; the largest are motion's.
const ARGUMENTS: usize = 1024;
/// A batch takes milliseconds, or seconds on a software adapter. After this long something hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Kernels and memory for pictures of one format.
pub struct WgpuSession {
    shared: Arc<Shared>,
    work: Work,
    layout: Layout,
    /// From one launch's arguments to the next.
    argument_stride: usize,
    free: Vec<Slot>,
    busy: VecDeque<Slot>,
}

struct Slot {
    memory: wgpu::Buffer,
    totals: wgpu::Buffer,
    arguments: wgpu::Buffer,
    results: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
    /// Of each pair: how many earlier pictures there were.
    histories: Vec<usize>,
    submission: Option<wgpu::SubmissionIndex>,
    mapped: Arc<AtomicU8>,
}

/// States of `Slot::mapped`.
const PENDING: u8 = 0;
const READY: u8 = 1;
const FAILED: u8 = 2;

impl WgpuSession {
    /// The largest batch within the limits.
    pub fn new(shared: Arc<Shared>, work: Work, limits: Limits) -> Result<Self, DeviceError> {
        let slots = limits.slots.max(1);
        let device_limits = shared.device.limits();
        let binding = device_limits.max_storage_buffer_binding_size.min(device_limits.max_buffer_size);
        let binding = usize::try_from(binding).unwrap_or(usize::MAX).min(u32::MAX as usize - BASE);
        let most = limits.batch.clamp(1, MAX_BATCH);
        let allowed = (limits.device_bytes / slots).min(binding);
        let layout = Layout::within(&work, most, allowed)
            .ok_or_else(|| DeviceError::Budget { needed: Layout::new(&work, 1).total, allowed })?;
        let alignment = device_limits.min_storage_buffer_offset_alignment as usize;
        let argument_stride = (HEADER + ARGUMENTS).next_multiple_of(alignment.max(4));
        let mut session =
            Self { shared, work, layout, argument_stride, free: Vec::new(), busy: VecDeque::new() };
        let launches = session.launches(&vec![MotionPlaces::default(); session.layout.batch]);
        for launch in &launches {
            session.shared.kernels.pipeline(&session.shared.device, &session.shared.faults, launch.kernel)?;
        }
        for _ in 0..slots {
            let slot = session.slot(launches.len())?;
            session.free.push(slot);
        }
        Ok(session)
    }

    /// Memory for a batch.
    fn slot(&self, launches: usize) -> Result<Slot, DeviceError> {
        let Shared { device, faults, kernels, .. } = &*self.shared;
        let layout = &self.layout;
        let buffer = |bytes: usize, usage: BufferUsages| {
            let size = bytes.max(4).next_multiple_of(4) as u64;
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let total = layout.rows.offset + 2 * layout.cleared().len();
        faults.guard(device, "allocate a batch", total, || {
            let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
            let memory = buffer(layout.rows.offset, storage);
            let totals = buffer(layout.cleared().len(), storage | BufferUsages::COPY_SRC);
            let arguments = buffer(launches.max(1) * self.argument_stride, storage);
            let results =
                buffer(layout.batch * layout.sums.part, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
            let window = BufferBinding {
                buffer: &arguments,
                offset: 0,
                size: NonZeroU64::new((HEADER + ARGUMENTS) as u64),
            };
            let resources = [
                memory.as_entire_binding(),
                totals.as_entire_binding(),
                BindingResource::Buffer(window),
                kernels.logarithms.as_entire_binding(),
            ];
            let entries: Vec<BindGroupEntry<'_>> = (0..)
                .zip(resources)
                .map(|(binding, resource)| BindGroupEntry { binding, resource })
                .collect();
            let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &kernels.bindings,
                entries: &entries,
            });
            Slot {
                memory,
                totals,
                arguments,
                results,
                bind_group,
                histories: Vec::new(),
                submission: None,
                mapped: Arc::default(),
            }
        })
    }

    fn launches(&self, places: &[MotionPlaces]) -> Vec<Launch> {
        let addresses = Addresses { batch: BASE as u64, tables: 0 };
        schedule::launches(&self.work, &self.layout, addresses, places)
    }

    fn check(&self, pairs: &[PairJob]) -> Result<(), DeviceError> {
        let (got, allowed) = (pairs.len(), self.layout.batch);
        if got == 0 || got > allowed {
            return Err(DeviceError::Batch { got, allowed });
        }
        let shape = |format: &Format| (format.width(), format.height(), format.depth());
        for pair in pairs {
            let pictures =
                [&pair.reference, &pair.distorted].into_iter().chain(pair.earlier.iter().flatten());
            for format in pictures.map(|picture| picture.format()) {
                if shape(format) != shape(&self.work.format) {
                    return Err(DeviceError::Picture { got: *format, needed: self.work.format });
                }
            }
        }
        Ok(())
    }

    /// Copies all pictures, each once, and says where motion finds them.
    fn upload(&self, slot: &Slot, pairs: &[PairJob]) -> Vec<MotionPlaces> {
        let mut known: Vec<(*const u8, usize)> = Vec::new();
        for (n, pair) in pairs.iter().enumerate() {
            self.copy(slot, &pair.reference, self.layout.plane(n, 0));
            self.copy(slot, &pair.distorted, self.layout.plane(n, 1));
            known.push((pair.reference.bytes().as_ptr(), self.layout.plane(n, 0)));
        }
        let mut extra = 0;
        let mut place_of = |picture: &SharedFrame| {
            let start = picture.bytes().as_ptr();
            if let Some((_, offset)) = known.iter().find(|(known, _)| *known == start) {
                return *offset;
            }
            let offset = self.layout.earlier_plane(extra);
            extra += 1;
            self.copy(slot, picture, offset);
            known.push((start, offset));
            offset
        };
        let mut places = Vec::with_capacity(pairs.len());
        for (n, pair) in pairs.iter().enumerate() {
            let mut place = MotionPlaces { current: self.layout.plane(n, 0), earlier: [None; 2] };
            for (distance, picture) in pair.earlier.iter().enumerate() {
                let picture = picture.as_ref().filter(|_| self.work.distances[distance]);
                place.earlier[distance] = picture.map(&mut place_of);
            }
            places.push(place);
        }
        places
    }

    /// The luma of a picture, row by row where its rows lie otherwise than on the device.
    fn copy(&self, slot: &Slot, picture: &SharedFrame, offset: usize) {
        let size = &self.layout.luma;
        let (pitch, width) = (size.pitch * self.layout.sample_bytes, size.width * self.layout.sample_bytes);
        let plane = picture.plane_layout(0);
        let bytes = &picture.bytes()[plane.offset..];
        let queue = &self.shared.queue;
        if plane.stride == pitch && bytes.len() >= pitch * size.height {
            return queue.write_buffer(&slot.memory, offset as u64, &bytes[..pitch * size.height]);
        }
        let Some(length) = NonZeroU64::new((pitch * size.height) as u64) else { return };
        // Without a view there was an error, which the guard around this hears.
        let Some(mut view) = queue.write_buffer_with(&slot.memory, offset as u64, length) else { return };
        for (row, from) in bytes.chunks(plane.stride.max(1)).take(size.height).enumerate() {
            view.slice(row * pitch..row * pitch + width).copy_from_slice(&from[..width]);
        }
    }

    /// Arguments of all launches, each at its place.
    fn write_arguments(&self, slot: &Slot, launches: &[Launch]) {
        let mut bytes = vec![0u8; launches.len() * self.argument_stride];
        let header = [BASE as u32, (BASE + self.layout.rows.offset) as u32, 0, 0];
        for (launch, place) in launches.iter().zip(bytes.chunks_mut(self.argument_stride)) {
            place[..HEADER].copy_from_slice(bytemuck::cast_slice(&header));
            let arguments = launch.arguments.bytes();
            place[HEADER..HEADER + arguments.len()].copy_from_slice(arguments);
        }
        self.shared.queue.write_buffer(&slot.arguments, 0, &bytes);
    }

    fn queue(&self, slot: &mut Slot, pairs: &[PairJob]) -> Result<(), DeviceError> {
        let Shared { device, queue, kernels, faults } = &*self.shared;
        faults.guard(device, "score a batch", 0, || {
            let places = self.upload(slot, pairs);
            let launches = self.launches(&places);
            self.write_arguments(slot, &launches);
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.clear_buffer(&slot.totals, 0, None);
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                for (n, launch) in launches.iter().enumerate() {
                    pass.set_pipeline(kernels.pipeline(device, faults, launch.kernel)?);
                    pass.set_bind_group(0, &slot.bind_group, &[(n * self.argument_stride) as u32]);
                    let [x, y, z] = workgroups(launch, pairs.len());
                    pass.dispatch_workgroups(x, y, z);
                }
            }
            let from = (self.layout.sums.offset - self.layout.rows.offset) as u64;
            let bytes = (pairs.len() * self.layout.sums.part) as u64;
            encoder.copy_buffer_to_buffer(&slot.totals, from, &slot.results, 0, bytes);
            slot.submission = Some(queue.submit([encoder.finish()]));
            slot.mapped.store(PENDING, Ordering::Release);
            let mapped = slot.mapped.clone();
            slot.results.map_async(MapMode::Read, .., move |result| {
                mapped.store(if result.is_ok() { READY } else { FAILED }, Ordering::Release);
            });
            Ok(())
        })?
    }

    /// The sums of a batch that is done.
    fn read(&self, slot: &Slot) -> Result<Vec<PairSums>, DeviceError> {
        let part = self.layout.sums.part;
        let view = slot
            .results
            .get_mapped_range(..)
            .map_err(|error| DeviceError::Driver { step: "read sums back", reason: error.to_string() })?;
        let sums = slot.histories.iter().zip(view.chunks_exact(part)).map(|(history, bytes)| PairSums {
            layout: self.layout.sums_layout,
            words: bytes.as_chunks().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect(),
            history: *history,
            strengths: BTreeMap::new(),
        });
        Ok(sums.collect())
    }

    fn wait(&self, slot: &Slot) -> Result<(), DeviceError> {
        let step = "wait for a batch";
        let poll = PollType::Wait { submission_index: slot.submission.clone(), timeout: Some(PATIENCE) };
        let waited = self.shared.device.poll(poll);
        self.shared.faults.check(step)?;
        match (waited, slot.mapped.load(Ordering::Acquire)) {
            (Ok(_), READY) => Ok(()),
            (Err(error), _) => Err(DeviceError::TimedOut { step, reason: error.to_string() }),
            _ => Err(DeviceError::Lost { step, reason: "its sums cannot be read".to_owned() }),
        }
    }
}

impl Session for WgpuSession {
    fn batch(&self) -> usize {
        self.layout.batch
    }

    fn slots(&self) -> usize {
        self.free.len() + self.busy.len()
    }

    fn device_bytes(&self) -> usize {
        self.slots() * self.layout.total
    }

    fn in_flight(&self) -> usize {
        self.busy.len()
    }

    fn submit(&mut self, pairs: Vec<PairJob>) -> Result<(), DeviceError> {
        self.check(&pairs)?;
        let Some(mut slot) = self.free.pop() else {
            return Err(DeviceError::Batch { got: pairs.len(), allowed: 0 });
        };
        slot.histories = pairs.iter().map(PairJob::history).collect();
        self.queue(&mut slot, &pairs)?;
        self.busy.push_back(slot);
        Ok(())
    }

    /// Pictures are copied when they are submitted, so none is held.
    fn release(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, DeviceError> {
        let Some(slot) = self.busy.front() else { return Ok(true) };
        // Whatever the answer is, the callbacks of what is done have been called.
        let polled = self.shared.device.poll(PollType::Poll);
        self.shared.faults.check("look for results")?;
        polled
            .map_err(|error| DeviceError::Driver { step: "look for results", reason: error.to_string() })?;
        Ok(slot.mapped.load(Ordering::Acquire) != PENDING)
    }

    fn collect(&mut self) -> Result<Option<Vec<PairSums>>, DeviceError> {
        let Some(slot) = self.busy.pop_front() else { return Ok(None) };
        self.wait(&slot)?;
        let sums = self.read(&slot)?;
        slot.results.unmap();
        self.free.push(slot);
        Ok(Some(sums))
    }
}
