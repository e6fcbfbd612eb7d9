//! Programs that only look, with the options that keep them so, and those options of theirs that do more.

use std::path::PathBuf;

use super::*;

/// With `.env` at the top and nothing that hides it.
#[test]
fn a_look_needs_no_question() {
    let place = nothing_said();
    for text in [
        "rg -g \"*.rs\" X",
        "rg -n -g '*.{rs,ts}' X src",
        "rg --type rust X",
        "rg -trust X",
        "rg --files",
        "rg --files -g '*.rs' | head",
        "rg -l X",
        "rg -c -i 'fn main' src",
        "rg -n --glob '!target' X",
        "rg -A 3 -B 3 X src/b.rs",
        "rg --hidden X src",
        "rg --type-list",
        "fd -e rs",
        "fd -t f b src",
        "fdfind --type f --extension rs",
        "find . -name '*.rs' -exec wc -l {} +",
        "find src -type f -exec grep -n X {} \\;",
        "find . -name '*.rs' -newer a.txt",
        "find . -name '*.rs' -exec grep -l X {} \\; -exec head -3 {} \\;",
        "awk '{print $1}' a.txt",
        "awk -F: '/x/ {print $2}' a.txt",
        "awk 'NR>5' src/b.rs",
        "ls -l | awk '{s+=$5} END {print s/NR}'",
        "expr 1 + 2",
        "seq 3",
        "column -t a.txt",
        "jq . a.txt",
        "yq '.a.b' a.txt",
        "yq -r .a a.txt",
        "yq e -P . a.txt",
        "tac a.txt",
        "nl -ba a.txt",
        "comm -12 a.txt src/b.rs",
        "paste -d, a.txt src/b.rs",
        "basename a/b.txt .txt",
        "dirname a/b.txt",
        "realpath --relative-to src a.txt",
        "date",
        "date -d yesterday +%F",
        "date --iso-8601=seconds",
        "hostname",
        "nproc",
        "uname -a",
        "which cargo",
        "type cargo",
        "command -v cargo >/dev/null && echo y",
        "test -f a.txt && echo y",
        "[ -d src ]",
        "printf '%s\\n' a",
        "grep --max-count 3 X a.txt",
        "grep -rn --include='*.rs' --exclude='*_test.rs' X .",
        "od -c -w a.txt",
        "mkdir -p out/b-c && ls *",
    ] {
        assert_eq!(shown(&place.run(text)), "allow", "{text}");
    }
}

