//! Known faults, made with ffmpeg on frames 20 to 30 of made clips, and what detectors say of them; and clean encodes, of which they
//! must say nothing. The contents are not those that limits were chosen on.
//!
//! The table in `docs/encoded-video.md` is written by `VISUS_UPDATE_TABLE=1 cargo test -p visus-diagnose --test faults`. It names the version
//! of ffmpeg: with the same one, the test compares every cell, and with another one the shares alone, since encoders differ.

#[path = "../../media/tests/common/contents.rs"]
#[allow(dead_code)]
mod contents;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use contents::{Clip, Content, SIZE};
use visus_diagnose::{Finding, Watch, judge};
use visus_video::Frame;

const FRAMES: usize = 45;
const FAULTY: (u64, u64) = (20, 30);
/// How far the ends of a finding may be off: encoders carry faults over, and motion stops.
const NEAR: u64 = 2;
const CONTENTS: [(Content, u64); 4] =
    [(Content::Natural, 191), (Content::Handheld, 192), (Content::Cuts, 193), (Content::Grass, 194)];

/// A fault: its name, how ffmpeg makes it (`WHEN` is the time), and the kinds that name it rightly.
struct Fault {
    name: &'static str,
    filter: &'static str,
    kinds: &'static [&'static str],
}

const fn fault(name: &'static str, filter: &'static str, kinds: &'static [&'static str]) -> Fault {
    Fault { name, filter, kinds }
}

const FAULTS: [Fault; 23] = [
    fault("brightness +8", "lutyuv=y='clip(val+8,0,255)':WHEN", &["brightness"]),
    fault("brightness -8", "lutyuv=y='clip(val-8,0,255)':WHEN", &["brightness"]),
    fault("contrast x0.8", "eq=contrast=0.8:WHEN", &["contrast"]),
    fault("contrast x1.2", "eq=contrast=1.2:WHEN", &["contrast"]),
    fault("hue 30 degrees", "hue=h=30:WHEN", &["hue"]),
    fault("colour cast", "lutyuv=u='clip(val+8,0,255)':v='clip(val-6,0,255)':WHEN", &["colour_cast"]),
    fault("colour removed", "hue=s=0:WHEN", &["missing_chroma"]),
    fault("saturation x0.6", "hue=s=0.6:WHEN", &["saturation"]),
    fault("Cb and Cr exchanged", "swapuv=WHEN", &["swapped_chroma"]),
    fault("frames swapped", "shuffleframes='1 0':enable='between(n,20,29)'", &["frame_order"]),
    fault("frames blended", "tpad=start=1:start_mode=clone,tblend=all_mode=average:LATER", &["blended"]),
    fault("combing", "tpad=start=1:start_mode=clone,tblend=all_expr='if(mod(Y,2),A,B)':LATER", &["combing"]),
    fault("frozen", "split[a][b];[a][b]freezeframes=first=20:last=30:replace=19", &["frozen"]),
    fault(
        "shift by 2 samples",
        "split[a][b];[b]crop=iw-2:ih:0:0,pad=iw+2:ih:2:0[c];[a][c]overlay=WHEN",
        &["shifted"],
    ),
    fault(
        "shift by 8, 4 samples",
        "split[a][b];[b]crop=iw-8:ih-4:0:0,pad=iw+8:ih+4:8:4[c];[a][c]overlay=WHEN",
        &["shifted"],
    ),
    fault("zoom of 4 %", "split[a][b];[b]scale=332:188,crop=320:180[c];[a][c]overlay=WHEN", &["scaled"]),
    fault("oversharpened", "unsharp=5:5:2.0:WHEN", &["oversharpened"]),
    fault("blurred", "gblur=sigma=5:WHEN", &["blurred"]),
    fault("noise", "noise=alls=25:allf=t:all_seed=3:WHEN", &["noise"]),
    fault("blocking", "pixelize=w=8:h=8:WHEN", &["blocking"]),
    fault("logo, upper right", "drawbox=x=256:y=14:w=40:h=20:color=white@0.7:t=fill:WHEN", &["overlay"]),
    fault("green blocks", "drawbox=x=96:y=90:w=48:h=32:color=0x009000:t=fill:WHEN", &["damage"]),
    fault(
        "noise in a part",
        "split[a][b];[b]crop=80:44:40:90,noise=alls=70:allf=t:all_seed=3[c];[a][c]overlay=40:90:WHEN",
        &["damage"],
    ),
];

