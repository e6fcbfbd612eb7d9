//! Clauses that ask for a change or a command. A change is carried out only when the whole clause was understood: what
//! is left over is told, with the phrasings that are known, and nothing is changed.

use super::{
    change_rules::{self as rules, Rule},
    clause::{Clause, among},
    grammar::Reader,
    wish::{BeyondKind, Wish},
    words::Kind,
};

/// "run `cargo test`": the command as it was written, never one made up.
pub(super) fn command(clause: &Clause<'_>) -> Option<Wish> {
    if !clause.starts_with_any("run execute exec") {
        return None;
    }
    if let Some(token) = clause.tokens.iter().find(|token| token.is_quoted()) {
        return Some(Wish::Run { command: token.text.trim().to_owned() });
    }
    let mut at = 1;
    while among(clause.word(at), "the this following command shell a an my our all")
        || clause.tokens.get(at).is_some_and(|token| token.kind == Kind::Colon)
    {
        at += 1;
    }
    let says_command = at > 1 && clause.slice(1, at).has("command");
    let command = clause.source_from(at).trim();
    let is_program = command.split_whitespace().next().is_some_and(|program| {
        program.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
    });
    // "run the tests" names no command.
    let names_one =
        (at == 1 || says_command) && is_program && !clause.slice(at, clause.tokens.len()).tokens.is_empty();
    let names_one =
        names_one && (says_command || !among(clause.word(at), "it them that this tests test everything"));
    Some(if names_one {
        Wish::Run { command: command.to_owned() }
    } else {
        Wish::Beyond { words: clause.source_from(1).to_owned(), kind: BeyondKind::Running }
    })
}

/// The wishes of a clause that orders a change; one that is not understood whole is the one wish to say so. `None`: it
/// orders no change.
pub(super) fn change(clause: &Clause<'_>, has_open_file: bool) -> Option<Vec<Wish>> {
    let verb = Verb::of(clause, has_open_file)?;
    if clause.is_asked() {
        let what = "nothing was changed: what ends with a question mark is not taken for an order";
        return Some(vec![Wish::Unclear { what: format!("{what}; {}", verb.forms()) }]);
    }
    let mut furthest = 0;
    for rule in verb.rules() {
        let mut reader = Reader::new(clause, has_open_file);
        let wishes = rule(&mut reader);
        match wishes {
            // What a rule has to say for itself needs no end.
            Some(Ok(wishes)) if reader.is_at_end() => return Some(wishes),
            Some(Err(why)) if reader.is_at_end() => {
                return Some(vec![Wish::Unclear { what: format!("nothing was changed: {why}") }]);
            }
            _ => furthest = furthest.max(reader.furthest()),
        }
    }
    if verb.is_left_to_others(clause) {
        return beyond(clause).map(|wish| vec![wish]);
    }
    let rest = clause.source_from(furthest);
    let why = match clause.stray_sign(clause.tokens.len()) {
        _ if !rest.is_empty() => format!("“{rest}” was not understood"),
        Some(sign) => format!("the sign “{sign}” was not understood"),
        None => "something is missing".to_owned(),
    };
    Some(vec![Wish::Unclear { what: format!("nothing was changed: {why}; {}", verb.forms()) }])
}

/// What kind of change the verb of a clause orders.
#[derive(Clone, Copy)]
enum Verb {
    Sed,
    Replace,
    Rename,
    Change,
    Set,
    Create,
    Append,
    Remove,
    Move,
    Beyond,
}

