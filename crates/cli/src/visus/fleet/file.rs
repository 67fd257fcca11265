//! The file of a plan, `plan.ndjson`: a worker reads its own shard and no more.
//!
//! The first line is the head, each of the next a bundle, those of a shard together. Then follow, in lines of equal length, the
//! place of each shard's first byte and of the end of the last, and in the last line the place of the first of these. All of it is
//! one file, so that a plan that is made again replaces the old one at once.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};

use anyhow::{Context, Result, bail};
use visus_scoring::SeekableBytes;

use super::bundle::{Bundle, Head, Plan};

/// Bytes of a line with a place.
const PLACE: usize = 17;

/// A plan as bytes.
pub fn encode(plan: &Plan) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(&plan.head)?;
    bytes.push(b'\n');
    let mut places = Vec::with_capacity(plan.head.shards + 1);
    for bundle in &plan.bundles {
        while places.len() <= bundle.shard {
            places.push(bytes.len());
        }
        serde_json::to_writer(&mut bytes, bundle)?;
        bytes.push(b'\n');
    }
    places.resize(plan.head.shards + 1, bytes.len());
    places.push(bytes.len());
    for place in places {
        writeln!(bytes, "{place:>width$}", width = PLACE - 1)?;
    }
    Ok(bytes)
}

/// A plan that is open.
pub struct PlanFile {
    bytes: BufReader<Box<dyn SeekableBytes>>,
    pub head: Head,
}

impl std::fmt::Debug for PlanFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlanFile").field("head", &self.head).finish_non_exhaustive()
    }
}

impl PlanFile {
    pub fn open(bytes: Box<dyn SeekableBytes>) -> Result<Self> {
        let mut bytes = BufReader::new(bytes);
        let mut line = Vec::new();
        bytes.read_until(b'\n', &mut line)?;
        Ok(Self { bytes, head: serde_json::from_slice(&line)? })
    }

    /// The bundles of a shard.
    pub fn shard(&mut self, shard: usize) -> Result<Vec<Bundle>> {
        if shard >= self.head.shards {
            bail!(
                "there is no shard {shard}: the plan has {}, from 0 to {}",
                self.head.shards,
                self.head.shards.saturating_sub(1)
            );
        }
        let end = self.bytes.seek(SeekFrom::End(-(PLACE as i64)))?;
        let [index] = self.places()?;
        let first = index + (shard * PLACE) as u64;
        if first + 2 * PLACE as u64 > end {
            bail!("the index of shards is damaged");
        }
        self.bytes.seek(SeekFrom::Start(first))?;
        let [start, end] = self.places()?;
        let length =
            end.checked_sub(start).filter(|_| end <= index).context("the index of shards is damaged")?;
        self.bytes.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        self.bytes.by_ref().take(length).read_to_end(&mut text)?;
        bundles(&text)
    }

    /// So many places from where the file is read.
    fn places<const N: usize>(&mut self) -> Result<[u64; N]> {
        let mut places = [0; N];
        for place in &mut places {
            let mut line = [0; PLACE];
            self.bytes.read_exact(&mut line)?;
            *place = std::str::from_utf8(&line)?.trim().parse().context("a place of a shard")?;
        }
        Ok(places)
    }

    /// The whole plan; nothing but the head has been read.
    pub fn all(mut self) -> Result<Plan> {
        let mut text = Vec::new();
        self.bytes.read_to_end(&mut text)?;
        let bundles = bundles(&text)?;
        if bundles.len() != self.head.bundles {
            bail!("it has {} bundles of {}", bundles.len(), self.head.bundles);
        }
        Ok(Plan { head: self.head, bundles })
    }
}

/// The bundles of these lines; the lines of the index are none.
fn bundles(text: &[u8]) -> Result<Vec<Bundle>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| line.first() == Some(&b'{'));
    Ok(lines.map(serde_json::from_slice).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::bundle;
    use super::*;

    fn open(bytes: Vec<u8>) -> PlanFile {
        PlanFile::open(Box::new(Cursor::new(bytes))).unwrap()
    }

    #[test]
    fn a_shard_is_read_alone() {
        let tasks = (0..9).map(|row| (format!("k{row}"), bundle::tests::task(row, 1.0))).collect();
        let mut bundles = bundle::bundles(tasks, Vec::new(), 0.5);
        // Shard 2 is empty, and so is the last.
        for (place, bundle) in bundles.iter_mut().enumerate() {
            bundle.shard = [0, 0, 0, 1, 1, 3, 3, 3, 3][place];
        }
        let head = Head { shards: 5, bundles: bundles.len(), ..Head::default() };
        let bytes = encode(&Plan { head, bundles }).unwrap();
        let keys = |bundles: Vec<Bundle>| bundles.into_iter().map(|bundle| bundle.key).collect::<Vec<_>>();
        let mut file = open(bytes.clone());
        assert_eq!(keys(file.shard(3).unwrap()), ["k5", "k6", "k7", "k8"]);
        assert_eq!(keys(file.shard(0).unwrap()), ["k0", "k1", "k2"]);
        assert!(file.shard(2).unwrap().is_empty() && file.shard(4).unwrap().is_empty());
        assert!(file.shard(5).unwrap_err().to_string().contains("there is no shard 5"));
        assert_eq!(open(bytes.clone()).all().unwrap().bundles.len(), 9);
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            serde_json::from_slice::<serde_json::Value>(line).unwrap();
        }
        let torn = bytes[..bytes.len() / 2].to_vec();
        assert!(open(torn.clone()).shard(1).is_err() && open(torn).all().is_err());
    }
}
