//! A thread or a decoder that dies in the middle is an error that names it, never a shorter video.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{Scene, X264};
use visus_engine::{Cancel, EngineError, Settings, Silent, run};
use visus_media::{Input, OpenPair, PairOptions, Probed};
use visus_video::{Format, Frame, Info, ReadError, Source};

/// Gives three frames and panics.
struct Dying {
    inner: Box<dyn Source>,
}

impl Source for Dying {
    fn format(&self) -> &Format {
        self.inner.format()
    }

    fn name(&self) -> &str {
        "dying.y4m"
    }

    fn info(&self) -> &Info {
        self.inner.info()
    }

    fn frames_read(&self) -> u64 {
        self.inner.frames_read()
    }

    fn read(&mut self, frame: &mut Frame) -> Result<bool, ReadError> {
        assert!(self.frames_read() < 40, "a defect in a decoder");
        self.inner.read(frame)
    }

    fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        self.inner.skip(count)
    }

    fn total_frames(&self) -> Option<u64> {
        self.inner.total_frames()
    }
}

fn score(pair: OpenPair) -> Result<u64, EngineError> {
    let OpenPair { reference, distorted, control } = pair;
    let plan = common::plan();
    let outcome = run(&plan, reference, distorted, &Settings::default(), &Cancel::new(), &mut Silent);
    control.finish();
    outcome.map(|outcome| outcome.frames)
}

/// The error with everything below it.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    text
}

#[test]
fn a_source_that_panics_is_named() {
    let scene = Scene::new("160x90", 25, 60);
    let distorted = scene.encode("", X264, "dis.mp4");
    let inputs = [scene.path("ref.mkv"), distorted].map(|path| Input::detect(&path, None));
    let options = PairOptions::default();
    let mut probed = Probed::new(inputs, &options).unwrap();
    let inner = probed.common_reference(&options).unwrap();
    probed.give_reference(Box::new(Dying { inner }));
    let error = score(probed.open(&options).unwrap()).unwrap_err();
    let text = words(&error);
    assert!(text.contains("dying.y4m") && text.contains("a defect in a decoder"), "{text}");
    assert!(!text.contains("cancelled"), "{text}");
}

/// Ends the ffmpeg process that decodes this file.
fn kill_decoder_of(name: &str) -> bool {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&command).replace('\0', " ");
        if words.contains(name) && words.contains("rawvideo") && words.contains("ffmpeg") {
            let id = entry.file_name().to_string_lossy().into_owned();
            return Command::new("kill").args(["-KILL", &id]).status().is_ok_and(|status| status.success());
        }
    }
    false
}

#[cfg(target_os = "linux")]
#[test]
fn a_decoder_that_is_killed_is_an_error_also_where_damage_is_forgiven() {
    let scene = Scene::new("320x180", 25, 400);
    let distorted = scene.encode("", X264, "dis.mp4");
    for forgive in [false, true] {
        let inputs = [scene.path("ref.mkv"), distorted.clone()].map(|path| Input::detect(&path, None));
        let options = PairOptions { forgive, ..PairOptions::default() };
        let mut pair = visus_media::open_pair(inputs, &options).unwrap();
        let name = distorted.to_string_lossy().into_owned();
        // The windows are full and nobody reads on: the decoder waits for room in its pipe.
        let begun = Instant::now();
        while !kill_decoder_of(&name) {
            assert!(begun.elapsed() < Duration::from_secs(60), "there is no decoder");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut frame = Frame::new(*pair.reference.format());
        let mut read = 0;
        let error = loop {
            let both = pair.reference.read(&mut frame).and_then(|_| pair.distorted.read(&mut frame));
            match both {
                Ok(true) => read += 1,
                Ok(false) => panic!("a killed decoder looks like the end, after {read} frames"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(read < 400 && error.contains("dis.mp4") && error.contains("killed by signal 9"), "{error}");
    }
}

#[test]
fn sources_that_are_stopped_from_outside_do_not_end_regularly() {
    let scene = Scene::new("160x90", 25, 200);
    let distorted = scene.encode("", X264, "dis.mp4");
    let inputs = [scene.path("ref.mkv"), distorted].map(|path| Input::detect(&path, None));
    let mut pair = visus_media::open_pair(inputs, &PairOptions::default()).unwrap();
    let mut frame = Frame::new(*pair.reference.format());
    assert!(pair.reference.read(&mut frame).unwrap());
    pair.control.finish();
    let error = loop {
        match pair.reference.read(&mut frame) {
            Ok(true) => {}
            Ok(false) => panic!("it looks like the end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("stopped"), "{error}");
}
