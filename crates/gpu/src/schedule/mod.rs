//! The launches of a batch: which kernel, how many blocks, which arguments. Those of CAMBI and SpEED are in [`v1`].
//!
//! Nothing here touches a device: addresses are numbers, and a launch is a value.

mod v1;

use visus_metrics::device::{AdmScale, AdmTask};

use crate::arguments::{
    BAND_SUMS, Cambi, CambiLoad, Decimate, MAX_BATCH, MAX_GAINS, Mask, Motion, Pictures, ROWS, Speed,
    Statistic, THREADS, Total, Wavelet,
};
use crate::layout::{self, Layout, coefficient_bytes};
use crate::work::Work;
pub use v1::tables;

/// A kernel of `kernels/*.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    MotionU8,
    MotionU16,
    DecimateU8,
    DecimateU16,
    Decimate1,
    Decimate2,
    StatisticU8,
    StatisticU16,
    Statistic1,
    Statistic2,
    Statistic3,
    WaveletU8,
    WaveletU16,
    Wavelet1,
    Wavelet2,
    MaskShort,
    MaskShortAim,
    MaskLong,
    MaskLongAim,
    Total,
    CambiLoadU8,
    CambiLoadU16,
    CambiFilter,
    CambiContrast,
    CambiCoarse,
    CambiFine,
    CambiTotal,
    SpeedFrontU8,
    SpeedFrontU16,
    SpeedStatistic,
}

impl Kernel {
    pub const ALL: [Self; 30] = [
        Self::MotionU8,
        Self::MotionU16,
        Self::DecimateU8,
        Self::DecimateU16,
        Self::Decimate1,
        Self::Decimate2,
        Self::StatisticU8,
        Self::StatisticU16,
        Self::Statistic1,
        Self::Statistic2,
        Self::Statistic3,
        Self::WaveletU8,
        Self::WaveletU16,
        Self::Wavelet1,
        Self::Wavelet2,
        Self::MaskShort,
        Self::MaskShortAim,
        Self::MaskLong,
        Self::MaskLongAim,
        Self::Total,
        Self::CambiLoadU8,
        Self::CambiLoadU16,
        Self::CambiFilter,
        Self::CambiContrast,
        Self::CambiCoarse,
        Self::CambiFine,
        Self::CambiTotal,
        Self::SpeedFrontU8,
        Self::SpeedFrontU16,
        Self::SpeedStatistic,
    ];

    /// Its name in the CUDA source.
    pub fn name(self) -> &'static str {
        match self {
            Self::MotionU8 => "motion_u8",
            Self::MotionU16 => "motion_u16",
            Self::DecimateU8 => "vif_decimate_u8",
            Self::DecimateU16 => "vif_decimate_u16",
            Self::Decimate1 => "vif_decimate_1",
            Self::Decimate2 => "vif_decimate_2",
            Self::StatisticU8 => "vif_statistic_u8",
            Self::StatisticU16 => "vif_statistic_u16",
            Self::Statistic1 => "vif_statistic_1",
            Self::Statistic2 => "vif_statistic_2",
            Self::Statistic3 => "vif_statistic_3",
            Self::WaveletU8 => "adm_wavelet_u8",
            Self::WaveletU16 => "adm_wavelet_u16",
            Self::Wavelet1 => "adm_wavelet_1",
            Self::Wavelet2 => "adm_wavelet_2",
            Self::MaskShort => "adm_mask_short",
            Self::MaskShortAim => "adm_mask_short_aim",
            Self::MaskLong => "adm_mask_long",
            Self::MaskLongAim => "adm_mask_long_aim",
            Self::Total => "adm_total",
            Self::CambiLoadU8 => "cambi_load_u8",
            Self::CambiLoadU16 => "cambi_load_u16",
            Self::CambiFilter => "cambi_filter",
            Self::CambiContrast => "cambi_contrast",
            Self::CambiCoarse => "cambi_coarse",
            Self::CambiFine => "cambi_fine",
            Self::CambiTotal => "cambi_total",
            Self::SpeedFrontU8 => "speed_front_u8",
            Self::SpeedFrontU16 => "speed_front_u16",
            Self::SpeedStatistic => "speed_statistic",
        }
    }
}

