//! A metric without scores: a run with it costs what reading the pictures costs.

use crate::{ClipInfo, Extractor, Info, Key, Level, Metric, MetricError, Spread, Window};

pub static INFO: Info = Info {
    name: "null",
    help: "No scores at all, to time everything else",
    options: &[],
    features: &[],
    build: |info, _| Ok(Box::new(Null { info })),
};

struct Null {
    info: &'static Info,
}

impl Metric for Null {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn keys(&self) -> &[Key] {
        &[]
    }

    fn extractor(&self, _clip: &ClipInfo, _level: Level) -> Result<Box<dyn Extractor>, MetricError> {
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl Extractor for Nothing {
    fn extract_spread(
        &mut self,
        _window: &Window<'_>,
        _raw: &mut [f64],
        _spread: &dyn Spread,
    ) -> Result<(), MetricError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use visus_video::{Chroma, Frame};

    use super::*;
    use crate::testing::{format, score_pair};

    #[test]
    fn has_no_scores() {
        let frame = Frame::new(format(2, 2, Chroma::C400, 8));
        assert_eq!(score_pair(&INFO, &[], &frame, &frame), Ok(Vec::new()));
    }
}
