//! The files of a ladder: every rendition encoded whole and fragmented, with playlists and a description beside them.

#![expect(
    clippy::disallowed_methods,
    reason = "works in folders of its own, or on files that the command line named"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Pieces, dash, hls, stem};
use crate::TuneError;
use crate::event::{Event, Sink};
use crate::find::place;
use crate::lab::{Bench, Lab};
use crate::ladder::{Ladder, LadderSettings, Rendition, with_key_frames};
use crate::mp4;
use crate::score::Judge;
use crate::source::{Source, Window};
use crate::tools::{Files, file_url};
use crate::workspace::write_atomically;

/// What was written.
#[derive(Clone, Debug)]
pub struct Package {
    pub folder: PathBuf,
    pub files: Vec<String>,
    /// The renditions as they came out: rates, scores and codecs of the whole encodes.
    pub renditions: Vec<Rendition>,
}

/// Encodes every rendition whole, measures it, and writes fragmented files, `master.m3u8` and `manifest.mpd` into a folder.
pub fn package(
    lab: &Lab,
    source: &Source,
    judge: &Judge,
    settings: &LadderSettings,
    ladder: &Ladder,
    folder: &Path,
    sink: Sink<'_>,
) -> Result<Package, TuneError> {
    std::fs::create_dir_all(folder).map_err(|error| TuneError::io(folder, error))?;
    let choices = with_key_frames(&settings.choices, source);
    let (mut renditions, mut all_pieces, mut files) = (Vec::new(), Vec::<Pieces>::new(), Vec::new());
    for (index, wanted) in ladder.renditions.iter().enumerate() {
        let name = format!("package {}x{}", wanted.width, wanted.height);
        sink(Event::Part { name: name.clone(), index, of: ladder.renditions.len() });
        let size = Some((wanted.width, wanted.height));
        let (recipe, available) = lab.recipe(settings.adapter, source, &choices, size)?;
        let bench = Bench { source, recipe, available, judge, label: name };
        let measure = lab.measure(&bench, Window::WHOLE, wanted.crf, sink)?;
        let made = lab.encode(&bench, Window::WHOLE, wanted.crf, sink)?;
        let fragmented = fragment(lab, &made.path)?;
        let rendition = Rendition {
            bitrate_kbps: measure.kbps(),
            bandwidth_bps: measure.peak_bps.max(measure.kbps() * 1000.0).ceil() as u64,
            vmaf: settings.pooling.pool(&measure.scores),
            codecs: measure.codecs.clone(),
            ..wanted.clone()
        };
        let pieces = mp4::fragments(&fragmented)?;
        let file = format!("{}.mp4", stem(&rendition));
        place(&fragmented, &folder.join(&file))?;
        let playlist = format!("{}.m3u8", stem(&rendition));
        write_atomically(&folder.join(&playlist), &hls::media(&file, &pieces))?;
        files.extend([file, playlist]);
        all_pieces.push(Some(pieces));
        renditions.push(rendition);
    }
    write_atomically(&folder.join("master.m3u8"), &hls::master(ladder, &renditions))?;
    write_atomically(&folder.join("manifest.mpd"), &dash::mpd(ladder, &renditions, &all_pieces))?;
    files.extend(["master.m3u8".to_owned(), "manifest.mpd".to_owned()]);
    Ok(Package { folder: folder.to_owned(), files, renditions })
}

/// The same video with an index, in fragments that begin with key frames.
fn fragment(lab: &Lab, path: &Path) -> Result<PathBuf, TuneError> {
    let output = lab.fresh("mp4");
    let mut args: Vec<OsString> =
        ["-hide_banner", "-nostdin", "-y", "-v", "error", "-f", "mov", "-i"].map(OsString::from).to_vec();
    args.push(file_url(path));
    let words = ["-map", "0:v:0", "-c", "copy", "-movflags", "+frag_keyframe+dash+global_sidx+skip_trailer"];
    args.extend(words.map(OsString::from));
    args.extend(["-progress", "pipe:1", "-f", "mp4"].map(OsString::from));
    args.push(file_url(&output));
    let files = Files { read: &[path], folder: output.parent() };
    let finished = lab.tools.work(&args, files, &lab.cancel, |_| {})?;
    if finished.code != 0 {
        let reason = crate::encoders::reason(&finished.stderr);
        return Err(TuneError::Score { what: "packaging".to_owned(), reason });
    }
    Ok(output)
}
