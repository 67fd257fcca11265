//! Batches in flight. A batch goes to the device in several submissions ([`Pieces`]), each as long as the device's
//! [`Pace`] allows, and few of them at once: what has not been submitted is dropped with the session.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use wgpu::{MapMode, PollType};

use super::Shared;
use super::pace::Pace;
use super::pieces::{Piece, Pieces};
use super::slot::{ARGUMENTS, BASE, HEADER, Slot, State};
use super::upload::upload;
use crate::arguments::MAX_BATCH;
use crate::device::{Limits, PairJob, Session};
use crate::error::DeviceError;
use crate::layout::Layout;
use crate::schedule::{self, Addresses, Launch, MotionPlaces};
use crate::slots::{Slots, check, place_pictures, sums_of};
use crate::sums::PairSums;
use crate::work::Work;

/// A submission takes milliseconds. After this long something hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a wait sleeps before it looks at the device again.
const NAP: Duration = Duration::from_micros(200);

/// Kernels and memory for pictures of one format.
pub struct WgpuSession {
    shared: Arc<Shared>,
    work: Work,
    layout: Layout,
    /// From one launch's arguments to the next.
    argument_stride: usize,
    /// Submissions follow the order of those in flight.
    slots: Slots<Slot>,
    outstanding: VecDeque<Submission>,
    /// When the last submission ended.
    last_end: Option<Instant>,
}

