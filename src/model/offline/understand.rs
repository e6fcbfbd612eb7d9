//! From the user's words to wishes: sentences are split into clauses, each clause is read by its verb or its question
//! word. English phrasing only; whatever is not recognised is a question whose terms are looked for.

use super::{
    change_words,
    clause::{Clause, PRONOUN, clauses},
    look_words,
    wish::{Scope, ToldAs, Wish},
    words::tokens,
};

/// Longer prompts hold pasted text; what is asked stands at the beginning or at the end of them.
const MAX_PROMPT: usize = 12_000;

/// Wishes of one prompt: more would not be read in one answer.
const MAX_WISHES: usize = 8;

/// All wishes of a prompt, in its order; at least one. `has_open_file` says whether "it" can mean the open file.
pub(super) fn understand(prompt: &str, previous: Option<&str>, has_open_file: bool) -> Vec<Wish> {
    let whole = prompt;
    let prompt = bounded(prompt);
    let tokens = tokens(&prompt);
    let mut wishes: Vec<Wish> = Vec::new();
    let mut strange = (prompt.len() < whole.len()).then(|| "so long a message is not read whole".to_owned());
    let mut left_out = 0;
    let clauses = clauses(&prompt, &tokens);
    let mut looking: Vec<&Clause<'_>> = Vec::new();
    for clause in &clauses {
        let found = wishes_of(clause, has_open_file);
        let is_change = found.iter().any(Wish::changes_files);
        let doubtful = match is_change {
            true => looking.iter().find(|before| before.may_speak_of(clause)).copied(),
            false => (!stands_beside_a_change(clause, &found)).then_some(clause),
        };
        if let Some(doubtful) = doubtful {
            strange.get_or_insert_with(|| format!("“{}” may restrict the change", doubtful.source()));
        }
        if !is_change {
            looking.push(clause);
        }
        for wish in found {
            let wish = named(wish, &wishes, previous);
            match (wishes.last_mut(), wish) {
                // Several sentences that tell one story are one question.
                (
                    Some(Wish::Question { words } | Wish::Beyond { words, .. }),
                    Wish::Question { words: more },
                ) => {
                    words.push('\n');
                    words.push_str(&more);
                }
                // A greeting is no wish beside another; alone it asks what can be asked.
                (_, Wish::Help) => {}
                (_, wish) => {
                    let is_new = !wishes.contains(&wish);
                    left_out += usize::from(is_new && wishes.len() == MAX_WISHES);
                    if is_new && wishes.len() < MAX_WISHES {
                        wishes.push(wish);
                    }
                }
            }
        }
    }
    if left_out > 0 {
        strange.get_or_insert_with(|| format!("one message may hold {MAX_WISHES} requests"));
        wishes.push(Wish::Unclear {
            what: format!(
                "only the first {MAX_WISHES} things are answered: ask again for the {left_out} after them"
            ),
        });
    }
    if let Some(strange) = strange {
        hold_changes(&mut wishes, &strange);
    }
    if let [Wish::Question { words }] = wishes.as_slice()
        && let Some(wish) = what_about(words, previous, has_open_file)
    {
        return vec![wish];
    }
    if wishes.is_empty() {
        wishes.push(Wish::Help);
    }
    wishes
}

/// Whether a change may be carried out beside this clause: "Only if it is empty." may bound the change before it.
fn stands_beside_a_change(clause: &Clause<'_>, wishes: &[Wish]) -> bool {
    wishes.iter().all(|wish| match wish {
        Wish::Unclear { .. } | Wish::Beyond { .. } => false,
        Wish::Question { .. } => clause.is_asked(),
        Wish::Help => true,
        _ => clause.is_order_or_question(),
    })
}

/// Nothing of a message is changed when a part of it that may bound the change was not understood; `why` says which.
fn hold_changes(wishes: &mut Vec<Wish>, why: &str) {
    let edits = |wish: &Wish| wish.changes_files() && !matches!(wish, Wish::Run { .. });
    let says_so =
        |wish: &Wish| matches!(wish, Wish::Unclear { what } if what.starts_with("nothing was changed"));
    if !wishes.iter().any(|wish| edits(wish) || says_so(wish)) {
        return;
    }
    wishes.retain(|wish| !wish.changes_files());
    if !wishes.iter().any(says_so) {
        let what = format!("nothing was changed: {why}; ask for the change alone");
        wishes.insert(0, Wish::Unclear { what });
    }
}

