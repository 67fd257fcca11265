//! Where everything of a batch lies in device memory: one allocation, cut into regions.
//!
//! Nothing here touches a device.

use std::ops::Range;

use visus_metrics::device::{AdmScale, AdmTask, CambiTask};

use crate::arguments::{BAND_SUMS, CAMBI_COUNTERS, CAMBI_SCALES, SPEED_PLANES};
use crate::sums::SumsLayout;
use crate::work::Work;

/// Regions begin at multiples of this many bytes.
const ALIGN: usize = 256;
/// Rows of pictures begin at multiples of this many samples, as those of `visus_video::Frame` do: then a plane is copied
/// in one piece.
const ROW_ALIGN: usize = 64;

/// A region with a part for each pair of the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Of the first part, in bytes.
    pub offset: usize,
    /// Bytes of a part.
    pub part: usize,
}

/// A picture of some scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub width: usize,
    pub height: usize,
    /// Samples from one row to the next.
    pub pitch: usize,
}

impl Size {
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height, pitch: width.next_multiple_of(ROW_ALIGN) }
    }

    /// Samples of a picture, padding included.
    pub fn area(&self) -> usize {
        self.pitch * self.height
    }
}

/// The regions of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub batch: usize,
    pub sample_bytes: usize,
    pub luma: Size,
    /// Reference and distorted picture of each pair.
    pub planes: Region,
    /// Reference pictures of earlier pairs that are not in the batch.
    pub earlier: Region,
    /// VIF's second to fourth scale, two pictures of 16-bit samples to a part.
    pub vif: [(Size, Region); 3],
    /// ADM's scales.
    pub bands: [Size; 4],
    /// Approximations of the first three, two pictures to a part.
    pub low: [Region; 3],
    /// Detail bands of the scale in work: three of each picture.
    pub detail: Region,
    /// Sums of ADM's rows.
    pub rows: Region,
    /// Rows of the largest band.
    pub row_capacity: usize,
    /// Chroma planes of each pair: U and V of the reference, U and V of the distorted picture.
    pub chroma: Size,
    pub chroma_planes: Region,
    /// SpEED's decimated planes, for each of its variants.
    pub speed: Vec<Region>,
    pub cambi: Vec<CambiLayout>,
    /// What is read back.
    pub sums: Region,
    pub sums_layout: SumsLayout,
    pub total: usize,
}

/// Bytes of a coefficient of an ADM scale.
pub fn coefficient_bytes(scale: usize) -> usize {
    if scale == 0 { 2 } else { 4 }
}

impl Layout {
    /// For batches of so many pairs.
    pub fn new(work: &Work, batch: usize) -> Self {
        let sample_bytes = work.format.sample_bytes();
        let luma = Size::new(work.format.width(), work.format.height());
        let mut cutter = Cutter { batch, total: 0 };
        let plane = luma.area() * sample_bytes;
        let planes = cutter.cut(2 * plane.next_multiple_of(ALIGN));
        let earlier = cutter.cut(work.history() * plane.next_multiple_of(ALIGN));
        let has_vif = !work.gains.is_empty();
        let vif = std::array::from_fn(|scale| {
            let size = Size::new(luma.width >> (scale + 1), luma.height >> (scale + 1));
            (size, cutter.cut(if has_vif { 2 * 2 * size.area() } else { 0 }))
        });
        let has_adm = !work.adm.is_empty();
        let bands = work.adm.first().map_or([Size::default(); 4], |adm| adm.scales.each_ref().map(band_size));
        let low = std::array::from_fn(|scale| {
            cutter.cut(if has_adm { 2 * bands[scale].area() * coefficient_bytes(scale) } else { 0 })
        });
        let detail = (0..4).map(|scale| 6 * bands[scale].area() * coefficient_bytes(scale)).max();
        let detail = cutter.cut(detail.unwrap_or(0));
        let (width, height) = if work.needs_chroma() { work.format.plane_size(1) } else { (0, 0) };
        let chroma = Size::new(width, height);
        let chroma_planes = cutter.cut(SPEED_PLANES * (chroma.area() * sample_bytes).next_multiple_of(ALIGN));
        let decimated = |[width, height]: [usize; 2]| SPEED_PLANES * 4 * width * height;
        let speed = work.speed.iter().map(|speed| cutter.cut_tight(decimated(speed.decimated))).collect();
        let mut cambi: Vec<CambiLayout> =
            work.cambi.iter().map(|task| CambiLayout::new(task, &mut cutter)).collect();
        let row_capacity = bands[0].height;
        let rows = cutter.cut(work.adm.len() * 4 * BAND_SUMS * row_capacity * 8);
        for cambi in &mut cambi {
            cambi.counters = cutter.cut(4 * CAMBI_SCALES * CAMBI_COUNTERS);
            cambi.partial = cutter.cut(2 * 8 * CAMBI_SCALES);
        }
        let sums_layout = SumsLayout::new(work);
        let sums = cutter.cut_tight(sums_layout.total * 8);
        Self {
            batch,
            sample_bytes,
            luma,
            planes,
            earlier,
            vif,
            bands,
            low,
            detail,
            rows,
            row_capacity,
            chroma,
            chroma_planes,
            speed,
            cambi,
            sums,
            sums_layout,
            total: cutter.total,
        }
    }

