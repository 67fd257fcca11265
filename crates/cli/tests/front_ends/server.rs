//! The front ends of the server: tools over MCP, and routes over HTTP. One server answers all of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Class, Scores, base_name};
use super::clips::Clips;
use super::command_line::named;
use super::common;
use super::requests::Request;

const TOKEN: &str = "a-token-of-the-front-end-test";

pub struct Server {
    child: Child,
    address: String,
    folder: std::path::PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn start(clips: &Clips) -> Self {
        let folder = clips.folder.path().canonicalize().unwrap();
        let mut command = common::visus();
        for name in
            ["VMAF_BIN", "VMAF_MCP_ALLOW", "VMAFX_PORT", "VMAFX_MCP_HTTP_BIND", "VMAFX_MCP_HTTP_NO_AUTH"]
        {
            command.env_remove(name);
        }
        command.args(["serve", "--port", "0", "--toolset", "all", "--allow"]).arg(&folder);
        command.env("VMAFX_MCP_HTTP_TOKEN", TOKEN).env("VMAF_ROOT", &folder);
        command.env("VISUS_CACHE_DIR", folder.join("cache"));
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the server starts");
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let hello: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        // Nobody reads the rest, but it must not fill up.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, address: hello["address"].as_str().unwrap().to_owned(), folder }
    }

    /// The arguments that tools and routes share; `None` for what they cannot express.
    fn arguments(&self, names: [&str; 2], request: &Request) -> Option<Map<String, Value>> {
        if request.range.is_some() {
            return None;
        }
        let mut args = Map::new();
        for (name, video) in names.iter().zip(request.videos) {
            args.insert((*name).to_owned(), json!(self.folder.join(video)));
        }
        let file = |model: &str| model.replace("own.json", &self.folder.join("own.json").to_string_lossy());
        let file = |model: &str| {
            file(model).replace("broken.json", &self.folder.join("broken.json").to_string_lossy())
        };
        let mut put =
            |name: &str, value: Option<Value>| args.extend(value.map(|value| (name.to_owned(), value)));
        put("model", request.model.map(|model| json!(file(model))));
        let metrics = if request.name == "no model, with a metric" { &["psnr"][..] } else { request.metrics };
        put("feature", (!metrics.is_empty()).then(|| json!(metrics)));
        put("frame_cnt", request.frames.map(|count| json!(count)));
        put("subsample", request.subsample.map(|step| json!(step)));
        put("frame_skip_ref", Some(json!(request.skip[0])));
        put("frame_skip_dist", Some(json!(request.skip[1])));
        put("scale", request.scale.map(|scale| json!(scale)));
        put("sync", request.sync.map(|sync| json!(sync)));
        put("input", (!request.inputs.is_empty()).then(|| json!(request.inputs)));
        put("force", request.force.then(|| json!(true)));
        if let Some((size, _)) = request.raw {
            let (width, height) = size.split_once('x').unwrap();
            put("width", Some(json!(width.parse::<u32>().unwrap())));
            put("height", Some(json!(height.parse::<u32>().unwrap())));
            put("pixfmt", Some(json!("420")));
            put("bitdepth", Some(json!(8)));
        }
        put("precision", Some(json!("max")));
        put("detail", Some(json!("full")));
        Some(args)
    }

    /// A tool over MCP.
    pub fn tool(&self, tool: &str, names: [&str; 2], request: &Request) -> Option<Answer> {
        if tool == "vmaf_score_encoded" && request.raw.is_some() {
            return None;
        }
        let result = self.call(tool, self.arguments(names, request)?);
        if result["isError"] == json!(true) {
            return Some(refused(&failure(&result)));
        }
        Some(Answer::Scored(Scores::of_report(&result["structuredContent"])))
    }

    /// The worst frame, and its score.
    pub fn worst(&self, request: &Request) -> Option<Answer> {
        if request.model == Some("all") {
            return None;
        }
        let mut args = self.arguments(["ref", "dis"], request)?;
        args.insert("n".to_owned(), json!(1));
        args.remove("detail");
        let result = self.call("describe_worst_frames", args);
        if result["isError"] == json!(true) {
            return Some(refused(&failure(&result)));
        }
        let content = &result["structuredContent"];
        let frame = &content["frames"][0];
        let mut scores = Scores { is_partial: true, is_rounded: true, ..Scores::default() };
        let column = match content["model"].as_str() {
            Some(model) => format!("model {}", base_name(model)),
            None => content["score"].as_str().unwrap().to_owned(),
        };
        scores.put(&column, frame["frame_index"].as_u64().unwrap(), frame["vmaf"].as_f64().unwrap());
        Some(Answer::Scored(scores))
    }

