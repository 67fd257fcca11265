//! The scales in plain Rust: row kernels of `wavelet`, `decouple` and `masking`, one after the other.

use visus_video::{Plain, Plane, Sample};

use super::decouple::{Bands, BandsMut, Decoupling};
use super::geometry::{Axis, SCALES};
use super::masking::{self, Masking};
use super::plan::Plan;
use super::scale::{self, LowPlane, Masked};
use super::score::AdmSums;
use super::wavelet::{First, Fourth, PAD, Second, TAIL, Third, Wavelet};

/// A row of a picture between the two passes of the wavelet, with [`PAD`] samples in front and [`TAIL`] behind.
#[derive(Clone, Debug)]
struct Columns<T> {
    low: Vec<T>,
    high: Vec<T>,
}

impl<T: Copy + Default> Columns<T> {
    fn new(width: usize) -> Self {
        let row = vec![T::default(); PAD + width + TAIL];
        Self { low: row.clone(), high: row }
    }
}

type BandRows = [Vec<i32>; 3];

fn band_rows(width: usize) -> BandRows {
    std::array::from_fn(|_| vec![0; width])
}

fn cut(rows: &BandRows, start: usize, len: usize) -> Bands<'_> {
    rows.each_ref().map(|row| &row[start..start + len])
}

fn cut_mut(rows: &mut BandRows, len: usize) -> BandsMut<'_> {
    rows.each_mut().map(|row| &mut row[..len])
}

/// A decoupled image after the CSF: as the signal that is masked, and as the mask of the other image.
#[derive(Clone, Debug)]
struct CsfRows {
    /// The last two rows.
    magnitudes: [BandRows; 2],
    /// The last three rows, with a neighbour on each side.
    spread: [Vec<i32>; 3],
    /// The last two rows.
    centre: [Vec<i32>; 2],
}

impl CsfRows {
    fn new(width: usize) -> Self {
        Self {
            magnitudes: std::array::from_fn(|_| band_rows(width)),
            spread: std::array::from_fn(|_| vec![0; width + 2]),
            centre: std::array::from_fn(|_| vec![0; width]),
        }
    }
}

/// Scratch rows, for the widest scale.
#[derive(Clone, Debug)]
struct Rows {
    bands: [BandRows; 2],
    restored: BandRows,
    additive: BandRows,
    restored_csf: CsfRows,
    additive_csf: CsfRows,
    threshold: Vec<i32>,
}

impl Rows {
    /// `width` is that of a band of the first scale.
    fn new(width: usize) -> Self {
        Self {
            bands: std::array::from_fn(|_| band_rows(width)),
            restored: band_rows(width),
            additive: band_rows(width),
            restored_csf: CsfRows::new(width),
            additive_csf: CsfRows::new(width),
            threshold: vec![0; width],
        }
    }
}

/// Scratch for one worker.
#[derive(Debug)]
pub struct Scalar {
    first_low: [LowPlane<i16>; 2],
    second_low: [LowPlane<i32>; 2],
    third_low: [LowPlane<i32>; 2],
    /// The last scale has no successor; nothing is written here.
    no_low: [LowPlane<i32>; 2],
    short_columns: [Columns<i16>; 2],
    long_columns: [Columns<i32>; 2],
    rows: Rows,
}

impl Scalar {
    pub fn new(plan: &Plan) -> Self {
        let size = |scale: usize| (plan.columns[scale].output, plan.rows[scale].output);
        let low = |(width, height)| LowPlane::new(width, height, 0);
        Self {
            first_low: std::array::from_fn(|_| LowPlane::new(size(0).0, size(0).1, 0)),
            second_low: std::array::from_fn(|_| low(size(1))),
            third_low: std::array::from_fn(|_| low(size(2))),
            no_low: std::array::from_fn(|_| low((0, 0))),
            short_columns: std::array::from_fn(|_| Columns::new(plan.columns[0].input)),
            long_columns: std::array::from_fn(|_| Columns::new(plan.columns[1].input)),
            rows: Rows::new(plan.columns[0].output),
        }
    }