#[test]
fn a_look_that_writes_runs_or_may_show_a_secret_asks() {
    let place = nothing_said();
    for text in [
        "rg --pre cat X",
        "rg --pre=cat X",
        "rg -f .env X",
        "rg -z X",
        "rg X .env",
        "rg -g '*' X",
        "rg -g '.env' X",
        "rg -g=.env X",
        "rg -g './.env' X",
        "rg --iglob '*.ENV' X",
        "rg --hidden X",
        "rg -uu X",
        "rg -. X",
        "rg -t sh X",
        "rg --type unheard X",
        "rg --hostname-bin cat X",
        "rg -e X -f .env",
        "rg",
        "rg X ..",
        "fd -x cat",
        "fd -e rs -X rm",
        "fd -Hx cat",
        "fd --exec cat",
        "fd . ..",
        "find . -delete",
        "find . -fprint x",
        "find . -ok rm {} \\;",
        "find . -name '*.rs' -exec rm {} +",
        "find . -name '*.rs' -exec cat {} + -delete",
        "find . -exec cat {} \\; -name '*.rs'",
        "find . -exec cat {} +",
        "find . -name '*.rs' -o -exec cat {} \\;",
        "find . ! -name '*.rs' -exec cat {} \\;",
        "find . -name src -exec grep -r X {} \\;",
        "find . -type f -exec grep -n X {} .env \\;",
        "find .. -name '*.rs' -exec cat {} +",
        "find . -name '*.rs' -exec sh -c 'cat .env' {} \\;",
        "find . -name '*.rs' -exec {} \\;",
        "find . -name '*.rs' -exec tee {} +",
        "find . -name '*.rs' -exec sort -o {} {} \\;",
        "find . -name '*.rs' -exec uniq a.txt {} \\;",
        "find . -name '*.rs' -exec uniq {} +",
        "find . -name '*.rs' -exec xxd {} +",
        "find . -name '*.rs' -exec jq -f {} \\;",
        "find . -name '*.rs' -exec grep X a.txt + {} \\;",
        "find . -name '*.rs' -execdir cat {} +",
        "find . -name '*.rs' -exec cat x{} \\;",
        "find . -print -name '*.rs' | xargs cat",
        "find . -name '*s*' | xargs grep -r X",
        "find . -name src | xargs grep -r X",
        "find . -name '*.rs' -exec cat {} + | xargs cat",
        "awk '{print > \"f\"}' a.txt",
        "awk '{print | \"sh\"}' a.txt",
        "awk 'BEGIN {system(\"x\")}'",
        "awk -f a.txt",
        "awk -i inplace '{print}' a.txt",
        "awk --file=a.txt",
        "awk '{print}' .env",
        "awk '{print}' x -f a.txt",
        "jq --rawfile x .env . a.txt",
        "jq . .env",
        "yq -i .a a.txt",
        "yq -Pi .a a.txt",
        "yq --inplace .a a.txt",
        "yq -s .a a.txt",
        "yq . .env",
        "yq .env",
        "yq 'load(\".env\")' a.txt",
        "yq 'env(KEY)' a.txt",
        "yq 'eval(\"x\")' a.txt",
        "date -s tomorrow",
        "date --set=tomorrow",
        "date --se tomorrow",
        "date -f .env",
        "date 010100002020",
        "hostname evil",
        "hostname -F a.txt",
        "sort -o a.txt a.txt",
        "sort -ro a.txt a.txt",
        "sort --outp a.txt a.txt",
        "xxd -r a.txt",
        "tee a.txt",
        "column -t .env",
        "comm a.txt .env",
        "grep --colour X .env",
        "grep -rn --exclude='*.min.js' --include='*.rs' X .",
        "mkdir ./--pre=sh && rg X *",
        "mkdir -p ./-ob.txt && sort *.txt",
        "od -c -w .env",
        "grep --color X .env",
        "diff --color a.txt .env",
        "env cat .env",
        "command cat .env",
    ] {
        assert_ne!(shown(&place.run(text)), "allow", "{text}");
    }
}

/// What the shell's language puts around commands is read into them.
#[test]
fn a_text_of_more_than_plain_commands_needs_no_question_where_its_commands_need_none() {
    let place = nothing_said();
    for text in [
        "[[ -f a.txt ]] && cat a.txt",
        "[[ -f a.txt && -d src ]] || echo no",
        "cat <<< 'a b'",
        "wc -w <<< hi",
        "echo `ls src`",
        "echo \"`ls src`\"",
        "case a in a|b) ls;; *) cat a.txt ;; esac",
        "case a in\n  (a)\n    ls\n    ;;\n  b) cat a.txt\nesac",
        "ls \"$PWD\"",
        "cat \"$PWD/a.txt\"",
        "cat \"$PWD\"/src/b.rs",
        "cd src && ls && cd ..",
        "cd src; cat b.rs; cd ..",
    ] {
        assert_eq!(shown(&place.run(text)), "allow", "{text}");
    }
    for text in [
        "[[ -v a ]]",
        "[[ 1 -eq 1 ]]",
        "[[ x || evil ]]",
        "[[ x && evil ]]",
        "[[ -f a.txt && ! evil ]]",
        "[[ a > b ]]",
        "[[ `rm a.txt` ]]",
        "[[ -f $(rm a.txt) ]]",
        "sh <<< ls",
        "cat <<< \"$KEY\"",
        "cat <<< $(rm a.txt)",
        "cat > x <<< a",
        "echo `rm a.txt`",
        "echo `cat \\`rm a.txt\\``",
        "case a in a) rm a.txt;; esac",
        "case $(rm a.txt) in a) ls;; esac",
        "case a in $(rm a.txt)) ls;; esac",
        "case a in a) ls;& b) ls;; esac",
        "case a in a) cat .env;; esac",
        "cat \"$PWD/../beside.txt\"",
        "cat \"$PWD/.env\"",
        "cat \"${PWD}x\"",
        "cat \"$PWD\"x",
        "cat \"a$PWD\"",
        "PWD=..; cat \"$PWD/beside.txt\"",
        "for PWD in .. ../x; do cat \"$PWD/beside.txt\"; cat \"$PWD/z\"; done",
        "printf -v PWD ..; cat \"$PWD/beside.txt\"",
        "cd src; cd ..; cat ../beside.txt",
        "cd ..; ls",
        "cd \"$KEY\"",
        "cd src; cd .. > x",
    ] {
        assert_ne!(shown(&place.run(text)), "allow", "{text}");
    }
}