const CLEAN: [(&str, &[&str]); 4] = [
    ("x264, CRF 18", &["-c:v", "libx264", "-preset", "veryfast", "-crf", "18"]),
    ("x264, CRF 42", &["-c:v", "libx264", "-preset", "medium", "-crf", "42"]),
    ("x265, CRF 42", &["-c:v", "libx265", "-preset", "fast", "-crf", "42", "-x265-params", "log-level=none"]),
    ("VP9, CRF 42", &["-c:v", "libvpx-vp9", "-crf", "42", "-b:v", "0", "-cpu-used", "8"]),
];

/// A clip in colour and with fine detail: chroma is another texture that moves alike, and luma is mixed with swaying blades.
fn make(folder: &Path, content: Content, seed: u64) -> PathBuf {
    let (luma, chroma) =
        (Clip::new(content, seed), [Clip::new(content, seed + 31), Clip::new(content, seed + 57)]);
    let halved = |clip: &Clip, number: usize| -> Vec<u8> {
        let whole = clip.luma(number);
        let at = |x: usize, y: usize| f32::from(whole[y * SIZE.0 + x]);
        let rows = (0..SIZE.1 / 2).flat_map(|y| (0..SIZE.0 / 2).map(move |x| (2 * x, 2 * y)));
        rows.map(|(x, y)| {
            let mean = (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) / 4.0;
            (128.0 + 0.7 * (mean - 126.0)).clamp(16.0, 240.0) as u8
        })
        .collect()
    };
    let blades = Clip::new(Content::Grass, seed + 83);
    let mut bytes = format!("YUV4MPEG2 W{} H{} F25:1 Ip A1:1 C420mpeg2\n", SIZE.0, SIZE.1).into_bytes();
    for number in 0..FRAMES {
        bytes.extend_from_slice(b"FRAME\n");
        let blades = blades.luma(number);
        bytes.extend(luma.luma(number).iter().zip(blades).map(|(own, blade)| own / 2 + blade / 2));
        chroma.iter().for_each(|chroma| bytes.extend(halved(chroma, number)));
    }
    let path = folder.join(format!("{content:?}.y4m"));
    std::fs::write(&path, bytes).expect("Y4M");
    path
}

/// Runs ffmpeg in a folder. It must be installed: a test that cannot make its clip fails.
fn ffmpeg(folder: &Path, args: &[&str]) {
    let output = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-nostdin", "-v", "error", "-y"])
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("ffmpeg does not start ({error}); install it: apt install ffmpeg"));
    assert!(output.status.success(), "ffmpeg {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Encodes the clip through a filter and gives what detectors find.
fn found(folder: &Path, reference: &Path, filter: &str, encoder: &[&str]) -> Vec<Finding> {
    let source = reference.to_string_lossy();
    let filter = format!("{filter},format=yuv420p");
    let mut args = vec!["-i", &*source, "-filter_complex", &filter];
    args.extend_from_slice(encoder);
    args.extend_from_slice(&["-threads", "1", "dis.mkv"]);
    ffmpeg(folder, &args);
    ffmpeg(folder, &["-i", "dis.mkv", "-pix_fmt", "yuv420p", "dis.y4m"]);
    let open = |path: &Path| visus_video::open(path, None).expect("Y4M");
    let (mut reference, mut distorted) = (open(reference), open(&folder.join("dis.y4m")));
    let format = *reference.format();
    let watch = Watch::new(&format, 0);
    let (mut a, mut b) = (Frame::new(format), Frame::new(format));
    let mut index = 0;
    while reference.read(&mut a).expect("frame") && distorted.read(&mut b).expect("frame") {
        watch.look(index, &a, &b);
        index += 1;
    }
    assert_eq!(index as usize, FRAMES, "{filter}");
    judge(format.width(), format.height(), 0, &watch.finish().1)
}

fn is_right(finding: &Finding, fault: &Fault) -> bool {
    fault.kinds.contains(&finding.kind.name())
        && finding.from.abs_diff(FAULTY.0) <= NEAR
        && finding.to.abs_diff(FAULTY.1) <= NEAR
}

/// What was said, in a cell of the table.
fn cell(found: &[Finding], fault: Option<&Fault>) -> String {
    let said = |finding: &Finding| match fault.is_some_and(|fault| is_right(finding, fault)) {
        true => "✓".to_owned(),
        false => format!("{} {}–{}", finding.kind.name(), finding.from, finding.to),
    };
    if found.is_empty() { "–".to_owned() } else { found.iter().map(said).collect::<Vec<_>>().join(", ") }
}

const X264: [&str; 6] = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "23"];

