#[cfg(unix)]
mod git;
mod guarded;
mod looks;
mod nuisance;
#[cfg(unix)]
mod outside;
#[cfg(unix)]
mod really_run;
mod scripts;

use std::sync::Arc;

use expect_test::{Expect, expect};

use super::*;
use crate::{
    tools::{CommandText, Grammar},
    workspace::{TurnFiles, Workspace},
};

/// A folder on disk, and what the settings say.
struct Place {
    _folder: tempfile::TempDir,
    files: TurnFiles,
    policy: ApprovalPolicy,
    grants: Grants,
}

impl Place {
    fn new(allow: &[&str], ask: &[&str], deny: &[&str]) -> Self {
        Self::of(tempfile::tempdir().unwrap(), allow, ask, deny)
    }

    fn of(folder: tempfile::TempDir, allow: &[&str], ask: &[&str], deny: &[&str]) -> Self {
        let root = folder.path().join("project");
        for (path, text) in [
            ("a.txt", "a"),
            ("src/b.rs", "b"),
            (".env", "KEY=1"),
            (".git/config", "[core]\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/objects/x", ""),
            (".git/refs/x", ""),
            ("docs/c.md", ""),
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        }
        std::fs::write(folder.path().join("beside.txt"), "x").unwrap();
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let rules = Rules { allow: rules(allow), ask: rules(ask), deny: rules(deny) };
        Self {
            files: TurnFiles::new(Arc::new(Workspace::new(vec![root]))),
            _folder: folder,
            policy: ApprovalPolicy { rules: Arc::new(rules), ..ApprovalPolicy::default() },
            grants: Grants::default(),
        }
    }

    fn approvals(mut self, approvals: Approvals) -> Self {
        self.policy.approvals = approvals;
        self
    }

    fn decide(&self, facts: &Facts) -> Decision {
        self.policy.decide(facts, &Reach::of(facts, &self.files), &self.grants, &self.files)
    }

    fn run(&self, text: &str) -> Decision {
        self.decide(&command(text))
    }

    /// Each command with its decision.
    fn check(&self, commands: &[&str], expected: Expect) {
        let lines = commands.iter().map(|text| format!("{text} => {}\n", shown(&self.run(text))));
        expected.assert_eq(&lines.collect::<String>());
    }

    fn check_paths(&self, calls: &[(&'static str, Effect, &str)], expected: Expect) {
        let lines = calls.iter().map(|(tool, effect, path)| {
            let access = Access { paths: vec![(*path).to_owned()], ..Access::default() };
            let facts = Facts { tool, effect: *effect, arguments: (*path).to_owned(), access };
            format!("{tool} {path} => {}\n", shown(&self.decide(&facts)))
        });
        expected.assert_eq(&lines.collect::<String>());
    }
}

fn command(text: &str) -> Facts {
    let command = CommandText { text: text.to_owned(), folder: None, grammar: Grammar::Posix };
    Facts {
        tool: "run_command",
        effect: Effect::Execute,
        arguments: text.to_owned(),
        access: Access { command: Some(command), ..Access::default() },
    }
}

fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Allow => "allow".to_owned(),
        Decision::Deny { reason } => format!("deny: {reason}"),
        Decision::Ask { why, always } => {
            let always: Vec<String> = always.iter().map(ToString::to_string).collect();
            let always = if always.is_empty() { String::new() } else { format!(" [{}]", always.join(", ")) };
            format!("ask: {why}{always}")
        }
    }
}

fn nothing_said() -> Place {
    Place::new(&[], &[], &[])
}

