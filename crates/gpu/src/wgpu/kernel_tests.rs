//! Each kernel alone, on an adapter, against a naive version of a few lines.

use std::sync::OnceLock;

use bytemuck::Zeroable;
use visus_metrics::device::{motion_taps, vif_log2, vif_taps};
use wgpu::util::DeviceExt;
use wgpu::{BindGroupEntry, BufferUsages, MapMode, PollType};

use super::kernels::{source, workgroups};
use super::{Api, Shared, WgpuDevice, adapters};
use crate::arguments::{Decimate, Mask, Motion, Pictures, Statistic, Total, Wavelet};
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

/// Pictures of 16-bit samples, rows without gaps.
#[derive(Clone)]
struct Picture {
    width: usize,
    height: usize,
    samples: Vec<u16>,
}

impl Picture {
    /// The width is even, so that rows begin at words.
    fn new(chance: &mut Chance, width: usize, height: usize, most: u64) -> Self {
        let samples = (0..width * height).map(|_| (chance.next() % (most + 1)) as u16).collect();
        Self { width, height, samples }
    }

    /// Mirrored around the first and the last sample.
    fn at(&self, x: isize, y: isize) -> i64 {
        let mirrored = |index: isize, length: usize| {
            let last = length as isize - 1;
            let inner = index.abs();
            (if inner > last { 2 * last - inner } else { inner }) as usize
        };
        i64::from(self.samples[mirrored(y, self.height) * self.width + mirrored(x, self.width)])
    }
}

/// All of them, one after the other, with their addresses.
fn laid_out(pictures: &[&Picture]) -> (Vec<u32>, Vec<u64>) {
    let mut samples: Vec<u16> = Vec::new();
    let mut addresses = Vec::new();
    for picture in pictures {
        addresses.push(u64::from(BASE) + 2 * samples.len() as u64);
        samples.extend(&picture.samples);
        samples.resize(samples.len().next_multiple_of(2), 0);
    }
    (bytemuck::pod_collect_to_vec(&samples), addresses)
}

fn pictures_of(picture: &Picture, reference: u64, distorted: u64, depth: i32) -> Pictures {
    let (width, height) = (picture.width as i32, picture.height as i32);
    Pictures { reference, distorted, frame: 0, pitch: width, width, height, depth }
}

#[test]
fn motion() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(1);
    for (width, height, depth) in [(64, 40, 10), (130, 33, 16)] {
        let [earlier, current] = [0; 2].map(|_| Picture::new(&mut chance, width, height, (1 << depth) - 1));
        let (memory, addresses) = laid_out(&[&earlier, &current]);
        let mut arguments = Motion::zeroed();
        (arguments.earlier[0], arguments.current[0]) = (addresses[0], addresses[1]);
        (arguments.pitch, arguments.width, arguments.height) = (width as i32, width as i32, height as i32);
        (arguments.depth, arguments.sums) = (depth, u64::from(TOTALS) + 8);
        let left = launch(shared, Kernel::MotionU16, Arguments::Motion(arguments), &memory, &[0, 5, 0]);

        let tap = |k: isize| i64::from(motion_taps()[(k + 2) as usize]);
        let down = |x: isize, y: isize| {
            let sum: i64 = (-2..=2).map(|k| tap(k) * (earlier.at(x, y + k) - current.at(x, y + k))).sum();
            (sum + (1 << (depth - 1))) >> depth
        };
        let inside = |x: isize| {
            let last = width as isize - 1;
            if x.abs() > last { 2 * last - x.abs() } else { x.abs() }
        };
        let along = |x: isize, y: isize| {
            let sum: i64 = (-2..=2).map(|k| tap(k) * down(inside(x + k), y)).sum();
            (sum + (1 << 15)) >> 16
        };
        let places = (0..height as isize).flat_map(|y| (0..width as isize).map(move |x| (x, y)));
        let truth: u64 = places.map(|(x, y)| along(x, y).unsigned_abs()).sum();
        assert_eq!(left.totals, [0, 5 + truth, 0], "{width}x{height}");
    }
}

