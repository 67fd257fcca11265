//! Hypotheses about the edit as a whole, weighed against each other.
//!
//! Every frame once, each phase of the cadence that the frame rates suggest, what timestamps say, and frames that are dropped or
//! doubled all the time: each is a [`Model`] with prices of its own, weighed at several lags of the encode ([`lag`]), and the one
//! that costs least explains the file. What
//! the others say of a frame is an alternative like those within the chosen one: the nearest of all decides how certain a
//! pair is.

use crate::sync::cadence::Cadence;
use crate::sync::changes::Changes;
use crate::sync::evidence::{Evidence, Terms};
use crate::sync::lag::{self, LAGS, Steps};
use crate::sync::look::{Look, is_same};
use crate::sync::model::{Model, Rival, State, Way};
use crate::sync::plan::Prior;
use crate::sync::prices::Prices;

/// How much farther (as a logarithm) a pair may be than the nearest at no loss, where lengths and times agree; and where it is
/// asked what the pictures alone would say.
const STRICT_SLACK: f32 = 0.8;
const SLACK: f32 = 0.05;
/// What it costs to explain videos of different frame rates without a cadence, and to believe timestamps.
const NO_CADENCE: f32 = 6.0;
const TIMESTAMPS: f32 = 1.0;
/// An alternative that costs less than this beyond the chosen way makes a frame doubtful.
pub const DOUBTFUL: f32 = 6.0;
/// Where lengths and times agree: how much cheaper an edit must be by the pictures alone to be as likely as none.
const AGREEMENT: f32 = 12.0;

/// One explanation to weigh.
#[derive(Clone)]
struct Hypothesis {
    cadence: Cadence,
    prices: Prices,
    /// What it costs to assume it.
    once: f32,
    slack: f32,
    /// By which share of a frame the distorted video is late.
    lag: f32,
}

/// The cheapest explanation.
pub struct Chosen {
    pub cadence: Cadence,
    pub states: Vec<State>,
    /// The nearest alternative of every frame that shows another picture.
    pub rivals: Vec<Rival>,
}

/// Two videos and what is known of them.
struct Weighing<'a> {
    look: &'a dyn Look,
    prior: &'a Prior,
    changes: Changes,
    steps: Steps,
}

/// Finds the explanation that costs least; `None` if one of the videos is empty.
pub fn weigh(look: &dyn Look, prior: &Prior) -> Option<Chosen> {
    let (reference, distorted) = look.lengths();
    if reference == 0 || distorted == 0 {
        return None;
    }
    Weighing { look, prior, changes: Changes::new(look), steps: Steps::new(look) }.choose()
}

