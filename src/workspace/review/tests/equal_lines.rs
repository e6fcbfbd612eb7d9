//! Files of a few lines that stand in them again and again, where two texts alone do not say which lines an edit is about.

use proptest::prelude::*;

use super::*;

/// Any of these line ends, blank lines anywhere, with or without a line end at the end; or nothing at all.
fn any_text() -> impl Strategy<Value = String> {
    let ends = prop::sample::select(vec![vec!["\n"], vec!["\r\n"], vec!["\n", "\r\n"]]);
    ends.prop_flat_map(|ends| {
        let line = (prop::sample::select(vec!["a", "a", "b", "}", "", ""]), prop::sample::select(ends))
            .prop_map(|(line, end)| format!("{line}{end}"));
        (prop::collection::vec(line, 0..16), prop::bool::weighted(0.2)).prop_map(|(lines, is_open)| {
            let text = lines.concat();
            match text.strip_suffix('\n').filter(|_| is_open) {
                Some(open) => open.strip_suffix('\r').unwrap_or(open).to_owned(),
                None => text,
            }
        })
    })
}

fn lines(text: &str) -> Vec<String> {
    LineStarts::new(text).lines(text).map(str::to_owned).collect()
}

fn contents(lines: &[String]) -> Vec<&str> {
    lines.iter().map(|line| line.trim_end_matches(['\r', '\n'])).collect()
}

/// How an editor tells of an edit that it made.
#[derive(Clone, Copy, Debug)]
enum Tells {
    /// Each change as it got it.
    Each,
    /// Each change as it got it, and the hunks are looked at between them.
    EachLooked,
    /// The text between the first character that differs and the last.
    Region,
    Whole,
}

fn any_tells() -> impl Strategy<Value = Tells> {
    prop::sample::select(vec![Tells::Each, Tells::EachLooked, Tells::Region, Tells::Whole])
}

impl Fixture {
    fn apply(&mut self, edit: &FileEdit, tells: Tells) {
        let (before, after) = (self.text(), edit.after.clone().unwrap());
        match tells {
            Tells::Each | Tells::EachLooked => {
                for edit in edit.text_edits(Encoding::Utf8).into_iter().rev() {
                    self.change(Change { range: Some(edit.range), text: edit.new_text });
                    if matches!(tells, Tells::EachLooked) {
                        self.hunks();
                    }
                }
            }
            Tells::Region => {
                let is_end = |at: usize| !before[..at].ends_with('\r') || !before[at..].starts_with('\n');
                let (head, tail) = crate::workspace::shared_ends::shared_ends(&before, &after);
                let head = if is_end(head) { head } else { head - 1 };
                let tail = if is_end(before.len() - tail) { tail } else { tail - 1 };
                self.replace(head..before.len() - tail, &after[head..after.len() - tail]);
            }
            Tells::Whole => self.change(Change { range: None, text: after.clone() }),
        }
        assert_eq!(self.text(), after);
    }

    /// What the edit of a hunk was, once the editor has made it; the editor answers before it tells of it, or after.
    fn accept(&mut self, hunk: HunkId, tells: Tells, answers_first: bool) -> FileEdit {
        let taken = self.review.take(&self.project.workspace, &Selection::Hunk(hunk)).unwrap();
        if answers_first {
            self.review.accepted(&self.project.workspace, &taken.files);
        }
        self.apply(&taken.files[0].edit, tells);
        self.review.accepted(&self.project.workspace, &taken.files);
        taken.files[0].edit.clone()
    }
}

/// The text with just these hunks, at the lines at which they were shown first.
fn with_hunks(before: &str, hunks: &[HunkView]) -> String {
    let starts = LineStarts::new(before);
    let mut hunks: Vec<_> = hunks.iter().collect();
    hunks.sort_by_key(|hunk| (hunk.lines_now.start, hunk.lines_now.end));
    let mut out = before.to_owned();
    for hunk in hunks.into_iter().rev() {
        let bytes = starts.start(before, hunk.lines_now.start)..starts.start(before, hunk.lines_now.end);
        assert_eq!(before.get(bytes.clone()), Some(hunk.before.as_str()));
        out.replace_range(bytes, &hunk.after);
    }
    out
}

