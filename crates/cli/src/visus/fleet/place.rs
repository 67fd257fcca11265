//! Videos, lists and plans that lie in an object store, in builds with the cargo feature `object-store`.
//!
//! Raw and Y4M video is read by ranges. What ffmpeg has to read is staged into a folder of bounded size; planning fetches only
//! the beginning and the end of it, where containers say what is in them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

#[cfg(feature = "object-store")]
pub use with_stores::{StageArgs, file, is_encoded, pairs, shape, stage, store};
#[cfg(not(feature = "object-store"))]
pub use without::{StageArgs, file, is_encoded, pairs, shape, stage, store};

/// Schemes of object stores.
const SCHEMES: [&str; 3] = ["s3://", "gs://", "az://"];

/// Whether a path is meant as the address of an object.
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// The same place from any folder.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    if is_remote(path) {
        return Ok(path.to_path_buf());
    }
    std::path::absolute(path).with_context(|| path.display().to_string())
}

#[cfg(feature = "object-store")]
mod with_stores {
    use std::collections::HashMap;
    use std::io::{Read, Seek, SeekFrom, Write};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::{SystemTime, UNIX_EPOCH};

    use anyhow::{Context, Result, bail};
    use clap::{Args, ValueHint};
    use serde_json::{Value, json};
    use visus_engine::Cancel;
    use visus_remote::{Address, Bucket, Cache, RangeReader};
    use visus_scoring::{Decoders, InputOptions, OpenBytes, SeekableBytes, Shape, Video, Videos};
    use visus_tune::cache::bytes;
    use visus_video::Format;

    use super::super::store::Store;
    use super::is_remote;
    use crate::visus::batch::list;

    /// Requests at the same time.
    const WIDTH: usize = 16;
    /// How much of each end of an encoded video is fetched to look at it.
    const ENDS: u64 = 8 << 20;
    /// The default limit of staged videos.
    const STAGED: u64 = 20 << 30;
    /// The first bytes of a Y4M file.
    const Y4M: &[u8] = b"YUV4MPEG";

