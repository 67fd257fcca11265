//! CPU workers: each owns extractors and their scratch, made once for the clip.
//!
//! Metrics of one kind that differ in options only may share one extractor; they form a [`MetricGroup`]. Metrics that a
//! device computes have no extractor until a job asks for them after all, which happens when the device has failed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use visus_metrics::{Extractor, GroupExtractor, Level, Metric, MetricError, Spread, Window};

use crate::backend::OpenDevice;
use crate::error::{EngineError, Role, guarded};
use crate::frame_threads::FrameThreads;
use crate::lane::{Job, Jobs, Lane, PartialRow, RowSender};
use crate::observe::PairObserver;
use crate::{ClipInfo, Plan};

/// What all workers of a run have in common.
#[derive(Clone)]
pub(crate) struct WorkerSetup {
    pub plan: Arc<Plan>,
    pub clip: ClipInfo,
    pub level: Level,
    /// Places of the metrics that a device computes.
    pub on_device: Arc<[usize]>,
    /// Looks at every pair, unless a device computes.
    pub observer: Option<Arc<dyn PairObserver>>,
}

/// The extractors and scratch of one thread.
pub(crate) struct Worker {
    setup: WorkerSetup,
    groups: Vec<Mutex<MetricGroup>>,
    threads: FrameThreads,
}

impl WorkerSetup {
    /// Fails if a metric that a device takes refuses the clip; workers would not notice.
    pub fn new(
        plan: &Arc<Plan>,
        clip: ClipInfo,
        level: Level,
        device: Option<&OpenDevice>,
        observer: Option<&Arc<dyn PairObserver>>,
    ) -> Result<Self, MetricError> {
        let on_device = device.map_or_else(|| Arc::from([]), |device| Arc::clone(&device.places));
        let observer = observer.filter(|_| device.is_none()).cloned();
        let setup = Self { plan: Arc::clone(plan), clip, level, on_device, observer };
        setup.on_device.iter().try_for_each(|place| setup.extractor(*place).map(drop))?;
        Ok(setup)
    }

    /// Fails if a metric refuses the clip. Threads that share the work on a frame are for frames that are few and large.
    pub fn worker(&self, threads: &FrameThreads) -> Result<Worker, MetricError> {
        let mut groups = Vec::new();
        for places in self.plan.places_by_kind() {
            let (later, now): (Vec<_>, Vec<_>) =
                places.into_iter().partition(|place| self.on_device.contains(place));
            groups.extend(later.into_iter().map(MetricGroup::deferred));
            groups.extend(MetricGroup::of_kind(self, &now)?);
        }
        let groups = groups.into_iter().map(Mutex::new).collect();
        Ok(Worker { setup: self.clone(), groups, threads: threads.clone() })
    }

    fn metric(&self, place: usize) -> &dyn Metric {
        &*self.plan.metrics[place].metric
    }

    fn extractor(&self, place: usize) -> Result<Compute, MetricError> {
        Ok(Compute::Single(self.metric(place).extractor(&self.clip, self.level)?))
    }
}

/// Metrics of one kind and what computes them: their places in the plan, and one extractor for all or each its own.
struct MetricGroup {
    places: Vec<usize>,
    /// Missing until a job needs it.
    compute: Option<Compute>,
}

enum Compute {
    Joint(Box<dyn GroupExtractor>),
    Single(Box<dyn Extractor>),
}

impl MetricGroup {
    /// A metric that is left to a device for now.
    fn deferred(place: usize) -> Self {
        Self { places: vec![place], compute: None }
    }

    /// Metrics of one kind together if the kind can do that, else apart.
    fn of_kind(setup: &WorkerSetup, places: &[usize]) -> Result<Vec<Self>, MetricError> {
        let group: Vec<&dyn Metric> = places.iter().map(|place| setup.metric(*place)).collect();
        let joint = match &group[..] {
            [first, _, ..] => first.group_extractor(&group, &setup.clip, setup.level),
            _ => None,
        };
        match joint {
            Some(extractor) => {
                let compute = Some(Compute::Joint(extractor?));
                Ok(vec![Self { places: places.to_vec(), compute }])
            }
            None => {
                let single = |place: &usize| {
                    Ok(Self { places: vec![*place], compute: Some(setup.extractor(*place)?) })
                };
                places.iter().map(single).collect()
            }
        }
    }

    /// Whether a job needs this group's numbers.
    fn is_wanted(&self, job: &Job, plan: &Plan) -> bool {
        let wanted =
            |place: &usize| job.ticket.places.contains(place) && job.ticket.wants(&plan.metrics[*place]);
        self.places.iter().any(wanted)
    }

    /// A row for each of its metrics.
    fn extract(
        &mut self,
        window: &Window<'_>,
        setup: &WorkerSetup,
        threads: &FrameThreads,
    ) -> Result<Vec<Vec<f64>>, MetricError> {
        let empty = |place: &usize| vec![0.0; setup.metric(*place).raw_len()];
        let mut rows: Vec<Vec<f64>> = self.places.iter().map(empty).collect();
        let compute = match &mut self.compute {
            Some(compute) => compute,
            missing => missing.insert(setup.extractor(self.places[0])?),
        };
        match compute {
            Compute::Single(extractor) => extractor.extract_spread(window, &mut rows[0], threads)?,
            Compute::Joint(extractor) => {
                let mut slices: Vec<&mut [f64]> = rows.iter_mut().map(|row| &mut row[..]).collect();
                extractor.extract(window, &mut slices, threads)?;
            }
        }
        Ok(rows)
    }
}

impl Worker {
    /// The raw numbers of one job. A panic in a metric is an error.
    pub fn row(&mut self, job: &Job) -> Result<PartialRow, EngineError> {
        guarded(&Role::Worker, || Ok(self.compute(job)?))
    }

    fn compute(&mut self, job: &Job) -> Result<PartialRow, MetricError> {
        let window = job.window();
        if let Some(observer) = &self.setup.observer {
            observer.observe(window.index, window.current);
        }
        let plan = &*self.setup.plan;
        let rows: Mutex<Vec<Result<Vec<Vec<f64>>, MetricError>>> =
            Mutex::new(vec![Ok(Vec::new()); self.groups.len()]);
        // Each group has one piece, so no lock is ever waited for.
        self.threads.each(self.groups.len(), &|piece| {
            let mut group = lock(&self.groups[piece]);
            if group.is_wanted(job, plan) {
                let row = group.extract(&window, &self.setup, &self.threads);
                lock(&rows)[piece] = row;
            }
        });
        let mut by_place = vec![Vec::new(); plan.metrics.len()];
        let rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (group, rows) in self.groups.iter_mut().zip(rows) {
            let places = &group.get_mut().unwrap_or_else(PoisonError::into_inner).places;
            for (place, row) in places.iter().zip(rows?) {
                by_place[*place] = row;
            }
        }
        let values = job.ticket.places.iter().map(|place| std::mem::take(&mut by_place[*place])).collect();
        Ok(job.ticket.clone().row(values))
    }
}

impl Lane for Worker {
    fn work(&mut self, jobs: &mut dyn Jobs, rows: &RowSender) -> Result<(), EngineError> {
        while let Some(job) = jobs.next() {
            let row = self.row(&job)?;
            // Frames go back to their pools before the next job is taken.
            drop(job);
            if !rows.send(row) {
                break;
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        1
    }
}

/// A panic in a group ends the whole run; until then its data are not looked at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
