//! Strata of a sample: runs of frames of shots that move alike.
//!
//! An encoder spends bytes where pictures change, and puts a key frame where a shot begins. So the packets of an encoded video
//! tell its shots and their motion, and the container has their sizes: nothing is decoded for it. Raw video has
//! nothing of the kind short of reading all of it; its strata are stretches of time.

use visus_media::Packet;

/// Classes of motion; each has the same number of runs.
const CLASSES: usize = 8;
/// Shots are told by key frames if these are at least so many runs apart, on the average.
const SHORTEST: usize = 2;

/// A stratum for every run of so many frames; `None` where packets tell no shots, or all of them move alike.
pub(crate) fn by_motion(packets: &[Packet], run: u64) -> Option<Vec<u32>> {
    let run = usize::try_from(run).ok().filter(|run| *run > 0)?;
    let keys = packets.iter().filter(|packet| packet.key).count();
    if keys == 0 || packets.len() / keys < SHORTEST * run {
        return None;
    }
    let motion: Vec<f64> =
        shots(packets).into_iter().flat_map(|shot| vec![motion(shot); shot.len()]).collect();
    // A run belongs to the shot in which its first frame lies.
    let runs: Vec<f64> = motion.chunks(run).map(|run| run[0]).collect();
    let mut sorted = runs.clone();
    sorted.sort_by(f64::total_cmp);
    let class = |moves: &f64| (CLASSES * sorted.partition_point(|other| other < moves) / sorted.len()) as u32;
    let strata: Vec<u32> = runs.iter().map(class).collect();
    strata.iter().any(|stratum| *stratum != strata[0]).then_some(strata)
}

/// Stretches from key frame to key frame.
fn shots(packets: &[Packet]) -> Vec<&[Packet]> {
    packets.chunk_by(|_, next| !next.key).collect()
}

/// The mean logarithm of the sizes of packets, those of key frames apart.
fn motion(shot: &[Packet]) -> f64 {
    let sizes = shot.iter().filter(|packet| !packet.key).map(|packet| (packet.bytes.max(1) as f64).ln());
    let (sum, count) = sizes.fold((0.0, 0), |(sum, count), size| (sum + size, count + 1));
    sum / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shot(frames: usize, bytes: u64) -> Vec<Packet> {
        (0..frames)
            .map(|frame| Packet { bytes: if frame == 0 { 9000 } else { bytes }, key: frame == 0 })
            .collect()
    }

    #[test]
    fn shots_that_move_alike_are_one_stratum() {
        let packets = [shot(48, 100), shot(48, 800), shot(48, 100), shot(48, 800)].concat();
        let strata = by_motion(&packets, 12).expect("strata");
        assert_eq!(strata.len(), 16);
        assert!(strata[..4] == strata[8..12] && strata[4..8] == strata[12..] && strata[0] < strata[4]);
    }

    #[test]
    fn key_frames_everywhere_tell_no_shots() {
        assert_eq!(by_motion(&vec![Packet { bytes: 500, key: true }; 400], 12), None);
        assert_eq!(by_motion(&shot(400, 100), 12), None);
        assert_eq!(by_motion(&[], 12), None);
    }
}
