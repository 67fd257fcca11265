//! Small files and arguments that stand for much: each is refused with its limit, or done within the budget.

use serde_json::json;

use super::served::{Served, sparse};

/// A field of Protocol Buffers that holds bytes.
fn bytes(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn whole(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

/// A model with one input of this shape (0 is open), tensors, and one node that hands the input on.
fn onnx(shape: &[u64], tensors: &[Vec<u8>]) -> Vec<u8> {
    let size = |size: &u64| bytes(1, &if *size == 0 { bytes(2, b"N") } else { whole(1, *size) });
    let sizes: Vec<u8> = shape.iter().flat_map(size).collect();
    let kind = bytes(1, &[whole(1, 1), bytes(2, &sizes)].concat());
    let info = |name: &[u8]| [bytes(1, name), bytes(2, &kind)].concat();
    let node = [bytes(1, b"x"), bytes(2, b"y"), bytes(4, b"Identity")].concat();
    let mut graph =
        [bytes(1, &node), bytes(2, b"g"), bytes(11, &info(b"x")), bytes(12, &info(b"y"))].concat();
    tensors.iter().for_each(|tensor| graph.extend(bytes(5, tensor)));
    [whole(1, 8), bytes(8, &whole(2, 13)), bytes(7, &graph)].concat()
}

/// A tensor that is kept in another file.
fn outside(name: &str, floats: u64, location: &str) -> Vec<u8> {
    let entry = [bytes(1, b"location"), bytes(2, location.as_bytes())].concat();
    [whole(1, floats), whole(2, 1), bytes(8, name.as_bytes()), bytes(13, &entry), whole(14, 1)].concat()
}

/// Two small Y4M clips.
fn clips(served: &Served) -> serde_json::Value {
    for name in ["ref.y4m", "dis.y4m"] {
        let frame = [b"FRAME\n".as_slice(), &[100; 64 * 64 * 3 / 2]].concat();
        let film = [b"YUV4MPEG2 W64 H64 F25:1 C420\n".as_slice(), &frame, &frame].concat();
        std::fs::write(served.path(name), film).unwrap();
    }
    json!({ "ref": served.path("ref.y4m"), "dis": served.path("dis.y4m") })
}

fn with(mut base: serde_json::Value, more: serde_json::Value) -> serde_json::Value {
    let (serde_json::Value::Object(base_map), serde_json::Value::Object(more)) = (&mut base, more) else {
        unreachable!("both are objects")
    };
    base_map.extend(more);
    base
}

/// A call that must be refused with these words.
struct Bomb {
    name: &'static str,
    tool: &'static str,
    arguments: serde_json::Value,
    words: &'static [&'static str],
}

fn models(served: &Served, pair: &serde_json::Value) -> Vec<Bomb> {
    std::fs::write(served.path("huge.onnx"), onnx(&[0, 1, 200_000, 200_000], &[])).unwrap();
    sparse(&served.path("shared.bin"), 100 << 20);
    let tensors: Vec<Vec<u8>> =
        (0..100).map(|place| outside(&format!("w{place}"), 25 << 20, "shared.bin")).collect();
    std::fs::write(served.path("hundred.onnx"), onnx(&[0, 6], &tensors)).unwrap();
    nix_fifo(&served.path("pipe.bin"));
    std::fs::write(served.path("waits.onnx"), onnx(&[0, 6], &[outside("w", 1, "pipe.bin")])).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", served.path("link.bin")).unwrap();
    std::fs::write(served.path("leads.onnx"), onnx(&[0, 6], &[outside("w", 1, "link.bin")])).unwrap();
    std::fs::write(served.path("large.json"), format!("[{}0]", "0,".repeat(31 << 20))).unwrap();
    let tiny = |name: &str| {
        with(pair.clone(), json!({ "tiny_model": served.path(name), "tiny_resize": "bilinear" }))
    };
    vec![
        Bomb {
            name: "huge input",
            tool: "vmaf_score",
            arguments: tiny("huge.onnx"),
            words: &["200000", "pixels"],
        },
        Bomb {
            name: "shared tensors",
            tool: "vmaf_score",
            arguments: tiny("hundred.onnx"),
            words: &["shared.bin", "bytes that are allowed"],
        },
        Bomb { name: "a pipe", tool: "vmaf_score", arguments: tiny("waits.onnx"), words: &["regular file"] },
        Bomb { name: "a link", tool: "vmaf_score", arguments: tiny("leads.onnx"), words: &["own folder"] },
        Bomb {
            name: "a long model",
            tool: "describe_model",
            arguments: json!({ "name": served.path("large.json") }),
            words: &["4194304"],
        },
    ]
}

/// The head of a PNG of 16000x16000 pixels of 48 bits, with hardly any data behind it.
const HUGE_PICTURE: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x3e\x80\0\0\x3e\x80\x10\x02\0\0\0\x9e\x8c\x94\xca\
\0\0\0\x0cIDAT\x78\x9c\x63\x60\xa0\x3d\x00\x00\x00\x64\x00\x01\x86\x64\x3c\x35";

fn nix_fifo(path: &std::path::Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn tables_and_pictures(served: &Served, pair: &serde_json::Value) -> Vec<Bomb> {
    sparse(&served.path("zeros.csv"), 5 << 30);
    std::fs::write(served.path("key.csv"), format!("key,mos\n{},1\n", "k".repeat(100_000))).unwrap();
    std::fs::write(served.path("small.onnx"), onnx(&[0, 6], &[])).unwrap();
    let eval = |table: &str| json!({ "model": served.path("small.onnx"), "features": served.path(table) });
    for name in ["a.yuv", "b.yuv"] {
        sparse(&served.path(name), 32_768 * 32_768 * 3 / 2);
    }
    let raw = json!({ "ref": served.path("a.yuv"), "dis": served.path("b.yuv"), "width": 32_768, "height": 32_768,
        "pixfmt": "420", "bitdepth": 8 });
    std::fs::write(served.path("huge.png"), HUGE_PICTURE).unwrap();
    let huge_picture = json!({ "ref": served.path("huge.png"), "dis": served.path("huge.png") });
    let threads = json!({ "threads": 64, "feature": ["cambi", "float_vif", "float_adm", "float_motion"] });
    vec![
        Bomb {
            name: "a sparse table",
            tool: "eval_model_on_split",
            arguments: eval("zeros.csv"),
            words: &["row"],
        },
        Bomb {
            name: "a long key",
            tool: "eval_model_on_split",
            arguments: eval("key.csv"),
            words: &["100000", "4096"],
        },
        Bomb {
            name: "a huge picture",
            tool: "vmaf_score",
            arguments: huge_picture.clone(),
            words: &["16000x16000", "134217728 pixels"],
        },
        Bomb {
            name: "a huge source",
            tool: "run_compare",
            arguments: json!({ "src": served.path("huge.png"), "encoders": "libx264" }),
            words: &["16000x16000", "134217728 pixels"],
        },
        Bomb {
            name: "a huge scale",
            tool: "vmaf_score",
            arguments: with(pair.clone(), json!({ "scale": "32768x32768" })),
            words: &["32768x32768", "memory", "limit"],
        },
        Bomb { name: "huge frames", tool: "vmaf_score", arguments: raw, words: &["memory", "MiB", "limit"] },
        Bomb {
            name: "an argument of megabytes",
            tool: "vmaf_score",
            arguments: with(pair.clone(), json!({ "model": "x".repeat(3 << 20) })),
            words: &["8192 bytes"],
        },
        Bomb {
            name: "threads",
            tool: "vmaf_score",
            arguments: with(
                json!({ "ref": served.path("a.yuv"), "dis": served.path("b.yuv"), "width": 7680, "height": 4320,
                    "pixfmt": "420", "bitdepth": 8, "frame_cnt": 1 }),
                threads,
            ),
            words: &[],
        },
    ]
}

#[test]
fn bombs_are_refused_and_the_server_serves_on() {
    let served = Served::start(2048, &[]);
    let pair = clips(&served);
    let score = |served: &Served| {
        served.call("vmaf_score", pair.clone()).map(|answer| answer["pooled_metrics"].clone())
    };
    let before = score(&served).unwrap();
    let bombs = models(&served, &pair).into_iter().chain(tables_and_pictures(&served, &pair));
    for Bomb { name, tool, arguments, words } in bombs {
        let answer = served.call(tool, arguments);
        match &answer {
            Err(text) => {
                assert!(words.iter().all(|word| text.contains(word)), "{name}: {text}");
                assert!(text.len() < 10_000, "{name}: {} bytes", text.len());
            }
            Ok(answer) => assert!(words.is_empty(), "{name} was not refused: {answer}"),
        }
        served.is_well(name);
    }
    assert_eq!(score(&served).unwrap(), before);
    // Half of the address space is the budget; a tenth more is for everything that is not counted.
    assert!(served.peak() < 1024 + 103, "{} MiB", served.peak());
}

#[test]
fn failed_calls_are_kept_in_little_memory() {
    let served = Served::start(2048, &[]);
    let long = "x".repeat(3_900_000);
    for _ in 0..40 {
        let refused = served.call("run_compare", json!({ "src": long, "encoders": "libx264" })).unwrap_err();
        assert!(refused.contains("8192 bytes") && refused.len() < 4096, "{} bytes", refused.len());
    }
    let jobs = served.call("list_jobs", json!({ "detail": "full" })).unwrap();
    assert!(jobs.to_string().len() < 100_000);
    assert!(served.peak() < 400, "{} MiB", served.peak());
    served.is_well("failed calls");
}

#[test]
fn jobs_end_at_their_time_limit() {
    let served = Served::start_with(4096, &[], &[("VISUS_JOB_TIMEOUT_S", "2")]);
    let frame = [b"FRAME\n".as_slice(), &[100; 1280 * 720 * 3 / 2]].concat();
    let film = [b"YUV4MPEG2 W1280 H720 F25:1 C420\n".as_slice(), &frame.repeat(60)].concat();
    std::fs::write(served.path("film.y4m"), film).unwrap();
    let slow = json!({ "src": served.path("film.y4m"), "encoders": "libx265", "target_vmaf": 95 });
    let ended = served.call("run_compare", slow).unwrap_err();
    assert!(ended.contains("2.0 s") && ended.contains("VISUS_JOB_TIMEOUT_S"), "{ended}");
    served.is_well("a job without an end");
}

#[test]
fn silent_connections_keep_nobody_out() {
    let served = Served::start(4096, &[]);
    let silent: Vec<_> =
        (0..1100).filter_map(|_| std::net::TcpStream::connect(&served.address).ok()).collect();
    assert!(silent.len() > 1000, "{}", silent.len());
    for _ in 0..5 {
        served.is_well("silent connections");
    }
    assert!(served.call("list_models", json!({})).is_ok());
}
