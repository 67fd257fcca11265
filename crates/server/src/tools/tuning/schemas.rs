//! The schemas of the tuning tools' answers.

use serde_json::{Map, Value, json};

/// A field: its type, with `?` where it may be null, and what it means.
fn field(kind: &str, help: &str) -> Value {
    match kind.strip_suffix('?') {
        Some(kind) => json!({ "anyOf": [{ "type": kind }, { "type": "null" }], "description": help }),
        None => json!({ "type": kind, "description": help }),
    }
}

fn object(help: &str, fields: Vec<(&str, Value)>) -> Value {
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({ "type": "object", "description": help, "properties": properties })
}

fn list(help: &str, items: Value) -> Value {
    json!({ "type": "array", "description": help, "items": items })
}

fn or_null(schema: Value) -> Value {
    let help = schema["description"].clone();
    json!({ "anyOf": [schema, { "type": "null" }], "description": help })
}

/// What every answer may hold besides its own.
fn common(mut fields: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    fields.extend([
        ("job_id", field("string", "The job's id.")),
        ("status", field("string", "Of a job in the background: queued or running.")),
        ("message", field("string", "What to do next.")),
        ("notes", words("Arguments that were ignored.")),
        ("estimate", estimate()),
    ]);
    fields
}

fn estimate() -> Value {
    or_null(object(
        "What the run was expected to take.",
        vec![
            ("encodes", field("integer", "Encodes at most.")),
            ("frames", field("integer", "Frames encoded and scored at most.")),
            ("seconds", field("number", "Likely wall time.")),
            ("cpu_seconds", field("number", "Time of all cores together.")),
            ("disk_bytes", field("integer", "Space for encodes.")),
            ("basis", field("string", "Where the figures come from.")),
        ],
    ))
}

fn windows() -> Value {
    list(
        "Frames of the source that stood for it.",
        list("First frame and count.", field("integer", "A number.")),
    )
}

fn words(help: &str) -> Value {
    list(help, field("string", "In words."))
}

fn sample() -> Value {
    object(
        "A setting that was measured.",
        vec![
            ("crf", field("integer", "The setting.")),
            ("bitrate_kbps", field("number", "Its bit rate.")),
            ("vmaf_score", field("number", "Its score.")),
            ("encode_time_ms", field("integer", "How long it took to encode.")),
        ],
    )
}

pub fn compare() -> Value {
    let row = object(
        "An encoder at a target.",
        vec![
            ("codec", field("string", "The encoder.")),
            ("adapter", field("string", "The adapter that turns its knob.")),
            ("runtime_variant", field("string", "cpu, hardware or unknown.")),
            ("ffmpeg_bin", field("string", "The ffmpeg that ran it.")),
            ("encoder_version", field("string", "The encoder's version.")),
            ("best_crf", field("integer", "The coarsest setting that meets the target; -1 if none.")),
            ("bitrate_kbps", field("number?", "Its bit rate.")),
            ("encode_time_ms", field("integer", "How long it took to encode.")),
            ("vmaf_score", field("number?", "Its score.")),
            ("target_vmaf", field("number", "The target.")),
            ("ok", field("boolean", "Whether the target was met.")),
            ("error", field("string?", "Why not.")),
            ("bisect_samples", list("Everything that was measured.", sample())),
            ("contradictions", words("Measurements that do not agree with each other.")),
            ("from_cache", field("boolean", "Nothing had to be computed.")),
        ],
    );
    let delta = object(
        "An encoder against the first.",
        vec![
            ("encoder", field("string", "The encoder.")),
            ("anchor", field("string", "What it is compared with.")),
            ("bd_rate_percent", field("number?", "Rate for the same quality; negative is a saving (PCHIP).")),
            ("bd_rate_cubic_percent", field("number?", "The same with Bjøntegaard's cubic.")),
            ("bd_vmaf", field("number?", "Quality at the same rate.")),
            ("error", field("string?", "Why there is none.")),
        ],
    );
    object(
        "Encoders side by side.",
        common(vec![
            ("src", field("string", "The source.")),
            ("schema_version", field("integer", "2 if there are several targets.")),
            ("target_vmaf", field("number", "The target.")),
            ("target_vmafs", list("The targets.", field("number", "A target."))),
            ("tool_version", field("string", "Who measured.")),
            ("model", field("string", "The model.")),
            ("metric", field("string", "How frames are pooled.")),
            ("windows", windows()),
            ("wall_time_ms", field("integer", "How long it took.")),
            ("rows", list("One target: those that met it by bit rate. Several: encoder by encoder.", row)),
            ("bd_rate", list("Against the first encoder.", delta)),
            ("rows_from_cache", field("integer", "Rows that were known from before.")),
        ]),
    )
}

fn rendition() -> Value {
    object(
        "A rendition.",
        vec![
            ("width", field("integer", "Its width.")),
            ("height", field("integer", "Its height.")),
            ("bitrate_kbps", field("number", "Its bit rate.")),
            ("bandwidth_bps", field("integer", "The most bits in any second.")),
            ("vmaf", field("number", "Its score at the source's size.")),
            ("crf", field("integer", "Its setting.")),
            ("codecs", field("string", "As manifests name its codec.")),
        ],
    )
}

