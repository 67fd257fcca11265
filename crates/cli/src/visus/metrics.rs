//! `visus metrics`: what can be computed, with every option.

use std::fmt::Write;

use anyhow::Result;
use visus_metrics::{Info, OptionKind, OptionSpec, registry};
use visus_scoring::RequestError;

use super::args::MetricsArgs;
use super::score::print_all;

pub fn run(args: &MetricsArgs) -> Result<()> {
    let Some(name) = &args.metric else { return print_all(&list()) };
    let info = registry::find(name).map_err(|error| RequestError::Metric(error.to_string()))?;
    print_all(&describe(info))
}

fn list() -> String {
    let width = registry::METRICS.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for info in registry::METRICS {
        let _ = writeln!(text, "{:width$}  {}", info.name, info.help);
    }
    text.push_str("\n`visus metrics NAME` shows the options; `visus score … -f NAME=option=value:option=value` uses them.\n");
    text
}

fn describe(info: &Info) -> String {
    let mut text = format!("{}: {}\n", info.name, info.help);
    for option in info.options {
        let _ = writeln!(text, "  {}  {}", option.name, values(option));
        let _ = writeln!(text, "      {}", option.help);
    }
    text
}

fn values(option: &OptionSpec) -> String {
    match option.kind {
        OptionKind::Bool { default } => format!("true or false [default: {default}]"),
        OptionKind::Int { default, min, max } => format!("{min} to {max} [default: {default}]"),
        OptionKind::Double { default, min, max } => format!("{min} to {max} [default: {default}]"),
        OptionKind::Text { default } => format!("text [default: {default}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_describes_itself() {
        for info in registry::METRICS {
            assert!(!info.help.is_empty(), "{}", info.name);
            assert!(describe(info).contains(info.name));
        }
    }
}
