//! Bodies of the fuzz targets: what ffprobe and ffmpeg say about foreign files, as any text. Each says what became of it.

/// ffprobe's answer about streams.
pub fn probe_json(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "no text".to_owned() };
    crate::probe::parse("fuzzed", text).map_or_else(|error| error.to_string(), |_| "read".to_owned())
}

/// ffmpeg's standard error. What is made of it is bounded.
pub fn decoder_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let oversized = crate::probe::oversized(&text);
    let damage = crate::decode::first_damage(&text);
    assert!(damage.as_ref().is_none_or(|damage| damage.chars().count() <= 300));
    format!("damage: {}, too large: {}", damage.is_some(), oversized.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_fuzzing::Fuzz;

    #[test]
    fn cut_and_changed_texts() {
        let probe = br#"{"streams":[{"index":0,"codec_name":"h264","width":640,"height":360,"pix_fmt":"yuv420p",
            "r_frame_rate":"25/1","avg_frame_rate":"25/1","time_base":"1/12800","duration":"2.0","nb_frames":"50"}],
            "format":{"format_name":"mov,mp4","duration":"2.0"}}"#;
        let words =
            b"[h264 @ 0x55d] [error] no frame!\n[mov @ 0x1] [warning] corrupt\n[info] concealing 3 DC";
        Fuzz::new("probe_json", probe_json).seed(*probe).rounds(3000).run();
        let pieces: &[&[u8]] = &[
            b"[error] ",
            b"[warning] ",
            b"concealing ",
            b"Picture size 9x9 exceeds specified max pixel count",
        ];
        Fuzz::new("decoder_words", decoder_words).seed(*words).words(pieces).rounds(3000).run();
    }
}
