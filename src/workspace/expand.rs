//! What files a shell may put in the place of a word with `*`, `?` or `[`, from what is on the disk.

use std::{fs, path::Path};

/// Names that one pattern may stand for; more is not looked through.
const MAX_NAMES: usize = 1_000;

/// Entries of folders that are looked at for one pattern: some milliseconds.
const MAX_LOOKED_AT: usize = 20_000;

/// All that a shell in `folder` could make of a pattern, as it would write them, or more: what stands in brackets counts
/// as anything. Empty when nothing fits, which the shells take for the pattern itself. `None` when there is too much.
pub fn names(folder: &Path, pattern: &str) -> Option<Vec<String>> {
    let mut found = vec![if pattern.starts_with('/') { "/".to_owned() } else { String::new() }];
    let mut looked_at = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for before in &found {
            if !part.contains(['*', '?', '[']) {
                let path = format!("{before}{part}");
                // Links count as they stand, as for the shells.
                if part.starts_with("..") || fs::symlink_metadata(folder.join(&path)).is_ok() {
                    next.push(format!("{path}/"));
                }
                continue;
            }
            let place = if before.is_empty() { folder.to_owned() } else { folder.join(before) };
            for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                looked_at += 1;
                let name = entry.file_name().into_string().ok()?;
                let is_hidden = name.starts_with('.') && !part.starts_with(['.', '[']);
                if !is_hidden && may_match(part, &name) {
                    next.push(format!("{before}{name}/"));
                }
                if looked_at > MAX_LOOKED_AT || next.len() > MAX_NAMES {
                    return None;
                }
            }
        }
        found = next;
    }
    let is_folder = pattern.ends_with('/');
    let plain = |name: String| if is_folder { name } else { name.trim_end_matches('/').to_owned() };
    let mut found: Vec<String> = found.into_iter().map(plain).filter(|name| !name.is_empty()).collect();
    found.sort();
    Some(found)
}

/// Whether a name may fit one part of a pattern.
fn may_match(pattern: &str, name: &str) -> bool {
    // Shells differ in brackets: from the first one on anything fits.
    let (pattern, is_cut) = match pattern.split_once('[') {
        Some((before, _)) => (before, true),
        None => (pattern, false),
    };
    let mut pattern: Vec<char> = pattern.chars().collect();
    if is_cut {
        pattern.push('*');
    }
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name, mut star) = (0, 0, None);
    while let Some(character) = name.get(in_name) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some('?') => {
                at += 1;
                in_name += 1;
            }
            Some(wanted) if wanted == character => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                // The last star takes one character more.
                Some((star_at, taken)) => {
                    at = star_at + 1;
                    in_name = taken + 1;
                    star = Some((star_at, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_what_is_on_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["a.js", "b.js", ".env", "-x.js", "web/c.js", "lib/c.js", "lib/d.rs"] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), "").unwrap();
        }
        let names = |pattern: &str| names(dir.path(), pattern).unwrap().join(" ");
        assert_eq!(names("*.js"), "-x.js a.js b.js");
        assert_eq!(names("?.js"), "a.js b.js");
        assert_eq!(names("*/c.js"), "lib/c.js web/c.js");
        assert_eq!(names("lib/*"), "lib/c.js lib/d.rs");
        assert_eq!(names(".en?"), ".env");
        assert_eq!(names("./.en[v]"), "./.env");
        assert!(names("[.]env").contains(".env"), "shells differ in brackets: they stand for anything");
        assert_eq!(names("*.py"), "");
        assert_eq!(names("*"), "-x.js a.js b.js lib web");
        assert_eq!(names("*b/"), "lib/ web/");
    }
}
