//! Hypotheses about the edit as a whole, weighed against each other.
//!
//! Every frame once, each phase of the cadence that the frame rates suggest, what timestamps say, and frames that are dropped or
//! doubled all the time: each is a [`Model`] with prices of its own, and the one that costs least explains the file. What
//! the others say of a frame is an alternative like those within the chosen one: the nearest of all decides how certain a
//! pair is.

use crate::sync::cadence::Cadence;
use crate::sync::changes::Changes;
use crate::sync::evidence::Evidence;
use crate::sync::look::{Look, is_same};
use crate::sync::model::{Model, Prices, Rival, State, Way};
use crate::sync::plan::Prior;

/// How much farther (as a logarithm) a pair may be than the nearest at no loss; and where lengths and times agree.
const SLACK: f32 = 0.05;
const STRICT_SLACK: f32 = 0.8;
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
}

/// Finds the explanation that costs least; `None` if one of the videos is empty.
pub fn weigh(look: &dyn Look, prior: &Prior) -> Option<Chosen> {
    let (reference, distorted) = look.lengths();
    if reference == 0 || distorted == 0 {
        return None;
    }
    Weighing { look, prior, changes: Changes::new(look) }.choose()
}

impl Weighing<'_> {
    fn choose(&self) -> Option<Chosen> {
        let mut all = Vec::new();
        for cadence in cadences(self.prior) {
            let group = self.regimes(cadence);
            let evidence = self.evidence(group.first()?);
            for one in group {
                let way = self.with_model(&one, &evidence, |model| model.cheapest())?;
                all.push((way.cost + one.once, one, way));
            }
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
            let evidence = self.evidence(one);
            let found = self.with_model(one, &evidence, |model| model.rivals(&places, least - one.once));
            merge(&mut rivals, found);
        }
        if self.prior.agree && !self.prior.watching {
            merge(&mut rivals, self.without_agreement(&way, &places));
        }
        Some(Chosen { cadence: chosen.cadence, states: way.states, rivals })
    }

    /// Where nothing should have been edited, what the pictures alone would say.
    fn without_agreement(&self, way: &Way, places: &[Option<i32>]) -> Vec<Rival> {
        let open = Hypothesis { cadence: Cadence::PLAIN, prices: Prices::OPEN, once: 0.0, slack: SLACK };
        let evidence = self.evidence(&open);
        self.with_model(&open, &evidence, |model| {
            let cost = model.cost_of(&way.states);
            if cost.is_finite() { model.rivals(places, cost - AGREEMENT) } else { Vec::new() }
        })
    }

    fn evidence(&self, one: &Hypothesis) -> Evidence {
        let (reference, distorted) = self.look.lengths();
        let same_end = reference as i32 - 1 - one.cadence.due(distorted - 1) as i32;
        Evidence::new(self.look, &one.cadence, one.slack, &[0, same_end], self.prior.noise)
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

    /// How edits may be spread, with one cadence.
    fn regimes(&self, (cadence, once): (Cadence, f32)) -> Vec<Hypothesis> {
        let regime = |prices: Prices, more: f32, slack: f32| Hypothesis {
            cadence: cadence.clone(),
            prices,
            once: once + more,
            slack,
        };
        if self.prior.agree {
            return vec![regime(Prices::strict(self.prior.watching), 0.0, STRICT_SLACK)];
        }
        vec![regime(Prices::OPEN, 0.0, SLACK), regime(Prices::BUSY, Prices::BUSY_ONCE, SLACK)]
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
