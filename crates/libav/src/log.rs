//! What FFmpeg's libraries say while they decode, and of which file they say it.
//!
//! There is one listener in a process. A line that is said on a thread that is calling for a file belongs to this file; one that a
//! decoder says on a thread of its own belongs to the file whose number its context bears. What belongs to nobody is told to all:
//! a complaint too many costs time, one too few would hide damage.
//!
//! A line is judged by its format string, without the numbers in it: that has the words by which damage is known.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use libloading::Library;

use crate::bindings::{
    AV_LOG_ERROR, AV_LOG_FATAL, AV_LOG_INFO, AV_LOG_PANIC, AV_LOG_WARNING, AVClass, AVCodecContext,
};

/// C passes a list of arguments as a pointer, on every system that is known here; it is not looked at.
type Callback = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *mut c_void);

/// Whether a line tells of damage: its level as ffmpeg names it, and its words.
pub type IsDamage = fn(&str, &str) -> bool;

/// All ears of this process.
static EARS: Mutex<Vec<Weak<Ear>>> = Mutex::new(Vec::new());
/// The class that all contexts of decoders bear.
static DECODERS: AtomicPtr<AVClass> = AtomicPtr::new(std::ptr::null_mut());
/// The number of the next ear; 0 is nobody.
static NEXT: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// The ear whose file this thread is calling for.
    static CALLING: Cell<usize> = const { Cell::new(0) };
}

/// Becomes the process's listener.
pub fn listen(library: &Library) -> Result<(), String> {
    type SetCallback = unsafe extern "C" fn(Option<Callback>);
    type ClassOf = unsafe extern "C" fn() -> *const AVClass;
    // SAFETY: these are the signatures of `av_log_set_callback` and `avcodec_get_class` in all versions.
    unsafe {
        let class = library.get::<ClassOf>(c"avcodec_get_class").map_err(|error| error.to_string())?;
        let set = library.get::<SetCallback>(c"av_log_set_callback").map_err(|error| error.to_string())?;
        DECODERS.store(class().cast_mut(), Ordering::Release);
        set(Some(hear));
    }
    Ok(())
}

/// Hears what is said of one file.
pub struct Ear {
    pub number: usize,
    is_damage: IsDamage,
    heard: Mutex<Option<String>>,
}

impl Ear {
    pub fn new(is_damage: IsDamage) -> Arc<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let ear = Arc::new(Self { number, is_damage, heard: Mutex::default() });
        let mut all = lock(&EARS);
        all.retain(|ear| ear.strong_count() > 0);
        all.push(Arc::downgrade(&ear));
        ear
    }

    /// The first damage that was told of.
    pub fn damage(&self) -> Option<String> {
        lock(&self.heard).clone()
    }

    /// For as long as this lives, the thread is calling for this file.
    pub fn calling(&self) -> Calling {
        Calling(CALLING.replace(self.number))
    }

    fn hear(&self, level: &str, words: &str) {
        if (self.is_damage)(level, words) {
            lock(&self.heard).get_or_insert_with(|| words.trim().to_owned());
        }
    }
}

/// Ends with the file that was called for before.
pub struct Calling(usize);

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.set(self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" fn hear(speaker: *mut c_void, level: c_int, format: *const c_char, _: *mut c_void) {
    let Some(level) = name_of(level) else { return };
    if format.is_null() {
        return;
    }
    // SAFETY: a format string ends with a zero byte and stays while this function runs.
    let words = unsafe { CStr::from_ptr(format) }.to_string_lossy();
    // SAFETY: whoever speaks passes null or an object that begins with a pointer to its class.
    let own = unsafe { number_of(speaker) };
    let number = CALLING.try_with(Cell::get).ok().filter(|number| *number != 0).or(own);
    tell(number, level, &words);
}

/// Tells one ear, or all.
fn tell(number: Option<usize>, level: &str, words: &str) {
    let all: Vec<Arc<Ear>> = lock(&EARS).iter().filter_map(Weak::upgrade).collect();
    let meant = |ear: &&Arc<Ear>| number.is_none_or(|number| number == ear.number);
    all.iter().filter(meant).for_each(|ear| ear.hear(level, words));
}

/// The number that a decoder's context bears: copies for its threads bear it, too.
///
/// # Safety
/// The pointer is null or leads to an object that begins with a pointer to its class, as FFmpeg's objects that speak do.
unsafe fn number_of(speaker: *mut c_void) -> Option<usize> {
    // SAFETY: as above.
    let class = unsafe { speaker.cast::<*const AVClass>().as_ref() }?;
    if class.is_null() || !std::ptr::eq(*class, DECODERS.load(Ordering::Acquire)) {
        return None;
    }
    // SAFETY: only contexts of decoders have this class.
    let number = unsafe { (*speaker.cast::<AVCodecContext>()).opaque }.addr();
    (number != 0).then_some(number)
}

/// As the ffmpeg program writes levels; none for what it would not show.
fn name_of(level: c_int) -> Option<&'static str> {
    // Colours are in the upper bits.
    match level & 0xff {
        level if level <= AV_LOG_PANIC as c_int => Some("panic"),
        level if level <= AV_LOG_FATAL as c_int => Some("fatal"),
        level if level <= AV_LOG_ERROR as c_int => Some("error"),
        level if level <= AV_LOG_WARNING as c_int => Some("warning"),
        level if level <= AV_LOG_INFO as c_int => Some("info"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything_is_damage(level: &str, _words: &str) -> bool {
        level == "error"
    }

    /// As C calls it.
    fn say(speaker: *mut c_void, level: u32, words: &CStr) {
        // SAFETY: the speaker is null, and the text ends with a zero byte.
        unsafe { hear(speaker, level as c_int, words.as_ptr(), std::ptr::null_mut()) }
    }

    #[test]
    fn a_line_belongs_to_the_file_that_is_called_for_and_else_to_all() {
        let (one, other) = (Ear::new(everything_is_damage), Ear::new(everything_is_damage));
        {
            let _calling = one.calling();
            say(std::ptr::null_mut(), AV_LOG_WARNING, c"only a warning");
            assert_eq!(one.damage(), None);
            say(std::ptr::null_mut(), AV_LOG_ERROR, c"first %d\n");
            say(std::ptr::null_mut(), AV_LOG_ERROR, c"second");
        }
        assert_eq!((one.damage().as_deref(), other.damage()), (Some("first %d"), None));
        say(std::ptr::null_mut(), AV_LOG_ERROR, c"to whom it may concern");
        assert_eq!(one.damage().as_deref(), Some("first %d"));
        assert_eq!(other.damage().as_deref(), Some("to whom it may concern"));
    }

    #[test]
    fn levels() {
        assert_eq!(name_of(0), Some("panic"));
        assert_eq!(name_of(AV_LOG_ERROR as c_int | 0x1200), Some("error"));
        assert_eq!(name_of(AV_LOG_INFO as c_int), Some("info"));
        assert_eq!(name_of(AV_LOG_INFO as c_int + 1), None);
    }
}