    /// The largest batch, up to `most` pairs, that fits a budget of bytes.
    pub fn within(work: &Work, most: usize, bytes: usize) -> Option<Self> {
        (1..=most).rev().map(|batch| Self::new(work, batch)).find(|layout| layout.total <= bytes)
    }

    /// Bytes of one plane, padding included.
    pub fn plane_bytes(&self) -> usize {
        self.luma.area() * self.sample_bytes
    }

    /// Where a plane of a pair lies: 0 is the reference's, 1 the distorted picture's.
    pub fn plane(&self, pair: usize, side: usize) -> usize {
        self.planes.offset + pair * self.planes.part + side * self.planes.part / 2
    }

    /// Where the n-th earlier picture lies.
    pub fn earlier_plane(&self, n: usize) -> usize {
        self.earlier.offset + n * self.plane_bytes().next_multiple_of(ALIGN)
    }

    /// Where a chroma plane of a pair lies: U and V of the reference, U and V of the distorted picture.
    pub fn chroma_plane(&self, pair: usize, plane: usize) -> usize {
        self.chroma_planes.offset + pair * self.chroma_planes.part + plane * self.chroma_plane_bytes()
    }

    /// From one chroma plane to the next.
    pub fn chroma_plane_bytes(&self) -> usize {
        self.chroma_planes.part / SPEED_PLANES
    }

    /// The bytes that must be zero before a batch: sums of rows and of pairs, which lie side by side, and CAMBI's counters.
    pub fn cleared(&self) -> std::ops::Range<usize> {
        self.rows.offset..self.sums.offset + self.batch * self.sums.part
    }
}

/// CAMBI's pictures of a variant: all scales one after the other, rows without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CambiLayout {
    /// Where each scale begins, in samples, and samples of all.
    pub offsets: [usize; CAMBI_SCALES],
    pub area: usize,
    pub image: Region,
    pub mask: Region,
    pub level: Region,
    pub strength: Region,
    pub counters: Region,
    pub partial: Region,
}

impl CambiLayout {
    fn new(task: &CambiTask, cutter: &mut Cutter) -> Self {
        let mut area = 0;
        let offsets = task.scales.map(|[width, height]| {
            let offset = area;
            area += width * height;
            offset
        });
        // Parts without room between them have `area` samples each.
        Self {
            offsets,
            area,
            image: cutter.cut_tight(2 * area),
            mask: cutter.cut_tight(area),
            level: cutter.cut_tight(2 * area),
            strength: cutter.cut_tight(4 * area),
            ..Self::default()
        }
    }
}

fn band_size(scale: &AdmScale) -> Size {
    Size::new(scale.band[0], scale.band[1])
}

/// The columns and rows of each scale's bands that are made: where they are scored, a neighbour beyond that, and what the
/// next scale reads of the approximation. What lies outside cannot reach a result.
pub fn written(adm: &AdmTask) -> [[Range<usize>; 2]; 4] {
    let mut written: [[Range<usize>; 2]; 4] = Default::default();
    for scale in (0..4).rev() {
        for axis in 0..2 {
            let AdmScale { band, scored, .. } = &adm.scales[scale];
            let (start, end) = (scored[axis].start, scored[axis].end);
            let mut span = start.saturating_sub(1)..(end + 1).min(band[axis]);
            if let Some(next) = written.get(scale + 1).map(|next| &next[axis]) {
                let read = (2 * next.start).saturating_sub(1)..(2 * next.end + 1).min(band[axis]);
                span = span.start.min(read.start)..span.end.max(read.end);
            }
            written[scale][axis] = span;
        }
    }
    written
}

struct Cutter {
    batch: usize,
    total: usize,
}

