//! `visus features`, and what comes out of it into `visus eval`.

use crate::common::{stderr, stdout, visus};
use crate::python::made;

fn features(args: &[&str]) -> std::process::Output {
    visus().current_dir(&made().folder).arg("features").args(args).output().unwrap()
}

#[test]
fn a_table_of_frames_holds_the_engines_figures() {
    let output = features(&["ref.y4m", "dis.y4m", "--per-frame", "-f", "psnr", "-o", "frames.csv", "-q"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let scored = visus()
        .current_dir(&made().folder)
        .args(["score", "ref.y4m", "dis.y4m", "-f", "psnr", "--csv=scored.csv", "--precision=max", "-q"])
        .output()
        .unwrap();
    assert!(scored.status.success(), "{}", stderr(&scored));
    let read = |name: &str| -> Vec<csv::StringRecord> {
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_path(made().path(name)).unwrap();
        reader.records().map(Result::unwrap).collect()
    };
    let (frames, scores) = (read("frames.csv"), read("scored.csv"));
    assert_eq!(frames.len(), 6);
    let place = |table: &[csv::StringRecord], name: &str| table[0].iter().position(|n| n == name).unwrap();
    for (ours, theirs) in [
        ("adm2", "integer_adm2"),
        ("vif_scale2", "integer_vif_scale2"),
        ("motion2", "integer_motion2"),
        ("psnr_y", "psnr_y"),
    ] {
        let (ours, theirs) = (place(&frames, ours), place(&scores, theirs));
        for row in 1..frames.len() {
            let number = |text: &str| text.parse::<f64>().unwrap();
            assert_eq!(number(&frames[row][ours]), number(&scores[row][theirs]));
        }
    }
    assert_eq!(&frames[1][0], "dis");
}

#[test]
fn a_list_becomes_a_data_set_that_can_be_evaluated() {
    let rows: String = (0..4)
        .map(|i| {
            format!(
                "ref.y4m,{},{},clip{i}\n",
                if i % 2 == 0 { "dis.y4m" } else { "ref.y4m" },
                40 + 50 * (i % 2) + i
            )
        })
        .collect();
    std::fs::write(made().path("pairs.csv"), format!("reference,distorted,mos,key\n{rows}")).unwrap();
    for table in ["set.parquet", "set.csv"] {
        let output = features(&["--list", "pairs.csv", "-m", "vmaf_v0.6.1neg", "-o", table]);
        assert!(output.status.success(), "{}", stderr(&output));
        let output = visus()
            .current_dir(&made().folder)
            .args([
                "eval",
                "pick0.onnx",
                "vmaf_v0.6.1",
                "vmaf_v0.6.1neg",
                "--features",
                table,
                "--split",
                "all",
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stdout(&output).contains("4 rows") && stderr(&output).is_empty(), "{}", stderr(&output));
    }
    let output = visus()
        .current_dir(&made().folder)
        .args(["eval", "vmaf_v0.6.1neg", "--features", "base.parquet", "--split", "all"])
        .output()
        .unwrap();
    assert!(stderr(&output).contains("has no column 'adm2_egl_1'"), "{}", stderr(&output));
}

#[test]
fn wrong_arguments() {
    assert_eq!(features(&["ref.y4m", "dis.y4m"]).status.code(), Some(2));
    assert_eq!(features(&["ref.y4m", "-o", "a.csv"]).status.code(), Some(2));
    for (args, words) in [
        (["ref.y4m", "dis.y4m", "-o", "a.txt"], "a table is a .parquet or a .csv file"),
        (["ref.y4m", "none.y4m", "-o", "a.csv"], "none.y4m"),
    ] {
        let output = features(&args);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
