//! Bodies of the fuzz targets: reports of any content.

/// A foreign report.
pub fn record(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = crate::record::Record::parse(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_small_report_changed() {
        let seed = br#"{"version":"x","fps":1.5,"frames":[{"frameNum":0,"metrics":{"vmaf":90.5,"psnr_y":null}},
            {"frameNum":2,"metrics":{"vmaf":1e3}}],"pooled_metrics":{"vmaf":{"min":1,"max":2,"mean":1.5,"harmonic_mean":1}},
            "aggregate_metrics":{"a":1},"provenance":{"cpu_level":"avx2","models":[{"name":"vmaf"}]}}"#;
        for at in 0..seed.len() {
            for byte in [b'"', b'9', b'-', b'{', b']', 0xff] {
                let mut changed = seed.to_vec();
                changed[at] = byte;
                record(&changed);
            }
            record(&seed[..at]);
        }
    }
}
