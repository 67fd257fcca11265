//! `cargo xtask image`: the container image of `Containerfile`, built from a static binary, started as in production and asked
//! for a score.
//!
//! The stage that compiles is replaced by a folder with the binary of this checkout, so that nothing is compiled twice and no
//! base image is fetched; all else is `Containerfile` as it stands. buildah builds. podman starts it, with a read-only root,
//! no capabilities and no new privileges; where podman cannot (many containers may not start others), the image's own root
//! file system is entered with chroot under the same conditions, and that is said loudly.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::soak::client::Client;
use crate::steps::{bring, cargo, root, succeeds};

const TOKEN: &str = "a-token-for-the-image-alone";
const NAME: &str = "localhost/visus-image-test";
/// The user of the image.
const USER: &str = "10001";

/// `cargo xtask image`, perhaps with `--binary PATH` of a static binary that is built already.
pub fn run_named() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    match &words[..] {
        [] => run(None),
        [flag, path] if flag == "--binary" => run(Some(Path::new(path))),
        _ => bail!("usage: cargo xtask image [--binary PATH]"),
    }
}

/// Builds the image and tries it.
pub fn run(binary: Option<&Path>) -> Result<()> {
    if !cfg!(target_os = "linux") {
        eprintln!("!!! images are built on Linux alone: THIS CHECK IS LEFT OUT");
        return Ok(());
    }
    let place = Place::new()?;
    place.static_binary(binary)?;
    let clips = place.clips()?;
    bring("buildah", "buildah");
    bring("podman", "podman");
    bring("runc", "runc");
    if !place.build()? {
        return Ok(());
    }
    let mut started = place.start(&clips)?;
    let checked = started.check(&clips);
    started.end();
    checked
}

/// `target/image`, where everything of this check lies.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new() -> Result<Self> {
        let folder = root().join("target/image");
        let _ = fs::remove_dir_all(folder.join("build"));
        for name in [
            "build/image/usr/local/bin",
            "build/image/usr/share/doc/visus",
            "build/image/videos",
            "build/image/tmp",
        ] {
            fs::create_dir_all(folder.join(name)).with_context(|| name.to_owned())?;
        }
        #[cfg(unix)]
        fs::set_permissions(
            folder.join("build/image/tmp"),
            std::os::unix::fs::PermissionsExt::from_mode(0o1777),
        )?;
        Ok(Self { folder })
    }

    /// What the image is made of.
    fn tree(&self) -> PathBuf {
        self.folder.join("build/image")
    }

    fn binary(&self) -> PathBuf {
        self.tree().join("usr/local/bin/visus")
    }

    /// The release build, linked once more: everything but the link is there already.
    fn linked() -> Result<PathBuf> {
        let head = ["rustc", "--release", "--locked", "--package", "visus", "--bin", "visus"];
        cargo(&[&head[..], &["--", "-C", "target-feature=+crt-static"]].concat())?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        Ok(target.join("release/visus"))
    }

    /// Takes the binary, which must not ask for a dynamic linker, and the licences.
    fn static_binary(&self, built: Option<&Path>) -> Result<()> {
        let built = built.map_or_else(Self::linked, |path| Ok(path.to_path_buf()))?;
        fs::copy(&built, self.binary()).with_context(|| built.display().to_string())?;
        let interpreter = interpreter(&fs::read(self.binary())?)?;
        ensure!(interpreter.is_none(), "the binary is not static: it asks for {interpreter:?}");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            fs::copy(root().join(licence), self.tree().join("usr/share/doc/visus").join(licence))?;
        }
        Ok(())
    }

    /// Clips that the container is shown; the static binary writes them, so it works outside a container as well.
    fn clips(&self) -> Result<PathBuf> {
        let clips = self.folder.join("clips");
        let _ = fs::remove_dir_all(&clips);
        fs::create_dir_all(&clips)?;
        let mut command = Command::new(self.binary());
        command.args(["selftest", "--write-clips"]).arg(&clips).stdout(Stdio::null());
        succeeds(&mut command)?;
        Ok(clips)
    }

    /// A tool for containers, whose storage lies in our folder.
    fn tool(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["--storage-driver", "vfs"]);
        command.arg("--root").arg(self.folder.join("storage")).arg("--runroot").arg(self.folder.join("run"));
        command
    }

    /// Builds the image; `false` if there is nothing to build with.
    fn build(&self) -> Result<bool> {
        if !self
            .tool("buildah")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
        {
            eprintln!(
                "!!! buildah is not there: THE IMAGE IS NOT BUILT; the static binary itself was checked"
            );
            return Ok(false);
        }
        let context = format!("build={}", self.folder.join("build").display());
        let mut command = self.tool("buildah");
        command.args(["build", "--isolation", "chroot", "--build-context", &context, "--tag", NAME]);
        command.arg("--file").arg(root().join("Containerfile")).arg(&self.folder).stdout(Stdio::null());
        succeeds(&mut command).context("buildah")?;
        println!("image: built, {} MiB of binary", fs::metadata(self.binary())?.len() >> 20);
        Ok(true)
    }

    fn start(&self, clips: &Path) -> Result<Started> {
        let mut said = Vec::new();
        for runtime in ["crun", "runc"] {
            match Started::with_podman(self, runtime, clips) {
                Ok(started) => return Ok(started),
                Err(error) => said.push(format!("{runtime}: {error:#}")),
            }
        }
        eprintln!(
            "!!! podman cannot start containers here ({}): the image's root file system is entered with chroot instead",
            said.join("; ")
        );
        Started::with_chroot(self, clips)
    }
}

