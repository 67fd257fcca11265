//! The clients of a soak: what each of them asks for, and what it expects.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::bombs::{self, Bomb};
use super::client::Answer;
use super::clips::{Clips, Pair};
use super::server::{Server, signal};
use super::tally::{Outcome, Tally};

/// A job that is not over by then is lost.
const LOST: Duration = Duration::from_secs(240);

/// What all clients share.
pub struct Traffic<'a> {
    server: &'a Server,
    clips: &'a Clips,
    tally: &'a Tally,
    bombs: Vec<Bomb>,
    /// What the first evaluation and the first comparison said; all others must say the same.
    evaluation: Value,
    comparison: Value,
}

/// A kind of request: its name, how often it is made, and the request.
type Kind<'a> = (&'static str, u64, fn(&Traffic<'a>, &mut Dice) -> Result<Outcome>);

/// Numbers that look random and are the same in every run with one seed.
pub struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }

    fn one<'b, T>(&mut self, list: &'b [T]) -> &'b T {
        &list[self.below(list.len() as u64) as usize]
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most))
    }
}

impl<'a> Traffic<'a> {
    /// Asks for an evaluation and a comparison once, while nothing else goes on.
    pub fn new(server: &'a Server, clips: &'a Clips, tally: &'a Tally) -> Result<Self> {
        let bombs = bombs::make(&clips.folder)?;
        let mut traffic =
            Self { server, clips, tally, bombs, evaluation: Value::Null, comparison: Value::Null };
        traffic.evaluation = figures_of_evaluation(&traffic.ask_evaluation()?);
        traffic.comparison = figures_of_comparison(&traffic.ask_comparison()?);
        anyhow::ensure!(traffic.evaluation["plcc"].is_number(), "no evaluation: {}", traffic.evaluation);
        anyhow::ensure!(traffic.comparison["best_crf"].is_number(), "no comparison: {}", traffic.comparison);
        Ok(traffic)
    }

    fn kinds() -> [Kind<'a>; 11] {
        [
            ("score", 10, Self::score),
            ("encoded", 8, Self::encoded),
            ("job", 6, Self::job),
            ("cancelled", 5, Self::cancelled),
            ("left", 5, Self::left),
            ("worst frames", 2, Self::worst),
            ("evaluation", 3, Self::evaluation),
            ("tuning", 1, Self::comparison),
            ("bomb", 6, Self::bomb),
            ("silence", 1, Self::silence),
            ("kill", 4, Self::kill),
        ]
    }

    /// Asks until it is enough.
    pub fn go(&self, seed: u64, stop: &AtomicBool) {
        let kinds = Self::kinds();
        let whole = kinds.iter().map(|(_, weight, _)| weight).sum();
        let mut dice = Dice(seed);
        dice.below(2);
        while !stop.load(Ordering::Relaxed) && self.server.is_alive() {
            let mut drawn = dice.below(whole);
            let chosen = kinds.iter().find(|(_, weight, _)| {
                let here = drawn < *weight;
                drawn = drawn.saturating_sub(*weight);
                here
            });
            let Some((name, _, ask)) = chosen else { continue };
            let started = Instant::now();
            let outcome =
                ask(self, &mut dice).unwrap_or_else(|error| Outcome::Fault(format!("no answer: {error:#}")));
            let pause = if outcome == Outcome::Busy { 500 } else { 30 };
            self.tally.add(name, outcome, started.elapsed());
            std::thread::sleep(dice.millis(pause));
        }
    }

    fn score(&self, dice: &mut Dice) -> Result<Outcome> {
        let pair = dice.one(&self.clips.plain);
        let arguments = json!({ "ref": pair.reference, "dis": pair.distorted, "precision": "max" });
        let answer = self.server.client.call("vmaf_score", &arguments)?;
        // No child has a part in this, so no kill is an excuse.
        Ok(self.judged(&answer, self.tally.kills(), |body| check_score(pair, body)))
    }

    fn encoded(&self, dice: &mut Dice) -> Result<Outcome> {
        let (pair, kills) = (dice.one(&self.clips.encoded), self.tally.kills());
        let answer = self.server.client.ask("POST", "/v1/score", Some(&body(pair)))?;
        Ok(self.judged(&answer, kills, |body| check_score(pair, body)))
    }

