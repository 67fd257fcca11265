//! A decoder, with as many threads as the ffmpeg program would give it.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};

use crate::bindings::{AVCodecContext, AVPacket, Functions};
use crate::container::{Container, Packet};
use crate::dictionary::Dictionary;
use crate::library::{END, is_again, words};
use crate::picture::Held;

/// What a decoder has to give.
pub enum Given {
    Frame(Held),
    /// It wants another packet first.
    Nothing,
    End,
}

/// A decoder that is open.
pub struct Codec {
    functions: &'static Functions,
    context: NonNull<AVCodecContext>,
    /// A frame that was not filled yet.
    spare: Option<Held>,
}

// SAFETY: a decoder may be used from any thread, by one at a time, and all functions here take it by exclusive reference.
unsafe impl Send for Codec {}

impl Codec {
    /// Opens the decoder of a stream; its context, and those of its threads, bear the number.
    pub fn open(
        container: &Container,
        stream: usize,
        options: &[(&str, &str)],
        number: usize,
    ) -> Result<Self, String> {
        let functions = container.functions();
        let found = container.stream(stream)?;
        // SAFETY: a stream has parameters for as long as its container is open.
        let parameters = unsafe { found.codecpar.as_ref() }.ok_or("the stream has no parameters")?;
        // SAFETY: it takes any number and returns null for one that it does not know.
        let decoder = unsafe { functions.avcodec_find_decoder(parameters.codec_id) };
        // SAFETY: a decoder or null, which makes a context without one.
        let context = NonNull::new(unsafe { functions.avcodec_alloc_context3(decoder) });
        let mut context = context.ok_or("no memory for a decoder")?;
        let opened = Self { functions, context, spare: None };
        if decoder.is_null() {
            return Err("there is no decoder for it".to_owned());
        }
        // SAFETY: both were made by the same library, and nobody else has the context.
        let code = unsafe { functions.avcodec_parameters_to_context(context.as_ptr(), parameters) };
        opened.check(code)?;
        // SAFETY: it was allocated above, and nobody else has it.
        let fields = unsafe { context.as_mut() };
        fields.framerate = found.avg_frame_rate;
        fields.pkt_timebase = found.time_base;
        fields.opaque = ptr::without_provenance_mut(number);
        let mut options = Dictionary::new(functions, options)?;
        // SAFETY: a context that is not open yet, a decoder, and a dictionary that this function may change.
        let code = unsafe { functions.avcodec_open2(opened.context.as_ptr(), decoder, &mut options.pointer) };
        opened.check(code)?;
        Ok(opened)
    }

    /// Hands a packet over, or says that there are no more.
    pub fn send(&mut self, packet: Option<&mut Packet>) -> Result<(), String> {
        let packet: *const AVPacket = packet.map_or(ptr::null(), |packet| packet.pointer().cast_const());
        // SAFETY: the decoder is open, and the packet is valid or null, which ends the stream.
        let code = unsafe { self.functions.avcodec_send_packet(self.context.as_ptr(), packet) };
        self.check(code)
    }

    pub fn receive(&mut self) -> Result<Given, String> {
        let mut held = self.spare.take().map_or_else(|| Held::new(self.functions), Ok)?;
        // SAFETY: the decoder is open, and nobody else has the frame.
        let code = unsafe { self.functions.avcodec_receive_frame(self.context.as_ptr(), held.pointer()) };
        if code >= 0 {
            return Ok(Given::Frame(held));
        }
        self.spare = Some(held);
        match code {
            END => Ok(Given::End),
            code if is_again(code) => Ok(Given::Nothing),
            code => Err(words(self.functions, code)),
        }
    }

    fn check(&self, code: i32) -> Result<(), String> {
        if code < 0 { Err(words(self.functions, code)) } else { Ok(()) }
    }
}

impl Drop for Codec {
    fn drop(&mut self) {
        let mut context = self.context.as_ptr();
        // SAFETY: nobody else has the context; its threads are waited for.
        unsafe { self.functions.avcodec_free_context(&mut context) }
    }
}