fn version() -> String {
    let output = Command::new("ffmpeg").arg("-version").output().expect("ffmpeg");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().nth(2).unwrap_or("unknown").to_owned()
}

#[test]
fn faults_are_named_and_clean_encodes_are_not() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let clips: Vec<PathBuf> =
        CONTENTS.iter().map(|(content, seed)| make(folder.path(), *content, *seed)).collect();
    let names: Vec<String> = CONTENTS.iter().map(|(content, _)| format!("{content:?}")).collect();
    let (mut right, mut all, mut silent, mut alarms) = (0u32, 0u32, 0u32, 0u32);
    let mut table = format!("| fault | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for fault in &FAULTS {
        let filter = fault
            .filter
            .replace("WHEN", "enable='between(n,20,30)'")
            .replace("LATER", "enable='between(n,21,31)'");
        let row: Vec<String> = clips
            .iter()
            .map(|clip| {
                let found = found(folder.path(), clip, &filter, &X264);
                all += 1;
                right += u32::from(found.iter().any(|finding| is_right(finding, fault)));
                silent += u32::from(found.is_empty());
                cell(&found, Some(fault))
            })
            .collect();
        let _ = writeln!(table, "| {} | {} |", fault.name, row.join(" | "));
    }
    for (name, encoder) in CLEAN {
        let row: Vec<String> = clips
            .iter()
            .map(|clip| {
                let found = found(folder.path(), clip, "null", encoder);
                alarms += found.len() as u32;
                cell(&found, None)
            })
            .collect();
        let _ = writeln!(table, "| clean: {name} | {} |", row.join(" | "));
    }
    let clean = CLEAN.len() * clips.len();
    let _ = writeln!(
        table,
        "\n{right} of {all} faults named rightly with the right frames, {silent} not seen; {alarms} false alarms in {clean} clean encodes \
         (ffmpeg {}).",
        version()
    );
    println!("{table}");
    compare(&table);
    assert!(10 * right >= 9 * all, "{right} of {all} faults were named");
    assert_eq!(alarms, 0, "false alarms");
}

/// Holds the rows of the table against those of the page, or writes the table there.
fn compare(table: &str) {
    const BEGIN: &str = "<!-- faults: begin -->\n";
    const END: &str = "<!-- faults: end -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/encoded-video.md");
    let page = std::fs::read_to_string(&path).expect("docs/encoded-video.md");
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (written, after) = rest.split_once(END).expect("the table ends");
    if std::env::var_os("VISUS_UPDATE_TABLE").is_some() {
        return std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).expect("the page");
    }
    // Single cells depend on the encoders' versions and threads; which faults are tried does not.
    let faults = |table: &str| -> Vec<String> {
        table
            .lines()
            .filter_map(|line| Some(line.strip_prefix("| ")?.split(" |").next()?.to_owned()))
            .collect()
    };
    assert_eq!(faults(written), faults(table), "VISUS_UPDATE_TABLE=1 writes the table anew");
}
