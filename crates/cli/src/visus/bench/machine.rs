//! What the machine is called.

/// The processor and how many of its cores there are.
pub fn name() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    format!("{}, {cores} core{plural}", processor_name())
}

pub fn processor_name() -> String {
    processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// The processor's name where the system tells (Linux on x86-64).
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
