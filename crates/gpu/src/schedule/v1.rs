//! The launches of CAMBI and SpEED, and the tables that CAMBI reads.

use visus_metrics::device::{CambiTask, SpeedTask, cambi_reciprocals};

use super::{Arguments, Kernel, Launch, Schedule};
use crate::arguments::{
    CAMBI_CHUNK, CAMBI_LOAD_TILE, CAMBI_SCALES, CAMBI_TILE, Cambi, CambiLoad, SPEED_LOCAL_TAPS, SPEED_PLANES,
    SPEED_TAPS, SPEED_THREADS, Speed, THREADS,
};
use crate::layout::CambiLayout;
use crate::work::Work;

/// What the kernels look up: CAMBI's reciprocals, then the steps of each of its variants, as 32-bit numbers.
pub fn tables(work: &Work) -> Vec<u32> {
    if work.cambi.is_empty() {
        return Vec::new();
    }
    let reciprocals = cambi_reciprocals().iter().map(|value| value.to_bits());
    reciprocals.chain(work.cambi.iter().flat_map(|task| task.active.iter().copied())).collect()
}

/// Where the steps of a variant stand in the tables, in numbers.
fn active_start(work: &Work, variant: usize) -> usize {
    cambi_reciprocals().len() + work.cambi[..variant].iter().map(|task| task.active.len()).sum::<usize>()
}

