//! The kernels: WGSL put together from the pieces in `kernels/wgsl`, compiled when they are first submitted.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use visus_metrics::device::{vif_log2, vif_taps};
use wgpu::util::DeviceExt;
use wgpu::{BindGroupLayoutEntry, BindingType, BufferBindingType, BufferUsages, ShaderStages};

use super::faults::Faults;
use crate::error::DeviceError;
use crate::schedule::{Arguments, Kernel, Launch};

macro_rules! piece {
    ($name:literal) => {
        include_str!(concat!("../../kernels/wgsl/", $name, ".wgsl"))
    };
}

/// The kernels that there are in WGSL.
const KERNELS: [Kernel; 20] = [
    Kernel::MotionU8,
    Kernel::MotionU16,
    Kernel::DecimateU8,
    Kernel::DecimateU16,
    Kernel::Decimate1,
    Kernel::Decimate2,
    Kernel::StatisticU8,
    Kernel::StatisticU16,
    Kernel::Statistic1,
    Kernel::Statistic2,
    Kernel::Statistic3,
    Kernel::WaveletU8,
    Kernel::WaveletU16,
    Kernel::Wavelet1,
    Kernel::Wavelet2,
    Kernel::MaskShort,
    Kernel::MaskShortAim,
    Kernel::MaskLong,
    Kernel::MaskLongAim,
    Kernel::Total,
];

/// Columns of a tile: an invocation to each.
const COLUMNS: usize = 128;

/// The text of a kernel; empty for one that there is not in WGSL.
pub fn source(kernel: Kernel) -> String {
    let narrow = [piece!("common"), piece!("sample_u8")].concat();
    let wide = [piece!("common"), piece!("sample_u16")].concat();
    match kernel {
        Kernel::MotionU8 => narrow + piece!("motion"),
        Kernel::MotionU16 => wide + piece!("motion"),
        Kernel::DecimateU8 => narrow + &decimate(0),
        Kernel::DecimateU16 => wide + &decimate(0),
        Kernel::Decimate1 => wide + &decimate(1),
        Kernel::Decimate2 => wide + &decimate(2),
        Kernel::StatisticU8 => narrow + &statistic(0, "u32"),
        Kernel::StatisticU16 => wide + &statistic(0, "u64"),
        Kernel::Statistic1 => wide + &statistic(1, "u64"),
        Kernel::Statistic2 => wide + &statistic(2, "u64"),
        Kernel::Statistic3 => wide + &statistic(3, "u64"),
        Kernel::WaveletU8 => narrow + piece!("wavelet_first") + piece!("wavelet"),
        Kernel::WaveletU16 => wide + piece!("wavelet_first") + piece!("wavelet"),
        Kernel::Wavelet1 => wide + piece!("wavelet_second") + piece!("wavelet_wide") + piece!("wavelet"),
        Kernel::Wavelet2 => {
            [piece!("common"), piece!("wavelet_later"), piece!("wavelet_wide"), piece!("wavelet")].concat()
        }
        Kernel::MaskShort => mask(piece!("mask_short"), false),
        Kernel::MaskShortAim => mask(piece!("mask_short"), true),
        Kernel::MaskLong => mask(piece!("mask_long"), false),
        Kernel::MaskLongAim => mask(piece!("mask_long"), true),
        Kernel::Total => [piece!("common"), piece!("total")].concat(),
        _ => String::new(),
    }
}

/// All kernels as one text, by which a tested device is remembered.
pub fn all_sources() -> String {
    KERNELS.map(source).concat()
}

fn mask(format: &str, aim: bool) -> String {
    [piece!("common"), piece!("float"), &format!("\nconst AIM: bool = {aim};\n"), format, piece!("mask")]
        .concat()
}

/// The constants of a VIF scale and of the window that is used.
fn vif_constants(scale: usize, radius: usize) -> String {
    format!("\nconst SCALE: i32 = {scale};\nconst RADIUS: i32 = {radius};\n")
}

