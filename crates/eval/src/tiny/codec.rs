//! Inputs of codec-aware models: which encoder, how slow, how coarse.
//!
//! The layout is that of the training tools: one place for each encoder of the model's vocabulary with a 1 in one of them,
//! then the preset over 9 and the quality number over 63. The table is part of that layout, so it stands here and not with
//! the encoders that `tune` drives.

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

/// An encoder's presets on the scale from 0, the fastest, to 9.
enum Presets {
    Named(&'static [(&'static str, u8)]),
    /// Numbers up to the given one; those above 9 count as 9.
    Numbers(u8),
}

/// What training knew of an encoder.
struct TrainedEncoder {
    name: &'static str,
    /// The codec that stands for this encoder when only the codec is known.
    codec: Option<&'static str>,
    presets: Presets,
}

const fn trained(name: &'static str, codec: Option<&'static str>, presets: Presets) -> TrainedEncoder {
    TrainedEncoder { name, codec, presets }
}

const X26X: Presets = Presets::Named(&[
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
]);
const VVENC: Presets =
    Presets::Named(&[("faster", 1), ("fast", 3), ("medium", 5), ("slow", 7), ("slower", 8)]);
const VPX: Presets = Presets::Named(&[("realtime", 0), ("good", 5), ("best", 9)]);
const NVENC: Presets =
    Presets::Named(&[("p1", 0), ("p2", 2), ("p3", 3), ("p4", 5), ("p5", 6), ("p6", 7), ("p7", 9)]);
const QSV: Presets = Presets::Named(&[
    ("veryfast", 2),
    ("faster", 3),
    ("fast", 4),
    ("medium", 5),
    ("slow", 6),
    ("slower", 7),
    ("veryslow", 8),
]);

static TRAINED: [TrainedEncoder; 11] = [
    trained("libx264", Some("h264"), X26X),
    trained("libx265", Some("hevc"), X26X),
    trained("libsvtav1", Some("av1"), Presets::Numbers(13)),
    trained("libvpx-vp9", Some("vp9"), VPX),
    trained("libvvenc", Some("vvc"), VVENC),
    trained("h264_nvenc", None, NVENC),
    trained("hevc_nvenc", None, NVENC),
    trained("av1_nvenc", None, NVENC),
    trained("h264_qsv", None, QSV),
    trained("hevc_qsv", None, QSV),
    trained("av1_qsv", None, QSV),
];

/// The encoder behind a codec's name.
fn encoder_name(codec: &str) -> String {
    let codec = codec.to_ascii_lowercase();
    let known = TRAINED.iter().find(|trained| trained.codec == Some(codec.as_str()));
    known.map_or(codec, |trained| trained.name.to_owned())
}

/// The preset's place on the scale. An unknown one counts as medium.
fn ordinal(encoder: &str, preset: &str) -> u8 {
    let preset = preset.to_ascii_lowercase();
    match TRAINED.iter().find(|trained| trained.name == encoder).map(|trained| &trained.presets) {
        Some(Presets::Named(table)) => {
            table.iter().find(|(name, _)| *name == preset).map_or(MEDIUM, |(_, place)| *place)
        }
        Some(Presets::Numbers(last)) => {
            preset.parse().ok().filter(|number| number <= last).map_or(MEDIUM, |number: u8| number.min(9))
        }
        None => MEDIUM,
    }
}
