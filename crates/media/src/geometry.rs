//! The size and sample format in which two videos are scored.

use visus_video::{Chroma, ColourRange, Format};

use crate::convert::Shape;
use crate::rgb::{Matrix, RgbTarget};
use crate::{Facts, MediaError};

/// To which size both are brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Where sizes differ, to the display of the model.
    #[default]
    Auto,
    /// To the display of the model in any case.
    Display,
    Reference,
    Size(usize, usize),
    /// Different sizes are refused.
    Off,
}

impl std::str::FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::Auto),
            "display" => return Ok(Self::Display),
            "reference" => return Ok(Self::Reference),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        let sides = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let (width, height) = sides.ok_or_else(|| {
            format!("'{text}' is no size; it is auto, display, reference, off or WIDTHxHEIGHT")
        })?;
        Ok(Self::Size(width, height))
    }
}

pub const HD: (usize, usize) = (1920, 1080);
pub const UHD: (usize, usize) = (3840, 2160);

/// The display that a model was made for, by its name: 4K if the name says so, else HD.
pub fn display_of(model: &str) -> (usize, usize) {
    if model.contains("4k") || model.contains("2160") { UHD } else { HD }
}

/// Limited, where it is not stated.
pub(crate) fn range(facts: &Facts) -> ColourRange {
    facts.range.unwrap_or(ColourRange::Limited)
}

pub(crate) const fn range_name(range: ColourRange) -> &'static str {
    match range {
        ColourRange::Full => "full",
        ColourRange::Limited => "limited",
    }
}

/// RGB becomes what the other side is; where that says nothing, BT.709 from 720 rows on, else BT.601, in limited range.
pub(crate) fn rgb_target(facts: &[Facts; 2]) -> RgbTarget {
    let plain = facts.iter().find(|facts| facts.probe.as_ref().is_none_or(|probe| !probe.delivery.rgb));
    let named = plain.and_then(|facts| facts.text(|probe| &probe.matrix)).and_then(Matrix::named);
    let by_size = if facts[0].format.height() >= 720 { Matrix::Bt709 } else { Matrix::Bt601 };
    let range = plain.and_then(|facts| facts.range).unwrap_or(ColourRange::Limited);
    RgbTarget { matrix: named.unwrap_or(by_size), range }
}

/// The largest picture of the reference's shape that fits the display, with even sides. A reference that fills the display
/// in one direction already is not resized.
fn fitted(reference: &Facts, display: (usize, usize)) -> (usize, usize) {
    let aspect = reference.display_aspect();
    let (wide, high) = if aspect < 1.0 { (display.1, display.0) } else { display };
    let (width, height) = (reference.format.width(), reference.format.height());
    let square = (aspect / (width as f64 / height as f64) - 1.0).abs() < 0.01;
    if square && (width == wide && height <= high || height == high && width <= wide) {
        return (width, height);
    }
    let even = |side: f64| ((side / 2.0).round() as usize * 2).max(2);
    if aspect >= wide as f64 / high as f64 {
        (wide, even(wide as f64 / aspect))
    } else {
        (even(high as f64 * aspect), high)
    }
}

/// The shape of both in scoring: the reference's chroma and range, the higher depth, the size that `scale` says.
pub(crate) fn target(facts: &[Facts; 2], scale: Scale, display: (usize, usize)) -> Result<Shape, MediaError> {
    let [reference, distorted] = facts.each_ref().map(|facts| facts.format);
    let size = |format: &Format| (format.width(), format.height());
    let same = size(&reference) == size(&distorted);
    let (width, height) = match scale {
        Scale::Auto if same => size(&reference),
        Scale::Auto | Scale::Display => fitted(&facts[0], display),
        Scale::Reference => size(&reference),
        Scale::Size(width, height) => (width, height),
        Scale::Off if same => size(&reference),
        Scale::Off => {
            return Err(MediaError::Picture(format!(
                "the two videos cannot be compared: the reference is {reference}, the distorted video {distorted}, and scaling \
                 is off"
            )));
        }
    };
    let grey = [reference, distorted].iter().any(|format| format.chroma() == Chroma::C400);
    let chroma = if grey { Chroma::C400 } else { reference.chroma() };
    let depth = reference.depth().max(distorted.depth());
    let format = Format::new(width, height, chroma, depth)
        .map_err(|error| MediaError::Format { file: facts[0].file.clone(), error })?;
    Ok(Shape { format, range: range(&facts[0]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(width: usize, height: usize, aspect: (u32, u32)) -> Facts {
        Facts {
            file: "a".to_owned(),
            format: Format::new(width, height, Chroma::C420, 8).unwrap(),
            range: None,
            frame_rate: None,
            aspect,
            interlacing: visus_video::Interlacing::Unknown,
            frames: None,
            probe: None,
            hardware: None,
            not_on_device: None,
        }
    }

    #[test]
    fn the_display_holds_the_picture() {
        for (size, aspect, display, expected) in [
            ((1920, 1080), (1, 1), HD, (1920, 1080)),
            ((1280, 720), (1, 1), HD, (1920, 1080)),
            ((3840, 2160), (1, 1), HD, (1920, 1080)),
            ((1920, 804), (1, 1), HD, (1920, 804)),
            ((1280, 536), (1, 1), HD, (1920, 804)),
            ((720, 576), (16, 15), HD, (1440, 1080)),
            ((1080, 1920), (1, 1), HD, (1080, 1920)),
            ((1920, 1080), (1, 1), UHD, (3840, 2160)),
        ] {
            assert_eq!(fitted(&facts(size.0, size.1, aspect), display), expected, "{size:?}");
        }
        assert_eq!((display_of("vmaf_4k_v0.6.1"), display_of("vmaf_v1.0.16_1d5h_2160")), (UHD, UHD));
        assert_eq!(display_of("vmaf_v0.6.1"), HD);
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!("1280x720".parse(), Ok(Scale::Size(1280, 720)));
        assert!("big".parse::<Scale>().is_err());
    }
}
