//! What is known of git. What it shows is asked of git itself: lines that need no question are run, in a repository whose
//! history has a file that they are not to show.

use std::{path::PathBuf, process::Command};

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::*;

/// What only the file says that is not to be shown.
const HIDDEN: &str = "stripes";

/// Lines of the test that makes them up.
const LINES: usize = 400;

/// A project whose history has two files that are gone by now, `docs/key` and `.env`, and one of them is in the stash.
fn project(ask: &[&str], deny: &[&str]) -> Place {
    let mut place = Place::new(&[], ask, deny);
    std::fs::remove_dir_all(root(&place).join(".git")).unwrap();
    std::fs::remove_file(root(&place).join(".env")).unwrap();
    git(&place, &["init", "-q", "-b", "main", "--template="]);
    commit(&place, &[("a.txt", "one\n"), ("src/b.rs", "fn b() {}\n")]);
    commit(&place, &[("docs/key", "zebra stripes\n"), (".env", "KEY=zebra stripes\n")]);
    git(&place, &["rm", "-q", "-f", "docs/key", ".env"]);
    git(&place, &["commit", "-qm", "gone"]);
    commit(&place, &[("a.txt", "two\n")]);
    std::fs::create_dir_all(root(&place).join("docs")).unwrap();
    std::fs::write(root(&place).join("docs/key"), "zebra stripes of the stash\n").unwrap();
    git(&place, &["stash", "push", "-q", "-u"]);
    git(&place, &["branch", "side", "HEAD~1"]);
    git(&place, &["tag", "v1", "HEAD~2"]);
    std::fs::write(root(&place).join("a.txt"), "three\n").unwrap();
    if !deny.is_empty() {
        place.policy.approvals = Approvals::All;
    }
    place
}

fn root(place: &Place) -> PathBuf {
    place._folder.path().join("project")
}

fn command_of(place: &Place, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root(place)).env("HOME", place._folder.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b.example");
    }
    command.env("GIT_PAGER", "cat").env("GIT_EDITOR", "true").stdin(std::process::Stdio::null());
    command
}

