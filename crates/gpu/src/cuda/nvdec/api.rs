//! NVIDIA's video decoding library as it is called: structures, numbers and functions. Nothing here decides anything.
//!
//! The library belongs to the driver, not to the toolkit, and is loaded when it is first asked for. Layouts are those of its
//! public interface, version 9 and later; the tests compare sizes and offsets with those that a C compiler gives them.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_short, c_uint, c_ulong, c_ulonglong, c_void};
use std::sync::OnceLock;

use libloading::Library;

/// Names of the library, most likely first.
const NAMES: [&str; 3] = ["libnvcuvid.so.1", "libnvcuvid.so", "nvcuvid.dll"];

/// A result of the driver; 0 is success.
pub type Status = c_int;
pub type ParserHandle = *mut c_void;
pub type DecoderHandle = *mut c_void;

pub const CHROMA_420: c_int = 1;
pub const SURFACE_NV12: c_int = 0;
pub const SURFACE_P016: c_int = 1;
/// Use the dedicated engines directly.
pub const PREFER_CUVID: c_ulong = 4;
pub const END_OF_STREAM: c_ulong = 1;
pub const END_OF_PICTURE: c_ulong = 8;
/// Smallest status that means an error.
pub const STATUS_ERROR: c_int = 8;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Caps {
    pub codec: c_int,
    pub chroma: c_int,
    pub depth_above_8: c_uint,
    pub reserved1: [c_uint; 3],
    pub is_supported: u8,
    pub engines: u8,
    pub output_formats: u16,
    pub max_width: c_uint,
    pub max_height: c_uint,
    pub max_blocks: c_uint,
    pub min_width: u16,
    pub min_height: u16,
    pub histogram: u8,
    pub counter_depth: u8,
    pub histogram_bins: u16,
    pub reserved3: [c_uint; 10],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortRectangle {
    pub left: c_short,
    pub top: c_short,
    pub right: c_short,
    pub bottom: c_short,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CreateInfo {
    pub width: c_ulong,
    pub height: c_ulong,
    pub decode_surfaces: c_ulong,
    pub codec: c_int,
    pub chroma: c_int,
    pub flags: c_ulong,
    pub depth_above_8: c_ulong,
    pub intra_only: c_ulong,
    pub max_width: c_ulong,
    pub max_height: c_ulong,
    pub reserved1: c_ulong,
    pub display_area: ShortRectangle,
    pub output_format: c_int,
    pub deinterlacing: c_int,
    pub target_width: c_ulong,
    pub target_height: c_ulong,
    pub output_surfaces: c_ulong,
    pub lock: *mut c_void,
    pub target_area: ShortRectangle,
    pub histogram: c_ulong,
    pub reserved2: [c_ulong; 4],
}

/// The beginning of a picture's parameters; the rest goes from the parser to the decoder as it is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PictureStart {
    pub width_in_blocks: c_int,
    pub height_in_blocks: c_int,
    pub index: c_int,
    pub is_field: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MapParameters {
    pub progressive: c_int,
    pub second_field: c_int,
    pub top_field_first: c_int,
    pub unpaired_field: c_int,
    pub reserved_flags: c_uint,
    pub reserved_zero: c_uint,
    pub raw_input: c_ulonglong,
    pub raw_input_pitch: c_uint,
    pub raw_input_format: c_uint,
    pub raw_output: c_ulonglong,
    pub raw_output_pitch: c_uint,
    pub reserved1: c_uint,
    pub stream: *mut c_void,
    pub reserved: [c_uint; 46],
    pub histogram: *mut c_ulonglong,
    pub reserved2: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DecodeStatus {
    pub status: c_int,
    pub reserved: [c_uint; 31],
    pub more: [*mut c_void; 8],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rectangle {
    pub left: c_int,
    pub top: c_int,
    pub right: c_int,
    pub bottom: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoFormat {
    pub codec: c_int,
    pub frame_rate: [c_uint; 2],
    pub is_progressive: u8,
    pub luma_depth_above_8: u8,
    pub chroma_depth_above_8: u8,
    pub min_surfaces: u8,
    pub coded_width: c_uint,
    pub coded_height: c_uint,
    pub display_area: Rectangle,
    pub chroma: c_int,
    pub bit_rate: c_uint,
    pub aspect: [c_int; 2],
    pub signal: [u8; 4],
    pub header_bytes: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flags: c_ulong,
    pub bytes: c_ulong,
    pub data: *const u8,
    pub timestamp: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DisplayInfo {
    pub index: c_int,
    pub progressive: c_int,
    pub top_field_first: c_int,
    pub repeat_first_field: c_int,
    pub timestamp: i64,
}

pub type OnSequence = extern "C" fn(*mut c_void, *const VideoFormat) -> c_int;
pub type OnDecode = extern "C" fn(*mut c_void, *mut PictureStart) -> c_int;
pub type OnDisplay = extern "C" fn(*mut c_void, *const DisplayInfo) -> c_int;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ParserParameters {
    pub codec: c_int,
    pub surfaces: c_uint,
    pub clock_rate: c_uint,
    pub error_threshold: c_uint,
    pub display_delay: c_uint,
    pub flags: c_uint,
    pub reserved1: [c_uint; 4],
    pub user: *mut c_void,
    pub on_sequence: OnSequence,
    pub on_decode: OnDecode,
    pub on_display: OnDisplay,
    /// Operating points and messages, which nobody asks for.
    pub others: [*mut c_void; 2],
    pub reserved2: [*mut c_void; 5],
    pub more: *mut c_void,
}

/// The functions of the library.
pub struct Api {
    pub get_caps: unsafe extern "C" fn(*mut Caps) -> Status,
    pub create_decoder: unsafe extern "C" fn(*mut DecoderHandle, *mut CreateInfo) -> Status,
    pub destroy_decoder: unsafe extern "C" fn(DecoderHandle) -> Status,
    pub decode: unsafe extern "C" fn(DecoderHandle, *mut PictureStart) -> Status,
    pub status: unsafe extern "C" fn(DecoderHandle, c_int, *mut DecodeStatus) -> Status,
    pub map: unsafe extern "C" fn(
        DecoderHandle,
        c_int,
        *mut c_ulonglong,
        *mut c_uint,
        *mut MapParameters,
    ) -> Status,
    pub unmap: unsafe extern "C" fn(DecoderHandle, c_ulonglong) -> Status,
    pub create_parser: unsafe extern "C" fn(*mut ParserHandle, *mut ParserParameters) -> Status,
    pub parse: unsafe extern "C" fn(ParserHandle, *mut Packet) -> Status,
    pub destroy_parser: unsafe extern "C" fn(ParserHandle) -> Status,
    /// What the functions belong to.
    _library: Library,
}

impl Api {
    /// The library of this machine, loaded once, or why it cannot be used.
    pub fn get() -> Result<&'static Self, String> {
        static API: OnceLock<Result<Api, String>> = OnceLock::new();
        API.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, String> {
        // SAFETY: only the driver's own library is loaded; loading it runs its initialisers.
        let library = NAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let library = library.ok_or("the driver's video library (libnvcuvid.so.1) is not installed")?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the function of this name has had this type since the first version of the interface.
                *unsafe { library.get($name) }
                    .map_err(|error| format!("the driver's video library is too old: {error}"))?
            };
        }
        Ok(Self {
            get_caps: function!("cuvidGetDecoderCaps"),
            create_decoder: function!("cuvidCreateDecoder"),
            destroy_decoder: function!("cuvidDestroyDecoder"),
            decode: function!("cuvidDecodePicture"),
            status: function!("cuvidGetDecodeStatus"),
            map: function!("cuvidMapVideoFrame64"),
            unmap: function!("cuvidUnmapVideoFrame64"),
            create_parser: function!("cuvidCreateVideoParser"),
            parse: function!("cuvidParseVideoData"),
            destroy_parser: function!("cuvidDestroyVideoParser"),
            _library: library,
        })
    }
}

/// `long` has eight bytes on 64-bit systems but Windows.
const _: () = assert!(size_of::<c_long>() == size_of::<c_ulong>());

#[cfg(all(test, target_pointer_width = "64", not(windows)))]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn structures_have_the_sizes_that_the_library_expects() {
        assert_eq!(size_of::<Caps>(), 88);
        assert_eq!(size_of::<CreateInfo>(), 176);
        assert_eq!(size_of::<MapParameters>(), 264);
        assert_eq!(size_of::<DecodeStatus>(), 192);
        assert_eq!(size_of::<VideoFormat>(), 64);
        assert_eq!(size_of::<Packet>(), 32);
        assert_eq!(size_of::<DisplayInfo>(), 24);
        assert_eq!(size_of::<ParserParameters>(), 136);
    }

    #[test]
    fn fields_lie_where_the_library_looks_for_them() {
        assert_eq!(offset_of!(Caps, max_blocks), 36);
        assert_eq!(offset_of!(CreateInfo, display_area), 80);
        assert_eq!(offset_of!(CreateInfo, output_format), 88);
        assert_eq!(offset_of!(CreateInfo, target_area), 128);
        assert_eq!(offset_of!(MapParameters, stream), 56);
        assert_eq!(offset_of!(MapParameters, histogram), 248);
        assert_eq!(offset_of!(VideoFormat, display_area), 24);
        assert_eq!(offset_of!(VideoFormat, header_bytes), 60);
        assert_eq!(offset_of!(ParserParameters, user), 40);
        assert_eq!(offset_of!(ParserParameters, more), 128);
        assert_eq!(offset_of!(PictureStart, index), 8);
    }
}
