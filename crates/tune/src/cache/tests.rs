//! Values, files, limits, and two who want the same.

use super::*;

fn key(number: u32) -> Key {
    Key::new(json!({ "kind": "test", "number": number }))
}

fn cache(limit: u64) -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), limit).unwrap();
    (folder, cache)
}

#[test]
fn values_and_files_come_back() {
    let (folder, cache) = cache(DEFAULT_LIMIT);
    assert_eq!(cache.get::<Vec<f64>>(&key(1)), None);
    cache.put(&key(1), &vec![1.0, 95.123456789012345]).unwrap();
    assert_eq!(cache.get::<Vec<f64>>(&key(1)), Some(vec![1.0, 95.123456789012345]));
    let file = folder.path().join("a");
    std::fs::write(&file, "video").unwrap();
    cache.store(&key(2), &file).unwrap();
    let copy = folder.path().join("b");
    assert!(cache.fetch(&key(2), &copy) && !cache.fetch(&key(3), &folder.path().join("c")));
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "video");
    let usage = cache.usage();
    assert_eq!((usage.values, usage.files), (1, 1));
    assert_eq!(cache.list().iter().filter(|entry| entry.facts.is_some()).count(), 1);
    assert_eq!(cache.clear().unwrap().entries, 2);
    assert_eq!(cache.usage().bytes, 0);
}

#[test]
fn what_cannot_be_read_counts_as_absent_and_is_replaced() {
    let (_folder, cache) = cache(DEFAULT_LIMIT);
    cache.put(&key(1), &7).unwrap();
    let path = cache.entry_path(&key(1));
    for damage in ["", "{\"facts\":", "{\"facts\":{\"kind\":\"other\"},\"value\":7}", "null"] {
        std::fs::write(&path, damage).unwrap();
        assert_eq!(cache.get::<i32>(&key(1)), None, "{damage}");
        assert!(!path.exists());
    }
    cache.put(&key(1), &8).unwrap();
    assert_eq!(cache.get::<i32>(&key(1)), Some(8));
}

#[test]
fn the_longest_unused_goes_first() {
    let (folder, cache) = cache(10_000);
    let file = folder.path().join("a");
    std::fs::write(&file, vec![0; 2000]).unwrap();
    for number in 0..4 {
        cache.store(&key(number), &file).unwrap();
        // File systems keep times in steps of a few milliseconds.
        std::thread::sleep(Duration::from_millis(15));
    }
    assert!(cache.fetch(&key(0), &folder.path().join("used")));
    std::thread::sleep(Duration::from_millis(15));
    for number in 4..6 {
        cache.store(&key(number), &file).unwrap();
        std::thread::sleep(Duration::from_millis(15));
    }
    let there = |number: u32| cache.file_path(&key(number)).exists();
    assert!(cache.usage().bytes <= 10_000, "{:?}", cache.usage());
    assert!(there(0) && there(5) && !there(1), "the used and the new stay");
    std::fs::write(&file, vec![0; 6000]).unwrap();
    cache.store(&key(9), &file).unwrap();
    assert!(!there(9), "a file of more than half the limit is not kept");
}

#[test]
fn one_at_a_time_works_on_a_key() {
    let (_folder, cache) = cache(DEFAULT_LIMIT);
    let made = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let _guard = cache.lock(&key(1), &Cancel::new()).unwrap();
                if cache.get::<u32>(&key(1)).is_none() {
                    made.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(30));
                    cache.put(&key(1), &1u32).unwrap();
                }
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
    let held = cache.lock(&key(1), &Cancel::new()).unwrap();
    let cancel = Cancel::new();
    cancel.fire();
    assert!(matches!(cache.lock(&key(1), &cancel), Err(TuneError::Cancelled)));
    drop(held);
}

#[test]
fn writers_and_a_clearer_do_not_disturb_each_other() {
    let (_folder, cache) = cache(DEFAULT_LIMIT);
    std::thread::scope(|scope| {
        for worker in 0..3u32 {
            let cache = &cache;
            scope.spawn(move || {
                for number in 0..40 {
                    cache.put(&key(worker * 100 + number), &number).unwrap();
                    let found = cache.get::<u32>(&key(number));
                    assert!(found.is_none_or(|value| value == number));
                }
            });
        }
        for _ in 0..10 {
            cache.clear().unwrap();
        }
    });
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("cache");
    Cache::open(&folder, 1 << 20).unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = Cache::open(&folder, 1 << 20).unwrap_err().chain();
    assert!(refused.contains("cache"), "{refused}");
}