    /// Where encoded videos of an object store are put.
    #[derive(Clone, Debug, Default, Args)]
    pub struct StageArgs {
        /// Folder for encoded videos of an object store [default: staged in visus's cache folder]
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, env = "VISUS_STAGE_DIR")]
        pub stage_dir: Option<PathBuf>,

        /// The most that they take, such as 50G [default: 20G]
        #[arg(long, value_name = "SIZE", value_parser = bytes, env = "VISUS_STAGE_SIZE")]
        pub stage_size: Option<u64>,
    }

    impl StageArgs {
        fn cache(&self) -> Cache {
            let usual =
                || visus_scoring::cache_folder().unwrap_or_else(|| std::env::temp_dir().join("visus"));
            let folder = self.stage_dir.clone().unwrap_or_else(|| usual().join("staged"));
            Cache::new(folder, self.stage_size.unwrap_or(STAGED))
        }
    }

    fn address(path: &Path) -> Result<Address> {
        Ok(path.to_string_lossy().parse()?)
    }

    #[derive(Debug)]
    struct ObjectFolder(Bucket);

    impl Store for ObjectFolder {
        fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
            Ok(self.0.get(name)?)
        }

        fn open(&self, name: &str) -> Result<Option<Box<dyn SeekableBytes>>> {
            let opened = RangeReader::open(&self.0.address(name))?;
            Ok(opened.map(|reader| Box::new(reader) as Box<dyn SeekableBytes>))
        }

        fn put(&self, name: &str, bytes: Vec<u8>, replace: bool) -> Result<()> {
            Ok(self.0.put(name, bytes, replace)?)
        }

        fn written(&self, name: &str) -> Result<Option<SystemTime>> {
            Ok(self.0.facts(name)?.map(|facts| facts.written))
        }

        fn list(&self, name: &str) -> Result<HashMap<String, SystemTime>> {
            Ok(self.0.list(name)?.into_iter().map(|(name, facts)| (name, facts.written)).collect())
        }

        fn width(&self) -> usize {
            WIDTH
        }

        fn shown(&self, name: &str) -> String {
            self.0.address(name).to_string()
        }
    }

    pub fn store(place: &Path) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(ObjectFolder(Bucket::open(&address(place)?)?)))
    }

    /// An object by its address, its length, the time of its last change and the store's name for its bytes.
    pub fn file(path: &Path) -> Result<Value> {
        let facts = Bucket::open(&address(path)?)?.facts("")?;
        let changed = facts.as_ref().and_then(|facts| facts.written.duration_since(UNIX_EPOCH).ok());
        Ok(json!({
            "path": path.to_string_lossy(),
            "bytes": facts.as_ref().map(|facts| facts.bytes),
            "changed_ns": changed.map(|changed| changed.as_nanos() as u64),
            "version": facts.and_then(|facts| facts.version),
        }))
    }

    /// What a list in an object store names, or what lies below a prefix.
    pub fn pairs(list: &Path, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
        let at = address(list)?;
        let ending = list
            .extension()
            .and_then(|end| end.to_str())
            .filter(|end| ["csv", "jsonl", "ndjson"].contains(end));
        match ending {
            Some(ending) => listed(&at, ending, reference),
            None => below(&at, reference),
        }
    }

    /// Relative names in a list are those of objects beside it.
    fn listed(at: &Address, ending: &str, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
        let text = Bucket::open(at)?.get("")?.with_context(|| format!("{at}: there is no such list"))?;
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join("list").with_extension(ending);
        std::fs::write(&copy, text)?;
        let home = at.with_key(at.key().rsplit_once('/').map_or("", |(home, _)| home));
        let moved = |path: PathBuf| match path.strip_prefix(folder.path()) {
            Ok(name) => PathBuf::from(home.join(&name.to_string_lossy()).to_string()),
            Err(_) => path,
        };
        let pairs = list::pairs(&copy, reference).with_context(|| at.to_string())?;
        Ok(pairs.into_iter().map(|(one, other)| (moved(one), moved(other))).collect())
    }

    /// All objects below a prefix, but for the reference and hidden ones.
    fn below(at: &Address, reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
        let reference = reference.context("a prefix of encodes needs --reference FILE")?;
        let is_hidden =
            |name: &str| name.rsplit('/').next().is_some_and(|last| last.starts_with('.') || last.is_empty());
        let found = Bucket::open(at)?.list("")?;
        let paths = found.into_iter().filter(|(name, _)| !is_hidden(name));
        let paths =
            paths.map(|(name, _)| PathBuf::from(at.join(&name).to_string())).filter(|path| path != reference);
        let pairs: Vec<_> = paths.map(|path| (reference.to_path_buf(), path)).collect();
        if pairs.is_empty() {
            bail!("{at} has no encode below it");
        }
        Ok(pairs)
    }

    /// An object that is opened as often as it is read.
    #[derive(Debug)]
    struct Object(Address);

    impl OpenBytes for Object {
        fn open(&self) -> std::io::Result<Box<dyn SeekableBytes>> {
            let missing = || std::io::Error::other(format!("{}: there is no such object", self.0));
            Ok(Box::new(RangeReader::open(&self.0)?.ok_or_else(missing)?))
        }
    }

    fn by_ranges(path: &Path) -> Result<Video> {
        let bytes = Arc::new(Object(address(path)?));
        Ok(Video::Elsewhere { name: path.to_string_lossy().into_owned(), bytes })
    }

    /// Whether a video needs no decoder.
    fn is_plain(path: &Path, raw: Option<Format>) -> Result<bool> {
        if !is_remote(path) {
            let video = Video::Path(path.to_path_buf());
            return Ok(raw.is_some() || video.is_y4m());
        }
        let opened = RangeReader::open(&address(path)?)?;
        let opened = opened.with_context(|| format!("{}: there is no such object", path.display()))?;
        let mut start = Vec::new();
        opened.take(Y4M.len() as u64).read_to_end(&mut start)?;
        Ok(raw.is_some() || start == Y4M)
    }

    /// Whether a video needs a decoder.
    pub fn is_encoded(path: &Path, raw: Option<Format>) -> Result<bool> {
        Ok(!is_plain(path, raw)?)
    }

    /// Size and length of an object's video.
    pub fn shape(path: &Path, raw: Option<Format>, decoders: &Decoders) -> Result<Shape> {
        if is_plain(path, raw)? {
            return Ok(Shape::of(&by_ranges(path)?, raw, decoders, &Cancel::new())?);
        }
        let folder = tempfile::tempdir()?;
        let name = path.file_name().context("an object has a name")?;
        let copy = folder.path().join(name);
        copy_ends(&address(path)?, &copy)?;
        Ok(Shape::of(&Video::Path(copy), raw, decoders, &Cancel::new())?)
    }

    /// A file with the beginning and the end of an object, and nothing between.
    fn copy_ends(at: &Address, copy: &Path) -> Result<()> {
        let mut object = RangeReader::open(at)?.with_context(|| format!("{at}: there is no such object"))?;
        let bytes = object.seek(SeekFrom::End(0))?;
        let mut file = std::fs::File::create(copy)?;
        file.set_len(bytes)?;
        let ends = [(0, bytes.min(ENDS)), (bytes.saturating_sub(ENDS).max(bytes.min(ENDS)), bytes)];
        for (start, end) in ends {
            object.seek(SeekFrom::Start(start))?;
            file.seek(SeekFrom::Start(start))?;
            std::io::copy(&mut object.by_ref().take(end - start), &mut file)?;
        }
        Ok(file.flush()?)
    }

    /// Replaces addresses in a request by what can be read: ranges of raw and Y4M video, staged files of others.
    pub fn stage(videos: Videos, paths: [&Path; 2], args: &StageArgs) -> Result<Videos> {
        if !paths.iter().any(|path| is_remote(path)) {
            return Ok(videos);
        }
        let pairing = &videos.pairing;
        let is_untouched = !pairing.is_asked_for() && pairing.inputs == InputOptions::default();
        let [reference, distorted] =
            if is_untouched && is_plain(paths[0], videos.raw)? && is_plain(paths[1], videos.raw)? {
                let video = |path: &Path| {
                    if is_remote(path) { by_ranges(path) } else { Ok(Video::Path(path.to_path_buf())) }
                };
                [video(paths[0])?, video(paths[1])?]
            } else {
                staged(paths, args)?
            };
        Ok(Videos { reference, distorted, ..videos })
    }

    fn staged(paths: [&Path; 2], args: &StageArgs) -> Result<[Video; 2]> {
        let addresses: Vec<Option<Address>> = paths
            .iter()
            .map(|path| is_remote(path).then(|| address(path)).transpose())
            .collect::<Result<_>>()?;
        let remote: Vec<&Address> = addresses.iter().flatten().collect();
        let mut files = args.cache().stage(&remote)?.into_iter();
        let mut video = |place: usize| match addresses[place].as_ref().and_then(|_| files.next()) {
            Some(staged) => Video::File { name: paths[place].to_path_buf(), file: staged.file },
            None => Video::Path(paths[place].to_path_buf()),
        };
        Ok([video(0), video(1)])
    }
}

