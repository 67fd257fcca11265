//! Bodies of the fuzz targets: what ffprobe and ffmpeg say about foreign files, as any text.

/// ffprobe's answer about streams.
pub fn probe_json(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = crate::probe::parse("fuzzed", text);
    }
}

/// ffmpeg's standard error. What is made of it is bounded.
pub fn decoder_words(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(damage) = crate::decode::first_damage(&text) {
        assert!(damage.chars().count() <= 300);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_and_changed_texts() {
        let probe = br#"{"streams":[{"index":0,"codec_name":"h264","width":640,"height":360,"pix_fmt":"yuv420p",
            "r_frame_rate":"25/1","avg_frame_rate":"25/1","time_base":"1/12800","duration":"2.0","nb_frames":"50"}],
            "format":{"format_name":"mov,mp4","duration":"2.0"}}"#;
        let words =
            b"[h264 @ 0x55d] [error] no frame!\n[mov @ 0x1] [warning] corrupt\n[info] concealing 3 DC";
        for (seed, body) in [(probe.as_slice(), probe_json as fn(&[u8])), (words, decoder_words)] {
            for at in 0..seed.len() {
                body(&seed[..at]);
                for byte in [b'"', b'9', b'-', b'[', 0xff] {
                    let mut changed = seed.to_vec();
                    changed[at] = byte;
                    body(&changed);
                }
            }
        }
    }
}
