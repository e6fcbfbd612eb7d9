//! The key terms of a question, and the patterns by which a search finds them in each of their spellings.

use super::clause::among;
use super::words::{Kind, Token, looks_like_name};

/// Words that carry grammar, politeness or the question itself, but nothing to look for.
const STOP_WORDS: &str = " a about above across actually after again all allow allowed almost along already also although always am an and another any anyone anything \
anywhere are aren't around as at away be because been before begin behind being below best better between both briefly but by call called came can can't cannot \
carefully certain code codebase come comes could couldn't current currently decide decided depend detail details did didn't different directory do does doesn't doing don't done down \
during each either else end ends ensure entire every everything everywhere exactly example exist exists explain explained explains far few file files find first folder \
follow following for found from function functions further gave get gets getting give gives go goes going gone good got \
had happen happening happens has have having he hello help helps her here hers hey hi him his how however i i'd i'll i'm i've if in inside instead into is isn't it it's its itself \
just keep keeps kind kindly know knows last later least less let let's like line lines list live lives located look looking looks lot made main mainly make makes making many \
may maybe me mean means mentioned might mine more most mostly much must my myself named namely need needed needs neither never new next no nobody none nor not nothing now of off often \
ok okay old on once one only onto or other others otherwise our ours out over own part parts perhaps place places please possible project purpose put quickly quite \
rather read really regarding related relevant repo repository responsible right said same say says see seem seems seen several shall she should show shows side simply since so some somebody someone \
something sometimes somewhere soon sort sorts source still stuff such suppose supposed sure take taken takes tell than thank thanks that that's the their theirs them then there there's these they thing \
things think this those though through thus to together too took toward try trying turn two under understand unless until up upon us use used user uses using usually various very via want wants was wasn't way ways we well \
went were what what's whatever when whenever where where's whereas wherever whether which while who whole whom whose why will with within without won't wonder word words work working works workspace would \
yes yet you you'd you're your yours yourself ";

pub(in crate::model) fn is_stop_word(word: &str) -> bool {
    word.is_empty() || STOP_WORDS.contains(&format!(" {word} "))
}

/// Words that ask whether code is good: they say what is wanted and stand nowhere.
pub(super) const JUDGING: &str = "bug bugs buggy correct correctly incorrect safe unsafe secure insecure vulnerability vulnerabilities \
    vulnerable efficient inefficient idiomatic readable maintainable smell smells improve improved improvement improvements problem problems mistake mistakes flaw flaws";

/// Verbs of a request, where they stand as such: at its beginning, or after who is to do it.
const REQUESTS: &str = "run execute start launch define declare write implement add fix refactor review explain describe summarize \
    summarise outline document generate create test check debug build make change update improve show list open print display search locate grep count";

/// Words before which a verb of the list is a request.
const BEFORE_REQUESTS: &str = "i we you to please can could should must and";

/// One thing to look for: how to show it, and a pattern for a search without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::model) struct Term {
    pub(in crate::model) shown: String,
    pub(in crate::model) pattern: String,
    /// Names and quoted texts say more about what the user means than plain words.
    pub(in crate::model) weight: u32,
}

/// Terms of one question: more would only repeat what the best ones find.
const MAX_TERMS: usize = 6;

/// Shorter words (`id`, `go`) stand in too many others to be found by.
const MIN_WORD: usize = 3;

/// The key terms, the most telling first.
pub(in crate::model) fn terms(tokens: &[Token]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut before: Option<&Token> = None;
    for token in tokens {
        let begins =
            before.is_none_or(|before| before.kind == Kind::Break || among(&before.word, BEFORE_REQUESTS));
        before = Some(token);
        let is_request = begins && among(&token.word, REQUESTS) && tokens.len() > 1;
        let Some(term) = term(token).filter(|_| !is_request) else { continue };
        if !terms.iter().any(|known| known.pattern == term.pattern) {
            terms.push(term);
        }
    }
    // Stable: among equals the order of the question stays.
    terms.sort_by_key(|term| std::cmp::Reverse((term.weight, term.shown.chars().count().min(8))));
    terms.truncate(MAX_TERMS);
    terms
}

