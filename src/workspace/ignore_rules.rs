//! What the ignore files of a project hide from a walk, as git has it.
//!
//! Only regular files of a bounded size are obeyed. Anything else under the name of an ignore file (a link, which git
//! does not follow there either; a pipe; a device; a file too large to be meant) is never opened, and its folder is
//! walked as if it were not there: ignore rules keep noise away and protect nothing.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ignore::{
    DirEntry, Match,
    gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path},
};

use super::bounded;

/// The largest ignore file that is obeyed, in bytes. Those that people write are a tenth of it at most, and a
/// compiled rule takes some hundred times the memory of its text.
const MAX_FILE_BYTES: u64 = 100_000;

/// Bytes of ignore files that are obeyed at once: those of a folder and of all above it.
const MAX_LIVE_BYTES: u64 = 2 * MAX_FILE_BYTES;

/// The longest rule that is obeyed, in bytes; no path that it could mean is longer.
const MAX_RULE_BYTES: usize = 1_000;

/// The longest `.git` file that leads to the repository of a worktree, in bytes: a word and a path.
const MAX_LEAD_BYTES: u64 = 8_000;

/// The rules that hold below one place.
pub(super) struct IgnoreRules {
    /// The top of the repository that the place lies in, else the place itself. Ignore files further up do not
    /// count, or one in the user's home would hide all projects.
    top: PathBuf,
    /// The user's own rules for all repositories.
    global: Gitignore,
    /// The folders from the top to the one that was asked about last.
    chain: Mutex<Vec<Folder>>,
}

/// The rules of one folder.
struct Folder {
    path: PathBuf,
    is_repository: bool,
    ignore: Gitignore,
    git_ignore: Gitignore,
    git_exclude: Gitignore,
    /// Bytes of the files that were obeyed.
    bytes: u64,
}

impl IgnoreRules {
    /// The rules for a walk that starts at `place`, an absolute path.
    pub(super) fn new(place: &Path) -> Self {
        let top = place.ancestors().find(|above| above.join(".git").exists()).unwrap_or(place).to_owned();
        let global = gitconfig_excludes_path().and_then(|path| read_text(&path, MAX_FILE_BYTES));
        let global = global.map_or_else(Gitignore::empty, |text| compile(&top, &text));
        Self { top, global, chain: Mutex::default() }
    }

    /// Whether the walk passes over an entry below the place, and over what is in it. To be asked in the order of a
    /// walk, in which a folder comes just before its entries.
    pub(super) fn hide(&self, entry: &DirEntry) -> bool {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        match self.find(entry.path(), is_dir) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => entry.file_name().as_encoded_bytes().starts_with(b"."),
        }
    }

    /// What the rules say: `.ignore` counts more than `.gitignore`, that more than a repository's `info/exclude`, and
    /// the rules of an inner folder more than those of an outer one.
    fn find(&self, path: &Path, is_dir: bool) -> Match<()> {
        // Each change of the chain leaves it whole.
        let mut chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        self.follow(&mut chain, path);
        let (mut ignore, mut git_ignore, mut git_exclude) = (Match::None, Match::None, Match::None);
        let mut is_in_repository = true;
        for folder in chain.iter().rev() {
            ignore = ignore.or(said(&folder.ignore, path, is_dir));
            if is_in_repository {
                git_ignore = git_ignore.or(said(&folder.git_ignore, path, is_dir));
                git_exclude = git_exclude.or(said(&folder.git_exclude, path, is_dir));
            }
            is_in_repository &= !folder.is_repository;
        }
        ignore.or(git_ignore).or(git_exclude).or(said(&self.global, path, is_dir))
    }

    /// Makes the chain that of the folders above `path`.
    fn follow(&self, chain: &mut Vec<Folder>, path: &Path) {
        let Some(parent) = path.parent() else { return };
        while chain.last().is_some_and(|folder| !parent.starts_with(&folder.path)) {
            chain.pop();
        }
        let missing: Vec<&Path> = parent
            .ancestors()
            .take_while(|above| above.starts_with(&self.top))
            .take_while(|above| chain.last().is_none_or(|folder| folder.path != *above))
            .collect();
        for path in missing.into_iter().rev() {
            let live: u64 = chain.iter().map(|folder| folder.bytes).sum();
            chain.push(Folder::new(path, MAX_LIVE_BYTES.saturating_sub(live)));
        }
    }
}

impl Folder {
    fn new(path: &Path, mut room: u64) -> Self {
        let is_repository = path.join(".git").exists();
        let mut bytes = 0;
        let mut obeyed = |file: Option<PathBuf>| {
            let text = file.and_then(|file| read_text(&file, room.min(MAX_FILE_BYTES)));
            let text = text.unwrap_or_default();
            bytes += text.len() as u64;
            room = room.saturating_sub(text.len() as u64);
            compile(path, &text)
        };
        Self {
            is_repository,
            ignore: obeyed(not_a_link(path.join(".ignore"))),
            git_ignore: obeyed(not_a_link(path.join(".gitignore"))),
            git_exclude: obeyed(is_repository.then(|| exclude_file(path)).flatten()),
            path: path.to_owned(),
            bytes,
        }
    }
}

fn said(rules: &Gitignore, path: &Path, is_dir: bool) -> Match<()> {
    rules.matched(path, is_dir).map(|_| ())
}

fn not_a_link(path: PathBuf) -> Option<PathBuf> {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()).then_some(path)
}