/// What git prints.
fn git(place: &Place, words: &[&str]) -> String {
    let ran = command_of(place, "git").args(words).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn commit(place: &Place, files: &[(&str, &str)]) {
    for (name, text) in files {
        std::fs::write(root(place).join(name), text).unwrap();
        git(place, &["add", "-f", name]);
    }
    git(place, &["commit", "-qm", "more"]);
}

/// Whether a line shows what it is not to show.
fn shows_hidden(place: &Place, line: &str) -> bool {
    let ran = command_of(place, "sh").args(["-c", line]).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    said.windows(HIDDEN.len()).any(|part| part == HIDDEN.as_bytes())
}

/// Lines that show it, with `BLOB` for the number of the file.
const SHOWING: &[&str] = &[
    "git annotate HEAD~2 -- docs/key",
    "git archive HEAD~2",
    "git blame HEAD~2 -- docs/key",
    "git cat-file -p BLOB",
    "git cat-file -p HEAD~2:docs/key",
    "git cat-file --batch-all-objects --batch",
    "git cat-file blob HEAD~2:docs/key",
    "git diff -s -p HEAD~2",
    "git diff --stat -p HEAD~2",
    "git diff BLOB HEAD:a.txt",
    "git diff HEAD:a.txt HEAD~2:docs/key",
    "git diff-index -p HEAD~2",
    "git diff-tree -p HEAD~2",
    "git difftool -y -x cat HEAD~2",
    "git fast-export HEAD",
    "git format-patch -3 --stdout",
    "git grep zebra HEAD~2",
    "git log --binary",
    "git log --dd -2 HEAD~1",
    "git log --patch-with-raw",
    "git log --patch-with-stat",
    "git log --remerge-diff -p",
    "git log -W",
    "git log -L1,1:docs/key HEAD~2",
    "git log --stat -p",
    "git log -cp",
    "git log -p -g",
    "git log -pw",
    "git --no-pager log -p",
    "git -P log -p",
    "git -C . log -p",
    "git -c color.ui=never log -p",
    "git -p log -p",
    "git reflog -p",
    "git reflog show -p",
    "git show 'HEAD^{/gone}'",
    "git show --name-only -p HEAD~2",
    "git show --stat -p HEAD~2",
    "git show --stat BLOB",
    "git show BLOB",
    "git show HEAD~2:docs/key",
    "git show HEAD~2:./docs/key",
    "cd docs && git show HEAD~2:./key",
    "cd src && git show HEAD~2:docs/key",
    "git stash show -p -u",
    "git stash show -p --include-untracked",
    "git tag tt BLOB && git for-each-ref --format='%(raw)' refs/tags/tt",
    "git tag tu BLOB && git tag -l --format='%(raw)' tu",
    "git whatchanged -p",
    "git rev-list --all | xargs git show",
];

#[test]
fn whatever_shows_a_denied_file_of_the_history_asks() {
    let place = project(&[], &["read: docs/**"]);
    let blob = git(&place, &["rev-parse", "HEAD~2:docs/key"]);
    for line in SHOWING {
        let line = line.replace("BLOB", blob.trim());
        assert_ne!(shown(&place.run(&line)), "allow", "{line}");
    }
    // And those lines do show it: at least as many as git of any age knows how to.
    let showing = SHOWING.iter().filter(|line| shows_hidden(&place, &line.replace("BLOB", blob.trim())));
    assert!(showing.count() > SHOWING.len() - 8);
}

#[test]
fn what_puts_a_denied_file_of_the_history_under_another_name_asks() {
    let place = project(&[], &["read: docs/**"]);
    for line in [
        "git bundle create x.bundle HEAD",
        "git checkout-index --prefix=out/ -a",
        "git clone . /tmp/copy",
        "git fast-import < x",
        "git lfs pull",
        "git mktree < x",
        "git read-tree --prefix=other/ HEAD~2:docs",
        "git subtree add --prefix=x . v1",
        "git update-index --add --cacheinfo 100644,abcd,x",
        "git worktree add /tmp/tree v1",
        "GIT_EXTERNAL_DIFF='cat docs/key' git diff --stat",
        "GIT_DIR=/tmp/x git log --oneline",
    ] {
        assert_ne!(shown(&place.run(line)), "allow", "{line}");
    }
    for line in [
        "git clone https://example.com/a.git /tmp/copy",
        "git commit -m 'about docs'",
        "git add -A",
        "git fetch",
        "git checkout side",
        "git ls-tree -r HEAD~2 docs",
        "git ls-files docs",
        "git check-ignore docs/key",
        "git log --stat",
        "git stash list",
        "git show HEAD:src/b.rs",
        "git show HEAD~2:src/b.rs",
        "git cat-file -p HEAD~2:src/b.rs",
        "git cat-file -t HEAD~2",
        "git diff",
        "git grep -n fn",
        "git grep -n fn src",
        "git blame src/b.rs",
        "GIT_AUTHOR_NAME=x git commit -m y",
        "GIT_PAGER=cat git log --oneline",
        "git -c color.ui=never --no-pager diff",
    ] {
        assert_eq!(shown(&place.run(line)), "allow", "{line}");
    }
}

/// Parts of the lines that are made up: of some lines git makes nothing.
const SUBCOMMANDS: &[&str] = &[
    "add -n",
    "archive",
    "blame",
    "branch",
    "cat-file",
    "check-ignore",
    "cherry",
    "commit --dry-run",
    "config",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fast-export",
    "for-each-ref",
    "format-patch --stdout",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "merge-tree",
    "name-rev",
    "range-diff",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "stash list",
    "stash show",
    "status",
    "tag -l",
    "whatchanged",
    "worktree list",
];

const OPTIONS: &[&str] = &[
    "--all",
    "--binary",
    "--boundary",
    "--cached",
    "--cc",
    "--count",
    "--first-parent",
    "--follow",
    "--format=%s",
    "--format='%(raw)'",
    "--full-history",
    "--max-count=1",
    "--name-only",
    "--no-walk",
    "--numstat",
    "--oneline",
    "--patch",
    "--patch-with-stat",
    "--raw",
    "--reverse",
    "--skip=1",
    "--stat",
    "--verbose",
    "--walk-reflogs",
    "--word-diff",
    "-1",
    "-3",
    "-G zebra",
    "-U1",
    "-W",
    "-c",
    "-g",
    "-l",
    "-m",
    "-n 2",
    "-p",
    "-r",
    "-s",
    "-u",
    "-v",
    "-z",
    "-e zebra",
    "zebra",
];

const OPERANDS: &[&str] = &[
    "HEAD",
    "HEAD~1",
    "HEAD~2",
    "HEAD~3",
    "HEAD~2^{tree}",
    "HEAD~2:docs/key",
    "HEAD~2:a.txt",
    "HEAD~3..HEAD~1",
    "HEAD~2...side",
    "main",
    "side",
    "stash@{0}",
    "v1",
    "BLOB",
    "lost",
    "a.txt",
    "docs",
    "docs/key",
    "src",
];

const LIMITS: &[&str] = &["", "-- src", "-- docs", "-- a.txt", "-- ."];

/// The same lines in every run: a failure can be seen again.
fn lines(blob: &str) -> Vec<String> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let some = |words: &'static [&'static str], most| {
        proptest::collection::vec(proptest::sample::select(words), 0..=most).prop_map(|words| words.join(" "))
    };
    let subcommand = prop_oneof![
        proptest::sample::select(SUBCOMMANDS),
        proptest::sample::select(&["diff", "log", "reflog", "show", "stash show", "whatchanged"][..]),
    ];
    let limit = prop_oneof![3 => Just(""), 1 => proptest::sample::select(LIMITS)];
    let line = (subcommand, some(OPTIONS, 3), some(OPERANDS, 2), limit).prop_map(
        |(subcommand, options, operands, limit)| format!("git {subcommand} {options} {operands} {limit}"),
    );
    let all = (0..LINES).map(|_| line.new_tree(&mut runner).unwrap().current().replace("BLOB", blob));
    all.collect()
}

