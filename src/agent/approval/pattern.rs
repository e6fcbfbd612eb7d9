//! Patterns of paths in rules: as in `.gitignore`, from a root of the workspace, or an absolute place.

use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::paths;

/// Characters that stand for more than themselves.
const WILD: &[char] = &['*', '?', '[', '{'];

/// Which paths a rule is about.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// From any root.
    relative: Gitignore,
    /// From the root of the file system: the place as it is written, and where the links on its way lead.
    absolute: Vec<Gitignore>,
    /// The folders that the pattern begins with, where it is about one place.
    bases: Vec<PathBuf>,
}

/// Whether a folder holds what a pattern is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    No,
    Perhaps,
    /// All that the pattern is about.
    Surely,
}

impl Pattern {
    /// Spellings with one clear meaning count as that: `./docs/**` is `docs/**`, and `.` the whole project.
    ///
    /// # Errors
    /// What is wrong with a pattern that could never match, and what to write.
    pub(super) fn read(written: &str) -> Result<Self, String> {
        let pattern = plain(written)?;
        if pattern.starts_with(['!', '#', '~']) || pattern.split('/').any(|part| part == "..") {
            return Err(format!(
                "{written:?} is no pattern of paths: write one relative to the project, as src/** or *.md"
            ));
        }
        let relative = compiled(written, &pattern)?;
        let mut bases = vec![base(&pattern)];
        let mut absolute = Vec::new();
        if Path::new(&pattern).is_absolute() {
            absolute.push(compiled(written, &pattern)?);
            let base = base(&pattern);
            if let Ok(real) = paths::real(&base)
                && real != base
                && let Some(rest) = pattern.strip_prefix(&*base.to_string_lossy())
            {
                absolute.push(compiled(written, &format!("{}{rest}", literal(&real)))?);
                bases.push(real);
            }
        }
        bases.retain(|base| !base.as_os_str().is_empty());
        Ok(Self { relative, absolute, bases })
    }

    /// Whether it is about the file at a place, or about a folder above it. `relative` is from the root that holds it;
    /// `None` for what lies in no root.
    pub(super) fn covers(&self, relative: Option<&Path>, real: &Path) -> bool {
        let matches =
            |glob: &Gitignore, path: &Path| glob.matched_path_or_any_parents(path, false).is_ignore();
        let of_root = relative.is_some_and(|path| !path.has_root() && matches(&self.relative, path));
        of_root || self.absolute.iter().any(|glob| matches(glob, &without_root(real)))
    }

    /// Whether something that it is about may lie below a folder.
    pub(super) fn lies_below(&self, relative: Option<&Path>, real: &Path) -> Holds {
        if self.bases.is_empty() {
            return Holds::Perhaps;
        }
        let mut holds = Holds::No;
        for base in &self.bases {
            let places = [relative, Some(real)].into_iter().flatten();
            for place in places.filter(|place| place.has_root() == base.has_root()) {
                if base.starts_with(place) || place.as_os_str().is_empty() {
                    return Holds::Surely;
                }
                if place.starts_with(base) {
                    holds = Holds::Perhaps;
                }
            }
            // `/docs` is also a folder of each root.
            let of_root = relative.filter(|_| base.has_root());
            if of_root.is_some_and(|place| {
                let base = without_root(base);
                base.starts_with(place) || place.starts_with(&base)
            }) {
                holds = Holds::Perhaps;
            }
        }
        holds
    }
}

/// The pattern without what says nothing.
fn plain(written: &str) -> Result<String, String> {
    let is_quoted = |quote: char| written.len() > 1 && written.starts_with(quote) && written.ends_with(quote);
    if is_quoted('"') || is_quoted('\'') {
        return Err(format!("{written:?} is no pattern of paths: write it without quotes inside the rule"));
    }
    if written.contains('\\') {
        return Err(format!(
            "{written:?} is no pattern of paths: write / between folders, and [*] for a * that is part of a name"
        ));
    }
    if written.contains(", ") {
        return Err(format!("{written:?} is no pattern of paths: write one rule for each"));
    }
    let is_rooted = written.starts_with('/');
    let is_folder = written.ends_with('/');
    let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    Ok(match (parts.as_slice(), is_rooted, is_folder) {
        ([], ..) => "**".to_owned(),
        // `./a` names one file; without a slash `a` would name one at any depth.
        (parts, false, _) if written.starts_with("./") => format!("/{}{}", parts.join("/"), end(is_folder)),
        (parts, true, _) => format!("/{}{}", parts.join("/"), end(is_folder)),
        (parts, false, _) => format!("{}{}", parts.join("/"), end(is_folder)),
    })
}