/// A server that runs from the image.
struct Started {
    child: Child,
    port: String,
    /// Ends it, where that takes more than a signal.
    ending: Option<Command>,
}

impl Started {
    fn with_podman(place: &Place, runtime: &str, clips: &Path) -> Result<Self> {
        let name = format!("visus-image-test-{}", std::process::id());
        let mut command = place.tool("podman");
        command.args([
            "--runtime",
            runtime,
            "run",
            "--rm",
            "--name",
            &name,
            "--network",
            "host",
            "--read-only",
        ]);
        command.args(["--tmpfs", "/tmp", "--cap-drop", "all", "--security-opt", "no-new-privileges"]);
        command.args(["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=512:512"]);
        command.args(["--env", &format!("VMAFX_MCP_HTTP_TOKEN={TOKEN}")]);
        command.arg("--volume").arg(format!("{}:/videos:ro", clips.display())).arg(NAME);
        let mut ending = place.tool("podman");
        ending.args(["--runtime", runtime, "rm", "--force", "--time", "5", &name]);
        Self::listening(command, Some(ending))
    }

    /// The same without a tool for containers: namespaces of our own, the root mounted once more and read-only.
    fn with_chroot(place: &Place, clips: &Path) -> Result<Self> {
        let (root, clips) = (place.tree(), clips.display());
        let script = format!(
            "set -e; r='{}'; mount --bind \"$r\" \"$r\"; mount --bind '{clips}' \"$r/videos\"; mkdir -p \"$r/proc\"; \
             mount -t proc proc \"$r/proc\"; mount -t tmpfs tmpfs \"$r/tmp\"; mount -o remount,bind,ro \"$r\"; cd \"$r\"; \
             exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all \
             chroot --userspec={USER}:{USER} \"$r\" /usr/local/bin/visus \"$@\"",
            root.display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("VMAFX_MCP_HTTP_TOKEN", TOKEN).env("VMAFX_MCP_HTTP_BIND", "0.0.0.0");
        Self::listening(command, None)
    }

    /// Starts a command that ends in `visus`, on a port that the system chooses.
    fn listening(mut command: Command, ending: Option<Command>) -> Result<Self> {
        command.args(["serve", "--port", "0", "--allow", "/videos"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let mut lines = BufReader::new(child.stderr.take().context("its standard error")?);
        let mut first = String::new();
        lines.read_line(&mut first)?;
        let said: serde_json::Value = serde_json::from_str(&first).unwrap_or_default();
        let port = said["address"]
            .as_str()
            .and_then(|address| address.rsplit_once(':'))
            .map(|(_, port)| port.to_owned());
        let Some(port) = port else {
            let _ = child.kill();
            let _ = child.wait();
            let mut rest = String::new();
            let _ = std::io::Read::read_to_string(&mut lines, &mut rest);
            bail!("{}{}", first.trim(), rest.trim());
        };
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Ok(Self { child, port, ending })
    }

    /// What the kernel and the server say of it.
    fn check(&self, clips: &Path) -> Result<()> {
        let status = kernel_view(&self.port)?;
        let client = Client { address: format!("127.0.0.1:{}", self.port), token: TOKEN.to_owned() };
        let health = client.ask("GET", "/healthz", None)?;
        ensure!(health.status == 200, "/healthz: {health:?}");
        let mut films: Vec<String> = fs::read_dir(clips)?
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".y4m"))
            .collect();
        films.sort();
        let film = films.first().context("no clip")?;
        let path = format!("/videos/{film}");
        let score =
            client.ask("POST", "/v1/score", Some(&json!({ "reference": path, "distorted": path })))?;
        ensure!(score.body["pooled_metrics"]["vmaf"]["mean"].is_number(), "/v1/score: {score:?}");
        println!("image: {status}; sandbox {}; /v1/score answers", health.body["sandbox"]);
        Ok(())
    }

    fn end(&mut self) {
        if let Some(ending) = &mut self.ending {
            let _ = ending.stdout(Stdio::null()).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the kernel says of the process that listens on a port: who it is, what it may, what it can write.
fn kernel_view(port: &str) -> Result<String> {
    let entries = fs::read_dir("/proc")?.flatten().map(|entry| entry.path());
    let serves = |path: &PathBuf| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.starts_with(b"/usr/local/bin/visus\0serve") && mount_of_root(path).is_some()
    };
    let ours: Vec<PathBuf> = entries.filter(serves).collect();
    let [process] = &ours[..] else { bail!("{} processes serve on port {port}, not one", ours.len()) };
    let status = fs::read_to_string(process.join("status"))?;
    let fact = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().unwrap_or_default().to_owned()
    };
    ensure!(fact("Uid:") == USER && fact("Gid:") == USER, "it runs as {}:{}", fact("Uid:"), fact("Gid:"));
    ensure!(fact("NoNewPrivs:") == "1", "it may gain rights");
    ensure!(fact("CapEff:").trim_start_matches('0').is_empty(), "it has capabilities {}", fact("CapEff:"));
    let options = mount_of_root(process).context("no root")?;
    ensure!(options.split(',').any(|option| option == "ro"), "its root can be written: {options}");
    Ok(format!("user {USER}, no capabilities, no new privileges, read-only root"))
}

/// The options of what a process sees as its root.
fn mount_of_root(process: &Path) -> Option<String> {
    let mounts = fs::read_to_string(process.join("mountinfo")).ok()?;
    let root = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words.get(4) == Some(&"/")).then(|| words.get(5).map(|options| (*options).to_owned()))?
    };
    mounts.lines().find_map(root)
}