/// The arguments of a launch.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a batch has a few dozen launches, which live for microseconds"
)]
pub enum Arguments {
    Motion(Motion),
    Decimate(Decimate),
    Statistic(Statistic),
    Wavelet(Wavelet),
    Mask(Mask),
    Total(Total),
    CambiLoad(CambiLoad),
    Cambi(Cambi),
    Speed(Speed),
}

impl Arguments {
    /// As the kernel receives them.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Motion(arguments) => bytemuck::bytes_of(arguments),
            Self::Decimate(arguments) => bytemuck::bytes_of(arguments),
            Self::Statistic(arguments) => bytemuck::bytes_of(arguments),
            Self::Wavelet(arguments) => bytemuck::bytes_of(arguments),
            Self::Mask(arguments) => bytemuck::bytes_of(arguments),
            Self::Total(arguments) => bytemuck::bytes_of(arguments),
            Self::CambiLoad(arguments) => bytemuck::bytes_of(arguments),
            Self::Cambi(arguments) => bytemuck::bytes_of(arguments),
            Self::Speed(arguments) => bytemuck::bytes_of(arguments),
        }
    }
}

/// One launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub kernel: Kernel,
    pub grid: [u32; 3],
    pub threads: u32,
    pub arguments: Arguments,
}

/// Where the pictures of motion lie, as offsets: for each pair the reference, and those one and two frames before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct MotionPlaces {
    pub current: usize,
    pub earlier: [Option<usize>; 2],
}

/// Where the memory of a batch begins, and that of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub batch: u64,
    pub tables: u64,
}

/// All launches of a batch of `motion.len()` pairs, in order.
pub fn launches(work: &Work, layout: &Layout, at: Addresses, motion: &[MotionPlaces]) -> Vec<Launch> {
    let Addresses { batch: base, tables } = at;
    let schedule = Schedule { work, layout, base, tables, pairs: motion.len() };
    let mut launches = Vec::new();
    if !work.gains.is_empty() {
        schedule.vif(&mut launches);
    }
    if !work.adm.is_empty() {
        schedule.adm(&mut launches);
    }
    for distance in (1..=2).filter(|distance| work.distances[distance - 1]) {
        launches.push(schedule.motion(distance, motion));
    }
    schedule.speed(&mut launches);
    schedule.cambi(&mut launches);
    launches
}

struct Schedule<'a> {
    work: &'a Work,
    layout: &'a Layout,
    base: u64,
    tables: u64,
    pairs: usize,
}

