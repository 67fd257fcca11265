//! From a file to its pictures, one after another.

use std::path::Path;
use std::sync::Arc;

use visus_video::Format;

use crate::codec::{Codec, Given};
use crate::container::{Container, NO_TIME, Packet};
use crate::library::functions;
use crate::log::{Ear, IsDamage};
use crate::picture::{Held, Picture};

/// What is to be decoded, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub path: &'a Path,
    /// The stream's number in the file.
    pub stream: usize,
    /// What pictures must be.
    pub format: Format,
    /// FFmpeg's name of the same.
    pub pix_fmt: &'a str,
    /// Containers that may be opened, by FFmpeg's names with commas between them.
    pub containers: &'a str,
    /// A picture of more pixels is refused.
    pub most_pixels: u64,
    /// What is shown before this time is left out: microseconds behind the start of the file.
    pub start: Option<i64>,
    /// By how many frames the stream is reordered, where that and the container tell all that a decoder needs. Without it, first
    /// frames are decoded to find out.
    pub reordered: Option<u8>,
    /// Whether a line tells of damage: its level as the ffmpeg program names it, and its words.
    pub is_damage: IsDamage,
}

/// Why there are no more pictures, although it is not the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    Cancelled,
    /// Something is wrong, or looks as if it were.
    Found(String),
}

impl From<String> for Trouble {
    fn from(reason: String) -> Self {
        Self::Found(reason)
    }
}

/// The pictures of one stream of a file.
pub struct Pictures {
    codec: Codec,
    container: Container,
    packet: Packet,
    ear: Arc<Ear>,
    stream: usize,
    format: Format,
    pix_fmt: String,
    /// Pictures before this time are left out.
    from: Option<i64>,
    fed_all: bool,
}

impl std::fmt::Debug for Pictures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pictures({} of stream {})", self.format, self.stream)
    }
}

impl Pictures {
    /// Opens the file and its decoder. The error is the reason why this is not possible.
    pub fn open(request: &Request<'_>) -> Result<Self, String> {
        let (functions, ear) = (functions()?, Ear::new(request.is_damage));
        let calling = ear.calling();
        let pixels = request.most_pixels.to_string();
        // Checksums that a stream carries are compared, by container and decoder.
        let checks = ("err_detect", "crccheck");
        let opening = [
            ("protocol_whitelist", "file,pipe"),
            ("format_whitelist", request.containers),
            ("scan_all_pmts", "1"),
            checks,
        ];
        let decoding = [checks, ("max_pixels", &*pixels)];
        let mut container = Container::open(functions, request.path, &opening)?;
        match request.reordered {
            Some(frames) => container.declare_reordered(request.stream, frames),
            None => container.look(&decoding)?,
        }
        let from = request.start.map(|start| container.seek(start, request.stream)).transpose()?;
        container.only(request.stream);
        let decoding = [checks, ("max_pixels", &*pixels), ("threads", "auto")];
        let codec = Codec::open(&container, request.stream, &decoding, ear.number)?;
        let packet = Packet::new(functions)?;
        drop(calling);
        Ok(Self {
            codec,
            container,
            packet,
            ear,
            stream: request.stream,
            format: request.format,
            pix_fmt: request.pix_fmt.to_owned(),
            from,
            fed_all: false,
        })
    }

    /// The next picture; `None` at the end of a file in which nothing was wrong.
    pub fn next(&mut self, cancelled: &dyn Fn() -> bool) -> Result<Option<Picture>, Trouble> {
        let ear = Arc::clone(&self.ear);
        let _calling = ear.calling();
        loop {
            let given = self.codec.receive()?;
            if let Some(damage) = ear.damage() {
                return Err(damage.into());
            }
            if cancelled() {
                return Err(Trouble::Cancelled);
            }
            match given {
                Given::Frame(held) if self.is_meant(&held)? => {
                    return Ok(Some(held.into_picture(self.format, &self.pix_fmt)?));
                }
                Given::Frame(_) => {}
                Given::Nothing => self.feed()?,
                Given::End => return Ok(None),
            }
        }
    }

    /// Whether a frame is behind the start; a corrupt one is an error wherever it is.
    fn is_meant(&self, held: &Held) -> Result<bool, String> {
        if held.is_corrupt() {
            return Err("corrupt decoded frame".to_owned());
        }
        match (self.from, held.time()) {
            (None, _) => Ok(true),
            (Some(_), NO_TIME) => Err("a frame without a time".to_owned()),
            (Some(from), time) => Ok(time >= from),
        }
    }

    /// Gives the decoder another packet, or tells it that there are no more.
    fn feed(&mut self) -> Result<(), String> {
        if self.fed_all {
            return Err("the decoder wants more than there is".to_owned());
        }
        while self.container.read(&mut self.packet)? {
            if !self.packet.is_of(self.stream) || self.packet.is_empty() {
                continue;
            }
            if self.packet.is_corrupt() {
                return Err("corrupt input packet".to_owned());
            }
            return self.codec.send(Some(&mut self.packet));
        }
        self.fed_all = true;
        self.codec.send(None)
    }
}
