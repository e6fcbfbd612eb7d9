//! What git could not do with hidden files where its words about it went away, as in `git add -A 2>/dev/null`.

use std::path::Path;

use super::{git_names::git_names, process::CommandLine, sandbox::Plan, search_path};
use crate::workspace::place::git_may_run_programs;

/// By what git tells the files that it would take up: those that it tracks, and the others that it does not ignore.
const TAKEN_UP: &[&str] =
    &["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name", "--", ":/"];

/// What is to be said of hidden files that stood in git's way though it could not be read; `None` where there were none.
pub(super) async fn unsaid(line: &CommandLine, plan: &Plan) -> Option<String> {
    if !plan.hides_here() || !takes_up_unheard(&line.command) {
        return None;
    }
    // A git that commands may change is not run outside of their sandbox.
    let git = search_path().into_iter().map(|folder| folder.join("git")).find(|git| git.exists())?;
    if [git.canonicalize().ok()?, git].iter().any(|git| plan.is_writable(git)) {
        return None;
    }
    let folder = line.folder.clone();
    let ask = move || {
        let words: Vec<String> = TAKEN_UP.iter().map(|word| (*word).to_owned()).collect();
        if git_may_run_programs(&folder) { None } else { git_names(&folder, &words) }
    };
    let names = tokio::task::spawn_blocking(ask).await.ok().flatten()?;
    plan.hidden_among(&|hidden: &Path| names.iter().any(|name| name.ends_with(hidden)))
}

/// Whether a line has git take up all that is changed, and puts away what that says of errors.
fn takes_up_unheard(line: &str) -> bool {
    let joined = line.replace(' ', "");
    let puts_away = joined.contains("/dev/null")
        || joined.contains("&>")
        || joined.match_indices("2>").any(|(at, _)| {
            joined.get(at..).is_some_and(|rest| !rest.starts_with("2>&1") && !rest.starts_with("2>&2"))
        });
    let is_all = |word: &str| match word.strip_prefix('-') {
        Some("-all" | "-update") => true,
        Some(letters) => !letters.starts_with('-') && letters.contains(['a', 'A', 'u']),
        None => matches!(word, "." | ":/" | "*"),
    };
    let takes_up = |command: &str| {
        let mut words = command.split_whitespace().skip_while(|word| *word != "git").skip(1);
        match words.find(|word| matches!(*word, "add" | "commit" | "stash")) {
            Some("stash") => {
                words.next().is_none_or(|word| word == "push" || !word.starts_with(char::is_alphabetic))
            }
            Some("commit") => words.any(|word| word.starts_with('-') && is_all(word)),
            Some(_) => words.any(is_all),
            None => false,
        }
    };
    puts_away && line.split([';', '&', '|', '\n', '(', ')']).any(takes_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_unheard_where_it_takes_up_all_and_puts_errors_away() {
        for line in [
            "git add -A 2>/dev/null",
            "git add . > /dev/null 2>&1; git status",
            "cd x && git add --all &> log",
            "git add -Av 2> errors || true",
            "git commit -qam x 2>/dev/null",
            "git stash 2>/dev/null",
            "git stash push -q 2>/dev/null",
        ] {
            assert!(takes_up_unheard(line), "{line}");
        }
        for line in [
            "git add -A",
            "git add -A 2>&1 | tail",
            "git add src 2>/dev/null",
            "git commit -m x 2>/dev/null",
            "git stash list 2>/dev/null",
            "git status 2>/dev/null",
            "echo add -A 2>/dev/null",
        ] {
            assert!(!takes_up_unheard(line), "{line}");
        }
    }
}