/// One line for each tap, with its distance from the centre.
fn tap_lines(taps: &[u32], line: impl Fn(usize, i64, u32) -> String) -> String {
    let radius = taps.len() as i64 / 2;
    taps.iter().enumerate().map(|(k, tap)| line(k, k as i64 - radius, *tap) + "\n    ").collect()
}

fn statistic(scale: usize, wide: &str) -> String {
    let taps = vif_taps()[scale];
    let down = tap_lines(taps, |_, distance, tap| {
        format!("down(&sums, {tap}u, reference, distorted, y + {distance}, column);")
    });
    let along = tap_lines(taps, |k, _, tap| {
        let moment =
            |name: &str, plane: usize| format!("{name} += {tap}u * moments[place + {}u];", 512 * plane + k);
        let product = |name: &str, plane: usize| {
            format!("{name} += {tap}lu * u64(moments[place + {}u]);", 512 * plane + k)
        };
        [
            moment("mean_ref", 0),
            moment("mean_dis", 1),
            product("square_ref", 2),
            product("square_dis", 3),
            product("product", 4),
        ]
        .join("\n    ")
    });
    let body = piece!("vif").replacen("// DOWN\n    ", &down, 1).replacen("// ALONG\n    ", &along, 1);
    let types = format!("\nalias Wide = {wide};\nconst EPSILON_MANTISSA: u64 = {}lu;\n", epsilon_mantissa());
    [piece!("float"), &vif_constants(scale, taps.len() / 2), &types, piece!("vif_pixel"), &body].concat()
}

/// VIF's 65536 * 1e-10 as a 53-bit integer; its exponent is -70.
fn epsilon_mantissa() -> u64 {
    (65536.0f64 * 1.0e-10).to_bits() & ((1 << 52) - 1) | 1 << 52
}

fn decimate(scale: usize) -> String {
    let taps = vif_taps()[scale + 1];
    let down = tap_lines(taps, |_, distance, tap| {
        format!("sum += {tap}u * sample_at(source, y + {distance}, column);")
    });
    let along = tap_lines(taps, |k, _, tap| format!("sum += {tap}u * filtered[place + {k}u];"));
    let body =
        piece!("vif_decimate").replacen("// DOWN\n    ", &down, 1).replacen("// ALONG\n    ", &along, 1);
    vif_constants(scale, taps.len() / 2) + &body
}

/// Workgroups of a launch for so many pairs.
pub fn workgroups(launch: &Launch, pairs: usize) -> [u32; 3] {
    let tiles = |length: i32, tile: usize| (length.max(0) as u32).div_ceil(tile as u32);
    let pairs = pairs as u32;
    match &launch.arguments {
        Arguments::Motion(motion) => [tiles(motion.width, 124), tiles(motion.height, 8), pairs],
        Arguments::Statistic(statistic) => {
            let scale = match launch.kernel {
                Kernel::Statistic1 => 1,
                Kernel::Statistic2 => 2,
                Kernel::Statistic3 => 3,
                _ => 0,
            };
            let pictures = &statistic.pictures;
            [tiles(pictures.width, COLUMNS - 2 * (8 >> scale)), tiles(pictures.height, 4), pairs]
        }
        Arguments::Decimate(decimate) => {
            let scale = match launch.kernel {
                Kernel::Decimate1 => 1,
                Kernel::Decimate2 => 2,
                _ => 0,
            };
            let width = (COLUMNS - 2 * (4 >> scale)) / 4 * 2;
            let pictures = &decimate.pictures;
            [tiles(pictures.width / 2, width), tiles(pictures.height / 2, 8), 2 * pairs]
        }
        Arguments::Wavelet(wavelet) => {
            let columns = wavelet.last_column - (wavelet.first_column & !1);
            [tiles(columns, 62), tiles(wavelet.last_row - wavelet.first_row, 8), 2 * pairs]
        }
        Arguments::Mask(mask) => {
            let (columns, rows) = (mask.last_column - mask.first_column, mask.last_row - mask.first_row);
            [tiles(columns, 32), tiles(rows, 8), pairs]
        }
        Arguments::Total(_) => [4, 1, pairs],
        Arguments::CambiLoad(_) | Arguments::Cambi(_) | Arguments::Speed(_) | Arguments::Psnr(_) => [0; 3],
    }
}

