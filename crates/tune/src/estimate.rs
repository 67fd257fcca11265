//! Estimates how long a run will take before it starts: from speeds measured here before, else from typical ones.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cache::{Cache, Key};
use crate::encode::Recipe;
use crate::event::Estimate;
use crate::source::Source;

/// Megapixels per second that the engine scores on one core, beside an encoder.
const SCORING: f64 = 60.0;
/// Bits per pixel of a good encode, for the space it takes.
const BITS_PER_PIXEL: f64 = 0.2;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    megapixels_per_second: f64,
}

fn key(recipe: &Recipe) -> Key {
    Key::new(json!({ "kind": "speed", "encoder": recipe.adapter.name, "preset": recipe.choices.preset }))
}

/// Remembers how fast an encoder was.
pub(crate) fn remember(cache: &Cache, recipe: &Recipe, megapixels: f64, seconds: f64) {
    if seconds < 0.05 || megapixels <= 0.0 {
        return;
    }
    let now = megapixels / seconds;
    let before = cache.get::<Seen>(&key(recipe)).map_or(now, |seen| seen.megapixels_per_second);
    // A speed that cannot be kept only makes the next estimate worse.
    let _ = cache.put(&key(recipe), &Seen { megapixels_per_second: 0.7 * before + 0.3 * now });
}

/// What `encodes` encodes of `frames` frames each will take with these recipes, one after another.
pub(crate) fn estimate(
    cache: &Cache,
    source: &Source,
    recipes: &[Recipe],
    encodes: usize,
    frames: u64,
) -> Estimate {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let display = megapixels(source.size()) * frames as f64;
    let mut estimate = Estimate { basis: "speeds seen here before".to_owned(), ..Estimate::default() };
    for recipe in recipes {
        let size = recipe.size.unwrap_or(source.size());
        let coded = megapixels(size) * frames as f64;
        let seen = cache.get::<Seen>(&key(recipe));
        if seen.is_none() {
            estimate.basis = "usual speeds of these encoders".to_owned();
        }
        let adapter = recipe.adapter;
        let usual = adapter.megapixels_per_second * if adapter.hardware { 1.0 } else { cores };
        let speed = seen.map_or(usual, |seen| seen.megapixels_per_second).max(0.01);
        let seconds = coded / speed + display / (SCORING * cores);
        estimate.seconds += seconds * encodes as f64;
        estimate.disk_bytes += (coded * 1e6 * BITS_PER_PIXEL / 8.0) as u64;
    }
    estimate.encodes = encodes * recipes.len();
    estimate.frames = frames * estimate.encodes as u64;
    estimate.cpu_seconds = estimate.seconds * cores;
    estimate
}

pub(crate) fn megapixels(size: (u32, u32)) -> f64 {
    f64::from(size.0) * f64::from(size.1) / 1e6
}