#[test]
fn thinned_pictures() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(2);
    for (scale, kernel) in [(0, Kernel::DecimateU16), (1, Kernel::Decimate1), (2, Kernel::Decimate2)] {
        let (width, height, depth) = (140, 37, 12);
        let most = if scale == 0 { (1 << depth) - 1 } else { 65535 };
        let [reference, distorted] = [0; 2].map(|_| Picture::new(&mut chance, width, height, most));
        let out =
            Picture { width: width / 2, height: height / 2, samples: vec![0; width / 2 * (height / 2)] };
        let (memory, addresses) = laid_out(&[&reference, &distorted, &out, &out]);
        let arguments = Decimate {
            pictures: pictures_of(&reference, addresses[0], addresses[1], depth),
            reference: addresses[2],
            distorted: addresses[3],
            frame: 0,
            pitch: out.width as i32,
            unused: 0,
        };
        let left = launch(shared, kernel, Arguments::Decimate(arguments), &memory, &[0]);
        let samples: &[u16] = bytemuck::cast_slice(&left.memory);
        let (taps, shift) = (vif_taps()[scale + 1], if scale == 0 { depth } else { 16 });
        let radius = taps.len() as isize / 2;
        for (picture, address) in [(&reference, addresses[2]), (&distorted, addresses[3])] {
            let sum = |at: &dyn Fn(isize) -> i64, shift: i32| {
                let sum: i64 = (-radius..).zip(taps).map(|(k, tap)| i64::from(*tap) * at(k)).sum();
                (sum + (1 << (shift - 1))) >> shift
            };
            for (place, got) in
                samples[(address as usize - 256) / 2..][..out.samples.len()].iter().enumerate()
            {
                let (x, y) = (2 * (place % out.width) as isize, 2 * (place / out.width) as isize);
                let truth = sum(&|k| sum(&|j| picture.at(x + k, y + j), shift), 16);
                assert_eq!(i64::from(*got), truth, "scale {scale}, {x}, {y}");
            }
        }
    }
}

/// The first scale's bands, 16-bit numbers that are centred around zero.
#[test]
fn wavelets() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(3);
    let (width, height, depth) = (150, 41, 10);
    let [reference, distorted] = [0; 2].map(|_| Picture::new(&mut chance, width, height, (1 << depth) - 1));
    let (band_width, band_height) = (width / 2 + 1, height / 2 + 1);
    let band = Picture { width: band_width, height: band_height, samples: vec![0; band_width * band_height] };
    let (memory, addresses) =
        laid_out(&[&reference, &distorted, &band, &band, &band, &band, &band, &band, &band, &band]);
    let area = (band_width * band_height) as u64;
    let arguments = Wavelet {
        pictures: pictures_of(&reference, addresses[0], addresses[1], depth),
        low: addresses[2],
        low_picture: area,
        low_frame: 0,
        bands: addresses[4],
        band: area,
        band_frame: 0,
        pitch: band_width as i32,
        first_column: 0,
        last_column: width as i32 / 2,
        first_row: 0,
        last_row: (height as i32 + 1) / 2,
        detail: 1,
        along: 15,
        unused: 0,
    };
    let left = launch(shared, Kernel::WaveletU16, Arguments::Wavelet(arguments), &memory, &[0]);
    let samples: &[i16] = bytemuck::cast_slice(&left.memory);
    let [low, high] = visus_metrics::device::adm_wavelet();
    let index = |index: isize, length: usize| {
        let inner = index.unsigned_abs();
        if inner >= length { 2 * length - 1 - inner } else { inner }
    };
    for (n, picture) in [&reference, &distorted].into_iter().enumerate() {
        let centred = |x: usize, y: usize| i64::from(picture.samples[y * width + x]) - (1 << (depth - 1));
        let down = |taps: [i32; 4], x: usize, y: usize| {
            let at = |k: usize| centred(x, index(2 * y as isize - 1 + k as isize, height));
            let sum: i64 = (0..4).map(|k| i64::from(taps[k]) * at(k)).sum();
            (sum + (1 << (depth - 1))) >> depth
        };
        let along = |taps: [i32; 4], vertical: [i32; 4], x: usize, y: usize| {
            let at = |k: usize| down(vertical, index(2 * x as isize - 1 + k as isize, width), y);
            let sum: i64 = (0..4).map(|k| i64::from(taps[k]) * at(k)).sum();
            (sum + (1 << 15)) >> 16
        };
        let filters = [(low, low, addresses[2 + n]), (low, high, 0), (high, low, 1), (high, high, 2)];
        for (horizontal, vertical, place) in filters {
            let address = if place < 3 { addresses[4] + 2 * area * (3 * n as u64 + place) } else { place };
            let first = (address as usize - 256) / 2;
            for (x, y) in (0..height.div_ceil(2)).flat_map(|y| (0..width / 2).map(move |x| (x, y))) {
                let got = i64::from(samples[first + y * band_width + x]);
                assert_eq!(got, along(horizontal, vertical, x, y), "picture {n}, {x}, {y}");
            }
        }
    }
}