impl Schedule<'_> {
    pub(super) fn cambi(&self, launches: &mut Vec<Launch>) {
        for (variant, (task, layout)) in self.work.cambi.iter().zip(&self.layout.cambi).enumerate() {
            launches.push(self.cambi_load(variant, task, layout));
            let arguments = self.cambi_arguments(variant, task, layout);
            launches.extend((0..CAMBI_SCALES).map(|scale| self.cambi_filter(scale, task, arguments)));
            launches.extend(self.cambi_rest(task, arguments));
        }
    }

    fn cambi_load(&self, variant: usize, task: &CambiTask, layout: &CambiLayout) -> Launch {
        let luma = self.luma();
        let sums = self.layout.sums_layout;
        let flag = sums.cambi(variant) + 2 * CAMBI_SCALES;
        let arguments = Arguments::CambiLoad(CambiLoad {
            picture: luma.distorted,
            frame: luma.frame,
            image: self.at(layout.image.offset),
            mask: self.at(layout.mask.offset),
            area: layout.area as u64,
            above_peak: self.at(self.layout.sums.offset + 8 * flag),
            stride: sums.total as i32,
            pitch: luma.pitch,
            width: luma.width,
            height: luma.height,
            up: 10u32.saturating_sub(task.depth) as i32,
            down: task.depth.saturating_sub(10) as i32,
            undither: i32::from(task.undither),
            halved: i32::from(task.halved),
            threshold: i32::from(task.mask_threshold),
            peak: task.peak().unwrap_or(0) as i32,
        });
        let kernel = if self.is_wide() { Kernel::CambiLoadU16 } else { Kernel::CambiLoadU8 };
        let [across, down] = CAMBI_LOAD_TILE.map(|side| side as u32);
        let grid =
            [(luma.width as u32).div_ceil(across), (luma.height as u32).div_ceil(down), self.pairs as u32];
        Launch { kernel, grid, threads: THREADS, arguments }
    }

    fn cambi_arguments(&self, variant: usize, task: &CambiTask, layout: &CambiLayout) -> Cambi {
        let sums = self.layout.sums_layout;
        let tables = |start: usize| self.tables + 4 * start as u64;
        let each = |value: &dyn Fn(usize) -> usize| std::array::from_fn(|scale| value(scale) as i32);
        Cambi {
            image: self.at(layout.image.offset),
            mask: self.at(layout.mask.offset),
            level: self.at(layout.level.offset),
            strength: self.at(layout.strength.offset),
            area: layout.area as u64,
            reciprocal: tables(0),
            active: tables(active_start(self.work, variant)),
            counters: self.at(layout.counters.offset),
            counters_frame: (layout.counters.part / 4) as u64,
            partial: self.at(layout.partial.offset),
            partial_frame: (layout.partial.part / 8) as u64,
            sums: self.at(self.layout.sums.offset + 8 * sums.cambi(variant)),
            stride: sums.total as i32,
            scale: 0,
            width: each(&|scale| task.scales[scale][0]),
            height: each(&|scale| task.scales[scale][1]),
            offset: each(&|scale| layout.offsets[scale]),
            first_tile: each(&|scale| task.scales[..scale].iter().map(tiles).sum()),
            count: each(&|scale| task.counts[scale]),
            window: task.window as i32,
            base: i32::from(task.base),
            levels: task.active.len() as i32,
        }
    }

    fn cambi_filter(&self, scale: usize, task: &CambiTask, arguments: Cambi) -> Launch {
        let [width, height] = task.scales[scale].map(|side| side as u32);
        let grid = [width.div_ceil(THREADS), height, self.pairs as u32];
        let arguments = Arguments::Cambi(Cambi { scale: scale as i32, ..arguments });
        Launch { kernel: Kernel::CambiFilter, grid, threads: THREADS, arguments }
    }

    /// Contrast of all scales, and the sums of the strongest.
    fn cambi_rest(&self, task: &CambiTask, arguments: Cambi) -> [Launch; 4] {
        let (arguments, pairs) = (Arguments::Cambi(arguments), self.pairs as u32);
        let tiles: usize = task.scales.iter().map(tiles).sum();
        let chunks = (task.scales[0][0] * task.scales[0][1]).div_ceil(CAMBI_CHUNK) as u32;
        let launch = |kernel, grid| Launch { kernel, grid, threads: THREADS, arguments };
        let scales = CAMBI_SCALES as u32;
        [
            launch(Kernel::CambiContrast, [tiles as u32, 1, pairs]),
            launch(Kernel::CambiCoarse, [chunks, scales, pairs]),
            launch(Kernel::CambiFine, [chunks, scales, pairs]),
            launch(Kernel::CambiTotal, [scales, 1, pairs]),
        ]
    }

    pub(super) fn speed(&self, launches: &mut Vec<Launch>) {
        for (variant, task) in self.work.speed.iter().enumerate() {
            let arguments = Arguments::Speed(self.speed_arguments(variant, task));
            let planes = (SPEED_PLANES * self.pairs) as u32;
            let blocks = ((task.decimated[0] * task.decimated[1]) as u32).div_ceil(THREADS);
            let kernel = if self.is_wide() { Kernel::SpeedFrontU16 } else { Kernel::SpeedFrontU8 };
            launches.push(Launch { kernel, grid: [blocks, 1, planes], threads: THREADS, arguments });
            let (kernel, threads) = (Kernel::SpeedStatistic, SPEED_THREADS);
            launches.push(Launch { kernel, grid: [1, 1, planes], threads, arguments });
        }
    }

    fn speed_arguments(&self, variant: usize, task: &SpeedTask) -> Speed {
        let (layout, sums) = (self.layout, self.layout.sums_layout);
        let (mut taps, mut local) = ([[0.0; SPEED_TAPS / 7]; 7], [0.0; SPEED_LOCAL_TAPS]);
        taps.as_flattened_mut()[..task.antialias.len()].copy_from_slice(&task.antialias);
        local[..task.local_mean.len()].copy_from_slice(&task.local_mean);
        Speed {
            planes: self.at(layout.chroma_planes.offset),
            plane: layout.chroma_plane_bytes() as u64,
            frame: layout.chroma_planes.part as u64,
            decimated: self.at(layout.speed[variant].offset),
            results: self.at(layout.sums.offset + 8 * sums.speed(variant)),
            results_frame: 2 * sums.total as u64,
            result: sums.speed_plane() as i32,
            pitch: layout.chroma.pitch as i32,
            width: task.plane[0] as i32,
            height: task.plane[1] as i32,
            out_width: task.decimated[0] as i32,
            out_height: task.decimated[1] as i32,
            field_width: task.field[0] as i32,
            field_height: task.field[1] as i32,
            tap_count: task.antialias.len() as i32,
            local_count: task.local_mean.len() as i32,
            factor: task.factor,
            taps,
            local,
            unused: 0,
        }
    }
}

/// Tiles of a scale.
fn tiles(size: &[usize; 2]) -> usize {
    size[0].div_ceil(CAMBI_TILE) * size[1].div_ceil(CAMBI_TILE)
}
