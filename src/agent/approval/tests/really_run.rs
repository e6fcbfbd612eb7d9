//! What a shell makes of a text is asked of shells: texts that may hide a forbidden command are decided, and those that
//! need no question are run, by `sh` and by `bash`, where that command leaves a mark.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::*;

/// Texts of a normal run.
const TEXTS: usize = 4_000;

/// Of the texts that ask, so many are run all the same: to see that there is something to find.
const ASKING_TEXTS_RUN: usize = 300;

/// Programs that the texts may use.
const PROGRAMS: &[&str] = &[
    "awk", "basename", "cat", "echo", "env", "expr", "find", "grep", "head", "jq", "ls", "mkdir", "nice",
    "printf", "rg", "sed", "sh", "bash", "sort", "test", "timeout", "true", "uniq", "wc", "xargs", "xxd",
];

/// A workspace, and beside it the only folder in which programs are looked for.
struct Yard {
    _folder: tempfile::TempDir,
    workspace: PathBuf,
    programs: PathBuf,
    mark: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let yard = Self {
            workspace: root.join("workspace"),
            programs: root.join("programs"),
            mark: root.join("mark"),
            _folder: folder,
        };
        fs::create_dir_all(yard.workspace.join("src")).unwrap();
        fs::create_dir_all(&yard.programs).unwrap();
        for (path, text) in
            [("a.txt", "a\nevil\n"), ("src/b.rs", "b\n"), ("script.sh", "evil\n"), ("evil", "x\n")]
        {
            fs::write(yard.workspace.join(path), text).unwrap();
        }
        yard.make_evil();
        yard.program("good", "exit 0");
        for program in PROGRAMS {
            let place = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(program));
            if let Some(place) = place.iter().find(|place| place.exists()) {
                symlink(place, yard.programs.join(program)).unwrap();
            }
        }
        yard
    }

    fn make_evil(&self) {
        self.program("evil", &format!("echo evil >> {}", self.mark.display()));
    }

    fn program(&self, name: &str, text: &str) {
        // One that still runs in the background cannot be written over.
        let new = self.programs.join("new");
        fs::write(&new, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&new, self.programs.join(name)).unwrap();
    }

    /// The files of the workspace with their texts.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.workspace.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path)
                } else {
                    files.push((path.clone(), fs::read(path).unwrap()))
                }
            }
        }
        files.sort();
        files
    }

    /// Runs a text; whether the forbidden command ran.
    fn is_marked_by(&self, shell: &str, text: &str) -> bool {
        let _ = fs::remove_file(&self.mark);
        let ended = Command::new(shell)
            .args(["-c", text])
            .current_dir(&self.workspace)
            .env_clear()
            .env("PATH", &self.programs)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // A text with a NUL is no command line.
        let _ = ended;
        self.mark.exists()
    }

    fn is_allowed(&self, policy: &ApprovalPolicy, text: &str) -> bool {
        let files = TurnFiles::new(Arc::new(Workspace::new(vec![self.workspace.clone()])));
        policy.decide(&command(text), &Reach::default(), &Grants::default(), &files) == Decision::Allow
    }
}

fn one_of(words: &'static [&'static str]) -> BoxedStrategy<String> {
    proptest::sample::select(words).prop_map(str::to_owned).boxed()
}

/// Commands that a user of this policy need not be asked about.
const HARMLESS: &[&str] = &[
    "ls",
    "ls -la src",
    "cat a.txt",
    "echo hi",
    "echo evil",
    "good",
    "good x 'y z'",
    "true",
    "grep -n a a.txt",
    "head -1 a.txt",
    "find . -name a.txt",
    "cd src",
    "wc -l < a.txt",
    "echo '$(evil)'",
    "echo \"a; evil\"",
    "sort a.txt",
    "printf evil",
    "pwd",
    "wc -l src/*.rs",
    "cat *.txt",
    "sed -n 1,2p a.txt",
    "sed s/a/evil/ a.txt",
    "[ -f a.txt ]",
    "[ -d src ] && echo there",
    "test -n evil",
    "echo $?",
    "echo \"evil $?\"",
    "grep evil *.t?t",
    "awk '{print $1}' a.txt",
    "awk 'NR>1 {print \"evil\"}' a.txt",
    "expr 1 + 1",
    "rg -g '*.txt' evil",
    "find . -name a.txt -exec cat {} +",
    "find src -name '*.rs' -exec grep evil {} \\;",
    "[[ -f a.txt ]]",
    "[[ -f a.txt && -d src ]]",
    "cat <<< evil",
    "echo `ls`",
    "case evil in evil) ls;; esac",
    "ls \"$PWD\"",
    "cd ..",
];

