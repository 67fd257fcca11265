//! A file, opened as the ffmpeg program opens it, and its packets.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

use crate::bindings::{
    AV_PKT_FLAG_CORRUPT, AV_TIME_BASE, AVDISCARD_ALL, AVDISCARD_NONE, AVDictionary, AVFMT_FLAG_NONBLOCK,
    AVFMT_SEEK_TO_PTS, AVFormatContext, AVPacket, AVRational, AVStream, Functions,
};
use crate::dictionary::Dictionary;
use crate::library::{END, is_again, words};

/// No time is known.
pub const NO_TIME: i64 = i64::MIN;
/// Times of a whole file are in microseconds.
const MICROSECONDS: AVRational = AVRational { num: 1, den: AV_TIME_BASE as c_int };
/// How much earlier ffmpeg seeks where frames are reordered and a container knows times of decoding alone.
const EARLIER: i64 = 3 * AV_TIME_BASE as i64 / 23;

/// A file that is open.
pub struct Container {
    functions: &'static Functions,
    context: NonNull<AVFormatContext>,
}

// SAFETY: a container may be used from any thread, by one at a time, and what changes it takes it by exclusive reference.
unsafe impl Send for Container {}

impl Container {
    /// Opens a file, of which nothing but its header is read.
    pub fn open(
        functions: &'static Functions,
        path: &Path,
        options: &[(&str, &str)],
    ) -> Result<Self, String> {
        let name = CString::new([b"file:", path.as_os_str().as_encoded_bytes()].concat());
        let name = name.map_err(|_| "its name holds a zero byte".to_owned())?;
        // SAFETY: it takes nothing and returns a context or null.
        let mut context = unsafe { functions.avformat_alloc_context() };
        // SAFETY: null or a context that was allocated above.
        unsafe { context.as_mut() }.ok_or("no memory for a file")?.flags |= AVFMT_FLAG_NONBLOCK as c_int;
        let mut options = Dictionary::new(functions, options)?;
        // SAFETY: a context that is not open yet, which is freed where this fails; a text that ends with a zero byte; and a dictionary.
        let code = unsafe {
            functions.avformat_open_input(&mut context, name.as_ptr(), ptr::null(), &mut options.pointer)
        };
        let context = NonNull::new(context).ok_or_else(|| words(functions, code))?;
        let opened = Self { functions, context };
        opened.check(code)?;
        Ok(opened)
    }

