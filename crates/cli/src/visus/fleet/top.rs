//! `visus top`: a plan in the terminal, from its results alone.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::{Args, ValueHint};

use super::folder::{PlanFolder, TaskResult};
use super::plan::{Plan, Task};
use crate::visus::score::print_all;

/// The rate is that of this time before the last result.
const WINDOW: Duration = Duration::from_secs(600);
/// Failures that are shown.
const FAILURES: usize = 8;
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

/// A task that has a result.
#[derive(Clone, Debug)]
struct Done {
    when: SystemTime,
    /// Why it has no score.
    error: Option<String>,
}

pub fn run(args: &TopArgs) -> Result<()> {
    let folder = PlanFolder::open(&args.plan)?;
    let is_once = args.once || !std::io::stdout().is_terminal();
    let mut plan = folder.read_plan()?;
    let mut done = vec![None; plan.tasks.len()];
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
        if now.traceparent != plan.traceparent {
            // It was made again.
            done = vec![None; now.tasks.len()];
        }
        plan = now;
    }
}

/// Looks for results of tasks that had none.
fn look(folder: &PlanFolder, plan: &Plan, done: &mut [Option<Done>]) -> Result<()> {
    let written = folder.done()?;
    let new = |(task, done): (&Task, &mut Option<Done>)| {
        done.is_none().then(|| written.get(&task.key).copied()).flatten()
    };
    let mut places = Vec::new();
    for (place, pair) in plan.tasks.iter().zip(done.iter_mut()).enumerate() {
        places.extend(new(pair).map(|when| (place, when)));
    }
    let keys: Vec<&str> = places.iter().map(|(place, _)| &*plan.tasks[*place].key).collect();
    for ((place, when), result) in places.iter().zip(folder.results(&keys)?) {
        let error = match result {
            Some(TaskResult::Error { error, .. }) => Some(error),
            _ => None,
        };
        done[*place] = Some(Done { when: *when, error });
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
        plan.tasks.iter().zip(done).filter(|(_, done)| done.as_ref().is_some_and(|done| done.when > begin))
    };
    let cost: f64 = recent().map(|(task, _)| task.cost).sum();
    (seconds > 0.0 && cost > 0.0).then(|| (recent().count() as f64 / seconds, cost / seconds))
}

fn page(plan: &Plan, done: &[Option<Done>], now: SystemTime) -> String {
    let cost: f64 = plan.tasks.iter().map(|task| task.cost).sum();
    let left: f64 =
        plan.tasks.iter().zip(done).filter(|(_, done)| done.is_none()).map(|(task, _)| task.cost).sum();
    let share = if cost > 0.0 { 1.0 - left / cost } else { 1.0 };
    let (count, bad) =
        (done.iter().flatten().count(), done.iter().flatten().filter(|done| done.error.is_some()).count());
    let filled = (share * BAR as f64) as usize;
    let mut text = format!("[{}{}] {:.1} %\n", "#".repeat(filled), ".".repeat(BAR - filled), 100.0 * share);
    let _ =
        writeln!(text, "tasks     {} scored, {bad} of bad video, {} left", count - bad, done.len() - count);
    text.push_str(&shards(plan, done));
    match rate(plan, done) {
        Some((tasks, cores)) if count < done.len() => {
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
    let mut tally = vec![(0usize, 0usize); plan.shards];
    for (task, done) in plan.tasks.iter().zip(done) {
        if let Some((all, finished)) = tally.get_mut(task.shard) {
            (*all, *finished) = (*all + 1, *finished + usize::from(done.is_some()));
        }
    }
    let per_mark = plan.shards.div_ceil(BAR).max(1);
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
    format!("shards    {finished} of {} done, {begun} begun\n          {marks}\n", plan.shards)
}

/// The newest first, a line each.
fn failures(plan: &Plan, done: &[Option<Done>]) -> String {
    let mut bad: Vec<_> =
        plan.tasks.iter().zip(done).filter_map(|(task, done)| Some((task, done.as_ref()?))).collect();
    bad.retain(|(_, done)| done.error.is_some());
    bad.sort_by_key(|(_, done)| std::cmp::Reverse(done.when));
    let mut text = String::new();
    for (task, done) in bad.iter().take(FAILURES) {
        let file = plan
            .pairs
            .get(task.pair)
            .map(|pair| pair.distorted.file_name().unwrap_or_default().to_string_lossy());
        let line =
            format!("failed    {}: {}", file.unwrap_or_default(), done.error.as_deref().unwrap_or_default());
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
    use super::super::plan::PlannedPair;
    use super::*;

    fn plan(tasks: usize, shards: usize) -> Plan {
        let task = |place: usize| Task {
            key: place.to_string(),
            pair: 0,
            range: None,
            cost: 2.0,
            shard: place % shards,
        };
        let file = PathBuf::from("/v/film.mp4");
        Plan {
            engine: String::new(),
            traceparent: None,
            score: Vec::new(),
            ns_per_pixel: 1.0,
            shards,
            pairs: vec![PlannedPair {
                reference: file.clone(),
                distorted: file,
                task: 0.into(),
                tasks: Vec::new(),
            }],
            tasks: (0..tasks).map(task).collect(),
        }
    }

    #[test]
    fn the_time_left_follows_from_the_last_results() {
        let (plan, start) = (plan(10, 4), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
        // A result every 30 s: two core-seconds in 30 s, and ten are left.
        let mut done: Vec<Option<Done>> = vec![None; 10];
        for place in 0..5u32 {
            let error = (place == 3).then(|| "it is\nno video".to_owned());
            done[place as usize] = Some(Done { when: start + Duration::from_secs(30) * place, error });
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