/// The forbidden one in its spellings.
const EVIL: &[&str] = &[
    "evil",
    "evil x",
    "e''vil",
    "\"evil\"",
    "'evil'",
    "ev\\il",
    "$(echo evil)",
    "`echo evil`",
    "e${x}vil",
    "../programs/evil",
    "../programs/ev?l",
    "{evil,}",
    "$'evil'",
    "sh script.sh",
    ". ./script.sh",
    "sh<script.sh",
    "x=evil; $x",
    "eval evil",
    "echo evil | sh",
    "cat script.sh | bash",
    "printf evil | xargs nice",
    "ls evil | xargs -I{} {}",
    "echo evil | xargs timeout 5",
    "find . -name evil -exec {} \\;",
    "find . -name evil -exec env {} \\;",
    "alias q=evil; q",
    "trap evil EXIT",
    "evil&",
    "sed -n 2e a.txt",
    "sed -e 2e a.txt",
    "sed s/b/evil/e src/b.rs",
    "sh -e -c evil",
    "sh -c -e evil",
    "bash -c -x evil",
    "sh -c -- evil",
    "bash +x -c evil",
    "[ -f a.txt ] && evil",
    "[ x ]; evil",
    "test -v 'a[$(evil)]'",
    "test -v 'a[`evil`]'",
    "ev*",
    "sh *.sh",
    "find *.txt -exec evil \\;",
    "x=e; y=vil; $x$y",
    "x=$(echo evil); $x",
    "x='nice evil'; command $x",
    "sh <<E\nevil\nE",
    "cat <<E | sh\nevil\nE",
    "for x in evil; do $x; done",
    "for x in ev*; do nice \"../programs/$x\"; done",
    "if true\nthen evil\nfi",
    "ls\nevil",
    "ls # a\nevil",
    "sort --compress-program=evil -S 1b a.txt a.txt",
    "x=--compress-program=evil; sort -S 1b $x a.txt a.txt",
    "awk 'BEGIN {system(\"evil\")}'",
    "awk 'BEGIN {print | \"evil\"}'",
    "awk 'BEGIN {\"evil\" | getline}'",
    "awk 'BEGIN {1system(\"evil\")}'",
    "awk '{print > \"evil\"}' a.txt",
    "rg --pre evil a a.txt",
    "find . -name evil -exec nice ../programs/{} \\;",
    "find . -exec nice evil + {} +",
    "find . -type f -exec uniq {} +",
    "find . -name '*t' -exec xxd {} +",
    "sh <<< evil",
    "sh <<< `echo evil`",
    "[[ x || evil ]]",
    "[[ -f a.txt && evil ]]",
    "[[ 'a[$(evil)]' -eq 1 ]]",
    "[[ -v 'a[$(evil)]' ]]",
    "[[ -n `evil` ]]",
    "case x in x) evil;; esac",
    "case x in x) ls;; esac; evil",
    "case `evil` in x) ls;; esac",
    "echo `echo \\`evil\\``",
    "case x in esac) evil;; esac",
    "x=evil; echo `$x`",
];

fn commands() -> BoxedStrategy<String> {
    let leaf = prop_oneof![3 => one_of(HARMLESS), 2 => one_of(EVIL)].boxed();
    leaf.prop_recursive(3, 12, 2, |inner| {
        let wrapped = (inner.clone(), proptest::sample::select(WRAPPERS))
            .prop_map(|(inner, wrapper)| wrapper.replace("%", &inner));
        let joined = (inner.clone(), proptest::sample::select(JOINTS), inner)
            .prop_map(|(first, joint, second)| format!("{first}{joint}{second}"));
        prop_oneof![wrapped, joined]
    })
    .boxed()
}

