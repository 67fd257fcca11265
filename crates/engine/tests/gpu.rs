//! A whole run on a GPU gives the scores of the CPU, and a GPU that fails is an error or replaced by the CPU.
//!
//! The GPU is the emulated driver of `visus-gpu`'s tests, which must be found by the loader: the test compiles it and
//! starts itself again with the library's folder in the environment.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use visus_engine::{
    Backend, Cancel, DevicePolicy, DeviceRequest, Gpu, Gpus, ModelSpec, Outcome, Plan, Settings, Silent, run,
};
use visus_metrics::Level;
use visus_video::synthetic::{Clip, Distortion};
use visus_video::{Chroma, Format};

/// Tells the second process its part.
const ROLE: &str = "VISUS_TEST_GPU_ROLE";

fn compile_driver(folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/tests/driver/driver.cpp");
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let built = Command::new(compiler)
        .args(["-std=c++17", "-O2", "-shared", "-fPIC", "-ffp-contract=off", "-fwrapv"])
        .args(["-U_FORTIFY_SOURCE", "-Wno-unknown-pragmas", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(source)
        .status();
    assert!(built.expect("a C++ compiler (Debian: g++)").success(), "the driver does not compile");
}

/// Runs a test again with the emulated driver.
fn again(folder: &Path, role: &str, how: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "scores_of_a_gpu_are_those_of_the_cpu", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder)
        .env("VISUS_FAKE_CUDA", how)
        .env(ROLE, role)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{role}: {text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{role}: {text}");
}

#[test]
fn scores_of_a_gpu_are_those_of_the_cpu() {
    match std::env::var(ROLE).as_deref() {
        Ok("equal") => equal(),
        Ok("lost") => lost(),
        Ok("failing") => failing(),
        Ok("two") => two(),
        _ => {
            let folder = tempfile::tempdir().unwrap();
            compile_driver(folder.path());
            again(folder.path(), "equal", "");
            again(folder.path(), "lost", "lost");
            again(folder.path(), "failing", "timeout");
            again(folder.path(), "failing", "memory");
            again(folder.path(), "two", "two");
        }
    }
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

/// Several models that share metrics, and one that no device has kernels for.
fn plan() -> Plan {
    let models = ["vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_b_v0.6.3"]
        .map(|version| ModelSpec::version(version).named(version));
    let features = ["psnr", "motion=motion_five_frame_window=true"].map(|feature| feature.parse().unwrap());
    Plan::new(&models, &features, true).unwrap()
}

fn score(depth: u8, frames: u64, settings: &Settings) -> Result<Outcome, visus_engine::EngineError> {
    let format = Format::new(66, 50, Chroma::C420, depth).unwrap();
    let reference = Clip::scene(format, frames, 5);
    let distorted = Clip::scene(format, frames, 5).distorted(Distortion::Blocking { step: 30 });
    run(&plan(), Box::new(reference), Box::new(distorted), settings, &Cancel::new(), &mut Silent)
}

fn on_gpu(policy: DevicePolicy) -> Settings {
    let device = Arc::new(Gpu::cuda(0).unwrap());
    let backend = Backend { cpu: Level::detect(), device: Some(DeviceRequest { device, policy }) };
    Settings { threads: 2, backend, ..Settings::default() }
}

fn equal() {
    from_files();
    equal_v1();
    for (depth, frames) in [(8, 1), (8, 11), (10, 4)] {
        let cpu = score(depth, frames, &Settings { threads: 2, ..Settings::default() }).unwrap();
        let gpu = score(depth, frames, &on_gpu(DevicePolicy::Required)).unwrap();
        assert_eq!(text(&gpu), text(&cpu), "{depth} bit, {frames} frames");
        let metrics = gpu.backend.device_metrics;
        assert!(["vif", "adm", "motion"].iter().all(|name| metrics.iter().any(|metric| metric == name)));
        assert!(metrics.iter().all(|metric| metric != "psnr"), "{metrics:?}");
    }
}

/// Several threads read each file by turns; order, end and errors must be those of one.
fn from_files() {
    let format = Format::new(66, 50, Chroma::C420, 8).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let clip = |seed: u32| Clip::scene(format, 10, seed);
    let paths = ["a.y4m", "b.yuv"].map(|name| folder.path().join(name));
    let frames = |clip: &Clip| (0..10).map(|index| clip.frame(index)).collect::<Vec<_>>();
    let create = |place: usize| std::fs::File::create(&paths[place]).unwrap();
    visus_video::write_y4m(create(0), &format, (25, 1), frames(&clip(5))).unwrap();
    visus_video::write_raw(create(1), visus_video::ChromaRounding::Up, frames(&clip(6))).unwrap();
    let plan = Plan::new(&[ModelSpec::version("vmaf_v0.6.1")], &[], true).unwrap();
    let score = |settings: &Settings| {
        let reference = visus_video::open(&paths[0], None).unwrap();
        let distorted = visus_video::open(&paths[1], Some(format)).unwrap();
        run(&plan, reference, distorted, settings, &Cancel::new(), &mut Silent)
    };
    let many = Settings { threads: 9, ..on_gpu(DevicePolicy::Required) };
    let on_cpu = Settings { threads: 2, ..Settings::default() };
    assert_eq!(text(&score(&many).unwrap()), text(&score(&on_cpu).unwrap()));
    let skipping = |settings: &Settings| Settings { skip_reference: 3, ..settings.clone() };
    assert_eq!(text(&score(&skipping(&many)).unwrap()), text(&score(&skipping(&on_cpu)).unwrap()));
    let whole = std::fs::metadata(&paths[1]).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&paths[1]).unwrap().set_len(whole - 1000).unwrap();
    let error = |settings: &Settings| visus_video::chain(&score(settings).unwrap_err());
    assert_eq!(error(&many), error(&on_cpu));
}

/// Models with CAMBI and SpEED, on pictures that are large enough for them.
fn score_v1(settings: &Settings) -> Outcome {
    let format = Format::new(232, 170, Chroma::C420, 8).unwrap();
    let models = ["vmaf_v1.0.16_3d0h"].map(|version| ModelSpec::version(version).named(version));
    let plan = Plan::new(&models, &[], true).unwrap();
    let reference = Clip::scene(format, 5, 7);
    let distorted = Clip::scene(format, 5, 7).distorted(Distortion::Blocking { step: 24 });
    run(&plan, Box::new(reference), Box::new(distorted), settings, &Cancel::new(), &mut Silent).unwrap()
}

fn equal_v1() {
    let cpu = score_v1(&Settings { threads: 2, ..Settings::default() });
    let gpu = score_v1(&on_gpu(DevicePolicy::Required));
    assert_eq!(text(&gpu), text(&cpu));
    let metrics = gpu.backend.device_metrics;
    assert!(["cambi", "speed_chroma"].iter().all(|name| metrics.iter().any(|metric| metric == name)));
}

/// Memory that is exhausted before the first frame, and a kernel that takes too long.
fn failing() {
    let reason = match std::env::var("VISUS_FAKE_CUDA").as_deref() {
        Ok("memory") => "it is out of memory",
        _ => "a kernel took too long",
    };
    let error = visus_video::chain(&score(8, 3, &on_gpu(DevicePolicy::Required)).unwrap_err());
    assert!(error.contains("cuda:0 (Emulated GPU)") && error.contains(reason), "{error}");
    let cpu = score(8, 3, &Settings { threads: 2, ..Settings::default() }).unwrap();
    let replaced = score(8, 3, &on_gpu(DevicePolicy::Preferred)).unwrap();
    assert_eq!(text(&replaced), text(&cpu));
    let fallback = replaced.backend.fallback.expect("the device failed");
    assert!(fallback.reason.contains(reason), "{fallback:?}");
}

/// Two devices share the pairs of a run.
fn two() {
    let gpus = [0, 1].map(|index| Arc::new(Gpu::cuda(index).unwrap()));
    assert!(Gpu::cuda(2).is_err());
    let device = Arc::new(Gpus::new(gpus.to_vec()));
    let device = Some(DeviceRequest { device, policy: DevicePolicy::Required });
    let settings =
        Settings { threads: 2, backend: Backend { cpu: Level::detect(), device }, ..Settings::default() };
    let cpu = score(8, 23, &Settings { threads: 2, ..Settings::default() }).unwrap();
    let both = score(8, 23, &settings).unwrap();
    assert_eq!(text(&both), text(&cpu));
    let name = both.backend.device.expect("devices").to_string();
    assert_eq!(name, "cuda:0 (Emulated GPU + cuda:1 Emulated GPU)");
}

fn lost() {
    let error = score(8, 5, &on_gpu(DevicePolicy::Required)).unwrap_err();
    let chain = visus_video::chain(&error);
    assert!(chain.contains("cuda:0 (Emulated GPU)") && chain.contains("it was lost"), "{chain}");
    let cpu = score(8, 5, &Settings { threads: 2, ..Settings::default() }).unwrap();
    let replaced = score(8, 5, &on_gpu(DevicePolicy::Preferred)).unwrap();
    assert_eq!(text(&replaced), text(&cpu));
    let fallback = replaced.backend.fallback.expect("the device failed");
    assert!(fallback.frame == 0 && fallback.reason.contains("lost"), "{fallback:?}");
}