fn all(deny: &[&str]) -> Place {
    Place::new(&[], &[], deny).approvals(Approvals::All)
}

#[test]
fn rules_that_forbid_ask_about_nothing_that_is_read() {
    for rule in ["command: git push", "edit: docs/**", "read: docs/**", "effect: network"] {
        let place = all(&[rule]);
        for text in [
            "env | grep -i path",
            "cd src && ls -la && cd ..",
            "cd src && ls; cd ..; cd src && cat b.rs; cd ..",
            "ls \"$PWD\"",
            "[[ -f a.txt ]] && cat a.txt",
            "cat <<< hi",
            "echo `ls src`",
            "case a in a) ls;; *) cat a.txt;; esac",
            "grep -rn X --include=*.rs .",
            "rg -g '*.rs' X",
            "rg -trust X",
            "find . -name '*.rs' -exec wc -l {} +",
            "find src -type f -exec cat {} \\;",
            "find . -name '*.rs' | xargs grep -n X",
            "find . -exec ls -d {} +",
            "awk '{print $1}' a.txt",
        ] {
            assert_eq!(shown(&place.run(text)), "allow", "{rule}: {text}");
        }
    }
}

#[test]
fn a_rule_holds_in_all_that_is_read() {
    for (rule, texts) in [
        (
            "command: evil",
            &[
                "env evil",
                "[[ -f a.txt ]] && evil",
                "[[ x || evil ]]",
                "sh <<< evil",
                "xargs nice <<< evil",
                "echo `evil`",
                "echo \"`evil`\"",
                "case a in a) evil;; esac",
                "case a in\na) ls;;\n*) evil\nesac",
                "case `evil` in a) ls;; esac",
                "find . -exec nice + evil {} +",
                "find . -exec xargs -I + evil + \\;",
                "awk 'BEGIN {system(\"evil\")}'",
                "cd \"`evil`\"",
            ] as &[&str],
        ),
        (
            "read: docs/**",
            &[
                "grep -rn X --include=*.md .",
                "grep -rn -A 3 X",
                "grep -rn X",
                "rg -t rust -g '*.md' X",
                "rg -t md X",
                "rg -A 3 X",
                "rg X",
                "cat \"$PWD/docs/c.md\"",
                "cd \"$PWD/docs\" && cat c.md",
                "cd .. && cat project/docs/c.md",
                "cd docs; cat c.md; cd ..",
                "cd src; cd ..; grep -rn X .",
                "find . -exec cat {} +",
                "find . -name '*.md' -exec cat {} +",
                "find docs -name '*.md' -exec cat {} +",
                "find src -name '*.rs' -exec cat docs/c.md {} +",
                "find . -name docs -exec grep -rn X {} +",
                "find . -name '*.md' | xargs cat",
                "cd .. && find . -name '*.md' | xargs cat",
                "case a in a) cat docs/c.md;; esac",
                "cat `echo docs/c.md`",
                "grep X <<< a docs/c.md",
            ],
        ),
        (
            "edit: docs/**",
            &[
                "cd .. && rm project/docs/c.md",
                "cd src; rm ../docs/c.md; cd ..",
                "rm \"$PWD/docs/c.md\"",
                "tee docs/c.md <<< x",
                "cat > docs/c.md <<< x",
                "case a in a) rm docs/c.md;; esac",
                "env | tee docs/c.md",
            ],
        ),
    ] {
        let place = all(&[rule]);
        for text in texts {
            assert_ne!(shown(&place.run(text)), "allow", "{rule}: {text}");
        }
    }
}