    /// The sums of every scale of a reference and a distorted picture.
    pub fn sums<S: Sample>(&mut self, plan: &Plan, pictures: [Plane<'_, S>; 2]) -> [AdmSums; SCALES] {
        let step = First::<S>::new(plan.bits);
        let (lows, columns, rows) = (&mut self.first_low, &mut self.short_columns, &mut self.rows);
        let first = Steps::new(plan, 0, step, &plan.short, pictures, lows, columns, rows).run();
        let [second, third, fourth] = later_sums(
            plan,
            views(&self.first_low),
            [&mut self.second_low, &mut self.third_low, &mut self.no_low],
            &mut self.long_columns,
            &mut self.rows,
        );
        [first, second, third, fourth]
    }

    /// Those of the later scales alone, from the approximations that the first one has made.
    pub fn later_sums(&mut self, plan: &Plan, lows: [Plane<'_, i16>; 2]) -> [AdmSums; SCALES - 1] {
        let later = [&mut self.second_low, &mut self.third_low, &mut self.no_low];
        later_sums(plan, lows, later, &mut self.long_columns, &mut self.rows)
    }
}

fn later_sums(
    plan: &Plan,
    first: [Plane<'_, i16>; 2],
    [second, third, none]: [&mut [LowPlane<i32>; 2]; 3],
    columns: &mut [Columns<i32>; 2],
    rows: &mut Rows,
) -> [AdmSums; SCALES - 1] {
    let [a, b, c] = &plan.long;
    [
        Steps::new(plan, 1, Second, a, first, second, columns, rows).run(),
        Steps::new(plan, 2, Third {}, b, views(second), third, columns, rows).run(),
        Steps::new(plan, 3, Fourth {}, c, views(third), none, columns, rows).run(),
    ]
}

fn views<T: Plain>(lows: &[LowPlane<T>; 2]) -> [Plane<'_, T>; 2] {
    lows.each_ref().map(LowPlane::view)
}

/// A scale of a pair of pictures.
struct Steps<'a, W: Wavelet, M> {
    wavelet: W,
    masking: &'a M,
    decoupling: &'a Decoupling,
    columns: &'a Axis,
    down: &'a Axis,
    aim: bool,
    inputs: [Plane<'a, W::Input>; 2],
    lows: &'a mut [LowPlane<W::Low>; 2],
    between: &'a mut [Columns<W::Column>; 2],
    rows: &'a mut Rows,
}

impl<'a, W: Wavelet, M: Masking> Steps<'a, W, M> {
    fn new(
        plan: &'a Plan,
        scale: usize,
        wavelet: W,
        masking: &'a M,
        inputs: [Plane<'a, W::Input>; 2],
        lows: &'a mut [LowPlane<W::Low>; 2],
        between: &'a mut [Columns<W::Column>; 2],
        rows: &'a mut Rows,
    ) -> Self {
        let (columns, down) = (&plan.columns[scale], &plan.rows[scale]);
        let (decoupling, aim) = (&plan.decoupling, plan.aim);
        Self { wavelet, masking, decoupling, columns, down, aim, inputs, lows, between, rows }
    }

    fn run(mut self) -> AdmSums {
        scale::run(self.down, self.masking, &mut self)
    }

    fn filter_down(&mut self, picture: usize, y: usize, detail: bool) {
        let read = self.columns.read();
        let span = PAD + read.start..PAD + read.end;
        let columns = &mut self.between[picture];
        let rows = self.down.taps(y).map(|tap| &self.inputs[picture].row(tap)[read.start..read.end]);
        self.wavelet.low(rows, &mut columns.low[span.clone()]);
        if detail {
            self.wavelet.high(rows, &mut columns.high[span]);
        }
    }

    /// Fills the samples before and behind the rows.
    fn mirror(&mut self) {
        let len = self.columns.input;
        for row in self.between.iter_mut().flat_map(|picture| [&mut picture.low, &mut picture.high]) {
            row[PAD - 1] = row[PAD + 1];
            row[PAD + len] = row[PAD + len - 1];
            row[PAD + len + 1] = row[PAD + len - 2];
        }
        if self.columns.output == 2 {
            self.unmirror();
        }
    }

    /// Where only two outputs are left, libvmaf does not mirror the sample in front but reads what lies there in memory:
    /// the end of the row before, in the order low, high of the reference, then low, high of the distorted picture, and
    /// a zero before the first of them.
    fn unmirror(&mut self) {
        let last = PAD + self.columns.input - 1;
        let [reference, distorted] = self.between;
        reference.low[PAD - 1] = W::Column::default();
        reference.high[PAD - 1] = reference.low[last];
        distorted.low[PAD - 1] = reference.high[last];
        distorted.high[PAD - 1] = distorted.low[last];
    }

    fn approximation(&mut self, picture: usize, y: usize) {
        let span = self.columns.low;
        let row = &self.between[picture].low[PAD + 2 * span.start - 1..];
        let low = &mut self.lows[picture].padded_row_mut(y)[span.start..span.end];
        self.wavelet.approximation(row, low);
    }

    fn bands(&mut self, picture: usize) {
        let span = self.columns.detail;
        let columns = &self.between[picture];
        let [horizontal, vertical, diagonal] = cut_mut(&mut self.rows.bands[picture], span.len());
        let first = PAD + 2 * span.start - 1;
        self.wavelet.smooth(&columns.high[first..], horizontal);
        self.wavelet.edges(&columns.low[first..], vertical);
        self.wavelet.edges(&columns.high[first..], diagonal);
    }

    fn decouple_bands(&mut self) {
        let len = self.columns.detail.len();
        let [reference, distorted] = self.rows.bands.each_ref().map(|bands| cut(bands, 0, len));
        let (restored, additive) =
            (cut_mut(&mut self.rows.restored, len), cut_mut(&mut self.rows.additive, len));
        self.masking.decouple(self.decoupling, reference, distorted, restored, additive);
    }
}

impl<W: Wavelet, M: Masking> scale::Steps for Steps<'_, W, M> {
    fn transform(&mut self, y: usize, low: bool, detail: bool) {
        for picture in 0..2 {
            self.filter_down(picture, y, detail);
        }
        self.mirror();
        for picture in 0..2 {
            if low {
                self.approximation(picture, y);
            }
            if detail {
                self.bands(picture);
            }
        }
    }

    fn decouple(&mut self, y: usize, scored: bool) -> [u64; 3] {
        self.decouple_bands();
        let aim = self.aim;
        let Rows { restored, additive, restored_csf, additive_csf, .. } = &mut *self.rows;
        csf_rows(self.masking, self.columns, y, restored, restored_csf, scored, aim);
        csf_rows(self.masking, self.columns, y, additive, additive_csf, scored && aim, true);
        if scored { self.masking.csf_den(cut_scored(self.columns, &self.rows.bands[0])) } else { [0; 3] }
    }

    fn contrast_mask(&mut self, rows: [usize; 3]) -> Masked {
        let Rows { restored_csf: restored, additive_csf: additive, threshold, .. } = &mut *self.rows;
        let mut mask = |signal: &CsfRows, mask: &CsfRows| {
            contrast_masked(self.masking, self.columns, rows, signal, mask, threshold)
        };
        Masked {
            restored: mask(restored, additive),
            additive: if self.aim { mask(additive, restored) } else { [0; 3] },
        }
    }
}

fn csf_rows(
    masking: &impl Masking,
    columns: &Axis,
    y: usize,
    rows: &BandRows,
    csf: &mut CsfRows,
    as_signal: bool,
    as_mask: bool,
) {
    if as_signal {
        let magnitudes = cut_mut(&mut csf.magnitudes[y % 2], columns.scored.len());
        masking.magnitudes(cut_scored(columns, rows), magnitudes);
    }
    if as_mask {
        let len = columns.detail.len();
        let front = usize::from(columns.touches_edges());
        let (spread, centre) = (&mut csf.spread[y % 3], &mut csf.centre[y % 2]);
        masking.thresholds(cut(rows, 0, len), &mut spread[front..front + len], &mut centre[..len]);
        if columns.touches_edges() {
            spread[0] = spread[2];
            spread[len + 1] = spread[len];
        }
    }
}

fn contrast_masked(
    masking: &impl Masking,
    columns: &Axis,
    rows: [usize; 3],
    signal: &CsfRows,
    mask: &CsfRows,
    threshold: &mut [i32],
) -> [i64; 3] {
    let len = columns.scored.len();
    let threshold = &mut threshold[..len];
    let spread = rows.map(|row| mask.spread[row % 3].as_slice());
    masking::threshold(spread, &mask.centre[rows[1] % 2][inset(columns)..], threshold);
    masking.contrast_masked(cut(&signal.magnitudes[rows[1] % 2], 0, len), threshold)
}

/// How far the scored columns begin after those with detail.
fn inset(columns: &Axis) -> usize {
    columns.scored.start - columns.detail.start
}

fn cut_scored<'r>(columns: &Axis, rows: &'r BandRows) -> Bands<'r> {
    cut(rows, inset(columns), columns.scored.len())
}
