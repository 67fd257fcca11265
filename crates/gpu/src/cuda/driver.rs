//! The CUDA driver's calls as owned values. The only file with `unsafe` code of this crate, beside `nvdec`'s.
//!
//! Every value holds its context; what is queued on a stream keeps no borrow, so callers hold buffers and host memory
//! until the stream has passed them (`session` does). All of it may be used from any thread: each call makes its context
//! current first.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};

use crate::error::{CudaVersion, DeviceError};

/// The oldest driver that reads our PTX (ISA 8.0).
const NEEDED: CudaVersion = CudaVersion(12_000);

type Result<T> = std::result::Result<T, DeviceError>;

/// Whether and how a call failed.
fn check<T>(step: &'static str, result: std::result::Result<T, DriverError>) -> Result<T> {
    result.map_err(|error| fault(step, 0, error))
}

fn fault(step: &'static str, needed: usize, error: DriverError) -> DeviceError {
    let reason = reason(error);
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceError::OutOfMemory { step, needed },
        CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => DeviceError::Busy { reason },
        CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => DeviceError::TimedOut { step, reason },
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
        | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUresult::CUDA_ERROR_UNKNOWN => DeviceError::Lost { step, reason },
        _ => DeviceError::Driver { step, reason },
    }
}

fn reason(error: DriverError) -> String {
    match (error.error_name(), error.error_string()) {
        (Ok(name), Ok(text)) => format!("{} ({})", text.to_string_lossy(), name.to_string_lossy()),
        _ => format!("error {:?}", error.0),
    }
}

/// Loads the driver, if there is one that is new enough, and counts its devices.
pub fn load() -> Result<(CudaVersion, usize)> {
    // SAFETY: only looks whether the system's own CUDA library can be loaded; loading it runs its initialisers.
    if !unsafe { sys::is_culib_present() } {
        let reason = "the NVIDIA driver's library (libcuda.so.1, nvcuda.dll) is not installed".to_owned();
        return Err(DeviceError::Unavailable { reason });
    }
    let mut version = 0;
    // SAFETY: the library is present and has this function since its first version; it writes one integer.
    let known = unsafe { sys::cuDriverGetVersion(&raw mut version) }.result();
    known.map_err(|error| DeviceError::Unavailable { reason: reason(error) })?;
    let found = CudaVersion(version);
    if found < NEEDED {
        return Err(DeviceError::DriverTooOld { found, needed: NEEDED });
    }
    let count = result::init().and_then(|()| result::device::get_count());
    let count = count.map_err(|error| DeviceError::Unavailable { reason: reason(error) })?;
    Ok((found, usize::try_from(count).unwrap_or(0)))
}

/// A device's primary context.
#[derive(Clone, Debug)]
pub struct Context(Arc<Retained>);

#[derive(Debug)]
struct Retained {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: a context handle may be used from every thread; the driver locks what it shares.
unsafe impl Send for Retained {}
// SAFETY: as above.
unsafe impl Sync for Retained {}

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: retained once in `Context::open`, released once here, after everything that holds it is gone. A driver
        // that is being unloaded may refuse; there is nothing left to do then.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    pub name: String,
    pub memory: usize,
    pub capability: (i32, i32),
}

impl Context {
    /// `ordinal` is below the count of [`load`].
    pub fn open(ordinal: usize) -> Result<Self> {
        let device = check("open the device", result::device::get(ordinal as i32))?;
        // SAFETY: the handle is that of an existing device.
        let context = check("open the device", unsafe { result::primary_ctx::retain(device) })?;
        let context = Self(Arc::new(Retained { device, context }));
        context.bind()?;
        Ok(context)
    }

    pub fn properties(&self) -> Result<Properties> {
        use sys::CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        };
        let step = "describe the device";
        let device = self.0.device;
        // SAFETY: the handle is that of an existing device.
        let (memory, major, minor) = unsafe {
            let attribute = |which| check(step, result::device::get_attribute(device, which));
            (check(step, result::device::total_mem(device))?, attribute(MAJOR)?, attribute(MINOR)?)
        };
        Ok(Properties {
            name: check(step, result::device::get_name(device))?,
            memory,
            capability: (major, minor),
        })
    }

    /// Free bytes of the device's memory.
    pub fn free_memory(&self) -> Result<usize> {
        self.bind()?;
        Ok(check("ask for free memory", result::mem_get_info())?.0)
    }

    /// Whether another one is that of the same device.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// For calls of libraries that use the current context.
    pub fn make_current(&self) -> Result<()> {
        self.bind()
    }

    fn bind(&self) -> Result<()> {
        // SAFETY: the context is retained as long as `self` lives.
        check("make the device current", unsafe { result::ctx::set_current(self.0.context) })
    }
}

