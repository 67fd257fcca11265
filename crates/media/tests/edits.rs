//! Pairing on many contents with known edits: for every scored pair, is it the right one; and if not, does the report say so?
//!
//! A part of all cases runs every time. `VISUS_SYNC_CASES=all cargo test -p visus-media --test edits -- --nocapture` runs all of
//! them (660 encodes) and prints the table of `docs/encoded-video.md`; `VISUS_SYNC_SEED` makes other contents. That takes half an
//! hour: `VISUS_SYNC_SLICE=2/10` runs the second tenth of the contents, `VISUS_SYNC_CRF=42` one quality, and
//! `VISUS_SYNC_KEEP=FOLDER` keeps the videos for the next run.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::contents::{ALL, Clip, Content, SIZE};
use common::edits::{self, Edit, Shows};
use visus_media::{Findings, Input, PairOptions, Verdict, open_pair};
use visus_video::{Frame, Source};

const FRAMES: usize = 140;

/// Pictures of one content, each made once.
struct Studio {
    clip: Clip,
    other: Clip,
    made: HashMap<(bool, usize), Vec<u8>>,
}

impl Studio {
    fn new(place: usize, seed: u64) -> Self {
        let clip = Clip::new(ALL[place], seed + place as u64);
        let other = Clip::new(ALL[(place + 3) % ALL.len()], seed + 77);
        Self { clip, other, made: HashMap::new() }
    }

    fn one(&mut self, foreign: bool, frame: usize) -> &[u8] {
        let clip = if foreign { &self.other } else { &self.clip };
        self.made.entry((foreign, frame)).or_insert_with(|| clip.luma(frame))
    }

    fn luma(&mut self, shows: Shows) -> Vec<u8> {
        let two = |studio: &mut Self, a, b| (studio.one(false, a).to_vec(), studio.one(false, b).to_vec());
        match shows {
            Shows::Source(frame) => self.one(false, frame).to_vec(),
            Shows::Other(frame) => self.one(true, frame).to_vec(),
            Shows::Mix(a, b) => {
                let (a, b) = two(self, a, b);
                let mean = |(a, b): (&u8, &u8)| (u16::from(*a) + u16::from(*b)).div_ceil(2) as u8;
                a.iter().zip(&b).map(mean).collect()
            }
            Shows::Fields(a, b) => {
                let (a, b) = two(self, a, b);
                (0..a.len()).map(|at| if (at / SIZE.0).is_multiple_of(2) { a[at] } else { b[at] }).collect()
            }
        }
    }

    fn same(&mut self, a: Shows, b: Shows) -> bool {
        a == b || self.luma(a) == self.luma(b)
    }

    /// Raw pictures through ffmpeg into a file.
    fn write(&mut self, frames: &[Shows], rate: u32, args: &[&str], to: &Path) {
        let (size, rate) = (format!("{}x{}", SIZE.0, SIZE.1), rate.to_string());
        let input = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", &size, "-r", &rate, "-i", "pipe:0"];
        let mut child = Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-y"])
            .args(input)
            .args(args)
            .arg(to)
            .stdin(Stdio::piped())
            .spawn()
            .expect("ffmpeg is installed");
        let mut pipe = child.stdin.take().expect("a pipe");
        for shows in frames {
            pipe.write_all(&self.luma(*shows)).expect("ffmpeg reads");
            pipe.write_all(&[128; SIZE.0 * SIZE.1 / 2]).expect("ffmpeg reads");
        }
        drop(pipe);
        assert!(child.wait().expect("ffmpeg ends").success());
    }
}

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Right,
    /// Not right, and the report says that it may not be.
    Flagged,
    /// Less than 2 % of the pairs are not right.
    Nearly,
    Silent,
}

struct Seen {
    findings: Findings,
    flagged: bool,
}

