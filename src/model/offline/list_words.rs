//! Clauses that ask which files there are, and how many there are of something.

use super::{
    clause::{Clause, Subject, among},
    look_words::{each, needles},
    wish::{Filter, Scope, ToldAs, Unit, Wish},
    words::looks_like_path,
};

pub(super) fn list(clause: &Clause<'_>) -> Option<Vec<Wish>> {
    const THINGS: &str =
        "files folders directories file tree everything contents entries modules scripts subfolders dirs";
    let wishes = |scopes: &[Scope], filter: Filter, deep: bool| {
        each(&[filter], scopes, |filter, scope| Wish::List { scope, filter: filter.clone(), deep })
    };
    let mut scopes = clause.scopes();
    if scopes.is_empty() {
        // "the contents of shop", "all files from src"; but "a list of files" names no folder.
        let after_of = clause.scopes_after("of from at");
        scopes.extend(after_of.into_iter().filter(|scope| !among(&scope.path.to_lowercase(), THINGS)));
    }
    if clause.starts_with_any("ls dir tree") {
        if scopes.is_empty() {
            scopes = clause.places_at(1, true);
        }
        return wishes(&scopes, filter(clause), clause.word(0) == "tree");
    }
    // "find the file config", "where is the file main.rs", "find files named x".
    let looks_for_file = clause.starts_with_any("find locate where where's search");
    if looks_for_file && clause.has("file files")
        || looks_for_file
            && clause.tokens.len() <= 5
            && !clause.paths().is_empty()
            && !clause.tokens.iter().any(|token| among(&token.word, "in for inside"))
    {
        let mut filter = filter(clause);
        if filter.globs.is_empty() {
            let path = clause.paths().into_iter().next();
            let named = clause
                .position("named called file files")
                .and_then(|at| clause.subject(at + 1))
                .map(|subject| subject.text);
            filter.part = path.or(named).or(filter.part);
        }
        return (!filter.globs.is_empty() || filter.part.is_some())
            .then(|| wishes(&clause.scopes(), filter, true))
            .flatten();
    }
    let asks = clause.starts_with_any(
        "list show what which print display give enumerate what's see get files all open find search",
    );
    let folder = clause
        .after("current directory")
        .or(clause.after("current folder"))
        .or(clause.after("this directory"))
        .or(clause.after("this folder"))
        .or(clause.after("working directory"))
        .or(clause.after("root directory"))
        .or(clause.after("root folder"));
    let names_things = clause.has(THINGS)
        || folder.is_some()
        || clause.after("directory structure").is_some()
        || clause.after("folder structure").is_some();
    let whats_in = clause.starts_with("what's in") || clause.starts_with("what is in");
    // "list shop", "list the src folder": all that follows is the name of a place.
    let mut listed = if clause.word(0) == "list" { clause.places_at(1, true) } else { Vec::new() };
    listed.retain(|scope| {
        scope.told_as != ToldAs::Word && !among(&scope.path.to_lowercase(), THINGS) && !clause.has(NO_FOLDERS)
    });
    let bare_list = clause.word(0) == "list"
        && (clause.tokens.len() == 1 || !clause.paths().is_empty() || !listed.is_empty());
    if scopes.is_empty() && !names_things {
        scopes.extend(listed);
    }
    let in_folder = whats_in
        && clause.tokens.len() <= 6
        && scopes.first().is_some_and(|scope| scope.told_as != ToldAs::Word && !has_extension(&scope.path));
    let globbed = clause.tokens.iter().any(|token| token.text.contains('*') && !token.is_quoted());
    if !(asks && (names_things || globbed) || bare_list || in_folder || (asks && folder.is_some())) {
        return None;
    }
    // "show the contents of Cargo.toml" reads.
    if clause.has("contents content") && clause.paths().iter().any(|path| has_extension(path))
        || clause.paths().iter().any(|path| has_extension(path) && !globbed) && !clause.has("files")
    {
        return None;
    }
    // "show me the config file", "open the file it found": one file, not all.
    if clause.has("file") && !clause.has("files") && folder.is_none() {
        return None;
    }
    if clause.has("file files") && clause.has("these those them") {
        return None;
    }
    let filter = filter(clause);
    if scopes.is_empty() {
        let paths = clause.paths().into_iter().filter(|path| !has_extension(path));
        scopes.extend(paths.map(|path| Scope { path, told_as: ToldAs::Path }));
    }
    let deep = !filter.globs.is_empty()
        || filter.part.is_some()
        || clause.has("recursively tree structure all every everything subfolders nested project repo repository workspace codebase");
    wishes(&scopes, filter, deep)
}

/// Things that are listed but stand in files: "list todos".
const NO_FOLDERS: &str =
    "todo todos fixme fixmes functions methods classes structs types imports symbols usages callers";

fn has_extension(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.trim_start_matches('.').contains('.') || looks_like_path(name))
}

