//! The packets of an encoded video, which say where its shots begin and how much moves in them without a frame being decoded.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};

use visus_child::Stream;
use visus_engine::Cancel;

use crate::open::Probed;
use crate::{Probe, Tools};

/// What the container says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub bytes: u64,
    /// Decoding can begin here; encoders put such frames where a shot begins.
    pub key: bool,
}

impl Probed {
    /// The packets of the distorted video in the order in which they are shown, from the frame on that `skip` says, or of the
    /// reference where that one is not encoded; `None` where they cannot be had, or are not one for every frame.
    pub fn packets(&self, skip: [u64; 2], cancel: &Cancel) -> Option<Vec<Packet>> {
        let tools = self.tools.as_ref()?;
        let (facts, skip) = self.facts.iter().zip(skip).rev().find(|(facts, _)| facts.probe.is_some())?;
        let mut packets = read(tools, facts.probe.as_ref()?, cancel)?;
        let skip = usize::try_from(skip).ok().filter(|skip| *skip <= packets.len())?;
        (Some(packets.len() as u64) == facts.frames).then(|| packets.split_off(skip))
    }
}

fn read(tools: &Tools, probe: &Probe, cancel: &Cancel) -> Option<Vec<Packet>> {
    parse(packet_lines(tools, probe, "pts_time,size,flags", cancel)?)
}

/// What the container says of every packet of the stream, a line for each in the order of decoding; entries are separated by
/// commas.
pub(crate) fn packet_lines(
    tools: &Tools,
    probe: &Probe,
    entries: &str,
    cancel: &Cancel,
) -> Option<impl Iterator<Item = String> + use<>> {
    let (stream, entries) = (probe.stream.to_string(), format!("packet={entries}"));
    let words = ["-v", "error", "-hide_banner", "-select_streams", &stream];
    let shown = ["-show_entries", &entries, "-of", "csv=p=0"];
    let mut args: Vec<OsString> = words.iter().chain(&shown).map(OsString::from).collect();
    args.extend(probe.opening.args());
    let command = tools.command(&tools.ffprobe, args, tools.limit(), Some(probe.opening.access()));
    let cancel = cancel.clone();
    let stream = Stream::start(&command, move || cancel.is_fired()).ok()?;
    Some(BufReader::new(stream).lines().map_while(Result::ok))
}

/// Time, size and flags on each line, in the order of decoding.
fn parse(lines: impl Iterator<Item = String>) -> Option<Vec<Packet>> {
    let packet = |line: String| -> Option<(f64, Packet)> {
        let mut words = line.split(',').map(str::trim);
        let time = words.next()?.parse::<f64>().ok().filter(|time| time.is_finite())?;
        let bytes = words.next()?.parse().ok()?;
        Some((time, Packet { bytes, key: words.next()?.starts_with('K') }))
    };
    let lines = lines.filter(|line| !line.trim().is_empty());
    let mut packets = lines.map(packet).collect::<Option<Vec<_>>>()?;
    packets.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(packets.into_iter().map(|(_, packet)| packet).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_in_the_order_of_showing() {
        let lines = |text: &str| parse(text.lines().map(str::to_owned));
        let packets = lines("0.00,900,K__\n0.08,70,___\n0.04,30,___\n").expect("packets");
        assert_eq!(packets.iter().map(|packet| packet.bytes).collect::<Vec<_>>(), [900, 30, 70]);
        assert!(packets[0].key && !packets[1].key);
        assert_eq!(lines("0.00,900,K__\nN/A,70,___\n"), None);
        assert_eq!(lines("0.00\n"), None);
    }
}