/// Three places of `memory` for each item go in, others come out.
fn probe(
    shared: &Shared,
    kernel: Kernel,
    body: &str,
    arguments: &Arguments,
    items: &[[u32; 8]],
) -> Vec<[u32; 8]> {
    let text = source(kernel)
        + "\n@compute @workgroup_size(64)\nfn probe(@builtin(global_invocation_id) id: vec3<u32>) {\n"
        + "let at = 8u * id.x;\nif at >= arrayLength(&memory) {\nreturn;\n}\n"
        + body
        + "}\n";
    let groups = [items.len().div_ceil(64) as u32, 1, 1];
    let left = run(shared, (&text, "probe"), arguments, items.as_flattened(), &[0], groups);
    left.memory.as_chunks().0.to_vec()
}

/// VIF's double-precision steps and logarithms, against the host's own doubles.
#[test]
fn vif_steps_in_double_precision() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(4);
    let mut items: Vec<[u32; 8]> = Vec::new();
    for n in 0..40_000u32 {
        let reference = (131_072 + chance.bits(31) as u32).min(i32::MAX as u32);
        let covariance = 1 + (chance.bits(31) as u32).min(i32::MAX as u32 - 1);
        // Often hardly anything is left of the distorted picture's variance.
        let explained = f64::from(covariance) * f64::from(covariance) / (f64::from(reference) + 6.5536e-6);
        let distorted = match n % 3 {
            0 => explained as u32,
            1 => explained.ceil() as u32,
            _ => chance.bits(31) as u32,
        };
        items.push([covariance, reference, distorted.clamp(1, i32::MAX as u32), 0, 0, 0, 0, 0]);
    }
    items.push([1, i32::MAX as u32, 1, 0, 0, 0, 0, 0]);
    items.push([i32::MAX as u32, 131_072, i32::MAX as u32, 0, 0, 0, 0, 0]);
    items.push([i32::MAX as u32, i32::MAX as u32, i32::MAX as u32, 0, 0, 0, 0, 0]);
    let body = "
        let gain = gain_of(memory[at], memory[at + 1u]);
        let noise = noise_of(gain, memory[at], memory[at + 2u]) + 131072u;
        let signal = signal_of(gain, float_of(a.gains[0]), memory[at + 1u]);
        memory[at + 3u] = noise;
        memory[at + 4u] = low_word(signal);
        memory[at + 5u] = high_word(signal);
        memory[at + 6u] = bitcast<u32>(log2_of(signal + u64(noise)));
        ";
    let log2 = |number: u64| {
        let shift = 48 - number.leading_zeros();
        u32::from(vif_log2()[(number >> shift) as usize - 32768]) + 2048 * shift
    };
    for limit in [1.0, 1.2, 100.0] {
        let mut arguments = Statistic::zeroed();
        arguments.gains[0] = limit;
        let got = probe(shared, Kernel::Statistic3, body, &Arguments::Statistic(arguments), &items);
        for item in &got {
            let [covariance, reference, distorted] = [item[0], item[1], item[2]].map(f64::from);
            let gain = covariance / (reference + 65536.0 * 1.0e-10);
            let noise = ((distorted - gain * covariance) as i32).max(0) as u32 + 131_072;
            let limited = gain.min(limit);
            let signal = (limited * limited * reference) as u64;
            let truth = [noise, signal as u32, (signal >> 32) as u32, log2(signal + u64::from(noise))];
            assert_eq!(item[3..7], truth, "{item:?}, limit {limit}");
        }
    }
}

