//! Writes the rules that a user's answer keeps for a project.

use std::{fs, io, io::Write as _, path::Path};

use tempfile::NamedTempFile;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::checkpoints::lock::lock;

/// Such a file takes some lines a project; a larger one is something else.
const MAX_BYTES: u64 = 1 << 20;

/// Adds rules to the list `allow` in the table of a project, and leaves everything else in the file as it is. Of several
/// processes that add some at once none loses any.
///
/// # Errors
/// When the file is there and cannot be read or is no such file, and when it cannot be written. It is then as it was.
pub fn add(file: &Path, project: &str, rules: &[String]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    // Beside the file, which is replaced by another each time.
    let _held = lock(&file.with_extension("lock"))
        .map_err(|_| io::Error::other("another askls is writing it; try again when it has finished"))?;
    let mut document: DocumentMut = read(file)?.parse().map_err(|error: toml_edit::TomlError| {
        io::Error::other(format!("it is not valid TOML: {}", error.message()))
    })?;
    let table = document.entry(project).or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or_else(|| io::Error::other("the project is no table in it"))?;
    let list = table.entry("allow").or_insert_with(|| Item::Value(Value::Array(Array::new())));
    let list = list.as_array_mut().ok_or_else(|| io::Error::other("allow is no list in it"))?;
    for rule in rules {
        if !list.iter().any(|known| known.as_str() == Some(rule)) {
            list.push(rule.as_str());
        }
    }
    write(file, &document.to_string())
}

fn read(file: &Path) -> io::Result<String> {
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_BYTES => {
            Err(io::Error::other("it is no file of rules"))
        }
        Ok(_) => fs::read_to_string(file),
    }
}

/// Whole or not at all.
fn write(file: &Path, text: &str) -> io::Result<()> {
    // A link stays one: what it leads to is written.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    let mut temporary = NamedTempFile::new_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(&file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(before: Option<&str>, project: &str, rules: &[&str], expected: Expect) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/projects.toml");
        if let Some(before) = before {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, before).unwrap();
        }
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let added = add(&file, project, &rules);
        let text = fs::read_to_string(&file).unwrap_or_default();
        let error = added.err().map(|error| format!("error: {error}\n")).unwrap_or_default();
        expected.assert_eq(&format!("{error}{text}"));
    }

    #[test]
    fn what_else_stands_in_the_file_stays() {
        check(
            None,
            "/a/b",
            &["command: cargo test"],
            expect![[r#"
            ["/a/b"]
            allow = ["command: cargo test"]
        "#]],
        );
        check(
            Some(
                "# mine\n[\"/a/b\"]\ndeny = [\"command: git push\"] # no\nallow = [\"command: ls\"]\n[\"/c\"]\nask = []\n",
            ),
            "/a/b",
            &["command: ls", "command: cargo test"],
            expect![[r##"
                # mine
                ["/a/b"]
                deny = ["command: git push"] # no
                allow = ["command: ls", "command: cargo test"]
                ["/c"]
                ask = []
            "##]],
        );
    }

    #[test]
    fn of_many_that_add_rules_at_once_none_loses_any() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("projects.toml");
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (file, start) = (&file, &start);
                scope.spawn(move || {
                    start.wait();
                    add(file, &format!("/{}", writer % 2), &[format!("command: {writer}")]).unwrap();
                });
            }
        });
        let text = fs::read_to_string(&file).unwrap();
        for writer in 0..8 {
            assert!(text.contains(&format!("\"command: {writer}\"")), "{writer} is lost:\n{text}");
        }
    }

    #[test]
    fn a_file_that_is_none_is_left_alone() {
        check(
            Some("oops"),
            "/a",
            &["command: ls"],
            expect![[r#"
            error: it is not valid TOML: key with no value, expected `=`
            oops"#]],
        );
        check(
            Some("\"/a\" = 1\n"),
            "/a",
            &["command: ls"],
            expect![[r#"
            error: the project is no table in it
            "/a" = 1
        "#]],
        );
    }
}
