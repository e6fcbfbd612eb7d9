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
            self.review.accepted(&self.project.workspace, &taken.hunks());
        }
        self.apply(&taken.files[0].edit, tells);
        self.review.accepted(&self.project.workspace, &taken.hunks());
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
}
