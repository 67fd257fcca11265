//! libvmaf's API as C has it, from a shared library that is loaded by its path.
#![allow(dead_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use libloading::Library;

pub const EINVAL: c_int = -22;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    pub log_level: c_int,
    pub n_threads: c_uint,
    pub n_subsample: c_uint,
    pub cpumask: u64,
    pub gpumask: u64,
}

/// In the caller's thread, plain C paths, silent.
pub const QUIET: Configuration =
    Configuration { log_level: 0, n_threads: 0, n_subsample: 0, cpumask: u64::MAX, gpumask: 0 };

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PictureConfiguration {
    pub w: c_uint,
    pub h: c_uint,
    pub bpc: c_uint,
    pub pix_fmt: c_int,
    pub pic_cnt: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    pub pix_fmt: c_int,
    pub bpc: c_uint,
    pub w: [c_uint; 3],
    pub h: [c_uint; 3],
    pub stride: [isize; 3],
    pub data: [*mut c_void; 3],
    pub reference: *mut c_void,
    pub private: *mut c_void,
}

impl Picture {
    pub const ZERO: Self = Self {
        pix_fmt: 0,
        bpc: 0,
        w: [0; 3],
        h: [0; 3],
        stride: [0; 3],
        data: [null_mut(); 3],
        reference: null_mut(),
        private: null_mut(),
    };

    pub fn is_zero(&self) -> bool {
        let pointers = self.data.iter().chain([&self.reference, &self.private]);
        pointers.into_iter().all(|pointer| pointer.is_null()) && self.w == [0; 3] && self.pix_fmt == 0
    }