    fn job(&self, dice: &mut Dice) -> Result<Outcome> {
        let all: Vec<&Pair> = self.clips.plain.iter().chain(&self.clips.encoded).collect();
        let (pair, kills) = (*dice.one(&all), self.tally.kills());
        let begun = self.server.client.ask("POST", "/v1/jobs", Some(&body(pair)))?;
        if begun.status != 202 {
            return Ok(self.judged(&begun, kills, |body| Err(format!("no job: {body}"))));
        }
        let job = self.end_of(&begun)?;
        Ok(match job["status"].as_str() {
            Some("done") => {
                check_score(pair, &job["result"]).map_or_else(Outcome::Fault, |()| Outcome::Right)
            }
            Some("failed") => self.failed(job["error"].as_str().unwrap_or_default(), kills),
            _ => Outcome::Fault(format!("nobody cancelled it: {job}")),
        })
    }

    fn cancelled(&self, dice: &mut Dice) -> Result<Outcome> {
        let (pair, kills) = (dice.one(&self.clips.encoded), self.tally.kills());
        let begun = self.server.client.ask("POST", "/v1/jobs", Some(&body(pair)))?;
        if begun.status != 202 {
            return Ok(self.judged(&begun, kills, |body| Err(format!("no job: {body}"))));
        }
        std::thread::sleep(dice.millis(400));
        self.server.client.ask("DELETE", &place(&begun), None)?;
        let job = self.end_of(&begun)?;
        Ok(match job["status"].as_str() {
            Some("done" | "cancelled") => Outcome::Right,
            Some("failed") => self.failed(job["error"].as_str().unwrap_or_default(), kills),
            _ => Outcome::Fault(format!("it has not ended: {job}")),
        })
    }

    fn left(&self, dice: &mut Dice) -> Result<Outcome> {
        let after = dice.millis(400);
        self.server.client.leave("/v1/score", &body(dice.one(&self.clips.encoded)), after)?;
        Ok(Outcome::Right)
    }

    fn worst(&self, dice: &mut Dice) -> Result<Outcome> {
        let pair = dice.one(&self.clips.plain);
        let arguments = json!({ "ref": pair.reference, "dis": pair.distorted, "n": 2 });
        let kills = self.tally.kills();
        let answer = self.server.client.call("describe_worst_frames", &arguments)?;
        Ok(self.judged(&answer, kills, |body| match body["frames"].as_array().map(Vec::len) {
            Some(1 | 2) => Ok(()),
            _ => Err(format!("not the frames that were asked for: {body}")),
        }))
    }

    fn ask_evaluation(&self) -> Result<Answer> {
        let arguments =
            json!({ "model": "vmaf_v0.6.1", "features": self.clips.table, "split": "all", "bootstrap": 20 });
        self.server.client.call("eval_model_on_split", &arguments)
    }

    fn evaluation(&self, _dice: &mut Dice) -> Result<Outcome> {
        let kills = self.tally.kills();
        let answer = self.ask_evaluation()?;
        Ok(self.judged(&answer, kills, |_| same(&self.evaluation, &figures_of_evaluation(&answer))))
    }

    fn ask_comparison(&self) -> Result<Answer> {
        let arguments =
            json!({ "src": self.clips.path("small_ref.y4m"), "encoders": "libx264", "target_vmaf": 70 });
        self.server.client.call("run_compare", &arguments)
    }

    fn comparison(&self, _dice: &mut Dice) -> Result<Outcome> {
        let kills = self.tally.kills();
        let answer = self.ask_comparison()?;
        let found = figures_of_comparison(&answer);
        if answer.status == 200 && found["ok"] == json!(false) {
            let error = found["error"].as_str().unwrap_or_default();
            return Ok(self.failed(error, kills));
        }
        Ok(self.judged(&answer, kills, |_| same(&self.comparison, &found)))
    }

    fn bomb(&self, dice: &mut Dice) -> Result<Outcome> {
        let Bomb { name, tool, arguments } = dice.one(&self.bombs);
        let answer = self.server.client.call(tool, arguments)?;
        Ok(match answer.status {
            429 | 503 => Outcome::Busy,
            400 if !answer.error().is_empty() && answer.error().len() <= 8000 => Outcome::Right,
            _ => Outcome::Fault(format!("{name} was not refused: {answer:?}")),
        })
    }

    /// Connections that ask for nothing.
    fn silence(&self, dice: &mut Dice) -> Result<Outcome> {
        let connect = |_| std::net::TcpStream::connect(&self.server.client.address);
        let silent: Vec<_> = (0..20).filter_map(|place| connect(place).ok()).collect();
        std::thread::sleep(dice.millis(1000));
        let well = self.server.client.ask("GET", "/healthz", None)?;
        drop(silent);
        Ok(if well.status == 200 { Outcome::Right } else { Outcome::Fault(format!("/healthz: {well:?}")) })
    }