#[test]
fn commands_that_only_read_the_workspace_need_no_question() {
    nothing_said().check(
        &[
            "ls -la",
            "cat a.txt src/b.rs | head -5",
            "pwd && ls src; wc -l a.txt",
            "cd src && cat b.rs && cat ../a.txt",
            "grep -rn 'fn main' src",
            "grep -c a a.txt 2>/dev/null",
            "rg -n main src",
            "find . -name '*.rs' -not -path './target/*'",
            "git status --short",
            "git log --oneline -5 src",
            "git diff --stat",
            "echo 'a;b' \"c d\" 2>&1",
            "sort < a.txt | uniq -c",
            "timeout 5 env LANG=C nice -n 5 ls",
            "sh -c 'ls | wc -l'",
            "! (ls; { pwd; })",
        ],
        expect![[r#"
            ls -la => allow
            cat a.txt src/b.rs | head -5 => allow
            pwd && ls src; wc -l a.txt => allow
            cd src && cat b.rs && cat ../a.txt => ask: it reads outside the workspace, at ../a.txt [exactly: cd src && cat b.rs && cat ../a.txt]
            grep -rn 'fn main' src => allow
            grep -c a a.txt 2>/dev/null => allow
            rg -n main src => allow
            find . -name '*.rs' -not -path './target/*' => allow
            git status --short => allow
            git log --oneline -5 src => allow
            git diff --stat => allow
            echo 'a;b' "c d" 2>&1 => allow
            sort < a.txt | uniq -c => allow
            timeout 5 env LANG=C nice -n 5 ls => allow
            sh -c 'ls | wc -l' => allow
            ! (ls; { pwd; }) => allow
        "#]],
    );
}

#[test]
fn a_reader_asks_where_it_would_leave_the_workspace_or_show_a_secret() {
    nothing_said().check(
        &[
            "cat ../beside.txt",
            "cat /etc/passwd",
            "cat .env",
            "cat < .env",
            "grep -r KEY .",
            "cd .. && ls",
            "cd src && cat ../../beside.txt",
            "cat *",
            "git diff",
            "git show HEAD:.env",
            "git branch new",
            "sort -o a.txt a.txt",
            "find . -delete",
            "uniq a.txt b.txt",
            "tail -f a.txt",
            "./ls",
            "date 01010000",
        ],
        expect![[r#"
            cat ../beside.txt => ask: it reads outside the workspace, at ../beside.txt [exactly: cat ../beside.txt]
            cat /etc/passwd => ask: it reads outside the workspace, at /etc/passwd [exactly: cat /etc/passwd]
            cat .env => ask: .env may hold keys or passwords
            cat < .env => ask: .env may hold keys or passwords
            grep -r KEY . => ask: it may show files with secrets below .
            cd .. && ls => ask: it goes outside the workspace, to .. [exactly: cd .. && ls]
            cd src && cat ../../beside.txt => ask: it reads outside the workspace, at ../../beside.txt [exactly: cd src && cat ../../beside.txt]
            cat * => allow
            git diff => allow
            git show HEAD:.env => ask: .env may hold keys or passwords
            git branch new => ask: git branch is not known to only read with these words [exactly: git branch new]
            sort -o a.txt a.txt => ask: sort is not known to only read with these words [exactly: sort -o a.txt a.txt]
            find . -delete => ask: find is not known to only read with these words [exactly: find . -delete]
            uniq a.txt b.txt => ask: uniq is not known to only read with these words [exactly: uniq a.txt b.txt]
            tail -f a.txt => ask: tail is not known to only read with these words [exactly: tail -f a.txt]
            ./ls => ask: ./ls is not known to only read [exactly: ./ls]
            date 01010000 => ask: date is not known to only read with these words [exactly: date 01010000]
        "#]],
    );
}

#[test]
fn what_a_shell_would_expand_or_hide_asks() {
    nothing_said().check(
        &[
            "echo $(touch x)",
            "echo `touch x`",
            "echo \"$(touch x)\"",
            "cat <(touch x)",
            "echo hi > x",
            "ls > /dev/sda1x",
            "echo $HOME",
            "echo \"$HOME $(ls)\"",
            "printf \"$(ls)\"",
            "printf %d \"$(ls)\"",
            "for f in $HOME; do echo \"$f\"; done",
            "for f in src/*; do echo \"$f\" > x; done",
            "for f in src/*; do cat \"$f\"a; done",
            "for f in .e*; do echo \"= $f\"; cat \"$f\"; done",
            "PATH=. ls",
            "LD_PRELOAD=x ls",
            "a=b",
            "eval ls",
            ". ./x",
            "sudo ls",
            "ls &",
            "ls |& cat",
            "ls\ntouch x",
            "ls # comment",
            "echo {a,b}",
            "cat ~/x",
            "l\\s",
            "echo a!b",
            "echo 'open",
            "cat << E\nE",
            "f() { ls; }; f",
            "if true; then ls; fi",
            "env",
            "xargs ls",
            "xargs sh",
            "find . -exec ls {} \\;",
            "find . -exec {} \\;",
            "find . -exec sh -c 'cat {}' \\;",
            "xargs -I{} cat {}",
            "./env ls",
            "é",
            "ls\u{a0}x",
            "$x",
            "[ -f a.txt ]",
            "",
        ],
        expect![[r#"
            echo $(touch x) => ask: touch is not known to only read [exactly: touch x]
            echo `touch x` => ask: touch is not known to only read [exactly: touch x]
            echo "$(touch x)" => ask: touch is not known to only read [exactly: touch x]
            cat <(touch x) => ask: it runs a command inside another [exactly: cat <(touch x)]
            echo hi > x => ask: it writes to x [exactly: echo hi > x]
            ls > /dev/sda1x => deny: askls never runs this, since it overwrites a disk
            echo $HOME => ask: it uses the values of variables or of other commands [exactly: echo $HOME]
            echo "$HOME $(ls)" => ask: it uses the values of variables or of other commands [exactly: echo "$HOME $(ls)"]
            printf "$(ls)" => ask: it uses the values of variables or of other commands [exactly: printf "$(ls)"]
            printf %d "$(ls)" => ask: it uses the values of variables or of other commands [exactly: printf %d "$(ls)"]
            for f in $HOME; do echo "$f"; done => ask: it uses the values of variables or of other commands [exactly: for f in $HOME; do echo "$f"; done]
            for f in src/*; do echo "$f" > x; done => ask: it writes to x [exactly: for f in src/*; do echo "$f" > x; done]
            for f in src/*; do cat "$f"a; done => ask: it uses the values of variables or of other commands [exactly: for f in src/*; do cat "$f"a; done]
            for f in .e*; do echo "= $f"; cat "$f"; done => ask: .env may hold keys or passwords
            PATH=. ls => ask: it sets PATH [exactly: PATH=. ls]
            LD_PRELOAD=x ls => ask: it sets LD_PRELOAD [exactly: LD_PRELOAD=x ls]
            a=b => allow
            eval ls => ask: it changes or hides what runs, by eval
            . ./x => ask: it changes or hides what runs, by .
            sudo ls => ask: it runs with other rights, by sudo
            ls & => allow
            ls |& cat => ask: it is not understood as a command line [exactly: ls |& cat]
            ls
            touch x => ask: touch is not known to only read [exactly: touch x]
            ls # comment => allow
            echo {a,b} => ask: it uses braces without quotes [exactly: echo {a,b}]
            cat ~/x => ask: it uses the values of variables or of other commands [exactly: cat ~/x]
            l\s => ask: it uses a backslash without quotes [exactly: l\s]
            echo a!b => ask: it uses ! in a word [exactly: echo a!b]
            echo 'open => ask: it is not understood as a command line [exactly: echo 'open]
            cat << E
            E => allow
            f() { ls; }; f => ask: it defines a function [exactly: f() { ls; }; f]
            if true; then ls; fi => allow
            env => ask: it shows all variables of the environment
            xargs ls => ask: it hands ls words that are not known [exactly: xargs ls]
            xargs sh => ask: it hands a shell words that are not known
            find . -exec ls {} \; => allow
            find . -exec {} \; => ask: find is not known to only read with these words [exactly: find . -exec {} ';']
            find . -exec sh -c 'cat {}' \; => ask: it hands a shell words that are not known
            xargs -I{} cat {} => ask: it fills in words that are not known
            ./env ls => ask: it runs a program of its own that is called env
            é => ask: it holds characters beyond ASCII without quotes [exactly: é]
            ls x => ask: it holds characters beyond ASCII without quotes [exactly: ls x]
            $x => ask: it uses the values of variables or of other commands [exactly: $x]
            [ -f a.txt ] => allow
             => ask: it is not understood as a command line
        "#]],
    );
}

#[test]
fn deny_beats_ask_and_ask_beats_allow() {
    Place::new(
        &["command: git", "command: make", "effect: execute"],
        &["command: make install"],
        &["command: git push", "command: rm"],
    )
    .check(
        &[
            "git stash",
            "git push",
            "git  push origin",
            "ls && git push",
            "timeout 5 git push",
            "sh -c 'git push'",
            "git -C . push",
            "/usr/bin/git push",
            "git push&",
            "xargs git",
            "g=git; $g push",
            "make install",
            "make",
            "find . -exec rm {} \\;",
        ],
        expect![[r#"
            git stash => allow
            git push => deny: the user's rule `command: git push` forbids it
            git  push origin => deny: the user's rule `command: git push` forbids it
            ls && git push => deny: the user's rule `command: git push` forbids it
            timeout 5 git push => deny: the user's rule `command: git push` forbids it
            sh -c 'git push' => deny: the user's rule `command: git push` forbids it
            git -C . push => ask: the rule `command: git push` in deny may be about it: its words stand in it with others between them; with a yes it runs all the same [exactly: git -C . push]
            /usr/bin/git push => deny: the user's rule `command: git push` forbids it
            git push& => deny: the user's rule `command: git push` forbids it
            xargs git => ask: the rule `command: git push` in deny may be about it: it gets further words that are not known; with a yes it runs all the same [exactly: xargs git]
            g=git; $g push => ask: the rule `command: git push` in deny may be about it: it uses the values of variables or of other commands; with a yes it runs all the same [exactly: g=git; $g push]
            make install => ask: the rule `command: make install` in ask is about it
            make => allow
            find . -exec rm {} \; => deny: the user's rule `command: rm` forbids it
        "#]],
    );
}

// SPEC T11
#[test]
fn what_plainly_destroys_is_refused_whatever_is_allowed() {
    nothing_said().approvals(Approvals::All).check(
        &[
            "rm -rf /",
            "ls; rm -fr ~",
            "sudo rm -rf /*",
            "sh -c 'rm -rf /'",
            "sudo sh -c 'rm -rf /'",
            "eval 'rm -rf /'",
            "dd if=/dev/zero of=/dev/sda",
            "echo x > /dev/sda",
            ":(){ :|:& };:",
            "git commit -m 'never rm -rf /'",
            "rm -rf target",
        ],
        expect![[r#"
            rm -rf / => deny: askls never runs this, since it deletes a folder of the system or the home folder
            ls; rm -fr ~ => deny: askls never runs this, since it deletes a folder of the system or the home folder
            sudo rm -rf /* => deny: askls never runs this, since it deletes a folder of the system or the home folder
            sh -c 'rm -rf /' => deny: askls never runs this, since it deletes a folder of the system or the home folder
            sudo sh -c 'rm -rf /' => deny: askls never runs this, since it deletes a folder of the system or the home folder
            eval 'rm -rf /' => deny: askls never runs this, since it deletes a folder of the system or the home folder
            dd if=/dev/zero of=/dev/sda => deny: askls never runs this, since it overwrites a disk
            echo x > /dev/sda => deny: askls never runs this, since it overwrites a disk
            :(){ :|:& };: => deny: askls never runs this, since it starts itself again and again
            git commit -m 'never rm -rf /' => allow
            rm -rf target => allow
        "#]],
    );
}

#[test]
fn a_rule_covers_no_option_that_runs_or_writes_and_no_secret() {
    Place::new(
        &["command: find", "command: git", "command: cp", "command: find . -delete", "edit: docs/**"],
        &[],
        &[],
    )
    .check(
        &[
            "find . -name a.txt",
            "find . -name a.txt -exec touch x ';'",
            "find . -fprint x",
            "find . -delete",
            "git commit -m x",
            "git -c core.pager=x log",
            "cp a.txt b.txt",
            "cp .env b.txt",
            "cp a.txt .git/hooks/x",
            "cp --target=.env a.txt",
            "echo hi > docs/new.md",
            "echo hi > src/new.rs",
            "cat a.txt > .env",
        ],
        expect![[r#"
            find . -name a.txt => allow
            find . -name a.txt -exec touch x ';' => ask: find is not known to only read with these words [exactly: find . -name a.txt -exec touch x ';']
            find . -fprint x => ask: find is not known to only read with these words [exactly: find . -fprint x]
            find . -delete => allow
            git commit -m x => allow
            git -c core.pager=x log => ask: git -c is not known to only read with these words [exactly: git -c core.pager=x log]
            cp a.txt b.txt => allow
            cp .env b.txt => ask: .env may hold keys or passwords [exactly: cp .env b.txt]
            cp a.txt .git/hooks/x => ask: cp is not known to only read [exactly: cp a.txt .git/hooks/x]
            cp --target=.env a.txt => ask: --target=.env may hold keys or passwords [exactly: cp --target=.env a.txt]
            echo hi > docs/new.md => allow
            echo hi > src/new.rs => ask: it writes to src/new.rs [exactly: echo hi > src/new.rs]
            cat a.txt > .env => ask: it writes to .env, which may hold keys or passwords
        "#]],
    );
}

#[test]
fn the_agent_changes_no_rules_whatever_is_allowed() {
    nothing_said().approvals(Approvals::All).check(
        &[
            "echo x >> .askls/config.toml",
            "cp a.txt ~/.config/askls/projects.toml",
            "cd .as''kls && touch x",
            "touch x",
        ],
        expect![[r#"
            echo x >> .askls/config.toml => ask: it may show or change the settings of askls
            cp a.txt ~/.config/askls/projects.toml => ask: it may show or change the settings of askls
            cd .as''kls && touch x => ask: it may show or change the settings of askls
            touch x => allow
        "#]],
    );
}

#[test]
fn a_shell_of_another_kind_runs_only_what_a_rule_spells_to_the_letter() {
    let place = Place::new(&["command: dir /b", "command: cargo test"], &[], &[]);
    let other = |text: &str| {
        let mut facts = command(text);
        facts.access.command.as_mut().unwrap().grammar = Grammar::Unknown;
        shown(&place.decide(&facts))
    };
    assert_eq!(other("dir /b"), "allow");
    assert_eq!(other("cargo test"), "allow");
    assert_eq!(
        other("cargo test & del x"),
        "ask: it is for a shell whose language askls does not read [exactly: cargo test & del x]"
    );
}

#[test]
fn paths_are_decided_by_their_rules() {
    let edits = [
        ("write_file", Effect::Edit, "src/b.rs"),
        ("write_file", Effect::Edit, "docs/c.md"),
        ("write_file", Effect::Edit, "a.txt"),
        ("write_file", Effect::Edit, ".git/hooks/x"),
        ("write_file", Effect::Edit, ".env"),
        ("read_file", Effect::Read, "src/b.rs"),
        ("read_file", Effect::Read, "docs/c.md"),
    ];
    Place::new(&["edit: docs/**"], &["read: docs"], &["edit: src/**"])
        .approvals(Approvals::None)
        .check_paths(&edits, expect![[r#"
            write_file src/b.rs => deny: the user's rule `edit: src/**` forbids it
            write_file docs/c.md => allow
            write_file a.txt => ask: approvals is none
            write_file .git/hooks/x => deny: .git/hooks/x belongs to the version control or to the settings of this agent, which it does not edit
            write_file .env => deny: .env may hold secrets, so that it is never read, searched or edited; ask the user if it matters
            read_file src/b.rs => allow
            read_file docs/c.md => ask: the rule `read: docs` in ask is about it
        "#]]);
}

#[test]
fn a_grant_for_the_thread_covers_the_same_command_and_no_more() {
    let mut place = Place::new(&[], &["command: make"], &["command: git push"]);
    for text in ["touch x", "make", "echo $x", "git push"] {
        place.grants.allow(&command(text));
    }
    place.check(
        &["touch x", " touch   'x'", "touch x y", "make", "make all", "echo $x", "git push"],
        expect![[r#"
            touch x => allow
             touch   'x' => allow
            touch x y => ask: touch is not known to only read [exactly: touch x y]
            make => allow
            make all => ask: the rule `command: make` in ask is about it
            echo $x => allow
            git push => deny: the user's rule `command: git push` forbids it
        "#]],
    );
}

/// What becomes of a fetch from this host.
fn fetched(place: &Place, access: Access) -> String {
    let facts = Facts { tool: "fetch_url", effect: Effect::Network, arguments: "{}".to_owned(), access };
    shown(&place.decide(&facts))
}

fn from(host: &str) -> Access {
    Access { host: Some(host.to_owned()), ..Access::default() }
}

#[test]
fn a_fetch_asks_for_its_host_until_a_rule_names_it() {
    let place = Place::new(&["host: docs.rs"], &[], &["host: *.evil.example"]);
    assert_eq!(fetched(&place, from("docs.rs")), "allow");
    assert_eq!(fetched(&place, from("a.example")), "ask: approvals is edits [host: a.example]");
    assert_eq!(fetched(&place, from("::1")), "ask: approvals is edits");
    assert_eq!(
        fetched(&place, from("x.evil.example")),
        "deny: the user's rule `host: *.evil.example` forbids it"
    );
}

#[test]
fn a_host_that_was_allowed_for_good_is_not_asked_about_again() {
    let mut place = Place::new(&[], &[], &["host: b.a.example"]);
    place.grants.allow_by(vec!["host: *.a.example".parse().unwrap()]);
    assert_eq!(fetched(&place, from("docs.a.example")), "allow");
    assert_ne!(fetched(&place, from("b.a.example")), "allow");
}

#[test]
fn the_least_that_approvals_has_to_be_is_none_where_it_would_not_help() {
    let least = |place: &Place, facts: &Facts| {
        place.policy.least(facts, &Reach::of(facts, &place.files), &place.grants, &place.files)
    };
    let place = Place::new(&[], &["command: make"], &["command: evil"]);
    assert_eq!(least(&place, &command("touch x")), Some(Approvals::All));
    assert_eq!(least(&place, &command("make")), None);
    assert_eq!(least(&place, &command("eval x")), None);
    let mut leaving = command("touch x");
    leaving.access.leaves_sandbox = true;
    assert_eq!(least(&place, &leaving), None);
}

#[test]
fn a_suspicious_call_asks_and_a_refused_one_does_not_whatever_is_allowed() {
    let mut place = Place::new(&["host: a.example"], &[], &[]).approvals(Approvals::All);
    let suspicious = Access { suspicion: Some("it holds a key".to_owned()), ..from("a.example") };
    assert_eq!(fetched(&place, suspicious.clone()), "ask: it holds a key");
    place.grants.allow(&Facts {
        tool: "fetch_url",
        effect: Effect::Network,
        arguments: "{}".to_owned(),
        access: suspicious.clone(),
    });
    assert_eq!(fetched(&place, suspicious), "allow");
    let refused = Access { refused: Some("it is private".to_owned()), ..Access::default() };
    assert_eq!(fetched(&place, refused), "deny: it is private");
}
