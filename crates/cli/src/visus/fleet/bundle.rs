//! What a plan consists of: tasks, and bundles of them that have one result.
//!
//! A task is a pair of videos, or a range of a long pair. Tasks of milliseconds share a bundle, since writing a result safely takes
//! as long as they do. A bundle is scored by one worker at once; its result has a line for each of its tasks.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::cost::Range;

/// A bundle of cheap tasks costs about this many seconds of one core: what a worker loses when it is killed.
pub const WORTH: f64 = 0.1;
/// The most tasks of a bundle.
const MOST: usize = 250;

/// What all tasks of a plan have in common.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Head {
    /// Of everything that is to be scored: a plan that is made again from the same files has the same.
    pub id: String,
    /// The engine that planned; others may compute other digits and are refused.
    pub engine: String,
    /// The plan's span in OpenTelemetry traces, in the form of the W3C's header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What the identities of its jobs in a queue begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Options of `visus score`.
    pub score: Vec<String>,
    /// Measured when planning: nanoseconds of one core for a pixel of a frame pair.
    pub ns_per_pixel: f64,
    /// About how many seconds of one core a range costs; missing if the user gave that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<f64>,
    pub shards: usize,
    /// Rows of the list.
    pub pairs: usize,
    pub bundles: usize,
    /// All that results depend on but the files.
    pub common: Value,
}

/// Work whose result is written at once.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Bundle {
    /// Of everything that its result depends on.
    pub key: String,
    pub shard: usize,
    pub tasks: Vec<Task>,
}

/// A pair, or a range of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Task {
    /// Rows of the list that need it, from 0. None is left where a plan that was made again has lost them.
    pub rows: Vec<usize>,
    /// Path, length and time of change.
    pub reference: Value,
    pub distorted: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Estimated seconds of one core.
    pub cost: f64,
    /// The plan has the pairs of this range.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_pairs: bool,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub head: Head,
    /// In the order of their shards.
    pub bundles: Vec<Bundle>,
}

impl Task {
    pub fn reference(&self) -> &Path {
        path(&self.reference)
    }

    pub fn distorted(&self) -> &Path {
        path(&self.distorted)
    }

    /// All that the result of its pair depends on, as a batch writes it.
    pub fn facts(&self, common: &Value) -> Value {
        let mut facts = common.clone();
        facts["reference"] = self.reference.clone();
        facts["distorted"] = self.distorted.clone();
        facts
    }

    /// A name for everything that its result depends on.
    pub fn key(&self, common: &Value, words: &[String]) -> String {
        name(&format!("{}\n{words:?}\n{:?}", self.facts(common), self.range))
    }
}

fn path(file: &Value) -> &Path {
    Path::new(file["path"].as_str().unwrap_or_default())
}

