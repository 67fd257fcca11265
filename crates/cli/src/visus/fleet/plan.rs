//! `visus plan`: what is to be scored, in tasks of bounded cost, each assigned to a shard.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use clap::{Args, Parser, ValueHint};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use visus_engine::Cancel;
use visus_scoring::{Shape, Video};

use super::folder::PlanFolder;
use super::trace::{self, Traces};
use super::{cost, place, simulate};
use crate::visus::args::ScoreArgs;
use crate::visus::batch::list::{self, Settings};
use crate::visus::media;
use crate::visus::score::print_all;

const EXAMPLES: &str = "\
The plan is a folder that all machines can read and write; videos must have the same paths on all of them. Options after -- \
are those of `visus score`.

Shards are work for one machine each; --workers plans twenty times as many as there are machines, so that slow ones do not \
hold up the rest. Long videos are cut into ranges of frames; `visus gather` joins them to the report of one run.

A plan that is made again in the same folder keeps all results that are still right: a task is known by its files (path, \
length, time of change), options and engine.

Examples:
  visus plan pairs.csv --shards 40 -o plan/ -- -m v0.6.1 -m v0.6.1neg
  visus plan encodes/ --reference master.y4m --minutes 10 -o plan/
  visus plan catalogue.jsonl --workers 50 -o plan/
  for shard in $(seq 0 39); do visus work plan/ --shard $shard; done
  visus gather plan/ -o scores.ndjson";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PlanArgs {
    /// A CSV file with the columns reference and distorted, JSON lines (.jsonl, .ndjson) with these keys, or a folder or an object
    /// store's prefix (s3://, gs://, az://) of encodes of one --reference
    #[arg(value_hint = ValueHint::AnyPath)]
    pub list: PathBuf,

    /// The reference of all encodes in a folder, or of list rows without one
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub reference: Option<PathBuf>,

    /// The folder of the plan, or a prefix of an object store
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,

    /// Number of shards
    #[arg(long, value_name = "N", conflicts_with = "minutes", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub shards: Option<u32>,

    /// Choose the number of shards so that each takes about this long on one core of this machine
    #[arg(long, value_name = "MINUTES", value_parser = positive)]
    pub minutes: Option<f64>,

    /// Number of machines: twenty shards for each, large ones first and small ones last, to be started in order
    #[arg(long, value_name = "N", conflicts_with_all = ["shards", "minutes"], value_parser = clap::value_parser!(u32).range(1..=50_000))]
    pub workers: Option<u32>,

    /// Cut videos into ranges of about this many seconds of one core: the most that a killed worker loses
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive)]
    pub piece: f64,

    /// Also print how long the plan would take on 10 to 10,000 workers, with stragglers and failures
    #[arg(long)]
    pub simulate: bool,

    /// Also put the tasks into this queue of NATS JetStream, nats://HOST[:PORT][/QUEUE], for `visus work --queue`
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "ADDRESS")]
    pub queue: Option<String>,

    /// Seconds after which a task whose worker gives no sign goes to another
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "SECONDS", default_value_t = 30, requires = "queue", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub lease: u32,

    /// No summary
    #[arg(short, long)]
    pub quiet: bool,

    /// Options of `visus score`, after --
    #[arg(last = true, value_name = "SCORE OPTIONS")]
    pub score: Vec<String>,
}

fn positive(text: &str) -> Result<f64, String> {
    let number: Result<f64, _> = text.parse();
    number
        .ok()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or("a number above 0 is needed".into())
}

/// Looking at objects is waiting for answers: so many wait at once.
const REMOTE_LOOKS: usize = 16;

/// The whole plan, as it is in its folder.
#[derive(Debug, Deserialize, Serialize)]
pub struct Plan {
    /// The engine that planned; others may compute other digits and are refused.
    pub engine: String,
    /// The plan's span in OpenTelemetry traces, in the form of the W3C's header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Options of `visus score`.
    pub score: Vec<String>,
    /// Measured when planning: nanoseconds of one core for a pixel of a frame pair.
    pub ns_per_pixel: f64,
    pub shards: usize,
    pub pairs: Vec<PlannedPair>,
    pub tasks: Vec<Task>,
}

/// A row of the list.
#[derive(Debug, Deserialize, Serialize)]
pub struct PlannedPair {
    pub reference: PathBuf,
    pub distorted: PathBuf,
    /// All that its result depends on.
    pub task: Value,
    /// Its tasks, in the order of their ranges. Rows that ask for the same share theirs.
    pub tasks: Vec<usize>,
}

/// Work that is done at once: a pair, or a range of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Task {
    /// Of everything that its result depends on.
    pub key: String,
    /// The first row that needs it.
    pub pair: usize,
    pub range: Option<(u64, Option<u64>)>,
    /// Estimated seconds of one core.
    pub cost: f64,
    pub shard: usize,
}

