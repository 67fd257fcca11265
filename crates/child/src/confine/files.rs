//! Landlock: which files a child reaches. Where the kernel has none, a child is held by limits and handles alone.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::sandbox::{FIRST_HANDLE, Policy};

/// The newest interface whose rights are handled; older kernels handle those that they know.
const NEWEST: ABI = ABI::V6;

/// Where programs and libraries are installed.
const PROGRAMS: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/run/current-system",
];

/// What the C library and the runtimes of codecs look at.
const FACTS: [&str; 15] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/locale.alias",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/filesystems",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/sys/devices/system",
];

/// Devices that are as good as files of the C library.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Graphics devices, their drivers and what those look at.
const GRAPHICS: [&str; 12] = [
    "/dev/dri",
    "/dev/kfd",
    "/dev/nvidia0",
    "/dev/nvidia1",
    "/dev/nvidia2",
    "/dev/nvidia3",
    "/dev/nvidiactl",
    "/dev/nvidia-modeset",
    "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools",
    "/dev/nvidia-caps",
    "/dev/shm",
];
const GRAPHICS_FACTS: [&str; 6] =
    ["/sys", "/proc/driver", "/proc/devices", "/etc/vulkan", "/etc/OpenCL", "/run/opengl-driver"];

/// Which interface of Landlock this kernel has; 0 for none.
pub(crate) fn version() -> u32 {
    let highest = [ABI::V1, ABI::V2, ABI::V3, ABI::V4, ABI::V5, ABI::V6];
    let known = |abi: &&ABI| {
        let all = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let asked = all.handle_access(AccessFs::from_all(**abi));
        let asked = match **abi {
            ABI::V1 | ABI::V2 | ABI::V3 => asked,
            abi => asked.and_then(|asked| asked.handle_access(AccessNet::from_all(abi))),
        };
        let asked = match **abi {
            ABI::V6 => asked.and_then(|asked| asked.scope(Scope::from_all(ABI::V6))),
            _ => asked,
        };
        asked.and_then(Ruleset::create).is_ok()
    };
    highest.iter().take_while(known).count() as u32
}

/// Restricts this process and all that follows it.
pub(super) fn restrict(policy: &Policy, program: &Path) -> Result<(), String> {
    confine(policy, program).map(drop).map_err(|error| format!("Landlock: {error}"))
}

fn confine(policy: &Policy, program: &Path) -> Result<landlock::RestrictionStatus, RulesetError> {
    let sandbox = &policy.sandbox;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?;
    if !sandbox.devices {
        rules = rules.scope(Scope::from_all(NEWEST))?;
    }
    let mut rules = rules.create()?;
    let run = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    for path in PROGRAMS.iter().map(PathBuf::from).chain(beside(program)) {
        rules = allow(rules, &path, run)?;
    }
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    for path in FACTS.iter().map(Path::new).chain(sandbox.read.iter().map(PathBuf::as_path)) {
        rules = allow(rules, path, read)?;
    }
    let use_device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    for path in DEVICES {
        rules = allow(rules, Path::new(path), use_device)?;
    }
    if sandbox.devices {
        for path in GRAPHICS {
            rules =
                allow(rules, Path::new(path), use_device | read | AccessFs::MakeReg | AccessFs::RemoveFile)?;
        }
        for path in GRAPHICS_FACTS {
            rules = allow(rules, Path::new(path), read)?;
        }
    }
    for path in sandbox.write.iter().chain(&further()) {
        rules = allow(rules, path, written())?;
    }
    for (number, handle) in (FIRST_HANDLE..).zip(&policy.handles) {
        let path = PathBuf::from(format!("/proc/self/fd/{number}"));
        rules = allow(rules, &path, if handle.writable { written() } else { AccessFs::ReadFile.into() })?;
    }
    rules.restrict_self()
}

/// Reading and writing of plain files and folders.
fn written() -> BitFlags<AccessFs> {
    let never = AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock;
    AccessFs::from_all(NEWEST) & !(never | AccessFs::IoctlDev)
}

/// Adds a rule for a path that is there. A pipe has no place among files, and Landlock lets those pass that hold it.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: impl Into<BitFlags<AccessFs>>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(facts) = path.metadata() else { return Ok(rules) };
    let kind = facts.file_type();
    if kind.is_fifo() || kind.is_socket() {
        return Ok(rules);
    }
    let Ok(file) = PathFd::new(path) else { return Ok(rules) };
    let access = access.into();
    let access = if facts.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(file, access))
}

/// The program itself, and libraries that were unpacked beside it.
fn beside(program: &Path) -> Vec<PathBuf> {
    let mut paths = vec![program.to_path_buf()];
    let real = program.canonicalize().unwrap_or_default();
    let folder = real.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    paths.extend(folder.into_iter().flat_map(|prefix| [prefix.join("lib"), prefix.join("lib64")]));
    let listed = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    paths.extend(std::env::split_paths(&listed).filter(|path| path.is_absolute()));
    paths.push(real);
    paths
}

/// Folders that whoever runs us lets all children write: wrappers of tools may keep logs there.
fn further() -> Vec<PathBuf> {
    let listed = std::env::var_os(super::FURTHER_WRITE).unwrap_or_default();
    std::env::split_paths(&listed).filter(|path| path.is_absolute()).collect()
}
