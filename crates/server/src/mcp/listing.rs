//! The tools as the protocol lists them, built once.
//!
//! Every conversation pays for this list, so it says little: two sentences per tool, answers by the fields at their top,
//! and no icons, which the server itself has.

use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};

use super::app;
use crate::tools;
use crate::tools::offer::Offer;

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| tools::TOOLS.iter().map(listed).collect());

/// The tools of an offer.
pub fn offered(offer: &Offer) -> Vec<Tool> {
    let wanted = tools::TOOLS.iter().zip(TOOLS.iter()).filter(|(tool, _)| offer.has(tool));
    wanted.map(|(_, listed)| listed.clone()).collect()
}

fn listed(tool: &tools::Tool) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only(tool.hints.read_only)
        .destructive(tool.hints.destructive)
        .idempotent(tool.hints.idempotent)
        .open_world(tool.hints.open_world);
    let listed = Tool::new(tool.name, tool.description, Arc::new(tool.input_schema()))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.listed_schema()))
        .with_annotations(hints);
    match app::meta(tool.name) {
        Some(meta) => listed.with_meta(meta),
        None => listed,
    }
}
