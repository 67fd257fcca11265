//! What codec-aware models are told: which encoder, how slow, how coarse.
//!
//! The layout is that of the training tools: one place for each encoder of the model's vocabulary with a 1 in one of them,
//! then the preset over 9 and the quality number over 63.

/// The block for an encoder; `None` if the vocabulary does not know it.
pub fn block(vocabulary: &[String], codec: &str, preset: Option<&str>, crf: u8) -> Option<Vec<f32>> {
    let encoder = encoder_name(codec);
    let place = vocabulary.iter().position(|known| known.eq_ignore_ascii_case(&encoder))?;
    let mut block = vec![0.0; vocabulary.len() + 2];
    block[place] = 1.0;
    block[vocabulary.len()] = f32::from(preset.map_or(MEDIUM, |preset| ordinal(&encoder, preset))) / SLOWEST;
    block[vocabulary.len() + 1] = f32::from(crf.min(63)) / 63.0;
    Some(block)
}

const SLOWEST: f32 = 9.0;
const MEDIUM: u8 = 5;

/// The encoder behind a codec's name.
fn encoder_name(codec: &str) -> String {
    let codec = codec.to_ascii_lowercase();
    match codec.as_str() {
        "h264" => "libx264".to_owned(),
        "hevc" => "libx265".to_owned(),
        "av1" => "libsvtav1".to_owned(),
        "vp9" => "libvpx-vp9".to_owned(),
        "vvc" => "libvvenc".to_owned(),
        _ => codec,
    }
}

/// The preset's place on a scale from 0 to 9. An unknown one counts as medium.
fn ordinal(encoder: &str, preset: &str) -> u8 {
    let preset = preset.to_ascii_lowercase();
    if encoder == "libsvtav1" {
        return preset.parse().ok().filter(|number| *number <= 13).map_or(MEDIUM, |number: u8| number.min(9));
    }
    let table: &[(&str, u8)] = match encoder {
        "libx264" | "libx265" => &[
            ("ultrafast", 0),
            ("superfast", 1),
            ("veryfast", 2),
            ("faster", 3),
            ("fast", 4),
            ("medium", 5),
            ("slow", 6),
            ("slower", 7),
            ("veryslow", 8),
            ("placebo", 9),
        ],
        "libvvenc" => &[("faster", 1), ("fast", 3), ("medium", 5), ("slow", 7), ("slower", 8)],
        "libvpx-vp9" => &[("realtime", 0), ("good", 5), ("best", 9)],
        "h264_nvenc" | "hevc_nvenc" | "av1_nvenc" => {
            &[("p1", 0), ("p2", 2), ("p3", 3), ("p4", 5), ("p5", 6), ("p6", 7), ("p7", 9)]
        }
        "h264_qsv" | "hevc_qsv" | "av1_qsv" => &[
            ("veryfast", 2),
            ("faster", 3),
            ("fast", 4),
            ("medium", 5),
            ("slow", 6),
            ("slower", 7),
            ("veryslow", 8),
        ],
        _ => &[],
    };
    table.iter().find(|(name, _)| *name == preset).map_or(MEDIUM, |(_, place)| *place)
}