impl Verb {
    fn of(clause: &Clause<'_>, has_open_file: bool) -> Option<Self> {
        if rules::SED.is_match(clause.source()) {
            return Some(Self::Sed);
        }
        // "In FILE, replace a by b": where comes first.
        let mut reader = Reader::new(clause, has_open_file);
        let place = reader.places(rules::INSIDE);
        reader.skip_polite();
        let has_place = place.is_some_and(|place| place.everywhere || !place.files.is_empty());
        if has_place {
            let found = [
                (rules::REPLACE, Self::Replace),
                (rules::RENAME, Self::Rename),
                (rules::CHANGE, Self::Change),
                (rules::REMOVE, Self::Remove),
            ];
            return found.into_iter().find(|(list, _)| reader.eat(list)).map(|(_, verb)| verb);
        }
        let first = clause.word(0);
        Some(match first {
            _ if among(first, rules::REPLACE) => Self::Replace,
            _ if among(first, rules::RENAME) => Self::Rename,
            _ if among(first, rules::CHANGE) => Self::Change,
            _ if among(first, rules::SET) => Self::Set,
            _ if among(first, rules::CREATE) => Self::Create,
            _ if among(first, rules::APPEND) => Self::Append,
            _ if among(first, rules::REMOVE) => Self::Remove,
            _ if among(first, rules::MOVE) => Self::Move,
            _ if beyond(clause).is_some() => Self::Beyond,
            _ => return None,
        })
    }

    /// The rules that are tried, in this order.
    fn rules(self) -> &'static [Rule] {
        match self {
            Self::Sed => &[rules::sed],
            Self::Replace => &[rules::replace],
            Self::Rename => &[rules::relocate, rules::replace],
            Self::Change => &[rules::replace],
            Self::Set => &[rules::set],
            Self::Create => &[rules::create, rules::write],
            Self::Append => &[rules::append, rules::create, rules::write],
            Self::Remove => &[rules::remove_text, rules::delete],
            Self::Move => &[rules::relocate],
            Self::Beyond => &[],
        }
    }

    /// Whether a clause that is no change as it stands may be a question or a wish for new code or words.
    fn is_left_to_others(self, clause: &Clause<'_>) -> bool {
        let names_text = || clause.tokens.iter().any(|token| token.is_quoted() && !token.is_path());
        match self {
            Self::Beyond => true,
            Self::Set => !clause.has("to"),
            Self::Change => !names_text() && clause.paths().is_empty(),
            Self::Create => !names_text() && !clause.starts_with_any("overwrite"),
            Self::Append => !names_text() && !clause.starts_with_any("append"),
            _ => false,
        }
    }

    fn forms(self) -> &'static str {
        match self {
            Self::Sed => "what is understood: `s/old/new/ in FILE`",
            Self::Replace | Self::Change => {
                "what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; \
                 replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE"
            }
            Self::Rename => {
                "what is understood: rename `old` to `new` in FILE, or in all files; rename FILE to FILE"
            }
            Self::Set => "what is understood: set `key` to `value` in FILE",
            Self::Create => "what is understood: create FILE with `text`; overwrite FILE with `text`",
            Self::Append => "what is understood: append `text` to FILE",
            Self::Remove => {
                "what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks"
            }
            Self::Move => "what is understood: move FILE to FILE; move FILE to FOLDER/",
            Self::Beyond => "",
        }
    }
}

/// New code, new words, judgement: only a language model can.
fn beyond(clause: &Clause<'_>) -> Option<Wish> {
    const WRITES: &str = "implement refactor fix write add generate improve optimize optimise document convert translate port make build design create rewrite simplify clean update modify extend test solve change insert edit migrate suggest propose plan split merge extract format remove delete define declare";
    const JUDGES: &str =
        "review debug check verify audit judge assess evaluate rate compare criticize criticise";
    let kind = if clause.starts_with_any(WRITES) {
        // "define TodoList" asks where it is.
        let looks_up = clause.starts_with_any("define declare") && !clause.has("a an new for that which");
        (!looks_up).then_some(BeyondKind::Writing)?
    } else if clause.starts_with_any(JUDGES) {
        BeyondKind::Judging
    } else {
        return None;
    };
    Some(Wish::Beyond { words: clause.source_from(1).to_owned(), kind })
}
