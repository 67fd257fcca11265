//! Compares features with libvmaf's golden figures, without the engine: `golden_features DIR METRIC [CASE-SUBSTRING]`.
//! Only cases whose features are given by `--feature METRIC…` or whose models need METRIC are looked at, and of those
//! every expected key whose name the metric (with the case's options) writes.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;
use visus_metrics::{Emit, Level, Pair, Window, registry};
use visus_video::{Chroma, Format, Frame};

struct Columns(Vec<BTreeMap<u64, f64>>, Vec<(String, f64)>);
impl Emit for Columns {
    fn score(&mut self, key: usize, index: u64, value: f64) {
        assert!(self.0[key].insert(index, value).is_none(), "written twice");
    }
    fn aggregate(&mut self, name: &str, value: f64) {
        self.1.push((name.to_owned(), value));
    }
}

fn clip(dir: &str, entry: &Value) -> Vec<Frame> {
    let path = format!("{dir}/{}", entry["file"].as_str().unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    if path.ends_with(".zst") {
        let mut out = Vec::new();
        ruzstd::decoding::StreamingDecoder::new(&bytes[..]).unwrap().read_to_end(&mut out).unwrap();
        bytes = out;
    }
    let chroma = match entry["pix_fmt"].as_str().unwrap() {
        "420" => Chroma::C420,
        "422" => Chroma::C422,
        _ => Chroma::C444,
    };
    let size = |k: &str| entry[k].as_u64().unwrap() as usize;
    let format = Format::new(size("width"), size("height"), chroma, size("bitdepth") as u8).unwrap();
    let y4m = entry["container"] == "y4m";
    let mut at = if y4m { bytes.iter().position(|b| *b == b'\n').unwrap() + 1 } else { 0 };
    let mut frames = Vec::new();
    for _ in 0..size("frames") {
        if y4m {
            at += bytes[at..].iter().position(|b| *b == b'\n').unwrap() + 1;
        }
        let mut frame = Frame::new(format);
        for p in 0..3 {
            let (sx, sy) = if p == 0 { (0, 0) } else { chroma.shifts() };
            let (w, h) = ((format.width() + (1 << sx) - 1) >> sx, (format.height() + (1 << sy) - 1) >> sy);
            let (pw, ph) = format.plane_size(p);
            let (fw, fh) = if y4m { (w, h) } else { (pw, ph) };
            let bps = format.sample_bytes();
            for y in 0..fh {
                let row = &bytes[at..at + fw * bps];
                at += fw * bps;
                if y >= ph {
                    continue;
                }
                if let Some(mut plane) = frame.plane_mut_u8(p) {
                    plane.row_mut(y).copy_from_slice(&row[..pw]);
                }
                if let Some(mut plane) = frame.plane_mut_u16(p) {
                    for (o, b) in plane.row_mut(y).iter_mut().zip(row.chunks_exact(2)) {
                        *o = u16::from_le_bytes([b[0], b[1]]);
                    }
                }
            }
        }
        frames.push(frame);
    }
    frames
}

fn number(v: &Value) -> Option<f64> {
    match v {
        Value::Number(n) => n.as_f64(),
        Value::String(s) => Some(match s.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        }),
        _ => None,
    }
}

