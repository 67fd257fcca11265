//! NVDEC: the decoder on the device. An elementary stream goes in, pictures in device memory come out in display order.
//!
//! The driver's parser cuts the stream into pictures and calls back: with a sequence ([`Inner::sequence`]), with a picture to
//! decode, and with a picture to show, whose surface is unpacked into a picture of our own ([`PictureStock`]). All of that
//! happens on the thread that feeds the decoder, within [`VideoDecoder::feed`].
//!
//! A picture is either what every conforming decoder gives, or an error: what this decoder conceals, what changes its size on
//! the way and what has fields is refused, and the caller decodes it by other means.
#![allow(unsafe_code)]

mod api;
mod open;

use std::collections::VecDeque;
use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use visus_video::{Chroma, Format, RemotePicture};

use super::driver::{Context, Event, Stream};
use super::kernels::Kernels;
use super::picture::{PictureStock, Surface};
use crate::decoder::{VideoCodec, VideoDecoder};
use crate::error::DeviceError;
use api::{
    Api, Caps, CreateInfo, DecodeStatus, DecoderHandle, DisplayInfo, MapParameters, Packet, ParserHandle,
    ParserParameters, PictureStart, ShortRectangle, VideoFormat,
};

pub use open::open;

/// Pictures that are being decoded while an earlier one is fetched.
const DELAY: u32 = 4;
/// Surfaces of a decoder, at most.
const MOST_SURFACES: u32 = 32;

type Result<T> = std::result::Result<T, DeviceError>;

fn refused(reason: impl Into<String>) -> DeviceError {
    DeviceError::Decoder { reason: reason.into() }
}

/// Whether a call of the library succeeded.
fn check(step: &str, status: api::Status) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(refused(format!("the driver refused to {step} (error {status})"))) }
}

/// The number by which the library knows a codec.
fn codec_number(codec: VideoCodec) -> c_int {
    match codec {
        VideoCodec::H264 => 4,
        VideoCodec::Hevc => 8,
        VideoCodec::Vp9 => 10,
        VideoCodec::Av1 => 11,
    }
}

/// A decoder of one stream.
struct Nvdec {
    api: &'static Api,
    parser: ParserHandle,
    /// What the callbacks work on: a box of ours that no reference is held to while the parser runs.
    inner: *mut Inner,
    ended: bool,
}

// SAFETY: parser and decoder may be used from any thread, by one at a time; `&mut self` sees to that.
unsafe impl Send for Nvdec {}

/// What the callbacks see.
struct Inner {
    api: &'static Api,
    context: Context,
    codec: VideoCodec,
    format: Format,
    decoder: Option<DecoderHandle>,
    /// Of the sequence that the decoder was made for.
    sequence: VideoFormat,
    surfaces: u32,
    stream: Stream,
    passed: Event,
    stock: Arc<PictureStock>,
    pictures: VecDeque<Arc<dyn RemotePicture>>,
    failed: Option<DeviceError>,
}

impl Nvdec {
    /// A decoder for pictures of this format.
    fn open(
        api: &'static Api,
        context: &Context,
        kernels: &Arc<Kernels>,
        codec: VideoCodec,
        format: &Format,
    ) -> Result<Self> {
        let inner = Box::new(Inner {
            api,
            context: context.clone(),
            codec,
            format: *format,
            decoder: None,
            sequence: VideoFormat::default(),
            surfaces: 0,
            stream: Stream::new(context)?,
            passed: Event::blocking(context)?,
            stock: PictureStock::new(context, Arc::clone(kernels), *format)?,
            pictures: VecDeque::new(),
            failed: None,
        });
        let inner = Box::into_raw(inner);
        let mut nvdec = Self { api, parser: ptr::null_mut(), inner, ended: false };
        nvdec.create_parser()?;
        Ok(nvdec)
    }

    fn create_parser(&mut self) -> Result<()> {
        let mut parameters = ParserParameters {
            // SAFETY: the box is alive; only its codec is read.
            codec: codec_number(unsafe { (*self.inner).codec }),
            // The sequence's answer takes its place.
            surfaces: 1,
            clock_rate: 0,
            // Also what cannot be decoded is passed on, and then refused by its status.
            error_threshold: 100,
            display_delay: DELAY,
            flags: 0,
            reserved1: [0; 4],
            user: self.inner.cast::<c_void>(),
            on_sequence,
            on_decode,
            on_display,
            others: [ptr::null_mut(); 2],
            reserved2: [ptr::null_mut(); 5],
            more: ptr::null_mut(),
        };
        // SAFETY: the parameters are complete; `inner` lives until the parser is destroyed.
        let status = unsafe { (self.api.create_parser)(&raw mut self.parser, &raw mut parameters) };
        check("create a parser", status)
    }