#[test]
fn no_line_of_git_that_goes_ahead_shows_a_denied_file() {
    let place = project(&[], &["read: docs/**", "read: **/.env"]);
    // A name that leads to the text of the file at once.
    let blob = git(&place, &["rev-parse", "HEAD~2:docs/key"]);
    git(&place, &["tag", "lost", blob.trim()]);
    let (mut allowed, mut showing) = (0, 0);
    for line in lines(blob.trim()) {
        let goes_ahead = place.run(&line) == Decision::Allow;
        let shows = shows_hidden(&place, &line);
        assert!(!(goes_ahead && shows), "shows it: {line}");
        allowed += usize::from(goes_ahead);
        showing += usize::from(shows);
    }
    println!("{LINES} lines: {allowed} go ahead; {showing} of the others show it");
    assert!(allowed > LINES / 10, "{allowed} of {LINES} go ahead");
    assert!(showing > LINES / 20, "{showing} of {LINES} show it");
}

#[test]
fn no_line_of_git_that_needs_no_question_shows_a_secret_or_changes_anything() {
    let place = project(&[], &[]);
    let blob = git(&place, &["rev-parse", "HEAD~2:.env"]);
    let state = || {
        let refs = git(&place, &["for-each-ref", "--format=%(refname) %(objectname)"]);
        let settings = std::fs::read_to_string(root(&place).join(".git/config")).unwrap();
        (refs, settings, git(&place, &["status", "--porcelain"]), git(&place, &["stash", "list"]))
    };
    let before = state();
    let mut allowed = 0;
    for line in lines(blob.trim()).iter().filter(|line| place.run(line) == Decision::Allow) {
        let said = command_of(&place, "sh").args(["-c", line]).output().unwrap().stdout;
        assert!(!String::from_utf8_lossy(&said).contains("KEY=zebra"), "shows it: {line}");
        allowed += 1;
    }
    assert_eq!(state(), before);
    assert!(allowed > LINES / 10, "{allowed} of {LINES} need no question");
}

#[test]
fn an_object_that_is_a_secret_does_not_pass_as_a_commit() {
    let place = project(&[], &[]);
    let blob = git(&place, &["rev-parse", "HEAD~2:.env"]);
    git(&place, &["tag", "lost", blob.trim()]);
    for line in [
        "git diff BLOB -- a.txt",
        "git diff lost -- a.txt",
        "git diff lost HEAD:a.txt",
        "git show --stat lost",
        "git show --name-only lost src",
        "git show --all -s",
        "git show lost",
        "git cat-file -p lost",
    ] {
        let line = line.replace("BLOB", blob.trim());
        assert_ne!(shown(&place.run(&line)), "allow", "{line}");
    }
    for line in ["git show --stat v1", "git show --name-only side src", "git diff v1 -- src"] {
        assert_eq!(shown(&place.run(line)), "allow", "{line}");
    }
}