/// Languages and kinds of files by the words for them.
const KINDS: &[(&[&str], &[&str])] = &[
    (&["rust"], &["*.rs"]),
    (&["python"], &["*.py"]),
    (&["javascript", "js"], &["*.js", "*.jsx", "*.mjs", "*.cjs"]),
    (&["typescript", "ts"], &["*.ts", "*.tsx"]),
    (&["go", "golang"], &["*.go"]),
    (&["java"], &["*.java"]),
    (&["lua"], &["*.lua"]),
    (&["shell", "bash"], &["*.sh", "*.bash"]),
    (&["markdown", "md"], &["*.md"]),
    (&["toml"], &["*.toml"]),
    (&["json"], &["*.json"]),
    (&["yaml", "yml"], &["*.yaml", "*.yml"]),
    (&["html"], &["*.html"]),
    (&["css", "style", "stylesheet"], &["*.css", "*.scss"]),
    (&["c"], &["*.c", "*.h"]),
    (&["c++", "cpp"], &["*.cpp", "*.cc", "*.hpp", "*.h"]),
    (&["ruby"], &["*.rb"]),
    (&["text", "txt"], &["*.txt"]),
    (&["header"], &["*.h", "*.hpp"]),
    (&["sql"], &["*.sql"]),
    (&["php"], &["*.php"]),
    (&["swift"], &["*.swift"]),
    (&["kotlin"], &["*.kt", "*.kts"]),
];

fn filter(clause: &Clause<'_>) -> Filter {
    let mut filter = Filter::default();
    for (index, token) in clause.tokens.iter().enumerate() {
        if token.text.contains('*') && (token.is_path() || token.is_quoted()) {
            filter.globs.push(token.text.clone());
            continue;
        }
        // ".rs files", "files ending in .rs", "with the extension py".
        if let Some(extension) = token.text.strip_prefix('.')
            && !extension.is_empty()
            && !token.is_path()
            && extension.chars().all(char::is_alphanumeric)
        {
            filter.globs.push(format!("*.{extension}"));
            continue;
        }
        let before_files =
            among(clause.word(index + 1), "files file sources scripts source modules documents");
        if before_files
            && let Some((_, globs)) = KINDS.iter().find(|(words, _)| words.contains(&token.word.as_str()))
        {
            filter.globs.extend(globs.iter().map(|glob| (*glob).to_owned()));
        } else if before_files
            && among(&token.word, "test tests spec config configuration example lock build log")
        {
            filter.part = Some(token.word.trim_end_matches("uration").trim_end_matches('s').to_owned());
        }
    }
    filter.folders_only = clause.has("folders directories subfolders dirs") && !clause.has("files");
    filter
}

pub(super) fn count(clause: &Clause<'_>, has_open_file: bool) -> Option<Vec<Wish>> {
    let after = clause
        .after("how many")
        .or(clause.after("number of"))
        .or(clause.after("how often"))
        .or((clause.word(0) == "count").then_some(1))?;
    let rest = clause.slice(after, clause.tokens.len());
    let targets = clause.targets(has_open_file);
    let scopes = clause.scopes();
    let near = rest.slice(0, 4);
    if near.has("lines loc") && !rest.has("contain containing with mention match") {
        return each(&targets, &[], |target, _| Wish::CountIn { target: target.clone(), unit: Unit::Lines });
    }
    let unit = if near.has("functions methods function fns") {
        Some(Unit::Functions)
    } else if near.has("classes structs types enums traits interfaces class") {
        Some(Unit::Types)
    } else {
        None
    };
    if let Some(unit) = unit.filter(|_| !targets.is_empty()) {
        return each(&targets, &[], |target, _| Wish::CountIn { target: target.clone(), unit });
    }
    let quoted = rest.tokens.iter().any(|token| token.is_quoted());
    if near.has("files file modules scripts") && !quoted && !rest.has("contain use mention import with call")
    {
        return each(&[filter(&rest)], &scopes, |filter, scope| Wish::CountFiles {
            scope,
            filter: filter.clone(),
        });
    }
    if clause.has("used called referenced imported uses usages calls references callers") {
        let names = subjects_between(clause, after, "used called referenced imported");
        let calls_only = clause.has("called calls callers");
        return each(&names, &scopes, |name, scope| Wish::Uses {
            name: name.name(),
            scope,
            calls_only,
            count: true,
        });
    }
    // "how many steps can a turn take" asks for a rule, not for places of a word.
    if clause.has("can may might will should must could most least need needs take takes") {
        return None;
    }
    each(&needles(clause, after), &scopes, |needle, scope| Wish::Find {
        needle: needle.clone(),
        scope,
        count: true,
    })
}

/// "how many times is the function `x` called": the names without what surrounds them.
fn subjects_between(clause: &Clause<'_>, from: usize, ends: &str) -> Vec<Subject> {
    let end = clause.position(ends).filter(|end| *end > from).unwrap_or(clause.tokens.len());
    let within = clause.slice(from, end);
    let skip = within
        .tokens
        .iter()
        .take_while(|token| {
            among(&token.word, "times time is are the does do places files was of to gets get being")
        })
        .count();
    let subjects = within.subjects(skip);
    if subjects.is_empty() { clause.subjects(end + 1) } else { subjects }
}
