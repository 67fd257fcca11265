//! Real files, named pipes and standard input.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use visus_video::synthetic::{Clip, Pattern};
use visus_video::{
    Chroma, ChromaRounding, Format, Frame, Source, open, open_raw, open_raw_rounded, open_y4m, write_raw,
    write_y4m,
};

/// Rows without padding, larger than the read buffer, so that whole planes are read straight into the frame.
fn large() -> Clip {
    let format = Format::new(640, 480, Chroma::C420, 8).unwrap();
    Clip::pattern(format, 3, Pattern::Noise { seed: 5 })
}

fn y4m_file(path: &Path, clip: &Clip) {
    write_y4m(File::create(path).unwrap(), clip.format(), (25, 1), clip.frames()).unwrap();
}

fn expect(mut source: impl Source, clip: &Clip) {
    let mut frame = Frame::new(*source.format());
    for expected in clip.frames() {
        assert!(source.read(&mut frame).unwrap());
        assert!(format!("{frame:?}") == format!("{expected:?}"), "frame {} differs", source.frames_read());
    }
    assert!(!source.read(&mut frame).unwrap());
}

#[test]
fn files_are_read_and_know_their_length() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clip) = (folder.path().join("a.y4m"), large());
    y4m_file(&path, &clip);
    let reader = open_y4m(&path).unwrap();
    assert_eq!((reader.total_frames(), reader.name()), (Some(3), path.to_str().unwrap()));
    expect(reader, &clip);
    let path = folder.path().join("a.yuv");
    write_raw(File::create(&path).unwrap(), ChromaRounding::Auto, clip.frames()).unwrap();
    expect(open_raw(&path, *clip.format()).unwrap(), &clip);
    expect(open_raw_rounded(&path, *clip.format(), ChromaRounding::Down).unwrap(), &clip);
    assert_eq!(open(&path, Some(*clip.format())).unwrap().total_frames(), Some(3));
    assert!(open(&path, None).is_err());
}

#[test]
fn skipping_in_a_file_lands_on_the_right_frame() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clip) = (folder.path().join("a.y4m"), large());
    y4m_file(&path, &clip);
    let mut source = open(&path, None).unwrap();
    let mut frame = Frame::new(*source.format());
    assert!(source.read(&mut frame).unwrap());
    assert_eq!(source.skip(1).unwrap(), 1);
    assert!(source.read(&mut frame).unwrap());
    assert!(format!("{frame:?}") == format!("{:?}", clip.frame(2)));
    assert_eq!(source.skip(1).unwrap(), 0);
}

#[test]
fn what_cannot_be_opened_is_named_with_its_cause() {
    let error = open_y4m("no/such/file.y4m").unwrap_err();
    assert_eq!(error.to_string(), "cannot open \"no/such/file.y4m\"");
    assert!(error.source().is_some());
    assert_eq!(error.libvmaf_words().as_deref(), Some("could not open file: no/such/file.y4m"));
    let folder = tempfile::tempdir().unwrap();
    let error = open_raw(folder.path(), *large().format()).unwrap_err();
    assert!(error.to_string().starts_with("cannot open "), "{error}");
}

#[test]
fn a_file_that_grows_is_read_to_its_new_end() {
    let folder = tempfile::tempdir().unwrap();
    let (path, clip) = (folder.path().join("a.yuv"), large());
    let mut file = File::create(&path).unwrap();
    write_raw(&mut file, ChromaRounding::Up, [clip.frame(0)]).unwrap();
    let reader = open_raw(&path, *clip.format()).unwrap();
    write_raw(&mut file, ChromaRounding::Up, [clip.frame(1), clip.frame(2)]).unwrap();
    assert_eq!(reader.total_frames(), Some(1));
    expect(reader, &clip);
}

#[cfg(unix)]
mod unix {
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::{env, fs, thread};

    use super::*;

    #[test]
    fn named_pipes_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, clip) = (folder.path().join("pipe"), large());
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let writer = thread::spawn({
            let (path, clip) = (path.clone(), clip.clone());
            move || {
                let pipe = File::options().write(true).open(path).unwrap();
                write_y4m(pipe, clip.format(), (25, 1), clip.frames()).unwrap();
            }
        });
        let reader = open_y4m(&path).unwrap();
        assert_eq!(reader.total_frames(), None);
        expect(reader, &clip);
        writer.join().unwrap();
    }

    const CHILD: &str = "VISUS_TEST_TOTAL_ON_STDIN";

    /// Does nothing unless it is started by the test below, in a process whose standard input is a clip.
    #[test]
    fn child_of_the_next_test() {
        if let Ok(total) = env::var(CHILD) {
            let reader = open_y4m("-").unwrap();
            assert_eq!((reader.total_frames(), reader.name()), (total.parse().ok(), "-"));
            expect(reader, &large());
        }
    }

    fn child(total: &str, input: Stdio) -> Command {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "unix::child_of_the_next_test"]).env(CHILD, total);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[test]
    fn standard_input_is_read_as_a_file_and_as_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.y4m");
        y4m_file(&path, &large());
        let result = child("3", File::open(&path).unwrap().into()).output().unwrap();
        assert!(result.status.success(), "{result:?}");
        let mut piped = child("unknown", Stdio::piped()).spawn().unwrap();
        piped.stdin.take().unwrap().write_all(&fs::read(&path).unwrap()).unwrap();
        let result = piped.wait_with_output().unwrap();
        assert!(result.status.success(), "{result:?}");
        assert!(String::from_utf8_lossy(&result.stdout).contains("1 passed"));
    }
}