#[test]
fn lines_added_behind_a_blank_last_line_leave_those_that_wait_above_it_there() {
    for tells in [Tells::Each, Tells::EachLooked, Tells::Region, Tells::Whole] {
        let mut fixture = Fixture::new("a\n\n", "a\nx\n\ny\n\n");
        let [above, below] = [0, 1].map(|index| fixture.hunks()[index].clone());
        assert_eq!((above.after.as_str(), below.after.as_str()), ("x\n", "y\n\n"));
        fixture.accept(below.id, tells, false);
        assert_eq!(fixture.text(), "a\n\ny\n\n");
        assert_eq!(fixture.take(&Selection::All).as_deref(), Ok("a\nx\n\ny\n\n"), "{tells:?}");
        fixture.type_over("y", "why");
        assert_eq!(fixture.take(&Selection::All).as_deref(), Ok("a\nx\n\nwhy\n\n"), "{tells:?}");
    }
}

#[test]
fn a_line_that_came_with_a_hunk_is_not_the_equal_one_that_was_deleted_beside_it() {
    let mut fixture = Fixture::new("1\na\n2\n", "1\nnew\na\nb\na\n");
    let last = fixture.hunks()[1].id;
    fixture.accept(last, Tells::Each, false);
    assert_eq!(fixture.text(), "1\na\nb\na\n");
    fixture.type_over("1\na\n", "");
    expect![[r#"
        1: "" -> "new\n" at 0..0, you changed line 1 of a.txt, which the agent also edits. Undo your change or reject that edit
    "#]]
    .assert_eq(&fixture.shown());
    fixture.replace(0..0, "1\na\n");
    assert_eq!(fixture.take(&Selection::All).as_deref(), Ok("1\nnew\na\nb\na\n"));
}

#[test]
fn taking_back_what_made_the_text_the_old_one_again_puts_its_lines_back() {
    let mut fixture = Fixture::new("b\n", "b\na\n");
    fixture.replace(0..0, "b\na\n");
    fixture.hunks();
    fixture.replace(2..6, "");
    assert_eq!((fixture.text().as_str(), fixture.hunks().len()), ("b\n", 1));
    fixture.replace(2..2, "a\nb\n");
    assert_eq!(fixture.take(&Selection::All).as_deref(), Ok("b\na\nb\na\n"));
}

#[test]
fn a_block_that_was_cut_takes_its_hunks_along_though_an_equal_one_is_pasted() {
    let block = "{\nsay\n}\n";
    let before = block.repeat(2);
    let mut fixture = Fixture::new(&before, &before.replace("say", "shout"));
    fixture.replace(0..block.len(), "");
    fixture.replace(block.len()..block.len(), block);
    assert_eq!(fixture.text(), before);
    expect![[r#"
        1: "say\n" -> "shout\n" at 0..0, you changed line 1 of a.txt, which the agent also edits. Undo your change or reject that edit
        2: "say\n" -> "shout\n" at 1..2, pending
    "#]]
    .assert_eq(&fixture.shown());
    fixture.replace(block.len()..2 * block.len(), "");
    fixture.replace(0..0, block);
    expect![[r#"
        1: "say\n" -> "shout\n" at 1..2, pending
        2: "say\n" -> "shout\n" at 4..5, pending
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn of_an_editor_that_sends_whole_texts_an_equal_text_is_the_same_text() {
    let block = "{\nsay\n}\n";
    let before = block.repeat(2);
    let mut fixture = Fixture::new(&before, &before.replace("say", "shout"));
    for text in [block, &before] {
        fixture.change(Change { range: None, text: text.to_owned() });
    }
    assert_eq!(fixture.take(&Selection::All), Ok(before.replace("say", "shout")));
}

#[derive(Clone, Debug)]
enum Act {
    /// A whole line above a line.
    Add(usize, &'static str),
    Delete(usize, usize),
    /// A character at the beginning of a line.
    Type(usize),
    /// Takes back the last of these.
    Undo,
    Accept(usize, Tells, bool),
    Reject(usize),
    Look,
}

fn any_act() -> impl Strategy<Value = Act> {
    let number = || 0usize..100;
    prop_oneof![
        4 => (number(), prop::sample::select(vec!["a\n", "b\n", "\n", "u\n"]))
            .prop_map(|(at, line)| Act::Add(at, line)),
        3 => (number(), 1usize..4).prop_map(|(at, count)| Act::Delete(at, count)),
        2 => number().prop_map(Act::Type),
        3 => Just(Act::Undo),
        5 => (number(), any_tells(), any::<bool>()).prop_map(|(at, tells, first)| Act::Accept(at, tells, first)),
        1 => number().prop_map(Act::Reject),
        2 => Just(Act::Look),
    ]
}

/// Where a line of the text of now comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// This line of the text before.
    Base(usize),
    /// A hunk that stood at these lines of the text before.
    Hunk(usize, usize),
    User,
}

/// A text whose lines are known apart, whatever they say.
struct Known {
    fixture: Fixture,
    /// As they were shown first.
    first: Vec<HunkView>,
    base: Vec<String>,
    origins: Vec<Origin>,
    /// For each change of the user the bytes that it made, those that stood there, and where the lines were from.
    undo: Vec<(ops::Range<usize>, String, Vec<Origin>)>,
    looks_always: bool,
}

impl Known {
    fn change(&mut self, bytes: ops::Range<usize>, new: &str, origins: Vec<Origin>) {
        let old = self.fixture.text()[bytes.clone()].to_owned();
        let was = std::mem::replace(&mut self.origins, origins);
        self.undo.push((bytes.start..bytes.start + new.len(), old, was));
        self.fixture.replace(bytes, new);
    }

    fn act(&mut self, act: &Act) {
        let text = self.fixture.text();
        let starts = LineStarts::new(&text);
        let mut origins = self.origins.clone();
        let count = origins.len();
        match *act {
            Act::Add(at, line) => {
                let at = at % (count + 1);
                let byte = starts.start(&text, at);
                if at == count && !text.is_empty() && !text.ends_with('\n') {
                    return;
                }
                origins.insert(at, Origin::User);
                self.change(byte..byte, line, origins);
            }
            Act::Delete(at, lines) if count > 0 => {
                let at = at % count;
                let end = (at + lines).min(count);
                origins.drain(at..end);
                self.change(starts.start(&text, at)..starts.start(&text, end), "", origins);
            }
            Act::Type(at) if count > 0 => {
                let byte = starts.start(&text, at % count);
                origins[at % count] = Origin::User;
                self.change(byte..byte, "t", origins);
            }
            Act::Undo => {
                if let Some((bytes, old, was)) = self.undo.pop() {
                    self.origins = was;
                    self.fixture.replace(bytes, &old);
                }
            }
            Act::Accept(number, tells, answers_first) => self.accept(number, tells, answers_first),
            Act::Reject(number) => {
                let hunks = self.fixture.hunks();
                if let Some(hunk) = hunks.get(number % hunks.len().max(1)) {
                    self.fixture.review.rejected(&Selection::Hunk(hunk.id));
                }
            }
            Act::Look => self.look(),
            Act::Delete(..) | Act::Type(_) => {}
        }
    }

    fn first(&self, hunk: &HunkView) -> ops::Range<usize> {
        self.first.iter().find(|first| first.id == hunk.id).unwrap().lines_now.clone()
    }

    fn accept(&mut self, number: usize, tells: Tells, answers_first: bool) {
        self.look();
        let mut hunks = self.fixture.hunks();
        hunks.retain(|hunk| hunk.state == HunkState::Pending);
        let Some(hunk) = hunks.get(number % hunks.len().max(1)) else { return };
        let first = self.first(hunk);
        let mut expected = lines(&self.fixture.text());
        expected.splice(hunk.lines_now.clone(), lines(&hunk.after));
        let new = vec![Origin::Hunk(first.start, first.end); lines(&hunk.after).len()];
        self.origins.splice(hunk.lines_now.clone(), new);
        self.fixture.accept(hunk.id, tells, answers_first);
        let now = lines(&self.fixture.text());
        assert_eq!(contents(&now), contents(&expected), "{hunk:?}");
        self.undo.clear();
    }

    /// Each hunk stands between what stood above it and what stood below it, and is in no conflict while its lines are
    /// there.
    fn look(&self) {
        let now = lines(&self.fixture.text());
        assert_eq!(now.len(), self.origins.len());
        for hunk in self.fixture.hunks() {
            let first = self.first(&hunk);
            let place = &hunk.lines_now;
            let is_above = |origin: &Origin| match *origin {
                Origin::Base(line) => line < first.start,
                Origin::Hunk(start, end) => (start, end) < (first.start, first.end),
                Origin::User => true,
            };
            let is_below = |origin: &Origin| match *origin {
                Origin::Base(line) => line >= first.end,
                Origin::Hunk(start, end) => (start, end) > (first.start, first.end),
                Origin::User => true,
            };
            let shown = || format!("{hunk:?}, first at {first:?}, in {now:?} of {:?}", self.origins);
            match hunk.state {
                HunkState::Conflict(_) => {
                    let whole: Vec<_> = first.clone().map(Origin::Base).collect();
                    let is_whole =
                        !whole.is_empty() && self.origins.windows(whole.len()).any(|lines| lines == whole);
                    assert!(!is_whole || !self.looks_always, "in conflict: {}", shown());
                }
                _ => {
                    assert!(self.origins[..place.start].iter().all(is_above), "too low: {}", shown());
                    assert!(self.origins[place.end..].iter().all(is_below), "too high: {}", shown());
                    let before = lines(&hunk.before);
                    assert_eq!(contents(&now[place.clone()]), contents(&before), "{}", shown());
                    let is_same = |one: Option<&String>, other: Option<&String>| {
                        one.zip(other).is_some_and(|(one, other)| {
                            contents(std::slice::from_ref(one)) == contents(std::slice::from_ref(other))
                        })
                    };
                    let above =
                        |lines: &[String], at: usize| at.checked_sub(1).and_then(|at| lines.get(at).cloned());
                    let is_held =
                        is_same(above(&self.base, first.start).as_ref(), above(&now, place.start).as_ref())
                            || is_same(self.base.get(first.start), now.get(place.start));
                    assert!(
                        !before.is_empty() || is_held || self.base.is_empty(),
                        "held by nothing: {}",
                        shown()
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn hunks_accepted_in_any_order_come_about_where_they_were_shown(
        before in any_text(), after in any_text(),
        order in prop::collection::vec((0usize..100, any_tells(), any::<bool>()), 30),
    ) {
        prop_assume!(before != after);
        let mut fixture = Fixture::new(&before, &after);
        let mut waiting = fixture.hunks();
        let mut accepted = Vec::new();
        for (number, tells, answers_first) in order {
            if waiting.is_empty() {
                break;
            }
            accepted.push(waiting.remove(number % waiting.len()));
            fixture.accept(accepted.last().unwrap().id, tells, answers_first);
            prop_assert_eq!(fixture.text(), with_hunks(&before, &accepted));
        }
    }

    #[test]
    fn hunks_stay_between_what_stood_above_them_and_what_stood_below(
        before in any_text(), after in any_text(), acts in prop::collection::vec(any_act(), 1..16),
        looks_always: bool,
    ) {
        prop_assume!(before != after);
        let fixture = Fixture::new(&before, &after);
        let base = lines(&before);
        let origins = (0..base.len()).map(Origin::Base).collect();
        let first = fixture.hunks();
        let mut known = Known { fixture, first, base, origins, undo: Vec::new(), looks_always };
        for act in &acts {
            known.act(act);
            if looks_always {
                known.look();
            }
        }
        known.look();
    }
}