impl Schedule<'_> {
    fn at(&self, offset: usize) -> u64 {
        self.base + offset as u64
    }

    fn is_wide(&self) -> bool {
        self.layout.sample_bytes == 2
    }

    fn luma(&self) -> Pictures {
        let Layout { luma, planes, .. } = self.layout;
        Pictures {
            reference: self.at(planes.offset),
            distorted: self.at(planes.offset + planes.part / 2),
            frame: planes.part as u64,
            pitch: luma.pitch as i32,
            width: luma.width as i32,
            height: luma.height as i32,
            depth: i32::from(self.work.format.depth()),
        }
    }

    /// VIF's pictures of a scale.
    fn vif_pictures(&self, scale: usize) -> Pictures {
        if scale == 0 {
            return self.luma();
        }
        let (size, region) = self.layout.vif[scale - 1];
        Pictures {
            reference: self.at(region.offset),
            distorted: self.at(region.offset + 2 * size.area()),
            frame: region.part as u64,
            pitch: size.pitch as i32,
            width: size.width as i32,
            height: size.height as i32,
            depth: 16,
        }
    }

    fn vif(&self, launches: &mut Vec<Launch>) {
        let first = usize::from(!self.work.vif_scale0);
        for scale in 0..4 {
            if scale >= first {
                launches.extend((0..self.work.gain_groups()).map(|group| self.statistic(scale, group)));
            }
            if scale < 3 {
                launches.push(self.decimate(scale));
            }
        }
    }

    fn statistic(&self, scale: usize, group: usize) -> Launch {
        let kernel = match (scale, self.is_wide()) {
            (0, false) => Kernel::StatisticU8,
            (0, true) => Kernel::StatisticU16,
            (1, _) => Kernel::Statistic1,
            (2, _) => Kernel::Statistic2,
            _ => Kernel::Statistic3,
        };
        let pictures = self.vif_pictures(scale);
        let radius = 8 >> scale;
        let gains = self.work.gains.chunks(MAX_GAINS).nth(group).unwrap_or_default();
        let mut limits = [0.0; MAX_GAINS];
        limits[..gains.len()].copy_from_slice(gains);
        let sums = self.layout.sums_layout.vif(group, scale) * 8;
        let arguments = Arguments::Statistic(Statistic {
            pictures,
            gains: limits,
            gain_count: gains.len() as i32,
            stride: self.layout.sums_layout.total as i32,
            sums: self.at(self.layout.sums.offset + sums),
        });
        let width = (THREADS - 2 * radius) / 4 * 4;
        self.tiled(kernel, [pictures.width, pictures.height], width, 1, arguments)
    }

    fn decimate(&self, scale: usize) -> Launch {
        let kernel = match (scale, self.is_wide()) {
            (0, false) => Kernel::DecimateU8,
            (0, true) => Kernel::DecimateU16,
            (1, _) => Kernel::Decimate1,
            _ => Kernel::Decimate2,
        };
        let out = self.vif_pictures(scale + 1);
        let radius = 8 >> (scale + 1);
        let arguments = Arguments::Decimate(Decimate {
            pictures: self.vif_pictures(scale),
            reference: out.reference,
            distorted: out.distorted,
            frame: out.frame,
            pitch: out.pitch,
            unused: 0,
        });
        self.tiled(kernel, [out.width, out.height], (THREADS - 2 * radius) / 2, 2, arguments)
    }

    fn adm(&self, launches: &mut Vec<Launch>) {
        let scored = |adm: &AdmTask, scale: usize| scale > 0 || !adm.skip_scale0;
        for scale in 0..4 {
            let detail = self.work.adm.iter().any(|adm| scored(adm, scale));
            launches.push(self.wavelet(scale, detail));
            let variants = self.work.adm.iter().enumerate();
            launches.extend(
                variants.filter(|(_, adm)| scored(adm, scale)).map(|(n, adm)| self.mask(scale, n, adm)),
            );
        }
        launches.extend(self.work.adm.iter().enumerate().map(|(n, adm)| self.total(n, adm)));
    }

    fn wavelet(&self, scale: usize, detail: bool) -> Launch {
        let kernel = match (scale, self.is_wide()) {
            (0, false) => Kernel::WaveletU8,
            (0, true) => Kernel::WaveletU16,
            (1, _) => Kernel::Wavelet1,
            _ => Kernel::Wavelet2,
        };
        let size = self.layout.bands[scale];
        let bytes = coefficient_bytes(scale);
        // The last scale's approximation is read by nobody; it goes where the third scale's, which has been read, was.
        let low = self.layout.low[scale.min(2) - usize::from(scale == 3)];
        // All variants have the same geometry.
        let written = self.work.adm.first().map(layout::written).unwrap_or_default();
        let [columns, rows] = &written[scale];
        let [first_column, last_column] = [columns.start as i32, columns.end as i32];
        let [first_row, last_row] = [rows.start as i32, rows.end as i32];
        let arguments = Arguments::Wavelet(Wavelet {
            pictures: self.wavelet_input(scale),
            low: self.at(low.offset),
            low_picture: size.area() as u64,
            low_frame: (low.part / bytes) as u64,
            bands: self.at(self.layout.detail.offset),
            band: size.area() as u64,
            band_frame: (self.layout.detail.part / bytes) as u64,
            pitch: size.pitch as i32,
            first_column,
            last_column,
            first_row,
            last_row,
            detail: i32::from(detail),
            along: if scale == 2 { 16 } else { 15 },
            unused: 0,
        });
        let extent = [last_column - first_column, last_row - first_row];
        self.tiled(kernel, extent, 124, 2, arguments)
    }

    fn wavelet_input(&self, scale: usize) -> Pictures {
        if scale == 0 {
            return self.luma();
        }
        let (size, low) = (self.layout.bands[scale - 1], self.layout.low[scale - 1]);
        Pictures {
            reference: self.at(low.offset),
            distorted: self.at(low.offset + size.area() * coefficient_bytes(scale - 1)),
            frame: low.part as u64,
            pitch: size.pitch as i32,
            width: size.width as i32,
            height: size.height as i32,
            depth: i32::from(self.work.format.depth()),
        }
    }

    fn mask(&self, scale: usize, variant: usize, adm: &AdmTask) -> Launch {
        let kernel = match (scale, adm.skip_aim) {
            (0, true) => Kernel::MaskShort,
            (0, false) => Kernel::MaskShortAim,
            (_, true) => Kernel::MaskLong,
            (_, false) => Kernel::MaskLongAim,
        };
        let constants = &adm.scales[scale];
        let [columns, rows] = &constants.scored;
        let size = self.layout.bands[scale];
        let strip_rows = [16, 8, 4, 4][scale];
        let arguments = Arguments::Mask(Mask {
            bands: self.at(self.layout.detail.offset),
            band: size.area() as u64,
            band_frame: (self.layout.detail.part / coefficient_bytes(scale)) as u64,
            rows: self.at(self.layout.rows.offset + 8 * self.row_start(variant, scale)),
            rows_frame: (self.layout.rows.part / 8) as u64,
            row_capacity: self.layout.row_capacity as i32,
            pitch: size.pitch as i32,
            width: size.width as i32,
            height: size.height as i32,
            first_column: columns.start as i32,
            last_column: columns.end as i32,
            first_row: rows.start as i32,
            last_row: rows.end as i32,
            strip_rows: strip_rows as i32,
            square_shift: constants.cm.map(|shifts| shifts.square as i32),
            cube_shift: constants.cm.map(|shifts| shifts.cube as i32),
            energy_square_shift: constants.csf_den.square as i32,
            energy_cube_shift: constants.csf_den.cube as i32,
            gain_kind: gain_kind(adm.gain_limit),
            gain_limit: adm.gain_limit,
            bound: f64::from(adm.cos_1deg_sq),
            weights: constants.csf.map(i64::from),
        });
        let strips = columns.len().div_ceil(30).div_ceil(THREADS as usize / 32);
        let grid = [strips as u32, rows.len().div_ceil(strip_rows) as u32, self.pairs as u32];
        Launch { kernel, grid, threads: THREADS, arguments }
    }

    /// Where the sums of a scale's rows begin within a part, in numbers.
    fn row_start(&self, variant: usize, scale: usize) -> usize {
        (variant * 4 + scale) * BAND_SUMS * self.layout.row_capacity
    }

    fn total(&self, variant: usize, adm: &AdmTask) -> Launch {
        let sums = self.layout.sums_layout;
        let each = |value: fn(&AdmScale) -> usize| adm.scales.each_ref().map(|scale| value(scale) as i32);
        let arguments = Arguments::Total(Total {
            rows: self.at(self.layout.rows.offset),
            rows_frame: (self.layout.rows.part / 8) as u64,
            sums: self.at(self.layout.sums.offset + 8 * sums.adm(variant)),
            stride: sums.total as i32,
            row_capacity: self.layout.row_capacity as i32,
            start: std::array::from_fn(|scale| self.row_start(variant, scale) as i32),
            first_row: each(|scale| scale.scored[1].start),
            last_row: each(|scale| scale.scored[1].end),
            masked_shift: each(|scale| scale.cm_row as usize),
            energy_shift: each(|scale| scale.csf_den_row as usize),
        });
        let grid = [4, 1, self.pairs as u32];
        Launch { kernel: Kernel::Total, grid, threads: 32 * BAND_SUMS as u32, arguments }
    }

    fn motion(&self, distance: usize, places: &[MotionPlaces]) -> Launch {
        let luma = self.luma();
        let (mut earlier, mut current) = ([0; MAX_BATCH], [0; MAX_BATCH]);
        for ((place, earlier), current) in places.iter().zip(&mut earlier).zip(&mut current) {
            *current = self.at(place.current);
            *earlier = place.earlier[distance - 1].map_or(0, |offset| self.at(offset));
        }
        let sums = self.layout.sums_layout;
        let arguments = Arguments::Motion(Motion {
            earlier,
            current,
            sums: self.at(self.layout.sums.offset + 8 * sums.motion(distance)),
            stride: sums.total as i32,
            pitch: luma.pitch,
            width: luma.width,
            height: luma.height,
            depth: luma.depth,
            unused: 0,
        });
        let kernel = if self.is_wide() { Kernel::MotionU16 } else { Kernel::MotionU8 };
        self.tiled(kernel, [luma.width, luma.height], THREADS - 4, 1, arguments)
    }

    /// Blocks of `width` columns and [`ROWS`] rows over an extent, for each pair and `pictures` of it.
    fn tiled(
        &self,
        kernel: Kernel,
        extent: [i32; 2],
        width: u32,
        pictures: u32,
        arguments: Arguments,
    ) -> Launch {
        let [columns, rows] = extent.map(|length| length.max(0) as u32);
        let grid = [columns.div_ceil(width), rows.div_ceil(ROWS), pictures * self.pairs as u32];
        Launch { kernel, grid, threads: THREADS, arguments }
    }
}

