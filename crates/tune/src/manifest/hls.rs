//! HLS playlists: a master, and one per rendition with byte ranges of its one file.

use super::stem;
use crate::ladder::{Ladder, Rendition};
use crate::mp4::Fragments;

/// The best comes first: players that look at the order begin with it only where they can.
pub(super) fn master(ladder: &Ladder, renditions: &[Rendition]) -> String {
    let mut text = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n".to_owned();
    let rate = f64::from(ladder.frame_rate.0) / f64::from(ladder.frame_rate.1.max(1));
    for rendition in renditions.iter().rev() {
        text.push_str(&format!(
            "#EXT-X-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={},RESOLUTION={}x{},FRAME-RATE={rate:.3},CODECS=\"{}\"\n{}.m3u8\n",
            rendition.bandwidth_bps,
            (rendition.bitrate_kbps * 1000.0).ceil(),
            rendition.width,
            rendition.height,
            rendition.codecs,
            stem(rendition),
        ));
    }
    text
}

/// The playlist of one file.
pub(super) fn media(file: &str, fragments: &Fragments) -> String {
    let longest = fragments.pieces.iter().map(|(_, _, seconds)| *seconds).fold(0.0, f64::max);
    let mut text = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{}\n#EXT-X-PLAYLIST-TYPE:VOD\n\
         #EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"{file}\",BYTERANGE=\"{}@{}\"\n",
        longest.round().max(1.0),
        fragments.init.1,
        fragments.init.0,
    );
    for (start, length, seconds) in &fragments.pieces {
        text.push_str(&format!("#EXTINF:{seconds:.6},\n#EXT-X-BYTERANGE:{length}@{start}\n{file}\n"));
    }
    text.push_str("#EXT-X-ENDLIST\n");
    text
}
