//! Scores on a GPU and on the CPU, and compares every figure.
//!
//! `gpu golden FOLDER [PART PARTS]` scores every case of a golden folder (or every PARTS-th) on both, at 1, 4 and 16
//! threads; with `vulkan` (feature `wgpu`) in front, on the first adapter, cases up to 640x360 at 4 threads; `gpu bench REFERENCE DISTORTED WIDTHxHEIGHT DEPTH [MODEL…]` scores two raw 4:2:0 files and says how fast.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use visus_engine::{
    Backend, Cancel, Device, DevicePolicy, DeviceRequest, EngineError, Gpu, ModelSpec, Outcome, Plan,
    Settings, Silent, run,
};
use visus_metrics::Level;
use visus_video::{Chroma, ChromaRounding, Format, Source};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    #[cfg(feature = "wgpu")]
    if let ["vulkan", "golden", folder, part, parts] = words[..] {
        let adapter = visus_engine::first_adapter(visus_engine::Api::Vulkan).ok_or("no adapter")?;
        let gpu = Gpu::adapter_tested(visus_engine::Api::Vulkan, adapter.info.index, None)?;
        let scope = Scope { part: [part.parse()?, parts.parse()?], most_pixels: 640 * 360, threads: &[4] };
        return golden(&(Arc::new(gpu) as Arc<dyn Device>), Path::new(folder), &scope);
    }
    let device: Arc<dyn Device> = Arc::new(Gpu::cuda(0)?);
    println!("{}", device.id());
    let all = Scope { part: [0, 1], most_pixels: u64::MAX, threads: &[1, 4, 16] };
    match words[..] {
        ["golden", folder] => golden(&device, Path::new(folder), &all),
        ["golden", folder, part, parts] => {
            golden(&device, Path::new(folder), &Scope { part: [part.parse()?, parts.parse()?], ..all })
        }
        ["bench", reference, distorted, size, depth, ref models @ ..] => {
            bench(&device, [reference, distorted], size, depth.parse()?, models)
        }
        _ => Err("usage: gpu golden FOLDER [PART PARTS] | gpu bench REFERENCE DISTORTED WIDTHxHEIGHT DEPTH [MODEL…]".into()),
    }
}

fn on_cpu(threads: usize) -> Settings {
    Settings { threads, ..Settings::default() }
}

fn on_gpu(device: &Arc<dyn Device>, threads: usize) -> Settings {
    let device = Some(DeviceRequest { device: Arc::clone(device), policy: DevicePolicy::Required });
    Settings { threads, backend: Backend { cpu: Level::detect(), device }, ..Settings::default() }
}

/// All columns with the bits of their values.
fn text(outcome: &Outcome) -> String {
    let column = |column: &visus_engine::Column| {
        let values: Vec<String> =
            column.iter().map(|(index, value)| format!("{index}:{:016x}", value.to_bits())).collect();
        format!("{} {}\n", column.name(), values.join(" "))
    };
    outcome.scores.columns().iter().map(column).collect()
}

/// Which cases are scored, and how.
#[derive(Clone, Copy)]
struct Scope {
    /// Every case whose number leaves the first as the rest when it is divided by the second.
    part: [usize; 2],
    /// Larger pictures are left out.
    most_pixels: u64,
    threads: &'static [usize],
}

fn golden(device: &Arc<dyn Device>, folder: &Path, scope: &Scope) -> Result<(), Failure> {
    let [part, parts] = scope.part;
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.join("manifest.json"))?)?;
    let cases = manifest["cases"].as_array().ok_or("no cases")?;
    let (mut equal, mut on_cpu_alone, mut failed) = (0, 0, 0);
    let pixels = |case: &Value| case["width"].as_u64().unwrap_or(0) * case["height"].as_u64().unwrap_or(0);
    let few = cases.iter().filter(|case| pixels(case) <= scope.most_pixels);
    for case in few.skip(part).step_by(parts.max(1)) {
        match golden_case(device, folder, case, scope.threads) {
            Ok(true) => equal += 1,
            Ok(false) => on_cpu_alone += 1,
            Err(error) => {
                failed += 1;
                println!("{}: {error}", case["name"]);
            }
        }
    }
    println!("{equal} cases are equal, {on_cpu_alone} have nothing for the device, {failed} failed");
    if failed > 0 { Err("not all cases are equal".into()) } else { Ok(()) }
}

