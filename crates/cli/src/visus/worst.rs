//! `visus worst`: the worst frames as pictures, and what is wrong with them.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use visus_diagnose::Finding;
use visus_engine::Cancel;
use visus_media::Shape;
use visus_media::worst::{Chosen, ShowOptions, WorstFrame, scores_of, select, show};
use visus_report::html::WorstFrame as Shown;
use visus_report::worst::{WorstEntry, WorstList, WorstRegion};
use visus_scoring::{Faults, ScoreRequest, ScoreResult};
use visus_video::ColourRange;

use super::args::ScoreArgs;
use super::score::{self, print_all};

const EXAMPLES: &str = "\
Each picture shows the reference, the distorted video and the amplified difference side by side, cropped to the worst region.

Examples:
  visus worst master.mov encode.mp4
  visus worst master.mov encode.mp4 -n 8 -o bad-frames
  visus worst ref.y4m dis.y4m --model 4k_v0.6.1";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WorstArgs {
    #[command(flatten)]
    pub score: ScoreArgs,

    /// Number of frames
    #[arg(short = 'n', long, help_heading = "Worst frames", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub count: u8,

    /// Folder for the pictures and worst.json
    #[arg(short, long, help_heading = "Worst frames", value_name = "FOLDER", default_value = "worst", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,

    /// The longest side of each of the three pictures
    #[arg(long, help_heading = "Worst frames", value_name = "SAMPLES", default_value_t = 384, value_parser = clap::value_parser!(u16).range(64..=4096))]
    pub side: u16,
}

pub fn run(args: &WorstArgs) -> Result<()> {
    if args.score.sample.is_asked_for() {
        bail!("the worst frames are chosen from all frames; leave out --within and --budget");
    }
    if [&args.score.reference, &args.score.distorted].iter().any(|path| path.as_os_str() == "-") {
        bail!("the worst frames are read a second time, which standard input cannot do; give a file");
    }
    let result = score::measure(&args.score)?;
    score::check(&result)?;
    let name = result.main_column().context("there is no score to judge frames by; give a model")?;
    let chosen = choose(&result, &name, usize::from(args.count));
    let frames = read_again(&args.score, usize::from(args.side), &chosen, (&name, &result))?;
    write(args, &name, &frames, &result)?;
    if !args.score.run.quiet && !args.score.outputs.uses_stdout() {
        print_all(&table(args, &name, &frames))?;
    }
    Ok(())
}

fn choose(result: &ScoreResult, name: &str, count: usize) -> Vec<Chosen> {
    select(&scores_of(&result.outcome, name), &result.shots(), findings(result), count)
}

fn findings(result: &ScoreResult) -> &[Finding] {
    result.faults.as_ref().map_or(&[], |faults| &faults.findings)
}

/// The worst frames for a page. A clip from a pipe cannot be read a second time: then there are none.
pub fn for_page(args: &ScoreArgs, result: &ScoreResult) -> Result<Vec<Shown>> {
    const COUNT: usize = 4;
    const SIDE: usize = 256;
    let regular = |path: &PathBuf| path.metadata().is_ok_and(|metadata| metadata.is_file());
    let rereadable = regular(&args.reference) && regular(&args.distorted);
    let Some(name) = result.main_column().filter(|_| rereadable) else { return Ok(Vec::new()) };
    let frames = read_again(args, SIDE, &choose(result, &name, COUNT), (&name, result))?;
    let shown = |frame: WorstFrame| {
        // The page names the frame itself.
        let number = format!("Frame {}, ", frame.index);
        let description = frame.description.strip_prefix(&number).unwrap_or(&frame.description).to_owned();
        Shown { frame: frame.index, png: Some(frame.png), description }
    };
    Ok(frames.into_iter().map(shown).collect())
}

fn read_again(
    args: &ScoreArgs,
    side: usize,
    chosen: &[Chosen],
    (name, result): (&str, &ScoreResult),
) -> Result<Vec<WorstFrame>> {
    let ScoreRequest { videos, selection, .. } = args.request()?;
    let mut videos = score::open(videos, &selection, &Cancel::new())?;
    videos.pass_over_skipped()?;
    let range = videos.reference.info().range.unwrap_or(ColourRange::Limited);
    let shape = Shape { format: *videos.reference.format(), range };
    let options = ShowOptions { shape, side, score_name: short(name), findings: findings(result).to_vec() };
    let shown = show(&mut *videos.reference, &mut *videos.distorted, chosen, &options, |_| true)?;
    videos.pair.finish();
    Ok(shown)
}

/// `VMAF` reads better above a picture than a version.
fn short(name: &str) -> String {
    if name.starts_with("vmaf") { "VMAF".to_owned() } else { name.to_owned() }
}

fn file_name(frame: &WorstFrame) -> String {
    format!("frame_{:06}.png", frame.index)
}

fn write(args: &WorstArgs, name: &str, frames: &[WorstFrame], result: &ScoreResult) -> Result<()> {
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for frame in frames {
        let path = folder.join(file_name(frame));
        std::fs::write(&path, &frame.png).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let entry = |frame: &WorstFrame| WorstEntry {
        frame_index: frame.index,
        score: frame.score,
        shot: frame.shot,
        png: file_name(frame),
        region: WorstRegion {
            x: frame.region.x,
            y: frame.region.y,
            width: frame.region.width,
            height: frame.region.height,
        },
        description: frame.description.clone(),
        measures: frame.measures.json(),
    };
    let warnings = result.faults.as_ref().map(Faults::warnings);
    let list = WorstList { score: name.to_owned(), frames: frames.iter().map(entry).collect(), warnings };
    let list = visus_report::score::json(&list);
    score::write_json(&folder.join("worst.json"), &list)
}

fn table(args: &WorstArgs, name: &str, frames: &[WorstFrame]) -> String {
    let mut text = format!("frame   {name:>12}  what is wrong\n");
    for frame in frames {
        text.push_str(&format!("{:<7} {:>12.2}  {}\n", frame.index, frame.score, frame.what));
    }
    let plural = if frames.len() == 1 { "" } else { "s" };
    text.push_str(&format!("{} picture{plural} and worst.json in {}\n", frames.len(), args.output.display()));
    text
}