    pub fn score(&self, request: &Request) -> Option<Answer> {
        let body = Value::Object(self.arguments(["reference", "distorted"], request)?);
        let (status, answer) = self.http("POST", "/v1/score", Some(&body));
        Some(by_status(status, &answer))
    }

    /// The same in the background: the refusal comes at once or with the job.
    pub fn job(&self, request: &Request) -> Option<Answer> {
        let body = Value::Object(self.arguments(["reference", "distorted"], request)?);
        let (status, answer) = self.http("POST", "/v1/jobs", Some(&body));
        if status != 202 {
            return Some(by_status(status, &answer));
        }
        let job = format!("/v1/jobs/{}", answer["job_id"].as_str().unwrap());
        for _ in 0..3000 {
            let (_, facts) = self.http("GET", &job, None);
            match facts["status"].as_str() {
                Some("done") => {
                    let (status, report) = self.http("GET", &format!("{job}/report?format=json"), None);
                    return Some(by_status(status, &report));
                }
                Some("failed") => return Some(refused(&facts)),
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        panic!("{}: the job does not end", request.name);
    }

    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// What a tool answers, which must not fail.
    pub fn data(&self, tool: &str, arguments: Map<String, Value>) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], json!(false), "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// The result of a job that a route begins.
    pub fn finished_job(&self, route: &str, body: &Value) -> Value {
        let (status, answer) = self.http("POST", route, Some(body));
        assert_eq!(status, 202, "{route}: {answer}");
        let job = format!("/v1/jobs/{}", answer["job_id"].as_str().unwrap());
        for _ in 0..6000 {
            let (_, facts) = self.http("GET", &job, None);
            match facts["status"].as_str() {
                Some("done") => return facts["result"].clone(),
                Some("failed") => panic!("{route}: {facts}"),
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        panic!("{route}: the job does not end");
    }

    fn call(&self, tool: &str, arguments: Map<String, Value>) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let (status, answer) = self.http("POST", "/mcp", Some(&message));
        assert_eq!(status, 200, "{tool}: {answer}");
        answer["result"].clone()
    }

    pub fn http(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).expect("connection");
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2025-06-18\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answer");
        let text = String::from_utf8_lossy(&answer);
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head["HTTP/1.1 ".len()..][..3].parse().expect("status");
        (status, message(head, body))
    }
}

/// The JSON of a body, whether it comes whole, in chunks, or as an event of a stream.
fn message(head: &str, body: &str) -> Value {
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { dechunked(body) } else { body.to_owned() };
    if let Ok(value) = serde_json::from_str(&body) {
        return value;
    }
    let event = |line: &str| serde_json::from_str::<Value>(line.strip_prefix("data:")?.trim()).ok();
    let last = body.lines().rev().filter_map(event).find(|value| value.get("result").is_some());
    last.unwrap_or_else(|| panic!("no JSON: {body}"))
}

fn dechunked(mut body: &str) -> String {
    let mut whole = Vec::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("size of a chunk");
        if size == 0 {
            break;
        }
        whole.extend_from_slice(&rest.as_bytes()[..size]);
        body = &rest[size + 2..];
    }
    String::from_utf8(whole).expect("text")
}

/// The JSON that a failed tool answers with.
fn failure(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(text).expect("JSON")
}

/// The class that a refusal names.
fn refused(failure: &Value) -> Answer {
    let class = failure["error_class"].as_str().unwrap_or_else(|| panic!("no class: {failure}"));
    Answer::Refused(vec![named(class)])
}

/// The status must fit the class.
fn by_status(status: u16, answer: &Value) -> Answer {
    if status == 200 {
        return Answer::Scored(Scores::of_report(answer));
    }
    let refused = refused(answer);
    let expected = if refused.class() == Class::Failed { 500 } else { 400 };
    assert_eq!(status, expected, "{answer}");
    refused
}
