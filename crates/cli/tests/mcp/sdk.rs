//! The SDK's own client: lists, calls, progress, resources and errors.

use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;

use super::client::command;
use super::clips::Clips;

fn arguments(value: Value) -> serde_json::Map<String, Value> {
    let Value::Object(map) = value else { panic!("an object") };
    map
}

#[tokio::test]
async fn the_sdk_client_gets_along() {
    let clips = Clips::new(3);
    let command = tokio::process::Command::from(command(&clips.folder));
    let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, "vmaf_score");
    let call = CallToolRequestParams::new("vmaf_score").with_arguments(arguments(clips.y4m()));
    let result = client.call_tool(call).await.unwrap();
    assert_eq!(result.is_error, Some(false));
    let data = result.structured_content.unwrap();
    assert_eq!(data["frames"].as_array().unwrap().len(), 3);
    let uri = format!("visus://jobs/{}", data["job_id"].as_str().unwrap());
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
    assert_eq!(read.contents.len(), 1);
    let bad = client.call_tool(CallToolRequestParams::new("vmaf_score")).await.unwrap();
    assert_eq!(bad.is_error, Some(true));
    assert!(!client.list_all_prompts().await.unwrap().is_empty());
    client.cancel().await.unwrap();
}
