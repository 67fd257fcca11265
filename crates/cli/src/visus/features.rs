//! `visus features`: a table of features, of one pair or of many.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use visus_engine::{Cancel, FeatureSpec, ModelSpec, Outcome, Settings};
use visus_eval::features::{Grain, Recipe};
use visus_eval::table::{Cell, TableWriter};
use visus_video::Format;

use super::args::{PixFmt, Size};
use super::draw::Bar;
use super::eval_args::FeaturesArgs;
use super::{level, model_choice};

/// A pair to be measured.
#[derive(Debug, PartialEq)]
struct Pair {
    reference: PathBuf,
    distorted: PathBuf,
    key: String,
    mos: Option<f64>,
    raw: Option<Format>,
}

pub fn run(args: &FeaturesArgs) -> Result<()> {
    let pairs = pairs(args)?;
    let with_opinions = pairs.iter().any(|pair| pair.mos.is_some());
    let recipe = recipe(args)?;
    let grain = if args.per_frame { Grain::Frame } else { Grain::Clip };
    let mut table = TableWriter::new(&args.output, recipe.column_names(grain, with_opinions))?;
    for (number, pair) in pairs.iter().enumerate() {
        if !args.quiet && pairs.len() > 1 {
            eprintln!("visus: {} of {}: {}", number + 1, pairs.len(), pair.distorted.display());
        }
        let outcome = measure(args, &recipe, pair)
            .with_context(|| format!("{} against {}", pair.distorted.display(), pair.reference.display()))?;
        let opinion = with_opinions.then(|| pair.mos.map_or(Cell::Missing, Cell::Number));
        recipe.rows(grain, &pair.key, &outcome, opinion).into_iter().for_each(|row| table.push(row));
    }
    let rows = table.rows();
    table.finish()?;
    if !args.quiet {
        eprintln!("visus: {rows} rows in {}", args.output.display());
    }
    Ok(())
}

fn recipe(args: &FeaturesArgs) -> Result<Recipe> {
    let models: Result<Vec<ModelSpec>> = args.models.iter().map(|word| model_choice::named(word)).collect();
    let features: Result<Vec<FeatureSpec>, _> = args.features.iter().map(|text| text.parse()).collect();
    Ok(Recipe::new(&models?, &features?)?)
}

fn measure(args: &FeaturesArgs, recipe: &Recipe, pair: &Pair) -> Result<Outcome> {
    let (reference, distorted) = crate::open_both(&pair.reference, &pair.distorted, pair.raw);
    let (reference, distorted) =
        (reference.context("the reference")?, distorted.context("the distorted video")?);
    let defaults = Settings::default();
    let settings = Settings {
        threads: args.threads.map_or(defaults.threads, usize::from),
        subsample: args.subsample,
        backend: level::from_environment().into(),
        ..defaults
    };
    let mut bar = Bar::new(args.quiet);
    let outcome = visus_engine::run(&recipe.plan, reference, distorted, &settings, &Cancel::new(), &mut bar);
    bar.clear();
    Ok(outcome?)
}

fn pairs(args: &FeaturesArgs) -> Result<Vec<Pair>> {
    let raw = raw_format(args.size, args.pix_fmt)?;
    match (&args.list, &args.reference, &args.distorted) {
        (Some(list), ..) => listed(list, raw),
        (None, Some(reference), Some(distorted)) => Ok(vec![Pair {
            key: args.key.clone().unwrap_or_else(|| default_key(distorted)),
            reference: reference.clone(),
            distorted: distorted.clone(),
            mos: args.mos,
            raw,
        }]),
        _ => bail!("name a reference and a distorted video, or a --list of pairs"),
    }
}

fn raw_format(size: Option<Size>, pix_fmt: Option<PixFmt>) -> Result<Option<Format>> {
    match (size, pix_fmt) {
        (None, None) => Ok(None),
        (Some(size), Some(pix_fmt)) => {
            Ok(Some(Format::new(size.width, size.height, pix_fmt.chroma, pix_fmt.depth)?))
        }
        _ => bail!("raw video needs both its size and its pix_fmt"),
    }
}

fn default_key(distorted: &Path) -> String {
    distorted.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The pairs of a list; paths are relative to the list itself.
fn listed(list: &Path, raw: Option<Format>) -> Result<Vec<Pair>> {
    let mut reader =
        csv::Reader::from_path(list).with_context(|| format!("cannot read {}", list.display()))?;
    let names: Vec<String> = reader.headers()?.iter().map(|name| name.trim().to_owned()).collect();
    let place = |name: &str| names.iter().position(|known| known == name);
    let (Some(reference), Some(distorted)) = (place("reference"), place("distorted")) else {
        bail!(
            "{} must have the columns reference and distorted; it has {}",
            list.display(),
            names.join(", ")
        );
    };
    let folder = list.parent().unwrap_or(Path::new(""));
    let mut pairs = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.with_context(|| list.display().to_string())?;
        let get = |name: &str| place(name).map(|place| record[place].trim()).filter(|text| !text.is_empty());
        let pair = || -> Result<Pair> {
            let size = get("size").map(str::parse::<Size>).transpose().map_err(anyhow::Error::msg)?;
            let pix_fmt = get("pix_fmt").map(str::parse::<PixFmt>).transpose().map_err(anyhow::Error::msg)?;
            let mos = get("mos").map(str::parse::<f64>).transpose().context("mos is not a number")?;
            let distorted = folder.join(record[distorted].trim());
            Ok(Pair {
                key: get("key").map_or_else(|| default_key(&distorted), str::to_owned),
                reference: folder.join(record[reference].trim()),
                distorted,
                mos,
                raw: raw_format(size, pix_fmt)?.or(raw),
            })
        };
        pairs.push(pair().with_context(|| format!("{}, row {}", list.display(), row + 1))?);
    }
    if pairs.is_empty() {
        bail!("{} lists no pair", list.display());
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_pairs() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("pairs.csv");
        std::fs::write(
            &list,
            "distorted,reference,mos,key,size,pix_fmt\nd1.y4m,r.y4m,71.5,,,\nd2.yuv,r.yuv,,k2,96x64,yuv420p10le\n",
        )
        .unwrap();
        let pairs = listed(&list, None).unwrap();
        assert_eq!((pairs[0].key.as_str(), pairs[0].mos, pairs[0].raw), ("d1", Some(71.5), None));
        assert_eq!((pairs[1].key.as_str(), pairs[1].mos), ("k2", None));
        assert_eq!(pairs[1].raw.unwrap().depth(), 10);
        assert_eq!(pairs[1].reference, folder.path().join("r.yuv"));
        for bad in ["a,b\n1,2\n", "reference,distorted\n", "reference,distorted,mos\na,b,c\n"] {
            std::fs::write(&list, bad).unwrap();
            assert!(listed(&list, None).is_err(), "{bad}");
        }
    }
}
