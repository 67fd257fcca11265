//! The promises of the table.

use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use super::*;

fn jobs(slots: usize, queue: usize) -> Jobs {
    Jobs::new(Limits { slots, queue, ..Limits::default() })
}

fn value(value: serde_json::Value) -> Work {
    Box::new(move |_| Output::of(&json!({ "value": value })))
}

/// Work that waits until it is cancelled or released.
fn gate() -> (Work, mpsc::Sender<()>) {
    let (go, wait) = mpsc::channel();
    let work = move |context: &Context| {
        loop {
            if context.cancel.is_fired() {
                return Err(ToolError::Cancelled);
            }
            if wait.recv_timeout(Duration::from_millis(5)).is_ok() {
                return Output::of(&json!({"done": true}));
            }
        }
    };
    (Box::new(work), go)
}

#[tokio::test]
async fn results_reach_the_one_who_waits() {
    let jobs = jobs(2, 10);
    let mut handle = jobs.submit(&Owner::local(), "t", value(json!({"x": 1}))).unwrap();
    let output = handle.wait().await.unwrap();
    assert!(matches!(&*output, Output::Value(answer) if answer["value"]["x"] == 1));
    assert_eq!(jobs.get(&Owner::local(), handle.id()).unwrap().status.name(), "done");
}

#[tokio::test]
async fn every_job_has_a_time_limit() {
    let limit = Duration::from_millis(50);
    let jobs = Jobs::new(Limits { slots: 1, queue: 10, job: limit, ..Limits::default() });
    let owner = Owner::local();
    for _ in 0..2 {
        let (work, _go) = gate();
        let mut slow = jobs.submit(&owner, "t", work).unwrap();
        assert_eq!(slow.wait().await.unwrap_err(), ToolError::JobTimedOut { limit });
        let view = jobs.get(&owner, slow.id()).unwrap();
        assert_eq!(view.status.name(), "failed", "nobody cancelled it");
    }
    // What a client ends is cancelled, and what comes after is served.
    let (work, _go) = gate();
    drop(jobs.submit(&owner, "t", work).unwrap());
    assert!(jobs.submit(&owner, "t", value(json!(1))).unwrap().wait().await.is_ok());
}

#[tokio::test]
async fn slots_and_queue_are_bounded() {
    let jobs = jobs(1, 1);
    let (first, _go_first) = gate();
    let (second, _go_second) = gate();
    let owner = Owner::local();
    let _first = jobs.submit(&owner, "t", first).unwrap();
    while jobs.counts().running == 0 || jobs.counts().queued > 0 {
        tokio::task::yield_now().await;
    }
    let second = jobs.submit(&owner, "t", second).unwrap();
    let error = jobs.submit(&owner, "t", value(json!(1))).unwrap_err();
    assert!(matches!(error, ToolError::Busy { running: 1, queued: 1, .. }), "{error}");
    assert!(error.retry_after().unwrap() >= Duration::from_secs(1));
    drop(second);
    assert_eq!(jobs.counts().queued, 0, "a caller that leaves gives its place back");
    assert!(jobs.submit(&owner, "t", value(json!(1))).is_ok());
}

#[tokio::test]
async fn a_dropped_handle_ends_the_work_and_a_detached_one_does_not() {
    let jobs = jobs(2, 2);
    let owner = Owner::local();
    let (work, _go) = gate();
    let handle = jobs.submit(&owner, "t", work).unwrap();
    let id = handle.id().to_owned();
    drop(handle);
    assert!(jobs.idle(Duration::from_secs(1)).await);
    assert_eq!(jobs.get(&owner, &id).unwrap().status.name(), "cancelled");
    let (work, go) = gate();
    let handle = jobs.submit(&owner, "t", work).unwrap().detached();
    let id = handle.id().to_owned();
    drop(handle);
    go.send(()).unwrap();
    assert!(jobs.idle(Duration::from_secs(1)).await);
    assert_eq!(jobs.get(&owner, &id).unwrap().status.name(), "done");
}