/// Device memory.
#[derive(Debug)]
pub struct Buffer {
    context: Context,
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Buffer {
    pub fn new(context: &Context, bytes: usize) -> Result<Self> {
        context.bind()?;
        // SAFETY: an allocation has no preconditions; the memory is only written and read by copies and kernels.
        let address = unsafe { result::malloc_sync(bytes.max(1)) };
        let address = address.map_err(|error| fault("allocate device memory", bytes, error))?;
        Ok(Self { context: context.clone(), address, bytes })
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    fn range(&self, offset: usize, bytes: usize) -> sys::CUdeviceptr {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.bytes), "a range within the buffer");
        self.address + offset as u64
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` and freed once. The driver waits for work that still uses it.
        let _ = self.context.bind().map(|()| unsafe { result::free_sync(self.address) });
    }
}

/// Host memory that the device copies from without help of the processor.
#[derive(Debug)]
pub struct Pinned {
    context: Context,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory with one owner; the context is `Send`.
unsafe impl Send for Pinned {}
// SAFETY: shared references only read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Of any content: zeros at first, or what an earlier owner left there.
    pub fn new(context: &Context, bytes: usize) -> Result<Self> {
        context.bind()?;
        // SAFETY: an allocation has no preconditions.
        let start = unsafe { result::malloc_host(bytes.max(1), sys::CU_MEMHOSTALLOC_PORTABLE) };
        let start = start.map_err(|error| fault("allocate pinned memory", bytes, error))?.cast::<u8>();
        Ok(Self { context: context.clone(), start, bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` has `bytes` bytes as long as `self` lives, pages of the system that it or the driver has written
        // (they are mapped and locked before the driver hands them out). Nobody writes while they are borrowed:
        // copies into pinned memory are only queued through an exclusive reference and awaited before the next one.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the reference is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` and freed once.
        let _ = self.context.bind().map(|()| unsafe { result::free_host(self.start.cast::<c_void>()) });
    }
}

/// A point in a stream.
#[derive(Debug)]
pub struct Event {
    context: Context,
    event: sys::CUevent,
}

// SAFETY: an event handle may be used from every thread.
unsafe impl Send for Event {}

impl Event {
    /// Timed events cost a little more.
    pub fn new(context: &Context, timed: bool) -> Result<Self> {
        context.bind()?;
        let flags = if timed {
            sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC
        } else {
            sys::CUevent_flags::CU_EVENT_DISABLE_TIMING
        };
        let event = check("create an event", result::event::create(flags))?;
        Ok(Self { context: context.clone(), event })
    }

    /// Whoever waits for it sleeps.
    pub fn blocking(context: &Context) -> Result<Self> {
        Self::new(context, true)
    }

    pub fn record(&self, stream: &Stream) -> Result<()> {
        self.context.bind()?;
        // SAFETY: both handles are alive.
        check("record an event", unsafe { result::event::record(self.event, stream.stream) })
    }

    /// Waits until the stream has passed the point. What went wrong before it shows here.
    pub fn wait(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the handle is alive.
        check("wait for the device", unsafe { result::event::synchronize(self.event) })
    }

    pub fn has_passed(&self) -> Result<bool> {
        self.context.bind()?;
        // SAFETY: the handle is alive.
        match unsafe { result::event::query(self.event) } {
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            other => check("look at an event", other).map(|()| true),
        }
    }

    /// Milliseconds from an earlier event to this one; both are timed and have passed.
    pub fn since(&self, earlier: &Self) -> Result<f32> {
        self.context.bind()?;
        // SAFETY: both handles are alive.
        check("read the device's clock", unsafe { result::event::elapsed(earlier.event, self.event) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `new` and destroyed once.
        let _ = self.context.bind().map(|()| unsafe { result::event::destroy(self.event) });
    }
}

/// Compiled kernels.
#[derive(Debug)]
pub struct Module {
    context: Context,
    module: sys::CUmodule,
}

// SAFETY: a module handle may be used from every thread.
unsafe impl Send for Module {}
// SAFETY: as above; nothing changes a module after it was loaded.
unsafe impl Sync for Module {}

/// A kernel; its module must be alive when it is launched.
#[derive(Clone, Copy, Debug)]
pub struct Function(sys::CUfunction);

// SAFETY: a function handle may be used from every thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Module {
    /// The driver compiles the text for the device, or finds it in its cache.
    pub fn new(context: &Context, ptx: &str) -> Result<Self> {
        context.bind()?;
        let step = "compile the kernels";
        let text = CString::new(ptx)
            .map_err(|_| DeviceError::Driver { step, reason: "the PTX has a zero byte".to_owned() })?;
        // SAFETY: the image is a text that ends with a zero byte, as PTX must.
        let module = check(step, unsafe { result::module::load_data(text.as_ptr().cast::<c_void>()) })?;
        Ok(Self { context: context.clone(), module })
    }

    pub fn function(&self, name: &str) -> Result<Function> {
        let step = "find a kernel";
        let text = CString::new(name)
            .map_err(|_| DeviceError::Driver { step, reason: format!("{name:?} is no name") })?;
        // SAFETY: the module is alive.
        let function = unsafe { result::module::get_function(self.module, text) };
        function.map(Function).map_err(|error| fault(step, 0, error))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded in `new` and unloaded once.
        let _ = self.context.bind().map(|()| unsafe { result::module::unload(self.module) });
    }
}

/// Work in order, beside that of other streams.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    stream: sys::CUstream,
}

