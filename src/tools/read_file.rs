//! `read_file`: a window of a file's lines, numbered, as the user sees the file now.

use std::{fmt::Write as _, ops::Range};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Effect, Tool, ToolContext, ToolError, ToolSettings,
    arguments::whole_number,
    look,
    output::{MAX_BYTES, MAX_LINES, cut_line},
    run_command::RunCommand,
};
use crate::workspace::{
    FileError, FilePath, FileText, TurnFiles, bounded,
    outputs::{OutputName, Outputs},
};

/// Characters of one line: enough for prose and data, too few for minified code to fill the window.
const MAX_LINE_CHARS: usize = 2_000;

pub struct ReadFile {
    outputs: Option<Outputs>,
}

impl ReadFile {
    pub fn new(settings: &ToolSettings) -> Self {
        Self { outputs: settings.outputs.clone() }
    }
}

/// Read a text file, or a part of it, with line numbers. Shows what the user sees in the editor, unsaved changes
/// included, and your own staged edits. At most 2,000 lines and 50 KB a call; the end says how to go on. The number
/// and the tab before each line are not part of the file: leave them out of what you give to edit_file. To look for
/// something in many files use search first, then read around the lines that it names.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// File to read, relative to the workspace; or the output of a command by the name that run_command gave it.
    path: String,
    /// First line to read, counted from 1. Default: 1.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line to read, inclusive. Default: as far as one call goes.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const EFFECT: Effect = Effect::Read;
    type Args = Args;

    fn target(args: &Args) -> String {
        let path = &args.path;
        match (args.start_line, args.end_line) {
            (None | Some(0 | 1), None) => path.clone(),
            (Some(start), None) => format!("{path}:{start}-end"),
            (start, Some(end)) => format!("{path}:{}-{end}", start.unwrap_or(1)),
        }
    }

    fn access(&self, args: &Args) -> Access {
        let repeats = OutputName::parse(&args.path).map(|_| RunCommand::NAME);
        Access { repeats, ..Access::paths([args.path.as_str()]) }
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        let outputs = self.outputs.clone();
        look(context, move |files| match OutputName::parse(&args.path) {
            Some(name) => read_output(files, outputs.as_ref(), &name, &args),
            None => read(files, &args),
        })
        .await
    }
}

/// What a command printed, whole.
fn read_output(
    files: &TurnFiles,
    outputs: Option<&Outputs>,
    name: &OutputName,
    args: &Args,
) -> Result<String, ToolError> {
    let text = outputs.and_then(|outputs| outputs.read(name).ok()).ok_or_else(|| {
        ToolError(format!("there is no {name}: outputs are kept for a week; run the command again"))
    })?;
    // Of the whole: a page of it may have the middle of a key, or a line be cut in one.
    let visible = files.shown(&text);
    let lines: Vec<&str> = visible.lines().collect();
    let shown = name.to_string();
    Ok(Page::of(&shown, &lines, args)?.text(""))
}

fn read(files: &TurnFiles, args: &Args) -> Result<String, ToolError> {
    let path = files.resolve_to_read(&args.path)?;
    let file = files.read(&path).map_err(|error| match error {
        FileError::Directory(_) => {
            ToolError(format!("{path} is a folder: use list_files to see what is in it"))
        }
        error => error.into(),
    })?;
    let visible = files.shown(&file.text);
    let lines: Vec<&str> = visible.lines().collect();
    if lines.is_empty() {
        return Ok("(the file is empty)".to_owned());
    }
    let origin = origin(files, &path, &file);
    let name = path.to_string();
    let page = Page::of(&name, &lines, args)?;
    files.show(&path, &file.text, &page.shown.whole);
    Ok(page.text(origin))
}

/// The lines that one call shows.
struct Page<'a> {
    /// What they are of.
    name: &'a str,
    shown: NumberedLines,
    first: usize,
    last: usize,
    total: usize,
    /// Whether the caller asked for no more than this.
    is_all_asked: bool,
}

impl<'a> Page<'a> {
    /// `lines` are not none.
    fn of(name: &'a str, lines: &[&str], args: &Args) -> Result<Self, ToolError> {
        let total = lines.len();
        let (first, end) = window(name, args, total)?;
        let mut shown = NumberedLines::default();
        let mut last = first - 1;
        for (number, line) in (first..=end).zip(lines.iter().skip(first - 1)) {
            let before = shown.text.len();
            shown.push(number, line);
            if shown.text.len() > MAX_BYTES && last >= first {
                shown.take_back(number, before);
                break;
            }
            last = number;
        }
        // Someone who asked for the lines up to here knows that there are more.
        let is_all_asked = args.end_line.is_some_and(|asked| line_number(asked) <= last);
        Ok(Self { name, shown, first, last, total, is_all_asked })
    }

