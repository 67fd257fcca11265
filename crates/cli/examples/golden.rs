//! Every golden case through `vmaf` on a backend, many times over: each report must be the CPU's to the byte, the line with
//! the speed aside.
//!
//! `golden FOLDER BACKEND ROUNDS [PART PARTS]` runs every case (or every PARTS-th) at 1, 4 and 16 threads in each round. All
//! runs share one process, so the device is opened once.

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;
use visus_cli::vmaf;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (folder, backend, rounds, part, parts) = match words[..] {
        [folder, backend, rounds] => (folder, backend, rounds.parse()?, 0, 1),
        [folder, backend, rounds, part, parts] => {
            (folder, backend, rounds.parse()?, part.parse()?, parts.parse()?)
        }
        _ => return Err("usage: golden FOLDER BACKEND ROUNDS [PART PARTS]".into()),
    };
    let clips = tempfile::tempdir()?;
    let run = Run { golden: Path::new(folder), clips: clips.path(), backend };
    let manifest: Value = serde_json::from_slice(&unpacked(&run.golden.join("manifest.json"))?)?;
    let cases = manifest["cases"].as_array().ok_or("the manifest lists no cases")?;
    let cases: Vec<&Value> = cases.iter().skip(part).step_by(parts).collect();
    let on_cpu = cases.iter().map(|case| run.report(case, "cpu", "2")).collect::<Result<Vec<_>>>()?;
    let mut different = 0;
    for round in 1..=rounds {
        for (case, expected) in cases.iter().zip(&on_cpu) {
            for threads in ["1", "4", "16"] {
                if run.report(case, run.backend, threads)? != *expected {
                    different += 1;
                    println!("{} at {threads} threads in round {round}: another report", case["name"]);
                }
            }
        }
    }
    println!("{} cases x 3 numbers of threads x {rounds} rounds: {different} reports differ", cases.len());
    Ok(if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Run<'a> {
    golden: &'a Path,
    /// Where clips are unpacked to.
    clips: &'a Path,
    backend: &'a str,
}

impl Run<'_> {
    /// A case's report without the line that holds the speed; an exit code, where there is none.
    fn report(&self, case: &Value, backend: &str, threads: &str) -> Result<String> {
        let out = self.clips.join("report.xml");
        let _ = std::fs::remove_file(&out);
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        let mut words: Vec<String> =
            ["vmaf", "-q", "--backend", backend, "--threads", threads].map(str::to_owned).to_vec();
        words.extend(["-r".to_owned(), path(self.clip(&text("ref"))?)]);
        words.extend(["-d".to_owned(), path(self.clip(&text("dis"))?)]);
        if case["container"] == "yuv" {
            let number = |key: &str| case[key].as_u64().unwrap_or_default().to_string();
            words.extend(["-w".to_owned(), number("width"), "-h".to_owned(), number("height")]);
            words.extend(["-p".to_owned(), text("pix_fmt"), "-b".to_owned(), number("bitdepth")]);
        }
        let given = case["args"].as_array().into_iter().flatten();
        words.extend(given.filter_map(Value::as_str).map(str::to_owned));
        words.extend(["--precision", "max", "--xml", "-o"].map(str::to_owned));
        words.push(path(out.clone()));
        let code = vmaf::main(words.into_iter().map(Into::into));
        match std::fs::read_to_string(&out) {
            Ok(report) => {
                Ok(report.lines().filter(|line| !line.contains("<fyi ")).collect::<Vec<_>>().join("\n"))
            }
            Err(_) => Ok(format!("{code:?}")),
        }
    }

    /// A clip, unpacked.
    fn clip(&self, file: &str) -> Result<PathBuf> {
        let name = Path::new(file).file_name().ok_or("a clip without a name")?;
        let path = self.clips.join(name.to_string_lossy().trim_end_matches(".zst"));
        if !path.exists() {
            std::fs::write(&path, unpacked(&self.golden.join(file))?)?;
        }
        Ok(path)
    }
}

/// The bytes of a file that may be packed.
fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if path.extension().is_none_or(|extension| extension != "zst") {
        return Ok(bytes);
    }
    let mut out = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(&bytes[..])?.read_to_end(&mut out)?;
    Ok(out)
}
