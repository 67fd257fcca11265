//! `visus plan`: what is to be scored, in tasks of bounded cost, each assigned to a shard.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use clap::{Args, Parser, ValueHint};
use serde_json::Value;
use visus_engine::Cancel;
use visus_scoring::{Shape, Video};

use super::bundle::{self, Bundle, Head, Plan, Task};
use super::cost::{Film, Piece};
use super::folder::PlanFolder;
use super::pairs::{self, Finder, Found};
use super::place::StageArgs;
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

    /// Cut videos into ranges of about this many seconds of one core: the most that a killed worker loses [default: 60, or less
    /// if there are fewer pairs than --shards; encoded video whose pairs are not found while planning is cut less often, so that
    /// decoding what precedes a range at most doubles the cost]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub piece: Option<f64>,

    /// Read long encoded videos while planning to find which of their frames belong together, for about so many minutes of one core at
    /// most: their ranges then decode nothing that precedes them
    #[arg(long, value_name = "MINUTES", default_value_t = 60.0, value_parser = not_negative)]
    pub find_pairs: f64,

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

    #[command(flatten)]
    pub stage: StageArgs,

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

fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or("a number of 0 or more is needed".into())
}

/// Looking at objects is waiting for answers: so many wait at once.
const REMOTE_LOOKS: usize = 16;

/// Bundles of cheap tasks are so much smaller than shards that shards can be even.
const BUNDLES_PER_SHARD: f64 = 4.0;

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
    Ok(args)
}

/// All that results depend on but the files, which are null.
fn common(args: &ScoreArgs) -> Value {
    let settings = Settings {
        selection: &args.selection,
        raw: &args.raw,
        run: &args.run,
        media: &args.media,
        per_frame: false,
    };
    let mut common = settings.task(Path::new(""), Path::new(""));
    for side in ["reference", "distorted"] {
        common[side] = Value::Null;
    }
    common
}

/// A file by its name, its length, the time of its last change, and what else its store knows.
pub fn file_facts(path: &Path) -> Result<Value> {
    if place::is_remote(path) { place::file(path) } else { Ok(list::file(path)) }
}

pub fn run(args: &PlanArgs) -> Result<()> {
    let parent = trace::new_parent(&args.output.to_string_lossy());
    let (_traces, span) = Traces::of_plan(&parent)?;
    let folder = PlanFolder::open(&args.output)?;
    let mut plan = make(args, &folder)?;
    #[cfg(feature = "nats")]
    let queue = match &args.queue {
        Some(address) => Some(super::queue::make(address, args.lease, &mut plan.head, &parent)?),
        None => None,
    };
    plan.head.traceparent = Some(parent);
    folder.write_plan(&plan)?;
    #[cfg(feature = "nats")]
    if let Some(queue) = queue {
        let published = super::queue::fill(&queue, &folder, &plan)?;
        if !args.quiet {
            eprintln!("visus: {published} new jobs in the queue");
        }
    }
    let tasks: usize = plan.bundles.iter().map(|bundle| bundle.wanted().count()).sum();
    span.set("visus.pairs", || plan.head.pairs as i64);
    span.set("visus.tasks", || tasks as i64);
    span.set("visus.shards", || plan.head.shards as i64);
    let total: f64 = plan.bundles.iter().map(Bundle::cost).sum();
    if !args.quiet {
        eprintln!(
            "visus: {} pairs, {tasks} tasks in {} shards, about {:.1} hours of one core like this one's",
            plan.head.pairs,
            plan.head.shards,
            total / 3600.0
        );
    }
    if args.simulate {
        print_all(&simulate::table(&plan))?;
    }
    Ok(())
}

fn make(args: &PlanArgs, folder: &PlanFolder) -> Result<Plan> {
    if args.reference.as_deref() == Some(Path::new("-")) {
        bail!("a plan cannot name standard input: other machines do not have it; name a file");
    }
    let listed = if place::is_remote(&args.list) { place::pairs } else { list::pairs };
    let pairs: Vec<(PathBuf, PathBuf)> = listed(&args.list, args.reference.as_deref())?
        .into_iter()
        .map(|(reference, distorted)| Ok((place::absolute(&reference)?, place::absolute(&distorted)?)))
        .collect::<Result<_>>()?;
    let Some((reference, distorted)) = pairs.first() else { bail!("there is nothing to plan") };
    let words = score_args(&args.score, reference, distorted)?;
    let selection = words.selection.parse()?;
    // A plan that is made again is cut at the same places, so that results of ranges stay right.
    let earlier = folder.read_plan().ok();
    let earlier = earlier.filter(|plan| plan.head.engine == crate::VERSION && plan.head.score == args.score);
    let mut head = Head {
        engine: crate::VERSION.to_owned(),
        score: args.score.clone(),
        ns_per_pixel: match &earlier {
            Some(plan) => plan.head.ns_per_pixel,
            None => cost::measure(&selection)?,
        },
        queue: earlier.as_ref().and_then(|plan| plan.head.queue.clone()),
        pairs: pairs.len(),
        common: common(&words),
        ..Head::default()
    };
    let looks = look(&words, &pairs)?;
    let piece = args.piece.map_or_else(
        || {
            let whole = |look: &Look| cost::seconds(Film::of(look.shape, None), None, head.ns_per_pixel);
            let total = looks.iter().map(whole).sum();
            let earlier = earlier
                .as_ref()
                .and_then(|plan| Some(cost::Earlier { seconds: plan.head.piece?, shards: plan.head.shards }));
            Piece::choose(args.shards.map(|shards| shards as usize), pairs.len(), total, earlier)
        },
        Piece::given,
    );
    head.piece = args.piece.is_none().then_some(piece.seconds);
    // A limit on frames or a step cannot be divided.
    let is_whole = words.run.frames.is_some() || words.run.subsample != 1;
    let found = if is_whole {
        Found::new()
    } else {
        let budget = args.find_pairs * 60.0;
        Finder { folder, head: &head, budget, piece, stage: &args.stage, quiet: args.quiet }.find(&looks)?
    };
    let tasks = tasks(&head, looks, is_whole, piece, &found);
    let finished = earlier.map(|plan| finished(folder, &plan)).transpose()?.unwrap_or_default();
    let total: f64 = tasks.iter().map(|(_, task)| task.cost).sum();
    let wanted = wanted_shards(args, total);
    let worth = bundle::WORTH.min(piece.seconds).min(total / wanted as f64 / BUNDLES_PER_SHARD);
    let mut bundles = bundle::bundles(tasks, finished, worth);
    let costs: Vec<f64> = bundles.iter().map(Bundle::cost).collect();
    // A shard without work would still be started.
    head.shards = wanted.min(bundles.len()).max(1);
    let sizes = if args.workers.is_some() { cost::Sizes::Falling } else { cost::Sizes::Even };
    for (bundle, shard) in bundles.iter_mut().zip(cost::balance(&costs, head.shards, sizes)) {
        bundle.shard = shard;
    }
    bundles.sort_by_key(|bundle| bundle.shard);
    head.bundles = bundles.len();
    let keys = bundles.iter().map(|bundle| &*bundle.key).collect::<Vec<_>>().join("\n");
    head.id = bundle::name(&format!("{}\n{:?}\n{keys}", head.common, head.score));
    Ok(Plan { head, bundles })
}

