//! What needs no question, and what can be allowed for good.

use super::*;

// SPEC A4
#[test]
fn twenty_commands_need_few_questions_after_the_first_always() {
    let mut place = nothing_said();
    let mut questions = 0;
    for text in [
        "ls",
        "git diff",
        "node -v",
        "cargo test",
        "cat src/b.rs",
        "wc -l src/*.rs",
        "sed -n 1,5p src/b.rs",
        "cargo test parser",
        "cargo build --release",
        "git status",
        "git log --oneline -3",
        "git blame src/b.rs",
        "cd src && ls",
        "cargo test 2>&1 | tail -20",
        "mkdir -p target/x",
        "[ -d src ] && echo yes",
        "cargo test --lib a::b",
        "find src -name '*.rs'",
        "RUST_BACKTRACE=1 cargo test",
        "cargo fmt",
    ] {
        if let Decision::Ask { always, .. } = place.run(text) {
            questions += 1;
            assert!(!always.is_empty(), "{text} can be allowed for good");
            place.grants.allow_by(always);
        }
    }
    assert_eq!(questions, 3, "cargo test, cargo build, cargo fmt");
}

#[test]
fn usual_looks_need_no_question() {
    let place = nothing_said();
    for text in [
        "git diff",
        "git diff -w src/b.rs",
        "git diff HEAD~1 -- src/b.rs",
        "git log -p -- src/b.rs",
        "git blame -L 1,2 src/b.rs",
        "git stash list",
        "wc -l src/*.rs",
        "cat *.txt | head -3",
        "sed -n '1,5p' a.txt",
        "sed 's/a/b/' a.txt",
        "jq -r .name a.txt",
        "node -v",
        "which node && node --version",
        "test -f a.txt",
        "[ -d src ] && echo there",
        "ls; echo $?",
        "ls; echo \"ended with $?\"",
        "xxd a.txt",
        "ps aux",
        "mkdir -p build/out",
        "ls | grep \"\\.rs$\"",
        "ls | grep -E \"\\.(ts|tsx)$\"",
        "sed -n \"/^fn/,/^}$/p\" src/b.rs",
        "grep -rn \"foo$\\|bar$\" src",
        "for f in src/*.rs; do echo \"=== $f ===\"; cat \"$f\"; done",
        "for f in src/*.rs; do echo \"$f:\"; wc -l \"$f\"; done",
        "for f in src/*.rs; do printf '== %s\\n' \"$f!\"; done",
        "for d in src docs; do echo \"$d: $(ls $d | wc -l)\"; done",
        "echo \"$(ls src)\"",
        "for f in src/*.rs; do echo \"$f $(wc -l < a.txt)\"; done",
        "bash -eu -c 'ls'",
        "bash -o pipefail -c 'ls'",
    ] {
        assert_eq!(shown(&place.run(text)), "allow", "{text}");
    }
}

