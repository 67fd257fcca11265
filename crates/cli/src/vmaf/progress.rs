//! The meter on a terminal.

use std::io::Write;
use std::time::Instant;

use visus_engine::{Event, Flow, Sink};

const SPINNER: [&str; 8] = ["⣷", "⣯", "⣟", "⡿", "⢿", "⣻", "⣽", "⣾"];

/// Frames and frames per second, drawn over itself.
#[derive(Debug)]
pub struct Meter {
    shown: bool,
    started: Instant,
    fps: f64,
}

impl Meter {
    pub fn new(shown: bool) -> Self {
        Self { shown, started: Instant::now(), fps: 0.0 }
    }

    /// Leaves the line.
    pub fn finish(&self) {
        if self.shown {
            eprintln!();
        }
    }
}

impl Sink for Meter {
    fn event(&mut self, event: Event<'_>) -> Flow {
        let Event::Progress { done } = event else { return Flow::Continue };
        if self.shown {
            if done > 1 && done % 10 == 1 {
                self.fps = done as f64 / self.started.elapsed().as_secs_f64();
            }
            let plural = if done > 1 { "s" } else { " " };
            let spinner = SPINNER[done as usize % SPINNER.len()];
            eprint!("\r{done} frame{plural} {spinner} {:.2} FPS\u{1b}[K", self.fps);
            let _ = std::io::stderr().flush();
        }
        Flow::Continue
    }
}
