//! `visus features`: a table of features, of one pair or of many.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use visus_engine::{Cancel, FeatureSpec, ModelSpec, Outcome};
use visus_eval::features::{Grain, Recipe};
use visus_eval::table::{Cell, TableWriter};
use visus_scoring::{Columns, RunOptions, ScoreError, Selection, Video, Videos, names, score_with_plan};
use visus_video::Format;

use super::args::{PixFmt, RawArgs, Size};
use super::eval_args::FeaturesArgs;
use super::score;

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
        if !args.run.quiet && pairs.len() > 1 {
            eprintln!("visus: {} of {}: {}", number + 1, pairs.len(), pair.distorted.display());
        }
        let outcome = measure(args, &recipe, pair)
            .with_context(|| format!("{} against {}", pair.distorted.display(), pair.reference.display()))?;
        let opinion = with_opinions.then(|| pair.mos.map_or(Cell::Missing, Cell::Number));
        recipe.rows(grain, &pair.key, &outcome, opinion).into_iter().for_each(|row| table.push(row));
    }
    let rows = table.rows();
    table.finish()?;
    if !args.run.quiet {
        eprintln!("visus: {rows} rows in {}", args.output.display());
    }
    Ok(())
}

/// A table has the same columns for every pair, so models must be named: `auto` may mean another one for each.
fn recipe(args: &FeaturesArgs) -> Result<Recipe> {
    let model = |word: &String| names::one_model(word).map(|model| model.spec);
    let models: Result<Vec<ModelSpec>, _> = args.models.iter().map(model).collect();
    let metrics: Result<Vec<FeatureSpec>, _> = args.features.iter().map(|text| names::metric(text)).collect();
    Recipe::new(&models?, &metrics?).map_err(|error| ScoreError::Plan(error).into())
}

fn measure(args: &FeaturesArgs, recipe: &Recipe, pair: &Pair) -> Result<Outcome> {
    let videos = Videos {
        reference: Video::Path(pair.reference.clone()),
        distorted: Video::Path(pair.distorted.clone()),
        raw: pair.raw,
        pairing: args.media.pairing()?,
        skip: [0, 0],
    };
    let selection = Selection::parse(args.models.iter().map(String::as_str), [], Columns::Libvmaf)?;
    let options = RunOptions { detectors: Some(false), ..args.run.options()? };
    let videos = score::open(videos, &selection, &Cancel::new())?;
    let scored = score::under_bar(args.run.quiet, |bar| {
        let scored = score_with_plan(videos, &recipe.plan, &options, &Cancel::new(), bar)?;
        scored.pair.check()?;
        Ok(scored)
    })?;
    Ok(scored.outcome)
}

fn pairs(args: &FeaturesArgs) -> Result<Vec<Pair>> {
    let raw = args.raw.format()?;
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

fn listed_format(size: Option<Size>, pix_fmt: Option<PixFmt>) -> Result<Option<Format>> {
    if size.is_some() != pix_fmt.is_some() {
        bail!("raw video needs both its size and its pix_fmt");
    }
    RawArgs { size, pix_fmt }.format()
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
                raw: listed_format(size, pix_fmt)?.or(raw),
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
