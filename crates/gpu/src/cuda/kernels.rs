//! The compiled kernels and their check.

use visus_metrics::device::vif_log2;

use super::driver::{Buffer, Context, Function, Module, Pinned, Stream};
use crate::arguments::THREADS;
use crate::error::DeviceError;
use crate::schedule::{Kernel, Launch};

/// PTX made of `kernels/*.cu` by `cargo xtask gpu`, by the name of its source.
pub const PTX_FILES: [(&str, &str); 7] = [
    ("adm", include_str!("../../kernels/adm.ptx")),
    ("cambi", include_str!("../../kernels/cambi.ptx")),
    ("motion", include_str!("../../kernels/motion.ptx")),
    ("picture", include_str!("../../kernels/picture.ptx")),
    ("psnr", include_str!("../../kernels/psnr.ptx")),
    ("speed", include_str!("../../kernels/speed.ptx")),
    ("vif", include_str!("../../kernels/vif.ptx")),
];

/// Entries of the table of logarithms: those of 2^15 to 2^16 - 1.
const LOGARITHMS: usize = 1 << 15;

/// Kernels for pictures that the device decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKernel {
    UnpackU8,
    UnpackU16,
    CellsU8,
    CellsU16,
    Compare,
}

/// Their names, in the order of [`PictureKernel`].
const PICTURE_KERNELS: [&str; 5] =
    ["picture_unpack_u8", "picture_unpack_u16", "picture_cells_u8", "picture_cells_u16", "picture_compare"];

/// All kernels, loaded on a device.
#[derive(Debug)]
pub struct Kernels {
    /// In the order of [`Kernel::ALL`].
    functions: Vec<Function>,
    /// In the order of [`PictureKernel`].
    pictures: Vec<Function>,
    logarithms: Function,
    /// What the functions belong to.
    _modules: Vec<Module>,
}

impl Kernels {
    pub fn new(context: &Context) -> Result<Self, DeviceError> {
        let modules: Result<Vec<Module>, _> =
            PTX_FILES.iter().map(|(_, ptx)| Module::new(context, ptx)).collect();
        let modules = modules?;
        let find = |name: &str| module_of(&modules, name).function(name);
        let functions: Result<_, _> = Kernel::ALL.iter().map(|kernel| find(kernel.name())).collect();
        let pictures: Result<_, _> = PICTURE_KERNELS.iter().map(|name| find(name)).collect();
        let logarithms = find("log2_table")?;
        Ok(Self { functions: functions?, pictures: pictures?, logarithms, _modules: modules })
    }

    pub fn launch(&self, stream: &Stream, launch: &Launch) -> Result<(), DeviceError> {
        let function = self.functions[launch.kernel as usize];
        #[expect(unsafe_code, reason = "the one place where kernels are launched")]
        // SAFETY: `schedule` pairs each kernel with the structure that it declares (`arguments` mirrors the sources), and
        // its addresses lie in the batch's buffer, which the session keeps until the stream has passed.
        unsafe {
            stream.launch(function, launch.grid, launch.threads, launch.arguments.bytes())
        }
    }

    /// Queues a kernel for decoded pictures with the bytes of its structure.
    pub fn launch_picture(
        &self,
        stream: &Stream,
        kernel: PictureKernel,
        grid: [u32; 3],
        arguments: &[u8],
    ) -> Result<(), DeviceError> {
        let function = self.pictures[kernel as usize];
        #[expect(unsafe_code, reason = "the one place where kernels are launched")]
        // SAFETY: `picture` pairs each kernel with the structure that it declares, and what it addresses are surfaces and
        // buffers that are kept until the stream has passed.
        unsafe {
            stream.launch(function, grid, THREADS, arguments)
        }
    }

