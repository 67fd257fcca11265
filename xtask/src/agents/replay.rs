//! One transcript, replayed and measured.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::client::Client;

/// A recorded task.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub name: String,
    pub question: String,
    calls: Vec<Call>,
    /// What the task needs from its answers, as JSON pointers.
    finds: Vec<String>,
}

#[derive(Clone, Debug)]
struct Call {
    tool: String,
    arguments: Value,
    /// The recorded call was refused.
    refused: bool,
    /// It was repeated until the job was over.
    repeated: bool,
}

/// What a task cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub calls: usize,
    /// Bytes of text in the answers, and of pictures.
    pub text: usize,
    pub pictures: usize,
    pub errors: usize,
}

impl Transcript {
    /// All of a folder, by name.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let mut paths: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
        paths.sort();
        paths.iter().map(|path| Self::read(path).with_context(|| path.display().to_string())).collect()
    }

    fn read(path: &Path) -> Result<Self> {
        let value: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        let text = |value: &Value| value.as_str().map(str::to_owned).context("a text is missing");
        let call = |call: &Value| {
            Ok(Call {
                tool: text(&call["tool"])?,
                arguments: call["arguments"].clone(),
                refused: call["error"] == true,
                repeated: call["until"] == "done",
            })
        };
        let calls =
            value["calls"].as_array().context("calls")?.iter().map(call).collect::<Result<Vec<Call>>>()?;
        let finds =
            value["finds"].as_array().context("finds")?.iter().map(text).collect::<Result<Vec<String>>>()?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if calls.is_empty() || finds.is_empty() {
            bail!("a transcript has calls and finds something");
        }
        Ok(Self { name, question: text(&value["question"])?, calls, finds })
    }
}

pub fn replay(visus: &Path, clips: &Path, transcript: &Transcript) -> Result<Cost> {
    let mut client = Client::start(visus, clips)?;
    let (mut cost, mut answers) = (Cost::default(), Vec::new());
    for call in &transcript.calls {
        let arguments = filled(&call.arguments, clips, answers.last());
        let answer = asked(&mut client, clips, call, &arguments, &mut cost)?;
        answers.push(answer);
    }
    for wanted in &transcript.finds {
        if !answers.iter().any(|answer| answer.pointer(wanted).is_some_and(|found| !found.is_null())) {
            bail!(
                "no answer has {wanted}; the last is {:.600}",
                answers.last().unwrap_or(&Value::Null).to_string()
            );
        }
    }
    Ok(cost)
}

/// Files lie elsewhere than when the transcript was recorded, and jobs have other ids.
fn filled(arguments: &Value, clips: &Path, last: Option<&Value>) -> Value {
    match arguments {
        Value::String(text) => {
            let job = last.and_then(|answer| answer["job_id"].as_str()).unwrap_or_default();
            json!(text.replace("${clips}", &clips.to_string_lossy()).replace("${job_id}", job))
        }
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), filled(value, clips, last))).collect()
        }
        other => other.clone(),
    }
}

/// How long a job may take before the transcript counts as stuck.
const PATIENCE: Duration = Duration::from_secs(300);

fn asked(
    client: &mut Client,
    clips: &Path,
    call: &Call,
    arguments: &Value,
    cost: &mut Cost,
) -> Result<Value> {
    let begun = Instant::now();
    loop {
        let result = client.request("tools/call", json!({ "name": call.tool, "arguments": arguments }))?;
        let refused = result["isError"] == true;
        let answer = data(&result)?;
        let is_over = !matches!(answer["status"].as_str(), Some("queued" | "running"));
        // Polling depends on how quick a machine is; only the last time counts.
        if !call.repeated || is_over || refused {
            add(cost, &result, refused, clips);
            if refused != call.refused {
                bail!("{} was {}: {answer:.600}", call.tool, if refused { "refused" } else { "accepted" });
            }
            return Ok(answer);
        }
        if begun.elapsed() > PATIENCE {
            bail!("{} does not come to its end: {answer:.600}", call.tool);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The folder of the clips counts as a short one: where temporary files are is a machine's own affair.
fn add(cost: &mut Cost, result: &Value, refused: bool, clips: &Path) {
    const SHORT: &str = "/clips";
    let clips = clips.to_string_lossy();
    cost.calls += 1;
    cost.errors += usize::from(refused);
    for item in result["content"].as_array().into_iter().flatten() {
        cost.text += item["text"].as_str().map_or(0, |text| text.replace(&*clips, SHORT).len());
        cost.pictures += item["data"].as_str().map_or(0, |data| data.len() / 4 * 3);
    }
}

/// The answer as data; an error is the JSON in its text.
fn data(result: &Value) -> Result<Value> {
    match &result["structuredContent"] {
        Value::Null => {
            let text = result["content"][0]["text"].as_str().context("an answer without text")?;
            Ok(serde_json::from_str(text)?)
        }
        data => Ok(data.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_jobs_are_filled_in() {
        let given = json!({ "ref": "${clips}/a.mp4", "n": 3, "job_id": "${job_id}" });
        let filled = filled(&given, Path::new("/x"), Some(&json!({ "job_id": "7" })));
        assert_eq!(filled, json!({ "ref": "/x/a.mp4", "n": 3, "job_id": "7" }));
    }

    #[test]
    fn text_and_pictures_are_counted_apart() {
        let mut cost = Cost::default();
        let text = "abcd /some/where/a.mp4";
        let result =
            json!({ "content": [{ "type": "text", "text": text }, { "type": "image", "data": "QUJDRA==" }] });
        add(&mut cost, &result, true, Path::new("/some/where"));
        assert_eq!(cost, Cost { calls: 1, text: 17, pictures: 6, errors: 1 });
    }

    #[test]
    fn the_recorded_transcripts_can_be_read() {
        let all = Transcript::all(&crate::steps::root().join("tests/agents")).unwrap();
        assert!(all.len() >= super::super::LEAST, "{}", all.len());
    }
}