    /// Kills one of the server's children, or one of theirs.
    fn kill(&self, dice: &mut Dice) -> Result<Outcome> {
        let all = self.server.processes();
        let victims: Vec<_> = all.iter().filter(|process| !process.is_janitor()).collect();
        if victims.is_empty() {
            return Ok(Outcome::Busy);
        }
        let victim = dice.one(&victims);
        self.tally.kill();
        signal(victim.pid, "KILL");
        self.tally.kill();
        Ok(Outcome::Right)
    }

    /// An answer that has to be right, unless there was no room or a child was killed meanwhile.
    fn judged(
        &self,
        answer: &Answer,
        kills: u64,
        check: impl FnOnce(&Value) -> Result<(), String>,
    ) -> Outcome {
        match answer.status {
            200 => check(&answer.body).map_or_else(Outcome::Fault, |()| Outcome::Right),
            _ if answer.is_busy() => Outcome::Busy,
            _ => self.failed(answer.error(), kills),
        }
    }

    fn failed(&self, error: &str, kills: u64) -> Outcome {
        match self.tally.kills() > kills {
            _ if error.contains("try again later") => Outcome::Busy,
            true if is_of_a_child(error) => Outcome::Hit(error.to_owned()),
            _ => Outcome::Fault(format!("failed: {error}")),
        }
    }

    /// Waits for the end of a job.
    fn end_of(&self, begun: &Answer) -> Result<Value> {
        let place = place(begun);
        let until = Instant::now() + LOST;
        loop {
            let Answer { status, body } = self.server.client.ask("GET", &place, None)?;
            anyhow::ensure!(status == 200, "the job is lost: {status} {body}");
            let is_over = |word: &str| !matches!(word, "queued" | "running");
            if body["status"].as_str().is_some_and(is_over) {
                return Ok(body);
            }
            anyhow::ensure!(
                Instant::now() < until,
                "the job has not ended after {} s: {body}",
                LOST.as_secs()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Whether an error is about a program that was started and ended before it was done. No other is excused by a kill.
fn is_of_a_child(error: &str) -> bool {
    const WORDS: [&str; 7] =
        ["ffmpeg", "ffprobe", "encode failed", "no reason was given", "worker", "process", "by signal"];
    WORDS.iter().any(|word| error.contains(word))
}

fn body(pair: &Pair) -> Value {
    json!({ "reference": pair.reference, "distorted": pair.distorted, "precision": "max" })
}

fn place(begun: &Answer) -> String {
    format!("/v1/jobs/{}", begun.body["job_id"].as_str().unwrap_or_default())
}

/// The score must be the right one to the last bit.
fn check_score(pair: &Pair, body: &Value) -> Result<(), String> {
    match body["pooled_metrics"]["vmaf"]["mean"].as_f64() {
        Some(found) if found.to_bits() == pair.vmaf.to_bits() => Ok(()),
        found => Err(format!("{} scores {found:?}, not {}", pair.distorted.display(), pair.vmaf)),
    }
}

fn figures_of_evaluation(answer: &Answer) -> Value {
    let body = &answer.body;
    json!({ "n": body["n"], "plcc": body["plcc"], "srocc": body["srocc"], "rmse": body["rmse"] })
}

fn figures_of_comparison(answer: &Answer) -> Value {
    let row = &answer.body["rows"][0];
    json!({ "best_crf": row["best_crf"], "vmaf_score": row["vmaf_score"], "ok": row["ok"], "error": row["error"] })
}

fn same(expected: &Value, found: &Value) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{found}, not {expected}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_right_to_the_last_bit() {
        let pair = Pair { reference: "r".into(), distorted: "d".into(), vmaf: 93.25 };
        let body = |score: f64| json!({ "pooled_metrics": { "vmaf": { "mean": score } } });
        assert!(check_score(&pair, &body(93.25)).is_ok());
        assert!(check_score(&pair, &body(93.25 + 1e-12)).is_err());
        assert!(check_score(&pair, &json!({})).is_err());
    }

    #[test]
    fn dice_are_the_same_in_every_run() {
        let throw = |seed| -> Vec<u64> {
            let mut dice = Dice(seed);
            (0..5).map(|_| dice.below(100)).collect()
        };
        assert_eq!(throw(3), throw(3));
        assert_ne!(throw(3), throw(4));
    }
}
