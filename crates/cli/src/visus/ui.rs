//! `visus ui`: the web page for one person, on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args as ClapArgs, ValueHint};
use tempfile::NamedTempFile;
use visus_server::{config, http};

const EXAMPLES: &str = "\
The page needs a token, which is part of the address that is printed. It can read videos in the folders that are named and \
nowhere else, and only this machine can reach it. `visus serve --ui` serves the same page to others.

Examples:
  visus ui
  visus ui ~/encodes /mnt/masters
  visus ui --no-open --port 8765";

/// Arguments of `visus ui`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct UiArgs {
    /// Folders with the videos to choose from [default: the current folder]
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folders: Vec<PathBuf>,

    /// Port to listen on [default: one that the system chooses]
    #[arg(short, long)]
    pub port: Option<String>,

    /// Print the address without opening a browser
    #[arg(long)]
    pub no_open: bool,
}

pub fn run(args: &UiArgs) -> Result<()> {
    visus_server::allocator::fix_thresholds();
    let folders = folders(&args.folders)?;
    let core = config::Flags {
        http: true,
        allow: folders.clone(),
        launcher: super::launcher(),
        ..config::Flags::default()
    };
    let log_level = std::env::var_os("VMAFX_LOG_LEVEL").is_none().then(|| "warning".to_owned());
    let flags = http::Flags { port: args.port.clone(), log_level, ..http::Flags::default() };
    // Removed when the server ends.
    let mut opened = None;
    http::serve_page(&flags, &core, |address| {
        println!("Visus is at {address}");
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        println!("Videos in {} can be opened. Press Ctrl-C to end.", names.join(" and "));
        let _ = std::io::stdout().flush();
        if !args.no_open {
            opened = open(address)
                .inspect_err(|error| eprintln!("visus: {error:#}; open the address yourself"))
                .ok();
        }
    })?;
    Ok(())
}

/// The folders as absolute paths; a file or a missing folder is refused at once.
fn folders(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let here = [PathBuf::from(".")];
    let given = if given.is_empty() { &here[..] } else { given };
    let checked = |folder: &PathBuf| {
        let resolved = folder.canonicalize().with_context(|| format!("{}", folder.display()))?;
        if !resolved.is_dir() {
            bail!("{} is not a folder", folder.display());
        }
        Ok(resolved)
    };
    given.iter().map(checked).collect()
}

/// Opens a browser. Other users of this machine can see the arguments of processes, so the browser gets the name of a private
/// file that leads to the address, and not the address with its token.
fn open(address: &str) -> Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix("visus-")
        .suffix(".html")
        .tempfile()
        .context("a file for the browser")?;
    write!(
        file,
        "<!doctype html><meta charset=utf-8><title>Visus</title><meta http-equiv=refresh content=\"0;url={address}\">\
         <p><a href=\"{address}\">Open Visus</a>"
    )?;
    file.flush()?;
    let browser = browser(file.path());
    let (program, args) = browser.split_first().context("no browser is known")?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child =
        command.spawn().with_context(|| format!("{} does not start", program.to_string_lossy()))?;
    // Openers end at once; a browser that was started directly stays, and nobody waits for it.
    std::thread::spawn(move || child.wait());
    Ok(file)
}

/// The command that shows a file.
fn browser(page: &Path) -> Vec<std::ffi::OsString> {
    let page = page.as_os_str().to_owned();
    match std::env::var_os("BROWSER").filter(|value| !value.is_empty()) {
        Some(browser) => vec![browser, page],
        None if cfg!(target_os = "macos") => vec!["open".into(), page],
        None if cfg!(windows) => vec!["explorer".into(), page],
        None => vec!["xdg-open".into(), page],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.mp4");
        std::fs::write(&file, "").unwrap();
        assert_eq!(folders(&[folder.path().to_owned()]).unwrap(), [folder.path().canonicalize().unwrap()]);
        assert!(folders(&[file]).unwrap_err().to_string().contains("is not a folder"));
        assert!(folders(&["/nonexistent/folder".into()]).is_err());
        assert_eq!(folders(&[]).unwrap(), [std::env::current_dir().unwrap().canonicalize().unwrap()]);
    }
}