/// A repository's own rules. A worktree's or submodule's `.git` is a file that leads to its repository.
fn exclude_file(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let lead = read_text(&git, MAX_LEAD_BYTES)?;
    let own = top.join(lead.lines().next()?.strip_prefix("gitdir: ")?);
    let common = match read_text(&own.join("commondir"), MAX_LEAD_BYTES) {
        Some(lead) => own.join(lead.lines().next()?),
        None => own,
    };
    Some(common.join("info/exclude"))
}

/// The text of a regular file of at most `max_bytes`.
fn read_text(path: &Path, max_bytes: u64) -> Option<String> {
    let bytes = bounded::read(path, max_bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Rules that are none are passed over, as git does.
fn compile(folder: &Path, text: &str) -> Gitignore {
    if text.is_empty() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(folder);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for rule in text.lines().filter(|rule| rule.len() <= MAX_RULE_BYTES) {
        let _ = builder.add_line(None, rule);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{
        super::{search::ListQuery, testing::Project},
        *,
    };

    fn list(project: &Project, under: &str, expect: Expect) {
        let under = Some(project.path(under)).filter(|under| under.as_str() != ".");
        let query = ListQuery { under, limit: 100, ..ListQuery::default() };
        let entries = project.files.list(&query).unwrap().entries;
        let names: Vec<_> = entries.iter().map(|entry| entry.path.as_str()).collect();
        expect.assert_eq(&names.join(" "));
    }

    #[test]
    fn inner_rules_count_more_than_outer_ones_and_ignore_files_more_than_gits() {
        let project = Project::new(&[
            (".git/info/exclude", "c.txt\n/only-at-top\n"),
            (".gitignore", "\u{feff}a.txt\r\n*.log\r\nb.txt\r\n/out/\r\n"),
            (".ignore", "!b.txt\n"),
            ("sub/.gitignore", "!a.txt\n!.shown\n"),
            ("sub/.shown", ""),
            ("sub/.hidden", ""),
            ("sub/only-at-top", ""),
            ("sub/out/x.txt", ""),
            ("sub/x.log", ""),
            ("sub/a.txt", ""),
            ("only-at-top", ""),
            ("out/x.txt", ""),
            ("a.txt", ""),
            ("b.txt", ""),
            ("c.txt", ""),
        ]);
        list(&project, ".", expect!["b.txt sub sub/.shown sub/a.txt sub/only-at-top sub/out sub/out/x.txt"]);
        list(&project, "sub", expect!["sub/.shown sub/a.txt sub/only-at-top sub/out sub/out/x.txt"]);
    }

    #[test]
    fn a_repository_inside_another_has_only_its_own_rules() {
        let project = Project::new(&[
            (".git/", ""),
            (".gitignore", "*.txt\n"),
            ("a.txt", ""),
            ("module/.git", "gitdir: ../.git/modules/module\n"),
            (".git/modules/module/info/exclude", "*.log\n"),
            ("module/a.txt", ""),
            ("module/a.log", ""),
        ]);
        list(&project, ".", expect!["module module/a.txt"]);
    }

    #[test]
    fn a_worktree_has_the_rules_of_its_repository() {
        let project = Project::new(&[
            ("main/.git/info/exclude", "*.log\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("tree/a.txt", ""),
            ("tree/a.log", ""),
        ]);
        let lead = project.root.join("main/.git/worktrees/tree");
        project.write("tree/.git", format!("gitdir: {}\n", lead.display()));
        list(&project, "tree", expect!["tree/a.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_never_opened() {
        let project = Project::new(&[("a.txt", ""), ("sub/a.txt", ""), (".git/info/", ""), ("rules", "*\n")]);
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, project.root.join(name)).unwrap();
        };
        link("/dev/zero", ".gitignore");
        link("/dev/zero", ".git/info/exclude");
        link("../rules", "sub/.gitignore");
        let pipe = project.root.join("sub/.ignore");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        list(&project, ".", expect!["a.txt rules sub sub/a.txt"]);
        list(&project, "sub", expect!["sub/a.txt"]);
    }

    #[test]
    fn a_file_or_a_rule_over_its_bound_is_not_obeyed() {
        let large = format!("{}\n*.txt\n", "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap()));
        let long_rule = format!("*{}\n*.log\n", "?".repeat(MAX_RULE_BYTES));
        let project = Project::new(&[
            (".gitignore", &large),
            ("a.txt", ""),
            ("b.log", ""),
            ("sub/.gitignore", &long_rule),
            ("sub/a.txt", ""),
            ("sub/b.log", ""),
        ]);
        list(&project, ".", expect!["a.txt b.log sub sub/a.txt"]);
    }

    #[test]
    fn the_files_of_nested_folders_share_one_bound() {
        let fill = |rule: &str| {
            let comment = format!("#{}\n", "x".repeat(99));
            format!("{rule}\n{}", comment.repeat(900))
        };
        let project = Project::new(&[
            (".gitignore", &fill("*.a")),
            ("1/.gitignore", &fill("*.b")),
            ("1/2/.gitignore", &fill("*.c")),
            ("1/2/x.a", ""),
            ("1/2/x.b", ""),
            ("1/2/x.c", ""),
            ("3/.gitignore", &fill("*.d")),
            ("3/x.d", ""),
        ]);
        list(&project, ".", expect!["1 1/2 1/2/x.c 3"]);
    }
}
