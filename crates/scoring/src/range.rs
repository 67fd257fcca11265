//! The part of a clip that is asked for: frames, or times where the frame rate is known.

use std::str::FromStr;

use crate::RequestError;

/// A place in a clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    Frame(u64),
    Seconds(f64),
}

/// Frames from the first up to, not including, the second.
pub type Range = (u64, Option<u64>);

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("'{text}' is neither a frame (120) nor a time (4.8s, 1:30, 0:01:30.5)");
        if let Ok(frame) = text.parse() {
            return Ok(Self::Frame(frame));
        }
        let seconds = match text.strip_suffix('s') {
            Some(seconds) => seconds.parse().ok(),
            None if text.contains(':') => clock(text),
            None => None,
        };
        let fine = |seconds: &f64| seconds.is_finite() && (0.0..1e9).contains(seconds);
        seconds.filter(fine).map(Self::Seconds).ok_or_else(refuse)
    }
}

/// `minutes:seconds` or `hours:minutes:seconds`.
fn clock(text: &str) -> Option<f64> {
    let mut parts = text.rsplit(':');
    let seconds: f64 = parts.next()?.parse().ok()?;
    let minutes: u32 = parts.next()?.parse().ok()?;
    let hours: u32 = parts.next().map_or(Some(0), |hours| hours.parse().ok())?;
    (parts.next().is_none() && (0.0..60.0).contains(&seconds))
        .then(|| f64::from(hours) * 3600.0 + f64::from(minutes) * 60.0 + seconds)
}

impl Moment {
    /// The first frame that is shown at this moment or later.
    pub fn frame(self, frame_rate: Option<(u32, u32)>) -> Result<u64, RequestError> {
        match self {
            Self::Frame(frame) => Ok(frame),
            Self::Seconds(seconds) => {
                let unknown = || {
                    RequestError::Range(
                        "the frame rate is not known: give frame numbers instead of times".to_owned(),
                    )
                };
                let (num, den) = frame_rate.ok_or_else(unknown)?;
                // A hair less, for times that are frames but for rounding.
                Ok((seconds * f64::from(num) / f64::from(den) - 1e-6).ceil().max(0.0) as u64)
            }
        }
    }
}

/// The part that is asked for, if any.
pub fn of(
    from: Option<Moment>,
    to: Option<Moment>,
    frame_rate: Option<(u32, u32)>,
) -> Result<Option<Range>, RequestError> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let from = from.map_or(Ok(0), |from| from.frame(frame_rate))?;
    let to = to.map(|to| to.frame(frame_rate)).transpose()?;
    if let Some(to) = to.filter(|to| *to <= from) {
        return Err(RequestError::Range(format!("there is no frame from {from} up to, not including, {to}")));
    }
    Ok(Some((from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_times() {
        let frame = |text: &str, rate| text.parse::<Moment>().unwrap().frame(rate).ok();
        let film = Some((24000, 1001));
        assert_eq!(frame("120", None), Some(120));
        assert_eq!(frame("4.8s", Some((25, 1))), Some(120));
        assert_eq!(frame("4.81s", Some((25, 1))), Some(121));
        assert_eq!(frame("1:30", Some((25, 1))), Some(2250));
        assert_eq!(frame("1:00:00", film), Some(86314));
        assert_eq!(frame("0s", film), Some(0));
        assert_eq!(frame("1s", None), None);
        for text in ["", "-1", "1.5", "abc", "nans", "infs", "1:60", "1:2:3:4", "-5s", "1:-2"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_have_frames() {
        assert_eq!(of(None, None, None).unwrap(), None);
        assert_eq!(of(None, Some(Moment::Frame(5)), None).unwrap(), Some((0, Some(5))));
        assert!(of(Some(Moment::Frame(5)), Some(Moment::Frame(5)), None).is_err());
    }
}
