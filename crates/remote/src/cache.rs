//! Objects staged into a folder of bounded size, for programs that need files.
//!
//! A staged file is known by its address and the version of its bytes. It is locked for as long as somebody uses it; the least
//! recently used files that nobody has locked make room for new ones. What a killed process left half-written is unlocked, and
//! removed by the next that needs room. Several processes may share a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest, Sha256};

use crate::bucket::{Bucket, ObjectFacts};
use crate::runtime::wait;
use crate::{Address, RemoteError};

/// What is fetched at once.
const PIECE: u64 = 8 << 20;
/// How often a full cache is looked at again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long files of others may leave no room.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A folder of staged objects.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The most that all files take together.
    most: u64,
}

/// A staged object; it stays while this lives.
#[derive(Debug)]
pub struct Staged {
    pub file: File,
}

/// Something in the folder.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// An object to be staged, and the file for it.
struct Wanted<'a> {
    address: &'a Address,
    bucket: Bucket,
    facts: ObjectFacts,
    path: PathBuf,
}

impl Cache {
    pub fn new(folder: PathBuf, most: u64) -> Self {
        Self { folder, most }
    }

    /// Stages all of these objects at once, so that nobody holds one while waiting for room for another.
    pub fn stage(&self, addresses: &[&Address]) -> Result<Vec<Staged>, RemoteError> {
        let cannot = format!("cannot use the cache {}", self.folder.display());
        std::fs::create_dir_all(&self.folder).map_err(RemoteError::io(&cannot))?;
        let mut distinct: Vec<&Address> = Vec::new();
        for address in addresses {
            if !distinct.contains(address) {
                distinct.push(address);
            }
        }
        let wanted: Vec<Wanted<'_>> =
            distinct.iter().map(|address| self.wanted(address)).collect::<Result<_, _>>()?;
        let files = self.files(&wanted, &cannot)?;
        let of = |address: &&Address| {
            let place = distinct.iter().position(|other| other == address).unwrap_or(0);
            files[place].try_clone().map(|file| Staged { file })
        };
        addresses.iter().map(|address| of(address).map_err(RemoteError::io(&cannot))).collect()
    }

