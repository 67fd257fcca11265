//! The shots of a source, and a setting for each. `visus_video::shots` detects them.

mod plan;
mod predict;
mod tune;

pub use plan::{csv, shell, x264_zones, x265_zones};
pub use predict::{PredictSettings, PredictedShot, predict, predicted_csv};
pub use tune::{Joined, ShotPlan, ShotRow, ShotSettings, tune};
pub use visus_video::shots::{Boundary, DetectSettings, Kind, Shot, Shots};

use visus_engine::Cancel;
use visus_video::shots::{Look, detect};
use visus_video::{Frame, Source as Frames};

use crate::TuneError;
use crate::decode;
use crate::event::{Event, Sink};
use crate::source::{Source, Window};
use crate::tools::Tools;

/// Finds the shots of a source by looking at every frame once.
pub fn find(
    source: &Source,
    settings: &DetectSettings,
    tools: &Tools,
    cancel: &Cancel,
    sink: Sink<'_>,
) -> Result<Shots, TuneError> {
    let mut frames = decode::source(source, Window::WHOLE, tools, cancel)?;
    let found = find_in(&mut *frames, settings, cancel, |done| {
        sink(Event::Looking { done, total: source.frames });
    });
    found.map_err(|error| match error {
        TuneError::Score { reason, .. } => TuneError::Source { path: source.path.clone(), reason },
        other => other,
    })
}

/// The same for any frames.
pub fn find_in(
    frames: &mut dyn Frames,
    settings: &DetectSettings,
    cancel: &Cancel,
    mut progress: impl FnMut(u64),
) -> Result<Shots, TuneError> {
    let mut frame = Frame::new(*frames.format());
    let (mut look, mut traits) = (Look::new(settings.threshold), Vec::new());
    loop {
        if cancel.is_fired() {
            return Err(TuneError::Cancelled);
        }
        match frames.read(&mut frame) {
            Ok(true) => traits.push(look.at(&frame)),
            Ok(false) => return Ok(detect(&traits, settings)),
            Err(_) if cancel.is_fired() => return Err(TuneError::Cancelled),
            Err(error) => {
                let (what, reason) = (frames.name().to_owned(), visus_video::chain(&error));
                return Err(TuneError::Score { what, reason });
            }
        }
        if traits.len() % 32 == 0 {
            progress(traits.len() as u64);
        }
    }
}

#[cfg(test)]
mod tests;
