//! Bodies of the fuzz targets: reports of any content. Each says what became of them.

/// A foreign report.
pub fn record(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return "no text".to_owned() };
    crate::record::Record::parse(text).map_or_else(|error| error.to_string(), |_| "read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use visus_fuzzing::Fuzz;

    #[test]
    fn mutated_reports() {
        let seed = br#"{"version":"x","fps":1.5,"frames":[{"frameNum":0,"metrics":{"vmaf":90.5,"psnr_y":null}},
            {"frameNum":2,"metrics":{"vmaf":1e3}}],"pooled_metrics":{"vmaf":{"min":1,"max":2,"mean":1.5,"harmonic_mean":1}},
            "aggregate_metrics":{"a":1},"provenance":{"cpu_level":"avx2","models":[{"name":"vmaf"}]}}"#;
        Fuzz::new("record", record).seed(*seed).rounds(3000).run();
    }
}
