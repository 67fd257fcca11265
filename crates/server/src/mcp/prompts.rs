//! Prompts for what people really do with scores.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

/// An argument: name, title, help, and whether it must be there.
struct Argument(&'static str, &'static str, &'static str, bool);

struct Workflow {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    arguments: &'static [Argument],
    /// The text; `{name}` stands for an argument and is always in double quotes, which the value cannot close.
    text: &'static str,
}

const REFERENCE: Argument = Argument("reference", "Reference", "Path of the reference video", true);
const DISTORTED: Argument = Argument("distorted", "Distorted", "Path of the video to judge", true);
const MODEL: Argument = Argument("model", "Model", "Model to use; 'auto' picks by size", false);

const WORKFLOWS: &[Workflow] = &[
    Workflow {
        name: "judge_encode",
        title: "Judge an encode",
        about: "Is this encode good enough, and where is it not?",
        arguments: &[REFERENCE, DISTORTED, MODEL],
        text: "Judge how good the video \"{distorted}\" looks against its reference \"{reference}\".\n\
               1. Call vmaf_score with ref, dis and model \"{model}\". If it may take more than a minute, set background and poll \
               get_job. Repeat what 'comparability' says.\n\
               2. Read the verdict, then p5, the worst second and the curve: a good mean can hide a bad second.\n\
               3. If it is not good enough, call describe_worst_frames with the same files: it tells for each bad frame when \
               (time_s), where in the picture (place), which fault, how sure (confidence) and what to try (advice). Look at the \
               pictures, and say so if they contradict it.\n\
               4. Say in four sentences: is it good enough for its purpose, where is it worst, why and how sure that is, what to \
               try. Name frame numbers. Repeat any warning of the result.",
    },
    Workflow {
        name: "choose_crf",
        title: "Choose a CRF",
        about: "Which quality setting meets a target score at the smallest size?",
        arguments: &[
            REFERENCE,
            Argument("encoder", "Encoder", "The encoder, such as libx264 or libsvtav1", false),
            Argument("target", "Target", "The VMAF score to reach, such as 95", false),
            MODEL,
        ],
        text: "Find the largest CRF of \"{encoder}\" whose encode of \"{reference}\" still reaches VMAF \"{target}\".\n\
               Call run_compare with src, encoders \"{encoder}\" and that target_vmaf, in the background, and poll get_job. It \
               searches, encodes and measures. Say which CRF to use, what was measured, its bitrate, and what the row's error says \
               if it is not ok. For another model than the default, check the chosen encode with vmaf_score and model \"{model}\".",
    },
    Workflow {
        name: "find_flaws",
        title: "Find what went wrong",
        about: "Why is the score low: blur, banding, frames out of step, or something else?",
        arguments: &[REFERENCE, DISTORTED],
        text: "Find out why \"{distorted}\" scores low against \"{reference}\".\n\
               1. Call describe_worst_frames and look at the pictures and descriptions.\n\
               2. Call vmaf_score with feature ['psnr','float_ssim','cambi','ciede']. Read 'comparability' and 'pairing': frames out \
               of step are the usual cause of a low score. Raw and Y4M files are not paired by content; there try frame_skip_ref or \
               frame_skip_dist of 1, 2 and 3.\n\
               3. Low vif and adm with good psnr means blur; a cambi above 5 means banding; a bad psnr with good vif means \
               brightness or colour. A dip of a few frames means a damaged or dropped frame.\n\
               4. Say what is wrong, in which frames, how sure you are, and what to check next.",
    },
];

pub fn list() -> Vec<Prompt> {
    let argument = |Argument(name, title, help, required): &Argument| {
        PromptArgument::new(*name).with_title(*title).with_description(*help).with_required(*required)
    };
    let prompt = |workflow: &Workflow| {
        let arguments = workflow.arguments.iter().map(argument).collect();
        Prompt::new(workflow.name, Some(workflow.about), Some(arguments)).with_title(workflow.title)
    };
    WORKFLOWS.iter().map(prompt).collect()
}

/// Whether there is a prompt of this name.
pub fn exists(name: &str) -> bool {
    WORKFLOWS.iter().any(|workflow| workflow.name == name)
}

pub fn get(name: &str, given: Option<&JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let workflow = WORKFLOWS.iter().find(|workflow| workflow.name == name).ok_or_else(|| {
        ErrorData::invalid_params(format!("unknown prompt: {}", crate::error::cleaned(name)), None)
    })?;
    let mut text = workflow.text.to_owned();
    for Argument(name, _, _, required) in workflow.arguments {
        let value = given.and_then(|given| given.get(*name)).and_then(Value::as_str);
        let value = match value {
            Some(value) => crate::text::message(value).replace('"', "”"),
            None if *required => {
                let text = format!("prompt '{}' missing required argument: '{name}'", workflow.name);
                return Err(ErrorData::invalid_params(text, None));
            }
            None => default(name).to_owned(),
        };
        text = text.replace(&format!("{{{name}}}"), &value);
    }
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(workflow.about))
}

fn default(name: &str) -> &'static str {
    match name {
        "model" => "auto",
        "encoder" => "libx264",
        "target" => "95",
        _ => "",
    }
}
