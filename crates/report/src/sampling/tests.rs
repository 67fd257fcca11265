//! How often the interval holds the truth, over films that are made as score curves look: shots of their own level, noise that
//! remembers itself within a shot, a saw tooth from key frame to key frame, and scenes that were coded badly.

use super::*;

struct Chance(SplitMix);

impl Chance {
    fn next(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

fn film(seed: u64, frames: usize) -> Vec<f64> {
    shots(seed, frames).0
}

/// The scores, and how much every frame moves: shots in more motion have lower scores, more or less.
fn shots(seed: u64, frames: usize) -> (Vec<f64>, Vec<f64>) {
    let mut luck = Chance(SplitMix(seed ^ 0xABCD));
    let mut motion = Vec::with_capacity(frames + 500);
    let mut chance = Chance(SplitMix(seed));
    let (base, spread) = (80.0 + 15.0 * chance.next(), 2.0 + 5.0 * chance.next());
    let key = [12.0, 48.0, 120.0][(chance.next() * 3.0) as usize];
    let mut scores = Vec::with_capacity(frames + 500);
    while scores.len() < frames {
        let length = 5 + (4.3 + 0.8 * chance.normal()).exp() as usize;
        let bad = if chance.next() < 0.04 { 10.0 + 30.0 * chance.next() } else { 0.0 };
        let (level, mut noise) = (base + spread * chance.normal() - bad, 0.0);
        let moves = base - level + 0.7 * spread * luck.normal();
        for place in 0..length.min(2000) {
            motion.push(moves);
            noise = 0.8 * noise + 0.8 * chance.normal();
            scores.push((level + noise - 1.5 * (place as f64 / key).fract()).clamp(0.0, 100.0));
        }
    }
    scores.truncate(frames);
    motion.truncate(frames);
    (scores, motion)
}

/// Samples until the interval is narrow enough; the interval, and the share of the frames that it took.
fn sampled(film: &[f64], seed: u64, within: f64, of: fn(&Sample) -> Option<Interval>) -> (Interval, f64) {
    narrowed(Sample::new(film.len() as u64, 4, seed), film, within, of)
}

fn narrowed(
    mut sample: Sample,
    film: &[f64],
    within: f64,
    of: fn(&Sample) -> Option<Interval>,
) -> (Interval, f64) {
    loop {
        for range in sample.draw(sample.next_count()) {
            let scores = film[range.start as usize..range.end as usize].to_vec();
            sample.add(&range, scores);
        }
        let interval = of(&sample).unwrap();
        if sample.is_whole() || interval.half() <= within {
            return (interval, sample.scored() as f64 / film.len() as f64);
        }
    }
}

/// Coverage over 24 films of 4 minutes to 80 minutes, each sampled 25 times.
fn coverage(within: f64, of: fn(&Sample) -> Option<Interval>, truth: fn(&[f64]) -> f64) -> (f64, f64) {
    let (mut held, mut all, mut share) = (0, 0, 0.0);
    for number in 0..24u64 {
        let film = film(number, [6_000, 30_000, 120_000][number as usize % 3]);
        let truth = truth(&film);
        for seed in 0..25 {
            let (interval, part) = sampled(&film, 100 * number + seed, within, of);
            held += usize::from((interval.low - 1e-9..=interval.high + 1e-9).contains(&truth));
            (all, share) = (all + 1, share + part);
        }
    }
    (held as f64 / f64::from(all), share / f64::from(all))
}

#[test]
fn the_interval_of_the_mean_holds_the_truth() {
    let mean = |film: &[f64]| film.iter().sum::<f64>() / film.len() as f64;
    for within in [0.5, 1.0] {
        let (held, share) = coverage(within, Sample::mean, mean);
        assert!(held >= 0.95, "within {within}: {held} of the intervals hold the truth");
        assert!(share < 0.25, "within {within}: {share} of the frames were needed");
    }
}

#[test]
fn the_interval_of_the_fifth_percentile_holds_the_truth() {
    let fifth = |film: &[f64]| {
        let mut sorted = film.to_vec();
        sorted.sort_by(f64::total_cmp);
        percentile(&sorted, 5.0)
    };
    let (held, _) = coverage(1.5, |sample| sample.percentile(5.0), fifth);
    assert!(held >= 0.95, "{held} of the intervals hold the truth");
}

/// Eight strata by motion, over 24 films: the interval holds the truth as often, and takes fewer frames.
#[test]
fn strata_of_motion_need_fewer_frames() {
    let (mut held, mut all, mut shares) = (0, 0, [0.0; 2]);
    for number in 0..24u64 {
        let (film, motion) = shots(number, [30_000, 60_000, 120_000][number as usize % 3]);
        let truth = film.iter().sum::<f64>() / film.len() as f64;
        let runs: Vec<f64> = motion.chunks(4).map(|run| run[0]).collect();
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        let class = |moves: &f64| (8 * sorted.partition_point(|other| other < moves) / sorted.len()) as u32;
        let strata: Vec<u32> = runs.iter().map(class).collect();
        for seed in 0..25 {
            let seed = 100 * number + seed;
            let sample = Sample::in_strata(film.len() as u64, 4, seed, &strata);
            let (interval, share) = narrowed(sample, &film, 0.5, Sample::mean);
            held += usize::from((interval.low - 1e-9..=interval.high + 1e-9).contains(&truth));
            all += 1;
            shares[0] += share;
            shares[1] += sampled(&film, seed, 0.5, Sample::mean).1;
        }
    }
    let held = f64::from(held as u32) / f64::from(all);
    let shares = shares.map(|share| share / f64::from(all));
    println!("{:.1} % of {all} intervals hold the truth; shares of the frames: {shares:.4?}", 100.0 * held);
    assert!(held >= 0.95, "{held} of the intervals hold the truth");
    assert!(shares[0] < 0.8 * shares[1], "{shares:?} of the frames were needed");
}

#[test]
fn a_sample_in_strata_is_in_the_order_of_the_film() {
    let strata: Vec<u32> = (0..26).map(|run| run % 3).collect();
    let mut sample = Sample::in_strata(103, 4, 9, &strata);
    for count in [3, 30] {
        for range in sample.draw(count) {
            let scores = range.clone().map(|frame| frame as f64).collect();
            sample.add(&range, scores);
        }
        let scores: Vec<(u64, f64)> = sample.scores().collect();
        assert!(scores.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(scores.iter().all(|(frame, score)| *frame as f64 == *score));
    }
    assert!(sample.is_whole() && sample.scored() == 103);
}

#[test]
fn two_hours_need_less_than_an_eighth() {
    let film = film(77, 172_800);
    let (interval, share) = sampled(&film, 1, 0.5, Sample::mean);
    assert!(interval.half() <= 0.5 && share < 1.0 / 16.0, "{share}");
}

#[test]
fn runs_are_drawn_once_and_all_of_them_at_last() {
    let mut sample = Sample::new(103, 4, 9);
    let mut seen = std::collections::BTreeSet::new();
    loop {
        let runs = sample.draw(5);
        if runs.is_empty() {
            break;
        }
        assert!(runs.windows(2).all(|pair| pair[0].end <= pair[1].start));
        for range in runs {
            assert!(range.clone().all(|frame| seen.insert(frame)));
            let scores = range.clone().map(|frame| frame as f64).collect();
            sample.add(&range, scores);
        }
    }
    assert_eq!(seen.len(), 103);
    assert!(sample.is_whole());
    assert_eq!(sample.mean(), Some(Interval::exact(51.0)));
    assert!(sample.scores().all(|(frame, score)| frame as f64 == score));
}

#[test]
fn early_runs_are_spread() {
    let mut sample = Sample::new(100_000, 4, 3);
    let starts: Vec<u64> = sample.draw(64).iter().map(|range| range.start).collect();
    let widest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(widest < 2 * 100_000 / 64, "{widest}");
}
