//! A static DASH description of the on-demand profile: one indexed file per rendition.

use visus_report::escape::escape;

use super::{Pieces, stem};
use crate::ladder::{Ladder, Rendition};

pub(super) fn mpd(ladder: &Ladder, renditions: &[Rendition], pieces: &[Pieces]) -> String {
    let (rate, per) = ladder.frame_rate;
    let rate = if per == 1 { rate.to_string() } else { format!("{rate}/{per}") };
    let largest = |side: fn(&Rendition) -> u32| renditions.iter().map(side).max().unwrap_or(0);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\" \
         type=\"static\" mediaPresentationDuration=\"PT{:.3}S\" minBufferTime=\"PT2S\">\n  <Period id=\"0\" start=\"PT0S\">\n    \
         <AdaptationSet id=\"0\" contentType=\"video\" mimeType=\"video/mp4\" segmentAlignment=\"true\" \
         subsegmentAlignment=\"true\" subsegmentStartsWithSAP=\"1\" maxWidth=\"{}\" maxHeight=\"{}\" frameRate=\"{rate}\">\n",
        ladder.duration,
        largest(|rendition| rendition.width),
        largest(|rendition| rendition.height),
    );
    for (rendition, pieces) in renditions.iter().zip(pieces) {
        text.push_str(&representation(rendition, pieces));
    }
    text.push_str("    </AdaptationSet>\n  </Period>\n</MPD>\n");
    text
}

fn representation(rendition: &Rendition, pieces: &Pieces) -> String {
    let name = stem(rendition);
    let mut text = format!(
        "      <Representation id=\"{name}\" bandwidth=\"{}\" width=\"{}\" height=\"{}\" codecs=\"{}\">\n        \
         <BaseURL>{name}.mp4</BaseURL>\n",
        rendition.bandwidth_bps,
        rendition.width,
        rendition.height,
        escape(&rendition.codecs),
    );
    if let Some(fragments) = pieces {
        let range = |start: u64, length: u64| format!("{start}-{}", start + length - 1);
        text.push_str(&format!(
            "        <SegmentBase indexRange=\"{}\">\n          <Initialization range=\"{}\"/>\n        </SegmentBase>\n",
            range(fragments.index.0, fragments.index.1),
            range(fragments.init.0, fragments.init.1),
        ));
    }
    text.push_str("      </Representation>\n");
    text
}
