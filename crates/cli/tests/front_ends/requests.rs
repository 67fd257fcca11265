//! The table of requests. Add one here, and every front end is asked.

use super::answer::Class;

/// What is asked for, in words that every front end has.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub name: &'static str,
    pub videos: [&'static str; 2],
    pub model: Option<&'static str>,
    pub metrics: &'static [&'static str],
    /// `WIDTHxHEIGHT` and ffmpeg's name of the sample format.
    pub raw: Option<(&'static str, &'static str)>,
    pub frames: Option<u64>,
    pub subsample: Option<u64>,
    pub skip: [u64; 2],
    /// `--from` and `--to`, which only the command line has.
    pub range: Option<[&'static str; 2]>,
    pub scale: Option<&'static str>,
    pub sync: Option<&'static str>,
    /// What is done to the videos beforehand, as `NAME=VALUE`.
    pub inputs: &'static [&'static str],
    pub force: bool,
    pub expect: Class,
}

impl Request {
    /// Whether a file has to be decoded.
    pub fn is_encoded(&self) -> bool {
        let deinterlaced = self.inputs.iter().any(|input| input.starts_with("deinterlace"));
        deinterlaced || self.videos.iter().any(|name| !name.ends_with(".y4m") && !name.ends_with(".yuv"))
    }
}

const SMALL: Request = Request {
    name: "",
    videos: ["small_ref.y4m", "small_dis.y4m"],
    model: None,
    metrics: &[],
    raw: None,
    frames: None,
    subsample: None,
    skip: [0, 0],
    range: None,
    scale: None,
    sync: None,
    inputs: &[],
    force: false,
    expect: Class::Scored,
};

const fn model(name: &'static str, model: &'static str) -> Request {
    Request { name, model: Some(model), ..SMALL }
}