/// "where is x defined and who calls it": the name instead of the pronoun.
fn named(wish: Wish, before: &[Wish], previous: Option<&str>) -> Wish {
    let name_of = |wish: &Wish| match wish {
        Wish::Define { name, .. } | Wish::Uses { name, .. } if name != PRONOUN => Some(name.clone()),
        Wish::Find { needle, .. } if needle.shown != PRONOUN => Some(needle.shown.clone()),
        _ => None,
    };
    let known = || {
        let earlier = |words| understand(words, None, false).iter().rev().find_map(name_of);
        before.iter().rev().find_map(name_of).or_else(|| previous.and_then(earlier))
    };
    match wish {
        Wish::Define { name, scope } if name == PRONOUN => match known() {
            Some(name) => Wish::Define { name, scope },
            None => Wish::Unclear { what: "say which name is meant".to_owned() },
        },
        Wish::Uses { name, scope, calls_only, count } if name == PRONOUN => match known() {
            Some(name) => Wish::Uses { name, scope, calls_only, count },
            None => Wish::Unclear { what: "say which name is meant".to_owned() },
        },
        other => other,
    }
}

fn bounded(prompt: &str) -> std::borrow::Cow<'_, str> {
    if prompt.len() <= MAX_PROMPT {
        return prompt.into();
    }
    let mut head = MAX_PROMPT / 2;
    while !prompt.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = prompt.len() - MAX_PROMPT / 2;
    while !prompt.is_char_boundary(tail) {
        tail += 1;
    }
    let parts = [prompt.get(..head).unwrap_or_default(), prompt.get(tail..).unwrap_or_default()];
    parts.join("\n\n").into()
}

/// What one clause asks for; none when it is empty.
fn wishes_of(clause: &Clause<'_>, has_open_file: bool) -> Vec<Wish> {
    if clause.tokens.is_empty() {
        return Vec::new();
    }
    let question = || vec![Wish::Question { words: clause.source().to_owned() }];
    change_words::command(clause)
        .map(|wish| vec![wish])
        .or_else(|| change_words::change(clause, has_open_file))
        .or_else(|| look_words::look(clause, has_open_file))
        .filter(|wishes| !wishes.is_empty())
        .unwrap_or_else(question)
}

/// "and what about `other`?" asks the question before about another thing.
fn what_about(words: &str, previous: Option<&str>, has_open_file: bool) -> Option<Wish> {
    let tokens = tokens(words);
    let lower: Vec<_> = tokens.iter().map(|token| token.word.as_str()).collect();
    let lower = lower.strip_prefix(&["and"]).unwrap_or(&lower);
    let about = matches!(lower, ["what" | "how", "about", ..]);
    let subject = tokens.iter().rev().find(|token| !token.text.is_empty())?;
    if !about {
        return None;
    }
    let name = subject.text.clone();
    let earlier = understand(previous?, None, has_open_file);
    Some(match earlier.into_iter().next_back()? {
        Wish::Define { scope, .. } => Wish::Define { name, scope },
        Wish::Uses { scope, calls_only, count, .. } => Wish::Uses { name, scope, calls_only, count },
        Wish::Find { scope, count, .. } => {
            Wish::Find { needle: super::wish::Needle::text(&name), scope, count }
        }
        Wish::List { filter, deep, .. } if subject.is_path() => {
            let scope = Scope { path: name, told_as: ToldAs::Path };
            Wish::List { scope: Some(scope), filter, deep }
        }
        Wish::Read { .. } if subject.is_path() => {
            Wish::Read { targets: vec![super::wish::Target::Path(name)], lines: None }
        }
        Wish::Outline { .. } if subject.is_path() => {
            Wish::Outline { target: super::wish::Target::Path(name) }
        }
        _ => return None,
    })
}
