//! What a child may touch: the part of a [`ChildCommand`](crate::ChildCommand) that its supervisor enforces.
//!
//! A policy travels to the supervisor as arguments before `--`. Files that are named through our own table of open files
//! (`/proc/PID/fd/N`) are *handles*: the supervisor opens them before anything is restricted, and the child finds them
//! under fixed numbers of its own table. A confined process may not look into the table of another one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The number under which a child finds its first handle; the others follow.
pub(crate) const FIRST_HANDLE: i32 = 64;
/// Ends the policy among a supervisor's arguments.
pub(crate) const END: &str = "--";

/// What a child may touch beyond the program itself and the libraries of the system. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Files, or folders with all they hold, that may be read.
    pub read: Vec<PathBuf>,
    /// Files, or folders with all they hold, that may be read and written.
    pub write: Vec<PathBuf>,
    /// Bytes of memory of one process.
    pub memory: Option<u64>,
    /// Bytes of one written file. Without it a child that may write nothing gets 0, any other no limit.
    pub file_bytes: Option<u64>,
    /// Graphics devices may be used. Their drivers map far more addresses than memory, and speak through local sockets.
    pub devices: bool,
}

/// A file that is handed over open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// Where the supervisor opens it.
    pub path: PathBuf,
    pub writable: bool,
}

/// A policy as it travels: handles apart from paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    pub handles: Vec<Handle>,
    pub sandbox: Sandbox,
}

impl Policy {
    pub fn new(sandbox: &Sandbox) -> Self {
        let mut policy = Self { handles: Vec::new(), sandbox: sandbox.clone() };
        let ours = format!("/proc/{}/fd", std::process::id());
        for (paths, writable) in [(&mut policy.sandbox.read, false), (&mut policy.sandbox.write, true)] {
            paths.retain(|path| {
                let is_handle = path.parent() == Some(Path::new(&ours));
                if is_handle {
                    policy.handles.push(Handle { path: path.clone(), writable });
                }
                !is_handle
            });
        }
        policy
    }

    /// Our name and the child's name of each handle.
    pub fn names(&self) -> Vec<(String, String)> {
        let own = |(number, handle): (i32, &Handle)| {
            (handle.path.to_string_lossy().into_owned(), format!("/proc/self/fd/{number}"))
        };
        (FIRST_HANDLE..).zip(&self.handles).map(own).collect()
    }

    /// An argument as the child has to get it: with its own names of handles.
    pub fn translated(&self, argument: &OsStr) -> OsString {
        match argument.to_str() {
            Some(text) => self
                .names()
                .iter()
                .fold(text.to_owned(), |text, (ours, theirs)| replace_path(&text, ours, theirs))
                .into(),
            None => argument.to_owned(),
        }
    }

    /// The arguments that [`Self::parse`] understands.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut args = Vec::new();
        let mut pair = |name: &str, value: &OsStr| args.extend([OsString::from(name), value.to_owned()]);
        for handle in &self.handles {
            pair(if handle.writable { "--write-handle" } else { "--read-handle" }, handle.path.as_os_str());
        }
        self.sandbox.read.iter().for_each(|path| pair("--read", path.as_os_str()));
        self.sandbox.write.iter().for_each(|path| pair("--write", path.as_os_str()));
        for (name, value) in [("--memory", self.sandbox.memory), ("--file-bytes", self.sandbox.file_bytes)] {
            if let Some(value) = value {
                pair(name, value.to_string().as_ref());
            }
        }
        if self.sandbox.devices {
            args.push("--devices".into());
        }
        args
    }

    /// Reads a policy and leaves what stands behind its end. `None` if it is not one.
    pub fn parse(args: &mut impl Iterator<Item = OsString>) -> Option<Self> {
        let mut policy = Self::default();
        loop {
            let name = args.next()?;
            let mut path = || args.next().map(PathBuf::from);
            match name.to_str()? {
                END => return Some(policy),
                "--read-handle" => policy.handles.push(Handle { path: path()?, writable: false }),
                "--write-handle" => policy.handles.push(Handle { path: path()?, writable: true }),
                "--read" => policy.sandbox.read.push(path()?),
                "--write" => policy.sandbox.write.push(path()?),
                "--memory" => policy.sandbox.memory = Some(args.next()?.to_str()?.parse().ok()?),
                "--file-bytes" => policy.sandbox.file_bytes = Some(args.next()?.to_str()?.parse().ok()?),
                "--devices" => policy.sandbox.devices = true,
                _ => return None,
            }
        }
    }
}

/// Replaces a path where it stands as a whole: `/proc/1/fd/1` is also the beginning of `/proc/1/fd/12`.
pub(crate) fn replace_path(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, found) = rest.split_at(at);
        let after = &found[from.len()..];
        out.push_str(before);
        out.push_str(if after.starts_with(|c: char| c.is_ascii_digit()) { from } else { to });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_arrives_as_it_was_sent() {
        let handle = format!("/proc/{}/fd/7", std::process::id());
        let sandbox = Sandbox {
            read: vec![PathBuf::from(&handle), PathBuf::from("--a b")],
            write: vec![PathBuf::from("/w")],
            memory: Some(1 << 30),
            file_bytes: Some(5),
            devices: true,
        };
        let policy = Policy::new(&sandbox);
        assert_eq!(policy.handles, [Handle { path: PathBuf::from(&handle), writable: false }]);
        let mut words = policy.arguments();
        words.extend([END, "program", "--read"].map(OsString::from));
        let mut words = words.into_iter();
        assert_eq!(Policy::parse(&mut words), Some(policy.clone()));
        assert_eq!(words.collect::<Vec<_>>(), ["program", "--read"]);
        let argument = format!("file:{handle}");
        assert_eq!(policy.translated(OsStr::new(&argument)), "file:/proc/self/fd/64");
        assert_eq!(Policy::parse(&mut ["--other".into()].into_iter()), None);
    }

    #[test]
    fn only_whole_paths_are_replaced() {
        assert_eq!(replace_path("a /p/1 b /p/12 /p/1", "/p/1", "X"), "a X b /p/12 X");
    }
}
