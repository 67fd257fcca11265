//! The tools as the protocol lists them, made once.

use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};

use crate::tools;

pub static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| tools::TOOLS.iter().map(listed).collect());

fn listed(tool: &tools::Tool) -> Tool {
    let hints = ToolAnnotations::with_title(tool.title)
        .read_only(tool.hints.read_only)
        .destructive(tool.hints.destructive)
        .idempotent(tool.hints.idempotent)
        .open_world(tool.hints.open_world);
    Tool::new(tool.name, tool.description, Arc::new(tool.input_schema()))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output_schema()))
        .with_annotations(hints)
        .with_icons(vec![super::icon()])
}
