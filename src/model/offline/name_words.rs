//! Clauses that ask where names are defined or used.

use super::{
    clause::{Clause, Subject, among},
    look_words::each,
    terms::is_stop_word,
    wish::Wish,
    words::{looks_like_name, looks_like_path},
};

pub(super) fn uses(clause: &Clause<'_>) -> Option<Vec<Wish>> {
    const USED: &str = "used called referenced imported invoked needed instantiated consumed mentioned";
    let scopes = clause.scopes();
    let wishes = |names: Vec<Subject>, calls_only: bool| {
        each(&names, &scopes, |name, scope| Wish::Uses { name: name.name(), scope, calls_only, count: false })
    };
    if clause.starts_with_any("where where's is are") && clause.has(USED) && clause.tokens.len() <= 14 {
        let end = clause.position(USED)?;
        // "where is x defined and used" asks two things.
        let defined =
            clause.position(DEFINED).filter(|at| clause.starts_with_any("where where's") && *at < end);
        let names = clause.slice(0, defined.unwrap_or(end)).subjects(1);
        let mut all = Vec::new();
        if defined.is_some() {
            all.extend(each(&names, &scopes, |name, scope| Wish::Define { name: name.name(), scope })?);
        }
        all.extend(wishes(names, clause.has("called invoked"))?);
        return Some(all);
    }
    if clause.starts_with_any("where")
        && (clause.after("do we").is_some() || clause.after("does").is_some())
        && clause.has("use call import")
    {
        let verb = clause.position("use call import")?;
        return wishes(clause.subjects(verb + 1), clause.word(verb) == "call");
    }
    let active = clause
        .starts_with_any("who what which")
        .then(|| clause.position("calls uses imports references invokes call use import reference invoke"))
        .flatten();
    if let Some(verb) = active
        && (verb <= 3 || clause.has("files functions modules"))
        && !clause.slice(0, verb).has("does do did")
    {
        return wishes(clause.subjects(verb + 1), among(clause.word(verb), "calls call invokes"));
    }
    let noun = clause.position("usages usage uses references callers refs")?;
    let joint = among(clause.word(noun + 1), "of to for");
    let is_order =
        clause.starts_with_any("find show list give usages uses references callers all where search get the");
    (joint && is_order).then(|| wishes(clause.subjects(noun + 2), clause.word(noun) == "callers")).flatten()
}

const DEFINED: &str =
    "defined declared implemented located definition declaration implementation introduced created";

pub(super) fn define(clause: &Clause<'_>) -> Option<Vec<Wish>> {
    const DEFINES: &str = "defines declares implements define declare";
    let scopes = clause.scopes();
    let wishes =
        |names: Vec<Subject>| each(&names, &scopes, |name, scope| Wish::Define { name: name.name(), scope });
    if clause.starts_with_any("where where's") {
        // "where does it say ..." and long questions are about more than one name.
        let is_short = clause.tokens.len() <= 6 && !clause.has("do does can should did");
        let end = clause.position(DEFINED);
        let names = clause.slice(0, end.unwrap_or(clause.tokens.len())).subjects(1);
        let are_names = names.iter().all(|name| name.quoted || looks_like_name(&name.text));
        let is_one_word = |name: &Subject| !name.text.contains(' ') && !looks_like_path(&name.text);
        let is_quoted = names.iter().any(|name| name.quoted);
        if are_names || end.is_some() || (is_short && names.iter().all(is_one_word)) {
            return (end.is_some() || is_short || is_quoted).then(|| wishes(names)).flatten();
        }
        return None;
    }
    if let Some(noun) = clause.position("definition declaration implementation definitions")
        && among(clause.word(noun + 1), "of for")
    {
        return wishes(clause.subjects(noun + 2));
    }
    if clause.starts_with_any("which what who")
        && let Some(verb) = clause.position(DEFINES)
        && !clause.slice(0, verb).has("does do")
    {
        return wishes(clause.subjects(verb + 1));
    }
    // "define TodoList" asks for what is there; "define a class for …" asks for new code.
    if clause.starts_with_any("define declare definition declaration")
        && !clause.has("a an new for that which")
    {
        return wishes(clause.subjects(1));
    }
    if clause.starts_with("go to") || clause.starts_with("jump to") {
        return clause.paths().is_empty().then(|| wishes(clause.subjects(2))).flatten();
    }
    // "find the function foo", "show me the struct Bar".
    const KINDS: &str = "function class struct method enum trait interface type constant macro functions classes structs \
        methods enums traits interfaces types constants macros";
    let kind = clause.position(KINDS)?;
    let is_order = clause.starts_with_any("find locate show open explain describe what read see");
    let next = clause.tokens.get(kind + 1).filter(|token| {
        !token.text.is_empty() && !is_stop_word(&token.word) && !token.is_path() || token.is_quoted()
    });
    let before = kind
        .checked_sub(1)
        .and_then(|at| clause.tokens.get(at))
        .filter(|token| token.is_quoted() || looks_like_name(&token.text) || token.word == "main");
    if !is_order || kind > 4 {
        return None;
    }
    if next.is_some() {
        return wishes(clause.subjects(kind + 1));
    }
    let name = Subject { text: before?.text.clone(), quoted: true };
    wishes(vec![name])
}