    pub fn functions(&self) -> &'static Functions {
        self.functions
    }

    fn fields(&self) -> &AVFormatContext {
        // SAFETY: it was opened and lives as long as this.
        unsafe { self.context.as_ref() }
    }

    fn streams(&self) -> &[*mut AVStream] {
        let fields = self.fields();
        if fields.streams.is_null() {
            return &[];
        }
        // SAFETY: a container has so many streams, in one array that only reading packets changes.
        unsafe { slice::from_raw_parts(fields.streams, fields.nb_streams as usize) }
    }

    pub fn stream(&self, index: usize) -> Result<&AVStream, String> {
        let stream = self.streams().get(index).copied().unwrap_or(ptr::null_mut());
        // SAFETY: streams live as long as their container.
        unsafe { stream.as_ref() }.ok_or_else(|| format!("it has no stream {index}"))
    }

    /// Reads first packets, and decodes of them what it takes to know the streams.
    pub fn look(&mut self, decoding: &[(&str, &str)]) -> Result<(), String> {
        let made = |_: &*mut AVStream| Dictionary::new(self.functions, decoding);
        let options = self.streams().iter().map(made).collect::<Result<Vec<_>, _>>()?;
        // The library changes each, so that what is freed in the end is what it left.
        let mut pointers: Vec<*mut AVDictionary> = options.iter().map(|options| options.pointer).collect();
        // SAFETY: an open container, and a dictionary for each of its streams.
        let code =
            unsafe { self.functions.avformat_find_stream_info(self.context.as_ptr(), pointers.as_mut_ptr()) };
        options.into_iter().zip(pointers).for_each(|(options, pointer)| options.changed_to(pointer));
        self.check(code)
    }

    /// Says what a look at a stream would have found, where all else is known from the header.
    pub fn declare_reordered(&mut self, stream: usize, frames: u8) {
        let found = self.stream(stream).map_or(ptr::null_mut(), |stream| stream.codecpar);
        // SAFETY: a stream has parameters for as long as its container is open, and nobody else refers to them now.
        if let Some(parameters) = unsafe { found.as_mut() } {
            parameters.video_delay = c_int::from(frames);
        }
    }

    /// Goes to the key frame from which this time is decoded, in microseconds behind the start of the file. What comes before the
    /// time that is returned, in units of the stream, is not meant.
    pub fn seek(&mut self, microseconds: i64, stream: usize) -> Result<i64, String> {
        let start = self.fields().start_time;
        let time = microseconds.saturating_add(if start == NO_TIME { 0 } else { start });
        let to = if self.seeks_by_decoding() { time.saturating_sub(EARLIER) } else { time };
        // SAFETY: an open container, of which no packet is in use.
        let code =
            unsafe { self.functions.avformat_seek_file(self.context.as_ptr(), -1, i64::MIN, to, to, 0) };
        self.check(code)?;
        let unit = self.stream(stream)?.time_base;
        // SAFETY: it computes with numbers.
        let before = unsafe { self.functions.av_rescale_q(time.saturating_neg(), MICROSECONDS, unit) };
        Ok(before.saturating_neg())
    }

    /// Whether frames are reordered, and the index has times of decoding.
    fn seeks_by_decoding(&self) -> bool {
        // SAFETY: an open container has an input format, which is a constant of the library.
        let by_showing = unsafe { self.fields().iformat.as_ref() }
            .is_some_and(|format| format.flags & AVFMT_SEEK_TO_PTS as c_int != 0);
        let delayed = |index: usize| {
            let stream = self.stream(index).ok();
            // SAFETY: a stream has parameters for as long as its container is open.
            stream
                .and_then(|stream| unsafe { stream.codecpar.as_ref() })
                .is_some_and(|codec| codec.video_delay != 0)
        };
        !by_showing && (0..self.streams().len()).any(delayed)
    }

    /// Leaves out the packets of all other streams.
    pub fn only(&mut self, stream: usize) {
        for (index, found) in self.streams().to_vec().into_iter().enumerate() {
            // SAFETY: streams live as long as their container, and nothing reads it now.
            if let Some(found) = unsafe { found.as_mut() } {
                found.discard = if index == stream { AVDISCARD_NONE } else { AVDISCARD_ALL };
            }
        }
    }

    /// The next packet; `false` at the end.
    pub fn read(&mut self, packet: &mut Packet) -> Result<bool, String> {
        loop {
            packet.clear();
            // SAFETY: an open container, and a packet that is empty.
            match unsafe { self.functions.av_read_frame(self.context.as_ptr(), packet.pointer()) } {
                END => return Ok(false),
                code if is_again(code) => {}
                code => return self.check(code).map(|()| true),
            }
        }
    }

    fn check(&self, code: c_int) -> Result<(), String> {
        if code < 0 { Err(words(self.functions, code)) } else { Ok(()) }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let mut context = self.context.as_ptr();
        // SAFETY: nobody else has the context.
        unsafe { self.functions.avformat_close_input(&mut context) }
    }
}

/// Encoded bytes of one stream.
pub struct Packet {
    functions: &'static Functions,
    packet: NonNull<AVPacket>,
}

// SAFETY: a packet is not bound to a thread, and references on its bytes are counted atomically.
unsafe impl Send for Packet {}

impl Packet {
    pub fn new(functions: &'static Functions) -> Result<Self, String> {
        // SAFETY: it takes nothing and returns a packet or null.
        let packet = NonNull::new(unsafe { functions.av_packet_alloc() });
        packet.map(|packet| Self { functions, packet }).ok_or_else(|| "no memory for a packet".to_owned())
    }

    pub fn pointer(&mut self) -> *mut AVPacket {
        self.packet.as_ptr()
    }

    fn clear(&mut self) {
        // SAFETY: a packet that nobody else has.
        unsafe { self.functions.av_packet_unref(self.packet.as_ptr()) }
    }

    fn fields(&self) -> &AVPacket {
        // SAFETY: it was allocated as a packet and lives as long as this.
        unsafe { self.packet.as_ref() }
    }

    pub fn is_of(&self, stream: usize) -> bool {
        usize::try_from(self.fields().stream_index) == Ok(stream)
    }

    pub fn is_empty(&self) -> bool {
        self.fields().size == 0
    }

    pub fn is_corrupt(&self) -> bool {
        self.fields().flags & AV_PKT_FLAG_CORRUPT as c_int != 0
    }
}

impl Drop for Packet {
    fn drop(&mut self) {
        let mut packet = self.packet.as_ptr();
        // SAFETY: nobody else has the packet.
        unsafe { self.functions.av_packet_free(&mut packet) }
    }
}