impl Weighing<'_> {
    fn choose(&self) -> Option<Chosen> {
        let mut all = Vec::new();
        for cadence in cadences(self.prior) {
            all.extend(self.at_all_lags(cadence)?);
        }
        let best = all.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (least, chosen, way) = (best.0, best.1.clone(), best.2.clone());
        let place = |(frame, state): (usize, &State)| {
            let place = chosen.cadence.due(frame) as i32 + state.offset;
            state.paired.then_some(place)
        };
        let places: Vec<Option<i32>> = way.states.iter().enumerate().map(place).collect();
        let near = all.iter().filter(|(cost, ..)| *cost < least + DOUBTFUL);
        let mut rivals = Vec::new();
        for (_, one, _) in near {
            let evidence = self.evidence(one)?;
            let found = self.with_model(one, &evidence, |model| model.rivals(&places, least - one.once));
            merge(&mut rivals, found);
        }
        if self.prior.agree && !self.prior.watching {
            merge(&mut rivals, self.without_agreement(&way, &places));
        }
        Some(Chosen { cadence: chosen.cadence, states: way.states, rivals })
    }

    /// The cheapest way with a cadence at every lag; and with frames that are dropped or doubled all the time, at the best lag.
    fn at_all_lags(&self, (cadence, once): (Cadence, f32)) -> Option<Vec<(f32, Hypothesis, Way)>> {
        let (prices, slack) = if self.prior.agree {
            (Prices::strict(self.prior.watching), STRICT_SLACK)
        } else {
            (Prices::OPEN, 0.0)
        };
        let lags = self.lags();
        let one = |lag: &f32| Hypothesis {
            cadence: cadence.clone(),
            prices,
            once: once + lag::PRICE * lag,
            slack,
            lag: *lag,
        };
        let mut all = Vec::new();
        let evidence = self.evidence_at(&cadence, lags, slack);
        for (one, evidence) in lags.iter().map(one).zip(&evidence) {
            let way = self.with_model(&one, evidence, |model| model.cheapest())?;
            all.push((way.cost + one.once, one, way));
        }
        if !self.prior.agree {
            let best = (0..all.len()).min_by(|a, b| all[*a].0.total_cmp(&all[*b].0))?;
            let one = all[best].1.clone();
            let busy = Hypothesis { prices: Prices::BUSY, once: one.once + Prices::BUSY_ONCE, ..one };
            let way = self.with_model(&busy, &evidence[best], |model| model.cheapest())?;
            all.push((way.cost + busy.once, busy, way));
        }
        Some(all)
    }

    /// Where nothing should have been edited, what the pictures alone would say, at the lag that explains that best.
    fn without_agreement(&self, way: &Way, places: &[Option<i32>]) -> Vec<Rival> {
        let evidence = self.evidence_at(&Cadence::PLAIN, &LAGS, SLACK);
        let open = |lag: f32| Hypothesis {
            cadence: Cadence::PLAIN,
            prices: Prices::OPEN,
            once: 0.0,
            slack: SLACK,
            lag,
        };
        let cost = |(lag, evidence): (&f32, &Evidence)| {
            lag::PRICE * lag + self.with_model(&open(*lag), evidence, |model| model.cost_of(&way.states))
        };
        let costs: Vec<f32> = LAGS.iter().zip(&evidence).map(cost).collect();
        let best = (0..LAGS.len())
            .min_by(|a, b| costs[*a].total_cmp(&costs[*b]))
            .filter(|at| costs[*at].is_finite());
        let Some(best) = best else { return Vec::new() };
        let (lag, cost) = (LAGS[best], costs[best] - lag::PRICE * LAGS[best]);
        self.with_model(&open(lag), &evidence[best], |model| model.rivals(places, cost - AGREEMENT))
    }

    /// The lags that are weighed. Where little differences do not count, a lag does not.
    fn lags(&self) -> &'static [f32] {
        if self.prior.agree { &LAGS[..1] } else { &LAGS }
    }

    fn evidence(&self, one: &Hypothesis) -> Option<Evidence> {
        // All lags are needed to know the nearest of every frame.
        let lags = self.lags();
        let at = lags.iter().position(|lag| *lag == one.lag)?;
        Some(self.evidence_at(&one.cadence, lags, one.slack).swap_remove(at))
    }

    fn evidence_at(&self, cadence: &Cadence, lags: &[f32], slack: f32) -> Vec<Evidence> {
        let (reference, distorted) = self.look.lengths();
        let same_end = reference as i32 - 1 - cadence.due(distorted - 1) as i32;
        let terms = Terms { slack, always: &[0, same_end], known: self.prior.noise, steps: &self.steps };
        Evidence::at_lags(self.look, cadence, lags, &terms)
    }

    fn with_model<T>(
        &self,
        one: &Hypothesis,
        evidence: &Evidence,
        use_it: impl FnOnce(&Model<'_>) -> T,
    ) -> T {
        let prior = self.prior;
        let prices = if prior.going_on { one.prices.going_on() } else { one.prices };
        let prices = if prior.open_ended { prices.open_ended() } else { prices };
        let same = |a: i32, b: i32| is_same(self.look, a, b);
        use_it(&Model {
            evidence,
            cadence: &one.cadence,
            prices,
            lengths: self.look.lengths(),
            going_on: prior.going_on,
            changes: &self.changes,
            same: &same,
        })
    }
}

/// Cadences to weigh, and what it costs to assume each.
fn cadences(prior: &Prior) -> Vec<(Cadence, f32)> {
    let phases = match prior.rates {
        [Some(reference), Some(distorted)] => Cadence::of_rates(reference, distorted),
        _ => Vec::new(),
    };
    let plain = if phases.is_empty() { 0.0 } else { NO_CADENCE };
    let mut all = vec![(Cadence::PLAIN, plain)];
    all.extend(phases.into_iter().map(|phase| (phase, 0.0)));
    all.extend(prior.times.clone().map(|places| (Cadence::Timed(places), TIMESTAMPS)));
    all
}

/// Keeps the nearer of two rivals for every frame.
fn merge(all: &mut Vec<Rival>, more: Vec<Rival>) {
    if all.is_empty() {
        *all = more;
        return;
    }
    for (known, new) in all.iter_mut().zip(more) {
        if new.extra < known.extra {
            *known = new;
        }
    }
}
