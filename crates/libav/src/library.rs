//! FFmpeg's libraries: loaded when they are first needed, by the version whose headers were read at build time.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use libloading::Library;

use crate::bindings::{
    Functions, LIBAVCODEC_VERSION_MAJOR, LIBAVFORMAT_VERSION_MAJOR, LIBAVUTIL_VERSION_MAJOR,
};
use crate::log;

/// Where the libraries were when this was built: looked at where the system does not know them by name.
const FOLDER: &str = env!("VISUS_LIBAV_FOLDER");

/// The functions, or why there are none.
pub fn functions() -> Result<&'static Functions, String> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    LOADED.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// As FFmpeg calls itself (`5.1.9-0+deb12u1`), where its libraries can be loaded.
pub fn version() -> Option<String> {
    let functions = functions().ok()?;
    // SAFETY: it takes nothing and returns a constant that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(functions.av_version_info()) };
    Some(name.to_string_lossy().into_owned())
}

fn load() -> Result<Functions, String> {
    let name = if cfg!(target_os = "macos") {
        format!("libavformat.{LIBAVFORMAT_VERSION_MAJOR}.dylib")
    } else {
        format!("libavformat.so.{LIBAVFORMAT_VERSION_MAJOR}")
    };
    let library = open(&name).or_else(|error| open(&format!("{FOLDER}/{name}")).map_err(|_| error))?;
    log::listen(&library)?;
    // SAFETY: the signatures are those of the headers of this library's major version, which its name bears; it looks for functions
    // of libavcodec and libavutil in its own dependencies.
    let functions = unsafe { Functions::from_library(library) }.map_err(|error| error.to_string())?;
    check_versions(&functions)?;
    Ok(functions)
}

fn open(name: &str) -> Result<Library, String> {
    // SAFETY: what runs when FFmpeg's libraries are loaded are ordinary constructors of C, which any thread may run.
    unsafe { Library::new(name) }.map_err(|error| error.to_string())
}

/// The layout of structs is the same within a major version.
fn check_versions(functions: &Functions) -> Result<(), String> {
    // SAFETY: these three take nothing and return a number.
    let found =
        unsafe { [functions.avformat_version(), functions.avcodec_version(), functions.avutil_version()] };
    let expected = [LIBAVFORMAT_VERSION_MAJOR, LIBAVCODEC_VERSION_MAJOR, LIBAVUTIL_VERSION_MAJOR];
    let found = found.map(|version| version >> 16);
    if found == expected {
        return Ok(());
    }
    Err(format!("FFmpeg's libraries have the versions {found:?}; this program was built for {expected:?}"))
}

/// The end of a file or stream: the letters of `EOF `, as FFmpeg makes numbers of them.
pub const END: c_int = -(0x45 | 0x4f << 8 | 0x46 << 16 | 0x20 << 24);

/// Nothing now; more is wanted first.
pub fn is_again(code: c_int) -> bool {
    let system = code.checked_neg().map(std::io::Error::from_raw_os_error);
    system.is_some_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// What an error code says.
pub fn words(functions: &Functions, code: c_int) -> String {
    let mut text = [0u8; 256];
    // SAFETY: the buffer has as many bytes as is said; it is zero, so it ends with one whatever is written.
    unsafe { functions.av_strerror(code, text.as_mut_ptr().cast(), text.len() - 1) };
    let words = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    words.to_string_lossy().into_owned()
}
