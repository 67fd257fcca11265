//! ffmpeg's names of pixel formats, and what is asked of ffmpeg so that planar samples arrive.

use visus_video::{Chroma, ColourRange};

/// How a stream's frames are handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What is asked of ffmpeg.
    pub pix_fmt: String,
    pub chroma: Chroma,
    pub depth: u8,
    /// The planes are green, blue and red and are converted to YUV here.
    pub rgb: bool,
    /// What happens on the way, if anything does.
    pub note: Option<String>,
}

impl Delivery {
    /// How frames of this format arrive; `None` if they cannot become planar YUV of 8 to 16 bits.
    pub fn of(pix_fmt: &str) -> Option<Self> {
        let name = pix_fmt.strip_suffix("le").or_else(|| pix_fmt.strip_suffix("be")).unwrap_or(pix_fmt);
        float(name)
            .or_else(|| planar(name))
            .or_else(|| packed(name))
            .or_else(|| grey(name))
            .or_else(|| rgb(name))
    }

    fn new(family: &str, chroma: Chroma, depth: u8) -> Option<Self> {
        let pix_fmt = if depth == 8 { family.to_owned() } else { format!("{family}{depth}le") };
        let fits = (8..=16).contains(&depth);
        fits.then_some(Self { pix_fmt, chroma, depth, rgb: false, note: None })
    }

