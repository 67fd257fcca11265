//! A kernel without Landlock, and a container that forbids filters of system calls: everything works, what is missing is
//! said, and what only Landlock makes safe is refused.
//!
//! Such a machine is made with seccomp itself: a thread on which the calls fail starts the server, which inherits that.

use std::collections::BTreeMap;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use serde_json::{Value, json};

use super::served::Served;

/// A filter under which these calls fail as on a kernel that does not know them.
fn without(calls: &[i64]) -> BpfProgram {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    if calls.contains(&libc::SYS_seccomp) {
        // The older way to the same.
        let mode = libc::PR_SET_SECCOMP as u64;
        let asked = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, mode).unwrap();
        rules.insert(libc::SYS_prctl, vec![SeccompRule::new(vec![asked]).unwrap()]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let refuse = SeccompAction::Errno(libc::ENOSYS as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap().try_into().unwrap()
}

const LANDLOCK: [i64; 3] =
    [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];

/// Runs `work` where these calls fail, for it and for what it starts. Nothing where filters cannot be installed at all.
fn on_a_machine_without<T: Send>(calls: &[i64], work: impl FnOnce() -> T + Send) -> Option<T> {
    let filter = without(calls);
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || seccompiler::apply_filter(&filter).is_ok().then(work));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn film(served: &Served, name: &str, level: u8) {
    let frame = [b"FRAME\n".as_slice(), &[level; 64 * 64 * 3 / 2]].concat();
    let bytes = [b"YUV4MPEG2 W64 H64 F25:1 C420\n".as_slice(), &frame.repeat(3)].concat();
    std::fs::write(served.path(name), bytes).unwrap();
}

/// What a client sees of such a machine: the active protections, a score of encoded video, and what a playlist and numbered
/// pictures get.
fn seen() -> (Value, Value, String, Result<Value, String>) {
    let served = Served::start(8192, &[]);
    film(&served, "ref.y4m", 90);
    film(&served, "dis.y4m", 80);
    let encode = |from: &str, to: &str| {
        let place = |name: &str| served.path(name).to_str().unwrap().to_owned();
        let (from, to) = (place(from), place(to));
        let done =
            Command::new("ffmpeg").args(["-v", "error", "-i", &from, "-c:v", "ffv1", &to]).status().unwrap();
        assert!(done.success());
    };
    encode("ref.y4m", "ref.mkv");
    encode("dis.y4m", "dis.mkv");
    std::fs::create_dir(served.path("pictures")).unwrap();
    for number in 1..4 {
        let picture = [b"P5 64 64 255\n".as_slice(), &[90; 64 * 64]].concat();
        std::fs::write(served.path(&format!("pictures/{number:03}.pgm")), picture).unwrap();
    }
    let list = format!("ffconcat version 1.0\nfile '{}'\n", served.path("ref.mkv").display());
    std::fs::write(served.path("list.mkv"), list).unwrap();
    let (_, health) = served.request("GET /healthz HTTP/1.1\r\n", "");
    let health: Value = serde_json::from_str(&health).unwrap();
    let score = |name: &str| {
        let (reference, distorted) = (served.path(name), served.path("dis.mkv"));
        served.call("vmaf_score", json!({ "ref": reference, "dis": distorted, "sync": "off", "force": true }))
    };
    let scored = score("ref.mkv").unwrap()["pooled_metrics"].clone();
    (health["sandbox"].clone(), scored, score("list.mkv").unwrap_err(), score("pictures"))
}

/// What `visus doctor` says of one protection.
fn diagnosed(name: &str) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_visus")).args(["doctor", "--json"]).output().unwrap();
    let findings: Value = serde_json::from_slice(&out.stdout).unwrap();
    findings.as_array().unwrap().iter().find(|finding| finding["name"] == name).unwrap().clone()
}

#[test]
fn without_landlock_and_seccomp_everything_works_and_doctor_says_what_is_missing() {
    let (_, usual, _, _) = seen();
    let calls = [LANDLOCK.as_slice(), &[libc::SYS_seccomp]].concat();
    let found = on_a_machine_without(&calls, || (seen(), diagnosed("landlock"), diagnosed("seccomp")));
    let Some(((active, scored, playlist, pictures), landlock, seccomp)) = found else {
        eprintln!("skipped: no filter can be installed here, so this machine is such a one");
        return;
    };
    let active = active.to_string();
    assert!(!active.contains("landlock") && !active.contains("seccomp"), "{active}");
    assert!(active.contains("rlimits") && active.contains("parent-death"), "{active}");
    assert_eq!(scored, usual, "the same figures");
    assert!(playlist.contains("not a video"), "{playlist}");
    // Links could lead a decoder out of the folder; only the kernel can keep it from following them.
    assert!(pictures.unwrap_err().contains("Landlock"));
    for finding in [landlock, seccomp] {
        assert!(finding["ok"] == false && finding["advice"].is_string(), "{finding}");
    }
}

#[test]
fn each_protection_is_found_by_itself() {
    let landlock = on_a_machine_without(&[libc::SYS_seccomp], || diagnosed("landlock")["ok"].clone());
    let seccomp = on_a_machine_without(&LANDLOCK, || diagnosed("seccomp")["ok"].clone());
    if let (Some(landlock), Some(seccomp)) = (landlock, seccomp) {
        assert_eq!(landlock, diagnosed("landlock")["ok"]);
        assert_eq!(seccomp, true);
    }
}