    fn text(&self, origin: &str) -> String {
        let Self { name, shown, first, last, total, is_all_asked } = self;
        let mut text = format!("{name} (lines {first}-{last} of {total}){origin}\n{}", shown.text);
        let rest = total - last;
        if rest > 0 && !is_all_asked {
            let noun = if rest == 1 { "line" } else { "lines" };
            let next = last + 1;
            // Writing to a string cannot fail.
            let _ = write!(text, "… {rest} more {noun}: call read_file with start_line {next}");
        }
        text
    }
}

/// What the text is, when it is not what the disk has.
fn origin(files: &TurnFiles, path: &FilePath, file: &FileText) -> &'static str {
    if files.proposal().files.iter().any(|edit| edit.path == *path) {
        " · with your staged edits"
    } else if file.version.is_some() && !is_on_disk(path, file) {
        " · unsaved in the editor"
    } else {
        ""
    }
}

fn is_on_disk(path: &FilePath, file: &FileText) -> bool {
    // The byte order mark that may stand before it.
    let most = (file.text.len() + '\u{feff}'.len_utf8()) as u64;
    let Some(saved) = path.disk().and_then(|disk| bounded::read(disk, most).ok()) else { return false };
    saved.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&saved) == file.text.as_bytes()
}

/// The first and the last line to show; both exist.
fn window(path: &str, args: &Args, total: usize) -> Result<(usize, usize), ToolError> {
    let noun = if total == 1 { "line" } else { "lines" };
    let refuse = |reason: String| Err(ToolError(format!("{reason}; {path} has {total} {noun}")));
    let start = args.start_line.map_or(1, line_number);
    if start == 0 || args.end_line == Some(0) {
        return refuse("lines are counted from 1".to_owned());
    }
    if start > total {
        return refuse(format!("start_line {start} is past the end"));
    }
    let longest = start.saturating_add(MAX_LINES - 1);
    let end = args.end_line.map_or(longest, line_number);
    if end < start {
        return refuse(format!("end_line {end} is before start_line {start}"));
    }
    Ok((start, end.min(longest).min(total)))
}

