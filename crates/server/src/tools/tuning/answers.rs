//! The answers of the tuning tools, made by crate `tune`.

use serde_json::{Value, json};
use visus_tune::shots::{self, ShotSettings};
use visus_tune::{CompareSettings, LadderSettings, TuneError, encoders, manifest};
use visus_video::{Chroma, ChromaRounding, Format, raw_seekable, y4m_seekable};

use super::tally::Tally;
use super::{Opened, POOLING, Request, samples, told};
use crate::ToolError;
use crate::jobs::Context;

fn value(answer: &impl serde::Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(answer).map_err(|error| ToolError::Failed(format!("internal error: {error}")))
}

pub fn compare(request: &Request, opened: &Opened, context: &Context) -> Result<Value, ToolError> {
    let settings = CompareSettings {
        encoders: request.list("encoders", "libx264,libx265,libsvtav1"),
        targets: request.targets.clone(),
        choices: request.choices(),
        pooling: POOLING,
        samples: samples(),
        parallel: !request.values.flag("no_parallel"),
    };
    if settings.encoders.is_empty() || settings.encoders.len() > 32 {
        let given = json!(request.values.text("encoders").unwrap_or_default());
        return Err(ToolError::invalid("encoders", &given, "must be 1 to 32 names, as 'libx264,libx265'"));
    }
    let tally = Tally::new(context);
    let Opened { lab, source, judge } = opened;
    let report =
        visus_tune::compare(lab, source, judge, &settings, &|event| tally.event(event)).map_err(told)?;
    let mut answer = value(&report)?;
    answer["estimate"] = value(&tally.estimate())?;
    Ok(answer)
}

pub fn ladder(request: &Request, opened: &Opened, context: &Context) -> Result<Value, ToolError> {
    let values = &request.values;
    let settings = LadderSettings {
        adapter: encoders::by_name(values.text("encoder").unwrap_or("libx264")).map_err(told)?,
        choices: request.choices(),
        resolutions: resolutions(request)?,
        targets: request.targets.clone(),
        tiers: values.count("quality_tiers").unwrap_or(5) as usize,
        spacing: values.text("spacing").and_then(|text| text.parse().ok()).unwrap_or_default(),
        pooling: POOLING,
        samples: samples(),
    };
    let tally = Tally::new(context);
    let Opened { lab, source, judge } = opened;
    let ladder =
        visus_tune::ladder(lab, source, judge, &settings, &|event| tally.event(event)).map_err(told)?;
    let format = values.text("format").unwrap_or("json");
    let manifest = match format {
        "hls" => json!(manifest::hls_master(&ladder)),
        "dash" => json!(manifest::dash(&ladder)),
        _ => value(&ladder)?,
    };
    Ok(json!({
        "manifest": manifest,
        "format": format,
        "failures": ladder.failures,
        "from_cache": ladder.from_cache,
        "estimate": value(&tally.estimate())?,
    }))
}

fn resolutions(request: &Request) -> Result<Vec<(u32, u32)>, ToolError> {
    let text = request.values.text("resolutions").unwrap_or_default();
    let refuse = || ToolError::invalid("resolutions", &json!(text), "must be sizes, as '1920x1080,1280x720'");
    let size = |word: &String| {
        let (width, height) = word.split_once(['x', 'X'])?;
        Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
    };
    let sizes: Option<Vec<(u32, u32)>> = request.list("resolutions", "").iter().map(size).collect();
    sizes.filter(|sizes| !sizes.is_empty() && sizes.len() <= 16).ok_or_else(refuse)
}

pub fn per_shot(request: &Request, opened: &Opened, context: &Context) -> Result<Value, ToolError> {
    let values = &request.values;
    let settings = ShotSettings {
        adapter: encoders::by_name(values.text("encoder").unwrap_or("libx264")).map_err(told)?,
        choices: request.choices(),
        target: values.number("target_vmaf").unwrap_or(92.0),
        pooling: POOLING,
        output: request.output.as_deref().map(visus_tune::OutputFile::at).transpose().map_err(told)?,
    };
    let tally = Tally::new(context);
    let sink = |event| tally.event(event);
    let Opened { lab, source, judge } = opened;
    let found = shots::find(source, &request.detect("scene_threshold"), &lab.tools, &lab.cancel, &sink)
        .map_err(told)?;
    let plan = shots::tune(lab, source, judge, &found, &settings, &sink).map_err(told)?;
    let mut answer = value(&plan)?;
    match values.text("format") {
        Some("shell") => answer["text"] = json!(shots::shell(&plan)),
        Some("csv") => answer["text"] = json!(shots::csv(&plan)),
        _ => {}
    }
    answer["estimate"] = value(&tally.estimate())?;
    Ok(answer)
}

pub fn predict(request: &Request, context: &Context) -> Result<Value, ToolError> {
    let values = &request.values;
    let settings = request.predict_settings()?;
    let mut frames = open_frames(request)?;
    let total = frames.total_frames();
    let detect = request.detect("diff_threshold");
    let found = shots::find_in(&mut *frames, &detect, &context.cancel, |done| {
        context.progress(done, total, "looking for shots");
    });
    let found = found.map_err(|error| match error {
        TuneError::Score { what, reason } => ToolError::Failed(format!("{what}: {reason}")),
        other => told(other),
    })?;
    let predicted = shots::predict(&found, &settings);
    let mut answer = json!({
        "plan": {
            "target_vmaf": settings.target,
            "crf_min": settings.crf_min,
            "crf_max": settings.crf_max,
            "shots": value(&predicted)?,
        },
        "flashes": found.flashes,
    });
    if values.text("format") == Some("csv") {
        answer["text"] = json!(shots::predicted_csv(&predicted));
    }
    Ok(answer)
}

fn open_frames(request: &Request) -> Result<Box<dyn visus_video::Source>, ToolError> {
    use std::io::{Read, Seek};
    let values = &request.values;
    let failed = |error: &dyn std::error::Error| ToolError::Failed(crate::error::chain(error));
    let name = crate::roots::shown(&request.path);
    let mut file = std::fs::File::open(&request.path).map_err(|error| failed(&error))?;
    let mut start = [0; 8];
    let is_y4m = file.read(&mut start).is_ok_and(|count| count == 8) && &start == b"YUV4MPEG";
    file.rewind().map_err(|error| failed(&error))?;
    if is_y4m {
        return Ok(Box::new(y4m_seekable(&name, file).map_err(|error| failed(&error))?));
    }
    let side = |name: &str| usize::try_from(values.count(name).unwrap_or(0)).unwrap_or(usize::MAX);
    let chroma = match values.text("pixel_format") {
        Some("422") => Chroma::C422,
        Some("444") => Chroma::C444,
        _ => Chroma::C420,
    };
    let depth = u8::try_from(values.count("bitdepth").unwrap_or(8)).unwrap_or(8);
    let format = Format::new(side("width"), side("height"), chroma, depth)
        .map_err(|error| ToolError::invalid("width", &json!(side("width")), error.to_string()))?;
    Ok(Box::new(raw_seekable(&name, file, format, ChromaRounding::Auto).map_err(|error| failed(&error))?))
}
