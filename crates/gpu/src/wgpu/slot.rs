//! Memory for one batch, for its sums and for reading them back.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use wgpu::{BindGroupEntry, BindingResource, BufferBinding, BufferUsages};

use super::Shared;
use super::pieces::Pieces;
use crate::error::DeviceError;
use crate::layout::Layout;

/// The address of a batch's first byte. It is not zero, because that says "no picture".
pub const BASE: usize = 256;
/// Bytes in front of a launch's arguments: where memory and totals begin, and which workgroups are meant.
pub const HEADER: usize = 16;
/// Bytes that a launch's arguments may take; the largest are motion's.
pub const ARGUMENTS: usize = 1024;

/// A batch, or room for one.
pub struct Slot {
    pub memory: wgpu::Buffer,
    pub totals: wgpu::Buffer,
    /// Of every launch of a submission.
    pub arguments: wgpu::Buffer,
    pub results: wgpu::Buffer,
    pub bind_group: wgpu::BindGroup,
    /// Of each pair: how many earlier pictures there were.
    pub histories: Vec<usize>,
    /// What has not been submitted.
    pub pieces: Pieces,
    state: Arc<AtomicU8>,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending,
    Ready,
    Failed,
}

impl Slot {
    /// Buffers for a batch of so many launches, whose arguments are `argument_stride` bytes apart.
    pub fn new(
        shared: &Shared,
        layout: &Layout,
        launches: usize,
        argument_stride: usize,
    ) -> Result<Self, DeviceError> {
        let Shared { device, faults, kernels, .. } = shared;
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
            let arguments = buffer(launches.max(1) * argument_stride, storage);
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
            let (histories, pieces, state) = (Vec::new(), Pieces::default(), Arc::default());
            Self { memory, totals, arguments, results, bind_group, histories, pieces, state }
        })
    }

    /// A new batch begins.
    pub fn begin(&mut self, histories: Vec<usize>, pieces: Pieces) {
        (self.histories, self.pieces) = (histories, pieces);
        self.state.store(State::Pending as u8, Ordering::Release);
    }

    /// Called when the sums can be read, or cannot.
    pub fn finisher(&self) -> impl FnOnce(bool) + Send + 'static {
        let state = self.state.clone();
        move |is_ok| state.store(if is_ok { State::Ready } else { State::Failed } as u8, Ordering::Release)
    }

    pub fn state(&self) -> State {
        let states = [State::Pending, State::Ready, State::Failed];
        states[usize::from(self.state.load(Ordering::Acquire)).min(2)]
    }
}
