//! The schemas of answers: what each field means, so that a client can check and a model can read.

use serde_json::{Map, Value, json};

type Schema = Value;

fn text(help: &str) -> Schema {
    json!({ "type": "string", "description": help })
}

fn whole(help: &str) -> Schema {
    json!({ "type": "integer", "description": help })
}

fn number(help: &str) -> Schema {
    json!({ "type": "number", "description": help })
}

fn flag(help: &str) -> Schema {
    json!({ "type": "boolean", "description": help })
}

/// A value that is null where there is none.
fn or_null(schema: &Schema) -> Schema {
    let mut plain = schema.clone();
    let help = plain.as_object_mut().and_then(|map| map.remove("description"));
    json!({ "anyOf": [plain, { "type": "null" }], "description": help })
}

fn list(help: &str, items: Schema) -> Schema {
    json!({ "type": "array", "description": help, "items": items })
}

/// An object whose keys are not known beforehand.
fn map(help: &str, values: Schema) -> Schema {
    json!({ "type": "object", "description": help, "additionalProperties": values })
}

fn object(help: &str, fields: &[(&str, Schema)], required: &[&str]) -> Schema {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "description": help, "properties": properties, "required": required })
}

fn backends(help: &str) -> Schema {
    let names = crate::engines::DEVICES;
    let fields = names.map(|name| (name, flag(&format!("Whether {name} is available."))));
    object(help, &fields, &names)
}

fn pooled() -> Schema {
    let fields = [
        ("min", or_null(&number("The lowest score."))),
        ("max", or_null(&number("The highest score."))),
        ("mean", or_null(&number("The mean."))),
        ("harmonic_mean", or_null(&number("The harmonic mean: low scores weigh more."))),
        ("p1", or_null(&number("1 % of the frames are below."))),
        ("p5", or_null(&number("5 % of the frames are below."))),
        ("p10", or_null(&number("10 % of the frames are below."))),
        ("p25", or_null(&number("25 % of the frames are below."))),
        ("median", or_null(&number("Half of the frames are below."))),
        ("min_frame", whole("The frame with the lowest score.")),
    ];
    object("One metric over all frames.", &fields, &[])
}

fn frame() -> Schema {
    let metrics = map("Scores by name; null where there is none.", or_null(&number("A score.")));
    object(
        "One frame.",
        &[("frameNum", whole("Its number, from 0.")), ("metrics", metrics)],
        &["frameNum", "metrics"],
    )
}

fn provenance() -> Schema {
    let input = || {
        object(
            "A video.",
            &[
                ("file", text("Its resolved path.")),
                ("format", text("Size, chroma format and bit depth.")),
                ("frame_rate", or_null(&text("Frames per second as a ratio."))),
            ],
            &["file", "format"],
        )
    };
    let model = object(
        "A model.",
        &[
            ("name", text("The name of its scores.")),
            ("model", text("Version or path.")),
            ("sha256", or_null(&text("Hash of the model's text."))),
        ],
        &["name", "model"],
    );
    let fields = [
        ("engine", text("native or external.")),
        ("version", text("Version of the engine.")),
        ("cpu_level", text("Instruction set that was used.")),
        ("binary", text("The executable of an external engine.")),
        ("models", list("The models that took part.", model)),
        ("reference", input()),
        ("distorted", input()),
    ];
    object("Where the numbers come from.", &fields, &["engine", "version", "models"])
}

/// The answer of scoring: every field of every level of detail, and of a job that was only begun.
pub fn score() -> Schema {
    let worst = object(
        "A frame and its score.",
        &[("frame", whole("Its number.")), ("score", or_null(&number("Its score.")))],
        &["frame", "score"],
    );
    let second = object(
        "The second with the lowest mean.",
        &[
            ("from_frame", whole("Its first frame.")),
            ("to_frame", whole("Its last frame.")),
            ("mean", or_null(&number("Its mean score."))),
        ],
        &["from_frame", "to_frame", "mean"],
    );
    let curve = object(
        "The score over time.",
        &[
            ("frames_per_point", number("Listed frames that share a point.")),
            ("lowest", list("The lowest score of each point's frames.", or_null(&number("A score.")))),
        ],
        &["frames_per_point", "lowest"],
    );
    let fields = [
        ("verdict", text("The result in a sentence.")),
        ("detail", text("full or summary.")),
        ("version", text("Version of the engine.")),
        ("fps", or_null(&number("Frames scored per second."))),
        ("frame_count", whole("Pairs of frames that were scored.")),
        ("frames", list("Scores of every listed frame; in full detail only.", frame())),
        ("pooled_metrics", map("Every metric over all frames, by name.", pooled())),
        ("aggregate_metrics", map("Numbers for the whole clip.", or_null(&number("A number.")))),
        ("worst_frames", list("The frames with the lowest scores, worst first.", worst)),
        ("worst_second", or_null(&second)),
        ("curve", curve),
        ("report", text("Resource with the whole report.")),
        ("format", text("Format of 'output', if it is not JSON.")),
        ("output", text("The report as text, if another format than JSON was asked for.")),
        ("backend_requested", text("The backend that was asked for.")),
        ("backend_used", text("The backend that really ran.")),
        ("mismatched_model_warning", text("The model was made for another picture size.")),
        ("notes", list("What else one should know.", text("A note."))),
        ("identical", flag("The inputs are the same, sample for sample.")),
        ("shorter_input", text("The video that ended first: reference or distorted.")),
        ("provenance", provenance()),
        ("job_id", text("The job's id, for get_job and for resources.")),
        ("status", text("Of a job in the background: queued or running.")),
        ("message", text("What to do next.")),
    ];
    object("A score report, or the job that makes one.", &fields, &["job_id"])
}