/// Reads all pairs.
fn pair_up(reference: &Path, distorted: &Path) -> Seen {
    let inputs = [reference, distorted].map(|path| Input::detect(path, None));
    let mut pair = open_pair(inputs, &PairOptions::default()).expect("a pair");
    let mut frames = [Frame::new(*pair.reference.format()), Frame::new(*pair.distorted.format())];
    let read = |source: &mut Box<dyn Source>, frame: &mut Frame| source.read(frame).expect("a frame");
    while read(&mut pair.reference, &mut frames[0]) && read(&mut pair.distorted, &mut frames[1]) {}
    let (findings, comparability) = pair.control.finish();
    const OF_PAIRING: [&str; 6] = ["ambiguous", "blended", "content", "doubtful", "recheck", "unlike"];
    let flagged = comparability
        .reasons
        .iter()
        .any(|reason| reason.weight != Verdict::Yes && OF_PAIRING.contains(&&*reason.code));
    Seen { findings, flagged }
}

fn judge(studio: &mut Studio, edit: &Edit, seen: &Seen) -> Outcome {
    let pairs = &seen.findings.shown;
    let mut wrong = 0;
    for (reference, distorted) in pairs {
        let (a, b) = (edit.reference[*reference as usize], edit.distorted[*distorted as usize]);
        // A picture that stands still is scored where it is shown.
        let right = if edit.name == "freeze" { reference == distorted } else { studio.same(a, b) };
        wrong += usize::from(!right);
    }
    let paired: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
    for (frame, shows) in edit.distorted.iter().enumerate() {
        let has_like = edit.reference.contains(shows);
        let scored = || pairs.iter().any(|pair| edit.reference[pair.0 as usize] == *shows);
        if has_like && paired.binary_search(&(frame as u64)).is_err() && !scored() {
            // Repeated pictures are scored once, whichever frame of the reference stands for them.
            let same = pairs.iter().any(|pair| studio.same(edit.reference[pair.0 as usize], *shows));
            wrong += usize::from(!same);
        }
    }
    match (wrong, seen.flagged) {
        (0, _) => Outcome::Right,
        (_, true) => Outcome::Flagged,
        (wrong, false) if wrong * 50 < pairs.len() => Outcome::Nearly,
        _ => Outcome::Silent,
    }
}

/// One case: an edit of a content, coded as well or as coarsely.
fn case(
    studio: &mut Studio,
    folder: &Path,
    (label, number, edit): (&str, usize, &Edit),
    crf: u32,
) -> (Outcome, Seen) {
    let kept = std::env::var_os("VISUS_SYNC_KEEP").map(PathBuf::from);
    let (reference, distorted) = match &kept {
        Some(kept) => {
            let start = format!("{:?}", edit.reference[0]).replace(['(', ')'], "");
            let reference = format!("{label}-{start}-{}-{}.y4m", edit.reference.len(), edit.rates[0]);
            (kept.join(reference), kept.join(format!("{label}-{number}-{crf}.mp4")))
        }
        None => (folder.join("reference.y4m"), folder.join("distorted.mp4")),
    };
    if kept.is_none() || !reference.exists() {
        studio.write(&edit.reference, edit.rates[0], &[], &reference);
    }
    if kept.is_none() || !distorted.exists() {
        encode(studio, edit, crf, &distorted);
    }
    let seen = pair_up(&reference, &distorted);
    (judge(studio, edit, &seen), seen)
}

/// The edited video as x264 writes it.
fn encode(studio: &mut Studio, edit: &Edit, crf: u32, distorted: &Path) {
    let crf = crf.to_string();
    let mut args = vec!["-c:v", "libx264", "-preset", "medium", "-threads", "2", "-crf", &crf];
    let zones =
        edit.coarse.as_ref().map(|(range, q)| format!("zones={},{},q={q}", range.start, range.end - 1));
    if let Some(zones) = &zones {
        args.extend(["-x264-params", zones]);
    }
    studio.write(&edit.distorted, edit.rates[1], &args, distorted);
}