/// `%` is the command inside.
const WRAPPERS: &[&str] = &[
    "env %",
    "env A=b %",
    "env LANG=C %",
    "A=b %",
    "LANG=C %",
    "nice %",
    "nice -n 5 %",
    "timeout 5 %",
    "command %",
    "exec %",
    "time %",
    "builtin %",
    "eval %",
    "echo x | xargs %",
    "sh -c '%'",
    "bash -c \"%\"",
    "sh -c \"%\"",
    "(%)",
    "( % )",
    "{ %; }",
    "! %",
    "if true; then %; fi",
    "while %; do break; done",
    "for x in 1; do %; done",
    "for x in a evil; do %; done",
    "for x in *; do %; \"$x\"; done",
    "for x in evil; do $x; done",
    "for x in evil; do nice $x; done",
    "for x in evil; do xargs \"$x\" <a.txt; done",
    "for x in ls evil; do env \"$x\"; done",
    "for x in a.txt src/*.rs; do cat \"$x\"; %; done",
    "for evil in ls; do %; $evil; done",
    "for x in -e evil; do sh $x -c %; done",
    "for x in 1\ndo\n  %\ndone",
    "for x in 1; do # a\n %; done",
    "if ls; then echo; else %; fi",
    "if ls\nthen\n  %\nelif %; then ls\nfi",
    "until %; do break; done",
    "while read -r x; do %; \"$x\"; done <a.txt",
    "while read -r x; do nice $x; done <a.txt",
    "{\n%\n}",
    "(\n%\n)",
    "echo \"$(ls\n%)\"",
    "x=$(%); ls \"$x\"",
    "x=evil\n$x",
    "x=evil\necho \"$x\" $x; %",
    "x=\"-e 1e evil\"; sed $x a.txt; %",
    "x='a[$(evil)]'; test -v \"$x\"; %",
    "x='a[$(evil)]'; [ -v $x ]; %",
    "x=\"$(cat a.txt)\"; timeout 5 $x",
    "IFS=x; y=ls; exvil; %",
    "PATH=.; %",
    "export x=evil; %",
    "set -e; %",
    "cat <<E >out\n%\nE",
    "cat <<'E' | %\nevil\nE",
    "cat <<E; %\nhi\nE",
    "cat <<'E' && ls\n'\nE\n%",
    "cat <<E\n\"\nE\n%\necho \"\n\"",
    "cat <<-E\n\tx\n\tE\n%",
    "cat <<E\na\\\nE\n%\nE",
    "cat <<E <<'F'\na\nE\n%\nF\n%",
    "sh <<E\n%\nE",
    "bash <<'E'\n%\nE",
    "xargs nice <<E\nevil\nE",
    "echo \"$(cat <<'E'\n%\nE\n)\"",
    "echo \"<<E\"\n%\nE",
    "echo '<<E\n'%\nE",
    "echo x # <<E\n%\nE",
    "echo \"\\\n$(%)\"",
    "echo ${x%$(%)}",
    "echo ${x:-a b}; %",
    "echo $((1)) \"$#\" $@; %",
    "% &\nwait",
    "ls &> out; %",
    "exec %",
    "echo hi | \n%",
    "ls &&\n\n%",
    "f() { %; }; f",
    "echo $(%)",
    "echo `%`",
    "echo \"$(%)\"",
    "echo '$(%)'",
    "echo \"\\$(%)\"",
    "cat <(%)",
    "echo x > >(%)",
    "echo ${x:-$(%)}",
    "echo $((1+$(%)))",
    "cat <<E\n$(%)\nE",
    "cat <<'E'\n$(%)\nE",
    "% > out",
    "% >> a.txt",
    "% 2>&1",
    "% 2>/dev/null",
    ">out %",
    "% < a.txt",
    "find . -name a.txt -exec % \\;",
    "coproc %",
    "[[ x ]] && %",
    "case x in x) %;; esac",
    "case x in y) ls;; (x | z)\n%\nesac",
    "case x in y) %;; *) ls; % ;;\nesac",
    "case $(%) in x) ls;; esac",
    "case x in $(%)) ls;; esac",
    "case x in x) ls;;& *) %;; esac",
    "echo \"`%`\"",
    "echo \"`echo '%'`\"",
    "echo `echo \"%\"`",
    "echo `echo # %`",
    "cat <<< '%'",
    "cat <<< \"%\"",
    "cat <<< `%`",
    "cat <<< x; %",
    "sh <<< '%'",
    "xargs nice <<< '%'",
    "[[ -f a.txt ]] && %",
    "[[ x || % ]]",
    "[[ -f a.txt || -d x ]] || %",
    "[[ $(%) ]]",
    "[[ % ]]",
    "find . -exec cat {} + -exec % \\;",
    "find src -name b.rs -exec % {} +",
    "find . -name b.rs -exec env % \\;",
    "awk '%' a.txt",
    "awk 'BEGIN {print \"%\"}'",
    "awk 'BEGIN {%}' a.txt",
    "awk -v x=1 '/%/ {print \"%\"}' a.txt",
    "rg -e '%' a.txt",
    "cat ~/a.txt; %",
    "HOME='%'; ls ~/x",
    "ls ~/`%`",
    "cat \"$HOME/$(%)\"",
    "ls \"$PWD/%\"",
    "\"$PWD/../programs/evil\"; %",
    "cd \"$PWD\"; %; cd ..",
    "echo x #%",
    "echo '%'",
    "\"%\"",
    "echo \"%\"",
    "grep x a.txt || %",
    "% | cat",
    "cd src && %",
    "ls \\\n%",
    "ls\\\n%",
    "ls; #\n%",
];