#[test]
fn what_writes_runs_or_may_show_a_secret_asks_and_says_the_reason() {
    nothing_said().check(
        &[
            "git diff HEAD",
            "git diff --cached",
            "git show",
            "git log -p",
            "git log --stat -U3",
            "git show --stat abcd1234",
            "git diff --output=x",
            "git tag v1",
            "sed -i 's/a/b/' a.txt",
            "sed -n '1w out' a.txt",
            "sed 's/a/b/e' a.txt",
            "jq env a.txt",
            "jq -f a.txt src/b.rs",
            "test -v 'a[$(x)]'",
            "cargo --version",
            "ps e",
            "xxd a.txt b.txt",
            "mkdir .git/x",
            "mkdir ../x",
            "cat .en?",
            "cat ./.en[v]",
            "cat ~/.ssh/id_rsa",
            "cat \"$HOME/.aws/credentials\"",
            "find . -name '*.rs' | xargs grep fn",
            "python3 -c 'print(1)'",
            "cat *.js",
            "node *.js",
            "echo hi > out",
            "NODE_ENV=test npm test",
            "rm a.txt",
            "npm test",
        ],
        expect![[r#"
            git diff HEAD => ask: it may show files with secrets as they were in earlier commits [exactly: git diff HEAD]
            git diff --cached => allow
            git show => ask: it may show files with secrets as they were in earlier commits [exactly: git show]
            git log -p => ask: it may show files with secrets as they were in earlier commits [exactly: git log -p]
            git log --stat -U3 => ask: it may show files with secrets as they were in earlier commits [exactly: git log --stat -U3]
            git show --stat abcd1234 => ask: it may show files with secrets as they were in earlier commits [exactly: git show --stat abcd1234]
            git diff --output=x => ask: git diff is not known to only read with these words [exactly: git diff --output=x]
            git tag v1 => ask: git tag is not known to only read with these words [exactly: git tag v1]
            sed -i 's/a/b/' a.txt => ask: sed is not known to only read with these words [exactly: sed -i s/a/b/ a.txt]
            sed -n '1w out' a.txt => ask: sed is not known to only read with these words [exactly: sed -n '1w out' a.txt]
            sed 's/a/b/e' a.txt => ask: sed is not known to only read with these words [exactly: sed s/a/b/e a.txt]
            jq env a.txt => ask: jq is not known to only read with these words [exactly: jq env a.txt]
            jq -f a.txt src/b.rs => ask: jq is not known to only read with these words [exactly: jq -f a.txt src/b.rs]
            test -v 'a[$(x)]' => ask: test is not known to only read with these words [exactly: test -v 'a[$(x)]']
            cargo --version => ask: cargo is not known to only read [exactly: cargo --version]
            ps e => ask: ps is not known to only read with these words [exactly: ps e]
            xxd a.txt b.txt => ask: xxd is not known to only read with these words [exactly: xxd a.txt b.txt]
            mkdir .git/x => ask: mkdir is not known to only read [exactly: mkdir .git/x]
            mkdir ../x => ask: mkdir is not known to only read [exactly: mkdir ../x]
            cat .en? => ask: .env may hold keys or passwords
            cat ./.en[v] => ask: ./.env may hold keys or passwords
            cat ~/.ssh/id_rsa => ask: ~/.ssh/id_rsa may hold keys or passwords
            cat "$HOME/.aws/credentials" => ask: $HOME/.aws/credentials may hold keys or passwords
            find . -name '*.rs' | xargs grep fn => allow
            python3 -c 'print(1)' => ask: python3 is not known to only read [exactly: python3 -c 'print(1)']
            cat *.js => allow
            node *.js => ask: node is not known to only read [exactly: node *.js]
            echo hi > out => ask: it writes to out [exactly: echo hi > out]
            NODE_ENV=test npm test => ask: it sets NODE_ENV [exactly: NODE_ENV=test npm test]
            rm a.txt => ask: rm is not known to only read [exactly: rm a.txt]
            npm test => ask: npm is not known to only read [command: npm test]
        "#]],
    );
}

#[test]
fn a_repository_that_tracks_a_secret_asks_before_it_shows_differences() {
    let place = nothing_said();
    let root = place._folder.path().join("project");
    // An entry of an index: nothing of it counts but the name and its length.
    let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
    index.extend([0; 60]);
    index.extend(b"\0\x04.env\0\0\0\0\0\0");
    index.extend([0; 20]);
    std::fs::write(root.join(".git/index"), index).unwrap();
    place.check(
        &["git diff", "git diff --stat", "git diff src/b.rs", "git diff src"],
        expect![[r#"
            git diff => ask: git keeps files here that may hold keys or passwords, which it may show [exactly: git diff]
            git diff --stat => allow
            git diff src/b.rs => allow
            git diff src => allow
        "#]],
    );
}

/// A project that is a repository with these files committed one by one, and a file of secrets that no commit has.
#[cfg(unix)]
fn repository(allow: &[&str], files: &[&str]) -> Place {
    let place = Place::new(allow, &[], &[]);
    let root = place._folder.path().join("project");
    std::fs::remove_dir_all(root.join(".git")).unwrap();
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"];
        let ran =
            std::process::Command::new("git").args(who).args(words).current_dir(&root).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    git(&["init", "-q", "--template="]);
    for file in files {
        git(&["add", "-f", file]);
        git(&["commit", "-qm", file]);
    }
    std::fs::write(root.join("a.txt"), "changed").unwrap();
    place
}

#[cfg(unix)]
const LOOKS: &[&str] = &[
    "git show HEAD",
    "git show HEAD --stat",
    "git show HEAD:src/b.rs",
    "git show HEAD:.env",
    "git diff HEAD~1",
    "git diff --cached",
    "git log -p",
    "git log -p -1",
    "git log -S x -p",
    "git remote -v",
    "git log --oneline | head",
    "git stash show -p",
];

#[cfg(unix)]
#[test]
fn what_git_shows_needs_no_question_where_no_file_of_it_has_the_name_of_a_secret() {
    repository(&[], &["a.txt", "src/b.rs"]).check(
        LOOKS,
        expect![[r#"
        git show HEAD => allow
        git show HEAD --stat => allow
        git show HEAD:src/b.rs => allow
        git show HEAD:.env => ask: .env may hold keys or passwords
        git diff HEAD~1 => allow
        git diff --cached => allow
        git log -p => allow
        git log -p -1 => allow
        git log -S x -p => allow
        git remote -v => allow
        git log --oneline | head => allow
        git stash show -p => allow
    "#]],
    );
    repository(&[], &[".env", "a.txt", "src/b.rs"]).check(LOOKS, expect![[r#"
        git show HEAD => allow
        git show HEAD --stat => allow
        git show HEAD:src/b.rs => allow
        git show HEAD:.env => ask: .env may hold keys or passwords
        git diff HEAD~1 => allow
        git diff --cached => allow
        git log -p => ask: it may show files with secrets as they were in earlier commits [exactly: git log -p]
        git log -p -1 => allow
        git log -S x -p => ask: it may show files with secrets as they were in earlier commits [exactly: git log -S x -p]
        git remote -v => allow
        git log --oneline | head => allow
        git stash show -p => ask: it may show files with secrets as they were in earlier commits [exactly: git stash show -p]
    "#]]);
}

#[cfg(unix)]
#[test]
fn a_rule_for_a_look_of_git_does_not_cover_the_secrets_of_its_history() {
    let rules = ["command: git log", "command: git show", "command: git diff", "command: git stash"];
    repository(&rules, &[".env", "a.txt", "src/b.rs"]).check(
        &[
            "git log --oneline",
            "git log -p",
            "git log --patch -3",
            "git show",
            "git show HEAD~2",
            "git show HEAD",
            "git diff HEAD~2",
            "git diff HEAD~3",
            "git stash show -p",
            "git stash",
            "git log --full-diff -p",
        ],
        expect![[r#"
            git log --oneline => allow
            git log -p => ask: it may show files with secrets as they were in earlier commits [exactly: git log -p]
            git log --patch -3 => ask: it may show files with secrets as they were in earlier commits [exactly: git log --patch -3]
            git show => allow
            git show HEAD~2 => ask: it may show files with secrets as they were in earlier commits [exactly: git show 'HEAD~2']
            git show HEAD => allow
            git diff HEAD~2 => allow
            git diff HEAD~3 => ask: it may show files with secrets as they were in earlier commits [exactly: git diff 'HEAD~3']
            git stash show -p => ask: it may show files with secrets as they were in earlier commits [exactly: git stash show -p]
            git stash => allow
            git log --full-diff -p => ask: git log is not known to only read with these words [exactly: git log --full-diff -p]
        "#]],
    );
    repository(&["command: git log -p"], &[".env", "a.txt", "src/b.rs"])
        .check(&["git log -p", "git log -p -3", "git log -3 -p"], expect![[r#"
            git log -p => allow
            git log -p -3 => allow
            git log -3 -p => ask: it may show files with secrets as they were in earlier commits [exactly: git log -3 -p]
        "#]]);
    repository(&rules, &["a.txt", "src/b.rs"]).check(
        &["git log -p", "git stash show -p", "git log --full-diff -p"],
        expect![[r#"
            git log -p => allow
            git stash show -p => allow
            git log --full-diff -p => allow
        "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_rule_about_files_asks_of_git_only_where_it_would_show_one() {
    let mut place = repository(&[], &["docs/c.md", "a.txt", "src/b.rs"]).approvals(Approvals::All);
    let deny = vec!["read: docs/**".parse().unwrap()];
    place.policy.rules = Arc::new(Rules { deny, ..Rules::default() });
    place.check(
        &[
            "git diff",
            "git show",
            "git log -p -2",
            "git log -p",
            "git show HEAD~2",
            "git -C . diff",
            "git show HEAD:docs/c.md",
        ],
        expect![[r#"
            git diff => allow
            git show => allow
            git log -p -2 => allow
            git log -p => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: git log -p]
            git show HEAD~2 => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: git show HEAD~2]
            git -C . diff => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: git -C . diff]
            git show HEAD:docs/c.md => deny: the user's rule `read: docs/**` forbids it
        "#]],
    );
}

#[test]
fn readers_that_are_limited_to_names_need_no_question_for_other_files() {
    let place = nothing_said();
    place.check(
        &[
            "grep -rn X --include=*.rs .",
            "grep -rn X --include='*.rs' --include='*.toml' .",
            "grep -rn X --include='*' .",
            "grep -rn X --include='.e*' .",
            "find . -name '*.rs' | xargs wc -l",
            "find . -name '*.rs' -type f | xargs grep -n fn | head",
            "find src | xargs cat",
            "find src -type f | xargs cat",
            "find . -type f | xargs cat",
            "find . -name '*.rs' | xargs rm",
            "find . -name '*.rs' -printf x | xargs cat",
            "find .. -name '*.rs' | xargs cat",
            "echo .env | xargs cat",
            "ls | head",
            "cargo tree",
            "cargo tree -e normal --depth 1",
            "cargo tree --target-dir=x",
            "for f in src/*.rs; do wc -l \"$f\"; done",
            "if [ -d src ]; then ls src; else exit 1; fi",
        ],
        expect![[r#"
            grep -rn X --include=*.rs . => allow
            grep -rn X --include='*.rs' --include='*.toml' . => allow
            grep -rn X --include='*' . => ask: it may show files with secrets below .
            grep -rn X --include='.e*' . => ask: it may show files with secrets below .
            find . -name '*.rs' | xargs wc -l => allow
            find . -name '*.rs' -type f | xargs grep -n fn | head => allow
            find src | xargs cat => allow
            find src -type f | xargs cat => allow
            find . -type f | xargs cat => ask: it hands cat words that are not known [exactly: find . -type f | xargs cat]
            find . -name '*.rs' | xargs rm => ask: rm is not known to only read [exactly: find . -name '*.rs' | xargs rm]
            find . -name '*.rs' -printf x | xargs cat => ask: it hands cat words that are not known [exactly: find . -name '*.rs' -printf x | xargs cat]
            find .. -name '*.rs' | xargs cat => ask: it reads outside the workspace, at .. [exactly: find .. -name '*.rs' | xargs cat]
            echo .env | xargs cat => ask: it hands cat words that are not known [exactly: echo .env | xargs cat]
            ls | head => allow
            cargo tree => allow
            cargo tree -e normal --depth 1 => allow
            cargo tree --target-dir=x => ask: cargo is not known to only read [command: cargo tree]
            for f in src/*.rs; do wc -l "$f"; done => allow
            if [ -d src ]; then ls src; else exit 1; fi => allow
        "#]],
    );
    let root = place._folder.path().join("project");
    std::fs::create_dir_all(root.join(".cargo")).unwrap();
    std::fs::write(root.join(".cargo/config.toml"), "").unwrap();
    std::fs::write(root.join("src/x -f y.rs"), "").unwrap();
    place.check(
        &["cargo tree", "cd src && cargo tree", "find src -name '*.rs' -type f | xargs cat"],
        expect![[r#"
            cargo tree => ask: files of the project choose programs that it would run [command: cargo tree]
            cd src && cargo tree => ask: files of the project choose programs that it would run [command: cargo tree]
            find src -name '*.rs' -type f | xargs cat => ask: it hands cat words that are not known [exactly: find src -name '*.rs' -type f | xargs cat]
        "#]],
    );
}

#[test]
fn where_the_sandbox_hides_secrets_readers_need_no_question_for_what_lies_below() {
    let place = nothing_said();
    let held = |text: &str| {
        let mut facts = command(text);
        facts.access.is_held = true;
        facts.access.hides_secrets = true;
        shown(&place.decide(&facts))
    };
    for text in
        ["grep -rn X .", "find . -type f | xargs cat", "find . | xargs wc -l", "grep -rn X src | head"]
    {
        assert_eq!(held(text), "allow", "{text}");
    }
    for text in ["cat .env", "diff -r . src", "grep -rn X ..", "cat < .env"] {
        assert_ne!(held(text), "allow", "{text}");
    }
    // It does not look into what tools fill.
    let root = place.files.workspace().roots().remove(0);
    std::fs::create_dir_all(root.join("node_modules/x")).unwrap();
    std::fs::write(root.join("node_modules/x/a.js"), "").unwrap();
    assert_eq!(held("grep -rn X ."), "allow");
    std::fs::write(root.join("node_modules/x/.env"), "KEY=1").unwrap();
    for text in ["grep -rn X .", "grep -rn X node_modules", "grep -rn X node_modules/x", "find . | xargs cat"]
    {
        assert_ne!(held(text), "allow", "{text}");
    }
    for text in ["grep -rn X src", "find . -name '*.js' | xargs cat", "rg X"] {
        assert_eq!(held(text), "allow", "{text}");
    }
}

#[test]
fn what_is_always_allowed_is_the_narrowest_of_use() {
    let mut place = nothing_said();
    for text in ["rm a.txt", "cargo test", "echo hi > out"] {
        let Decision::Ask { always, .. } = place.run(text) else { panic!("{text} asks") };
        place.grants.allow_by(always);
    }
    place.check(
        &[
            "rm a.txt",
            "rm a.txt -rf src",
            "cargo test --lib",
            "cargo test --config build.rustc-wrapper=x",
            "echo hi > out",
            "echo hi > out2",
        ],
        expect![[r#"
            rm a.txt => allow
            rm a.txt -rf src => ask: rm is not known to only read [exactly: rm a.txt -rf src]
            cargo test --lib => allow
            cargo test --config build.rustc-wrapper=x => ask: cargo is not known to only read [exactly: cargo test --config build.rustc-wrapper=x]
            echo hi > out => allow
            echo hi > out2 => ask: it writes to out2 [exactly: echo hi > out2]
        "#]],
    );
}

#[test]
fn a_rule_covers_no_option_that_runs_a_program_however_it_is_written() {
    let place = Place::new(
        &[
            "command: sort",
            "command: tar",
            "command: go test",
            "command: make",
            "command: git log",
            "command: cat",
        ],
        &[],
        &[],
    );
    for text in [
        "sort -uo out a.txt",
        "sort --outp=out a.txt",
        "sort --compress-prog=./x a.txt",
        "tar --to-comm=./x -xf a.tar",
        "tar -xI ./x -f a.tar",
        "go test -exec ./x",
        "make CC=./x",
        "make --eval=x",
        "git log --output=x",
        "cat HEAD:.env",
        "echo .env | xargs cat",
    ] {
        assert_ne!(shown(&place.run(text)), "allow", "{text}");
    }
    for text in ["sort a.txt -u", "tar -tf a.tar", "go test ./...", "make all", "cat a.txt"] {
        assert_eq!(shown(&place.run(text)), "allow", "{text}");
    }
}