const fn end(is_folder: bool) -> &'static str {
    if is_folder { "/" } else { "" }
}

fn compiled(written: &str, pattern: &str) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    let added = builder.add_line(None, pattern).map(|_| ());
    match added.and_then(|()| builder.build()) {
        Ok(glob) if !glob.is_empty() => Ok(glob),
        Ok(_) => Err(format!("{written:?} is no pattern of paths, such as src/** or *.md")),
        Err(error) => Err(format!("{written:?} is no pattern of paths: {error}")),
    }
}

/// The folders before the first wild character; empty for a pattern that may match at any depth.
fn base(pattern: &str) -> PathBuf {
    if !pattern.trim_end_matches('/').contains('/') {
        return PathBuf::new();
    }
    pattern.split('/').enumerate().take_while(|(_, part)| !part.contains(WILD)).fold(
        PathBuf::new(),
        |mut base, (index, part)| {
            base.push(if index == 0 && part.is_empty() { "/" } else { part });
            base
        },
    )
}

fn without_root(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// A path as a pattern that means it alone.
fn literal(path: &Path) -> String {
    let mut pattern = String::new();
    for character in path.to_string_lossy().chars() {
        if WILD.contains(&character) || matches!(character, '\\' | ']' | '}') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The pattern that a person would write for a place and what lies below it; `None` where there is none that means it
/// alone.
pub(super) fn meaning(place: &Path) -> Option<String> {
    let mut pattern = String::new();
    for character in place.to_str()?.chars() {
        match character {
            '}' => pattern.push_str("[}]"),
            wild if WILD.contains(&wild) => pattern.extend(['[', wild, ']']),
            '\\' => return None,
            plain => pattern.push(plain),
        }
    }
    // A blank at an end of a line is none.
    (pattern.trim() == pattern).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, relative: &str) -> bool {
        Pattern::read(pattern).unwrap().covers(Some(Path::new(relative)), &Path::new("/p").join(relative))
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        for pattern in ["docs/**", "./docs/**", "docs//**", "docs/./**", "/docs/**", "docs/", "./docs"] {
            assert!(covers(pattern, "docs/a/b.md") && !covers(pattern, "src/a.md"), "{pattern}");
        }
        for pattern in [".", "./", "/", "**"] {
            assert!(covers(pattern, "docs/a.md") && covers(pattern, "a"), "{pattern}");
        }
        assert!(covers("./a.md", "a.md") && !covers("./a.md", "docs/a.md"));
    }

    #[test]
    fn an_absolute_pattern_is_about_that_place_whether_it_lies_in_a_root_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/docs")).unwrap();
        let covers = |pattern: &Path, real: &Path| {
            Pattern::read(&pattern.display().to_string()).unwrap().covers(None, real)
        };
        assert!(covers(&root.join("real/docs/**"), &root.join("real/docs/a.md")));
        assert!(!covers(&root.join("real/docs/**"), &root.join("real/src/a.md")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
            assert!(covers(&root.join("link/docs/**"), &root.join("real/docs/a.md")));
        }
    }

    #[test]
    fn a_folder_holds_what_a_pattern_may_name_below_it() {
        let holds = |pattern: &str, folder: &str| {
            let real = Path::new("/p").join(folder);
            Pattern::read(pattern).unwrap().lies_below(Some(Path::new(folder)), &real)
        };
        assert_eq!(holds("docs/**", ""), Holds::Surely);
        assert_eq!(holds("docs/**", "docs"), Holds::Surely);
        assert_eq!(holds("docs/*.md", "docs/a"), Holds::Perhaps);
        assert_eq!(holds("docs/**", "src"), Holds::No);
        assert_eq!(holds("*.md", "src"), Holds::Perhaps);
        assert_eq!(holds("/p/docs/**", ""), Holds::Surely);
        assert_eq!(holds("/p/docs/**", "src"), Holds::No);
    }

    #[test]
    fn what_could_never_match_says_what_to_write() {
        for pattern in ["../x", "a/../b", "~/x", "!a", "'docs/**'", "docs\\a", "a/**, b/**"] {
            assert!(Pattern::read(pattern).is_err(), "{pattern}");
        }
    }
}
