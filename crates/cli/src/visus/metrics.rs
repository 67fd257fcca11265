//! `visus metrics`, and how people name metrics.

use std::fmt::Write;

use anyhow::{Context, Result};
use visus_engine::FeatureSpec;
use visus_metrics::{Info, OptionKind, OptionSpec, registry};

use super::args::MetricsArgs;
use super::score::print_all;

/// Names that people use for what libvmaf calls otherwise.
const ALIASES: [(&str, &str); 2] = [("ssim", "float_ssim"), ("ms_ssim", "float_ms_ssim")];

pub fn run(args: &MetricsArgs) -> Result<()> {
    let Some(name) = &args.metric else { return print_all(&list()) };
    let info = registry::by_name(plain_name(name)).with_context(|| format!("there is no metric '{name}'"))?;
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

fn plain_name(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, metric)| metric)
}

/// Reads `-f` as people mean it: short names are taken, and XPSNR learns the frame rate, on which it depends.
pub fn parse(text: &str, frame_rate: Option<(u32, u32)>) -> Result<FeatureSpec> {
    let mut feature: FeatureSpec = text.parse()?;
    feature.metric = plain_name(&feature.metric).to_owned();
    let rate_given = feature.options.iter().any(|(name, _)| name == "frame_rate");
    if let Some((num, den)) = frame_rate
        && feature.metric == "xpsnr"
        && !rate_given
    {
        feature.options.push(("frame_rate".to_owned(), (f64::from(num) / f64::from(den)).to_string()));
    }
    Ok(feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_use() {
        assert_eq!(parse("ssim=scale=1", None).unwrap().metric, "float_ssim");
        assert_eq!(parse("psnr", None).unwrap().metric, "psnr");
        let given = parse("xpsnr=frame_rate=60", Some((25, 1))).unwrap();
        assert_eq!(given.options, [("frame_rate".to_owned(), "60".to_owned())]);
        let taken = parse("xpsnr", Some((50, 1))).unwrap();
        assert_eq!(taken.options, [("frame_rate".to_owned(), "50".to_owned())]);
    }

    #[test]
    fn every_metric_describes_itself() {
        for info in registry::METRICS {
            assert!(!info.help.is_empty(), "{}", info.name);
            assert!(describe(info).contains(info.name));
        }
    }
}
