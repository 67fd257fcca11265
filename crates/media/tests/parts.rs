//! Parts of a clip: what they know of the pairing joins to what one run knows, whatever was read ahead.

mod common;

use common::{FRAME_TIMES, Scene, X264};
use serde_json::Value;
use visus_media::{Input, PairOptions, Scale, join_shares, open_pair};
use visus_video::Frame;

struct Read {
    share: Value,
    sections: Vec<(String, Value)>,
}

/// Reads the pairs of a part, and some more, as an engine does.
fn part(scene: &Scene, distorted: &str, from: u64, to: Option<u64>, ahead: u64) -> Read {
    let inputs = ["ref.mkv", distorted].map(|name| Input::detect(&scene.path(name), None));
    let options = PairOptions { scale: Scale::Reference, ..PairOptions::default() };
    let mut pair = open_pair(inputs, &options).unwrap();
    let mut frame = Frame::new(*pair.reference.format());
    for _ in 0..from {
        // In turn: neither side is handed over without the other.
        assert_eq!((pair.reference.skip(1).unwrap(), pair.distorted.skip(1).unwrap()), (1, 1));
    }
    let (mut end, mut ended) = (from, false);
    while !ended && to.is_none_or(|to| end < to + ahead) {
        ended = !pair.reference.read(&mut frame).unwrap() || !pair.distorted.read(&mut frame).unwrap();
        end += u64::from(!ended);
    }
    let scored = to.map_or(end, |to| to.min(end));
    pair.control.scored(from..scored, to.is_none() || scored < to.unwrap_or(0));
    pair.control.finish();
    Read { share: pair.control.share(), sections: pair.control.report() }
}

fn section<'a>(read: &'a Read, name: &str) -> &'a Value {
    &read.sections.iter().find(|(key, _)| key == name).unwrap().1
}

#[test]
fn parts_join_to_one_run() {
    let scene = Scene::new("320x180", 25, 150);
    scene.encode_steady("trim=start_frame=7,setpts=PTS-STARTPTS", X264, "late.mp4");
    let keep = "select='gte(n,3)*not(eq(n,60)+between(n,75,78))',setpts=N/25/TB";
    scene.encode_steady(keep, X264, "drops.mp4");
    scene.encode("", X264, "plain.mp4");
    scene.encode("scale=160:90", X264, "small.mp4");
    let times = [X264, &[*FRAME_TIMES, "vfr"]].concat();
    scene.encode("select='not(eq(mod(n,7),3))'", &times, "vfr.mkv");
    for name in ["plain.mp4", "late.mp4", "drops.mp4", "small.mp4", "vfr.mkv"] {
        let whole = part(&scene, name, 0, None, 0);
        for (seams, ahead) in [(vec![57], 0), (vec![40, 57, 71], 4)] {
            let edges: Vec<Option<u64>> =
                [vec![Some(0)], seams.iter().map(|at| Some(*at)).collect(), vec![None]].concat();
            let parts = edges.windows(2).map(|edge| part(&scene, name, edge[0].unwrap_or(0), edge[1], ahead));
            let shares: Vec<Value> = parts.map(|part| part.share).collect();
            // Through text, as reports go.
            let text = serde_json::to_string(&shares).unwrap();
            let joined = join_shares(&serde_json::from_str::<Vec<Value>>(&text).unwrap()).unwrap();
            assert_eq!(joined.pairing.to_string(), section(&whole, "pairing").to_string(), "{name}");
            assert_eq!(joined.comparability.to_string(), section(&whole, "comparability").to_string());
        }
    }
}

#[test]
fn what_was_read_ahead_does_not_show() {
    let scene = Scene::new("160x90", 25, 90);
    scene.encode("", X264, "dis.mp4");
    let reads: Vec<Read> = (0..4).map(|ahead| part(&scene, "dis.mp4", 20, Some(47), ahead)).collect();
    for read in &reads {
        assert_eq!(section(read, "pairing")["pairs"], 27);
        assert_eq!(read.sections, reads[0].sections);
    }
}

#[test]
fn parts_of_different_pairs_do_not_join() {
    let scene = Scene::new("160x90", 25, 90);
    scene.encode("", X264, "dis.mp4");
    scene.encode_steady("trim=start_frame=7,setpts=PTS-STARTPTS", X264, "late.mp4");
    let (first, gap) = (part(&scene, "dis.mp4", 0, Some(30), 0), part(&scene, "dis.mp4", 40, None, 0));
    let other = part(&scene, "late.mp4", 30, None, 0);
    assert!(join_shares(&[first.share.clone(), gap.share]).unwrap_err().contains("follow"));
    assert!(join_shares(&[first.share, other.share]).is_err());
    assert!(join_shares(&[]).is_err());
    assert!(join_shares(&[Value::Null]).is_err());
}
