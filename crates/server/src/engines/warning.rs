//! Whether a model was made for pictures of this size.

use visus_media::{UHD, display_of};
use visus_video::Format;

/// What to say if a 4K model meets a smaller picture, or an HD model a 4K one.
pub fn model_mismatch(model: &str, format: &Format) -> Option<String> {
    let (width, height) = (format.width(), format.height());
    let large = width.max(height) >= UHD.0;
    let for_4k = display_of(model) == UHD;
    let advice = match (for_4k, large) {
        (true, false) => {
            "it was trained for 3840x2160 and scores smaller pictures too high or too low; use an HD model"
        }
        (false, true) => "it was trained for 1920x1080; use a 4K model such as vmaf_4k_v0.6.1",
        _ => return None,
    };
    Some(format!("model resolution preset '{model}' does not match source {width}x{height}: {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_video::Chroma;

    #[test]
    fn hd_and_4k() {
        let format = |width, height| Format::new(width, height, Chroma::C420, 8).unwrap();
        let text = model_mismatch("vmaf_4k_v0.6.1", &format(1920, 1080)).unwrap();
        assert!(text.starts_with("model resolution preset 'vmaf_4k_v0.6.1' does not match source 1920x1080"));
        assert!(model_mismatch("vmaf_v0.6.1", &format(3840, 2160)).is_some());
        assert!(model_mismatch("vmaf_v0.6.1", &format(2160, 3840)).is_some());
        assert!(model_mismatch("vmaf_v0.6.1", &format(3839, 2160)).is_none());
        assert!(model_mismatch("vmaf_4k_v0.6.1", &format(3840, 1600)).is_none());
    }
}