const fn metric(name: &'static str, metrics: &'static [&'static str]) -> Request {
    Request { name, metrics, ..SMALL }
}

const fn on(request: Request, videos: [&'static str; 2]) -> Request {
    Request { videos, ..request }
}

const fn refused(request: Request, expect: Class) -> Request {
    Request { expect, ..request }
}

const fn treated(name: &'static str, inputs: &'static [&'static str]) -> Request {
    Request { name, inputs, ..SMALL }
}

const MEDIUM: [&str; 2] = ["medium_ref.y4m", "medium_dis.y4m"];
const FAST: [&str; 2] = ["fast_ref.y4m", "fast_dis.y4m"];
const TINY: [&str; 2] = ["tiny_ref.y4m", "tiny_dis.y4m"];
const ODD: [&str; 2] = ["odd_ref.y4m", "odd_dis.y4m"];
const DEEP: [&str; 2] = ["deep_ref.y4m", "deep_dis.y4m"];
const LOSSLESS: [&str; 2] = ["ref.mkv", "dis.mkv"];
const CODED: [&str; 2] = ["ref.mkv", "crf30.mp4"];

pub const REQUESTS: &[Request] = &[
    // Models by every spelling.
    Request { name: "default model", ..SMALL },
    model("model by version", "vmaf_v0.6.1"),
    model("model by short version", "v0.6.1"),
    model("model by libvmaf's grammar", "version=vmaf_v0.6.1neg"),
    model("model by libvmaf's grammar, short", "version=v0.6.1neg"),
    model("model with a name", "version=vmaf_v0.6.1:name=mine"),
    model("model with a name in front", "name=mine:version=vmaf_v0.6.1"),
    model("model with a switch", "version=vmaf_v0.6.1:enable_transform"),
    model("short model with a switch", "v0.6.1:disable_clip"),
    model("model with an overload", "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0"),
    model("float model", "float_v0.6.1"),
    model("4K model", "4k_v0.6.1"),
    model("bootstrap model", "b_v0.6.3"),
    model("model file", "own.json"),
    model("model file by libvmaf's grammar", "path=own.json"),
    model("model file with a name", "path=own.json:name=mine"),
    model("no model, with a metric", "none"),
    on(model("v1 model", "v1.0.16_3d0h"), ["fast_medium_ref.y4m", "fast_medium_dis.y4m"]),
    // `auto` and `all`.
    on(model("auto below the smallest size of its model", "auto"), TINY),
    on(model("auto", "auto"), MEDIUM),
    on(model("auto at a high frame rate", "auto"), ["fast_medium_ref.y4m", "fast_medium_dis.y4m"]),
    on(model("auto at an odd size", "auto"), ODD),
    on(model("auto with 10 bits", "auto"), DEEP),
    on(model("all", "all"), TINY),
    // Metrics with options.
    metric("psnr", &["psnr"]),
    metric("ssim by its common name", &["ssim"]),
    metric("ssim by libvmaf's name", &["float_ssim"]),
    metric("ssim with an option", &["ssim=scale=1"]),
    on(metric("ms_ssim by its common name", &["ms_ssim"]), MEDIUM),
    metric("ciede", &["ciede"]),
    metric("psnr_hvs", &["psnr_hvs"]),
    on(metric("cambi with options", &["cambi=full_ref=true"]), MEDIUM),
    metric("several metrics", &["psnr", "vif=debug=true", "float_moment"]),
    metric("xpsnr at 25 fps", &["xpsnr"]),
    on(metric("xpsnr at 60 fps", &["xpsnr"]), FAST),
    on(metric("xpsnr with a frame rate of its own", &["xpsnr=frame_rate=25"]), FAST),
    metric("ssimulacra2", &["ssimulacra2"]),
    on(metric("psnr at an odd size", &["psnr"]), ODD),
    on(metric("psnr with 10 bits", &["psnr"]), DEEP),
    // Which frames.
    Request { name: "first frames", frames: Some(2), ..SMALL },
    Request { name: "every other frame", subsample: Some(2), ..SMALL },
    Request { name: "skipped frames", skip: [1, 1], ..SMALL },
    Request { name: "skipped frames of one side", skip: [1, 0], ..SMALL },
    Request { name: "range by frames", range: Some(["1", "3"]), ..SMALL },
    Request { name: "range by time", range: Some(["0.04s", "0.12s"]), ..SMALL },
    // Raw and encoded video.
    Request { name: "raw", videos: ["raw_ref.yuv", "raw_dis.yuv"], raw: Some(("96x64", "yuv420p")), ..SMALL },
    Request {
        name: "raw and Y4M",
        videos: ["raw_ref.yuv", "small_dis.y4m"],
        raw: Some(("96x64", "yuv420p")),
        ..SMALL
    },
    on(Request { name: "lossless", ..SMALL }, LOSSLESS),
    on(Request { name: "encoded", ..SMALL }, CODED),
    on(model("encoded, auto", "auto"), CODED),
    on(metric("encoded, psnr and ssim", &["psnr", "ssim"]), CODED),
    on(Request { name: "encoded, first frames", frames: Some(5), ..SMALL }, CODED),
    on(Request { name: "encoded, not paired", sync: Some("off"), ..SMALL }, CODED),
    on(Request { name: "encoded against Y4M", ..SMALL }, ["qcif_ref.y4m", "crf30.mp4"]),
    on(
        Request { name: "encoded, scaled to the reference", scale: Some("reference"), ..SMALL },
        ["ref.mkv", "half.mp4"],
    ),
    on(Request { name: "encoded, scaled to a size", scale: Some("96x64"), ..SMALL }, ["ref.mkv", "half.mp4"]),
    on(
        Request { name: "Y4M scaled to the reference", scale: Some("reference"), ..SMALL },
        ["small_ref.y4m", "wide_dis.y4m"],
    ),
    // What is done to the videos beforehand.
    treated("Y4M, cropped", &["crop=64x48+16+8"]),
    treated("Y4M, one cropped to the size of the other", &["crop=ref=64x48+0+0", "crop=dis=64x48+0+0"]),
    treated("Y4M, a region", &["roi=48x40+2+4"]),
    treated("Y4M, with an offset", &["offset=1"]),
    on(treated("xpsnr at a declared rate", &["fps=60"]), ["small_ref.y4m", "small_dis.y4m"]),
    Request {
        name: "raw, cropped",
        videos: ["raw_ref.yuv", "raw_dis.yuv"],
        raw: Some(("96x64", "yuv420p")),
        inputs: &["crop=64x48+16+8"],
        ..SMALL
    },
    on(treated("encoded, cropped", &["crop=128x96+16+8"]), CODED),
    on(treated("encoded, without black bars", &["crop=auto"]), ["bars.mkv", "bars_crf30.mp4"]),
    on(treated("encoded, a region", &["roi=64x64+32+16"]), CODED),
    on(treated("encoded, with an offset", &["offset=-2"]), CODED),
    on(treated("a stream of several", &[]), ["two.mkv#v:0", "two.mkv#v:1"]),
    on(treated("interlaced, deinterlaced", &["deinterlace=both"]), CODED),
    on(treated("film grain off", &["grain=off"]), CODED),
    on(treated("pictures", &[]), ["picture.png", "picture.jpg"]),
    on(treated("numbered pictures", &["fps=25"]), ["frames/%03d.png", "crf30.mp4"]),
    on(treated("a folder of pictures", &["fps=25"]), ["frames", "frames"]),
    // Wrong requests.
    refused(treated("a region outside of the picture", &["roi=200x200+0+0"]), Class::Request),
    refused(treated("a region that is none", &["roi=big"]), Class::Request),
    refused(treated("an unknown side", &["crop=left=8x8+0+0"]), Class::Request),
    refused(
        Request {
            name: "raw video cannot be deinterlaced",
            videos: ["raw_ref.yuv", "raw_dis.yuv"],
            raw: Some(("96x64", "yuv420p")),
            inputs: &["deinterlace=both"],
            ..SMALL
        },
        Class::Request,
    ),
    refused(treated("a crop inside of a chroma sample", &["crop=64x48+1+0"]), Class::Video),
    refused(on(treated("a stream that is not there", &[]), ["two.mkv#v:0", "two.mkv#v:7"]), Class::Video),
    refused(on(treated("pictures with a gap", &[]), ["gap", "gap"]), Class::Video),
    refused(model("unknown model", "v9"), Class::Request),
    refused(model("unknown version", "version=vmaf_v9"), Class::Request),
    refused(model("model without a source", "name=x"), Class::Request),
    refused(model("model with a bad option", "version=vmaf_v0.6.1:bogus"), Class::Request),
    refused(model("broken model file", "broken.json"), Class::Request),
    refused(
        model("overload with a bad value", "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=bogus"),
        Class::Request,
    ),
    refused(metric("unknown metric", &["bogus"]), Class::Request),
    refused(metric("metric with an unknown option", &["psnr=bogus=1"]), Class::Request),
    refused(metric("metric with a bad value", &["psnr=enable_chroma=maybe"]), Class::Request),
    refused(metric("metric without a value", &["psnr=enable_chroma"]), Class::Request),
    refused(Request { name: "range without frames", range: Some(["3", "3"]), ..SMALL }, Class::Request),
    refused(
        Request { name: "a format that contradicts the header", raw: Some(("128x64", "yuv420p")), ..SMALL },
        Class::Request,
    ),
    // Videos that cannot be compared or read.
    refused(
        on(Request { name: "Y4M of two sizes", ..SMALL }, ["small_ref.y4m", "wide_dis.y4m"]),
        Class::NotComparable,
    ),
    refused(
        on(Request { name: "Y4M of two depths", ..SMALL }, ["small_ref.y4m", "deep_dis.y4m"]),
        Class::NotComparable,
    ),
    refused(
        on(Request { name: "two sizes, scaling off", scale: Some("off"), ..SMALL }, ["ref.mkv", "half.mp4"]),
        Class::NotComparable,
    ),
    refused(
        on(Request { name: "a file that is not there", ..SMALL }, ["small_ref.y4m", "none.y4m"]),
        Class::Video,
    ),
    refused(
        on(Request { name: "an encoded file that is not there", ..SMALL }, ["ref.mkv", "none.mp4"]),
        Class::Video,
    ),
    refused(
        on(Request { name: "a Y4M file that is none", ..SMALL }, ["small_ref.y4m", "garbage.y4m"]),
        Class::Video,
    ),
    refused(on(Request { name: "a video that is none", ..SMALL }, ["ref.mkv", "garbage.mp4"]), Class::Video),
    refused(
        on(Request { name: "a header without frames", ..SMALL }, ["header.y4m", "header.y4m"]),
        Class::Video,
    ),
    refused(on(model("a size that the model cannot score", "v1.0.16_3d0h"), TINY), Class::Video),
    refused(on(metric("a size that the metric cannot score", &["ms_ssim"]), TINY), Class::Video),
    refused(
        on(Request { name: "a file that is cut short", ..SMALL }, ["small_ref.y4m", "cut.y4m"]),
        Class::Failed,
    ),
];
