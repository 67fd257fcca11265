//! The exact texts.

use super::*;
use crate::mp4::Fragments;

fn ladder() -> Ladder {
    let rendition = |width, height, bitrate_kbps, crf| Rendition {
        width,
        height,
        bitrate_kbps,
        bandwidth_bps: (bitrate_kbps * 1500.0) as u64,
        vmaf: 90.0,
        crf,
        codecs: "avc1.64001F".to_owned(),
    };
    let renditions = vec![rendition(640, 360, 400.4, 28), rendition(1280, 720, 1500.0, 23)];
    Ladder {
        schema: "vmaf-tune-ladder/v1",
        src: "a.mp4".into(),
        encoder: "libx264".into(),
        encoder_version: String::new(),
        model: "m".into(),
        metric: "mean",
        display: (1280, 720),
        frame_rate: (30000, 1001),
        duration: 12.5,
        spacing: "log_bitrate",
        windows: vec![(0, 300)],
        hull: renditions.clone(),
        samples: renditions.clone(),
        renditions,
        failures: Vec::new(),
        contradictions: Vec::new(),
        from_cache: false,
    }
}

#[test]
fn a_master_playlist() {
    assert_eq!(
        hls_master(&ladder()),
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n\
         #EXT-X-STREAM-INF:BANDWIDTH=2250000,AVERAGE-BANDWIDTH=1500000,RESOLUTION=1280x720,FRAME-RATE=29.970,CODECS=\"avc1.64001F\"\n\
         video_1280x720_1500k.m3u8\n\
         #EXT-X-STREAM-INF:BANDWIDTH=600600,AVERAGE-BANDWIDTH=400400,RESOLUTION=640x360,FRAME-RATE=29.970,CODECS=\"avc1.64001F\"\n\
         video_640x360_400k.m3u8\n"
    );
}

#[test]
fn a_media_playlist() {
    let fragments =
        Fragments { init: (0, 800), index: (800, 56), pieces: vec![(856, 1000, 2.0), (1856, 500, 1.5)] };
    assert_eq!(
        hls::media("a.mp4", &fragments),
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n\
         #EXT-X-MAP:URI=\"a.mp4\",BYTERANGE=\"800@0\"\n#EXTINF:2.000000,\n#EXT-X-BYTERANGE:1000@856\na.mp4\n\
         #EXTINF:1.500000,\n#EXT-X-BYTERANGE:500@1856\na.mp4\n#EXT-X-ENDLIST\n"
    );
}

#[test]
fn a_description() {
    let fragments = Fragments { init: (0, 800), index: (800, 56), pieces: Vec::new() };
    let text = dash::mpd(&ladder(), &ladder().renditions, &[None, Some(fragments)]);
    for words in [
        "type=\"static\" mediaPresentationDuration=\"PT12.500S\"",
        "profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\"",
        "maxWidth=\"1280\" maxHeight=\"720\" frameRate=\"30000/1001\"",
        "<Representation id=\"video_640x360_400k\" bandwidth=\"600600\" width=\"640\" height=\"360\" codecs=\"avc1.64001F\">",
        "<BaseURL>video_1280x720_1500k.mp4</BaseURL>\n        <SegmentBase indexRange=\"800-855\">\n          <Initialization range=\"0-799\"/>",
    ] {
        assert!(text.contains(words), "{text} should say {words}");
    }
    assert_eq!(text.matches("SegmentBase").count(), 2);
}
