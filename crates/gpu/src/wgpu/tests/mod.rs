//! Each kernel alone, on an adapter, against a naive version of a few lines: 64-bit integers and the host's doubles, one
//! pixel after another, with nothing borrowed from the code that it checks. Constants are written out again.
//!
//! Pictures are noise, extremes, near copies and nearly flat ones, of odd sizes, with rubbish behind their rows.

mod adapters;
mod mask;
mod mask_formats;
mod motion;
mod steps;
mod total;
mod vif;
mod wavelet;

use std::sync::OnceLock;

use wgpu::util::DeviceExt;
use wgpu::{BindGroupEntry, BufferUsages, MapMode, PollType};

use super::kernels::{source, workgroups};
use super::{Api, Shared, WgpuDevice, adapters};
use crate::arguments::Pictures;
use crate::schedule::{Arguments, Kernel, Launch};

/// The address of the memory's first byte.
const BASE: u32 = 256;
/// The address of the totals' first byte.
const TOTALS: u32 = 1 << 24;

fn shared() -> Option<&'static Shared> {
    static DEVICE: OnceLock<Option<WgpuDevice>> = OnceLock::new();
    let open = || {
        let mut found = adapters(Api::Vulkan);
        found.sort_by_key(|adapter| !adapter.is_software);
        let Some(adapter) = found.into_iter().find(|adapter| adapter.lacks.is_none()) else {
            let required = std::env::var("VISUS_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|word| word.trim() == "vulkan"), "there is no Vulkan adapter");
            eprintln!("!!! there is no Vulkan adapter (Debian: mesa-vulkan-drivers): THIS CHECK IS LEFT OUT");
            return None;
        };
        Some(WgpuDevice::open(Api::Vulkan, adapter.info.index).unwrap())
    };
    DEVICE.get_or_init(open).as_ref().map(|device| &*device.shared)
}

/// What a kernel leaves of memory and totals.
struct Left {
    memory: Vec<u32>,
    totals: Vec<u64>,
}

/// Runs one kernel.
fn run(
    shared: &Shared,
    (text, entry): (&str, &str),
    arguments: &Arguments,
    memory: &[u32],
    totals: &[u64],
    groups: [u32; 3],
) -> Left {
    let Shared { device, queue, kernels, faults, .. } = shared;
    let pipeline = faults.guard(device, "compile", 0, || kernels.compile(device, text, entry)).unwrap();
    let header: [u32; 4] = [BASE, TOTALS, 0, 0];
    let bytes = [bytemuck::cast_slice(&header), arguments.bytes(), &[0; 1024]].concat();
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
    let buffer = |contents: &[u8]| {
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    };
    let buffers =
        [buffer(bytemuck::cast_slice(memory)), buffer(bytemuck::cast_slice(totals)), buffer(&bytes)];
    let all = buffers.iter().chain([&kernels.logarithms]);
    let entries: Vec<BindGroupEntry<'_>> = (0..)
        .zip(all)
        .map(|(binding, buffer)| BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let layout = &kernels.bindings;
    let group =
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[0]);
        pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
    }
    let back = [&buffers[0], &buffers[1]].map(|from| {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let size = from.size();
        let to = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(from, 0, &to, 0, size);
        to
    });
    queue.submit([encoder.finish()]);
    back.iter().for_each(|buffer| buffer.map_async(MapMode::Read, .., |result| result.unwrap()));
    device.poll(PollType::wait_indefinitely()).unwrap();
    faults.check("run").unwrap();
    let [memory, totals] = back.map(|buffer| buffer.get_mapped_range(..).unwrap().to_vec());
    Left { memory: bytemuck::pod_collect_to_vec(&memory), totals: bytemuck::pod_collect_to_vec(&totals) }
}

/// Runs a kernel as a session would, on one pair.
fn launch(shared: &Shared, kernel: Kernel, arguments: Arguments, memory: &[u32], totals: &[u64]) -> Left {
    let launch = Launch { kernel, grid: [0; 3], threads: 0, arguments };
    run(shared, (&source(kernel), "main"), &arguments, memory, totals, workgroups(&launch, 1))
}

/// Numbers by chance, always the same ones.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 1
    }

    /// Of any magnitude up to so many bits.
    fn bits(&mut self, most: u32) -> u64 {
        let length = 1 + self.next() % u64::from(most);
        self.next() & ((1 << length) - 1)
    }
}

/// What a pair of pictures is like.
#[derive(Clone, Copy, Debug)]
enum Look {
    Noise,
    /// Only the least and the largest sample, the two pictures mostly opposite.
    Extreme,
    /// The distorted picture is a paler copy.
    Paler,
    /// Samples differ by one at most.
    Flat,
}