/// Something that the device works on.
struct Submission {
    cost: f64,
    /// Its kernel had not run before: a driver may compile it now, which no pace foresees.
    is_first_use: bool,
    start: Instant,
    /// Set once the device is done with it.
    end: Arc<OnceLock<Instant>>,
}

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
        // Kernels are compiled when they are first submitted: whoever cancels does not wait for all of them.
        let launches = launches(&work, &layout, &vec![MotionPlaces::default(); layout.batch]).len();
        let slots = Slots::new(slots, || Slot::new(&shared, &layout, launches, argument_stride))?;
        let outstanding = VecDeque::new();
        Ok(Self { shared, work, layout, argument_stride, slots, outstanding, last_end: None })
    }

    fn pace(&self) -> Pace {
        *self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of what has ended, and submits what there is room for.
    fn advance(&mut self) -> Result<(), DeviceError> {
        let step = "look for results";
        // Whatever the answer is, the callbacks of what is done have been called.
        let polled = self.shared.device.poll(PollType::Poll);
        self.shared.faults.check(step)?;
        polled.map_err(|error| DeviceError::Driver { step, reason: error.to_string() })?;
        self.forget_ended();
        self.check_time()?;
        while let Some(place) = self.slots.busy().iter().position(|slot| !slot.pieces.is_empty()) {
            if !self.has_room() {
                break;
            }
            self.submit_pieces(place)?;
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        let cost = self.outstanding.iter().map(|submission| submission.cost).sum();
        let is_first_use = self.outstanding.iter().any(|submission| submission.is_first_use);
        !is_first_use && self.pace().has_room(self.outstanding.len(), cost)
    }

    /// Learns how long submissions took.
    fn forget_ended(&mut self) {
        while let Some(Submission { cost, is_first_use, start, end }) = self.outstanding.front() {
            let Some(end) = end.get() else { break };
            if !is_first_use {
                let start = self.last_end.map_or(*start, |last| last.max(*start));
                let mut pace = self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner);
                pace.learn(*cost, end.saturating_duration_since(start));
            }
            self.last_end = Some(*end);
            self.outstanding.pop_front();
        }
    }

    fn check_time(&self) -> Result<(), DeviceError> {
        let Some(oldest) = self.outstanding.front() else { return Ok(()) };
        let since = self.last_end.map_or(oldest.start, |last| last.max(oldest.start));
        if since.elapsed() < PATIENCE {
            return Ok(());
        }
        let reason = format!("it has been at work for {} seconds", since.elapsed().as_secs());
        Err(DeviceError::TimedOut { step: "wait for a batch", reason })
    }

    /// Arguments of pieces, each at its place.
    fn write_arguments(&self, slot: &Slot, pieces: &[Piece]) {
        let mut bytes = vec![0u8; pieces.len() * self.argument_stride];
        for (piece, place) in pieces.iter().zip(bytes.chunks_mut(self.argument_stride)) {
            let header = [BASE as u32, (BASE + self.layout.rows.offset) as u32, piece.first_row, 0];
            place[..HEADER].copy_from_slice(bytemuck::cast_slice(&header));
            let arguments = slot.pieces.launch(piece).arguments.bytes();
            place[HEADER..HEADER + arguments.len()].copy_from_slice(arguments);
        }
        self.shared.queue.write_buffer(&slot.arguments, 0, &bytes);
    }

    /// The next submission of a batch; the last one also has its sums read back.
    fn submit_pieces(&mut self, place: usize) -> Result<(), DeviceError> {
        let Shared { device, queue, kernels, faults, submissions, .. } = &*self.shared;
        let budget = self.pace().budget();
        let slot = &mut self.slots.busy_mut()[place];
        let is_first = !slot.pieces.is_begun();
        let pieces = slot.pieces.take(budget, |kernel| !kernels.is_used(kernel));
        let slot = &self.slots.busy()[place];
        let first_uses = pieces.iter().filter(|piece| kernels.mark_used(slot.pieces.launch(piece).kernel));
        let is_first_use = first_uses.count() > 0;
        let end = Arc::new(OnceLock::new());
        let start = faults.guard(device, "score a batch", 0, || {
            self.write_arguments(slot, &pieces);
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            if is_first {
                encoder.clear_buffer(&slot.totals, 0, None);
            }
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                for (n, piece) in pieces.iter().enumerate() {
                    pass.set_pipeline(kernels.pipeline(device, faults, slot.pieces.launch(piece).kernel)?);
                    pass.set_bind_group(0, &slot.bind_group, &[(n * self.argument_stride) as u32]);
                    let [x, y, z] = piece.groups;
                    pass.dispatch_workgroups(x, y, z);
                }
            }
            if slot.pieces.is_empty() {
                self.read_back(&mut encoder, slot);
            }
            let ended = end.clone();
            encoder.on_submitted_work_done(move || {
                ended.get_or_init(Instant::now);
            });
            let start = Instant::now();
            queue.submit([encoder.finish()]);
            submissions.fetch_add(1, Ordering::Relaxed);
            Ok(start)
        })??;
        let cost = pieces.iter().map(|piece| piece.cost).sum();
        self.outstanding.push_back(Submission { cost, is_first_use, start, end });
        self.shared.most_outstanding.fetch_max(self.outstanding.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Copies a batch's sums to where they are read once the submission has ended.
    fn read_back(&self, encoder: &mut wgpu::CommandEncoder, slot: &Slot) {
        let from = (self.layout.sums.offset - self.layout.rows.offset) as u64;
        let bytes = (slot.histories.len() * self.layout.sums.part) as u64;
        encoder.copy_buffer_to_buffer(&slot.totals, from, &slot.results, 0, bytes);
        let finish = slot.finisher();
        encoder.map_buffer_on_submit(&slot.results, MapMode::Read, .., move |result| finish(result.is_ok()));
    }

    /// The sums of a batch that is done.
    fn read(&self, slot: &Slot) -> Result<Vec<PairSums>, DeviceError> {
        let view = slot
            .results
            .get_mapped_range(..)
            .map_err(|error| DeviceError::Driver { step: "read sums back", reason: error.to_string() })?;
        Ok(sums_of(&self.layout, &slot.histories, &view))
    }
}

fn launches(work: &Work, layout: &Layout, places: &[MotionPlaces]) -> Vec<Launch> {
    schedule::launches(work, layout, Addresses { batch: BASE as u64, tables: 0 }, places)
}

impl Session for WgpuSession {
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

    /// Pictures are copied here and now, so none is held. The rest begins with the next look at the device.
    fn submit(&mut self, pairs: Vec<PairJob>) -> Result<(), DeviceError> {
        check(&self.work, &self.layout, &pairs)?;
        let mut slot = self.slots.take_free(pairs.len())?;
        let Shared { device, queue, faults, .. } = &*self.shared;
        let places = faults.guard(device, "upload a batch", self.layout.total, || {
            place_pictures(&self.work, &self.layout, &pairs, |picture, offset| {
                upload(queue, &slot.memory, &self.layout, picture, offset);
                Ok(())
            })
        })??;
        let launches = launches(&self.work, &self.layout, &places);
        slot.begin(pairs.iter().map(PairJob::history).collect(), Pieces::new(launches, pairs.len()));
        self.slots.begin(slot);
        Ok(())
    }

    fn release(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn is_done(&mut self) -> Result<bool, DeviceError> {
        self.advance()?;
        Ok(self.slots.oldest().is_none_or(|slot| slot.state() != State::Pending))
    }

    fn wait(&mut self, patience: Duration) -> Result<bool, DeviceError> {
        let start = Instant::now();
        while !self.is_done()? {
            if start.elapsed() >= patience {
                return Ok(false);
            }
            std::thread::sleep(NAP);
        }
        Ok(true)
    }

    fn collect(&mut self) -> Result<Option<Vec<PairSums>>, DeviceError> {
        // A device that hangs is an error before this time is over.
        self.wait(Duration::MAX)?;
        let Some(slot) = self.slots.take_oldest() else { return Ok(None) };
        if slot.state() == State::Failed {
            let reason = "its sums cannot be read".to_owned();
            return Err(DeviceError::Lost { step: "wait for a batch", reason });
        }
        let sums = self.read(&slot)?;
        slot.results.unmap();
        self.slots.give_back(slot);
        Ok(Some(sums))
    }
}
