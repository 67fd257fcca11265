//! `visus models`: what is built in, and what fits which screen.

use std::fmt::Write;

use anyhow::Result;
use visus_engine::model::{BUILTIN, Builtin};
use visus_engine::{ModelSpec, NamedModel};
use visus_report::models::ModelListEntry;

use super::args::ModelsArgs;
use super::score::print_all;

pub fn run(args: &ModelsArgs) -> Result<()> {
    let models: Result<Vec<_>, _> = BUILTIN
        .iter()
        .map(|model| NamedModel::load(&ModelSpec::version(model.version)).map(|loaded| (model, loaded)))
        .collect();
    let models = models?;
    if args.json {
        let list: Vec<_> = models.iter().map(|(model, loaded)| entry(model, loaded)).collect();
        return print_all(&format!("{:#}\n", visus_report::score::json(&list)));
    }
    print_all(&format!("{}\n{SCREENS}", table(&models)))
}

fn range(model: &NamedModel) -> (f64, f64) {
    model.model.clip.map_or((f64::NEG_INFINITY, f64::INFINITY), |clip| (clip.min, clip.max))
}

fn entry(model: &Builtin, loaded: &NamedModel) -> ModelListEntry {
    ModelListEntry {
        version: model.version.to_owned(),
        about: model.about.to_owned(),
        score_range: range(loaded),
        sha256: loaded.sha256.clone(),
        bootstrap_models: loaded.siblings.len(),
        features: loaded.model.features.iter().map(|feature| feature.name.clone()).collect(),
    }
}

fn table(models: &[(&Builtin, NamedModel)]) -> String {
    let width = models.iter().map(|(model, _)| model.version.len()).max().unwrap_or(0);
    let mut text = format!("{:width$}  scores  what it is for\n", "model");
    for (model, loaded) in models {
        let (low, high) = range(loaded);
        let _ =
            writeln!(text, "{:width$}  {:6}  {}", model.version, format!("{low:.0}-{high:.0}"), model.about);
    }
    text
}

const SCREENS: &str = "\
screen, distance, frame rate -> model
  TV or monitor, up to 1440 rows, 3 screen heights       vmaf_v1.0.16_3d0h           (older: vmaf_v0.6.1)
  the same, more than 45 frames per second               vmaf_v1.0.16_hfr_3d0h
  phone, 5 screen heights                                vmaf_v1.0.16_5d0h           (older: vmaf_v0.6.1:enable_transform)
  the same, more than 45 frames per second               vmaf_v1.0.16_hfr_5d0h
  4K TV, 1.5 screen heights                              vmaf_v1.0.16_1d5h_2160      (older: vmaf_4k_v0.6.1)
  the same, more than 45 frames per second               vmaf_v1.0.16_hfr_1d5h_2160
  4K TV, 3 screen heights (scores up to 110)             vmaf_v1.0.16_3d0h_2160
  the same, more than 45 frames per second               vmaf_v1.0.16_hfr_3d0h_2160
  comparing encoders that may sharpen                    vmaf_v0.6.1neg, vmaf_4k_v0.6.1neg
`visus score --model auto` picks by size and frame rate; a model file is used with `--model FILE.json`.
";
