//! Options for FFmpeg's functions, as its dictionaries.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::ptr;

use crate::bindings::{AVDictionary, Functions};

/// Options by name; what a function does not know it leaves in.
pub struct Dictionary {
    functions: &'static Functions,
    pub pointer: *mut AVDictionary,
}

impl Dictionary {
    pub fn new(functions: &'static Functions, options: &[(&str, &str)]) -> Result<Self, String> {
        let mut made = Self { functions, pointer: ptr::null_mut() };
        options.iter().try_for_each(|(name, value)| made.set(name, value))?;
        Ok(made)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = |words: &str| CString::new(words).map_err(|_| format!("{words:?} holds a zero byte"));
        let (name, value) = (text(name)?, text(value)?);
        // SAFETY: the pointer is null or a dictionary that this function made; both texts end with a zero byte and are copied.
        let code = unsafe { self.functions.av_dict_set(&mut self.pointer, name.as_ptr(), value.as_ptr(), 0) };
        if code < 0 { Err("no memory for options".to_owned()) } else { Ok(()) }
    }

    /// Frees what a function that was given a copy of the pointer has made of the dictionary.
    pub fn changed_to(mut self, pointer: *mut AVDictionary) {
        self.pointer = pointer;
        drop(self);
    }
}

impl Drop for Dictionary {
    fn drop(&mut self) {
        // SAFETY: null or a dictionary that nobody else has.
        unsafe { self.functions.av_dict_free(&mut self.pointer) }
    }
}
