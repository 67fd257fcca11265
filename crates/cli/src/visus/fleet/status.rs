//! `visus status`: how far a plan is, from its results alone.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use serde_json::json;

use super::folder::{PlanFolder, TaskResult};
use crate::visus::score::print_all;

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The folder of the plan
    #[arg(value_hint = ValueHint::DirPath)]
    pub plan: PathBuf,

    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Bundles whose results are read at once.
const GROUP: usize = 1024;

/// What is done of a shard.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tasks: usize,
    scored: usize,
    bad: usize,
    /// Estimated seconds of one core: of all tasks, and of those without a result.
    cost: f64,
    left: f64,
}

impl Tally {
    fn add(&mut self, cost: f64, result: Option<&TaskResult>) {
        self.tasks += 1;
        self.cost += cost;
        match result {
            Some(TaskResult::Ok { .. }) => self.scored += 1,
            Some(TaskResult::Error { .. }) => self.bad += 1,
            None => self.left += cost,
        }
    }

    fn is_done(&self) -> bool {
        self.scored + self.bad == self.tasks
    }
}

pub fn run(args: &StatusArgs) -> Result<()> {
    let folder = PlanFolder::open(&args.plan)?;
    let plan = folder.read_plan()?;
    let mut shards = vec![Tally::default(); plan.head.shards];
    let mut all = Tally::default();
    for group in plan.bundles.chunks(GROUP) {
        let results = folder.results(&group.iter().collect::<Vec<_>>())?;
        for (bundle, lines) in group.iter().zip(results) {
            for (place, task) in bundle.wanted() {
                all.add(task.cost, lines[place].as_ref());
                if let Some(shard) = shards.get_mut(bundle.shard) {
                    shard.add(task.cost, lines[place].as_ref());
                }
            }
        }
    }
    let begun = |shard: &Tally| !shard.is_done() && shard.scored + shard.bad > 0;
    let done = shards.iter().filter(|shard| shard.is_done()).count();
    let under_way = shards.iter().filter(|shard| begun(shard)).count();
    if args.json {
        let text = json!({
            "pairs": plan.head.pairs,
            "tasks": all.tasks,
            "scored": all.scored,
            "bad_video": all.bad,
            "left": all.tasks - all.scored - all.bad,
            "core_seconds": all.cost,
            "core_seconds_left": all.left,
            "shards": plan.head.shards,
            "shards_done": done,
            "shards_begun": under_way,
            "unfinished_shards": (0..plan.head.shards).filter(|shard| !shards[*shard].is_done()).collect::<Vec<_>>(),
        });
        return print_all(&format!("{text:#}\n"));
    }
    let share = if all.cost > 0.0 { 100.0 * (1.0 - all.left / all.cost) } else { 100.0 };
    print_all(&format!(
        "{share:.1} % done: {} of {} tasks scored, {} of bad video, {} left\n\
         shards: {done} of {} done, {under_way} begun\n\
         about {:.1} hours of one core left\n",
        all.scored,
        all.tasks,
        all.bad,
        all.tasks - all.scored - all.bad,
        plan.head.shards,
        all.left / 3600.0
    ))
}