    /// A file for each, filled; waits while files of others leave no room.
    fn files(&self, wanted: &[Wanted<'_>], cannot: &str) -> Result<Vec<File>, RemoteError> {
        let started = Instant::now();
        loop {
            match self.reserve(wanted)? {
                Some(reserved) => {
                    let pairs = wanted.iter().zip(reserved);
                    return pairs.map(|(wanted, file)| fill(wanted, file)).collect();
                }
                None if started.elapsed() > PATIENCE => {
                    return Err(RemoteError::failed(cannot, "files in use leave no room; raise its limit"));
                }
                None => std::thread::sleep(PAUSE),
            }
        }
    }

    fn wanted<'a>(&self, address: &'a Address) -> Result<Wanted<'a>, RemoteError> {
        let bucket = Bucket::open(address)?;
        let facts = bucket.facts("")?;
        let facts =
            facts.ok_or_else(|| RemoteError::failed(address.to_string(), "there is no such object"))?;
        let digest = Sha256::digest(format!("{address}\n{facts:?}"));
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(Wanted { address, bucket, facts, path: self.folder.join(name) })
    }

    /// Locks or makes a file for each; a new one has its full length at once, so that others count it. `None` where files in use
    /// leave no room, or another process is filling one of these.
    fn reserve(&self, wanted: &[Wanted<'_>]) -> Result<Option<Vec<File>>, RemoteError> {
        let cannot = || RemoteError::io(format!("cannot use the cache {}", self.folder.display()));
        let guard =
            OpenOptions::new().create(true).truncate(false).write(true).open(self.folder.join("lock"));
        let guard = guard.map_err(cannot())?;
        guard.lock().map_err(cannot())?;
        let mut files: Vec<Option<File>> = Vec::new();
        for wanted in wanted {
            files.push(open_locked(&wanted.path).map_err(cannot())?);
        }
        let new = |(wanted, file): (&Wanted<'_>, &Option<File>)| {
            if file.is_none() { wanted.facts.bytes } else { 0 }
        };
        let needed: u64 = wanted.iter().zip(&files).map(new).sum();
        let all: u64 = wanted.iter().map(|wanted| wanted.facts.bytes).sum();
        if all > self.most {
            let names: Vec<String> = wanted.iter().map(|wanted| wanted.address.to_string()).collect();
            let reason = format!("{all} bytes do not fit into a cache of {} bytes", self.most);
            return Err(RemoteError::failed(names.join(" and "), reason));
        }
        if !self.make_room(needed).map_err(cannot())? {
            return Ok(None);
        }
        let mut locked = Vec::with_capacity(files.len());
        for (wanted, file) in wanted.iter().zip(files) {
            locked.push(match file {
                Some(file) => file,
                None => match create_locked(wanted).map_err(cannot())? {
                    Some(file) => file,
                    None => return Ok(None),
                },
            });
        }
        Ok(Some(locked))
    }

    /// Removes files that nobody uses until so many bytes are free. Whether they are.
    fn make_room(&self, needed: u64) -> std::io::Result<bool> {
        let mut entries = self.entries()?;
        entries.sort_by_key(|entry| entry.used);
        let mut taken: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            let is_left_over = entry.path.extension().is_some_and(|end| end == "part");
            if taken.saturating_add(needed) <= self.most && !is_left_over {
                continue;
            }
            let Ok(file) = File::open(&entry.path) else { continue };
            if file.try_lock().is_ok() && std::fs::remove_file(&entry.path).is_ok() {
                taken -= entry.bytes;
            }
        }
        Ok(taken.saturating_add(needed) <= self.most)
    }

    fn entries(&self) -> std::io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_file() && entry.file_name() != "lock" {
                let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                entries.push(Entry { path: entry.path(), bytes: facts.len(), used });
            }
        }
        Ok(entries)
    }
}

/// Fetches what is not there yet. The file gets its name when it is whole.
fn fill(wanted: &Wanted<'_>, mut file: File) -> Result<File, RemoteError> {
    let part = part_of(&wanted.path);
    let cannot = || RemoteError::io(format!("cannot stage {}", wanted.address));
    if !is_same(&file, &part) {
        // It was there already; the time of its last use decides how long it stays.
        let _ = file.set_modified(SystemTime::now());
        return Ok(file);
    }
    let named = |file: &mut File| -> std::io::Result<()> {
        std::fs::rename(&part, &wanted.path)?;
        // From now on others may use it, too.
        file.lock_shared()?;
        file.rewind()
    };
    let filled = copy(wanted, &mut file).and_then(|()| named(&mut file).map_err(cannot()));
    if let Err(error) = filled {
        let _ = std::fs::remove_file(&part);
        return Err(error);
    }
    Ok(file)
}

fn copy(wanted: &Wanted<'_>, file: &mut File) -> Result<(), RemoteError> {
    let (mut start, bytes) = (0, wanted.facts.bytes);
    while start < bytes {
        let end = (start + PIECE).min(bytes);
        let piece = wait(wanted.bucket.range("", &wanted.facts, start..end))?;
        let written = file.write_all(&piece);
        written.map_err(RemoteError::io(format!("cannot stage {}", wanted.address)))?;
        start = end;
    }
    Ok(())
}

fn part_of(path: &Path) -> PathBuf {
    path.with_extension("part")
}

/// Whether the opened file still has this name.
#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let facts = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
    matches!((file.metadata().map(facts), path.metadata().map(facts)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(not(unix))]
fn is_same(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// A staged file, locked against removal.
fn open_locked(path: &Path) -> std::io::Result<Option<File>> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => {
            file.lock_shared()?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A new file of full length, locked; `None` if another process is filling it.
fn create_locked(wanted: &Wanted<'_>) -> std::io::Result<Option<File>> {
    let part = part_of(&wanted.path);
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(part)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        other => other?,
    }
    file.set_len(wanted.facts.bytes)?;
    Ok(Some(file))
}