/// Cases that run every time: unedited ones of every content, and of the others a few, in turn.
fn is_wanted(content: usize, edit: usize, name: &str, crf: u32) -> bool {
    match std::env::var("VISUS_SYNC_CASES").as_deref() {
        Ok("all") => true,
        Ok(part) => name.contains(part),
        Err(_) if name == "stretch at 51" => crf == 23 && edit.is_multiple_of(2),
        Err(_) if name == "nothing" => crf == 42,
        Err(_) => crf == 23 && (edit + 10 - content).is_multiple_of(10),
    }
}

/// Whether a content belongs to the slice that is asked for, as `2/10`.
fn in_slice(place: usize) -> bool {
    let Ok(text) = std::env::var("VISUS_SYNC_SLICE") else { return true };
    let (part, parts) = text.split_once('/').expect("a slice such as 2/10");
    let [part, parts] = [part, parts].map(|text| text.parse::<usize>().expect("a number"));
    place % parts + 1 == part
}

#[derive(Default)]
struct Tally {
    cases: BTreeMap<(String, u32), [u32; 4]>,
    /// Without those that no pairing can get right.
    sums: BTreeMap<u32, [u32; 4]>,
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, content: Content, edit: &Edit, crf: u32, (outcome, seen): &(Outcome, Seen)) {
        self.cases.entry((edit.name.to_owned(), crf)).or_default()[*outcome as usize] += 1;
        // Two frames in one picture have no right counterpart: to say so is all that can be done.
        let mixed = edit.distorted.iter().any(|shows| matches!(shows, Shows::Mix(..) | Shows::Fields(..)));
        let counted = if mixed && *outcome == Outcome::Flagged { Outcome::Right } else { *outcome };
        self.sums.entry(crf).or_default()[counted as usize] += 1;
        if counted != Outcome::Right {
            let words = seen.findings.words();
            self.faults.push(format!("{outcome:?}: {content:?}, {}, CRF {crf}: {words}", edit.name));
        }
    }

    fn print(&self) {
        println!(
            "| edit | CRF | right | flagged | nearly right | silently wrong |\n|---|---|---|---|---|---|"
        );
        for ((name, crf), [right, flagged, nearly, silent]) in &self.cases {
            println!("| {name} | {crf} | {right} | {flagged} | {nearly} | {silent} |");
        }
        println!("{:?}\n{}", self.sums, self.faults.join("\n"));
    }

    /// At least `least` of a hundred are right, and at most one of a hundred is wrong without a word.
    fn check(&self, crf: u32, least: u32) {
        let Some(sums @ [right, _, _, silent]) = self.sums.get(&crf) else { return };
        let all: u32 = sums.iter().sum();
        assert!(right * 100 >= all * least, "CRF {crf}: {sums:?}\n{}", self.faults.join("\n"));
        assert!(silent * 100 <= all, "CRF {crf}: {sums:?}\n{}", self.faults.join("\n"));
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_path_buf();
    (folder, path)
}

#[test]
fn right_pairs_or_a_warning() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("VISUS_SYNC_SEED").unwrap_or(4711);
    let only = number("VISUS_SYNC_CRF");
    let (_kept, folder) = folder();
    let mut tally = Tally::default();
    for (place, content) in ALL.into_iter().enumerate().filter(|(place, _)| in_slice(*place)) {
        let mut studio = Studio::new(place, seed);
        for (number, edit) in edits::all(FRAMES, seed + 31 * place as u64).iter().enumerate() {
            for crf in [23, 42].into_iter().filter(|crf| only.is_none_or(|only| only == u64::from(*crf))) {
                if is_wanted(place, number, edit.name, crf) {
                    let label = format!("{seed}-{place}");
                    let done = case(&mut studio, &folder, (&label, number, edit), crf);
                    let unedited = edit.name == "nothing" || edit.coarse.is_some();
                    if unedited {
                        let found = &done.1.findings;
                        let plain = found.pairs == FRAMES as u64 && found.missing.frames == 0;
                        let words = found.words();
                        assert!(plain && done.0 == Outcome::Right, "{content:?}, {}: {words}", edit.name);
                    }
                    tally.add(content, edit, crf, &done);
                }
            }
        }
    }
    tally.print();
    tally.check(23, 97);
    tally.check(42, 85);
}
