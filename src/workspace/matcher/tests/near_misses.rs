//! Recorded edits as models make them, nearly right, with the right result beside each: `tests/edits`.

use std::{collections::BTreeMap, path::Path};

use crate::workspace::matcher::{Occurrences, replace};

/// One edit. Texts are lists of lines, joined by `\n`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What is wrong with it.
    kind: String,
    /// The name of a file in `tests/edits/files`, or else its lines.
    source: Option<String>,
    text: Option<Vec<String>>,
    /// `crlf`: all of the file's lines end so.
    #[serde(rename = "as")]
    line_ends: Option<String>,
    find: Vec<String>,
    replace: Vec<String>,
    /// What stands in the file exactly once, and what is to stand there in the end. Nothing else may change.
    old: Option<Vec<String>>,
    new: Option<Vec<String>>,
    /// The edit has no right place.
    #[serde(default)]
    refuse: bool,
}

#[derive(Default)]
struct Tally {
    right: usize,
    /// At the right place, but with other blanks.
    layout: usize,
    refused: usize,
    wrong: usize,
    of: usize,
}

impl Case {
    fn before(&self) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits/files");
        let text = match (&self.source, &self.text) {
            (Some(name), _) => std::fs::read_to_string(folder.join(name)).unwrap(),
            (None, text) => text.as_ref().unwrap().join("\n"),
        };
        self.with_line_ends(text)
    }

    /// `None`: refused.
    fn after(&self) -> Option<String> {
        if self.refuse {
            return None;
        }
        let (old, new) = (self.old.as_ref().unwrap().join("\n"), self.new.as_ref().unwrap().join("\n"));
        let (old, new) = (self.with_line_ends(old), self.with_line_ends(new));
        let before = self.before();
        assert_eq!(before.matches(&old).count(), 1, "{}: {old}", self.kind);
        Some(before.replacen(&old, &new, 1))
    }

    fn with_line_ends(&self, text: String) -> String {
        match self.line_ends.as_deref() {
            None => text,
            Some("crlf") => text.replace('\n', "\r\n"),
            Some(other) => panic!("{other} are no line ends"),
        }
    }
}

/// How many edits of a file of cases are right, by kind, and what is wrong with the others.
fn run(name: &str) -> (BTreeMap<String, Tally>, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits").join(name);
    let cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut faults = Vec::new();
    for case in &cases {
        let (find, replace_with) = (case.find.join("\n"), case.replace.join("\n"));
        let result = replace(&case.before(), &find, &replace_with, Occurrences::One);
        let tally = tallies.entry(case.kind.clone()).or_default();
        tally.of += 1;
        let source = case.source.as_deref().unwrap_or("small");
        match (result, case.after()) {
            (Ok(made), Some(right)) if made.text == right => tally.right += 1,
            (Err(_), None) => tally.right += 1,
            (Err(error), Some(_)) => {
                tally.refused += 1;
                faults.push(format!("{} in {source}: refused: {find}\n--- {error}", case.kind));
            }
            (Ok(made), right) => {
                let bare = |text: &str| text.split_whitespace().collect::<String>();
                let is_layout = right.as_ref().is_some_and(|right| bare(&made.text) == bare(right));
                *if is_layout { &mut tally.layout } else { &mut tally.wrong } += 1;
                let before = case.before();
                let diff = |after: &str| {
                    similar::TextDiff::from_lines(before.as_str(), after)
                        .unified_diff()
                        .context_radius(1)
                        .to_string()
                };
                let right = right.map_or("refused".to_owned(), |right| diff(&right));
                faults.push(format!(
                    "{} in {source}: wrong ({:?}): {find}\n--- is\n{}\n--- should be\n{right}",
                    case.kind,
                    made.likeness,
                    diff(&made.text),
                ));
            }
        }
    }
    (tallies, faults)
}

fn check(name: &str, least: usize) {
    let (tallies, faults) = run(name);
    let mut all = Tally::default();
    let mut table = format!("{:<30} right layout refused wrong of\n", "kind");
    for (kind, Tally { right, layout, refused, wrong, of }) in &tallies {
        table += &format!("{kind:<30} {right:>5} {layout:>6} {refused:>7} {wrong:>5} {of:>2}\n");
        all.right += right;
        all.layout += layout;
        all.refused += refused;
        all.wrong += wrong;
        all.of += of;
    }
    let Tally { right, layout, refused, wrong, of } = all;
    table += &format!("{:<30} {right:>5} {layout:>6} {refused:>7} {wrong:>5} {of:>2}\n", "all");
    // Shown with `--no-capture`, and when the test fails.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), table.as_bytes());
    let faults = faults.join("\n=====\n");
    assert!(of >= least, "{table}");
    assert_eq!(wrong, 0, "{table}\n{faults}");
    assert!(right * 100 >= of * 95, "{table}\n{faults}");
}

#[test]
fn nearly_right_edits_are_made_right_and_none_at_a_wrong_place() {
    check("near_misses.json", 220);
}

/// Written when the ranks were done, and not looked at while they were.
#[test]
fn edits_that_were_held_out_are_made_right_as_well() {
    check("held_out.json", 40);
}
