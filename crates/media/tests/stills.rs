//! Single frames, found by their number: each is the frame that decoding from the beginning gives.

use std::path::{Path, PathBuf};
use std::process::Command;

use visus_engine::Cancel;
use visus_media::still::{StillIndex, still};
use visus_media::{Launch, Tools};

/// Frames of every file.
const FRAMES: u64 = 60;

/// Each file's name, and how ffmpeg makes it: reordered frames, a late start, uneven times, no times at all.
const FILES: [(&str, &[&str]); 4] = [
    ("reordered.mp4", &["-bf", "3", "-g", "40"]),
    ("late.ts", &["-bf", "2", "-g", "30", "-muxdelay", "3"]),
    ("uneven.mkv", &["-vf", "setpts='(N+0.4*mod(N,3))/25/TB'", "-vsync", "passthrough", "-g", "30"]),
    ("bare.h264", &["-bf", "2", "-g", "30", "-f", "h264"]),
];

fn ffmpeg(args: &[&str]) -> Vec<u8> {
    let mut command = Command::new("ffmpeg");
    let output = command.args(["-v", "error", "-nostdin", "-y"]).args(args).output().expect("ffmpeg starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn make(folder: &Path, name: &str, how: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let place = path.to_string_lossy();
    let source = ["-f", "lavfi", "-i", "testsrc2=s=96x64:r=25", "-frames:v", "60", "-c:v", "libx264"];
    ffmpeg(&[&source, how, &[&*place]].concat());
    path
}

/// The frame as decoding from the beginning gives it.
fn counted(path: &Path, frame: u64) -> Vec<u8> {
    let (place, select) = (path.to_string_lossy(), format!("select=eq(n\\,{frame})"));
    let picture =
        ["-frames:v", "1", "-pix_fmt", "rgb24", "-c:v", "png", "-compression_level", "1", "-pred", "sub"];
    ffmpeg(&[&["-i", &*place, "-vf", &select], &picture[..], &["-f", "image2pipe", "pipe:1"]].concat())
}

#[test]
fn a_frame_is_the_same_however_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools::find(Launch::default(), "look at frames").unwrap();
    for (name, how) in FILES {
        let path = make(folder.path(), name, how);
        let index = StillIndex::of(&tools, &path, &Cancel::new()).unwrap();
        assert_eq!((index.width, index.height), (96, 64), "{name}");
        for frame in [0, 1, 30, 47] {
            let found = still(&tools, &path, &index, frame, None, &Cancel::new()).unwrap();
            assert!(found == counted(&path, frame), "{name}: frame {frame} is another one");
        }
        assert!(still(&tools, &path, &index, FRAMES + 5, None, &Cancel::new()).is_err(), "{name}");
    }
}
