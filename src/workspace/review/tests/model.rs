//! Random edits of a user against a model that knows where every hunk must be: each line of the file, of the edit and of
//! the user has a mark that no other line has, so the lines of a hunk are found by looking for them.

use proptest::prelude::*;

use super::*;

/// What a user does. Numbers mean places, modulo what there is.
#[derive(Clone, Debug)]
enum Act {
    /// New lines above a line.
    AddLines(usize, usize),
    DeleteLines(usize, usize),
    /// A line end and a new line behind a line, as with the enter key.
    AddBehind(usize),
    /// Bytes replaced by others, anywhere.
    Replace(usize, usize, &'static str),
    /// Takes back the last act that changed the text.
    Undo,
    /// The file is closed, and opened with the text that it had.
    Reopen,
    Look,
    Take(usize),
    /// The editor tells of the change before it answers that it made it.
    TakeEarly(usize),
    Reject(usize),
}

fn any_act() -> impl Strategy<Value = Act> {
    let number = || 0usize..1_000;
    prop_oneof![
        4 => (number(), 1usize..3).prop_map(|(at, count)| Act::AddLines(at, count)),
        3 => (number(), 1usize..4).prop_map(|(at, count)| Act::DeleteLines(at, count)),
        3 => number().prop_map(Act::AddBehind),
        6 => (number(), 0usize..14, prop::sample::select(vec!["", "x", "\n", "é😀", "x\ny"]))
            .prop_map(|(at, length, text)| Act::Replace(at, length, text)),
        6 => Just(Act::Undo),
        1 => Just(Act::Reopen),
        5 => Just(Act::Look),
        2 => number().prop_map(Act::Take),
        1 => number().prop_map(Act::TakeEarly),
        1 => number().prop_map(Act::Reject),
    ]
}

/// What the agent makes of each line.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Keep,
    Change,
    Delete,
    AddAbove,
}

/// A buffer, which may begin with a byte order mark, and the text that the agent makes of it.
fn any_file() -> impl Strategy<Value = (String, String)> {
    let fate = prop_oneof![
        5 => Just(Fate::Keep), 2 => Just(Fate::Change), 1 => Just(Fate::Delete), 2 => Just(Fate::AddAbove),
    ];
    let end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    (prop::collection::vec(fate, 1..10), end, any::<[bool; 3]>()).prop_map(
        |(fates, end, [ends_whole, adds, is_marked])| {
            let (mut before, mut after) = (String::new(), String::new());
            for (number, fate) in fates.iter().enumerate() {
                let line = format!("<{number}>{end}");
                before += &line;
                match fate {
                    Fate::Keep => after += &line,
                    Fate::Change => after += &format!("<after {number}>{end}"),
                    Fate::Delete => {}
                    Fate::AddAbove => after += &format!("<added {number}>{end}{line}"),
                }
            }
            if adds {
                after += &format!("<last>{end}");
            }
            if !ends_whole {
                before.truncate(before.len() - end.len());
                after.truncate(after.len().saturating_sub(end.len()));
            }
            (if is_marked { format!("\u{feff}{before}") } else { before }, after)
        },
    )
}

/// A line without its line end.
fn content(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

fn lines(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    LineStarts::new(text).lines(text).map(str::to_owned).collect()
}

/// How alike a line must be to be what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// In every byte.
    Same,
    /// Whatever its line end.
    Content,
}

/// At which lines the hunk may stand in the text: those that it replaces, wherever they are, or for one that adds
/// lines those below the line above it and above the line below it.
fn places(base: &[String], view: &HunkView, first: &Range, now: &[String], likeness: Likeness) -> Vec<usize> {
    let is_same = |one: &String, other: &String| match likeness {
        Likeness::Same => one == other,
        Likeness::Content => content(one) == content(other),
    };
    let hunk = lines(&view.before);
    if let Some((last, others)) = hunk.split_last() {
        // A last line without a line end is there with one, too.
        let is_last = |there: &String| last == there || content(last) == last && is_same(last, there);
        let is_there = |at: &usize| {
            let there = now.get(*at..at + hunk.len()).and_then(|there| there.split_last());
            there.is_some_and(|(last, others_there)| others == others_there && is_last(last))
        };
        return (0..now.len()).filter(is_there).collect();
    }
    let above = first.start.checked_sub(1).and_then(|above| base.get(above));
    let below = base.get(first.start);
    let is_above = |line: &String| above.is_some_and(|above| is_same(above, line)) && content(line) != line;
    let is_below = |line: &String| below.is_some_and(|below| is_same(below, line));
    let under_above = now.iter().position(is_above).map(|at| at + 1);
    under_above.into_iter().chain(now.iter().position(is_below)).collect()
}

type Range = ops::Range<usize>;

struct Run {
    fixture: Fixture,
    base: Vec<String>,
    /// The hunks as they were at first.
    first: Vec<HunkView>,
    undo: Vec<(Range, String)>,
    /// The editor sends the whole text for each change.
    sends_whole: bool,
    /// The hunks are looked at after each act. What happened between two looks is compared as one, and of that which
    /// was changed on all sides a line or two may then be taken for changed, too.
    looks_always: bool,
    marks: usize,
}

impl Run {
    fn new(before: &str, after: &str, [sends_whole, looks_always]: [bool; 2]) -> Self {
        let fixture = Fixture::new(before, after);
        let first = fixture.hunks();
        Self { fixture, base: lines(before), first, undo: Vec::new(), sends_whole, looks_always, marks: 0 }
    }