/// How many shards are asked for, with tasks of so many seconds in all.
fn wanted_shards(args: &PlanArgs, total: f64) -> usize {
    let wanted = match (args.shards, args.minutes, args.workers) {
        (Some(shards), ..) => shards as usize,
        (_, Some(minutes), _) => (total / (minutes * 60.0)).ceil() as usize,
        (_, _, Some(workers)) => workers as usize * simulate::SHARDS_PER_WORKER,
        _ => 1,
    };
    wanted.max(1)
}

/// What is known of a pair before it is scored.
pub struct Look {
    reference: Value,
    distorted: Value,
    /// A video that cannot be looked at has none: whoever scores it says what is wrong with it.
    pub shape: Option<Shape>,
}

impl Look {
    /// The task of scoring all of it.
    pub fn whole(&self) -> Task {
        let (reference, distorted) = (self.reference.clone(), self.distorted.clone());
        Task { rows: Vec::new(), reference, distorted, range: None, cost: 0.0, has_pairs: false }
    }

    pub fn is_encoded(&self) -> bool {
        self.shape.is_some_and(|shape| shape.is_encoded)
    }
}

/// The tasks of all pairs with their keys, in the order of the list. Rows that ask for the same share theirs.
fn tasks(head: &Head, looks: Vec<Look>, is_whole: bool, piece: Piece, found: &Found) -> Vec<(String, Task)> {
    let mut tasks: Vec<(String, Task)> = Vec::with_capacity(looks.len());
    let mut known: HashMap<String, usize> = HashMap::new();
    for (row, look) in looks.into_iter().enumerate() {
        let whole = look.whole();
        let pairs = found.get(&pairs::key(&whole, head)).copied();
        let film = Film::of(look.shape, pairs);
        let ranges = if is_whole { vec![None] } else { cost::cut(film, head.ns_per_pixel, piece) };
        for range in ranges {
            let cost = cost::seconds(film, range, head.ns_per_pixel);
            let has_pairs = pairs.is_some() && range.is_some();
            let task = Task { rows: vec![row], range, cost, has_pairs, ..whole.clone() };
            let key = task.key(&head.common, &head.score);
            match known.get(&key) {
                Some(place) => tasks[*place].1.rows.push(row),
                None => {
                    known.insert(key.clone(), tasks.len());
                    tasks.push((key, task));
                }
            }
        }
    }
    tasks
}

/// Bundles of several tasks that have a result, each task with its key.
fn finished(folder: &PlanFolder, plan: &Plan) -> Result<Vec<Vec<(String, Task)>>> {
    let done = folder.done()?;
    let keyed = |task: &Task| (task.key(&plan.head.common, &plan.head.score), task.clone());
    let bundles =
        plan.bundles.iter().filter(|bundle| bundle.tasks.len() > 1 && done.contains_key(&bundle.key));
    Ok(bundles.map(|bundle| bundle.tasks.iter().map(keyed).collect()).collect())
}

/// Looks at all pairs, by several threads.
fn look(words: &ScoreArgs, pairs: &[(PathBuf, PathBuf)]) -> Result<Vec<Look>> {
    let (raw, decoders) = (words.raw.format()?, media::decoders());
    let look = |(reference, distorted): &(PathBuf, PathBuf)| -> Result<Look> {
        let shape = if place::is_remote(distorted) {
            place::shape(distorted, raw, &decoders).ok()
        } else {
            Shape::of(&Video::Path(distorted.clone()), raw, &decoders, &Cancel::new()).ok()
        };
        let is_encoded =
            |shape: &Shape| shape.is_encoded || place::is_encoded(reference, raw).unwrap_or(false);
        let shape = shape.map(|shape| Shape { is_encoded: is_encoded(&shape), ..shape });
        Ok(Look { reference: file_facts(reference)?, distorted: file_facts(distorted)?, shape })
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
}