impl Cutter {
    fn cut(&mut self, part: usize) -> Region {
        self.cut_tight(part.next_multiple_of(ALIGN))
    }

    /// Parts without room between them.
    fn cut_tight(&mut self, part: usize) -> Region {
        let region = Region { offset: self.total, part };
        self.total += (part * self.batch).next_multiple_of(ALIGN);
        region
    }
}

#[cfg(test)]
mod tests {
    use visus_metrics::{Metric, registry};
    use visus_video::{Chroma, Format};

    use super::*;

    fn metrics(names: &[&str]) -> Vec<Box<dyn Metric>> {
        names.iter().map(|name| registry::build(registry::by_name(name).unwrap(), &[]).unwrap()).collect()
    }

    fn work(width: usize, height: usize, depth: u8, names: &[&str]) -> Work {
        let format = Format::new(width, height, Chroma::C420, depth).unwrap();
        Work::new(&format.into(), metrics(names).iter().map(AsRef::as_ref))
    }

    #[test]
    fn regions_lie_side_by_side() {
        for (width, height, depth) in [(33, 33, 8), (1920, 1080, 10), (3839, 2161, 16)] {
            let layout = Layout::new(&work(width, height, depth, &["vif", "adm", "motion"]), 3);
            let regions = [layout.planes, layout.earlier, layout.vif[0].1, layout.vif[1].1, layout.vif[2].1];
            let more = [layout.low[0], layout.low[1], layout.low[2], layout.detail, layout.rows, layout.sums];
            let mut end = 0;
            for region in regions.into_iter().chain(more) {
                assert!(region.offset >= end && region.offset.is_multiple_of(ALIGN), "{region:?}");
                end = region.offset + 3 * region.part;
            }
            assert!(end <= layout.total);
            assert!(layout.plane(2, 1) + layout.plane_bytes() <= layout.earlier.offset);
            assert!(layout.earlier_plane(2) + layout.plane_bytes() <= layout.vif[0].1.offset);
            assert_eq!(layout.cleared(), layout.rows.offset..layout.sums.offset + 3 * layout.sums.part);
        }
    }

    #[test]
    fn what_is_not_computed_takes_no_memory() {
        let all = Layout::new(&work(640, 480, 8, &["vif", "adm", "motion"]), 2);
        let motion = Layout::new(&work(640, 480, 8, &["motion"]), 2);
        assert!(motion.total < all.total / 2, "{} of {}", motion.total, all.total);
        assert_eq!(Layout::new(&work(640, 480, 8, &["vif"]), 2).earlier.part, 0);
    }

    #[test]
    fn the_largest_batch_within_a_budget_is_taken() {
        let work = work(640, 480, 8, &["vif", "adm"]);
        let sizes: Vec<usize> = (1..=8).map(|batch| Layout::new(&work, batch).total).collect();
        assert_eq!(Layout::within(&work, 8, usize::MAX).unwrap().batch, 8);
        assert_eq!(Layout::within(&work, 8, sizes[4]).unwrap().batch, 5);
        assert_eq!(Layout::within(&work, 8, sizes[4] - 1).unwrap().batch, 4);
        assert_eq!(Layout::within(&work, 8, sizes[0] - 1), None);
    }

    /// Each output of a scale reads four inputs, mirrored at the ends.
    #[test]
    fn every_scale_finds_what_it_reads() {
        for length in 33..700 {
            let work = work(length, 64, 8, &["adm"]);
            let written = written(&work.adm[0]);
            for scale in 1..4 {
                let input = work.adm[0].scales[scale].input[0];
                for output in written[scale][0].clone() {
                    let mirrored = |tap: usize| if tap < input { tap } else { 2 * input - 1 - tap };
                    let first = if output == 0 { 1 } else { 2 * output - 1 };
                    for tap in [first, 2 * output, 2 * output + 1, 2 * output + 2] {
                        assert!(written[scale - 1][0].contains(&mirrored(tap)), "{length}, scale {scale}");
                    }
                }
                let scored = &work.adm[0].scales[scale].scored[0];
                assert!(written[scale][0].start <= scored.start && scored.end <= written[scale][0].end);
            }
        }
    }

    #[test]
    fn tiny_pictures_are_left_to_the_cpu() {
        assert!(work(32, 480, 8, &["vif", "adm", "motion"]).places().is_empty());
        assert_eq!(work(33, 33, 8, &["psnr", "vif", "adm", "float_vif", "motion"]).places(), [0, 1, 2, 4]);
    }
}