#[cfg(not(feature = "object-store"))]
mod without {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use anyhow::{Result, bail};
    use clap::Args;
    use serde_json::Value;
    use visus_scoring::{Decoders, Shape, Video, Videos};
    use visus_video::Format;

    use super::super::store::Store;
    use super::is_remote;

    #[derive(Clone, Debug, Default, Args)]
    pub struct StageArgs {}

    fn refuse<T>(path: &Path) -> Result<T> {
        bail!(
            "{}: this build has no object stores; build with `cargo build --release --features object-store`",
            path.display()
        )
    }

    pub fn store(place: &Path) -> Result<Arc<dyn Store>> {
        refuse(place)
    }

    pub fn file(path: &Path) -> Result<Value> {
        refuse(path)
    }

    pub fn pairs(list: &Path, _reference: Option<&Path>) -> Result<Vec<(PathBuf, PathBuf)>> {
        refuse(list)
    }

    pub fn shape(path: &Path, _raw: Option<Format>, _decoders: &Decoders) -> Result<Shape> {
        refuse(path)
    }

    pub fn is_encoded(path: &Path, raw: Option<Format>) -> Result<bool> {
        Ok(raw.is_none() && !Video::Path(path.to_path_buf()).is_y4m())
    }

    pub fn stage(videos: Videos, paths: [&Path; 2], _args: &StageArgs) -> Result<Videos> {
        match paths.into_iter().find(|path| is_remote(path)) {
            Some(path) => refuse(path),
            None => Ok(videos),
        }
    }
}
