//! Workers: windows in, rows of raw numbers out, in any order.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;
use visus_metrics::{
    ClipInfo, Extractor, GroupExtractor, Level, Metric, MetricError, Pair, Reach, Spread, Window,
};

use crate::Plan;
use crate::crew::Crew;
use crate::pair::{FramePair, Job};
use crate::span::Span;

/// One frame's raw numbers: an entry per metric, empty where the metric skipped the frame.
#[derive(Debug)]
pub(crate) struct RawRow {
    pub index: u64,
    /// Outside the span: for the folds that look around, and nobody else.
    pub context: bool,
    pub values: Vec<Vec<f64>>,
}

impl RawRow {
    /// Whether a fold that looks so far wants this row of the span's surroundings.
    pub fn index_is_near(&self, span: &Span, reach: Reach) -> bool {
        let before = self.index < span.from && self.index + reach.before >= span.from;
        let after = span.to.is_some_and(|to| self.index >= to && self.index < to + reach.after);
        before || after
    }
}

/// The extractors and scratch of one thread.
pub(crate) struct Worker<'a> {
    plan: &'a Plan,
    teams: Vec<Mutex<Team>>,
    step: u64,
    crew: Crew,
}

/// Metrics of one kind and what computes them: their places in the plan, and one extractor for all or each its own.
struct Team {
    places: Vec<usize>,
    every_frame: bool,
    /// Some fold of it looks at rows around a part.
    looks_around: bool,
    extractor: TeamExtractor,
}

enum TeamExtractor {
    Joint(Box<dyn GroupExtractor>),
    Single(Box<dyn Extractor>),
}

impl Team {
    fn single(plan: &Plan, place: usize, clip: &ClipInfo, level: Level) -> Result<Self, MetricError> {
        let metric = &plan.metrics[place].metric;
        let extractor = TeamExtractor::Single(metric.extractor(clip, level)?);
        let (every_frame, looks_around) = (metric.needs().every_frame, looks_around(&**metric));
        Ok(Self { places: vec![place], every_frame, looks_around, extractor })
    }

    /// Metrics of one kind together if the kind can do that, else apart.
    fn of_kind(
        plan: &Plan,
        places: &[usize],
        clip: &ClipInfo,
        level: Level,
    ) -> Result<Vec<Self>, MetricError> {
        let group: Vec<&dyn Metric> = places.iter().map(|place| &*plan.metrics[*place].metric).collect();
        let joint = if group.len() > 1 { group[0].group_extractor(&group, clip, level) } else { None };
        match joint {
            Some(extractor) => Ok(vec![Self {
                places: places.to_vec(),
                every_frame: group[0].needs().every_frame,
                looks_around: group.iter().any(|metric| looks_around(*metric)),
                extractor: TeamExtractor::Joint(extractor?),
            }]),
            None => places.iter().map(|place| Self::single(plan, *place, clip, level)).collect(),
        }
    }

    /// A row for each of its metrics.
    fn extract(
        &mut self,
        window: &Window<'_>,
        plan: &Plan,
        crew: &Crew,
    ) -> Result<Vec<Vec<f64>>, MetricError> {
        let empty = |place: &usize| vec![0.0; plan.metrics[*place].metric.raw_len()];
        let mut rows: Vec<Vec<f64>> = self.places.iter().map(empty).collect();
        match &mut self.extractor {
            TeamExtractor::Single(extractor) => extractor.extract_spread(window, &mut rows[0], crew)?,
            TeamExtractor::Joint(extractor) => {
                let mut slices: Vec<&mut [f64]> = rows.iter_mut().map(|row| &mut row[..]).collect();
                extractor.extract(window, &mut slices, crew)?;
            }
        }
        Ok(rows)
    }
}

fn looks_around(metric: &dyn Metric) -> bool {
    metric.reach() != Reach::default()
}

/// The places of the plan's metrics, by kind.
fn kinds(plan: &Plan) -> Vec<Vec<usize>> {
    let mut kinds: Vec<(&str, Vec<usize>)> = Vec::new();
    for (place, planned) in plan.metrics.iter().enumerate() {
        let name = planned.metric.info().name;
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, places)) => places.push(place),
            None => kinds.push((name, vec![place])),
        }
    }
    kinds.into_iter().map(|(_, places)| places).collect()
}

impl<'a> Worker<'a> {
    /// Fails if a metric refuses the clip. More than one hand is for frames that are few and large.
    pub fn new(
        plan: &'a Plan,
        clip: &ClipInfo,
        level: Level,
        step: u64,
        hands: usize,
    ) -> Result<Self, MetricError> {
        let mut teams = Vec::new();
        for places in kinds(plan) {
            teams.extend(Team::of_kind(plan, &places, clip, level)?.into_iter().map(Mutex::new));
        }
        Ok(Self { plan, teams, step: step.max(1), crew: Crew::new(hands) })
    }

    /// Works until there are no more jobs or nobody wants the rows.
    pub fn work(&mut self, jobs: impl Iterator<Item = Job>, rows: &Sender<Result<RawRow, MetricError>>) {
        for job in jobs {
            let row = self.row(&job);
            let failed = row.is_err();
            // Frames go back to their pools before the next job is taken.
            drop(job);
            if rows.send(row).is_err() || failed {
                return;
            }
        }
    }

    /// The raw numbers of one job.
    pub fn row(&mut self, job: &Job) -> Result<RawRow, MetricError> {
        let mut earlier = job.earlier.iter().map(as_pair);
        let window = Window {
            index: job.index,
            current: as_pair(&job.current),
            previous: earlier.next(),
            before_previous: earlier.next(),
        };
        let listed = job.index.is_multiple_of(self.step);
        let rows: Mutex<Vec<Result<Vec<Vec<f64>>, MetricError>>> =
            Mutex::new(vec![Ok(Vec::new()); self.teams.len()]);
        // Each team has one piece, so no lock is ever waited for.
        self.crew.each(self.teams.len(), &|piece| {
            let mut team = lock(&self.teams[piece]);
            if if job.context { team.looks_around } else { listed || team.every_frame } {
                let row = team.extract(&window, self.plan, &self.crew);
                lock(&rows)[piece] = row;
            }
        });
        let mut values = vec![Vec::new(); self.plan.metrics.len()];
        for (team, rows) in
            self.teams.iter_mut().zip(rows.into_inner().unwrap_or_else(PoisonError::into_inner))
        {
            let places = &team.get_mut().unwrap_or_else(PoisonError::into_inner).places;
            for (place, row) in places.iter().zip(rows?) {
                values[*place] = row;
            }
        }
        Ok(RawRow { index: job.index, context: job.context, values })
    }
}

/// A panic in a team ends the whole run; until then its data are not looked at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn as_pair(pair: &FramePair) -> Pair<'_> {
    Pair { reference: &pair.reference, distorted: &pair.distorted }
}