    /// The device computes VIF's logarithms; each of them must be the CPU's.
    pub fn check_logarithms(&self, context: &Context) -> Result<(), DeviceError> {
        let stream = Stream::new(context)?;
        let buffer = Buffer::new(context, 4 * LOGARITHMS)?;
        let mut pinned = Pinned::new(context, 4 * LOGARITHMS)?;
        let grid = [LOGARITHMS as u32 / THREADS, 1, 1];
        #[expect(unsafe_code, reason = "the one place where kernels are launched")]
        // SAFETY: the kernel takes one address and writes a 32-bit number for each of its threads there; the buffer has
        // room for them and outlives the wait below.
        unsafe {
            stream.launch(self.logarithms, grid, THREADS, &buffer.address().to_ne_bytes())?;
        }
        stream.read_back(&buffer, 0, &mut pinned, 4 * LOGARITHMS)?;
        stream.wait()?;
        let values = pinned
            .bytes()
            .chunks_exact(4)
            .map(|four| i32::from_ne_bytes([four[0], four[1], four[2], four[3]]));
        let pairs = values.zip(vif_log2()).enumerate();
        match pairs
            .map(|(n, (value, entry))| (n, value, i32::from(*entry)))
            .find(|(_, value, entry)| value != entry)
        {
            None => Ok(()),
            Some((n, value, entry)) => Err(DeviceError::SelfTest {
                reason: format!("2048 log2({}) is {entry}, not {value}", n + LOGARITHMS),
            }),
        }
    }
}

/// Kernels are named after their source.
fn module_of<'a>(modules: &'a [Module], kernel: &str) -> &'a Module {
    let place = PTX_FILES.iter().position(|(source, _)| kernel.starts_with(source));
    // `log2_table` is VIF's.
    &modules[place.unwrap_or(PTX_FILES.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_in_the_ptx_of_its_source() {
        let has = |file: usize, kernel: &str| PTX_FILES[file].1.contains(&format!(".entry {kernel}("));
        for (place, kernel) in Kernel::ALL.iter().enumerate() {
            assert_eq!(*kernel as usize, place, "functions are found by this number");
            let file = PTX_FILES.iter().position(|(source, _)| kernel.name().starts_with(source));
            assert!(has(file.unwrap(), kernel.name()), "{}", kernel.name());
        }
        let pictures = PTX_FILES.iter().position(|(source, _)| *source == "picture").unwrap();
        assert!(PICTURE_KERNELS.iter().all(|kernel| has(pictures, kernel)));
        assert_eq!(PICTURE_KERNELS[PictureKernel::Compare as usize], "picture_compare");
        assert!(has(PTX_FILES.len() - 1, "log2_table"));
    }

    #[test]
    fn arguments_have_the_size_that_the_kernels_declare() {
        use crate::arguments::{
            Cambi, CambiLoad, Decimate, Mask, Motion, Psnr, Speed, Statistic, Total, Wavelet,
        };
        use crate::cuda::picture::{Cells, Compare, Unpack};
        let sizes = [
            ("picture_unpack_u8", size_of::<Unpack>()),
            ("picture_cells_u8", size_of::<Cells>()),
            ("picture_compare", size_of::<Compare>()),
            ("motion_u8", size_of::<Motion>()),
            ("vif_decimate_u8", size_of::<Decimate>()),
            ("vif_statistic_u8", size_of::<Statistic>()),
            ("adm_wavelet_u8", size_of::<Wavelet>()),
            ("adm_mask_short", size_of::<Mask>()),
            ("adm_total", size_of::<Total>()),
            ("cambi_load_u8", size_of::<CambiLoad>()),
            ("cambi_contrast", size_of::<Cambi>()),
            ("speed_statistic", size_of::<Speed>()),
            ("psnr_u8", size_of::<Psnr>()),
        ];
        for (kernel, bytes) in sizes {
            let declared = format!("{kernel}_param_0[{bytes}]");
            assert!(PTX_FILES.iter().any(|(_, ptx)| ptx.contains(&declared)), "{declared}");
        }
    }
}