/// A short name for a text.
pub fn name(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl Bundle {
    /// One task gives the bundle its key.
    fn new(tasks: Vec<(String, Task)>) -> Self {
        let (keys, tasks): (Vec<String>, Vec<Task>) = tasks.into_iter().unzip();
        let key = match &keys[..] {
            [key] => key.clone(),
            keys => name(&keys.join("\n")),
        };
        Self { key, shard: 0, tasks }
    }

    /// Estimated seconds of one core.
    pub fn cost(&self) -> f64 {
        self.tasks.iter().map(|task| task.cost).sum()
    }

    /// Tasks that some row needs, and their places in the result.
    pub fn wanted(&self) -> impl Iterator<Item = (usize, &Task)> {
        self.tasks.iter().enumerate().filter(|(_, task)| !task.rows.is_empty())
    }
}

/// Puts tasks into bundles of at most about `worth` seconds. Bundles that were `finished` for an earlier plan stay as they are if
/// any of their tasks is still wanted; `tasks` are in the order of the list and have different keys.
pub fn bundles(tasks: Vec<(String, Task)>, finished: Vec<Vec<(String, Task)>>, worth: f64) -> Vec<Bundle> {
    let places: HashMap<String, usize> =
        tasks.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
    let mut left: Vec<Option<(String, Task)>> = tasks.into_iter().map(Some).collect();
    let mut bundles = Vec::new();
    for earlier in finished {
        let is_wanted = |key: &String| places.get(key).is_some_and(|place| left[*place].is_some());
        if !earlier.iter().any(|(key, _)| is_wanted(key)) {
            continue;
        }
        let mut keep = |(key, task): (String, Task)| {
            let wanted = places.get(&key).and_then(|place| left[*place].take());
            wanted.unwrap_or((key, Task { rows: Vec::new(), cost: 0.0, ..task }))
        };
        bundles.push(Bundle::new(earlier.into_iter().map(&mut keep).collect()));
    }
    let mut group: Vec<(String, Task)> = Vec::new();
    let mut cost = 0.0;
    for (key, task) in left.into_iter().flatten() {
        if task.range.is_some() || task.cost >= worth {
            bundles.push(Bundle::new(vec![(key, task)]));
            continue;
        }
        cost += task.cost;
        group.push((key, task));
        if cost >= worth || group.len() == MOST {
            cost = 0.0;
            bundles.push(Bundle::new(std::mem::take(&mut group)));
        }
    }
    if !group.is_empty() {
        bundles.push(Bundle::new(group));
    }
    bundles
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;

    pub fn task(row: usize, cost: f64) -> Task {
        let file = |name: &str| json!({ "path": format!("/v/{name}{row}.y4m") });
        Task {
            rows: vec![row],
            reference: file("r"),
            distorted: file("d"),
            range: None,
            cost,
            has_pairs: false,
        }
    }

    fn tasks(rows: std::ops::Range<usize>, cost: f64) -> Vec<(String, Task)> {
        rows.map(|row| (format!("k{row}"), task(row, cost))).collect()
    }

    #[test]
    fn keys_tell_tasks_apart() {
        let (common, words) = (json!({ "engine": "1" }), ["-m".to_owned(), "a".to_owned()]);
        let (one, other) = (task(0, 1.0), task(1, 1.0));
        let part = Task { range: Some((0, Some(5))), ..one.clone() };
        let keys = [
            one.key(&common, &words),
            other.key(&common, &words),
            part.key(&common, &words),
            one.key(&common, &words[..1]),
        ];
        assert!((1..4).all(|place| !keys[..place].contains(&keys[place])), "{keys:?}");
        assert!(keys.iter().all(|key| key.len() == 32), "{keys:?}");
    }

    #[test]
    fn cheap_tasks_share_a_bundle() {
        let mut all = tasks(0..10, 0.1);
        all[3].1.cost = 60.0;
        all[4].1.range = Some((0, None));
        let made = bundles(all, Vec::new(), 0.25);
        let rows: Vec<Vec<usize>> =
            made.iter().map(|bundle| bundle.tasks.iter().map(|task| task.rows[0]).collect()).collect();
        assert_eq!(rows, [vec![0, 1, 2], vec![3], vec![4], vec![5, 6, 7], vec![8, 9]]);
        assert_eq!(made[1].key, "k3", "one task gives the bundle its key");
        assert_ne!(made[0].key, made[3].key);
    }

    #[test]
    fn finished_bundles_stay() {
        let first = bundles(tasks(0..6, 0.1), Vec::new(), 0.25);
        // The first row is gone, two are new: the bundle keeps its key and its three lines.
        let again = bundles(tasks(1..8, 0.1), vec![tasks(0..3, 0.1), tasks(20..23, 0.1)], 0.25);
        assert_eq!(again[0].key, first[0].key);
        assert_eq!(
            (again[0].tasks.len(), again[0].wanted().map(|(place, _)| place).collect()),
            (3, vec![1, 2])
        );
        let rows = again.iter().flat_map(|bundle| &bundle.tasks).flat_map(|task| &task.rows);
        let mut rows: Vec<usize> = rows.copied().collect();
        rows.sort_unstable();
        assert_eq!(rows, (1..8).collect::<Vec<_>>(), "each row once");
    }
}
