//! What of `awk` only prints: programs that are told apart here as every awk tells them, in which nothing runs a command,
//! writes or reads another file, or shows the environment.

use super::Reading;

/// Names that run, read or show more than the lines of the files that are named outside the program.
const REACHES_FURTHER: &[&str] = &[
    "ARGC",
    "ARGIND",
    "ARGV",
    "ENVIRON",
    "FUNCTAB",
    "PROCINFO",
    "SYMTAB",
    "close",
    "extension",
    "getline",
    "system",
];

/// Names behind which `/` begins a pattern to some and divides to others, or always begins one.
const NO_VALUES: &[&str] =
    &["BEGIN", "END", "case", "delete", "do", "else", "exit", "in", "length", "print", "printf", "return"];

/// Names behind which brackets hold no value.
const CONDITIONS: &[&str] = &["for", "if", "switch", "while"];

/// What stands for the bracket behind one of them.
const CONDITION: char = 'c';

pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let mut operands = Vec::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-F" | "-v" => {
                words.next()?;
            }
            "--" => {
                operands.extend(words.by_ref());
            }
            "-" => operands.push(word),
            _ if word.starts_with("-F") || word.starts_with("-v") => {}
            _ if word.starts_with('-') => return None,
            // What follows the program is no option to all of them.
            _ => {
                operands.push(word);
                operands.extend(words.by_ref());
            }
        }
    }
    let (program, paths) = operands.split_first()?;
    (only_prints(program) && !paths.iter().any(|path| path.starts_with('-') && *path != "-")).then_some(())?;
    let paths = paths.iter().filter(|path| **path != "-").map(|path| (*path).to_owned()).collect();
    Some(Reading { paths, ..Reading::default() })
}

/// What stands before a part of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value: `/` divides it.
    Value,
    /// An operator, or nothing: `/` begins a pattern.
    Mark,
    /// What some take for one and some for the other.
    Unclear,
}

/// Whether a program only prints.
pub(super) fn only_prints(program: &str) -> bool {
    scan(program).is_some()
}

fn scan(program: &str) -> Option<()> {
    let mut rest = program;
    let mut before = Before::Mark;
    let mut open = Vec::new();
    let mut is_condition = false;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..)?;
        rest = match character {
            ' ' | '\t' => {
                rest = after;
                continue;
            }
            '"' => {
                before = Before::Value;
                after_string(after)?
            }
            '/' if before == Before::Mark => {
                before = Before::Value;
                after_pattern(after)?
            }
            '/' if before == Before::Unclear => return None,
            _ if character.is_ascii_alphanumeric() || character == '_' || character == '.' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                let (name, after) =
                    rest.split_at_checked(rest.find(|c| !is_part(c)).unwrap_or(rest.len()))?;
                // `1system` is two of them.
                let is_number = name.chars().all(|c| c.is_ascii_digit() || c == '.');
                let is_name = !name.contains('.') && !name.starts_with(|c: char| c.is_ascii_digit());
                if !is_number && !is_name || REACHES_FURTHER.contains(&name) {
                    return None;
                }
                // Where a loop begins, too, it may print into a file.
                if matches!(name, "print" | "printf") && open.contains(&CONDITION) {
                    return None;
                }
                is_condition = CONDITIONS.contains(&name);
                before = if NO_VALUES.contains(&name) { Before::Unclear } else { Before::Value };
                rest = after;
                continue;
            }
            '(' if is_condition => {
                open.push(CONDITION);
                before = Before::Mark;
                after
            }
            '(' | '[' | '{' => {
                open.push(character);
                before = Before::Mark;
                after
            }
            ')' | ']' | '}' => {
                let opening = open.pop()?;
                matches!((opening, character), ('(' | CONDITION, ')') | ('[', ']') | ('{', '}'))
                    .then_some(())?;
                before = match character {
                    // `if (x) /y/`
                    ')' if opening == CONDITION => Before::Unclear,
                    ')' | ']' => Before::Value,
                    _ => Before::Mark,
                };
                after
            }
            // In an action, outside brackets, this may be where `print` prints to.
            '>' if open.last() == Some(&'{') => return None,
            '>' => {
                (!after.starts_with('>')).then_some(())?;
                before = Before::Mark;
                after
            }
            // One alone hands something to a command.
            '|' => {
                before = Before::Mark;
                after.strip_prefix('|')?
            }
            '+' | '-' => {
                before = if after.starts_with(character) { Before::Unclear } else { Before::Mark };
                after.strip_prefix(character).unwrap_or(after)
            }
            '$' | '!' | '~' | '%' | '^' | '*' | '=' | '<' | ',' | ';' | ':' | '?' | '&' | '/' | '\n' => {
                before = Before::Mark;
                after
            }
            _ => return None,
        };
        is_condition = false;
    }
    open.is_empty().then_some(())
}