/// ADM's test of directions and its gain limit, against the host's own floats.
#[test]
fn adm_steps_in_double_precision() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(5);
    let bound = f64::from((f64::cos(std::f64::consts::PI / 180.0).powi(2)) as f32);
    let mut vectors: Vec<[i64; 4]> = Vec::new();
    for n in 0..20_000 {
        let mut number = || (chance.bits(24) as i64) * if chance.next().is_multiple_of(2) { 1 } else { -1 };
        let [x, y, u, v] = [number(), number(), number(), number()];
        // About one degree apart.
        let turned = |degrees: f64| {
            let (sine, cosine) = (degrees * std::f64::consts::PI / 180.0).sin_cos();
            let (x, y) = (x as f64, y as f64);
            [(x * cosine - y * sine) as i64, (x * sine + y * cosine) as i64]
        };
        let [u, v] = if n % 2 == 0 { [u, v] } else { turned(1.0 + (n % 7 - 3) as f64 * 1e-9) };
        vectors.push([x, y, u, v]);
    }
    vectors.extend([[0; 4], [1, 0, 0, 0], [0, 0, 1, 1], [5, 5, -5, -5], [1, 0, 1, 0], [1, 0, 0, 1]]);
    let products = |[x, y, u, v]: [i64; 4]| [x * u + y * v, x * x + y * y, u * u + v * v];
    let words = |number: i64| [number as u32, (number >> 32) as u32];
    let items: Vec<[u32; 8]> = vectors
        .iter()
        .map(|vector| {
            let [[a, b], [c, d], [e, f]] = products(*vector).map(words);
            [a, b, c, d, e, f, vector[0].unsigned_abs() as u32, vector[2] as u32]
        })
        .collect();
    let body = "
        let both = i64(u64(memory[at]) | (u64(memory[at + 1u]) << 32u));
        let alone = i64(u64(memory[at + 2u]) | (u64(memory[at + 3u]) << 32u));
        let other = i64(u64(memory[at + 4u]) | (u64(memory[at + 5u]) << 32u));
        memory[at] = select(0u, 1u, same_direction(both, alone, other));
        memory[at + 1u] = bitcast<u32>(enhanced(bitcast<i32>(memory[at + 6u]), bitcast<i32>(memory[at + 7u])));
        ";
    let mut same = 0;
    for (kind, gain_limit) in [(0, 1.0), (1, 100.0), (2, 1.37), (2, 1.0 + f64::EPSILON)] {
        let mut arguments = Mask::zeroed();
        (arguments.bound, arguments.gain_kind, arguments.gain_limit) = (bound, kind, gain_limit);
        let got = probe(shared, Kernel::MaskLong, body, &Arguments::Mask(arguments), &items);
        for (vector, item) in vectors.iter().zip(&got) {
            let [both, alone, other] = products(*vector).map(|product| f64::from(product as f32));
            let truth = both >= 0.0 && both * both >= bound * alone * other;
            assert_eq!(item[0] == 1, truth, "{vector:?}");
            same += usize::from(truth);
            let grown =
                (vector[0].unsigned_abs() as f64 * gain_limit).min(vector[2].unsigned_abs() as f64) as i32;
            let truth = if vector[2] < 0 { -grown } else { grown };
            assert_eq!(item[1] as i32, truth, "{vector:?}, limit {gain_limit}");
        }
    }
    assert!((1000..50_000).contains(&same), "{same} of four times {}", vectors.len());
}

/// Rows are rounded one by one; sums may be negative, energies fill all bits.
#[test]
fn totals_of_rows() {
    let Some(shared) = shared() else { return };
    let mut chance = Chance(6);
    let capacity = 100;
    let rows: Vec<u64> =
        (0..4 * 9 * capacity).map(|_| chance.bits(62).wrapping_neg() << (chance.next() % 2)).collect();
    let mut totals = rows.clone();
    totals.extend([0; 36]);
    let arguments = Total {
        rows: u64::from(TOTALS),
        rows_frame: 0,
        sums: u64::from(TOTALS) + 8 * rows.len() as u64,
        stride: 36,
        row_capacity: capacity as i32,
        start: [0, 900, 1800, 2700],
        first_row: [3, 0, 7, 9],
        last_row: [97, 100, 70, 10],
        masked_shift: [5, 0, 9, 1],
        energy_shift: [0, 4, 30, 2],
    };
    let left = launch(shared, Kernel::Total, Arguments::Total(arguments), &[0], &totals);
    for (scale, kind) in (0..4).flat_map(|scale| (0..9).map(move |kind| (scale, kind))) {
        let first = 900 * scale + capacity * kind;
        let shift = if kind < 6 { arguments.masked_shift[scale] } else { arguments.energy_shift[scale] };
        let range = arguments.first_row[scale] as usize..arguments.last_row[scale] as usize;
        let rounded = |row: &u64| {
            let row = row.wrapping_add((1 << shift) >> 1);
            if kind < 6 { (row as i64 >> shift) as u64 } else { row >> shift }
        };
        let truth = rows[first..][range].iter().map(rounded).fold(0u64, u64::wrapping_add);
        assert_eq!(left.totals[rows.len() + 9 * scale + kind], truth, "scale {scale}, sum {kind}");
    }
    assert_eq!(left.totals[..rows.len()], rows);
}