    fn destroy_parser(&mut self) {
        let parser = std::mem::replace(&mut self.parser, ptr::null_mut());
        if !parser.is_null() {
            // SAFETY: created in `create_parser` and destroyed once.
            let _ = unsafe { (self.api.destroy_parser)(parser) };
        }
    }

    fn parse(&mut self, data: &[u8], flags: c_ulong) -> Result<()> {
        // SAFETY: the box is alive; this reference ends before the parser runs.
        let context = unsafe { (*self.inner).context.clone() };
        context.make_current()?;
        let data_at = if data.is_empty() { ptr::null() } else { data.as_ptr() };
        let mut packet = Packet { flags, bytes: data.len() as c_ulong, data: data_at, timestamp: 0 };
        // SAFETY: the parser is alive and reads `data` within the call only. Its callbacks use `inner`, to which nobody holds
        // a reference now.
        let status = unsafe { (self.api.parse)(self.parser, &raw mut packet) };
        // SAFETY: the box is alive, and the parser is done with it.
        match unsafe { (*self.inner).failed.clone() } {
            Some(error) => Err(error),
            None => check("parse the stream", status),
        }
    }
}

impl VideoDecoder for Nvdec {
    fn feed(&mut self, data: &[u8]) -> Result<()> {
        // SAFETY: the box is alive; only its codec is read.
        let whole = !unsafe { (*self.inner).codec }.is_byte_stream();
        self.parse(data, if whole { api::END_OF_PICTURE } else { 0 })
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        self.parse(&[], api::END_OF_STREAM)
    }

    fn next(&mut self) -> Result<Option<Arc<dyn RemotePicture>>> {
        // SAFETY: the box is alive, and no callback runs outside of `parse`.
        Ok(unsafe { (*self.inner).pictures.pop_front() })
    }

    /// Another parser; decoder and surfaces stay.
    fn restart(&mut self) -> Result<()> {
        // SAFETY: the box is alive; this reference ends with the statement.
        unsafe { (*self.inner).context.clone() }.make_current()?;
        self.destroy_parser();
        self.ended = false;
        self.create_parser()
    }
}

impl Drop for Nvdec {
    fn drop(&mut self) {
        // SAFETY: the box is alive.
        let _ = unsafe { (*self.inner).context.make_current() };
        self.destroy_parser();
        // SAFETY: made in `open` and freed once, after the parser whose callbacks work on it.
        unsafe {
            let inner = Box::from_raw(self.inner);
            if let Some(decoder) = inner.decoder {
                let _ = (self.api.destroy_decoder)(decoder);
            }
        }
    }
}

/// What pictures of our own can be made of.
fn check_format(format: &Format) -> Result<()> {
    if format.chroma() != Chroma::C420 || !matches!(format.depth(), 8 | 10) {
        return Err(refused(format!("only 4:2:0 video of 8 or 10 bits is decoded there, this is {format}")));
    }
    if !format.width().is_multiple_of(2) || !format.height().is_multiple_of(2) {
        return Err(refused(format!("a side of {format} is odd")));
    }
    Ok(())
}

/// The number of engines that decode such a stream.
fn check_caps(api: &Api, codec: VideoCodec, format: &Format) -> Result<u8> {
    let depth = format.depth();
    let mut caps = Caps {
        codec: codec_number(codec),
        chroma: api::CHROMA_420,
        depth_above_8: c_uint::from(depth - 8),
        ..Caps::default()
    };
    // SAFETY: the structure is complete, and a context is current.
    check("say what it decodes", unsafe { (api.get_caps)(&raw mut caps) })?;
    if caps.is_supported == 0 || caps.output_formats >> surface_format(depth) & 1 == 0 {
        return Err(refused(format!("the device has no decoder for {codec} of {depth} bits")));
    }
    let (width, height) = (format.width() as u64, format.height() as u64);
    let blocks = width.div_ceil(16) * height.div_ceil(16);
    let too_large = width > caps.max_width.into() || height > caps.max_height.into();
    if too_large || blocks > caps.max_blocks.into() {
        let most = format!("{}x{}", caps.max_width, caps.max_height);
        return Err(refused(format!("the device decodes {codec} up to {most}, not {width}x{height}")));
    }
    if width < caps.min_width.into() || height < caps.min_height.into() {
        let least = format!("{}x{}", caps.min_width, caps.min_height);
        return Err(refused(format!("the device decodes {codec} from {least} on, not {width}x{height}")));
    }
    Ok(caps.engines)
}