/// The answer of `describe_worst_frames`.
pub fn worst() -> Schema {
    let region = object(
        "What the picture shows, in luma samples.",
        &[
            ("x", whole("Left edge.")),
            ("y", whole("Upper edge.")),
            ("width", whole("Width.")),
            ("height", whole("Height.")),
        ],
        &["x", "y", "width", "height"],
    );
    let frame = object(
        "A bad frame.",
        &[
            ("frame_index", whole("Its number, from 0.")),
            ("vmaf", or_null(&number("Its score."))),
            ("metric", text("The name of that score.")),
            ("shot", whole("The shot it is in, from 0, as far as cuts were seen.")),
            (
                "png",
                text("File with reference, distorted and difference side by side; kept as long as the job."),
            ),
            ("description", text("What is wrong with it.")),
            ("region", region),
        ],
        &["frame_index", "vmaf", "png", "description"],
    );
    let encoded = score_encoded();
    let mut schema = object(
        "The worst frames, or the job that looks for them.",
        &[
            ("model_id", or_null(&text("The model that described the frames; null: measurements did."))),
            ("frames", list("The worst frames, worst first.", frame)),
            ("score", text("The name of the score that frames are judged by.")),
            ("model", text("The model that scored.")),
            ("notes", list("What else one should know.", text("A note."))),
            ("job_id", text("The job's id.")),
            ("status", text("Of a job in the background: queued or running.")),
            ("message", text("What to do next.")),
        ],
        &["job_id"],
    );
    for name in ["reference_encoded", "distorted_encoded", "comparability", "pairing", "conversions", "media"]
    {
        schema["properties"][name] = encoded["properties"][name].clone();
    }
    schema
}

/// The answer of scoring encoded videos: the same, and how the two were brought together.
pub fn score_encoded() -> Schema {
    let reason = object(
        "Something that bears on the comparison.",
        &[
            ("weight", text("yes: dealt with; warn; no.")),
            ("code", text("A short name for programs.")),
            ("text", text("The reason in words.")),
        ],
        &["weight", "code", "text"],
    );
    let comparability = object(
        "Whether the number can be trusted.",
        &[("comparable", text("yes, warn or no.")), ("reasons", list("Why.", reason))],
        &["comparable", "reasons"],
    );
    let anything = |help: &str| json!({ "type": "object", "description": help });
    let conversion = object(
        "A conversion.",
        &[("input", text("reference or distorted.")), ("conversion", text("What was done."))],
        &["input", "conversion"],
    );
    let more = [
        ("reference_encoded", text("The resolved path of the reference.")),
        ("distorted_encoded", text("The resolved path of the distorted video.")),
        ("comparability", comparability),
        ("pairing", anything("How frames were paired: offset, confidence, dropped and repeated frames.")),
        ("conversions", list("What was converted before scoring.", conversion)),
        ("media", anything("What is known of both files, and the ffmpeg that decoded them.")),
    ];
    let mut schema = score();
    for (name, field) in more {
        schema["properties"][name] = field;
    }
    schema
}

pub fn models() -> Schema {
    let model = object(
        "A model.",
        &[
            ("name", text("Its name.")),
            ("path", text("Its file, or builtin:NAME.")),
            ("format", text("json or onnx.")),
            ("size_bytes", whole("Size of its text or file.")),
            ("model", text("What to give as the 'model' argument.")),
            ("about", text("What it is for.")),
        ],
        &["name", "path", "format", "size_bytes"],
    );
    object("The models.", &[("models", list("Built in, then files.", model))], &["models"])
}