/// A line far past any end stays there.
fn line_number(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Lines as all tools show them: number, tab, text.
#[derive(Debug, Default)]
pub(super) struct NumberedLines {
    pub(super) text: String,
    /// The lines that were not cut, counted from zero.
    pub(super) whole: Vec<Range<usize>>,
}

impl NumberedLines {
    /// `number` counts from one.
    pub(super) fn push(&mut self, number: usize, line: &str) {
        let shown = cut_line(line, MAX_LINE_CHARS);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{number:>6}\t{shown}");
        if shown != line {
            return;
        }
        match self.whole.last_mut() {
            Some(lines) if lines.end + 1 == number => lines.end = number,
            _ => self.whole.push(number - 1..number),
        }
    }

    /// Takes back the line that was pushed last; `length` is that of the text before it.
    fn take_back(&mut self, number: usize, length: usize) {
        self.text.truncate(length);
        if let Some(lines) = self.whole.last_mut().filter(|lines| lines.end == number) {
            lines.end -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::{super::testing::Project, *};

    const PROJECT: &str = "//- /a.txt\none\ntwo\nthree\n//- /empty.txt\n//- /src/main.rs\nfn main() {}";

    async fn check(arguments: Value, expected: Expect) {
        expected.assert_eq(&Project::new(PROJECT).call("read_file", arguments).await);
    }

    #[test]
    fn what_a_call_is_about_has_no_loose_end() {
        let target =
            |start_line, end_line| ReadFile::target(&Args { path: "a.txt".to_owned(), start_line, end_line });
        assert_eq!(target(None, None), "a.txt");
        assert_eq!(target(Some(1), None), "a.txt");
        assert_eq!(target(Some(20), None), "a.txt:20-end");
        assert_eq!(target(None, Some(9)), "a.txt:1-9");
    }

    // SPEC T4
    #[tokio::test]
    async fn lines_are_numbered_below_the_name_of_the_file() {
        check(
            json!({"path": "a.txt"}),
            expect![[r#"
            a.txt (lines 1-3 of 3)
                 1	one
                 2	two
                 3	three
        "#]],
        )
        .await;
        check(
            json!({"path": "./src/../src/main.rs"}),
            expect![[r#"
            src/main.rs (lines 1-1 of 1)
                 1	fn main() {}
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_range_of_lines_is_read_and_the_end_says_how_to_go_on() {
        check(
            json!({"path": "a.txt", "start_line": 2}),
            expect![[r#"
            a.txt (lines 2-3 of 3)
                 2	two
                 3	three
        "#]],
        )
        .await;
        check(
            json!({"path": "a.txt", "start_line": 2, "end_line": 2}),
            expect![[r#"
            a.txt (lines 2-2 of 3)
                 2	two
        "#]],
        )
        .await;
        check(
            json!({"path": "a.txt", "end_line": 900}),
            expect![[r#"
            a.txt (lines 1-3 of 3)
                 1	one
                 2	two
                 3	three
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_range_that_is_none_names_the_number_of_lines() {
        check(
            json!({"path": "a.txt", "start_line": 4}),
            expect!["error: start_line 4 is past the end; a.txt has 3 lines"],
        )
        .await;
        check(
            json!({"path": "a.txt", "start_line": 3, "end_line": 2}),
            expect!["error: end_line 2 is before start_line 3; a.txt has 3 lines"],
        )
        .await;
        check(
            json!({"path": "src/main.rs", "start_line": 0}),
            expect!["error: lines are counted from 1; src/main.rs has 1 line"],
        )
        .await;
    }

    // SPEC E9
    #[tokio::test]
    async fn an_empty_file_is_said_in_words() {
        check(json!({"path": "empty.txt"}), expect!["(the file is empty)"]).await;
    }

    // SPEC T4
    #[tokio::test]
    async fn what_cannot_be_read_says_what_to_do() {
        check(json!({"path": "src"}), expect!["error: src is a folder: use list_files to see what is in it"])
            .await;
        check(
            json!({"path": "src/mian.rs"}),
            expect!["error: there is no file src/mian.rs; near it are: src/main.rs"],
        )
        .await;
        check(json!({"path": "../outside.txt"}), expect!["error: ../outside.txt is outside the workspace; use a path below one of its folders, relative to it"]).await;
        let project = Project::new("");
        project.write("a.bin", b"\x7fELF\x00\x01\x02");
        expect!["error: a.bin is a binary file; it has no text that could be read or edited"]
            .assert_eq(&project.call("read_file", json!({"path": "a.bin"})).await);
        project.write("latin.txt", b"gr\xfc\xdfe\n");
        expect!["error: latin.txt is not UTF-8 text but probably Windows-1252 or Latin-1 (byte 0xfc in line 1); once the user has opened it in the editor it can be read and edited there, else a command can convert it first"].assert_eq(&project.call("read_file", json!({"path": "latin.txt"})).await);
    }

    // SPEC T17
    #[tokio::test]
    async fn what_the_user_typed_wins_over_the_disk_and_staged_edits_over_both() {
        let project = Project::new(PROJECT);
        project.open("a.txt", "one\ntyped\n");
        expect![[r#"
            a.txt (lines 1-2 of 2) · unsaved in the editor
                 1	one
                 2	typed
        "#]]
        .assert_eq(&project.call("read_file", json!({"path": "a.txt"})).await);
        project.call("edit_file", json!({"path": "a.txt", "find": "typed", "replace": "edited"})).await;
        expect![[r#"
            a.txt (lines 1-2 of 2) · with your staged edits
                 1	one
                 2	edited
        "#]]
        .assert_eq(&project.call("read_file", json!({"path": "a.txt"})).await);
    }

    #[tokio::test]
    async fn an_open_buffer_without_changes_is_not_called_unsaved() {
        let project = Project::new("");
        project.write("a.txt", "\u{feff}one\r\ntwo\r\n");
        project.open("a.txt", "one\r\ntwo\r\n");
        let text = project.call("read_file", json!({"path": "a.txt"})).await;
        assert_eq!(text, "a.txt (lines 1-2 of 2)\n     1\tone\n     2\ttwo\n");
    }

    #[tokio::test]
    async fn a_window_is_bounded_in_lines_and_bytes() {
        let project = Project::new("");
        project.write("many.txt", "x\n".repeat(5_000));
        let text = project.call("read_file", json!({"path": "many.txt", "end_line": 5_000})).await;
        assert!(text.starts_with("many.txt (lines 1-2000 of 5000)\n"), "{text}");
        assert!(
            text.ends_with("\n  2000\tx\n… 3000 more lines: call read_file with start_line 2001"),
            "{text}"
        );

        project.write("wide.txt", format!("{}\n", "ä".repeat(1_000)).repeat(100));
        let text = project.call("read_file", json!({"path": "wide.txt"})).await;
        assert!(text.len() < MAX_BYTES + 200, "{} bytes", text.len());
        assert!(text.ends_with("\n… 75 more lines: call read_file with start_line 26"), "{text}");

        project.write("line.txt", "ä".repeat(100_000));
        let text = project.call("read_file", json!({"path": "line.txt"})).await;
        assert!(text.len() < 2 * MAX_LINE_CHARS + 200, "{} bytes", text.len());
        assert!(text.ends_with("ä … [98000 more characters in this line]\n"), "{text}");
    }
}
