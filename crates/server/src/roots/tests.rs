//! What may be opened, and what not.

use std::io::Read;
use std::os::unix::fs::symlink;

use super::*;

struct Place {
    _dir: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    roots: Roots,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (inside, outside) = (base.join("in"), base.join("out"));
    std::fs::create_dir_all(inside.join("sub")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(inside.join("sub/a.yuv"), b"good").unwrap();
    std::fs::write(outside.join("secret"), b"secret").unwrap();
    let roots = Roots::new(std::slice::from_ref(&inside));
    Place { _dir: dir, inside, outside, roots }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn files_under_a_root_open() {
    let place = place();
    for name in ["sub/a.yuv", "sub/../sub/./a.yuv", "../in/sub/a.yuv"] {
        let mut opened = place.roots.open(&text(&place.inside.join(name))).unwrap();
        let mut content = String::new();
        opened.file.read_to_string(&mut content).unwrap();
        assert_eq!((content.as_str(), opened.path), ("good", place.inside.join("sub/a.yuv")));
    }
}

#[test]
fn the_root_comes_before_existence() {
    let place = place();
    for name in ["secret", "absent"] {
        let path = place.outside.join(name);
        let expected =
            format!("path {} not under an allowlisted root; set VMAF_MCP_ALLOW to extend.", path.display());
        assert_eq!(place.roots.open(&text(&path)).unwrap_err().to_string(), expected);
    }
    assert_eq!(
        place.roots.open(&text(&place.inside.join("nothing"))).unwrap_err(),
        PathError::Absent(text(&place.inside.join("nothing")))
    );
}

#[test]
fn whole_components_count() {
    let place = place();
    let neighbour = place.inside.with_file_name("in-other");
    std::fs::create_dir(&neighbour).unwrap();
    std::fs::write(neighbour.join("x"), b"").unwrap();
    assert!(matches!(place.roots.open(&text(&neighbour.join("x"))), Err(PathError::Outside(_))));
}

#[test]
fn links_are_resolved_and_judged_by_where_they_lead() {
    let place = place();
    symlink(&place.outside, place.inside.join("door")).unwrap();
    symlink(place.outside.join("secret"), place.inside.join("key")).unwrap();
    symlink("sub/a.yuv", place.inside.join("good")).unwrap();
    symlink(place.inside.join("sub"), place.outside.join("back")).unwrap();
    for name in ["door/secret", "key"] {
        let path = text(&place.inside.join(name));
        // The refusal says nothing about where the link leads.
        assert_eq!(place.roots.open(&path).unwrap_err(), PathError::Outside(path.clone()), "{name}");
        assert_eq!(
            place.roots.output(&format!("{path}/x")).unwrap_err(),
            PathError::Outside(format!("{path}/x"))
        );
    }
    assert!(place.roots.open(&text(&place.inside.join("good"))).is_ok());
    assert!(place.roots.open(&text(&place.outside.join("back/a.yuv"))).is_ok());
    symlink("loop", place.inside.join("loop")).unwrap();
    assert!(place.roots.open(&text(&place.inside.join("loop"))).is_err());
}

#[test]
fn a_link_swapped_in_after_the_check_gains_nothing() {
    let place = place();
    let resolved = place.roots.resolve(&text(&place.inside.join("sub/a.yuv"))).unwrap();
    std::fs::remove_dir_all(place.inside.join("sub")).unwrap();
    std::fs::write(place.outside.join("a.yuv"), b"secret").unwrap();
    symlink(&place.outside, place.inside.join("sub")).unwrap();
    assert!(walk::open_regular(&resolved).is_err(), "a folder became a link");
    assert!(walk::names(&place.inside.join("sub"), 10).is_err(), "names of another folder are not told");
    std::fs::remove_file(place.inside.join("sub")).unwrap();
    std::fs::create_dir(place.inside.join("sub")).unwrap();
    assert_eq!(place.roots.names(&text(&place.inside.join("sub")), 10).unwrap().1, Vec::<String>::new());
    assert_eq!(place.roots.names(&text(&place.inside), 10).unwrap().1, ["sub"]);
    symlink(place.outside.join("a.yuv"), place.inside.join("sub/a.yuv")).unwrap();
    assert!(walk::open_regular(&resolved).is_err(), "the file became a link");
}

#[test]
fn only_regular_files() {
    let place = place();
    let fifo = place.inside.join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for path in [place.inside.clone(), fifo] {
        let error = place.roots.open(&text(&path)).unwrap_err();
        assert_eq!(error, PathError::NotRegular(text(&path)));
    }
    let devices = Roots::new(&[PathBuf::from("/dev")]);
    assert!(matches!(devices.open("/dev/null"), Err(PathError::NotRegular(_))));
}

#[test]
fn texts_that_are_no_paths() {
    let roots = place().roots;
    assert_eq!(roots.open("a\0b").unwrap_err(), PathError::Null);
    assert_eq!(
        roots.open("http://host/a.y4m").unwrap_err().to_string(),
        "media path scheme 'http://' is not permitted; only local file paths are accepted."
    );
    assert_eq!(roots.open("").unwrap_err(), PathError::Empty);
    assert_eq!(roots.open(&"x/".repeat(4096)).unwrap_err(), PathError::TooLong);
}

#[test]
fn a_root_may_be_one_file() {
    let place = place();
    let roots = Roots::new(&[place.outside.join("secret")]);
    assert!(roots.open(&text(&place.outside.join("secret"))).is_ok());
    assert!(roots.open(&text(&place.outside.join("other"))).is_err());
}

#[test]
fn outputs_need_a_folder_under_a_root() {
    let place = place();
    assert!(place.roots.output(&text(&place.inside.join("new.mp4"))).is_ok());
    assert!(place.roots.output(&text(&place.outside.join("new.mp4"))).is_err());
    assert!(place.roots.output(&text(&place.inside.join("../new.mp4"))).is_err());
}

#[cfg(unix)]
#[test]
fn writing_needs_leave_and_spares_what_is_there() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().canonicalize().unwrap();
    let [films, out] = ["films", "out"].map(|name| base.join(name));
    std::fs::create_dir(&films).unwrap();
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("source.mp4"), "film").unwrap();
    std::fs::hard_link(out.join("source.mp4"), out.join("also.mp4")).unwrap();
    std::fs::write(out.join("old.mp4"), "old").unwrap();
    std::os::unix::fs::symlink("/etc", out.join("away")).unwrap();
    std::os::unix::fs::symlink(out.join("old.mp4"), out.join("link.mp4")).unwrap();
    let source = std::fs::File::open(out.join("source.mp4")).unwrap();
    let closed = Roots::new(std::slice::from_ref(&base));
    let roots = closed.clone().with_writable(std::slice::from_ref(&out));
    let create = |roots: &Roots, path: &str, overwrite| {
        roots.create(&base.join(path).to_string_lossy(), overwrite, &source).map(|output| output.path)
    };
    assert!(matches!(create(&closed, "out/new.mp4", false), Err(PathError::NotWritable(_))));
    assert!(matches!(create(&roots, "films/new.mp4", false), Err(PathError::NotWritable(_))));
    assert!(matches!(create(&roots, "out/away/passwd", true), Err(PathError::Outside(_))));
    assert!(matches!(create(&roots, "out/../films/x", true), Err(PathError::NotWritable(_))));
    assert_eq!(create(&roots, "out/new.mp4", false).unwrap(), out.join("new.mp4"));
    assert!(matches!(create(&roots, "out/old.mp4", false), Err(PathError::Exists(_))));
    assert_eq!(create(&roots, "out/old.mp4", true).unwrap(), out.join("old.mp4"));
    for name in ["out/source.mp4", "out/also.mp4"] {
        assert!(matches!(create(&roots, name, true), Err(PathError::IsSource(_))), "{name}");
    }
    assert!(matches!(create(&roots, "out/link.mp4", false), Err(PathError::Exists(_))));
    assert!(matches!(create(&roots, "out/none/x.mp4", true), Err(PathError::Absent(_))));
    assert!(matches!(create(&roots, "out", true), Err(PathError::NotWritable(_))));
}
