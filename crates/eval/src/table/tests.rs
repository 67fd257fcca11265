//! Tables that are written and read here; those of pandas are read in the comparison with Python.

use super::*;

fn wanted(numbers: &dyn Fn(&str) -> bool) -> Wanted<'_> {
    Wanted { numbers, key: "key" }
}

fn round_trip(file: &str) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(file);
    let columns = ["key", "frame", "adm2", "mos", "empty"].map(str::to_owned).to_vec();
    let mut writer = TableWriter::new(&path, columns).unwrap();
    for row in 0..40i64 {
        let adm2 = if row % 7 == 3 { Cell::Missing } else { Cell::Number(row as f64 / 3.0) };
        let key = Cell::Text(format!("clip \"{row}\", ü"));
        writer.push(vec![key, Cell::Whole(row), adm2, Cell::Number(-row as f64), Cell::Missing]);
    }
    writer.finish().unwrap();
    Table::open(&path, wanted(&|_| true)).unwrap()
}

#[test]
fn what_is_written_is_read() {
    for file in ["a.parquet", "a.csv", "a.PQ"] {
        let table = round_trip(file);
        assert_eq!(table.rows, 40, "{file}");
        assert_eq!(table.known, ["key", "frame", "adm2", "mos", "empty"]);
        let adm2 = table.numbers("adm2").unwrap();
        assert!(adm2[3].is_nan() && adm2[10].is_nan());
        assert_eq!(adm2[8], 8.0 / 3.0);
        assert_eq!(table.numbers("frame").unwrap()[39], 39.0);
        assert!(table.numbers("empty").unwrap().iter().all(|value| value.is_nan()));
        assert_eq!(table.key().unwrap().get(2), Some("clip \"2\", ü".as_bytes()));
        assert!(table.numbers("vif_scale0").is_none());
    }
}

#[test]
fn garbage_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut cases = vec![
        ("a.parquet", b"PAR1 not at all PAR1".to_vec()),
        ("b.parquet", Vec::new()),
        ("c.csv", b"key,mos\na,b\n".to_vec()),
        ("d.csv", b"key,mos\na\n".to_vec()),
        ("e.txt", b"key,mos\n".to_vec()),
    ];
    let whole = folder.path().join("whole.parquet");
    let mut writer = TableWriter::new(&whole, vec!["mos".to_owned()]).unwrap();
    (0..1000).for_each(|row| writer.push(vec![Cell::Number(f64::from(row).sin())]));
    writer.finish().unwrap();
    let whole = std::fs::read(whole).unwrap();
    for cut in [10, 100, whole.len() / 2, whole.len() - 1] {
        cases.push(("cut.parquet", whole[..cut].to_vec()));
    }
    // Damage in every place: an error or a table, never a panic.
    for place in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x5a;
        let path = folder.path().join("damaged.parquet");
        std::fs::write(&path, damaged).unwrap();
        let _ = Table::open(&path, wanted(&|_| true));
    }
    for (name, bytes) in cases {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = Table::open(&path, wanted(&|_| true)).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
