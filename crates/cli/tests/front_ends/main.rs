//! One request, one result: the same requests through every front end that can express them.
//!
//! `visus score` is what the others are compared with: scores must be equal to the last bit, and a refusal must be of the
//! same class, which each front end shows in its own way (exit code, status, line of a batch).
#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;

mod answer;
mod clips;
mod command_line;
mod features;
mod requests;
mod server;

use answer::{Answer, Class};
use clips::Clips;
use requests::{REQUESTS, Request};

/// A front end: its name, and what it answers; `None` if it cannot express the request.
type FrontEnd<'a> = (&'static str, Box<dyn Fn(&Request) -> Option<Answer> + 'a>);

#[test]
fn every_front_end_gives_the_same_answer() {
    let clips = Clips::new();
    let server = server::Server::start(&clips);
    let front_ends: Vec<FrontEnd<'_>> = vec![
        ("batch", Box::new(|request| command_line::batch(&clips, request))),
        ("gate", Box::new(|request| command_line::gate(&clips, request))),
        ("worst", Box::new(|request| command_line::worst(&clips, request))),
        ("features", Box::new(|request| command_line::features(&clips, request))),
        ("vmaf_score", Box::new(|request| server.tool("vmaf_score", ["ref", "dis"], request))),
        (
            "vmaf_score_encoded",
            Box::new(|request| {
                let encoded = ["reference_encoded", "distorted_encoded"];
                request.is_encoded().then(|| server.tool("vmaf_score_encoded", encoded, request)).flatten()
            }),
        ),
        ("describe_worst_frames", Box::new(|request| server.worst(request))),
        ("/v1/score", Box::new(|request| server.score(request))),
        ("/v1/jobs", Box::new(|request| server.job(request))),
    ];
    let mut faults = Vec::new();
    let mut compared = vec![0; front_ends.len()];
    for request in REQUESTS {
        let expected = command_line::score(&clips, request);
        if expected.class() != request.expect {
            faults.push(format!(
                "{}: visus score answers {expected:?}, not {:?}",
                request.name, request.expect
            ));
            continue;
        }
        for ((name, ask), count) in front_ends.iter().zip(&mut compared) {
            let Some(answer) = ask(request) else { continue };
            *count += 1;
            if let Err(difference) = answer.check(&expected) {
                faults.push(format!("{}: {name}: {difference}", request.name));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    for ((name, _), count) in front_ends.iter().zip(&compared) {
        let least = if *name == "vmaf_score_encoded" { 8 } else { 25 };
        assert!(*count >= least, "{name} was asked {count} times only");
    }
}

#[test]
fn the_table_is_large_and_has_both_kinds() {
    assert!(REQUESTS.len() >= 60, "{}", REQUESTS.len());
    let refused = REQUESTS.iter().filter(|request| request.expect != Class::Scored).count();
    assert!(refused >= 15 && REQUESTS.len() - refused >= 35, "{refused} are refused");
    for (place, request) in REQUESTS.iter().enumerate() {
        assert!(REQUESTS[..place].iter().all(|other| other.name != request.name), "{} twice", request.name);
    }
}

#[test]
fn a_wrong_cpu_level_is_refused_everywhere() {
    let clips = Clips::new();
    let codes = command_line::with_wrong_cpu_level(&clips);
    assert!(codes.len() >= 7);
    for (command, code, words) in codes {
        assert_eq!(code, Some(2), "{command}: {words}");
        assert!(words.contains("VISUS_CPU=\"nonsense\""), "{command}: {words}");
    }
}