    /// Fills every sample.
    pub fn fill(&mut self, sample: impl Fn(usize, usize, usize) -> u16) {
        for plane in 0..3 {
            for y in 0..self.h[plane] as usize {
                for x in 0..self.w[plane] as usize {
                    let row = self.data[plane].cast::<u8>().wrapping_offset(y as isize * self.stride[plane]);
                    let value = sample(plane, x, y);
                    // SAFETY: the library says that the plane has so many rows of so many samples.
                    unsafe {
                        match self.bpc {
                            8 => row.add(x).write(value as u8),
                            _ => row.cast::<u16>().add(x).write(value),
                        }
                    }
                }
            }
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ModelConfig {
    pub name: *const c_char,
    pub flags: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CollectionScore {
    pub kind: c_int,
    pub bagging: f64,
    pub stddev: f64,
    pub low: f64,
    pub high: f64,
}

macro_rules! api {
    ($($name:ident: fn($($kind:ty),*) $(-> $result:ty)?;)*) => {
        /// All functions of the API, by the names that follow `vmaf_`.
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)*
            library: std::mem::ManuallyDrop<Library>,
        }

        /// The exported names.
        pub const NAMES: &[&str] = &[$(concat!("vmaf_", stringify!($name))),*];

        impl Api {
            pub fn load(path: &Path) -> Self {
                // SAFETY: a library without initialisers that matter, and functions with the types of the API's headers.
                unsafe {
                    let library = Library::new(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                    Self {
                        $($name: *library.get(concat!("vmaf_", stringify!($name), "\0").as_bytes()).unwrap(),)*
                        library: std::mem::ManuallyDrop::new(library),
                    }
                }
            }
        }
    };
}

type Object = *mut c_void;

api! {
    version: fn() -> *const c_char;
    init: fn(*mut Object, Configuration) -> c_int;
    close: fn(Object) -> c_int;
    use_features_from_model: fn(Object, Object) -> c_int;
    use_features_from_model_collection: fn(Object, Object) -> c_int;
    use_feature: fn(Object, *const c_char, Object) -> c_int;
    import_feature_score: fn(Object, *const c_char, f64, c_uint) -> c_int;
    read_pictures: fn(Object, *mut Picture, *mut Picture, c_uint) -> c_int;
    score_at_index: fn(Object, Object, *mut f64, c_uint) -> c_int;
    score_at_index_model_collection: fn(Object, Object, *mut CollectionScore, c_uint) -> c_int;
    feature_score_at_index: fn(Object, *const c_char, *mut f64, c_uint) -> c_int;
    score_pooled: fn(Object, Object, c_int, *mut f64, c_uint, c_uint) -> c_int;
    score_pooled_model_collection: fn(Object, Object, c_int, *mut CollectionScore, c_uint, c_uint) -> c_int;
    feature_score_pooled: fn(Object, *const c_char, c_int, *mut f64, c_uint, c_uint) -> c_int;
    preallocate_pictures: fn(Object, PictureConfiguration) -> c_int;
    fetch_preallocated_picture: fn(Object, *mut Picture) -> c_int;
    write_output: fn(Object, *const c_char, c_int) -> c_int;
    model_load: fn(*mut Object, *mut ModelConfig, *const c_char) -> c_int;
    model_load_from_path: fn(*mut Object, *mut ModelConfig, *const c_char) -> c_int;
    model_feature_overload: fn(Object, *const c_char, Object) -> c_int;
    model_destroy: fn(Object);
    model_collection_load: fn(*mut Object, *mut Object, *mut ModelConfig, *const c_char) -> c_int;
    model_collection_load_from_path: fn(*mut Object, *mut Object, *mut ModelConfig, *const c_char) -> c_int;
    model_collection_feature_overload: fn(Object, *mut Object, *const c_char, Object) -> c_int;
    model_collection_destroy: fn(Object);
    picture_alloc: fn(*mut Picture, c_int, c_uint, c_uint, c_uint) -> c_int;
    picture_unref: fn(*mut Picture) -> c_int;
    feature_dictionary_set: fn(*mut Object, *const c_char, *const c_char) -> c_int;
    feature_dictionary_free: fn(*mut Object) -> c_int;
}

/// Our library, as cargo built it for this test.
pub fn ours() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let name = format!("{}vmaf{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let folders = test.ancestors().skip(1).take(2).map(|folder| folder.join(&name));
    let found = folders.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not beside {}", test.display()))
}

pub fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

impl Api {
    pub fn ours() -> Self {
        Self::load(&ours())
    }

    /// Other tests may use it still: it goes with the last.
    pub fn unload(self) {
        drop(std::mem::ManuallyDrop::into_inner(self.library));
    }

    pub fn version_text(&self) -> String {
        // SAFETY: the version is a static string.
        unsafe { CStr::from_ptr((self.version)()) }.to_str().unwrap().to_owned()
    }

    pub fn context(&self, configuration: Configuration) -> Object {
        let mut context = null_mut();
        // SAFETY: the pointer is a variable's.
        assert_eq!(unsafe { (self.init)(&mut context, configuration) }, 0);
        context
    }

    pub fn model(&self, version: &str, name: Option<&str>, flags: u64) -> (c_int, Object) {
        let (version, name) = (c(version), name.map(c));
        let mut config =
            ModelConfig { name: name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()), flags };
        let mut model = null_mut();
        // SAFETY: pointers are variables', strings end with zeros.
        let code = unsafe { (self.model_load)(&mut model, &mut config, version.as_ptr()) };
        (code, if code == 0 { model } else { null_mut() })
    }

    pub fn collection(&self, version: &str) -> (c_int, Object, Object) {
        let version = c(version);
        let mut config = ModelConfig { name: std::ptr::null(), flags: 0 };
        let (mut model, mut collection) = (null_mut(), null_mut());
        // SAFETY: pointers are variables', strings end with zeros.
        let code = unsafe {
            (self.model_collection_load)(&mut model, &mut collection, &mut config, version.as_ptr())
        };
        (code, model, collection)
    }

    pub fn picture(&self, format: c_int, bits: c_uint, width: c_uint, height: c_uint) -> (c_int, Picture) {
        let mut picture = Picture::ZERO;
        // SAFETY: the pointer is a variable's.
        let code = unsafe { (self.picture_alloc)(&mut picture, format, bits, width, height) };
        (code, picture)
    }

    pub fn dictionary(&self, entries: &[(&str, &str)]) -> Object {
        let mut dictionary = null_mut();
        for (key, value) in entries {
            // SAFETY: the pointer is a variable's, strings end with zeros.
            let code =
                unsafe { (self.feature_dictionary_set)(&mut dictionary, c(key).as_ptr(), c(value).as_ptr()) };
            assert_eq!(code, 0);
        }
        dictionary
    }

    pub fn feature(&self, context: Object, name: &str, options: &[(&str, &str)]) -> c_int {
        // SAFETY: the string ends with a zero.
        unsafe { (self.use_feature)(context, c(name).as_ptr(), self.dictionary(options)) }
    }

    pub fn feature_score(&self, context: Object, name: &str, index: c_uint) -> (c_int, f64) {
        let mut score = 0.0;
        // SAFETY: the pointer is a variable's, the string ends with a zero.
        let code = unsafe { (self.feature_score_at_index)(context, c(name).as_ptr(), &mut score, index) };
        (code, score)
    }

    pub fn score(&self, context: Object, model: Object, index: c_uint) -> (c_int, f64) {
        let mut score = 0.0;
        // SAFETY: the pointer is a variable's.
        let code = unsafe { (self.score_at_index)(context, model, &mut score, index) };
        (code, score)
    }

    pub fn pooled(
        &self,
        context: Object,
        model: Object,
        method: c_int,
        low: c_uint,
        high: c_uint,
    ) -> (c_int, f64) {
        let mut score = 0.0;
        // SAFETY: the pointer is a variable's.
        let code = unsafe { (self.score_pooled)(context, model, method, &mut score, low, high) };
        (code, score)
    }

    /// Hands over a pair of moving patterns.
    pub fn read(
        &self,
        context: Object,
        format: c_int,
        bits: c_uint,
        size: (c_uint, c_uint),
        index: c_uint,
    ) -> c_int {
        let (code, mut reference) = self.picture(format, bits, size.0, size.1);
        assert_eq!(code, 0);
        let (_, mut distorted) = self.picture(format, bits, size.0, size.1);
        let peak = (1u32 << bits) - 1;
        let wave = move |plane: usize, x: usize, y: usize| {
            let t = index as usize;
            let value = 97 * ((x + 2 * t) / 5) + 61 * ((y + t) / 3) + 31 * plane + (x * y) % 23;
            value as u32 % 200 * peak / 255
        };
        reference.fill(|plane, x, y| wave(plane, x, y) as u16);
        distorted.fill(|plane, x, y| {
            (wave(plane, x, y) + (x as u32 * 7 + y as u32) % 9 * peak / 255).min(peak) as u16
        });
        // SAFETY: both are pictures of the library's.
        let code = unsafe { (self.read_pictures)(context, &mut reference, &mut distorted, index) };
        // Real libvmaf leaves them to the caller after some errors.
        // SAFETY: as above.
        unsafe {
            (self.picture_unref)(&mut reference);
            (self.picture_unref)(&mut distorted);
        }
        code
    }

    pub fn flush(&self, context: Object) -> c_int {
        // SAFETY: null pictures mean the end.
        unsafe { (self.read_pictures)(context, null_mut(), null_mut(), 0) }
    }

    /// The log, without what differs between two runs: version and speed.
    pub fn log(&self, context: Object, format: c_int) -> (c_int, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        // SAFETY: the string ends with a zero.
        let code = unsafe { (self.write_output)(context, c(path.to_str().unwrap()).as_ptr(), format) };
        let text = std::fs::read_to_string(path).unwrap_or_default().replace(&self.version_text(), "VERSION");
        let lines = text.lines().map(|line| match line.split_once("fps") {
            Some((before, _)) => format!("{before}fps\n"),
            None => format!("{line}\n"),
        });
        (code, lines.collect())
    }
}
