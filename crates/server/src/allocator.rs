//! Memory that is freed goes back to the system.
//!
//! glibc's allocator raises, as large blocks are freed, the size from which on a block is mapped by itself, up to 32 MiB. From
//! then on frames and buffers lie between small blocks that live long, such as results that are kept, and their memory cannot
//! be given back: a server that had kept 7 MiB of results held 196 MiB after 600 requests, and 79 MiB with a fixed size. The
//! size can be fixed only by a call that is not safe Rust, or by variables that glibc reads when a process starts. So a server
//! starts itself once more, in the same process, with those variables. Other C libraries do not read them.

/// Variables that fix the sizes from which on blocks are mapped, and from which on the end of the heap is given back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FIXED: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

/// To be called before anything else: the program begins again, unless the variables are set, by itself or by somebody who
/// knows better. Where it cannot, it goes on and takes more memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn fix_thresholds() {
    use std::os::unix::process::CommandExt;
    let tuned = |name: &str| std::env::var_os(name).is_some();
    if FIXED.iter().any(|(name, _)| tuned(name)) || tuned("GLIBC_TUNABLES") {
        return;
    }
    let mut words = std::env::args_os();
    let (Some(name), Ok(program)) = (words.next(), std::env::current_exe()) else { return };
    let _ = std::process::Command::new(program).arg0(name).args(words).envs(FIXED).exec();
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn fix_thresholds() {}
