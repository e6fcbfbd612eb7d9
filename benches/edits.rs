//! Prints what proposed edits cost: staging and resolving 200 hunks over 50 files of 2,000 lines (aim under 100 ms), and
//! how many changes of a document a second are taken while 1,000 hunks wait in it (aim over 5,000).
//!
//! `cargo bench --bench edits`

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and fails by panicking"
)]

use std::{
    fmt::Write,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use askls::workspace::{
    FilePath, StagedChange, TurnFiles, Workspace,
    document::Change,
    matcher::{Occurrences, replace},
    position::{Encoding, Position, Range},
    review::{Review, Selection},
};

const FILES: usize = 50;
const LINES: usize = 2_000;
const HUNKS_A_FILE: usize = 4;
const RUNS: usize = 9;

const OPEN_LINES: usize = 20_000;
const OPEN_HUNKS: usize = 1_000;
const CHANGES: u32 = 20_000;

fn main() {
    stage_and_resolve();
    for looks in [None, Some(100), Some(1)] {
        follow(looks);
    }
}

fn line(number: usize) -> String {
    format!("    let größe_{number} = compute(\"text\", {number});\n")
}

fn text(lines: usize) -> String {
    (0..lines).map(line).collect()
}

/// The middle of several runs.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn stage_and_resolve() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("a real path");
    for number in 0..FILES {
        fs::write(root.join(format!("file_{number}.rs")), text(LINES)).expect("a file");
    }
    let workspace = Arc::new(Workspace::new(vec![root]));
    let (mut staging, mut resolving, mut taking, mut all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let started = Instant::now();
        let files = TurnFiles::new(Arc::clone(&workspace));
        for number in 0..FILES {
            let path = files.resolve(&format!("file_{number}.rs")).expect("a path");
            let before = files.read(&path).expect("a text").text;
            let mut text = before.to_string();
            for hunk in 0..HUNKS_A_FILE {
                let old = line(hunk * LINES / HUNKS_A_FILE + number);
                let new = old.replace("compute", "measure");
                text = replace(&text, &old, &new, Occurrences::One).expect("one place").text;
            }
            files.stage_all(vec![StagedChange::Edit { path, before, after: text }]).expect("staged");
        }
        let proposal = files.proposal();
        let staged = started.elapsed();

        let review = Review::new(proposal, &workspace);
        let hunks = review.hunks(&workspace);
        assert_eq!(hunks.len(), FILES * HUNKS_A_FILE);
        let resolved = started.elapsed();

        let taken = review.take(&workspace, &Selection::All).expect("all hunks");
        let edits: usize = taken.files.iter().map(|file| file.edit.text_edits(Encoding::Utf16).len()).sum();
        assert_eq!(edits, FILES * HUNKS_A_FILE);
        let took = started.elapsed();
        staging.push(staged);
        resolving.push(resolved - staged);
        taking.push(took - resolved);
        all.push(took);
    }
    println!(
        "{} hunks over {FILES} files of {LINES} lines: {:.1?} in all (read, match and stage {:.1?}, find hunks {:.1?}, take and make edits {:.1?}) (aim: 100 ms)",
        FILES * HUNKS_A_FILE,
        median(all),
        median(staging),
        median(resolving),
        median(taking),
    );
}

/// Typing all over a document with hunks that wait; `looks` is after how many changes the hunks are asked for.
fn follow(looks: Option<u32>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("a real path");
    let before = text(OPEN_LINES);
    fs::write(root.join("open.rs"), &before).expect("a file");
    let uri = askls::workspace::paths::to_uri(&root.join("open.rs"));
    let workspace = Arc::new(Workspace::new(vec![root]));
    workspace.overlay().open(&uri, "rust", 0, before);
    let files = TurnFiles::new(Arc::clone(&workspace));
    let path: FilePath = files.resolve("open.rs").expect("a path");
    let before = files.read(&path).expect("a text").text;
    let every = OPEN_LINES / OPEN_HUNKS;
    let mut after = String::new();
    for number in 0..OPEN_LINES {
        match number % every {
            0 => writeln!(after, "// hunk {number}").expect("room"),
            _ => after.push_str(&line(number)),
        }
    }
    files.stage_all(vec![StagedChange::Edit { path: path.clone(), before, after }]).expect("staged");
    let review = Review::new(files.proposal(), &workspace);

    let changes = if looks == Some(1) { CHANGES / 10 } else { CHANGES };
    let lines = u32::try_from(OPEN_LINES).unwrap_or(u32::MAX);
    let mut pending = 0;
    let started = Instant::now();
    for number in 0..changes {
        // A multiplier that shares no factor with the number of lines reaches all of them in no order.
        let start = Position { line: number.wrapping_mul(7_919) % lines, character: number % 30 };
        let end = Position { character: start.character + number % 3, ..start };
        let text = if number % 10 == 0 { "typed\n" } else { "x" };
        let change = Change { range: Some(Range { start, end }), text: text.to_owned() };
        let version = i32::try_from(number).unwrap_or(i32::MAX);
        workspace.overlay().change(&uri, version, &[change], Encoding::Utf16).expect("changed");
        if looks.is_some_and(|looks| number % looks == 0) {
            pending = review.hunks_of(&workspace, &path).len();
        }
    }
    let took = started.elapsed();
    let looked = match looks {
        None => "none is looked at".to_owned(),
        Some(1) => "all are looked at after each change".to_owned(),
        Some(looks) => format!("all are looked at after every {looks} changes"),
    };
    println!(
        "{:.0} changes a second of {OPEN_LINES} lines with {OPEN_HUNKS} hunks, {looked} ({pending} shown last) (aim: 5,000)",
        f64::from(changes) / took.as_secs_f64(),
    );
}