fn term(token: &Token) -> Option<Term> {
    let text = token.text.trim();
    match token.kind {
        Kind::Break | Kind::Comma | Kind::Colon => None,
        // A quoted text of several lines cannot stand on one.
        Kind::Quoted => {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
            let line: String = line.chars().take(120).collect();
            Some(Term { pattern: name_pattern(&line), shown: line, weight: 3 })
        }
        Kind::Path => {
            let stem = text.rsplit('/').find(|part| !part.is_empty())?.split('.').next()?;
            (stem.len() >= MIN_WORD).then(|| Term {
                shown: stem.to_owned(),
                pattern: name_pattern(stem),
                weight: 2,
            })
        }
        Kind::Word if looks_like_name(text) => {
            let bare = text.trim_end_matches("()").trim_end_matches('!');
            let last = bare.rsplit("::").next().unwrap_or(bare);
            Some(Term { shown: last.to_owned(), pattern: name_pattern(last), weight: 3 })
        }
        Kind::Word => {
            let word = token.word.trim_end_matches("'s");
            let bare: String =
                word.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').take(60).collect();
            if bare.chars().count() < MIN_WORD || is_stop_word(&bare) {
                return None;
            }
            let parts: Vec<_> = bare.split('-').filter(|part| !part.is_empty()).map(stem).collect();
            let pattern = parts.iter().map(|part| regex::escape(part)).collect::<Vec<_>>().join("[-_ ]?");
            // The user's own word first: the search is shown to them.
            let pattern = match bare.strip_prefix(pattern.as_str()) {
                Some(ending) if !ending.is_empty() => format!("{bare}|{pattern}"),
                _ => pattern,
            };
            (!pattern.is_empty()).then_some(Term { shown: bare, pattern, weight: 1 })
        }
    }
}

/// Matches a name in each of its spellings: `read_file`, `readFile`, `read-file`, `read file`.
pub(super) fn name_pattern(name: &str) -> String {
    let parts = name_parts(name);
    if parts.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ')) {
        return regex::escape(name);
    }
    parts.iter().map(|part| regex::escape(part)).collect::<Vec<_>>().join("[-_ ]?")
}

/// The words of a name, in lower case.
pub(super) fn name_parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before_small = false;
    let mut open = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            open = false;
            continue;
        }
        if !open || (c.is_uppercase() && before_small) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(c.to_lowercase());
        }
        before_small = c.is_lowercase() || c.is_numeric();
        open = true;
    }
    parts
}

/// Cuts an English ending so that the rest begins every form of the word: `invalidated` and `invalidation` both
/// become `invalid`. Light on purpose: at least four letters stay, and what is cut can only widen a search.
pub(in crate::model) fn stem(word: &str) -> String {
    const ENDINGS: &[&str] = &[
        "izations", "ization", "ations", "ation", "ating", "ators", "ator", "ated", "ates", "ate", "nesses",
        "ness", "ments", "ment", "ings", "ing", "ions", "ion", "ies", "ied", "ers", "er", "ors", "or", "ed",
        "es", "ly", "s", "e", "y",
    ];
    for ending in ENDINGS {
        let Some(rest) = word.strip_suffix(ending) else { continue };
        // `class`, `status`, `process` lose nothing.
        if *ending == "s" && (rest.ends_with('s') || rest.ends_with('u') || rest.ends_with('i')) {
            continue;
        }
        let letters = rest.chars().count();
        if letters < 4 && !(letters == 3 && matches!(*ending, "s" | "ing" | "ed")) {
            continue;
        }
        let mut chars: Vec<char> = rest.chars().collect();
        // `running`, `stopped`: the letter that was doubled for the ending.
        if matches!(*ending, "ing" | "ed" | "er" | "ers" | "ings")
            && let [.., a, b] = chars.as_slice()
            && a == b
            && !matches!(a, 'l' | 's' | 'e' | 'o')
            && chars.len() > 3
        {
            chars.pop();
        }
        return chars.into_iter().collect();
    }
    word.to_owned()
}