#[tokio::test]
async fn nobody_sees_the_jobs_of_another() {
    let jobs = jobs(1, 1);
    let (mine, other) = (Owner::new("a"), Owner::new("b"));
    let mut handle = jobs.submit(&mine, "t", value(json!(1))).unwrap();
    handle.wait().await.unwrap();
    assert!(matches!(jobs.get(&other, handle.id()), Err(ToolError::NoSuchJob { .. })));
    assert!(matches!(jobs.cancel(&other, handle.id()), Err(ToolError::NoSuchJob { .. })));
    assert!(jobs.watch(&other, handle.id()).is_err());
    assert!(jobs.list(&other).is_empty());
    assert_eq!(jobs.list(&mine).len(), 1);
}

#[tokio::test]
async fn results_are_forgotten_by_age_and_by_memory() {
    let owner = Owner::local();
    let short = Jobs::new(Limits { keep: Duration::from_millis(30), ..Limits::default() });
    let mut handle = short.submit(&owner, "t", value(json!(1))).unwrap();
    handle.wait().await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(short.get(&owner, handle.id()).is_err());
    assert!(handle.wait().await.is_ok(), "who holds a result keeps it");

    let small = Jobs::new(Limits { result_bytes: 25_000, ..Limits::default() });
    let mut ids = Vec::new();
    for _ in 0..4 {
        let mut handle = small.submit(&owner, "t", value(json!("x".repeat(10_000)))).unwrap();
        handle.wait().await.unwrap();
        assert!(small.idle(Duration::from_secs(1)).await);
        ids.push(handle.id().to_owned());
    }
    let kept: Vec<bool> = ids.iter().map(|id| small.get(&owner, id).is_ok()).collect();
    assert_eq!(kept, [false, false, true, true]);
    assert!(small.counts().kept_bytes <= 25_000);
}

#[tokio::test]
async fn work_that_panics_fails_and_the_slot_lives_on() {
    let jobs = jobs(1, 4);
    let owner = Owner::local();
    let mut bad = jobs.submit(&owner, "t", Box::new(|_| panic!("boom"))).unwrap();
    let mut good = jobs.submit(&owner, "t", value(json!(1))).unwrap();
    assert_eq!(bad.wait().await.unwrap_err(), ToolError::Failed("internal error: boom".to_owned()));
    assert!(good.wait().await.is_ok());
}

#[tokio::test]
async fn failures_take_little_memory_and_count() {
    let jobs = Jobs::new(Limits { result_bytes: 100_000, ..Limits::default() });
    let owner = Owner::local();
    for _ in 0..200 {
        let text = "\n# SYSTEM: ".repeat(100_000);
        let mut handle = jobs.submit(&owner, "t", Box::new(move |_| Err(ToolError::Failed(text)))).unwrap();
        assert!(handle.wait().await.unwrap_err().to_string().chars().count() <= 2000);
    }
    assert!(jobs.idle(Duration::from_secs(10)).await);
    let counts = jobs.counts();
    assert!((1..200).contains(&counts.kept) && counts.kept_bytes <= 100_000, "{counts:?}");
}

#[tokio::test]
async fn a_closed_table_takes_nothing_and_cancels_all() {
    let jobs = jobs(1, 4);
    let owner = Owner::local();
    let (first, _a) = gate();
    let (second, _b) = gate();
    let mut first = jobs.submit(&owner, "t", first).unwrap();
    let mut second = jobs.submit(&owner, "t", second).unwrap();
    jobs.close();
    assert_eq!(jobs.submit(&owner, "t", value(json!(1))).unwrap_err(), ToolError::Closing);
    jobs.cancel_all();
    assert_eq!(first.wait().await.unwrap_err(), ToolError::Cancelled);
    assert_eq!(second.wait().await.unwrap_err(), ToolError::Cancelled);
    assert!(jobs.idle(Duration::from_secs(1)).await);
}

#[tokio::test]
async fn progress_reaches_watchers() {
    let jobs = jobs(1, 1);
    let (ready, wait) = mpsc::channel::<()>();
    let work: Work = Box::new(move |context| {
        context.progress(5, Some(10), "scoring");
        let _ = wait.recv();
        Output::of(&json!({ "value": 1 }))
    });
    let mut handle = jobs.submit(&Owner::local(), "t", work).unwrap();
    while handle.progress().done == 0 {
        assert!(handle.changed().await);
    }
    let progress = handle.progress();
    assert_eq!((progress.done, progress.total, progress.message.as_str()), (5, Some(10), "scoring"));
    assert!(progress.left.is_some());
    ready.send(()).unwrap();
    handle.wait().await.unwrap();
    assert!(!handle.changed().await);
}
