//! The bodies of the fuzz targets on changed seeds: a short run of what a fuzzer does for long.

use visus_fuzzing::Fuzz;

use crate::fuzzing;
use crate::model::builtin;

#[test]
fn model_files() {
    let seeds = ["vmaf_v0.6.1neg", "vmaf_v1.0.16_3d0h"].map(|version| builtin(version).unwrap().text());
    let seeds = seeds.map(|text| text.as_bytes().to_vec());
    let words: &[&[u8]] = &[b"9999999999999", b"[{-1e999:\""];
    Fuzz::new("model_json", fuzzing::model_json).seeds(seeds).words(words).rounds(3000).run();
}

#[test]
fn option_texts() {
    let seeds = [
        "vif=vif_enhn_gain_limit=1.05:debug=true",
        "version=a:name=b:disable_clip:adm.adm_csf_mode=2",
        "motion",
    ];
    let seeds = seeds.map(|text| text.as_bytes().to_vec());
    Fuzz::new("specifications", fuzzing::specifications).seeds(seeds).rounds(15_000).run();
}