/// What follows the end of a text.
fn after_string(mut rest: &str) -> Option<&str> {
    loop {
        let at = rest.find(['"', '\\', '\n'])?;
        let (found, after) = rest.get(at..)?.split_at_checked(1)?;
        match found {
            "\"" => return Some(after),
            "\\" => rest = after.get(after.chars().next()?.len_utf8()..)?,
            _ => return None,
        }
    }
}

/// What follows the end of a pattern. A `/` between its brackets ends it to some.
fn after_pattern(mut rest: &str) -> Option<&str> {
    let mut is_between = false;
    loop {
        let at = rest.find(['/', '\\', '[', ']', '\n'])?;
        let (found, after) = rest.get(at..)?.split_at_checked(1)?;
        rest = after;
        match found {
            "/" if is_between => return None,
            "/" => return Some(after),
            "\\" => rest = after.get(after.chars().next()?.len_utf8()..)?,
            "[" if is_between => {
                // `[:alpha:]`
                let class = after.strip_prefix(':')?;
                rest = class.split_once(":]").filter(|(name, _)| name.chars().all(char::is_alphabetic))?.1;
            }
            "[" => {
                is_between = true;
                let plain = after.strip_prefix('^').unwrap_or(after);
                (!plain.starts_with(']')).then_some(())?;
            }
            "]" => is_between = false,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_only_prints_is_told_from_one_that_writes_runs_or_reads_more() {
        for program in [
            "{print $1}",
            "/x/ {print $2}",
            "NR>5",
            "NR<3 || /a|b/",
            "{ if ($1 > 5) print }",
            "{s+=$1} END {print s/NR}",
            "{ printf \"%s > %s | x\\n\", $1, $NF }",
            "$3 ~ /^[[:alpha:]_]+$/ { n++ } END { print n }",
            "BEGIN { FS = \":\" } { a[$1]++ } END { for (k in a) print k, a[k] }",
            "!seen[$0]++",
            "{ print ($1 + $2) / 2 }",
            "NR==1,/^}/",
        ] {
            assert!(only_prints(program), "{program}");
        }
        for program in [
            "{print > \"f\"}",
            "{print $1>\"f\"}",
            "{print >> \"f\"}",
            "BEGIN{for(print \"x\" > \"f\";0;);}",
            "BEGIN{for(;!i++;printf(\"x\") > \"f\");}",
            "{print | \"sh\"}",
            "{print |& \"sh\"}",
            "{\"date\" | getline x}",
            "BEGIN {system(\"x\")}",
            "{while ((getline l < \".env\") > 0) print l}",
            "BEGIN {print ENVIRON[\"KEY\"]}",
            "BEGIN {ARGV[1] = \".env\"; ARGC = 2}",
            "@load \"x\"",
            "BEGIN {f = \"system\"; @f(\"x\")}",
            "{ if (1) /2; system(\"x\") #/ }",
            "BEGIN { 1system(\"x\") }",
            "BEGIN { x = 1.system(\"x\") }",
            "{ print /\"/ > \"f\" }",
            "{ x = 1 /2; print > \"f\" #/ }",
            "/[/]/ {print > \"f\"}",
            "{print \"a\\\" > \"f\"}",
            "{print",
            "a\\\nb",
            "print > \"f\" }",
            "{ print ($1)\n > \"f\" }",
            "{ a++ / 2; print > \"f\" #/ }",
        ] {
            assert!(!only_prints(program), "{program}");
        }
    }
}
