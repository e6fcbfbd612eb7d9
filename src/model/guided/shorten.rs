//! Outputs as short as a small model can take them in, around what the question is about.

use super::subject::Subject;

/// Characters of one line: the rest of a longer one is data.
const LINE_CHARS: usize = 200;

/// Lines that are shown before and after a telling one.
const BEFORE: usize = 3;
const AFTER: usize = 6;

/// Lines at the beginning that tell what a text is.
const HEAD: usize = 3;

/// The line that stands for those left out.
const GAP: &str = "…";

/// Keeps the lines that say most about the subject, with those around them, in their order; all where they fit.
pub(super) fn around(lines: &[&str], subject: &Subject, budget: usize) -> String {
    let cut: Vec<String> = lines.iter().map(|line| cut(line.trim_end(), LINE_CHARS)).collect();
    let cost = |at: usize| cut.get(at).map_or(0, |line| line.chars().count() + 1);
    let mut kept = vec![false; cut.len()];
    let mut left = budget;
    let mut keep = |at: usize| -> bool {
        let Some(slot) = kept.get_mut(at) else { return true };
        if *slot {
            return true;
        }
        if cost(at) > left {
            return false;
        }
        left -= cost(at);
        *slot = true;
        true
    };
    (0..HEAD).for_each(|at| {
        keep(at);
    });
    let weights = subject.weigh(lines);
    let mut telling: Vec<usize> =
        (0..cut.len()).filter(|at| weights.get(*at).is_some_and(|weight| *weight > 0)).collect();
    telling.sort_by_key(|at| std::cmp::Reverse(weights.get(*at).copied()));
    // Each telling line before the surroundings of any, then the rest from the beginning on.
    telling.iter().take_while(|at| keep(**at)).count();
    telling.iter().take_while(|at| (at.saturating_sub(BEFORE)..=*at + AFTER).all(&mut keep)).count();
    (0..cut.len()).take_while(|at| keep(*at)).count();

    let mut text = String::new();
    let mut in_gap = false;
    for (line, kept) in cut.iter().zip(&kept) {
        if *kept {
            text.push_str(line);
            text.push('\n');
        } else if !in_gap {
            text.push_str(GAP);
            text.push('\n');
        }
        in_gap = !kept;
    }
    text
}

/// The beginning of a text, at most `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}{GAP}", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::model::offline::words::tokens;

    fn check(text: &str, question: &str, budget: usize, expected: Expect) {
        let lines: Vec<&str> = text.lines().collect();
        expected.assert_eq(&around(&lines, &Subject::of(&tokens(question)), budget));
    }

    fn numbered(count: usize) -> String {
        (1..=count)
            .map(|number| if number == 50 { "width = 31\n".to_owned() } else { format!("line {number}\n") })
            .collect()
    }

    #[test]
    fn a_short_text_stays_whole() {
        check(
            "one\ntwo",
            "which width?",
            100,
            expect![[r#"
            one
            two
        "#]],
        );
    }

    #[test]
    fn of_a_long_one_the_head_and_what_the_question_is_about_are_kept() {
        check(
            &numbered(100),
            "which width?",
            80,
            expect![[r#"
            line 1
            line 2
            line 3
            …
            line 47
            line 48
            line 49
            width = 31
            line 51
            line 52
            line 53
            …
        "#]],
        );
    }

    #[test]
    fn what_is_about_nothing_is_cut_at_its_end() {
        check(
            &numbered(40),
            "why?",
            30,
            expect![[r#"
            line 1
            line 2
            line 3
            line 4
            …
        "#]],
        );
    }

    #[test]
    fn long_lines_are_cut() {
        let text = around(&[&"x".repeat(1_000_000)], &Subject::default(), 1_000);
        assert_eq!(text.chars().count(), LINE_CHARS + 2);
    }
}
