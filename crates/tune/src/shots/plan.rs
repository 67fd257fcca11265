//! Plans as texts: a shell script, a table, and zones for x264 and x265.

use super::tune::{ShotPlan, segment_name};

/// A script that makes the segments and joins them.
pub fn shell(plan: &ShotPlan) -> String {
    let mut text = format!(
        "#!/bin/sh\n# {} shots, {} at VMAF {}\nset -eu\n",
        plan.shots.len(),
        plan.encoder,
        plan.target_vmaf
    );
    for command in &plan.segment_commands {
        text.push_str(&line(command));
    }
    let names = (0..plan.segment_commands.len()).map(|index| format!("\"file '{}'\"", segment_name(index)));
    text.push_str(&format!("printf '%s\\n' {} > concat.txt\n", names.collect::<Vec<_>>().join(" ")));
    text.push_str(&line(&plan.concat_command));
    text
}

fn line(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    format!("{}\n", words.join(" "))
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A row per shot.
pub fn csv(plan: &ShotPlan) -> String {
    let mut text =
        "shot,start_frame,end_frame,crf,predicted_vmaf,bitrate_kbps,begins_with,ok,error\n".to_owned();
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    for (index, row) in plan.shots.iter().enumerate() {
        let error =
            row.error.as_deref().map_or(String::new(), |error| format!("\"{}\"", error.replace('"', "\"\"")));
        text.push_str(&format!(
            "{index},{},{},{},{},{},{},{},{error}\n",
            row.start_frame,
            row.end_frame,
            row.crf,
            number(row.predicted_vmaf),
            number(row.bitrate_kbps),
            row.begins_with,
            row.ok,
        ));
    }
    text
}

/// `zones=` for x264: a CRF for each stretch, end inclusive.
pub fn x264_zones(plan: &ShotPlan) -> String {
    let zones = plan.shots.iter().filter(|row| row.crf >= 0);
    let zone = |row: &super::ShotRow| format!("{},{},crf={}", row.start_frame, row.end_frame - 1, row.crf);
    zones.map(zone).collect::<Vec<_>>().join("/")
}

/// The base CRF and `zones=` for x265, which knows only a factor on the bit rate: six CRF steps double it.
pub fn x265_zones(plan: &ShotPlan) -> (i32, String) {
    let rows: Vec<_> = plan.shots.iter().filter(|row| row.crf >= 0).collect();
    let frames: u64 = rows.iter().map(|row| row.end_frame - row.start_frame).sum();
    let sum: f64 = rows.iter().map(|row| f64::from(row.crf) * (row.end_frame - row.start_frame) as f64).sum();
    let base = (sum / frames.max(1) as f64).round() as i32;
    let zone = |row: &&super::ShotRow| {
        let factor = 2f64.powf(f64::from(base - row.crf) / 6.0);
        format!("{},{},b={factor:.3}", row.start_frame, row.end_frame - 1)
    };
    (base, rows.iter().map(zone).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::tune::ShotRow;
    use super::*;

    fn plan() -> ShotPlan {
        let row = |start_frame, end_frame, crf| ShotRow {
            start_frame,
            end_frame,
            crf,
            predicted_vmaf: Some(92.25),
            bitrate_kbps: Some(1000.0),
            begins_with: "cut",
            ok: true,
            error: None,
            contradictions: Vec::new(),
            from_cache: false,
        };
        ShotPlan {
            src: "a b.mp4".into(),
            encoder: "libx264".into(),
            encoder_version: String::new(),
            framerate: 25.0,
            predicate: "bisect",
            target_vmaf: 92.0,
            metric: "mean",
            model: "m".into(),
            shots: vec![row(0, 100, 20), row(100, 200, 26)],
            flashes: Vec::new(),
            segment_commands: vec![
                vec!["ffmpeg".into(), "-i".into(), "file:a b's.mp4".into()],
                vec!["ffmpeg".into()],
            ],
            concat_command: vec!["ffmpeg".into(), "-f".into(), "concat".into()],
            output: None,
            output_error: None,
            shots_from_cache: 0,
        }
    }

    #[test]
    fn zones_for_both() {
        assert_eq!(x264_zones(&plan()), "0,99,crf=20/100,199,crf=26");
        assert_eq!(x265_zones(&plan()), (23, "0,99,b=1.414/100,199,b=0.707".to_owned()));
    }

    #[test]
    fn scripts_and_tables() {
        assert_eq!(
            shell(&plan()),
            "#!/bin/sh\n# 2 shots, libx264 at VMAF 92\nset -eu\nffmpeg -i 'file:a b'\\''s.mp4'\nffmpeg\n\
             printf '%s\\n' \"file 'segment_0000.mp4'\" \"file 'segment_0001.mp4'\" > concat.txt\nffmpeg -f concat\n"
        );
        let csv = csv(&plan());
        assert_eq!(csv.lines().nth(2), Some("1,100,200,26,92.2500,1000.0000,cut,true,"));
    }
}