const LOOKS: [Look; 4] = [Look::Noise, Look::Extreme, Look::Paler, Look::Flat];

/// A picture. Rows begin at even samples, so that two may share a word.
#[derive(Clone)]
struct Picture {
    width: usize,
    height: usize,
    pitch: usize,
    samples: Vec<u16>,
}

impl Picture {
    /// Of samples by their number; what is behind the rows is rubbish.
    fn new(chance: &mut Chance, size: [usize; 2], mut sample: impl FnMut(&mut Chance, usize) -> u64) -> Self {
        let [width, height] = size;
        let pitch = width.next_multiple_of(2) + 2;
        let samples = (0..pitch * height).map(|n| sample(chance, n) as u16).collect();
        Self { width, height, pitch, samples }
    }

    fn empty(width: usize, height: usize) -> Self {
        Self::new(&mut Chance(0), [width, height], |_, _| 0)
    }

    /// Reference and distorted picture, with samples up to `most`.
    fn pair(chance: &mut Chance, look: Look, size: [usize; 2], most: u64) -> [Self; 2] {
        let noise = |chance: &mut Chance, _| chance.next() % (most + 1);
        let either = |chance: &mut Chance, _| most * (chance.next() % 2);
        let flat = |chance: &mut Chance, _| most / 3 + chance.next() % 2;
        match look {
            Look::Noise => [0; 2].map(|_| Self::new(chance, size, noise)),
            Look::Flat => [0; 2].map(|_| Self::new(chance, size, flat)),
            Look::Extreme => {
                let reference = Self::new(chance, size, either);
                let opposite = |chance: &mut Chance, n: usize| {
                    let sample = u64::from(reference.samples[n]);
                    if chance.next().is_multiple_of(8) { sample } else { most - sample }
                };
                let distorted = Self::new(chance, size, opposite);
                [reference, distorted]
            }
            Look::Paler => {
                let reference = Self::new(chance, size, noise);
                let paler = |chance: &mut Chance, n: usize| {
                    u64::from(reference.samples[n]) / 2 + chance.next() % (most / 16 + 1)
                };
                let distorted = Self::new(chance, size, paler);
                [reference, distorted]
            }
        }
    }

    /// Mirrored around the first and the last sample.
    fn at(&self, x: isize, y: isize) -> i64 {
        i64::from(self.samples[mirrored(y, self.height) * self.pitch + mirrored(x, self.width)])
    }
}

/// Around the first and the last of so many.
fn mirrored(index: isize, length: usize) -> usize {
    let last = length as isize - 1;
    let inner = index.abs();
    (if inner > last { 2 * last - inner } else { inner }) as usize
}

/// Every place of a rectangle.
fn places(width: usize, height: usize) -> impl Iterator<Item = (isize, isize)> {
    (0..height as isize).flat_map(move |y| (0..width as isize).map(move |x| (x, y)))
}

/// Pictures one after the other, each with its bytes for a sample, and their addresses.
fn laid_out(pictures: &[(&Picture, usize)]) -> (Vec<u32>, Vec<u64>) {
    let mut bytes: Vec<u8> = Vec::new();
    let mut addresses = Vec::new();
    for (picture, sample_bytes) in pictures {
        addresses.push(u64::from(BASE) + bytes.len() as u64);
        for sample in &picture.samples {
            bytes.extend(&sample.to_le_bytes()[..*sample_bytes]);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    (bytemuck::pod_collect_to_vec(&bytes), addresses)
}

fn pictures_of(picture: &Picture, reference: u64, distorted: u64, depth: i32) -> Pictures {
    let [pitch, width, height] = [picture.pitch, picture.width, picture.height].map(|number| number as i32);
    Pictures { reference, distorted, frame: 0, pitch, width, height, depth }
}

/// (sum of tap * value + half) >> shift, the taps around the middle.
fn filtered(taps: &[i64], shift: u32, at: impl Fn(isize) -> i64) -> i64 {
    let radius = taps.len() as isize / 2;
    let sum: i64 = (-radius..).zip(taps).map(|(k, tap)| tap * at(k)).sum();
    (sum + ((1 << shift) >> 1)) >> shift
}

/// 2048 * log2 of the 16 leading bits of a number from 2^15 on, by way of single precision as in libvmaf, times their
/// unit.
fn log2_truth(number: u64) -> i64 {
    let shift = number.ilog2() - 15;
    let logarithm = ((number >> shift) as f64).log2() as f32;
    (2048.0 * logarithm).round() as i64 + 2048 * i64::from(shift)
}