fn surface_format(depth: u8) -> c_int {
    if depth > 8 { api::SURFACE_P016 } else { api::SURFACE_NV12 }
}

impl Inner {
    /// A sequence begins; the answer is the number of surfaces.
    fn sequence(&mut self, sequence: &VideoFormat) -> Result<c_int> {
        let same = VideoFormat { bit_rate: 0, header_bytes: 0, min_surfaces: 0, ..*sequence };
        if self.decoder.is_some() {
            if same == self.sequence && u32::from(sequence.min_surfaces) <= self.surfaces {
                return Ok(self.surfaces as c_int);
            }
            return Err(refused("the stream changes its format on the way"));
        }
        self.check_sequence(sequence)?;
        self.surfaces = (u32::from(sequence.min_surfaces) + DELAY).clamp(1, MOST_SURFACES);
        let (width, height) = (sequence.coded_width, sequence.coded_height);
        // All that was coded, without scaling; what is shown is cut out when it is unpacked.
        let area = ShortRectangle { left: 0, top: 0, right: width as i16, bottom: height as i16 };
        let mut info = CreateInfo {
            width: width.into(),
            height: height.into(),
            decode_surfaces: self.surfaces.into(),
            codec: sequence.codec,
            chroma: sequence.chroma,
            flags: api::PREFER_CUVID,
            depth_above_8: sequence.luma_depth_above_8.into(),
            intra_only: 0,
            max_width: width.into(),
            max_height: height.into(),
            reserved1: 0,
            display_area: area,
            output_format: surface_format(self.format.depth()),
            deinterlacing: 0,
            target_width: width.into(),
            target_height: height.into(),
            output_surfaces: 2,
            lock: ptr::null_mut(),
            target_area: ShortRectangle::default(),
            histogram: 0,
            reserved2: [0; 4],
        };
        let mut decoder = ptr::null_mut();
        // SAFETY: the structure is complete, and the context is current.
        check("create a decoder", unsafe { (self.api.create_decoder)(&raw mut decoder, &raw mut info) })?;
        (self.decoder, self.sequence) = (Some(decoder), same);
        Ok(self.surfaces as c_int)
    }

    /// Refuses what would not become the pictures that every other decoder gives.
    fn check_sequence(&self, sequence: &VideoFormat) -> Result<()> {
        let depth = self.format.depth();
        let depths = [sequence.luma_depth_above_8, sequence.chroma_depth_above_8].map(|above| above + 8);
        if sequence.chroma != api::CHROMA_420 || depths != [depth; 2] {
            return Err(refused(format!("the stream is not 4:2:0 of {depth} bits")));
        }
        if self.codec == VideoCodec::H264 && sequence.is_progressive == 0 {
            return Err(refused("the stream may have fields"));
        }
        let area = sequence.display_area;
        let shown =
            (i64::from(area.right) - i64::from(area.left), i64::from(area.bottom) - i64::from(area.top));
        if shown != (self.format.width() as i64, self.format.height() as i64) {
            let (width, height) = shown;
            return Err(refused(format!("the stream shows {width}x{height}, not {}", self.format)));
        }
        let (width, height) = (sequence.coded_width, sequence.coded_height);
        let inside = area.left >= 0
            && area.top >= 0
            && i64::from(area.right) <= width.into()
            && i64::from(area.bottom) <= height.into();
        let even = [area.left, area.top, width as c_int, height as c_int].iter().all(|edge| edge % 2 == 0);
        if !inside || !even || width.max(height) > i16::MAX as u32 {
            return Err(refused("its pictures are cut at odd places"));
        }
        Ok(())
    }

    fn decode(&mut self, picture: *mut PictureStart) -> Result<c_int> {
        let decoder = self.decoder.ok_or_else(|| refused("the stream begins without a sequence"))?;
        // SAFETY: the parser gives a complete structure, of which these are the first fields.
        if unsafe { (*picture).is_field } != 0 {
            return Err(refused("the stream has fields"));
        }
        // SAFETY: the decoder is alive, and the structure is the parser's own.
        check("decode a picture", unsafe { (self.api.decode)(decoder, picture) })?;
        Ok(1)
    }

