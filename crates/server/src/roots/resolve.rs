//! From a name to the place it stands for.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// More links than this are a loop.
const MAX_LINKS: usize = 40;

/// Makes a path absolute and follows its links as far as they exist; what does not exist is taken as it is written.
#[expect(clippy::disallowed_methods, reason = "a name is resolved before it is opened part by part")]
pub fn resolve(path: &Path) -> PathBuf {
    let (mut done, mut todo) = split(path);
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(&part);
        let Ok(target) = std::fs::read_link(&done) else { continue };
        links += 1;
        if links > MAX_LINKS {
            break;
        }
        done.pop();
        let (start, mut parts) = split(&done.join(target));
        done = start;
        parts.append(&mut todo);
        todo = parts;
    }
    done.extend(todo);
    done
}

/// Makes a path absolute by its text alone.
pub fn lexical(path: &Path) -> PathBuf {
    let (mut done, todo) = split(path);
    for part in todo {
        if part == ".." {
            done.pop();
        } else {
            done.push(part);
        }
    }
    done
}

/// The root of an absolute path, and the parts below it.
fn split(path: &Path) -> (PathBuf, VecDeque<OsString>) {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (mut root, mut parts) = (PathBuf::new(), VecDeque::new());
    for component in absolute.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => root.push(component),
            Component::CurDir => {}
            Component::ParentDir => parts.push_back("..".into()),
            Component::Normal(part) => parts.push_back(part.to_owned()),
        }
    }
    (root, parts)
}