#[test]
fn looks_of_git_need_no_question() {
    let place = project(&[], &[]);
    for line in [
        "git shortlog -sn",
        "git shortlog -sne HEAD",
        "git rev-list --count HEAD",
        "git reflog",
        "git reflog -5",
        "git reflog show main",
        "git ls-tree -r HEAD --name-only",
        "git merge-base main side",
        "git config user.name",
        "git config --get remote.origin.url",
        "git config --global user.email",
        "git config get user.name",
        "git config --list --local",
        "git config --list --name-only",
        "git remote get-url origin",
        "git remote -v",
        "git grep -n fn",
        "git grep -in 'fn b' -- '*.rs'",
        "git check-ignore a.txt",
        "git check-ignore -v .env",
        "git log -S\"x\"",
        "git log -Gx --oneline",
        "git describe --tags",
        "git name-rev HEAD",
        "git for-each-ref --format='%(refname)' --sort -committerdate refs/heads",
        "git show-ref",
        "git symbolic-ref HEAD",
        "git symbolic-ref --short HEAD",
        "git count-objects -v",
        "git stash list",
        "git worktree list",
        "git branch -vv",
        "git branch --list 'a*'",
        "git branch --contains HEAD",
        "git branch --merged main",
        "git tag -l",
        "git tag -l 'v*' -n3",
        "git status -sb",
        "git diff-tree --no-commit-id --name-only -r HEAD",
        "git ls-files -co --exclude-standard",
        "git --no-pager log --oneline -3",
        "git -c core.quotepath=false ls-files",
        "git cat-file -t HEAD",
        "git cat-file -p HEAD:src/b.rs",
        "git --version",
    ] {
        assert_eq!(shown(&place.run(line)), "allow", "{line}");
    }
}

#[test]
fn what_changes_settings_or_names_or_shows_a_secret_asks() {
    let place = project(&[], &[]);
    for line in [
        "git config user.name x",
        "git config --unset user.name",
        "git config --add a.b c",
        "git config set user.name x",
        "git config edit",
        "git config --list",
        "git config --get-regexp '.*'",
        "git config http.https://example.com/.extraheader",
        "git config github.token",
        "git config -f other --list",
        "git reflog expire --all",
        "git reflog delete HEAD@{1}",
        "git reflog -p",
        "git symbolic-ref HEAD refs/heads/side",
        "git symbolic-ref -d HEAD",
        "git branch -v new",
        "git branch -D side",
        "git tag new",
        "git tag -d v1",
        "git remote add origin x",
        "git remote show origin",
        "git remote set-url origin x",
        "git worktree add x",
        "git stash show -p",
        "git stash list -p",
        "git stash pop",
        "git grep -O",
        "git grep --untracked KEY",
        "git grep --no-index KEY",
        "git grep KEY HEAD~2",
        "git grep -f .env a.txt",
        "git status -v",
        "git show-ref --exclude-existing",
        "git for-each-ref --format='%(raw)'",
        "git cat-file -p HEAD~2:.env",
        "git cat-file --batch",
        "git whatchanged -p",
        "git -c alias.x=log x",
        "git -c core.pager=evil log",
        "git -C .. log",
        "git x",
    ] {
        assert_ne!(shown(&place.run(line)), "allow", "{line}");
    }
}