    /// Unpacks the surface of a picture that is due.
    fn display(&mut self, shown: &DisplayInfo) -> Result<c_int> {
        let decoder = self.decoder.ok_or_else(|| refused("the stream begins without a sequence"))?;
        let mut parameters = MapParameters {
            progressive: 1,
            second_field: 0,
            top_field_first: 1,
            unpaired_field: 0,
            reserved_flags: 0,
            reserved_zero: 0,
            raw_input: 0,
            raw_input_pitch: 0,
            raw_input_format: 0,
            raw_output: 0,
            raw_output_pitch: 0,
            reserved1: 0,
            stream: self.stream.handle(),
            reserved: [0; 46],
            histogram: ptr::null_mut(),
            reserved2: ptr::null_mut(),
        };
        let (mut address, mut pitch) = (0, 0);
        // SAFETY: decoder and stream are alive, the structure is complete, and both results have room.
        check("hand a picture over", unsafe {
            (self.api.map)(decoder, shown.index, &raw mut address, &raw mut pitch, &raw mut parameters)
        })?;
        let unpacked = self.unpack(address, pitch as usize);
        // SAFETY: mapped above and unmapped once, after the stream has passed what reads it.
        let unmapped = check("take a picture back", unsafe { (self.api.unmap)(decoder, address) });
        let picture = unpacked.and_then(|picture| unmapped.map(|()| picture))?;
        self.check_status(decoder, shown.index)?;
        self.pictures.push_back(picture);
        Ok(1)
    }

    fn unpack(&self, address: u64, pitch: usize) -> Result<Arc<dyn RemotePicture>> {
        let area = self.sequence.display_area;
        let (left, top) = (area.left as u64, area.top as u64);
        let sample_bytes = self.format.sample_bytes() as u64;
        let chroma = address + pitch as u64 * u64::from(self.sequence.coded_height);
        let surface = Surface {
            luma: address + top * pitch as u64 + left * sample_bytes,
            chroma: chroma + top / 2 * pitch as u64 + left * sample_bytes,
            pitch,
            shift: if sample_bytes > 1 { 16 - u32::from(self.format.depth()) } else { 0 },
        };
        let picture = self.stock.unpacked(&self.stream, &surface);
        // Also where queueing failed half-way: the surface is about to go.
        self.passed.record(&self.stream)?;
        self.passed.wait()?;
        Ok(Arc::new(picture?))
    }

    /// Damage is not concealed. VP9's and AV1's decoders do not tell.
    fn check_status(&self, decoder: DecoderHandle, index: c_int) -> Result<()> {
        if !self.codec.is_byte_stream() {
            return Ok(());
        }
        let mut status = DecodeStatus { status: 0, reserved: [0; 31], more: [ptr::null_mut(); 8] };
        // SAFETY: the decoder is alive and the structure has room for the answer.
        let answered = unsafe { (self.api.status)(decoder, index, &raw mut status) } == 0;
        if answered && status.status >= api::STATUS_ERROR {
            return Err(refused("a picture is damaged"));
        }
        Ok(())
    }
}

/// Runs a callback's work; what fails is kept, and the parser is told to stop.
fn called(user: *mut c_void, work: impl FnOnce(&mut Inner) -> Result<c_int>) -> c_int {
    // SAFETY: the box that `Nvdec` keeps until the parser is gone; callbacks come one at a time, from within `parse`, which
    // holds no reference to it.
    let inner = unsafe { &mut *user.cast::<Inner>() };
    if inner.failed.is_some() {
        return 0;
    }
    let done = catch_unwind(AssertUnwindSafe(|| work(inner)))
        .unwrap_or_else(|_| Err(refused("our part of the decoder panicked")));
    done.unwrap_or_else(|error| {
        inner.failed = Some(error);
        0
    })
}

extern "C" fn on_sequence(user: *mut c_void, sequence: *const VideoFormat) -> c_int {
    // SAFETY: the parser gives a complete structure, valid within the call.
    called(user, |inner| inner.sequence(unsafe { &*sequence }))
}

extern "C" fn on_decode(user: *mut c_void, picture: *mut PictureStart) -> c_int {
    called(user, |inner| inner.decode(picture))
}

extern "C" fn on_display(user: *mut c_void, shown: *const DisplayInfo) -> c_int {
    if shown.is_null() {
        return 1;
    }
    // SAFETY: the parser gives a complete structure, valid within the call.
    called(user, |inner| inner.display(unsafe { &*shown }))
}
