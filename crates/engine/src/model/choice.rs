//! Which model fits a screen of the video's size, if nobody says.

use visus_video::Format;

/// From this frame rate on, the high frame rate models fit.
const HIGH_FRAME_RATE: f64 = 45.0;

/// A picture higher than this is taken for 4K.
const HIGHEST_HD: usize = 1440;

/// The VMAF v1 model for a screen of this size at its usual distance.
pub fn automatic(format: &Format, frame_rate: Option<(u32, u32)>) -> (&'static str, String) {
    let fps = frame_rate.map(|(num, den)| f64::from(num) / f64::from(den));
    let (large, fast) = (format.height() > HIGHEST_HD, fps.is_some_and(|fps| fps > HIGH_FRAME_RATE));
    let version = match (large, fast) {
        (false, false) => "vmaf_v1.0.16_3d0h",
        (false, true) => "vmaf_v1.0.16_hfr_3d0h",
        (true, false) => "vmaf_v1.0.16_1d5h_2160",
        (true, true) => "vmaf_v1.0.16_hfr_1d5h_2160",
    };
    let screen = if large {
        "more than 1440 rows: a 4K TV at 1.5 screen heights"
    } else {
        "up to 1440 rows: a TV at 3 screen heights"
    };
    let rate = match fps {
        None => "frame rate unknown, taken for standard".to_owned(),
        Some(fps) if fast => format!("{fps:.3} fps, above {HIGH_FRAME_RATE}: high frame rate"),
        Some(fps) => format!("{fps:.3} fps"),
    };
    (version, format!("model {version}: {screen}; {rate}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    fn format(width: usize, height: usize) -> Format {
        Format::new(width, height, Chroma::C420, 8).unwrap()
    }

    #[test]
    fn auto_looks_at_size_and_frame_rate() {
        for (size, rate, version) in [
            ((1920, 1080), Some((24, 1)), "vmaf_v1.0.16_3d0h"),
            ((1920, 1080), None, "vmaf_v1.0.16_3d0h"),
            ((1280, 720), Some((60, 1)), "vmaf_v1.0.16_hfr_3d0h"),
            ((3840, 2160), Some((25, 1)), "vmaf_v1.0.16_1d5h_2160"),
            ((3840, 2160), Some((60000, 1001)), "vmaf_v1.0.16_hfr_1d5h_2160"),
        ] {
            assert_eq!(automatic(&format(size.0, size.1), rate).0, version);
        }
    }
}
