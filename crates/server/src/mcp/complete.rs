//! Completions for names that are hard to remember.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use visus_engine::model::BUILTIN;
use visus_metrics::registry;
use visus_tune::encoders::ADAPTERS;

use super::prompts;
use crate::Server;
use crate::engines::BACKENDS;
use crate::jobs::Owner;

/// What the typed text may become. For a prompt or resource that is not there, nothing is suggested: somebody who types
/// is not to be stopped by an error.
pub fn complete(
    server: &Server,
    owner: &Owner,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let candidates =
        if is_known(&request.r#ref) { candidates(server, owner, &request.argument.name) } else { Vec::new() };
    let found = matching(candidates, &request.argument.value);
    let total = u32::try_from(found.len()).ok();
    let more = found.len() > CompletionInfo::MAX_VALUES;
    let shown = found.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let info = CompletionInfo::with_pagination(shown, total, more);
    info.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
}

fn is_known(reference: &Reference) -> bool {
    match reference {
        Reference::Prompt(prompt) => prompts::exists(&prompt.name),
        Reference::Resource(resource) => resource.uri.starts_with("visus://"),
        _ => false,
    }
}

fn candidates(server: &Server, owner: &Owner, argument: &str) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match argument {
        "model" => std::iter::once("auto".to_owned())
            .chain(BUILTIN.iter().map(|model| format!("version={}", model.version)))
            .collect(),
        "name" => BUILTIN.iter().map(|model| model.version.to_owned()).collect(),
        "backend" => owned(&BACKENDS),
        "feature" => registry::METRICS.iter().map(|info| info.name.to_owned()).collect(),
        "encoder" | "encoders" => ADAPTERS.iter().map(|adapter| adapter.name.to_owned()).collect(),
        "id" | "job_id" => server.jobs().list(owner).into_iter().map(|view| view.id).collect(),
        _ => Vec::new(),
    }
}

/// Those that begin with what was typed, then those that hold it somewhere.
fn matching(candidates: Vec<String>, typed: &str) -> Vec<String> {
    let (mut begin, rest): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|name| name.starts_with(typed));
    begin.extend(rest.into_iter().filter(|name| name.contains(typed)));
    begin
}
