//! What is known of a video before its frames are looked at, wherever it comes from.

use serde_json::{Value, json};
use visus_video::{ColourRange, Format, Interlacing, Source};

use crate::Probe;

/// The facts that decide whether two videos can be compared.
#[derive(Clone, Debug)]
pub struct Facts {
    pub file: String,
    /// As frames arrive, upright.
    pub format: Format,
    pub range: Option<ColourRange>,
    pub frame_rate: Option<(u32, u32)>,
    pub aspect: (u32, u32),
    pub interlacing: Interlacing,
    pub frames: Option<u64>,
    /// What ffprobe knows beyond that; absent for raw and Y4M video.
    pub probe: Option<Probe>,
    /// The hardware that decodes it; none is software.
    pub hardware: Option<String>,
    /// Why a device that was to decode it does not.
    pub not_on_device: Option<String>,
}

impl Facts {
    pub(crate) fn of_probe(probe: &Probe, format: Format) -> Self {
        Self {
            file: probe.file.clone(),
            format,
            range: probe.range,
            frame_rate: probe.frame_rate,
            aspect: probe.aspect,
            interlacing: probe.interlacing,
            frames: probe.frames,
            probe: Some(probe.clone()),
            hardware: None,
            not_on_device: None,
        }
    }

    pub(crate) fn of_source(source: &dyn Source) -> Self {
        let info = source.info();
        Self {
            file: source.name().to_owned(),
            format: *source.format(),
            range: info.range,
            frame_rate: info.frame_rate,
            aspect: info.aspect.unwrap_or((1, 1)),
            interlacing: info.interlacing,
            frames: source.total_frames(),
            probe: None,
            hardware: None,
            not_on_device: None,
        }
    }

    /// Frames per second.
    pub fn rate(&self) -> Option<f64> {
        self.frame_rate.map(|(num, den)| f64::from(num) / f64::from(den))
    }

    /// The picture's width to its height on a screen.
    pub fn display_aspect(&self) -> f64 {
        let (horizontal, vertical) = self.aspect;
        let stored = self.format.width() as f64 / self.format.height() as f64;
        let turned = self.probe.as_ref().is_some_and(|probe| probe.rotation % 180 == 90)
            && self.probe.as_ref().is_some_and(|probe| probe.width != self.format.width());
        let sample = f64::from(horizontal) / f64::from(vertical);
        if turned { stored / sample } else { stored * sample }
    }

    pub(crate) fn hdr(&self) -> Option<&'static str> {
        self.probe.as_ref().and_then(Probe::hdr)
    }

    pub(crate) fn text(&self, part: impl Fn(&Probe) -> &Option<String>) -> Option<&str> {
        self.probe.as_ref().and_then(|probe| part(probe).as_deref())
    }

    /// For reports.
    pub fn json(&self) -> Value {
        let range = self.range.map(|range| if range == ColourRange::Full { "full" } else { "limited" });
        let mut value = json!({
            "file": self.file,
            "width": self.format.width(),
            "height": self.format.height(),
            "chroma": self.format.chroma().to_string(),
            "bit_depth": self.format.depth(),
            "range": range,
            "frame_rate": self.frame_rate.map(|(num, den)| format!("{num}/{den}")),
            "sample_aspect": format!("{}:{}", self.aspect.0, self.aspect.1),
            "interlacing": self.interlacing.to_string(),
            "frames": self.frames,
        });
        if let (Some(probe), Some(object)) = (&self.probe, value.as_object_mut()) {
            for (key, more) in [
                ("container", json!(probe.container)),
                ("codec", json!(probe.codec)),
                ("decoded_by", json!(self.hardware.as_deref().unwrap_or("software"))),
                ("pixel_format", json!(probe.pix_fmt)),
                ("matrix", json!(probe.matrix)),
                ("transfer", json!(probe.transfer)),
                ("primaries", json!(probe.primaries)),
                ("variable_frame_rate", json!(probe.variable_rate)),
                ("rotation", json!(probe.rotation)),
                ("film_grain", json!(probe.film_grain)),
                ("duration", json!(probe.duration)),
            ] {
                object.insert(key.to_owned(), more);
            }
            if let Some(reason) = &self.not_on_device {
                object.insert("not_decoded_on_device".to_owned(), json!(reason));
            }
        }
        value
    }
}
