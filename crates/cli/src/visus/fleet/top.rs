//! `visus top`: a plan in the terminal, from its results alone.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::{Args, ValueHint};

use super::bundle::{Bundle, Plan};
use super::folder::{PlanFolder, TaskResult};
use crate::visus::score::print_all;

/// The rate is that of this time before the last result.
const WINDOW: Duration = Duration::from_secs(600);
/// Failures that are shown.
const FAILURES: usize = 8;
/// Bundles whose results are read at once.
const GROUP: usize = 1024;
/// Width of bars, in characters.
const BAR: usize = 60;
/// The longest line.
const LINE: usize = 110;
/// Clears the screen and goes to its first place.
const CLEAR: &str = "\x1b[2J\x1b[H";

#[derive(Debug, Args)]
pub struct TopArgs {
    /// The folder of the plan
    #[arg(value_hint = ValueHint::DirPath)]
    pub plan: PathBuf,

    /// Seconds from one look to the next
    #[arg(short, long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub interval: u64,

    /// Print once and exit; the default where the output is not a terminal
    #[arg(long)]
    pub once: bool,
}

/// A bundle that has a result.
#[derive(Clone, Debug)]
struct Done {
    when: SystemTime,
    /// Tasks without a score: their places, and why.
    errors: Vec<(usize, String)>,
}

pub fn run(args: &TopArgs) -> Result<()> {
    let folder = PlanFolder::open(&args.plan)?;
    let is_once = args.once || !std::io::stdout().is_terminal();
    let mut plan = folder.read_plan()?;
    let mut done = vec![None; plan.bundles.len()];
    loop {
        look(&folder, &plan, &mut done)?;
        let text = page(&plan, &done, SystemTime::now());
        if is_once {
            return print_all(&text);
        }
        print_all(&format!("{CLEAR}{text}"))?;
        if done.iter().all(Option::is_some) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(args.interval));
        let now = folder.read_plan()?;
        if now.head.traceparent != plan.head.traceparent {
            // It was made again.
            done = vec![None; now.bundles.len()];
        }
        plan = now;
    }
}

/// Looks for results of bundles that had none.
fn look(folder: &PlanFolder, plan: &Plan, done: &mut [Option<Done>]) -> Result<()> {
    let written = folder.done()?;
    let mut new = Vec::new();
    for (place, bundle) in plan.bundles.iter().enumerate().filter(|(place, _)| done[*place].is_none()) {
        new.extend(written.get(&bundle.key).map(|when| (place, *when)));
    }
    for group in new.chunks(GROUP) {
        let bundles: Vec<&Bundle> = group.iter().map(|(place, _)| &plan.bundles[*place]).collect();
        for ((place, when), lines) in group.iter().zip(folder.results(&bundles)?) {
            let error = |(task, line)| match line {
                Some(TaskResult::Error { error, .. }) => Some((task, error)),
                _ => None,
            };
            let errors = lines.into_iter().enumerate().filter_map(error);
            let is_wanted = |(task, _): &(usize, String)| !plan.bundles[*place].tasks[*task].rows.is_empty();
            done[*place] = Some(Done { when: *when, errors: errors.filter(is_wanted).collect() });
        }
    }
    Ok(())
}

/// What is done in the last while: tasks, and estimated core-seconds, both per second.
fn rate(plan: &Plan, done: &[Option<Done>]) -> Option<(f64, f64)> {
    let times = || done.iter().flatten().map(|done| done.when);
    let (first, last) = (times().min()?, times().max()?);
    let begin = first.max(last.checked_sub(WINDOW)?);
    let seconds = last.duration_since(begin).ok()?.as_secs_f64();
    let recent = || {
        let is_recent = |done: &Option<Done>| done.as_ref().is_some_and(|done| done.when > begin);
        plan.bundles.iter().zip(done).filter(move |(_, done)| is_recent(done)).map(|(bundle, _)| bundle)
    };
    let cost: f64 = recent().map(Bundle::cost).sum();
    let tasks = recent().map(|bundle| bundle.tasks.len()).sum::<usize>();
    (seconds > 0.0 && cost > 0.0).then(|| (tasks as f64 / seconds, cost / seconds))
}

