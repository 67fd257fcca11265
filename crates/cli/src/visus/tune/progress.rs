//! What people see while encodes are made: a line for what runs now, and one for everything that was measured.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use visus_tune::Event;

/// Draws events on standard error.
pub struct Progress {
    bar: ProgressBar,
    quiet: bool,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} frames  {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, quiet }
    }

    pub fn event(&self, event: Event) {
        match event {
            Event::Estimate(estimate) => self.say(&format!(
                "at most {} encodes, about {} ({})",
                estimate.encodes,
                time(estimate.seconds),
                estimate.basis
            )),
            Event::Part { name, index, of } => self.bar.set_message(format!("{name}, {} of {of}", index + 1)),
            Event::Encoding { job, done, total } => self.step(format!("encoding {job}"), done, total),
            Event::Scoring { job, done, total } => self.step(format!("scoring {job}"), done, total),
            Event::Looking { done, total } => self.step("looking for shots".to_owned(), done, total),
            Event::Measured { job, quality, score, kbps, cached } => {
                let cached = if cached { "  (known)" } else { "" };
                self.say(&format!("  {job:<14} {quality:>3}  {score:>6.2}  {kbps:>8.0} kbit/s{cached}"));
            }
            Event::Warning(text) => self.say(&format!("visus: warning: {text}")),
            _ => {}
        }
    }

    fn step(&self, message: String, done: u64, total: u64) {
        self.bar.set_length(total.max(done));
        self.bar.set_position(done);
        self.bar.set_message(message);
    }

    /// Above the bar; without a terminal, plainly.
    fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        if self.bar.is_hidden() { eprintln!("{text}") } else { self.bar.println(text) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        ..2.0 => "a second".to_owned(),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
