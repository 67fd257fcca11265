//! The tools: their names, words, arguments and answers. Every door calls them through [`crate::Server::start`].

pub mod backends;
pub mod bench;
pub mod eval;
pub mod extractors;
pub mod field;
pub mod job;
pub mod models;
mod outputs;
pub mod pictures;
pub mod score_args;
pub mod tiny_args;
pub mod tuning;
pub mod worst;

use serde_json::{Map, Value};

use field::{Field, Kind};
use score_args::Names;

/// What a client may assume of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

const READS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
const ENDS: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };

/// A tool as it is listed.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub hints: Hints,
    fields: fn() -> &'static [Field],
    output: fn() -> Value,
}

impl Tool {
    pub fn fields(&self) -> &'static [Field] {
        (self.fields)()
    }

    pub fn input_schema(&self) -> Map<String, Value> {
        field::schema(self.fields())
    }

    pub fn output_schema(&self) -> Map<String, Value> {
        match (self.output)() {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

/// The tool with this name.
pub fn by_name(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

const NONE: &[Field] = &[];
const JOB: &[Field] = &[Field::new("job_id", Kind::Text, "The id that the tool returned.").required()];
const GET_JOB: &[Field] = &[
    JOB[0],
    Field::new("detail", Kind::Word(&crate::report::Detail::NAMES), "Level of detail of a score report."),
];
const DESCRIBE: &[Field] =
    &[Field::new("name", Kind::Text, "A model's name or path, as list_models gives it.").required()];
const LIST_BACKENDS: &[Field] =
    &[Field::new("refresh", Kind::Flag, "Ask the binary again instead of remembering.").default("false")];
const PROBE: &[Field] =
    &[Field::new("backend", Kind::Word(&crate::engines::DEVICES), "The backend to probe.").required()];
const BACKGROUND: Field =
    Field::new("background", Kind::Flag, "Return a job_id at once and work on; ask get_job later.")
        .default("false");
const RUN_BENCHMARK: &[Field] = &[BACKGROUND];
const VMAF_BENCH: &[Field] = &[
    Field::new("frames", Kind::Whole { min: 2, max: 48 }, "Frames of the clip.").default("10"),
    Field::new("resolution", Kind::Word(&bench::RESOLUTIONS), "Size of the clip.").default("\"1920x1080\""),
    Field::new("bpc", Kind::Choice(&[8, 10, 12, 16]), "Bits per component.").default("8"),
    Field::new("validate", Kind::Flag, "Compare every backend with the CPU, frame by frame.")
        .default("false"),
    Field::new("gpu_only", Kind::Flag, "Leave the CPU out.").default("false"),
    Field::new("device_list", Kind::Flag, "List devices instead of measuring.").default("false"),
    BACKGROUND,
];

/// Every tool, in the order in which it is listed.
pub static TOOLS: &[Tool] = &[
    Tool {
        name: "vmaf_score",
        title: "Score a video with VMAF",
        description: "Scores a distorted video against its reference with VMAF and, on request, PSNR, SSIM, CAMBI and other \
                      metrics. Use it for Y4M or raw YUV files on this machine (raw files need width, height, pixfmt and \
                      bitdepth). For encoded files such as mp4 or mkv use vmaf_score_encoded. Long clips: set background and poll get_job.",
        hints: READS,
        fields: || Names::Mcp.fields(),
        output: outputs::score,
    },
    Tool {
        name: "vmaf_score_encoded",
        title: "Score an encoded video with VMAF",
        description: "Scores an encoded video (mp4, mkv, webm, ... whatever ffmpeg decodes) against its reference, which may be \
                      encoded too. Decodes both at once, brings them to one format, pairs frames by content, and says in \
                      'comparability' whether the number can be trusted. Needs ffmpeg. For raw YUV use vmaf_score. Long \
                      clips: set background and poll get_job.",
        hints: READS,
        fields: || Names::Encoded.fields(),
        output: outputs::score_encoded,
    },
    Tool {
        name: worst::NAME,
        title: "Show the worst frames",
        description: "Scores a video and shows its worst frames, spread over shots: reference, distorted and amplified difference \
                      side by side, cropped to the worst region, with a description of what is wrong (blur, blocking, banding, \
                      noise, brightness, misalignment). Use it after a low score to see why; for the number alone use vmaf_score. \
                      Give ref and dis (Y4M, raw YUV) or reference_encoded and distorted_encoded.",
        hints: READS,
        fields: worst::fields,
        output: outputs::worst,
    },
    Tool {
        name: "list_models",
        title: "List models",
        description: "Lists the models that vmaf_score can use: built-in ones, then files in the model folders. Use it to \
                      find the right name; use describe_model for what a model is made of.",
        hints: READS,
        fields: || NONE,
        output: outputs::models,
    },
    Tool {
        name: "describe_model",
        title: "Describe a model",
        description: "Tells what one model is made of: features, score range and the screen it was trained for. Use it to \
                      choose between models; not needed before every score.",
        hints: READS,
        fields: || DESCRIBE,
        output: outputs::model,
    },
    Tool {
        name: "list_backends",
        title: "List backends",
        description: "Tells which backends (cpu, cuda, sycl, vulkan, hip, metal) the engine was built with. It does not tell \
                      whether a driver works: that is probe_backend.",
        hints: READS,
        fields: || LIST_BACKENDS,
        output: outputs::backend_list,
    },
    Tool {
        name: "probe_backend",
        title: "Probe a backend",
        description: "Scores one grey frame of 64x64 on a backend and tells whether a score came back and how fast. Use it \
                      when list_backends says yes but scoring fails.",
        hints: READS,
        fields: || PROBE,
        output: outputs::probe,
    },
    Tool {
        name: "vmaf_version",
        title: "Engine version",
        description: "Tells which engine scores, its version and build flags. Use it for bug reports and to compare scores \
                      of two machines; not needed before scoring.",
        hints: READS,
        fields: || NONE,
        output: outputs::version,
    },
    Tool {
        name: "list_extractors",
        title: "List feature extractors",
        description: "Lists every metric with its options and the scores it gives. Use it before naming metrics in \
                      vmaf_score's 'feature' argument; not needed for plain VMAF.",
        hints: READS,
        fields: || NONE,
        output: outputs::extractors,
    },
    Tool {
        name: "run_benchmark",
        title: "Run the benchmark",
        description: "Measures scoring speed on made-up clips of 576x324, 1920x1080 and 3840x2160, per backend. Takes some \
                      seconds of full load; not needed for scoring. For other sizes use vmaf_bench.",
        hints: READS,
        fields: || RUN_BENCHMARK,
        output: outputs::benchmark,
    },
    Tool {
        name: "vmaf_bench",
        title: "Measure one size",
        description: "The benchmark with knobs: one size, bit depth and length; or a comparison of every backend with the CPU \
                      (validate); or a list of devices (device_list). Use it to measure this machine; your own videos are \
                      for vmaf_score.",
        hints: READS,
        fields: || VMAF_BENCH,
        output: outputs::benchmark,
    },
    tuning::RUN_COMPARE,
    tuning::RUN_LADDER,
    tuning::RUN_TUNE_PER_SHOT,
    tuning::VMAF_PER_SHOT,
    Tool {
        name: "eval_model_on_split",
        title: "Evaluate a model",
        description: "Predicts opinion scores with a quality model (ONNX, or libvmaf's JSON) from a table of features and tells how \
                      well it agrees with them: PLCC, SROCC, KROCC and RMSE with intervals. Use it to judge one model; for \
                      several use compare_models. Not for scoring video: that is vmaf_score.",
        hints: READS,
        fields: || eval::EVALUATE,
        output: eval::evaluation_schema,
    },
    Tool {
        name: "compare_models",
        title: "Compare models",
        description: "Evaluates several quality models on the same table, ranks them by PLCC and tests whether the differences \
                      are more than luck. Use it to choose between models; one bad model does not lose the others.",
        hints: READS,
        fields: || eval::COMPARE,
        output: eval::comparison_schema,
    },
    Tool {
        name: "get_job",
        title: "Get a job",
        description: "Tells how far a background job is, and gives its result once it is done. Use it after a call with \
                      background; a call that waited has its result already. Results are kept for an hour.",
        hints: READS,
        fields: || GET_JOB,
        output: outputs::job,
    },
    Tool {
        name: "list_jobs",
        title: "List jobs",
        description: "Lists your jobs, running and finished, without their results. Use it to find a job_id again; to \
                      follow one job use get_job.",
        hints: READS,
        fields: || NONE,
        output: outputs::jobs,
    },
    Tool {
        name: "cancel_job",
        title: "Cancel a job",
        description: "Ends a job that waits or runs. Use it when a background job is not wanted any more; a finished one \
                      stays as it is and need not be cancelled.",
        hints: ENDS,
        fields: || JOB,
        output: outputs::job,
    },
];