/// The words of `visus score` without the command.
#[derive(Debug, Parser)]
#[command(name = "visus score", no_binary_name = true)]
struct ScoreWords {
    #[command(flatten)]
    score: ScoreArgs,
}

/// What `visus score` would do with these words and files.
pub fn score_args(words: &[String], reference: &Path, distorted: &Path) -> Result<ScoreArgs> {
    let words = words.iter().map(std::ffi::OsString::from);
    let files = ["--".into(), reference.as_os_str().to_owned(), distorted.as_os_str().to_owned()];
    let args = ScoreWords::try_parse_from(words.chain(files))?.score;
    if args.outputs.is_any() {
        bail!("a plan writes its results itself: leave out options for reports");
    }
    if args.from.is_some() || args.to.is_some() || args.skip_ref != 0 || args.skip_dis != 0 {
        bail!("a plan chooses ranges itself: leave out --from, --to, --skip-ref and --skip-dis");
    }
    if reference.as_os_str() == "-" || distorted.as_os_str() == "-" {
        bail!("standard input is not there on other machines");
    }
    Ok(args)
}

/// All that the result of a pair depends on.
pub fn task_of(args: &ScoreArgs) -> Result<Value> {
    let settings = Settings {
        selection: &args.selection,
        raw: &args.raw,
        run: &args.run,
        media: &args.media,
        per_frame: false,
    };
    let mut task = settings.task(&args.reference, &args.distorted);
    for (side, path) in [("reference", &args.reference), ("distorted", &args.distorted)] {
        if place::is_remote(path) {
            task[side] = place::file(path)?;
        }
    }
    Ok(task)
}

pub fn run(args: &PlanArgs) -> Result<()> {
    let parent = trace::new_parent(&args.output.to_string_lossy());
    let (_traces, span) = Traces::of_plan(&parent)?;
    let plan = Plan { traceparent: Some(parent), ..make(args)? };
    let folder = PlanFolder::open(&args.output)?;
    folder.write_plan(&plan)?;
    #[cfg(feature = "nats")]
    if let Some(address) = &args.queue {
        let published = super::queue::fill(address, args.lease, &folder, &plan)?;
        if !args.quiet {
            eprintln!("visus: {published} new jobs in the queue");
        }
    }
    span.set("visus.pairs", plan.pairs.len() as i64);
    span.set("visus.tasks", plan.tasks.len() as i64);
    span.set("visus.shards", plan.shards as i64);
    drop(span);
    let total: f64 = plan.tasks.iter().map(|task| task.cost).sum();
    if !args.quiet {
        eprintln!(
            "visus: {} pairs, {} tasks in {} shards, about {:.1} hours of one core like this one's",
            plan.pairs.len(),
            plan.tasks.len(),
            plan.shards,
            total / 3600.0
        );
    }
    if args.simulate {
        print_all(&simulate::table(&plan))?;
    }
    Ok(())
}

fn make(args: &PlanArgs) -> Result<Plan> {
    let listed = if place::is_remote(&args.list) { place::pairs } else { list::pairs };
    let pairs: Vec<(PathBuf, PathBuf)> = listed(&args.list, args.reference.as_deref())?
        .into_iter()
        .map(|(reference, distorted)| Ok((place::absolute(&reference)?, place::absolute(&distorted)?)))
        .collect::<Result<_>>()?;
    let Some((reference, distorted)) = pairs.first() else { bail!("there is nothing to plan") };
    let selection = score_args(&args.score, reference, distorted)?.selection.parse()?;
    // A plan that is made again is cut at the same places, so that results of ranges stay right.
    let earlier = PlanFolder::open(&args.output)?.read_plan().ok();
    let earlier = earlier.filter(|plan| plan.engine == crate::VERSION && plan.score == args.score);
    let ns_per_pixel = match earlier {
        Some(plan) => plan.ns_per_pixel,
        None => cost::measure(&selection)?,
    };
    let looks = look(args, &pairs)?;
    let mut plan = Plan {
        engine: crate::VERSION.to_owned(),
        traceparent: None,
        score: args.score.clone(),
        ns_per_pixel,
        shards: 1,
        pairs: Vec::with_capacity(pairs.len()),
        tasks: Vec::new(),
    };
    let mut known = HashMap::new();
    for ((reference, distorted), look) in pairs.into_iter().zip(looks) {
        plan.add(reference, distorted, look, args.piece, &mut known);
    }
    let costs: Vec<f64> = plan.tasks.iter().map(|task| task.cost).collect();
    plan.shards = shard_count(args, &costs);
    let sizes = if args.workers.is_some() { cost::Sizes::Falling } else { cost::Sizes::Even };
    for (task, shard) in plan.tasks.iter_mut().zip(cost::balance(&costs, plan.shards, sizes)) {
        task.shard = shard;
    }
    Ok(plan)
}