fn failure() -> Value {
    object(
        "A size that failed.",
        vec![
            ("width", field("integer", "Its width.")),
            ("height", field("integer", "Its height.")),
            ("error", field("string", "Why.")),
        ],
    )
}

pub fn ladder() -> Value {
    let pair = |help: &str| list(help, field("integer", "A number."));
    let manifest = object(
        "The ladder.",
        vec![
            ("schema", field("string", "vmaf-tune-ladder/v1.")),
            ("src", field("string", "The source.")),
            ("encoder", field("string", "The encoder.")),
            ("encoder_version", field("string", "Its version.")),
            ("model", field("string", "The model.")),
            ("metric", field("string", "How frames are pooled.")),
            ("display", pair("The size at which all were judged.")),
            ("frame_rate", pair("As a ratio.")),
            ("duration", field("number", "Seconds.")),
            ("spacing", field("string", "How tiers are spread.")),
            ("windows", windows()),
            ("renditions", list("By rising rate.", rendition())),
            ("hull", list("The convex hull.", rendition())),
            ("samples", list("Everything that was measured.", rendition())),
            ("failures", list("Sizes that failed.", failure())),
            ("contradictions", words("Measurements that do not agree with each other.")),
            ("from_cache", field("boolean", "Nothing had to be computed.")),
        ],
    );
    object(
        "A ladder.",
        common(vec![
            (
                "manifest",
                json!({ "anyOf": [manifest, { "type": "string" }], "description": "Object for json, text for hls and dash." }),
            ),
            ("format", field("string", "json, hls or dash.")),
            ("failures", list("Sizes that failed.", failure())),
            ("from_cache", field("boolean", "Nothing had to be computed.")),
        ]),
    )
}

pub fn per_shot() -> Value {
    let shot = object(
        "A shot.",
        vec![
            ("start_frame", field("integer", "Its first frame.")),
            ("end_frame", field("integer", "The frame after its last.")),
            ("crf", field("integer", "Its setting; -1 if none could be measured.")),
            ("predicted_vmaf", field("number?", "Its score.")),
            ("bitrate_kbps", field("number?", "Its bit rate.")),
            ("begins_with", field("string", "start, cut, fade or dissolve.")),
            ("ok", field("boolean", "Whether it meets the target.")),
            ("error", field("string?", "Why not.")),
            ("contradictions", words("Measurements that do not agree with each other.")),
            ("from_cache", field("boolean", "Nothing had to be computed.")),
        ],
    );
    let joined = object(
        "The joined encode.",
        vec![
            ("path", field("string", "Where it is.")),
            ("frames", field("integer", "Its frames.")),
            ("bytes", field("integer", "Bytes of coded video.")),
            ("bitrate_kbps", field("number", "Its bit rate.")),
            ("predicted_vmaf", field("number", "What the shots promised.")),
            ("achieved_vmaf", field("number", "What it has.")),
            ("codecs", field("string", "Its codec.")),
        ],
    );
    let command = || list("A command.", field("string", "A word."));
    object(
        "A plan.",
        common(vec![
            ("src", field("string", "The source.")),
            ("encoder", field("string", "The encoder.")),
            ("encoder_version", field("string", "Its version.")),
            ("framerate", field("number", "Frames per second.")),
            ("predicate", field("string", "bisect.")),
            ("target_vmaf", field("number", "The target.")),
            ("metric", field("string", "How frames are pooled.")),
            ("model", field("string", "The model.")),
            ("shots", list("In order.", shot)),
            ("flashes", list("First frames of flashes, which are no cuts.", field("integer", "A frame."))),
            ("segment_commands", list("Make one segment per shot.", command())),
            ("concat_command", command()),
            ("output", or_null(joined)),
            ("output_error", field("string?", "Why there is no joined encode although one was asked for.")),
            ("shots_from_cache", field("integer", "Shots that were known from before.")),
            ("text", field("string", "The plan as shell script or table, if asked for.")),
        ]),
    )
}

pub fn predict() -> Value {
    let shot = object(
        "A shot.",
        vec![
            ("shot_id", field("integer", "Its number.")),
            ("start_frame", field("integer", "Its first frame.")),
            ("end_frame", field("integer", "Its last frame.")),
            ("frames", field("integer", "Its length.")),
            ("mean_complexity", field("number", "Mean gradient of luma, 8-bit scale.")),
            ("mean_motion", field("number", "Mean change from frame to frame, 8-bit scale.")),
            ("predicted_crf", field("integer", "The guess.")),
        ],
    );
    let plan = object(
        "The plan.",
        vec![
            ("target_vmaf", field("number", "The target.")),
            ("crf_min", field("integer", "The finest guess.")),
            ("crf_max", field("integer", "The coarsest guess.")),
            ("shots", list("In order.", shot)),
        ],
    );
    object(
        "Guesses per shot.",
        common(vec![
            ("plan", plan),
            ("flashes", list("First frames of flashes, which are no cuts.", field("integer", "A frame."))),
            ("text", field("string", "The plan as a table, if asked for.")),
        ]),
    )
}