/// The option sets that the shipped models use this metric with.
fn options_in_models(info: &'static visus_metrics::Info) -> Vec<Vec<(String, String)>> {
    let mut sets: Vec<Vec<(String, String)>> = Vec::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models")).unwrap() {
        let Ok(text) = std::fs::read_to_string(file.unwrap().path()) else { continue };
        let Ok(model) = serde_json::from_str::<Value>(&text) else { continue };
        let (Some(names), Some(dicts)) = (
            model["model_dict"]["feature_names"].as_array(),
            model["model_dict"]["feature_opts_dicts"].as_array(),
        ) else {
            continue;
        };
        for (name, dict) in names.iter().zip(dicts) {
            let name = name.as_str().unwrap();
            let float = name.replace("VMAF_integer_feature", "VMAF_feature");
            if info.features.contains(&name) || info.features.contains(&float.as_str()) {
                let text = |v: &Value| v.as_str().map_or(v.to_string(), str::to_owned);
                let set: Vec<_> =
                    dict.as_object().unwrap().iter().map(|(k, v)| (k.clone(), text(v))).collect();
                if !set.is_empty() && !sets.contains(&set) && registry::build(info, &set).is_ok() {
                    sets.push(set);
                }
            }
        }
    }
    sets
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (dir, name) = (&args[1], args[2].as_str());
    let filter = args.get(3).map_or("", String::as_str);
    let level = std::env::var("VISUS_CPU").ok().and_then(|v| v.parse().ok()).unwrap_or(Level::detect());
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{dir}/manifest.json")).unwrap()).unwrap();
    let info = registry::by_name(name).expect("metric is registered");
    let (mut compared, mut wrong, mut worst, mut cases) = (0u64, 0u64, 0.0f64, 0);
    let empty = Vec::new();
    let model_sets = options_in_models(info);
    for case in manifest["cases"].as_array().unwrap_or(&empty) {
        let id = case["expected"].as_str().unwrap_or_default();
        if !id.contains(filter) {
            continue;
        }
        let case_args: Vec<&str> =
            case["args"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        if case_args.iter().any(|a| a.contains("skip") || a.contains("frame_cnt") || a.contains("subsample"))
        {
            continue;
        }
        // Every option set this metric is used with in the case; defaults are always tried (models use them).
        let mut sets: Vec<Vec<(String, String)>> = vec![vec![]];
        sets.extend(model_sets.iter().cloned());
        for pair in case_args.windows(2).filter(|p| p[0] == "--feature") {
            let (feature, opts) = pair[1].split_once('=').unwrap_or((pair[1], ""));
            if feature == name {
                let set: Vec<_> = opts
                    .split(':')
                    .filter_map(|o| o.split_once('='))
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
                    .collect();
                // libvmaf keeps the first extractor of equal names: non-default options win over our default try.
                sets.retain(|s| {
                    registry::build(info, s).unwrap().keys()[0]
                        != registry::build(info, &set).unwrap().keys()[0]
                });
                sets.push(set);
            }
        }
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(format!("{dir}/{id}")).unwrap()).unwrap();
        let metrics = expected["metrics"].as_object().unwrap();
        let mut clips = None;
        for set in &sets {
            let metric = registry::build(info, set).unwrap();
            if !metric.keys().iter().any(|k| metrics.contains_key(&k.name)) {
                continue;
            }
            let (reference, distorted) = clips.get_or_insert_with(|| {
                let find = |k: &str| {
                    clip(
                        dir,
                        manifest["clips"]
                            .as_object()
                            .unwrap()
                            .values()
                            .find(|c| c["file"] == case[k])
                            .unwrap(),
                    )
                };
                (find("ref"), find("dis"))
            });
            let format = *reference[0].format();
            let mut extractor = match metric.extractor(&format.into(), level) {
                Ok(e) => e,
                Err(e) => {
                    println!("{id}: {e}");
                    wrong += 1;
                    continue;
                }
            };
            let mut fold = metric.fold(&format);
            let mut columns = Columns(vec![BTreeMap::new(); metric.keys().len()], vec![]);
            let pair = |i: usize| Pair { reference: &reference[i], distorted: &distorted[i] };
            for i in 0..reference.len().min(distorted.len()) {
                let window = Window {
                    index: i as u64,
                    current: pair(i),
                    previous: i.checked_sub(1).map(pair),
                    before_previous: i.checked_sub(2).map(pair),
                };
                let mut raw = vec![0.0; metric.raw_len()];
                extractor.extract(&window, &mut raw).unwrap();
                fold.push(i as u64, &raw, &mut columns);
            }
            fold.finish(&mut columns);
            cases += 1;
            for (key, column) in metric.keys().iter().zip(&columns.0) {
                let Some(want) = metrics.get(&key.name).and_then(|m| m["frames"].as_array()) else {
                    continue;
                };
                for (i, want) in want.iter().enumerate() {
                    let (want, got) = (number(want), column.get(&(i as u64)).copied());
                    compared += 1;
                    let same = match (want, got) {
                        (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
                        (None, None) => true,
                        _ => false,
                    };
                    if !same {
                        wrong += 1;
                        let rel = ((want.unwrap_or(0.0) - got.unwrap_or(0.0)) / want.unwrap_or(1.0)).abs();
                        worst = worst.max(rel);
                        if wrong < 40 {
                            println!("{id} {} frame {i}: want {want:?} got {got:?} ({rel:.2e})", key.name);
                        }
                    }
                }
            }
        }
    }
    println!(
        "{name} at {level}: {cases} runs, {compared} values, {wrong} differ, worst relative {worst:.3e}"
    );
}
