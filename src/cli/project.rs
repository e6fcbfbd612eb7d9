//! Which folder is the project when none is named: as in an editor, that of the whole project, wherever in it one stands.

use std::path::Path;

/// What lies in the folder of a project.
const MARKS: [&str; 2] = [".askls", ".git"];

/// The nearest folder, from `here` upwards, with a mark of a project; else `here`. The user's home and what holds it are
/// no project around anything: people keep their settings under version control there. Both paths absolute, without links.
pub(super) fn root_of<'a>(here: &'a Path, home: Option<&Path>) -> &'a Path {
    let is_above = |folder: &Path| home.is_some_and(|home| home.starts_with(folder));
    here.ancestors()
        .take_while(|folder| !is_above(folder))
        .find(|folder| MARKS.iter().any(|mark| folder.join(mark).exists()))
        .unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The root of `here` below a home with these folders in it.
    fn check(folders: &[&str], here: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        for path in folders.iter().chain([&here]) {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        let here = fs::canonicalize(home.join(here)).unwrap();
        let expected = fs::canonicalize(home.join(expected)).unwrap();
        assert_eq!(root_of(&here, Some(&home)), expected);
    }

    #[test]
    fn the_nearest_folder_with_a_mark_is_the_project() {
        check(&["p/.git", "p/sub/.askls"], "p/sub/deep/er", "p/sub");
        check(&["p/.git"], "p/sub/deep", "p");
        check(&["p/.git"], "p", "p");
    }

    #[test]
    fn without_a_mark_it_is_the_folder_itself() {
        check(&[], "p/sub", "p/sub");
    }

    #[test]
    fn the_home_and_what_holds_it_are_no_project_around_a_folder() {
        check(&[".git", "../.git"], "p/sub", "p/sub");
        check(&[".git", "../.git"], ".", ".");
        check(&["../.git", "../beside"], "../beside", "../beside");
    }
}
