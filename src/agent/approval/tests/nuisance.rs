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
            git diff HEAD => ask: it may show files with secrets as they were in earlier commits [command: git diff]
            git diff --cached => ask: it may show files with secrets as they were in earlier commits [command: git diff]
            git show => ask: it may show files with secrets as they were in earlier commits [command: git show]
            git log -p => ask: it may show files with secrets as they were in earlier commits [command: git log]
            git log --stat -U3 => ask: it may show files with secrets as they were in earlier commits [command: git log]
            git show --stat abcd1234 => ask: git show is not known to only read with these words [command: git show]
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
            find . -name '*.rs' | xargs grep fn => ask: it hands grep words that are not known [exactly: find . -name '*.rs' | xargs grep fn]
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
            git diff => ask: git keeps files here that may hold keys or passwords, which it may show [command: git diff]
            git diff --stat => allow
            git diff src/b.rs => allow
            git diff src => ask: git keeps files here that may hold keys or passwords, which it may show [command: git diff]
        "#]],
    );
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
