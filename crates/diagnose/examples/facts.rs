//! Writes what detectors know of every pair of two Y4M files, one JSON object per line.
use visus_diagnose::Watch;
use visus_video::{Frame, open};

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(reference), Some(distorted)) = (args.next(), args.next()) else { return };
    let (mut a, mut b) = (open(&reference, None).unwrap(), open(&distorted, None).unwrap());
    let format = *a.format();
    let watch = Watch::new(&format, 0);
    let (mut r, mut d) = (Frame::new(format), Frame::new(format));
    let mut index = 0;
    let mut spent = std::time::Duration::ZERO;
    while a.read(&mut r).unwrap() && b.read(&mut d).unwrap() {
        let started = std::time::Instant::now();
        watch.look(index, &r, &d);
        spent += started.elapsed();
        index += 1;
    }
    let (_, facts) = watch.finish();
    eprintln!("{:.3} ms per pair", spent.as_secs_f64() * 1e3 / index as f64);
    for facts in &facts {
        println!("{}", serde_json::to_string(facts).unwrap());
    }
}
