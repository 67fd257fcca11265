//! The result as a table that a README can hold.

use std::fmt::Write;

use super::machine;
use super::measure::{Cost, Program};
use super::{BenchArgs, Row};

pub fn markdown(rows: &[Row], ours: &Program, peer: Option<&Program>, args: &BenchArgs) -> String {
    let mut text = String::new();
    let peer_name = peer.map_or(String::new(), |peer| format!(" against {} ({})", peer.version, peer.level));
    let plural = if args.threads == 1 { "" } else { "s" };
    let _ = writeln!(
        text,
        "{} ({}){peer_name}, {} thread{plural} on {}, processor time per frame, lowest of {} runs\n",
        ours.version,
        ours.kernels(),
        args.threads,
        machine::name(),
        args.rounds
    );
    text.push_str("| clips | what | visus ms | fps | while scoring | MiB | peer ms | peer MiB | ratio |\n|---|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        let _ = writeln!(text, "{}", line(row));
    }
    text
}

fn line(row: &Row) -> String {
    let frames = row.frames as f64;
    let milliseconds = |cost: &Cost| format!("{:.2}", 1000.0 * cost.cpu / frames);
    let mebibytes = |cost: &Cost| format!("{:.0}", cost.peak_kib as f64 / 1024.0);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    format!(
        "| {} | {} | {} | {:.1} | {} | {} | {} | {} | {} |",
        row.clips,
        row.subject,
        milliseconds(&row.ours),
        frames / row.ours.wall,
        or_dash(row.ours.scoring_fps.map(|fps| format!("{fps:.1}"))),
        mebibytes(&row.ours),
        or_dash(row.peer.as_ref().map(milliseconds)),
        or_dash(row.peer.as_ref().map(mebibytes)),
        or_dash(row.ratio().map(|ratio| format!("{ratio:.2}"))),
    )
}