// SAFETY: a stream handle may be used from every thread.
unsafe impl Send for Stream {}

impl Stream {
    pub fn new(context: &Context) -> Result<Self> {
        context.bind()?;
        let stream =
            check("create a stream", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Self { context: context.clone(), stream })
    }

    /// Zeros in a part of a buffer.
    pub fn clear(&self, buffer: &Buffer, range: std::ops::Range<usize>) -> Result<()> {
        self.context.bind()?;
        let address = buffer.range(range.start, range.len());
        // SAFETY: the range lies within the buffer, which its owner keeps until the stream has passed.
        check("clear sums", unsafe { result::memset_d8_async(address, 0, range.len(), self.stream) })
    }

    /// Copies rows of a picture into a buffer, where they are `pitch` bytes apart. The picture must stay where it is until
    /// the stream has passed.
    pub fn upload(&self, picture: &Rows<'_>, buffer: &Buffer, offset: usize, pitch: usize) -> Result<()> {
        self.context.bind()?;
        let step = "copy a picture to the device";
        let Rows { bytes, pitch: from, width, height } = *picture;
        assert!(height > 0 && (height - 1) * from + width <= bytes.len() && width <= pitch.min(from));
        if from == pitch {
            let length = (height - 1) * from + width;
            let address = buffer.range(offset, length);
            // SAFETY: source and target have `length` bytes; the caller keeps both until the stream has passed.
            return check(step, unsafe { result::memcpy_htod_async(address, &bytes[..length], self.stream) });
        }
        let address = buffer.range(offset, (height - 1) * pitch + width);
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: bytes.as_ptr().cast::<c_void>(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            srcPitch: from,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: address,
            dstArray: std::ptr::null_mut(),
            dstPitch: pitch,
            WidthInBytes: width,
            Height: height,
        };
        // SAFETY: all rows lie within the slice and within the buffer, as was checked; the caller keeps both.
        check(step, unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, self.stream) }.result())
    }

    /// Copies bytes from one buffer to another; both must be alive until the stream has passed.
    pub fn copy(
        &self,
        from: &Buffer,
        start: usize,
        into: &Buffer,
        offset: usize,
        bytes: usize,
    ) -> Result<()> {
        self.context.bind()?;
        let (source, target) = (from.range(start, bytes), into.range(offset, bytes));
        // SAFETY: both ranges lie within their buffers, which their owners keep until the stream has passed.
        let copied = unsafe { result::memcpy_dtod_async(target, source, bytes, self.stream) };
        check("copy a picture on the device", copied)
    }

    /// For libraries that queue work of their own.
    pub fn handle(&self) -> *mut c_void {
        self.stream.cast::<c_void>()
    }

    /// Copies a part of a buffer to pinned memory, which must not be read before the stream has passed.
    pub fn read_back(&self, buffer: &Buffer, offset: usize, into: &mut Pinned, bytes: usize) -> Result<()> {
        self.context.bind()?;
        let address = buffer.range(offset, bytes);
        let into = &mut into.bytes_mut()[..bytes];
        // SAFETY: source and target have `bytes` bytes; the session keeps both until the stream has passed.
        check("read sums back", unsafe { result::memcpy_dtoh_async(into, address, self.stream) })
    }

    /// Queues a kernel with one structure as its argument.
    ///
    /// # Safety
    /// `arguments` has the layout that the kernel declares, and what it addresses is device memory that is alive until the
    /// stream has passed.
    pub unsafe fn launch(
        &self,
        function: Function,
        grid: [u32; 3],
        threads: u32,
        arguments: &[u8],
    ) -> Result<()> {
        self.context.bind()?;
        let mut parameters = [arguments.as_ptr().cast::<c_void>().cast_mut()];
        let (grid, block) = ((grid[0], grid[1], grid[2]), (threads, 1, 1));
        // SAFETY: the driver copies the arguments before it returns; the rest is the caller's promise.
        let launched =
            unsafe { result::launch_kernel(function.0, grid, block, 0, self.stream, &mut parameters) };
        check("launch a kernel", launched)
    }

    /// Waits for everything queued so far.
    pub fn wait(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the handle is alive.
        check("wait for the device", unsafe { result::stream::synchronize(self.stream) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created in `new` and destroyed once; what is queued is finished first.
        let _ = self.context.bind().map(|()| unsafe {
            let _ = result::stream::synchronize(self.stream);
            result::stream::destroy(self.stream)
        });
    }
}

/// Rows of a picture in host memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub bytes: &'a [u8],
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}