const JOINTS: &[&str] = &[
    " && ",
    " || ",
    "; ",
    " | ",
    ";",
    "&&",
    "||",
    "|",
    " |& ",
    " & ",
    "&",
    "\n",
    "\r\n",
    "\t;\t",
    " \\\n",
    "\u{a0};\u{a0}",
    "\u{b}",
    " ",
    " ; ; ",
    " # ",
    "\\;",
    "';'",
    "\";\"",
    "\\\n;",
    " -- ",
    "$IFS",
    "<<<",
    " &> ",
    ">|",
];

/// Characters that change how a shell reads the others.
const NOISE: &[char] = &[
    '\'', '"', '\\', '$', '`', ';', '&', '|', '<', '>', '(', ')', '{', '}', '*', '?', '[', '~', '!', '#',
    '\n', '\t', ' ', '=', '-', '\r', '\u{a0}', ',', '%', '^', '@', ':',
];

fn texts() -> BoxedStrategy<String> {
    let noise =
        proptest::option::weighted(0.35, (any::<prop::sample::Index>(), proptest::sample::select(NOISE)));
    (commands(), noise)
        .prop_map(|(mut text, noise)| {
            if let Some((index, character)) = noise {
                let places: Vec<usize> =
                    text.char_indices().map(|(place, _)| place).chain([text.len()]).collect();
                text.insert(places[index.index(places.len())], character);
            }
            text
        })
        .boxed()
}

/// The same texts in every run: a failure can be seen again.
fn each_text(look: impl FnMut(&str)) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let texts = texts();
    let all = (0..TEXTS).map(|_| texts.new_tree(&mut runner).unwrap().current());
    all.collect::<Vec<_>>().iter().map(String::as_str).for_each(look);
}

fn policy(approvals: Approvals, allow: &[&str], deny: &[&str]) -> ApprovalPolicy {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let rules = Rules { allow: rules(allow), ask: Vec::new(), deny: rules(deny) };
    ApprovalPolicy { approvals, rules: Arc::new(rules), ..ApprovalPolicy::default() }
}

#[test]
fn no_text_that_needs_no_question_runs_or_writes_what_was_not_allowed() {
    let yard = Yard::new();
    let policy = policy(Approvals::Edits, &["command: good"], &[]);
    let before = yard.files();
    let (mut allowed, mut asking) = (0, Vec::new());
    each_text(|text| {
        if !yard.is_allowed(&policy, text) {
            asking.push(text.to_owned());
            return;
        }
        allowed += 1;
        for shell in ["/bin/sh", "/bin/bash"] {
            assert!(!yard.is_marked_by(shell, text), "{shell} runs the forbidden command: {text:?}");
            assert_eq!(yard.files(), before, "{shell} writes: {text:?}");
        }
    });
    // Last, since these may leave something behind that runs on.
    asking.truncate(ASKING_TEXTS_RUN);
    let runs_evil = |text: &&String| {
        // One of them may have written over it.
        yard.make_evil();
        yard.is_marked_by("/bin/bash", text)
    };
    let found = asking.iter().filter(runs_evil).count();
    let asking = asking.len();
    println!(
        "{TEXTS} texts: {allowed} need no question; of {asking} that ask, {found} run the forbidden command"
    );
    assert!(allowed > TEXTS / 20, "{allowed} of {TEXTS}");
    assert!(found > ASKING_TEXTS_RUN / 10, "{found} of {asking}");
}

#[test]
fn nothing_that_runs_a_denied_command_goes_ahead_though_all_else_is_allowed() {
    let yard = Yard::new();
    // A script is run for what it is called, whatever it says.
    let policy = policy(Approvals::All, &[], &["command: evil", "command: sh"]);
    let mut allowed = 0;
    each_text(|text| {
        if yard.is_allowed(&policy, text) {
            allowed += 1;
            for shell in ["/bin/sh", "/bin/bash"] {
                assert!(!yard.is_marked_by(shell, text), "{shell} runs the denied command: {text:?}");
            }
        }
    });
    println!("{TEXTS} texts: {allowed} go ahead");
    assert!(allowed > TEXTS / 20, "{allowed} of {TEXTS}");
}