/// A kernel's place among [`KERNELS`], as a bit.
fn bit(kernel: Kernel) -> u32 {
    KERNELS.iter().position(|known| *known == kernel).map_or(0, |place| 1 << place)
}

/// The kernels of a device.
#[derive(Debug)]
pub struct Kernels {
    pub bindings: wgpu::BindGroupLayout,
    /// VIF's table.
    pub logarithms: wgpu::Buffer,
    layout: wgpu::PipelineLayout,
    /// In the order of [`KERNELS`].
    pipelines: [OnceLock<wgpu::ComputePipeline>; KERNELS.len()],
    /// Those that have been submitted, a bit for each.
    used: AtomicU32,
}

impl Kernels {
    pub fn new(device: &wgpu::Device) -> Self {
        let entry = |binding: u32, read_only: bool, has_dynamic_offset: bool| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty: BufferBindingType::Storage { read_only },
                has_dynamic_offset,
                min_binding_size: None,
            },
            count: None,
        };
        let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[
                entry(0, false, false),
                entry(1, false, false),
                entry(2, true, true),
                entry(3, true, false),
            ],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        let logarithms = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(vif_log2()),
            usage: BufferUsages::STORAGE,
        });
        Self { bindings, logarithms, layout, pipelines: Default::default(), used: AtomicU32::new(0) }
    }

    /// Whether a kernel has been submitted before. Drivers may compile at the first use of a pipeline.
    pub fn is_used(&self, kernel: Kernel) -> bool {
        self.used.load(Ordering::Relaxed) & bit(kernel) != 0
    }

    /// Says whether this is its first use.
    pub fn mark_used(&self, kernel: Kernel) -> bool {
        self.used.fetch_or(bit(kernel), Ordering::Relaxed) & bit(kernel) == 0
    }

    /// The compiled kernel.
    pub fn pipeline(
        &self,
        device: &wgpu::Device,
        faults: &Faults,
        kernel: Kernel,
    ) -> Result<&wgpu::ComputePipeline, DeviceError> {
        let missing = || DeviceError::Driver {
            step: "find a kernel",
            reason: format!("there is no {} in WGSL", kernel.name()),
        };
        let place = KERNELS.iter().position(|known| *known == kernel).ok_or_else(missing)?;
        if let Some(known) = self.pipelines[place].get() {
            return Ok(known);
        }
        let compiled =
            faults.guard(device, "compile a kernel", 0, || self.compile(device, &source(kernel), "main"))?;
        Ok(self.pipelines[place].get_or_init(|| compiled))
    }

    /// A text that declares the common bindings.
    pub fn compile(&self, device: &wgpu::Device, text: &str, entry_point: &str) -> wgpu::ComputePipeline {
        let source = wgpu::ShaderSource::Wgsl(text.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&self.layout),
            module: &module,
            entry_point: Some(entry_point),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_source_of_its_own() {
        let mut sources: Vec<String> = KERNELS.map(source).to_vec();
        assert!(sources.iter().all(|source| source.contains("@compute") && !source.contains("// DOWN")));
        sources.sort();
        sources.dedup();
        assert_eq!(sources.len(), KERNELS.len());
        assert!(sources.iter().all(|source| !source.contains("f32") && !source.contains("f64")), "no floats");
    }

    /// `gain_of` rounds it to a multiple of 2^(exponent - 52) by adding a half: an exact half would have to be rounded
    /// to even.
    #[test]
    fn the_epsilon_is_never_halfway() {
        let mantissa = epsilon_mantissa();
        assert_eq!(mantissa as f64 * 2f64.powi(-70), 65536.0 * 1.0e-10);
        for exponent in 17..31 {
            let below = 18 + exponent;
            assert_ne!(mantissa & ((1 << below) - 1), 1 << (below - 1), "{exponent}");
        }
    }
}