/// As `adm_mask` counts.
fn gain_kind(limit: f64) -> i32 {
    match limit {
        1.0 => 0,
        100.0 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use visus_metrics::{Metric, registry};
    use visus_video::{Chroma, Format};

    use super::*;

    fn metric(name: &str, options: &[(&str, &str)]) -> Box<dyn Metric> {
        let given: Vec<(String, String)> =
            options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        registry::build(registry::by_name(name).unwrap(), &given).unwrap()
    }

    fn scheduled(metrics: &[Box<dyn Metric>], pairs: usize) -> Vec<Launch> {
        let format = Format::new(1920, 1080, Chroma::C420, 8).unwrap();
        let work = Work::new(&format.into(), metrics.iter().map(AsRef::as_ref));
        let layout = Layout::new(&work, pairs);
        let place = |n: usize| MotionPlaces { current: layout.plane(n, 0), earlier: [None; 2] };
        let places: Vec<MotionPlaces> = (0..pairs).map(place).collect();
        launches(&work, &layout, Addresses { batch: 1 << 40, tables: 1 << 20 }, &places)
    }

    #[test]
    fn variants_share_what_they_have_in_common() {
        let v0 = [metric("vif", &[]), metric("adm", &[]), metric("motion", &[])];
        let count = scheduled(&v0, 2).len();
        // Four statistics, three smaller pictures; four wavelets, four masks, one total; one motion.
        assert_eq!(count, 7 + 9 + 1);
        let neg = [
            metric("vif", &[("vif_enhn_gain_limit", "1")]),
            metric("adm", &[("adm_enhn_gain_limit", "1")]),
            metric("adm", &[("adm_noise_weight", "0.1")]),
        ];
        let both: Vec<_> = v0.into_iter().chain(neg).collect();
        assert_eq!(scheduled(&both, 2).len(), count + 5, "masks and total of one more variant");
    }

    #[test]
    fn grids_cover_the_picture() {
        let launches = scheduled(&[metric("vif", &[]), metric("adm", &[]), metric("motion", &[])], 3);
        let grid = |kernel| launches.iter().find(|launch| launch.kernel == kernel).unwrap().grid;
        assert_eq!(grid(Kernel::StatisticU8), [8, 135, 3]);
        assert_eq!(grid(Kernel::DecimateU8), [8, 68, 6]);
        assert_eq!(grid(Kernel::MotionU8), [8, 135, 3]);
        assert_eq!(grid(Kernel::Total), [4, 1, 3]);
        assert!(launches.iter().all(|launch| launch.grid.iter().all(|blocks| *blocks > 0)));
    }

    #[test]
    fn motion_without_an_earlier_picture_has_no_address() {
        let launches = scheduled(&[metric("motion", &[("motion_five_frame_window", "true")])], 2);
        let Arguments::Motion(arguments) = launches[0].arguments else { panic!("{launches:?}") };
        assert_eq!(arguments.earlier, [0; MAX_BATCH]);
        assert!(arguments.current[1] > arguments.current[0] && arguments.current[2] == 0);
    }
}