    fn mark(&mut self) -> String {
        self.marks += 1;
        format!("<user {}>", self.marks)
    }

    fn change(&mut self, bytes: Range, new: &str) {
        let text = self.fixture.text();
        if self.sends_whole {
            let whole = format!("{}{new}{}", &text[..bytes.start], &text[bytes.end..]);
            self.fixture.change(Change { range: None, text: whole });
        } else {
            self.fixture.replace(bytes, new);
        }
    }

    /// A place in the text where an editor can have its cursor.
    fn cursor(text: &str, at: usize) -> usize {
        let place = position::position(text, at % (text.len() + 1), Encoding::Utf8);
        position::offset(text, place, Encoding::Utf8)
    }

    fn act(&mut self, act: &Act) {
        let text = self.fixture.text();
        let starts = LineStarts::new(&text);
        let line = |number: usize| starts.start(&text, number % starts.count());
        let (bytes, new) = match *act {
            Act::AddLines(at, count) => {
                let added: String = (0..count).map(|_| self.mark() + "\n").collect();
                (line(at)..line(at), added)
            }
            Act::DeleteLines(at, count) => {
                let first = at % starts.count();
                (starts.start(&text, first)..starts.start(&text, first + count), String::new())
            }
            Act::AddBehind(at) => {
                let end = starts.line(&text, at % starts.count()).end;
                let rest = &text[end..];
                let line_end = ["\r\n", "\r"].into_iter().find(|end| rest.starts_with(end)).unwrap_or("\n");
                (end..end, format!("{line_end}{}", self.mark()))
            }
            Act::Replace(at, length, new) => {
                let (one, other) = (
                    Self::cursor(&text, at),
                    Self::cursor(&text, (at % (text.len() + 1) + length).min(text.len())),
                );
                (one.min(other)..one.max(other), new.to_owned())
            }
            Act::Undo => {
                if let Some((bytes, old)) = self.undo.pop() {
                    self.change(bytes, &old);
                }
                return;
            }
            Act::Reopen => {
                self.look();
                self.fixture.project.close("a.txt");
                self.fixture.project.open("a.txt", 1, &text);
                // So does the editor.
                self.undo.clear();
                return self.look();
            }
            Act::Look => return self.look(),
            Act::Take(hunk) => return self.take(hunk, false),
            Act::TakeEarly(hunk) => return self.take(hunk, true),
            Act::Reject(hunk) => {
                let ids: Vec<_> = self.fixture.hunks().iter().map(|view| view.id).collect();
                if let Some(&id) = ids.get(hunk % ids.len().max(1)) {
                    self.fixture.review.rejected(&Selection::Hunk(id));
                }
                return;
            }
        };
        self.undo.push((bytes.start..bytes.start + new.len(), text[bytes.clone()].to_owned()));
        self.change(bytes, &new);
    }

    fn look(&self) {
        let now = lines(&self.fixture.text());
        for view in self.fixture.hunks() {
            let first = &self.first.iter().find(|first| first.id == view.id).unwrap().lines_now;
            let places = |likeness| places(&self.base, &view, first, &now, likeness);
            let (allowed, must) = (places(Likeness::Content), places(Likeness::Same));
            match view.state {
                HunkState::Conflict(_) if self.looks_always => {
                    assert_eq!(must, [0; 0], "{view:?} in {now:#?} of {:?}", self.fixture.review);
                }
                HunkState::Conflict(_) => {}
                _ => assert!(
                    allowed.contains(&view.lines_now.start),
                    "{view:?} not at {allowed:?} of {now:#?}"
                ),
            }
        }
    }

    fn take(&mut self, hunk: usize, is_early: bool) {
        self.look();
        let views = self.fixture.hunks();
        let Some(view) = views.get(hunk % views.len().max(1)) else { return };
        let (review, workspace) = (&self.fixture.review, &self.fixture.project.workspace);
        let Ok(taken) = review.take(workspace, &Selection::Hunk(view.id)) else { return };
        let mut expected = lines(&self.fixture.text());
        let rest = expected.split_off(view.lines_now.end);
        expected.truncate(view.lines_now.start);
        expected.extend(lines(&view.after));
        expected.extend(rest);
        let edit = &taken.files[0].edit;
        let after = edit.after.clone().unwrap();
        let content_of =
            |lines: &[String]| lines.iter().map(|line| content(line).to_owned()).collect::<Vec<_>>();
        assert_eq!(content_of(&lines(&after)), content_of(&expected));
        let changes: Vec<Change> = edit
            .text_edits(Encoding::Utf8)
            .into_iter()
            .rev()
            .map(|edit| Change { range: Some(edit.range), text: edit.new_text })
            .collect();
        if !is_early {
            review.accepted(workspace, &taken.files);
        }
        for change in changes {
            self.fixture.change(change);
        }
        if is_early {
            self.fixture.hunks();
            self.fixture.review.accepted(&self.fixture.project.workspace, &taken.files);
        }
        let text = self.fixture.text();
        assert_eq!(text.strip_prefix('\u{feff}').unwrap_or(&text), after);
        // Undoing what came before would need the editor's own stack.
        self.undo.clear();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_hunk_is_where_its_lines_are_and_nowhere_else(
        (before, after) in any_file(), acts in prop::collection::vec(any_act(), 1..24), client: [bool; 2],
    ) {
        prop_assume!(before.trim_start_matches('\u{feff}') != after);
        let mut run = Run::new(&before, &after, client);
        for act in &acts {
            run.act(act);
            if run.looks_always {
                run.look();
            }
        }
        run.look();
    }
}
