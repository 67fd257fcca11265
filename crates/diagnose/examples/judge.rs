//! Judges facts that `facts` wrote: WIDTH HEIGHT FILE…
use visus_diagnose::{FrameFacts, judge};

fn main() {
    let mut args = std::env::args().skip(1);
    let width = args.next().and_then(|a| a.parse().ok()).unwrap_or(480);
    let height = args.next().and_then(|a| a.parse().ok()).unwrap_or(270);
    for file in args {
        let text = std::fs::read_to_string(&file).unwrap();
        let facts: Vec<FrameFacts> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found = judge(width, height, 0, &facts);
        let name = file.rsplit('/').next().unwrap_or_default().trim_end_matches(".json").to_owned();
        let words: Vec<String> = found.iter().map(|f| format!("{} {}-{} ({:.2})", f.kind.name(), f.from, f.to, f.confidence)).collect();
        println!("{name:28} {}", words.join(", "));
    }
}
