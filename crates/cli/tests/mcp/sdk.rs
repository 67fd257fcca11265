//! The SDK's own client, over both transports and in both eras: lists, calls, progress, cancelling, resources, errors.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RunningService,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};

use super::client::{VISUS, command};
use super::clips::{Clips, endless, with};

const TOKEN: &str = "only-for-this-test";

/// What was done, and of how much.
type Told = (f64, Option<f64>);

/// Remembers the progress it heard of.
#[derive(Clone, Debug, Default)]
struct Listener(Arc<Mutex<Vec<Told>>>);

impl Listener {
    fn heard(&self) -> Vec<Told> {
        self.0.lock().unwrap().clone()
    }

    async fn hears_something(&self) {
        for _ in 0..6000 {
            if !self.heard().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no progress");
    }
}

impl ClientHandler for Listener {
    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().unwrap().push((told.progress, told.total));
    }
}

type Client = RunningService<RoleClient, Listener>;

fn older() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

fn newer() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn over_stdio(folder: &Path, era: ClientLifecycleMode) -> Client {
    let child = TokioChildProcess::new(tokio::process::Command::from(command(folder))).unwrap();
    Listener::default().serve_with_lifecycle(child, era).await.unwrap()
}

/// A server process that ends with its test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server on a port that the system chooses.
fn serve(folder: &Path) -> (Served, String) {
    let mut child = Command::new(VISUS)
        .args(["serve", "--port", "0", "--allow"])
        .arg(folder)
        .env("VMAFX_MCP_HTTP_TOKEN", TOKEN)
        .env_remove("VMAF_BIN")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let first: Value = serde_json::from_str(&line).unwrap();
    let address = first["address"].as_str().unwrap().to_owned();
    // Nobody reads the log; a full pipe would stop the server.
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    (Served(child), format!("http://{address}/mcp"))
}

async fn over_http(url: &str, era: ClientLifecycleMode) -> Client {
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(TOKEN);
    let transport = StreamableHttpClientTransport::from_config(config);
    Listener::default().serve_with_lifecycle(transport, era).await.unwrap()
}

fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("an object") };
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

fn error_of(result: &CallToolResult) -> String {
    assert_eq!(result.is_error, Some(true));
    let text = &result.content[0].as_text().unwrap().text;
    serde_json::from_str::<Value>(text).unwrap()["error"].as_str().unwrap().to_owned()
}

async fn statuses(client: &Client) -> Vec<String> {
    let result = client.call_tool(call("list_jobs", json!({}))).await.unwrap();
    let jobs = result.structured_content.unwrap()["jobs"].as_array().unwrap().clone();
    jobs.iter().map(|job| job["status"].as_str().unwrap().to_owned()).collect()
}

/// Everything that a client does, ending with the client.
async fn everything(client: Client, clips: &Clips) {
    lists_and_calls(&client, clips).await;
    errs(&client, clips).await;
    progresses(&client, clips).await;
    cancels(&client, clips).await;
    client.cancel().await.unwrap();
}

async fn lists_and_calls(client: &Client, clips: &Clips) {
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, "vmaf_score");
    assert!(!client.list_all_prompts().await.unwrap().is_empty());
    assert!(!client.list_all_resource_templates().await.unwrap().is_empty());
    let result = client.call_tool(call("vmaf_score", clips.y4m())).await.unwrap();
    assert_eq!(result.is_error, Some(false));
    let data = result.structured_content.unwrap();
    assert_eq!(data["frame_count"], 3);
    let uri = format!("visus://jobs/{}", data["job_id"].as_str().unwrap());
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
    assert_eq!(read.contents.len(), 1);
}

async fn errs(client: &Client, clips: &Clips) {
    let missing =
        client.call_tool(call("vmaf_score", json!({ "ref": clips.path("ref.y4m") }))).await.unwrap();
    assert_eq!(error_of(&missing), "tool 'vmaf_score' missing required argument: 'dis'");
    let unknown = ReadResourceRequestParams::new("visus://models/no_such_model");
    let error = client.read_resource(unknown).await.unwrap_err();
    assert!(error.to_string().contains("no_such_model"), "{error}");
}

async fn progresses(client: &Client, clips: &Clips) {
    let work = with(endless(clips), json!({ "frame_cnt": 200, "detail": "summary" }));
    let result = client.call_tool(call("vmaf_score", work)).await.unwrap();
    assert_eq!(result.is_error, Some(false));
    let heard = client.service().heard();
    assert!(!heard.is_empty());
    assert!(heard.iter().all(|(_, total)| *total == Some(200.0)), "{heard:?}");
    assert!(heard.windows(2).all(|pair| pair[0].0 < pair[1].0), "{heard:?}");
}

async fn cancels(client: &Client, clips: &Clips) {
    client.service().0.lock().unwrap().clear();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(call("vmaf_score", endless(clips))));
    let running = client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    client.service().hears_something().await;
    assert!(statuses(client).await.contains(&"running".to_owned()));
    running.cancel(Some("not wanted any more".to_owned())).await.unwrap();
    for _ in 0..6000 {
        if !statuses(client).await.contains(&"running".to_owned()) {
            assert!(statuses(client).await.contains(&"cancelled".to_owned()));
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the job runs on");
}

#[tokio::test]
async fn over_stdio_in_the_older_era() {
    let clips = Clips::new(3);
    everything(over_stdio(&clips.folder, older()).await, &clips).await;
}

#[tokio::test]
async fn over_stdio_in_the_newer_era() {
    let clips = Clips::new(3);
    everything(over_stdio(&clips.folder, newer()).await, &clips).await;
}

#[tokio::test]
async fn over_http_in_the_older_era() {
    let clips = Clips::new(3);
    let (_served, url) = serve(&clips.folder);
    everything(over_http(&url, older()).await, &clips).await;
}

#[tokio::test]
async fn over_http_in_the_newer_era() {
    let clips = Clips::new(3);
    let (_served, url) = serve(&clips.folder);
    everything(over_http(&url, newer()).await, &clips).await;
}
