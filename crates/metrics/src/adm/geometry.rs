//! Which rows and columns each scale reads and writes.
//!
//! The border of a tenth on every side is not scored. Detail bands are therefore only made where the score, or a
//! neighbour of it, reads them, and the approximation of a scale only where the next one reads it. What lies outside
//! cannot reach a result.

/// How many scales there are.
pub const SCALES: usize = 4;

/// A run of rows or columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    pub const fn contains(self, index: usize) -> bool {
        self.start <= index && index < self.end
    }

    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The smallest run that covers both.
    fn hull(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// One direction of one scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// Length of what is transformed.
    pub input: usize,
    /// Length of each band: half of it, rounded up.
    pub output: usize,
    /// The part of a band that is scored.
    pub scored: Span,
    /// The part in which detail bands are needed: `scored` and a neighbour on each side, where there is one.
    pub detail: Span,
    /// The part of the approximation that the next scale reads. Empty at the last scale.
    pub low: Span,
}

impl Axis {
    /// Everything that is written.
    pub fn written(&self) -> Span {
        self.detail.hull(self.low)
    }

    /// Everything that is read of the input.
    pub fn read(&self) -> Span {
        inputs(self.written(), self.input)
    }

    /// Whether the scored part reaches the edges, so that neighbours must be mirrored there. It then does so on both
    /// sides.
    pub fn touches_edges(&self) -> bool {
        self.scored.start == 0
    }

    /// The four inputs of an output, mirrored: without repeating the edge at the start, repeating it at the end.
    pub fn taps(&self, output: usize) -> [usize; 4] {
        let first = if output == 0 { 1 } else { 2 * output - 1 };
        [first, 2 * output, 2 * output + 1, 2 * output + 2]
            .map(|tap| if tap < self.input { tap } else { 2 * self.input - 1 - tap })
    }
}

/// The inputs from which a run of outputs is made.
fn inputs(outputs: Span, input: usize) -> Span {
    Span { start: (2 * outputs.start).saturating_sub(1), end: (2 * outputs.end + 1).min(input) }
}

/// All scales of one direction, finest first. Without the first scale's score, only its approximation is made.
pub fn axes(length: usize, first_scored: bool) -> [Axis; SCALES] {
    let mut axes = [Axis::default(); SCALES];
    let mut input = length;
    for axis in &mut axes {
        let output = input.div_ceil(2);
        let scored = scored(output);
        let detail = Span { start: scored.start.saturating_sub(1), end: (scored.end + 1).min(output) };
        *axis = Axis { input, output, scored, detail, low: Span::default() };
        input = output;
    }
    if !first_scored {
        axes[0].detail = Span::default();
    }
    for scale in (1..SCALES).rev() {
        axes[scale - 1].low = axes[scale].read();
    }
    axes
}

fn scored(length: usize) -> Span {
    let border = (length as f64 * 0.1 - 0.5) as usize;
    Span { start: border, end: length - border }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_finds_what_it_reads() {
        for length in 17..=2200 {
            for first_scored in [true, false] {
                let axes = axes(length, first_scored);
                for (scale, axis) in axes.iter().enumerate() {
                    let written = axis.written();
                    assert!(written.end <= axis.output, "{length} scale {scale}");
                    for tap in (written.start..written.end).flat_map(|output| axis.taps(output)) {
                        assert!(axis.read().contains(tap), "{length} scale {scale} tap {tap}");
                        assert!(scale == 0 || axes[scale - 1].low.contains(tap), "{length} scale {scale}");
                    }
                    assert_eq!(
                        axis.touches_edges(),
                        axis.scored.end == axis.output,
                        "{length} scale {scale}"
                    );
                }
                assert_eq!(axes[0].detail.is_empty(), !first_scored);
                assert_eq!(axes[3].low.len(), 0);
            }
        }
    }

    #[test]
    fn a_tenth_on_each_side_is_left_out() {
        let axis = axes(1920, true)[0];
        assert_eq!(axis.scored, Span { start: 95, end: 865 });
        assert_eq!(axis.detail, Span { start: 94, end: 866 });
        assert!(axis.read().start > 100, "columns that nobody reads are not touched");
        assert_eq!(scored(14), Span { start: 0, end: 14 });
        assert_eq!(scored(15), Span { start: 1, end: 14 });
    }

    #[test]
    fn taps_are_mirrored_as_libvmaf_does() {
        let axis = |input: usize| Axis { input, output: input.div_ceil(2), ..Axis::default() };
        assert_eq!(axis(8).taps(0), [1, 0, 1, 2]);
        assert_eq!(axis(8).taps(3), [5, 6, 7, 7]);
        assert_eq!(axis(7).taps(3), [5, 6, 6, 5]);
    }
}
