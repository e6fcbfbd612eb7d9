//! Files of a few lines that stand in them again and again, where two texts alone do not say which lines an edit is about.

use proptest::prelude::*;

use super::*;

fn any_lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a\n", "a\n", "b\n", "}\n"]);
    prop::collection::vec(line, 1..30).prop_map(|lines| lines.concat())
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

proptest! {
    #[test]
    fn hunks_accepted_in_any_order_come_about_where_they_were_shown(
        before in any_lines(), after in any_lines(), order in prop::collection::vec(0usize..100, 30),
    ) {
        prop_assume!(before != after);
        let mut fixture = Fixture::new(&before, &after);
        let mut waiting = fixture.hunks();
        let mut accepted = Vec::new();
        for number in order {
            if waiting.is_empty() {
                break;
            }
            accepted.push(waiting.remove(number % waiting.len()));
            let meant = Selection::Hunk(accepted.last().unwrap().id);
            let taken = fixture.review.take(&fixture.project.workspace, &meant).unwrap();
            for edit in taken.files[0].edit.text_edits(Encoding::Utf8).into_iter().rev() {
                fixture.change(Change { range: Some(edit.range), text: edit.new_text });
            }
            fixture.review.accepted(&taken.hunks());
            prop_assert_eq!(fixture.text(), with_hunks(&before, &accepted));
        }
    }
}