#[test]
fn a_denied_subcommand_does_not_pass_under_another_name() {
    project(&[], &["command: git push"]).check(
        &[
            "git -c alias.x=push x",
            "git -c alias.status=push status",
            "git --config-env=alias.x=X status",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x",
            "GIT_CONFIG_PARAMETERS=\"'alias.x=push'\" git x",
            "export GIT_CONFIG_COUNT=1; git x",
            "git x",
            "git send-pack origin",
            "git http-push https://a.example",
            "git remote-https origin https://a.example",
            "git subtree push --prefix=x origin main",
            "git lfs push origin main",
            "git svn dcommit",
            "/usr/lib/git-core/git-push origin",
            "/usr/lib/git-core/git push origin",
            "git-send-pack origin",
            "git clone -u 'git push origin main;git-upload-pack' . x",
            "git clone -qu 'git push' . x",
            "git clone --upload-p='git push' . x",
            "git bisect run git push",
            "git submodule foreach 'git push'",
            "git rebase -x 'git push' main",
            "git status",
            "git commit -m 'git push'",
            "git stash push",
            "git bisect start",
            "git log --grep=push",
            "git pull --rebase",
            "git submodule update",
        ],
        expect![[r#"
            git -c alias.x=push x => ask: the rule `command: git push` in deny may be about it: git x is no subcommand that askls knows, so it may be another name for that; with a yes it runs all the same [exactly: git -c alias.x=push x]
            git -c alias.status=push status => ask: the rule `command: git push` in deny may be about it: one of its options may give git other names for what it does; with a yes it runs all the same [exactly: git -c alias.status=push status]
            git --config-env=alias.x=X status => ask: the rule `command: git push` in deny may be about it: one of its options may give git other names for what it does; with a yes it runs all the same [exactly: git --config-env=alias.x=X status]
            GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x => ask: the rule `command: git push` in deny may be about it: git x is no subcommand that askls knows, so it may be another name for that; with a yes it runs all the same [exactly: GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x]
            GIT_CONFIG_PARAMETERS="'alias.x=push'" git x => ask: the rule `command: git push` in deny may be about it: it sets GIT_CONFIG_PARAMETERS; with a yes it runs all the same [exactly: GIT_CONFIG_PARAMETERS="'alias.x=push'" git x]
            export GIT_CONFIG_COUNT=1; git x => ask: the rule `command: git push` in deny may be about it: git x is no subcommand that askls knows, so it may be another name for that; with a yes it runs all the same [exactly: export GIT_CONFIG_COUNT=1; git x]
            git x => ask: the rule `command: git push` in deny may be about it: git x is no subcommand that askls knows, so it may be another name for that; with a yes it runs all the same [exactly: git x]
            git send-pack origin => ask: the rule `command: git push` in deny may be about it: git send-pack does what git push does; with a yes it runs all the same [exactly: git send-pack origin]
            git http-push https://a.example => ask: the rule `command: git push` in deny may be about it: git http-push does what git push does; with a yes it runs all the same [exactly: git http-push https://a.example]
            git remote-https origin https://a.example => ask: the rule `command: git push` in deny may be about it: git remote-https does what git push does; with a yes it runs all the same [exactly: git remote-https origin https://a.example]
            git subtree push --prefix=x origin main => ask: the rule `command: git push` in deny may be about it: git subtree does what git push does; with a yes it runs all the same [exactly: git subtree push --prefix=x origin main]
            git lfs push origin main => ask: the rule `command: git push` in deny may be about it: git lfs is no subcommand that askls knows, so it may be another name for that; with a yes it runs all the same [exactly: git lfs push origin main]
            git svn dcommit => ask: the rule `command: git push` in deny may be about it: git svn does what git push does; with a yes it runs all the same [exactly: git svn dcommit]
            /usr/lib/git-core/git-push origin => deny: the user's rule `command: git push` forbids it
            /usr/lib/git-core/git push origin => deny: the user's rule `command: git push` forbids it
            git-send-pack origin => ask: the rule `command: git push` in deny may be about it: git send-pack does what git push does; with a yes it runs all the same [exactly: git-send-pack origin]
            git clone -u 'git push origin main;git-upload-pack' . x => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same [exactly: git clone -u 'git push origin main;git-upload-pack' . x]
            git clone -qu 'git push' . x => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same [exactly: git clone -qu 'git push' . x]
            git clone --upload-p='git push' . x => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same [exactly: git clone --upload-p='git push' . x]
            git bisect run git push => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same [exactly: git bisect run git push]
            git submodule foreach 'git push' => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same [exactly: git submodule foreach 'git push']
            git rebase -x 'git push' main => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same [exactly: git rebase -x 'git push' main]
            git status => allow
            git commit -m 'git push' => allow
            git stash push => allow
            git bisect start => allow
            git log --grep=push => allow
            git pull --rebase => allow
            git submodule update => allow
        "#]],
    );
}

#[test]
fn a_denied_network_is_not_used_by_git_and_what_stays_here_goes_ahead() {
    project(&[], &["effect: network"]).check(
        &[
            "git remote -v",
            "git remote",
            "git remote get-url origin",
            "git remote show",
            "git remote show -n origin",
            "git remote add origin https://a.example/x.git",
            "git submodule status",
            "git status",
            "git fetch ../other",
            "git commit -m fetch",
            "git archive HEAD src",
            "git remote show origin",
            "git remote update",
            "git remote prune origin",
            "git remote add -f origin https://a.example/x.git",
            "git remote set-head origin --auto",
            "git ls-remote",
            "git fetch",
            "git --no-pager fetch",
            "git pull",
            "git push",
            "git clone https://a.example/x.git",
            "git -c url.https://a.example/.insteadOf=./ fetch ./x",
            "git submodule update --init",
            "git archive --remote=ssh://a.example/x HEAD",
            "git send-email x.patch",
            "git http-fetch x",
            "git lfs pull",
            "GIT_SSH_COMMAND=x git status",
            "/usr/lib/git-core/git-fetch",
        ],
        expect![[r#"
            git remote -v => allow
            git remote => allow
            git remote get-url origin => allow
            git remote show => allow
            git remote show -n origin => allow
            git remote add origin https://a.example/x.git => allow
            git submodule status => allow
            git status => allow
            git fetch ../other => allow
            git commit -m fetch => allow
            git archive HEAD src => allow
            git remote show origin => deny: the user's rule `effect: network` forbids it
            git remote update => deny: the user's rule `effect: network` forbids it
            git remote prune origin => deny: the user's rule `effect: network` forbids it
            git remote add -f origin https://a.example/x.git => deny: the user's rule `effect: network` forbids it
            git remote set-head origin --auto => deny: the user's rule `effect: network` forbids it
            git ls-remote => deny: the user's rule `effect: network` forbids it
            git fetch => deny: the user's rule `effect: network` forbids it
            git --no-pager fetch => deny: the user's rule `effect: network` forbids it
            git pull => deny: the user's rule `effect: network` forbids it
            git push => deny: the user's rule `effect: network` forbids it
            git clone https://a.example/x.git => deny: the user's rule `effect: network` forbids it
            git -c url.https://a.example/.insteadOf=./ fetch ./x => deny: the user's rule `effect: network` forbids it
            git submodule update --init => deny: the user's rule `effect: network` forbids it
            git archive --remote=ssh://a.example/x HEAD => deny: the user's rule `effect: network` forbids it
            git send-email x.patch => deny: the user's rule `effect: network` forbids it
            git http-fetch x => deny: the user's rule `effect: network` forbids it
            git lfs pull => ask: the rule `effect: network` in deny may be about it: it may talk to another machine; with a yes it runs all the same [exactly: git lfs pull]
            GIT_SSH_COMMAND=x git status => ask: the rule `effect: network` in deny may be about it: it may talk to another machine; with a yes it runs all the same [exactly: GIT_SSH_COMMAND=x git status]
            /usr/lib/git-core/git-fetch => deny: the user's rule `effect: network` forbids it
        "#]],
    );
}

#[test]
fn files_that_may_not_be_changed_are_not_changed_by_git() {
    let place = project(&[], &["edit: docs/**"]);
    for line in [
        "git worktree add docs/tree",
        "git bundle create docs/x HEAD",
        "git format-patch -1",
        "git merge-file docs/a b c",
        "git read-tree -u --reset v1",
        "git checkout-index -a -f",
        "git sparse-checkout set src",
        "git submodule update",
        "git stash",
        "git lfs checkout",
        "git rm docs/key",
        "git config -f docs/key a.b c",
        "git config -fdocs/key a.b c",
        "git config --file=docs/key a.b c",
        "git config --fil docs/key a.b c",
        "git mailinfo docs/a docs/b",
        "git fast-export --export-marks=docs/m HEAD",
        "git fast-export --export-marks docs/m HEAD",
        "git init --separate-git-dir=docs/sep z",
        "git init docs",
        "git --git-dir=docs/gg init",
    ] {
        assert_ne!(shown(&place.run(line)), "allow", "{line}");
    }
    for line in [
        "git worktree list",
        "git stash list",
        "git stash show",
        "git sparse-checkout list",
        "git submodule status",
        "git commit -am x",
        "git log -p",
        "git rm src/b.rs",
    ] {
        assert_eq!(shown(&place.run(line)), "allow", "{line}");
    }
}
