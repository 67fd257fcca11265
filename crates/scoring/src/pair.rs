//! What is known about two opened videos besides their frames.

use serde_json::{Value, json};
use visus_engine::Side;
use visus_media::{Comparability, Control, Reason, Steps, Verdict};
use visus_video::Region;

use crate::handle::OpenedFile;
use crate::{ErrorClass, NotComparable, ScoreError};

/// Whether and how two videos belong together.
#[derive(Debug)]
pub struct PairInfo {
    state: State,
    names: FileNames,
    force: bool,
    /// The region that was measured, where it is not the whole picture.
    roi: Option<Region>,
}

#[derive(Debug)]
enum State {
    /// Files that are read as they are.
    Plain { comparability: Comparability, conversions: Vec<(Side, String)> },
    /// Decoded, converted, paired.
    Synchronised(Box<Control>),
}

impl PairInfo {
    pub(crate) fn plain(
        mut comparability: Comparability,
        conversions: Vec<(Side, String)>,
        force: bool,
    ) -> Self {
        for (side, words) in &conversions {
            let text = format!("{side}: {words}");
            comparability.reasons.push(Reason { weight: Verdict::Yes, code: "conversion".into(), text });
        }
        let state = State::Plain { comparability, conversions };
        Self { state, names: FileNames::default(), force, roi: None }
    }

    pub(crate) fn synchronised(control: Control, names: FileNames, force: bool) -> Self {
        Self { state: State::Synchronised(Box::new(control)), names, force, roi: None }
    }

    pub(crate) fn measured_within(&mut self, roi: Region) {
        self.roi = Some(roi);
    }

    /// The region that was measured, where it is not the whole picture.
    pub fn roi(&self) -> Option<Region> {
        self.roi
    }

    /// What was done to the samples of raw and Y4M video, in words.
    pub fn plain_conversions(&self) -> &[(Side, String)] {
        match &self.state {
            State::Plain { conversions, .. } => conversions,
            State::Synchronised(_) => &[],
        }
    }

    /// Whether the videos were decoded, converted or paired, rather than read as they are.
    pub fn is_synchronised(&self) -> bool {
        matches!(self.state, State::Synchronised(_))
    }

    /// What pairing knows, where it took part.
    pub fn control(&self) -> Option<&Control> {
        match &self.state {
            State::Plain { .. } => None,
            State::Synchronised(control) => Some(control),
        }
    }

    pub fn comparability(&self) -> Comparability {
        let mut found = match &self.state {
            State::Plain { comparability, .. } => comparability.clone(),
            State::Synchronised(control) => control.comparability(),
        };
        found.reasons.iter_mut().for_each(|reason| reason.text = self.names.restored(&reason.text));
        found
    }

    /// Sections of a report: comparability and, where it took part, what pairing did.
    pub fn sections(&self) -> Vec<(String, Value)> {
        let mut sections = match &self.state {
            State::Plain { comparability, conversions } => {
                let mut sections = vec![("comparability".to_owned(), comparability.json())];
                if !conversions.is_empty() {
                    let entry = |(side, words): &(Side, String)| json!({ "input": side.to_string(), "conversion": words });
                    let list = conversions.iter().map(entry).collect();
                    sections.push(("conversions".to_owned(), Value::Array(list)));
                }
                sections
            }
            State::Synchronised(control) => control.report(),
        };
        sections.extend(self.roi.map(|roi| ("roi".to_owned(), json!(roi.to_string()))));
        sections.iter_mut().for_each(|(_, value)| self.names.restore(value));
        sections
    }

    /// The pairs with which shots begin, where pairing has looked at every frame.
    pub fn shots(&self) -> Option<Vec<u64>> {
        self.control().map(|control| control.findings().shots())
    }

    /// Which frames every pair holds, where pairing chose them.
    pub fn steps(&self) -> Option<Steps> {
        self.control().map(Control::steps)
    }

    /// From now on tells of these pairs only; `ended`: both videos were read to where the shorter one ends.
    pub(crate) fn scored(&self, pairs: std::ops::Range<u64>, ended: bool) {
        if let State::Synchronised(control) = &self.state {
            control.scored(pairs, ended);
        }
    }

    /// What a part of a clip carries of the pairing, where that took part.
    pub(crate) fn share(&self) -> Option<Value> {
        self.control().map(|control| {
            let mut share = control.share();
            self.names.restore(&mut share);
            share
        })
    }

    /// Ends decoders and waits for them.
    pub fn finish(&self) {
        if let State::Synchronised(control) = &self.state {
            control.finish();
        }
    }

    /// Refuses a pair whose score would mean nothing, unless the user insists.
    pub fn check(&self) -> Result<(), NotComparable> {
        let comparability = self.comparability();
        if self.force || comparability.verdict() != Verdict::No {
            return Ok(());
        }
        let reasons = comparability.reasons.into_iter().filter(|reason| reason.weight == Verdict::No);
        Err(NotComparable { reasons: reasons.map(|reason| reason.text).collect(), can_be_forced: true })
    }

    /// What the user calls a file that was opened through a handle.
    pub fn name(&self, text: &str) -> String {
        self.names.restored(text)
    }

    /// The same error, with the names that the user knows.
    pub(crate) fn reworded(&self, error: ScoreError) -> ScoreError {
        self.names.reworded(error)
    }
}

/// Decoders reach files that were opened beforehand through our table of open files; people know them by name.
#[derive(Debug, Default)]
pub(crate) struct FileNames(Vec<(OpenedFile, String)>);

impl FileNames {
    pub fn push(&mut self, file: OpenedFile, name: String) {
        self.0.push((file, name));
        // The longer path first: `…/fd/1` is the beginning of `…/fd/12`.
        self.0.sort_by_key(|(file, _)| std::cmp::Reverse(file.path().as_os_str().len()));
    }

    pub fn restored(&self, text: &str) -> String {
        let replace = |text: String, (file, name): &(OpenedFile, String)| {
            text.replace(&*file.path().to_string_lossy(), name)
        };
        self.0.iter().fold(text.to_owned(), replace)
    }

    pub fn restore(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.restored(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.restore(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.restore(value)),
            _ => {}
        }
    }

    pub fn reworded(&self, error: ScoreError) -> ScoreError {
        let class = error.class();
        if self.0.is_empty()
            || class == ErrorClass::Cancelled
            || matches!(error, ScoreError::NotComparable(_))
        {
            return error;
        }
        ScoreError::Reworded { class, text: self.restored(&visus_video::chain(&error)) }
    }
}