#[test]
fn names_that_are_taken_for_others_are_asked_about() {
    let place = all(&["read: docs/**"]);
    let root = place._folder.path().join("project");
    std::fs::write(root.join("src/x docs"), "").unwrap();
    assert_ne!(shown(&place.run("find . -name '*.rs' | xargs cat")), "allow");
    assert_eq!(shown(&place.run("find . -name '*.rs' -exec cat {} +")), "allow");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../docs/c.md", root.join("src/link.rs")).unwrap();
        assert_ne!(shown(&place.run("find . -name '*.rs' -exec cat {} +")), "allow");
        assert_eq!(shown(&place.run("find . -name '*.rs' -type f -exec cat {} +")), "allow");
    }
}

#[test]
fn the_home_folder_is_where_it_is() {
    let mut place = all(&["read: docs/**"]);
    let folder = place._folder.path().canonicalize().unwrap();
    let of_home = |home: PathBuf| {
        let root = place._folder.path().join("project");
        let files = TurnFiles::new(Arc::new(Workspace::new(vec![root.canonicalize().unwrap()])));
        files.with_surroundings(crate::workspace::Surroundings::new(Some(home), Vec::new()))
    };
    let check = |place: &Place, decisions: &[(&str, &str)]| {
        for (text, expected) in decisions {
            let shown = shown(&place.run(text));
            assert_eq!(shown.split(':').next().unwrap_or_default(), *expected, "{text}: {shown}");
        }
    };
    place.files = of_home(folder.clone());
    check(
        &place,
        &[
            ("cat ~/project/a.txt", "allow"),
            ("ls ~", "allow"),
            ("cat \"$HOME/project/a.txt\"", "allow"),
            ("cat $HOME/project/src/b.rs", "allow"),
            ("cat ${HOME}/beside.txt", "allow"),
            ("cat ~/project/docs/c.md", "deny"),
            ("cat \"$HOME\"/project/docs/c.md", "deny"),
            ("cd ~/project/docs && cat c.md", "deny"),
            ("grep -rn X ~", "ask"),
            ("grep -rn X ..", "ask"),
            ("find ~ -name '*.md' -exec cat {} +", "ask"),
            ("cd .. && grep -rn X", "ask"),
            ("cat '~/project/docs/c.md'", "allow"),
            ("HOME=docs; cat ~/c.md", "ask"),
            ("read HOME <<< docs; cat ~/c.md", "ask"),
            ("printf -v HOME docs; cat ~/c.md", "ask"),
            ("for HOME in docs; do cat ~/c.md; done", "ask"),
            ("HOME=docs cat ~/c.md", "ask"),
            ("cat ~x/c.md", "ask"),
            ("cat ~\"/x\"", "ask"),
        ],
    );
    let deny = vec!["edit: docs/**".parse().unwrap()];
    place.policy.rules = Arc::new(Rules { deny, ..Rules::default() });
    check(&place, &[("rm -rf ~", "deny"), ("rm ~/beside.txt", "allow"), ("cd .. && rm -rf project", "deny")]);
    place.policy = ApprovalPolicy::default();
    check(
        &place,
        &[
            ("cat ~/project/a.txt", "allow"),
            ("cat \"$HOME/project/a.txt\"", "allow"),
            ("ls ~/project", "allow"),
            ("cat ~/beside.txt", "ask"),
            ("cat ~/.ssh/id_rsa", "ask"),
            ("cat $HOME/project/.env", "ask"),
            ("cat ~/project/.e*", "ask"),
            ("rm ~/project/a.txt", "ask"),
            ("cd ~ && cat beside.txt", "ask"),
        ],
    );
    place.files = of_home(folder.join("a b"));
    check(&place, &[("cat $HOME/x", "ask"), ("cat ~/x", "ask")]);
}
