//! When a sample of the frames is enough, in the words of a request: `0.5`, `p5=1`, `30s`.

use std::str::FromStr;
use std::time::Duration;

/// When sampling ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Half of the 95 % interval of the mean may be so wide.
    pub mean_within: Option<f64>,
    /// The same of the 5th percentile.
    pub p5_within: Option<f64>,
    /// Time after which no further frames are scored.
    pub budget: Option<Duration>,
}

impl Sampling {
    pub fn new(within: &[Within], budget: Option<SampleBudget>) -> Self {
        let mut sampling = Self { budget: budget.map(|budget| budget.0), ..Self::default() };
        for within in within {
            match within {
                Within::Mean(points) => sampling.mean_within = Some(*points),
                Within::P5(points) => sampling.p5_within = Some(*points),
            }
        }
        sampling
    }
}

/// How wide an interval may be, and of which figure: `0.5`, `mean=0.5` or `p5=1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Within {
    Mean(f64),
    P5(f64),
}

impl FromStr for Within {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (figure, points) = text.split_once('=').unwrap_or(("mean", text));
        let points = points.parse::<f64>().ok().filter(|points| points.is_finite() && *points > 0.0);
        let points = points.ok_or_else(|| "it is a number of points above 0".to_owned())?;
        match figure {
            "mean" => Ok(Self::Mean(points)),
            "p5" => Ok(Self::P5(points)),
            other => Err(format!("'{other}' is neither mean nor p5")),
        }
    }
}

/// A time to score in: `30s`, `5m`, `1h`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleBudget(pub Duration);

impl FromStr for SampleBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.as_bytes().last() {
            Some(b's') => (&text[..text.len() - 1], 1.0),
            Some(b'm') => (&text[..text.len() - 1], 60.0),
            Some(b'h') => (&text[..text.len() - 1], 3600.0),
            _ => (text, 1.0),
        };
        let seconds = number.parse::<f64>().ok().filter(|number| *number > 0.0).map(|number| number * unit);
        let wrong = || "it is a time such as 30s, 5m or 1h".to_owned();
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.map(Self).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_options() {
        assert_eq!("0.5".parse(), Ok(Within::Mean(0.5)));
        assert_eq!("p5=1".parse(), Ok(Within::P5(1.0)));
        for text in ["0", "-1", "x", "p7=1", "mean=", "inf"] {
            assert!(text.parse::<Within>().is_err(), "{text}");
        }
        let budget = |text: &str| text.parse::<SampleBudget>().map(|budget| budget.0);
        assert_eq!(budget("90"), Ok(Duration::from_secs(90)));
        assert_eq!(budget("1.5m"), Ok(Duration::from_secs(90)));
        assert!(budget("0s").is_err() && budget("soon").is_err() && budget("").is_err());
    }
}