pub fn model() -> Schema {
    let fields = [
        ("name", text("Its name.")),
        ("path", text("Its file, or builtin:NAME.")),
        ("format", text("json or onnx.")),
        ("size_bytes", whole("Size of its text or file.")),
        ("model", text("What to give as the 'model' argument.")),
        ("model_type", text("How it predicts.")),
        ("feature_names", list("The features that it reads.", text("A feature."))),
        (
            "score_range",
            list("Lowest and highest score; null where there is no limit.", or_null(&number("A score."))),
        ),
        ("intended_display", text("Screen and distance that it was trained for.")),
        ("sha256", text("Hash of its text.")),
        ("bootstrap_models", whole("Siblings that give a confidence interval.")),
    ];
    object("A model.", &fields, &["name", "path", "format", "size_bytes", "model_type", "feature_names"])
}

pub fn backend_list() -> Schema {
    backends("Which backends are available.")
}

pub fn probe() -> Schema {
    let fields = [
        ("backend", text("The backend that was probed.")),
        ("compiled_in", flag("Whether the engine has it.")),
        ("runtime_healthy", flag("Whether a finite score came back.")),
        ("latency_ms", or_null(&number("How long it took."))),
        ("score", or_null(&number("The score of a grey frame against itself."))),
        ("error", or_null(&text("What went wrong."))),
    ];
    object("The health of a backend.", &fields, &fields.each_ref().map(|(name, _)| *name))
}

pub fn version() -> Schema {
    let fields = [
        ("binary_path", or_null(&text("The executable that scores."))),
        ("version", or_null(&text("Its version."))),
        ("build_flags", backends("Which backends it was built with.")),
        ("error", or_null(&text("What went wrong."))),
        ("engine", text("native or external.")),
    ];
    object("Who scores.", &fields, &["binary_path", "version", "build_flags", "error"])
}

pub fn extractors() -> Schema {
    let option = object(
        "An option.",
        &[
            ("name", text("Its name.")),
            ("type", text("bool, int, double or text.")),
            ("default", text("Its default.")),
            ("range", text("Smallest and largest value.")),
            ("help", text("What it does.")),
        ],
        &["name", "type", "default"],
    );
    let extractor = object(
        "A feature extractor.",
        &[
            ("name", text("What to give in 'feature'.")),
            ("backend", text("Where it is computed.")),
            ("help", text("What it measures.")),
            ("options", list("Its options.", option)),
            ("metrics", list("The scores that it gives.", text("A name."))),
        ],
        &["name", "backend"],
    );
    object("The extractors.", &[("extractors", list("All of them.", extractor))], &["extractors"])
}

pub fn benchmark() -> Schema {
    let row = object(
        "A fixture on a backend.",
        &[
            ("fixture", text("Size and number of frames.")),
            ("backend", text("The backend.")),
            ("ok", flag("Whether it ran.")),
            ("score", or_null(&number("Mean VMAF."))),
            ("wall_ms", or_null(&number("Time for all frames."))),
            ("fps", or_null(&number("Frames per second."))),
            ("max_frame_difference", or_null(&number("Largest difference of a frame's score to the CPU's."))),
            ("error", or_null(&text("What went wrong."))),
        ],
        &["fixture", "backend", "ok"],
    );
    let fields = [
        ("exit_code", whole("0 if everything ran.")),
        ("stdout", text("The results as a table.")),
        ("stderr", text("What went wrong, in words.")),
        ("results", list("The same as data.", row)),
        ("devices", list("The devices, if they were asked for.", text("A device."))),
        ("validation_failed", flag("With 'validate': whether a backend differs from the CPU.")),
        ("job_id", text("The job's id.")),
        ("status", text("Of a job in the background: queued or running.")),
        ("message", text("What to do next.")),
    ];
    object("Benchmark results.", &fields, &["job_id"])
}

fn job_fields() -> Vec<(&'static str, Schema)> {
    let progress = object(
        "How far it is.",
        &[
            ("done", whole("Frames or steps done.")),
            ("total", or_null(&whole("Of so many."))),
            ("per_second", or_null(&number("Pace."))),
            ("eta_s", or_null(&number("Seconds to go."))),
            ("message", text("What is being done.")),
        ],
        &["done"],
    );
    vec![
        ("job_id", text("Its id.")),
        ("tool", text("The tool that it runs.")),
        ("status", text("queued, running, done, failed or cancelled.")),
        ("progress", progress),
        ("age_s", number("Seconds since it was given.")),
        ("ran_s", or_null(&number("Seconds that it ran."))),
        ("expires_in_s", or_null(&number("Seconds until its result is forgotten."))),
        ("error", text("Why it failed.")),
    ]
}

pub fn job() -> Schema {
    let mut fields = job_fields();
    fields
        .push(("result", json!({ "type": "object", "description": "The tool's answer, once it is done." })));
    object("A job.", &fields, &["job_id", "tool", "status"])
}

pub fn jobs() -> Schema {
    let job = object("A job.", &job_fields(), &["job_id", "tool", "status"]);
    object("The jobs.", &[("jobs", list("Oldest first.", job))], &["jobs"])
}