/// The dynamic linker that an ELF file asks for; a static one asks for none.
fn interpreter(file: &[u8]) -> Result<Option<String>> {
    const INTERP: u32 = 3;
    let bytes = |at: usize, length: usize| file.get(at..at + length).context("the file is cut off");
    let number = |at: usize, length: usize| -> Result<u64> {
        Ok(bytes(at, length)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    ensure!(bytes(0, 6)? == b"\x7fELF\x02\x01", "not a 64-bit little-endian ELF file");
    let (start, size, count) = (number(32, 8)? as usize, number(54, 2)? as usize, number(56, 2)? as usize);
    for header in (0..count).map(|place| start + place * size) {
        if number(header, 4)? == u64::from(INTERP) {
            let (at, length) = (number(header + 8, 8)? as usize, number(header + 32, 8)? as usize);
            return Ok(Some(String::from_utf8_lossy(bytes(at, length)?).trim_end_matches('\0').to_owned()));
        }
    }
    Ok(None)
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_binary_is_told_from_a_static_one() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(interpreter(&own).unwrap().unwrap().contains("ld"), "this test is linked dynamically");
        let mut head = b"\x7fELF\x02\x01".to_vec();
        head.resize(64, 0);
        assert_eq!(interpreter(&head).unwrap(), None);
        assert!(interpreter(b"#!/bin/sh").is_err());
    }
}