    fn noted(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
}

/// `yuvj…` is how ffmpeg marks full range.
pub fn range_in_name(pix_fmt: &str) -> Option<ColourRange> {
    pix_fmt.starts_with("yuvj").then_some(ColourRange::Full)
}

/// The depth at the end of a name; none is 8.
fn depth(rest: &str) -> Option<u8> {
    if rest.is_empty() { Some(8) } else { rest.parse().ok() }
}

fn planar(name: &str) -> Option<Delivery> {
    let (body, prefix) =
        match (name.strip_prefix("yuvj"), name.strip_prefix("yuva"), name.strip_prefix("yuv")) {
            (Some(body), ..) => (body, "yuvj"),
            (_, Some(body), _) => (body, "yuva"),
            (_, _, Some(body)) => (body, "yuv"),
            _ => return None,
        };
    let (layout, rest) = body.split_once('p')?;
    let depth = depth(rest)?;
    let full = if prefix == "yuvj" { "yuvj" } else { "yuv" };
    let (chroma, made) = match layout {
        "420" => (Chroma::C420, None),
        "422" => (Chroma::C422, None),
        "444" => (Chroma::C444, None),
        "410" | "411" | "440" => (Chroma::C444, Some("444")),
        _ => return None,
    };
    let delivery = Delivery::new(&format!("{full}{}p", made.unwrap_or(layout)), chroma, depth)?;
    Some(match (made, prefix) {
        (Some(_), _) => delivery.noted(format!("{name}: chroma is enlarged to 4:4:4 by ffmpeg")),
        (None, "yuva") => delivery.noted("the alpha plane is ignored"),
        _ => delivery,
    })
}

/// Two planes or one, with the same samples in another order.
fn packed(name: &str) -> Option<Delivery> {
    use Chroma::{C420, C422, C444};
    let (family, chroma, depth) = match name {
        "nv12" | "nv21" => ("yuv420p", C420, 8),
        "nv16" | "yuyv422" | "uyvy422" | "yvyu422" => ("yuv422p", C422, 8),
        "nv24" | "nv42" | "vuyx" | "vuya" | "ayuv" | "uyva" | "vyu444" => ("yuv444p", C444, 8),
        "p010" => ("yuv420p", C420, 10),
        "p012" => ("yuv420p", C420, 12),
        "p016" => ("yuv420p", C420, 16),
        "nv20" | "p210" | "y210" => ("yuv422p", C422, 10),
        "p212" | "y212" => ("yuv422p", C422, 12),
        "p216" | "y216" => ("yuv422p", C422, 16),
        "p410" | "xv30" | "v30x" => ("yuv444p", C444, 10),
        "p412" | "xv36" => ("yuv444p", C444, 12),
        "p416" | "xv48" | "ayuv64" => ("yuv444p", C444, 16),
        _ => return None,
    };
    Some(Delivery::new(family, chroma, depth)?.noted(format!("{name} is unpacked into planes")))
}

/// Floating point, as OpenEXR has it: brought to 16 bits.
fn float(name: &str) -> Option<Delivery> {
    let note = "floating point is brought to 16 bits; values outside of 0 to 1 are clipped";
    Some(match name {
        "gbrpf32" | "gbrapf32" => {
            Delivery { rgb: true, ..Delivery::new("gbrp", Chroma::C444, 16)? }.noted(note)
        }
        "grayf32" => Delivery::new("gray", Chroma::C400, 16)?.noted(note),
        _ => return None,
    })
}

fn grey(name: &str) -> Option<Delivery> {
    if matches!(name, "monow" | "monob" | "ya8" | "ya16") {
        let depth = if name == "ya16" { 16 } else { 8 };
        return Some(Delivery::new("gray", Chroma::C400, depth)?.noted(format!("{name} is taken as grey")));
    }
    Delivery::new("gray", Chroma::C400, depth(name.strip_prefix("gray")?)?)
}

fn rgb(name: &str) -> Option<Delivery> {
    let depth = match name {
        "rgb24" | "bgr24" | "rgb0" | "0rgb" | "bgr0" | "0bgr" | "rgba" | "argb" | "bgra" | "abgr"
        | "pal8" | "rgb565" | "bgr565" | "rgb555" | "bgr555" | "rgb444" | "bgr444" | "rgb8" | "bgr8" => 8,
        "x2rgb10" | "x2bgr10" => 10,
        "rgb48" | "bgr48" | "rgba64" | "bgra64" => 16,
        _ => depth(name.strip_prefix("gbrap").or_else(|| name.strip_prefix("gbrp"))?)?,
    };
    let delivery = Delivery::new("gbrp", Chroma::C444, depth)?;
    Some(Delivery { rgb: true, ..delivery })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(name: &str) -> Option<(String, Chroma, u8, bool)> {
        Delivery::of(name).map(|d| (d.pix_fmt, d.chroma, d.depth, d.rgb))
    }

    #[test]
    fn names() {
        use Chroma::{C400, C420, C422, C444};
        for (name, request, chroma, depth, rgb) in [
            ("yuv420p", "yuv420p", C420, 8, false),
            ("yuvj422p", "yuvj422p", C422, 8, false),
            ("yuv444p12le", "yuv444p12le", C444, 12, false),
            ("yuv420p10be", "yuv420p10le", C420, 10, false),
            ("yuva444p16le", "yuv444p16le", C444, 16, false),
            ("nv12", "yuv420p", C420, 8, false),
            ("p010le", "yuv420p10le", C420, 10, false),
            ("yuv411p", "yuv444p", C444, 8, false),
            ("gray", "gray", C400, 8, false),
            ("gray10le", "gray10le", C400, 10, false),
            ("rgb24", "gbrp", C444, 8, true),
            ("gbrp10le", "gbrp10le", C444, 10, true),
            ("rgb48be", "gbrp16le", C444, 16, true),
            ("gbrpf32le", "gbrp16le", C444, 16, true),
            ("grayf32le", "gray16le", C400, 16, false),
        ] {
            assert_eq!(shape(name), Some((request.to_owned(), chroma, depth, rgb)), "{name}");
        }
        for name in ["xyz12le", "gbrpf16le", "bayer_rggb8", "yuv", "cuda", ""] {
            assert_eq!(shape(name), None, "{name}");
        }
    }

    #[test]
    fn what_happens_on_the_way_is_said() {
        for name in ["nv12", "yuv411p", "yuva420p", "ya8"] {
            assert!(Delivery::of(name).unwrap().note.is_some(), "{name}");
        }
        assert_eq!(Delivery::of("yuv420p10le").unwrap().note, None);
    }
}