/// Whether the device had anything to compute.
fn golden_case(
    device: &Arc<dyn Device>,
    folder: &Path,
    case: &Value,
    threads: &[usize],
) -> Result<bool, Failure> {
    let (plan, subsample) = golden_plan(case)?;
    let pictures = ["ref", "dis"].map(|side| unpacked(folder, case, side));
    let [reference, distorted] = [pictures[0].as_ref(), pictures[1].as_ref()];
    let bytes = [reference.map_err(ToString::to_string)?, distorted.map_err(ToString::to_string)?];
    let score = |settings: Settings| -> Result<Result<Outcome, EngineError>, Failure> {
        let [reference, distorted] =
            [golden_source(case, "ref", bytes[0])?, golden_source(case, "dis", bytes[1])?];
        let settings = Settings { subsample, ..settings };
        Ok(run(&plan, reference, distorted, &settings, &Cancel::new(), &mut Silent))
    };
    let cpu = text(&score(on_cpu(4))??);
    for threads in threads {
        let outcome = score(on_gpu(device, *threads))??;
        if outcome.backend.device.is_none() {
            return Ok(false);
        }
        if text(&outcome) != cpu {
            return Err(format!("the scores differ at {threads} threads").into());
        }
        if outcome.backend.device.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn golden_plan(case: &Value) -> Result<(Plan, u64), Failure> {
    let args: Vec<&str> = case["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (mut models, mut features, mut subsample) = (Vec::new(), Vec::new(), 1);
    for pair in args.windows(2) {
        match pair[0] {
            "--model" => models.push(pair[1].parse()?),
            "--feature" => features.push(pair[1].parse()?),
            "--subsample" => subsample = pair[1].parse()?,
            _ => {}
        }
    }
    Ok((Plan::new(&models, &features, true)?, subsample))
}

fn unpacked(folder: &Path, case: &Value, side: &str) -> Result<Vec<u8>, Failure> {
    let file = case[side].as_str().ok_or("no file")?;
    let packed = std::fs::read(folder.join(file))?;
    if !file.ends_with(".zst") {
        return Ok(packed);
    }
    let mut bytes = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(&packed[..])?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn golden_source(case: &Value, side: &str, bytes: &[u8]) -> Result<Box<dyn Source>, Failure> {
    let (file, bytes) = (case[side].as_str().unwrap_or_default(), Cursor::new(bytes.to_vec()));
    if case["container"] == "y4m" {
        return Ok(Box::new(visus_video::y4m_seekable(file, bytes)?));
    }
    let number = |key: &str| case[key].as_u64().unwrap_or(0) as usize;
    let chroma = match case["pix_fmt"].as_str() {
        Some("422") => Chroma::C422,
        Some("444") => Chroma::C444,
        _ => Chroma::C420,
    };
    let format = Format::new(number("width"), number("height"), chroma, number("bitdepth") as u8)?;
    Ok(Box::new(visus_video::raw_seekable(file, bytes, format, ChromaRounding::Auto)?))
}

fn bench(
    device: &Arc<dyn Device>,
    files: [&str; 2],
    size: &str,
    depth: u8,
    models: &[&str],
) -> Result<(), Failure> {
    let (width, height) = size.split_once('x').ok_or("a size is WIDTHxHEIGHT")?;
    let format = Format::new(width.parse()?, height.parse()?, Chroma::C420, depth)?;
    let names = if models.is_empty() { &["vmaf_v0.6.1"] } else { models };
    let models: Vec<ModelSpec> = names.iter().map(|name| ModelSpec::version(name).named(name)).collect();
    let plan = Plan::new(&models, &[], true)?.lean();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let score = |settings: &Settings| -> Result<(Outcome, f64), Failure> {
        let open = |file: &str| visus_video::open(file, Some(format));
        let started = Instant::now();
        let outcome = run(&plan, open(files[0])?, open(files[1])?, settings, &Cancel::new(), &mut Silent)?;
        Ok((outcome, started.elapsed().as_secs_f64()))
    };
    let (cpu, seconds) = score(&on_cpu(threads))?;
    let frames = cpu.frames as f64;
    println!("{format}, {names:?}, {frames} frames");
    println!("  CPU, {threads} threads: {:.0} fps", frames / seconds);
    let mut times = Vec::new();
    for _ in 0..5 {
        let (gpu, seconds) = score(&on_gpu(device, threads))?;
        if text(&gpu) != text(&cpu) {
            return Err("the scores differ".into());
        }
        times.push(seconds);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "  GPU: {:.0} fps (median of 5), best {:.0}; equal scores",
        frames / times[2],
        frames / times[0]
    );
    Ok(())
}
