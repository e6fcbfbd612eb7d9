//! The edits of several goes as one: what a turn has made of the files, from its first edit to its last.

use std::collections::BTreeMap;

use super::{EditProposal, FileEdit, FilePath, FileText};

/// Edits that came one after the other, each go of them made for what the one before has left.
#[derive(Clone, Debug, Default)]
pub struct Total {
    places: BTreeMap<FilePath, Place>,
    /// Where the text at a place was before the first edit: another place.
    sources: BTreeMap<FilePath, FilePath>,
}

/// What stands at a path; `None` for no file.
#[derive(Clone, Debug)]
struct Place {
    before: Option<FileText>,
    after: Option<String>,
}

impl Total {
    /// Adds one go. In one go no path is both the place of an edit and the origin of another.
    pub fn add(&mut self, edits: &[FileEdit]) {
        for edit in edits {
            let source = edit.moved_from.as_ref().map(|from| {
                self.place(from, edit.before.as_ref()).after = None;
                self.sources.remove(from).unwrap_or_else(|| from.clone())
            });
            let before = if source.is_none() { edit.before.as_ref() } else { None };
            self.place(&edit.path, before).after.clone_from(&edit.after);
            match source {
                Some(source) => {
                    self.sources.insert(edit.path.clone(), source);
                }
                None if edit.after.is_none() => {
                    self.sources.remove(&edit.path);
                }
                None => {}
            }
        }
    }

    fn place(&mut self, path: &FilePath, before: Option<&FileText>) -> &mut Place {
        let before = || Place { before: before.cloned(), after: None };
        self.places.entry(path.clone()).or_insert_with(before)
    }

    /// All goes as one; what is as it was before is in none.
    pub fn proposal(&self) -> EditProposal {
        let moves = self.sources.iter().filter_map(|(path, source)| {
            let (place, origin) = (self.places.get(path)?, self.places.get(source)?);
            let is_move = place.before.is_none() && place.after.is_some() && origin.after.is_none();
            (is_move && origin.before.is_some()).then_some((path, source))
        });
        let moves: BTreeMap<&FilePath, &FilePath> = moves.collect();
        let is_origin = |path: &FilePath| moves.values().any(|source| *source == path);
        let rest = self.places.iter().filter(|(path, _)| !is_origin(path));
        let edits = rest.filter_map(|(path, Place { before, after })| {
            if let Some(&source) = moves.get(path) {
                let before = self.places.get(source)?.before.clone();
                let edit = FileEdit::of(path, before, after.clone());
                return Some(FileEdit { moved_from: Some(source.clone()), ..edit });
            }
            let is_same = before.as_ref().map(|before| &*before.text) == after.as_deref();
            (!is_same).then(|| FileEdit::of(path, before.clone(), after.clone()))
        });
        EditProposal { files: edits.collect() }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{super::testing::Project, *};

    /// Applies what each go stages, and tells what all together have done.
    fn check(goes: &[fn(&Project)], expected: Expect) {
        let project = Project::new(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        let mut total = Total::default();
        for go in goes {
            go(&project);
            let proposal = project.files.proposal();
            proposal.apply_to_disk(&project.workspace).unwrap();
            project.files.applied(&proposal.files);
            total.add(&proposal.files);
        }
        expected.assert_eq(&total.proposal().diff());
    }

    fn write(project: &Project, path: &str, text: &str) {
        project.stage(path, text).unwrap();
    }

    #[test]
    fn a_file_that_was_changed_again_and_again_is_one_edit() {
        check(
            &[|project| write(project, "a.txt", "two\n"), |project| write(project, "a.txt", "three\n")],
            expect![[r#"
                diff --git a/a.txt b/a.txt
                --- a/a.txt
                +++ b/a.txt
                @@ -1 +1 @@
                -one
                +three
            "#]],
        );
    }

    #[test]
    fn what_was_taken_back_is_no_edit() {
        check(
            &[
                |project| {
                    write(project, "a.txt", "two\n");
                    write(project, "new.txt", "new\n");
                },
                |project| {
                    write(project, "a.txt", "one\n");
                    project.delete("new.txt").unwrap();
                },
            ],
            expect![[r#""#]],
        );
    }

    #[test]
    fn a_file_that_was_moved_twice_and_changed_is_one_move() {
        check(
            &[
                |project| write(project, "a.txt", "two\n"),
                |project| project.rename("a.txt", "c.txt").unwrap(),
                |project| {
                    project.rename("c.txt", "d.txt").unwrap();
                    write(project, "d.txt", "three\n");
                },
            ],
            expect![[r#"
                diff --git a/a.txt b/d.txt
                rename from a.txt
                rename to d.txt
                --- a/a.txt
                +++ b/d.txt
                @@ -1 +1 @@
                -one
                +three
            "#]],
        );
    }

    #[test]
    fn a_file_that_was_moved_and_came_back_or_went_is_what_that_leaves() {
        check(
            &[
                |project| {
                    project.rename("a.txt", "c.txt").unwrap();
                    project.rename("b.txt", "d.txt").unwrap();
                },
                |project| {
                    project.rename("c.txt", "a.txt").unwrap();
                    project.delete("d.txt").unwrap();
                },
            ],
            expect![[r#"
                diff --git a/b.txt b/b.txt
                deleted file mode 100644
                --- a/b.txt
                +++ /dev/null
                @@ -1 +0,0 @@
                -b
            "#]],
        );
    }

    #[test]
    fn a_new_file_at_the_place_of_a_moved_one_is_a_change_of_that_one() {
        check(
            &[
                |project| project.rename("a.txt", "c.txt").unwrap(),
                |project| write(project, "a.txt", "other\n"),
            ],
            expect![[r#"
                diff --git a/a.txt b/a.txt
                --- a/a.txt
                +++ b/a.txt
                @@ -1 +1 @@
                -one
                +other
                diff --git a/c.txt b/c.txt
                new file mode 100644
                --- /dev/null
                +++ b/c.txt
                @@ -0,0 +1 @@
                +one
            "#]],
        );
    }
}
