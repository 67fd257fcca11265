//! Which means against a hostile child this machine has.

/// What is active for children that are started through a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protections {
    /// The version of Landlock's interface; 0 where the kernel has none.
    pub landlock: u32,
    /// System calls are filtered, and sockets cannot be opened.
    pub seccomp: bool,
    /// Memory, files, descriptors and core dumps are limited.
    pub limits: bool,
    /// A child dies with its supervisor, and gains no rights by starting another program.
    pub parent_death: bool,
}

impl Protections {
    /// Looks at what the kernel, and the container around this process, let it do. Takes about a millisecond.
    #[cfg(target_os = "linux")]
    pub fn detect() -> Self {
        use crate::confine::{files, syscalls};
        Self {
            landlock: files::version(),
            seccomp: syscalls::is_available(),
            limits: true,
            parent_death: true,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn detect() -> Self {
        Self { landlock: 0, seccomp: false, limits: cfg!(unix), parent_death: false }
    }

    /// The active ones, by name.
    pub fn active(&self) -> Vec<String> {
        let landlock = (self.landlock > 0).then(|| format!("landlock-v{}", self.landlock));
        let flags =
            [("seccomp", self.seccomp), ("rlimits", self.limits), ("parent-death", self.parent_death)];
        let flags = flags.into_iter().filter(|(_, active)| *active).map(|(name, _)| name.to_owned());
        landlock.into_iter().chain(flags).collect()
    }
}