fn page(plan: &Plan, done: &[Option<Done>], now: SystemTime) -> String {
    let cost: f64 = plan.bundles.iter().map(Bundle::cost).sum();
    let open = || plan.bundles.iter().zip(done).filter(|(_, done)| done.is_none()).map(|(bundle, _)| bundle);
    let left: f64 = open().map(Bundle::cost).sum();
    let share = if cost > 0.0 { 1.0 - left / cost } else { 1.0 };
    let tasks = |bundle: &Bundle| bundle.wanted().count();
    let all: usize = plan.bundles.iter().map(tasks).sum();
    let count = all - open().map(tasks).sum::<usize>();
    let bad: usize = done.iter().flatten().map(|done| done.errors.len()).sum();
    let filled = (share * BAR as f64) as usize;
    let mut text = format!("[{}{}] {:.1} %\n", "#".repeat(filled), ".".repeat(BAR - filled), 100.0 * share);
    let _ = writeln!(text, "tasks     {} scored, {bad} of bad video, {} left", count - bad, all - count);
    text.push_str(&shards(plan, done));
    match rate(plan, done) {
        Some((tasks, cores)) if count < all => {
            let left = Duration::from_secs_f64((left / cores).min(1e9));
            let _ = writeln!(text, "rate      {:.1} tasks a minute; about {} left", tasks * 60.0, span(left));
        }
        Some((tasks, _)) => drop(writeln!(text, "rate      {:.1} tasks a minute", tasks * 60.0)),
        None => text.push_str("rate      not known yet\n"),
    }
    if let Some(last) = done.iter().flatten().map(|done| done.when).max() {
        // Clocks of machines differ; a result of the future is one of now.
        let _ = writeln!(text, "last      result {} ago", span(now.duration_since(last).unwrap_or_default()));
    }
    text.push_str(&failures(plan, done));
    text
}

/// A character for each shard, or for several: `#` done, `+` begun, `.` not begun.
fn shards(plan: &Plan, done: &[Option<Done>]) -> String {
    let mut tally = vec![(0usize, 0usize); plan.head.shards];
    for (bundle, done) in plan.bundles.iter().zip(done) {
        if let Some((all, finished)) = tally.get_mut(bundle.shard) {
            (*all, *finished) = (*all + 1, *finished + usize::from(done.is_some()));
        }
    }
    let per_mark = plan.head.shards.div_ceil(BAR).max(1);
    let mark = |group: &[(usize, usize)]| match (
        group.iter().all(|(all, done)| all == done),
        group.iter().any(|(_, done)| *done > 0),
    ) {
        (true, _) => '#',
        (_, true) => '+',
        _ => '.',
    };
    let marks: String = tally.chunks(per_mark).map(mark).collect();
    let finished = tally.iter().filter(|(all, done)| all == done).count();
    let begun = tally.iter().filter(|(all, done)| all != done && *done > 0).count();
    format!("shards    {finished} of {} done, {begun} begun\n          {marks}\n", plan.head.shards)
}

/// The newest first, a line each.
fn failures(plan: &Plan, done: &[Option<Done>]) -> String {
    let mut bad: Vec<_> =
        plan.bundles.iter().zip(done).filter_map(|(bundle, done)| Some((bundle, done.as_ref()?))).collect();
    bad.retain(|(_, done)| !done.errors.is_empty());
    bad.sort_by_key(|(_, done)| std::cmp::Reverse(done.when));
    let errors = bad.iter().flat_map(|(bundle, done)| done.errors.iter().map(move |error| (bundle, error)));
    let mut text = String::new();
    for (bundle, (task, error)) in errors.take(FAILURES) {
        let file = bundle.tasks[*task].distorted().file_name().unwrap_or_default().to_string_lossy();
        let line = format!("failed    {file}: {error}");
        let line = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        text.extend(line.take(LINE).chain(['\n']));
    }
    text
}

/// A time in words.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bundle::{Head, Task};
    use super::*;

    fn plan(bundles: usize, shards: usize) -> Plan {
        let file = serde_json::json!({ "path": "/v/film.mp4" });
        let task = |row| Task {
            rows: vec![row],
            reference: file.clone(),
            distorted: file.clone(),
            range: None,
            cost: 2.0,
            has_pairs: false,
        };
        let bundle =
            |place: usize| Bundle { key: place.to_string(), shard: place % shards, tasks: vec![task(place)] };
        Plan {
            head: Head { shards, bundles, ..Head::default() },
            bundles: (0..bundles).map(bundle).collect(),
        }
    }

    #[test]
    fn the_time_left_follows_from_the_last_results() {
        let (plan, start) = (plan(10, 4), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
        // A result every 30 s: two core-seconds in 30 s, and ten are left.
        let mut done: Vec<Option<Done>> = vec![None; 10];
        for place in 0..5u32 {
            let errors = (place == 3).then(|| (0, "it is\nno video".to_owned())).into_iter().collect();
            done[place as usize] = Some(Done { when: start + Duration::from_secs(30) * place, errors });
        }
        let text = page(&plan, &done, start + Duration::from_secs(130));
        for words in [
            "50.0 %",
            "4 scored, 1 of bad video, 5 left",
            "0 of 4 done, 4 begun",
            "2.0 tasks a minute",
            "2 min 30 s left",
            "result 10 s ago",
            "film.mp4: it is no video",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(page(&plan, &vec![None; 10], start).contains("rate      not known yet"));
    }

    #[test]
    fn many_shards_share_a_mark() {
        let plan = plan(1000, 500);
        let text = shards(&plan, &vec![None; 1000]);
        assert!(text.lines().all(|line| line.len() <= 10 + BAR), "{text}");
    }
}
