//! Unloading, in a process of its own: nobody else keeps the library loaded.

mod api;

use api::{Api, QUIET};

/// A program may unload the library while threads that used it still run.
#[cfg(unix)]
#[test]
fn unloading_does_not_crash() {
    let score = || {
        let api = Api::ours();
        let context = api.context(api::Configuration { n_threads: 2, ..QUIET });
        assert_eq!(api.feature(context, "vif", &[]), 0);
        (0..3).for_each(|index| assert_eq!(api.read(context, 1, 8, (96, 64), index), 0));
        // SAFETY: alive until here.
        assert_eq!(unsafe { (api.close)(context) }, 0);
        api.unload();
    };
    for _ in 0..3 {
        std::thread::spawn(score).join().unwrap();
    }
}