/// Never more shards than tasks: a shard without work would still be started.
fn shard_count(args: &PlanArgs, costs: &[f64]) -> usize {
    let wanted = match (args.shards, args.minutes, args.workers) {
        (Some(shards), ..) => shards as usize,
        (_, Some(minutes), _) => (costs.iter().sum::<f64>() / (minutes * 60.0)).ceil() as usize,
        (_, _, Some(workers)) => workers as usize * simulate::SHARDS_PER_WORKER,
        _ => 1,
    };
    wanted.clamp(1, costs.len().max(1))
}

/// What is known of a pair before it is scored.
struct Look {
    /// All that its result depends on.
    task: Value,
    /// A limit on frames or a step cannot be divided.
    is_whole: bool,
    /// A video that cannot be looked at has none: whoever scores it says what is wrong with it.
    shape: Option<Shape>,
}

impl Plan {
    fn add(
        &mut self,
        reference: PathBuf,
        distorted: PathBuf,
        look: Look,
        piece: f64,
        known: &mut HashMap<String, usize>,
    ) {
        let Look { task, is_whole, shape } = look;
        let pair = self.pairs.len();
        let ranges = if is_whole { vec![None] } else { cost::cut(shape, self.ns_per_pixel, piece) };
        let mut tasks = Vec::with_capacity(ranges.len());
        for range in ranges {
            let key = key(&task, &self.score, range);
            let place = *known.entry(key.clone()).or_insert_with(|| {
                let last = shape.and_then(|shape| shape.frames);
                let frames = range.and_then(|(from, to)| Some(to.or(last)?.saturating_sub(from)));
                let cost = cost::seconds(shape, frames, self.ns_per_pixel);
                self.tasks.push(Task { key, pair, range, cost, shard: 0 });
                self.tasks.len() - 1
            });
            tasks.push(place);
        }
        self.pairs.push(PlannedPair { reference, distorted, task, tasks });
    }
}

/// A name for everything that a result depends on.
fn key(task: &Value, words: &[String], range: Option<(u64, Option<u64>)>) -> String {
    let digest = Sha256::digest(format!("{task}\n{words:?}\n{range:?}"));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Looks at all pairs, by several threads.
fn look(args: &PlanArgs, pairs: &[(PathBuf, PathBuf)]) -> Result<Vec<Look>> {
    let first = &pairs[0];
    let raw = score_args(&args.score, &first.0, &first.1)?.raw.format()?;
    let decoders = media::decoders();
    let look = |(reference, distorted): &(PathBuf, PathBuf)| -> Result<Look> {
        let words = score_args(&args.score, reference, distorted)?;
        let is_whole = words.run.frames.is_some() || words.run.subsample != 1;
        let shape = if place::is_remote(distorted) {
            place::shape(distorted, raw, &decoders).ok()
        } else {
            Shape::of(&Video::Path(distorted.clone()), raw, &decoders, &Cancel::new()).ok()
        };
        Ok(Look { task: task_of(&words)?, is_whole, shape })
    };
    let (next, looks) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(pairs.len())));
    let take = || {
        while let Some((place, pair)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            pairs.get(place).map(|pair| (place, pair))
        } {
            let look = look(pair);
            looks.lock().unwrap_or_else(PoisonError::into_inner).push((place, look));
        }
    };
    let is_remote = pairs.iter().any(|(_, distorted)| place::is_remote(distorted));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if is_remote { cores.max(REMOTE_LOOKS) } else { cores };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(take))));
    let mut looks = looks.into_inner().unwrap_or_else(PoisonError::into_inner);
    looks.sort_by_key(|(place, _)| *place);
    looks.into_iter().map(|(_, look)| look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<ScoreArgs> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        score_args(&words, Path::new("/a/-r.y4m"), Path::new("/a/d.y4m"))
    }

    #[test]
    fn options_of_score_are_those_of_score() {
        let args = parsed(&["-m", "v0.6.1neg", "--threads", "2", "--scale", "off"]).unwrap();
        assert_eq!((&*args.selection.models[0], args.run.threads), ("v0.6.1neg", Some(2)));
        assert_eq!(args.reference, Path::new("/a/-r.y4m"));
        for wrong in
            [&["--json=x.json"][..], &["--from", "3"], &["--html", "x"], &["--nonsense"], &["third.y4m"]]
        {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn keys_tell_tasks_apart() {
        let task = serde_json::json!({ "engine": "1" });
        let words = ["-m".to_owned(), "a".to_owned()];
        let keys =
            [key(&task, &words, None), key(&task, &words, Some((0, Some(5)))), key(&task, &words[..1], None)];
        assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[0].len() == 32, "{keys:?}");
    }
}
