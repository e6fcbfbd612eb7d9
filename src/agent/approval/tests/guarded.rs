//! Rules that forbid and ask hold for commands, whatever else is allowed.

use super::*;

fn all(ask: &[&str], deny: &[&str]) -> Place {
    Place::new(&["command: cat", "command: cp"], ask, deny).approvals(Approvals::All)
}

#[test]
fn files_that_may_not_be_read_are_not_read_by_commands() {
    all(&[], &["read: docs/**"]).check(
        &[
            "cat docs/c.md",
            "cd docs && cat c.md",
            "(cd docs; cat c.md)",
            "cat do?s/c.md",
            "cat d*/*",
            "dd if=docs/c.md",
            "tar -cf x docs",
            "grep -r x .",
            "grep -r x src",
            "mkdir ./-r && grep -h x *",
            "touch ./-r; grep -h x *",
            "ls; grep -h x *.txt",
            "find . -type f | xargs cat",
            "cd $x; cat c.md",
            "for f in docs/*; do cat $f; done",
            "git diff",
            "cp -r . /tmp/x",
            "ls docs",
            "find . -name x",
            "cat src/b.rs",
            "make",
            "FOO=1 make",
            "mv docs d2; cat d2/c.md",
            "git mv docs d2",
            "ln -s docs d3",
            "ln -s ../docs src/d3",
            "ln -s ../docs/c.md src/c.md",
            "mv src s2",
            "mv a.txt docs",
            "CDPATH=docs; cd sub",
            "CDPATH=docs cd sub",
            "IFS=Z; for f in aZdocs/c.md; do echo $f; done",
            "IFS= read -r x",
        ],
        expect![[r#"
            cat docs/c.md => deny: the user's rule `read: docs/**` forbids it
            cd docs && cat c.md => deny: the user's rule `read: docs/**` forbids it
            (cd docs; cat c.md) => deny: the user's rule `read: docs/**` forbids it
            cat do?s/c.md => deny: the user's rule `read: docs/**` forbids it
            cat d*/* => deny: the user's rule `read: docs/**` forbids it
            dd if=docs/c.md => deny: the user's rule `read: docs/**` forbids it
            tar -cf x docs => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: tar -cf x docs]
            grep -r x . => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: grep -r x .]
            grep -r x src => allow
            mkdir ./-r && grep -h x * => ask: the rule `read: docs/**` in deny may be about it: it is given the names of files, of which one may be an option; with a yes it runs all the same [exactly: mkdir ./-r && grep -h x *]
            touch ./-r; grep -h x * => ask: the rule `read: docs/**` in deny may be about it: it is given the names of files, of which one may be an option; with a yes it runs all the same [exactly: touch ./-r; grep -h x *]
            ls; grep -h x *.txt => allow
            find . -type f | xargs cat => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: find . -type f | xargs cat]
            cd $x; cat c.md => ask: the rule `read: docs/**` in deny may be about it: it goes to a folder that is not known; with a yes it runs all the same [exactly: cd $x; cat c.md]
            for f in docs/*; do cat $f; done => ask: the rule `read: docs/**` in deny may be about it: it uses values that are not known; with a yes it runs all the same [exactly: for f in docs/*; do cat $f; done]
            git diff => allow
            cp -r . /tmp/x => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: cp -r . /tmp/x]
            ls docs => allow
            find . -name x => allow
            cat src/b.rs => allow
            make => allow
            FOO=1 make => allow
            mv docs d2; cat d2/c.md => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: mv docs d2; cat d2/c.md]
            git mv docs d2 => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: git mv docs d2]
            ln -s docs d3 => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: ln -s docs d3]
            ln -s ../docs src/d3 => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: ln -s ../docs src/d3]
            ln -s ../docs/c.md src/c.md => deny: the user's rule `read: docs/**` forbids it
            mv src s2 => allow
            mv a.txt docs => allow
            CDPATH=docs; cd sub => ask: the rule `read: docs/**` in deny may be about it: it sets variables that other commands may use; with a yes it runs all the same [exactly: CDPATH=docs; cd sub]
            CDPATH=docs cd sub => ask: the rule `read: docs/**` in deny may be about it: it sets CDPATH; with a yes it runs all the same [exactly: CDPATH=docs cd sub]
            IFS=Z; for f in aZdocs/c.md; do echo $f; done => ask: the rule `read: docs/**` in deny may be about it: it sets variables that other commands may use; with a yes it runs all the same [exactly: IFS=Z; for f in aZdocs/c.md; do echo $f; done]
            IFS= read -r x => allow
        "#]],
    );
}

#[test]
fn files_that_may_not_be_changed_are_not_changed_by_commands() {
    all(&[], &["edit: docs/**"]).check(
        &[
            "echo x > docs/c.md",
            "cp a.txt docs/",
            "cp a.txt docs",
            "cp docs/c.md b.md",
            "cp -t docs a.txt",
            "mv docs/c.md x",
            "mv docs old",
            "rm docs/c.md",
            "rm -rf docs",
            "rm -rf .",
            "rm -rf src",
            "touch docs/x",
            "tee docs/x",
            "sed -i s/a/b/ docs/c.md",
            "sed s/a/b/ docs/c.md",
            "cd docs && touch x",
            "mkdir docs/x",
            "git checkout main",
            "git rm docs/c.md",
            "tar -xf a.tar",
            "echo x | xargs touch",
            "cat docs/c.md",
            "perl -0pi -e s/a/b/ docs/c.md",
            "perl -lpi -e s/a/b/ docs/c.md",
            "perl -ne 's/i/b/' docs/c.md",
            "sed -nEi p docs/c.md",
            "sed --in-p p docs/c.md",
            "sed -ne /i/p docs/c.md",
            "sort -uo docs/c.md a.txt",
            "xxd a.txt docs/x",
            "xxd -l 16 docs/c.md",
            "uniq docs/c.md",
            "mktemp -p docs",
            "mktemp docs/XXXX",
            "mkfifo docs/p",
            "zstd docs/c.md",
            "ar r docs/x.a a.txt",
            "ar t docs/x.a",
            "git init docs/r",
            "git clone . docs/r",
            "git worktree add docs/w",
            "vim -es -c wq docs/c.md",
        ],
        expect![[r#"
            echo x > docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            cp a.txt docs/ => deny: the user's rule `edit: docs/**` forbids it
            cp a.txt docs => deny: the user's rule `edit: docs/**` forbids it
            cp docs/c.md b.md => allow
            cp -t docs a.txt => deny: the user's rule `edit: docs/**` forbids it
            mv docs/c.md x => deny: the user's rule `edit: docs/**` forbids it
            mv docs old => deny: the user's rule `edit: docs/**` forbids it
            rm docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            rm -rf docs => deny: the user's rule `edit: docs/**` forbids it
            rm -rf . => deny: the user's rule `edit: docs/**` forbids it
            rm -rf src => allow
            touch docs/x => deny: the user's rule `edit: docs/**` forbids it
            tee docs/x => deny: the user's rule `edit: docs/**` forbids it
            sed -i s/a/b/ docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            sed s/a/b/ docs/c.md => allow
            cd docs && touch x => deny: the user's rule `edit: docs/**` forbids it
            mkdir docs/x => deny: the user's rule `edit: docs/**` forbids it
            git checkout main => ask: the rule `edit: docs/**` in deny may be about it: it may write any file of the project; with a yes it runs all the same [exactly: git checkout main]
            git rm docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            tar -xf a.tar => ask: the rule `edit: docs/**` in deny may be about it: it may write any file of the project; with a yes it runs all the same [exactly: tar -xf a.tar]
            echo x | xargs touch => ask: the rule `edit: docs/**` in deny may be about it: it touches files that are not named in it; with a yes it runs all the same [exactly: echo x | xargs touch]
            cat docs/c.md => allow
            perl -0pi -e s/a/b/ docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            perl -lpi -e s/a/b/ docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            perl -ne 's/i/b/' docs/c.md => allow
            sed -nEi p docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            sed --in-p p docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            sed -ne /i/p docs/c.md => allow
            sort -uo docs/c.md a.txt => deny: the user's rule `edit: docs/**` forbids it
            xxd a.txt docs/x => deny: the user's rule `edit: docs/**` forbids it
            xxd -l 16 docs/c.md => allow
            uniq docs/c.md => allow
            mktemp -p docs => deny: the user's rule `edit: docs/**` forbids it
            mktemp docs/XXXX => deny: the user's rule `edit: docs/**` forbids it
            mkfifo docs/p => deny: the user's rule `edit: docs/**` forbids it
            zstd docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            ar r docs/x.a a.txt => deny: the user's rule `edit: docs/**` forbids it
            ar t docs/x.a => allow
            git init docs/r => deny: the user's rule `edit: docs/**` forbids it
            git clone . docs/r => deny: the user's rule `edit: docs/**` forbids it
            git worktree add docs/w => deny: the user's rule `edit: docs/**` forbids it
            vim -es -c wq docs/c.md => deny: the user's rule `edit: docs/**` forbids it
        "#]],
    );
}

#[test]
fn rules_that_ask_about_files_hold_though_all_is_allowed() {
    let place = all(&["read: docs/**", "edit: docs/**"], &[]);
    for text in ["cat docs/c.md", "cp a.txt docs/", "cd docs; cat c.md"] {
        assert_ne!(shown(&place.run(text)), "allow", "{text}");
    }
    assert_eq!(shown(&place.run("cat a.txt")), "allow");
}

#[test]
fn machines_that_are_forbidden_are_not_reached_by_programs_that_are_known() {
    all(&[], &["host: example.com"]).check(
        &[
            "curl https://example.com/x",
            "curl https://docs.rs/x",
            "curl $URL",
            "curl http://93.184.216.34/",
            "git push",
            "git clone https://example.com/a.git",
            "npm test",
            "ls",
        ],
        expect![[r#"
            curl https://example.com/x => deny: the user's rule `host: example.com` forbids it
            curl https://docs.rs/x => allow
            curl $URL => ask: the rule `host: example.com` in deny may be about it: its words do not tell to which machines it talks; with a yes it runs all the same [exactly: curl $URL]
            curl http://93.184.216.34/ => ask: the rule `host: example.com` in deny may be about it: its words do not tell to which machines it talks; with a yes it runs all the same [exactly: curl http://93.184.216.34/]
            git push => ask: the rule `host: example.com` in deny may be about it: its words do not tell to which machines it talks; with a yes it runs all the same [exactly: git push]
            git clone https://example.com/a.git => deny: the user's rule `host: example.com` forbids it
            npm test => allow
            ls => allow
        "#]],
    );
    all(&[], &["effect: network"]).check(
        &["curl https://example.com", "git fetch", "git log", "npm install", "npm test", "x=curl; $x a.b"],
        expect![[r#"
            curl https://example.com => deny: the user's rule `effect: network` forbids it
            git fetch => deny: the user's rule `effect: network` forbids it
            git log => allow
            npm install => deny: the user's rule `effect: network` forbids it
            npm test => allow
            x=curl; $x a.b => ask: the rule `effect: network` in deny may be about it: it uses the values of variables or of other commands; with a yes it runs all the same [exactly: x=curl; $x a.b]
        "#]],
    );
}

#[test]
fn a_rule_that_is_spelt_differently_says_why_it_is_not_certain() {
    all(&[], &["command: npm"]).check(
        &[
            "npm test",
            "/usr/bin/npm test",
            "./node_modules/.bin/npm test",
            "X=npm; $X test",
            "bash -c -x 'npm test'",
            "sh -e -c 'npm test'",
            "sh -c -- 'npm test'",
            "rbash -c 'npm test'",
            "flock f -c 'npm test'",
            "ls *",
        ],
        expect![[r#"
            npm test => deny: the user's rule `command: npm` forbids it
            /usr/bin/npm test => deny: the user's rule `command: npm` forbids it
            ./node_modules/.bin/npm test => deny: the user's rule `command: npm` forbids it
            X=npm; $X test => ask: the rule `command: npm` in deny may be about it: it uses the values of variables or of other commands; with a yes it runs all the same [exactly: X=npm; $X test]
            bash -c -x 'npm test' => deny: the user's rule `command: npm` forbids it
            sh -e -c 'npm test' => deny: the user's rule `command: npm` forbids it
            sh -c -- 'npm test' => deny: the user's rule `command: npm` forbids it
            rbash -c 'npm test' => ask: the rule `command: npm` in deny may be about it: it runs another command, by rbash; with a yes it runs all the same [exactly: rbash -c 'npm test']
            flock f -c 'npm test' => ask: the rule `command: npm` in deny may be about it: it runs another command, by flock; with a yes it runs all the same [exactly: flock f -c 'npm test']
            ls * => allow
        "#]],
    );
}

#[test]
fn who_allowed_the_whole_line_to_the_letter_is_not_asked_what_a_rule_may_mean() {
    let line = "for f in src/*; do wc -l $f; done";
    let mut place = Place::new(&[], &[], &["read: docs/**"]);
    let Decision::Ask { always, .. } = place.run(line) else { panic!("it asks") };
    place.grants.allow_by(always);
    assert_eq!(shown(&place.run(line)), "allow");
    assert_ne!(shown(&place.run("for f in docs/*; do wc -l $f; done")), "allow");
}

#[test]
fn settings_are_not_reached_by_patterns() {
    let place = nothing_said().approvals(Approvals::All);
    let root = place._folder.path().join("project");
    std::fs::create_dir_all(root.join(".askls")).unwrap();
    std::fs::write(root.join(".askls/config.toml"), "").unwrap();
    for text in ["cp a.txt .ask?s/config.toml", "tee .a*/c*", "cp a.txt .a*"] {
        assert_eq!(shown(&place.run(text)), "ask: it may show or change the settings of askls", "{text}");
    }
}

/// Lines of every day that none of the usual rules is about.
const EVERYDAY: &[&str] = &[
    "git commit -m 'a\nb'",
    "git commit -m \"$(cat <<'EOF'\nFix `it`\n\nIt's (really) $mended.\nEOF\n)\"",
    "git add -A && git commit -qm one",
    "cat <<'EOF' > note.md\n# Title\nrun `x`\nEOF\ncat note.md",
    "python3 - <<'EOF'\nprint(1)\nEOF",
    "for f in *; do echo \"$f\"; done",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "for i in 1 2 3; do cargo test; done",
    "if [ -f Makefile ]; then make; else echo none; fi",
    "while read -r line; do echo \"$line\"; done < a.txt",
    "cd src\nls\n\n# and back\ncargo build 2>&1 | tail -5",
    "echo $HOME $PWD",
    "ls \"$HOME\"",
    "version=$(git describe); echo \"v$version\"",
    "export NODE_ENV=test; npm test",
    "set -euo pipefail; cargo test",
    "cargo test \\\n  --all-features",
    "sleep 1 & wait",
    "make &> /dev/null || exit 1",
    "grep -rn main .",
    "tar czf out.tgz src",
    "tar tzf out.tgz",
    "curl -s localhost:3000",
    "curl -s http://127.0.0.1:3000/x",
    "gcc -o c c.c && ./c",
    "curl -XPOST http://localhost:3000/api",
    "sed -i 's/hi/ho/' src/b.rs",
    "find . -name '*.rs' | sort | head",
    "FOO=1 npm test",
];

#[test]
fn rules_do_not_ask_about_what_they_cannot_be_about() {
    for rule in [
        "command: git push",
        "command: rm",
        "command: terraform apply",
        "read: secrets/**",
        "edit: infra/**",
        "host: evil.example",
    ] {
        for place in [all(&[], &[rule]), all(&[rule], &[])] {
            for text in EVERYDAY {
                assert_eq!(shown(&place.run(text)), "allow", "{rule}: {text}");
            }
        }
    }
}

#[test]
fn what_is_forbidden_is_forbidden_in_loops_branches_and_lines() {
    all(&[], &["command: git push", "read: docs/**", "edit: src/**"]).check(
        &[
            "ls\ngit push",
            "if true; then git push; fi",
            "for b in a b; do git push origin \"$b\"; done",
            "for s in fetch push; do git \"$s\"; done",
            "for s in $(cat x); do git $s; done",
            "git log \"$x\"",
            "git commit -m \"$(git push)\"",
            "sh <<E\ngit push\nE",
            "ls && python3 - <<E\nos.system('git push')\nE",
            "python3 - <<E | head\nprint('git')\nE",
            "GIT_PAGER='git push' git log",
            "x=push; git -C . $x",
            "for f in docs/*; do cat \"$f\"; done",
            "while read -r f; do cat \"$f\"; done < a.txt",
            "for f in src/*; do sed -i s/a/b/ \"$f\"; done",
            "cat <<E > src/b.rs\nx\nE",
            "for d in a b; do cd ..; cat c.md; done",
        ],
        expect![[r#"
            ls
            git push => deny: the user's rule `command: git push` forbids it
            if true; then git push; fi => deny: the user's rule `command: git push` forbids it
            for b in a b; do git push origin "$b"; done => deny: the user's rule `command: git push` forbids it
            for s in fetch push; do git "$s"; done => deny: the user's rule `command: git push` forbids it
            for s in $(cat x); do git $s; done => ask: the rule `command: git push` in deny may be about it: values that are not known may complete it; with a yes it runs all the same [exactly: for s in $(cat x); do git $s; done]
            git log "$x" => ask: the rule `read: docs/**` in deny may be about it: it uses values that are not known; with a yes it runs all the same [exactly: git log "$x"]
            git commit -m "$(git push)" => deny: the user's rule `command: git push` forbids it
            sh <<E
            git push
            E => ask: the rule `command: git push` in deny may be about it: it reads commands from its input; with a yes it runs all the same
            ls && python3 - <<E
            os.system('git push')
            E => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same
            python3 - <<E | head
            print('git')
            E => ask: the rule `command: git push` in deny may be about it: a text in it may run what it names; with a yes it runs all the same
            GIT_PAGER='git push' git log => ask: the rule `command: git push` in deny may be about it: it sets GIT_PAGER; with a yes it runs all the same [exactly: GIT_PAGER='git push' git log]
            x=push; git -C . $x => ask: the rule `command: git push` in deny may be about it: values that are not known may complete it; with a yes it runs all the same [exactly: x=push; git -C . $x]
            for f in docs/*; do cat "$f"; done => deny: the user's rule `read: docs/**` forbids it
            while read -r f; do cat "$f"; done < a.txt => ask: the rule `read: docs/**` in deny may be about it: it uses values that are not known; with a yes it runs all the same [exactly: while read -r f; do cat "$f"; done < a.txt]
            for f in src/*; do sed -i s/a/b/ "$f"; done => deny: the user's rule `edit: src/**` forbids it
            cat <<E > src/b.rs
            x
            E => deny: the user's rule `edit: src/**` forbids it
            for d in a b; do cd ..; cat c.md; done => ask: the rule `read: docs/**` in deny may be about it: it goes to a folder that is not known; with a yes it runs all the same [exactly: for d in a b; do cd ..; cat c.md; done]
        "#]],
    );
}

#[test]
fn a_file_that_an_option_names_is_written() {
    all(&[], &["edit: docs/**"]).check(
        &[
            "curl -s -o docs/c.md https://a.example",
            "curl -sodocs/c.md https://a.example",
            "cd docs && curl -sO https://a.example/c.md?x",
            "wget -O docs/c.md https://a.example",
            "wget -P docs https://a.example/c.md",
            "gcc -odocs/x a.c",
            "sed -n '1w docs/c.md' a.txt",
            "sed s/a/b/wdocs/c.md a.txt",
            "sort --outp=docs/c.md a.txt",
            "git diff --output=docs/c.md",
            "tar czf docs/x.tgz src",
            "curl -s https://a.example/docs/c.md",
            "wget -O out https://a.example/docs/",
            "tar czf x.tgz docs",
        ],
        expect![[r#"
            curl -s -o docs/c.md https://a.example => deny: the user's rule `edit: docs/**` forbids it
            curl -sodocs/c.md https://a.example => deny: the user's rule `edit: docs/**` forbids it
            cd docs && curl -sO https://a.example/c.md?x => deny: the user's rule `edit: docs/**` forbids it
            wget -O docs/c.md https://a.example => deny: the user's rule `edit: docs/**` forbids it
            wget -P docs https://a.example/c.md => deny: the user's rule `edit: docs/**` forbids it
            gcc -odocs/x a.c => deny: the user's rule `edit: docs/**` forbids it
            sed -n '1w docs/c.md' a.txt => deny: the user's rule `edit: docs/**` forbids it
            sed s/a/b/wdocs/c.md a.txt => deny: the user's rule `edit: docs/**` forbids it
            sort --outp=docs/c.md a.txt => deny: the user's rule `edit: docs/**` forbids it
            git diff --output=docs/c.md => deny: the user's rule `edit: docs/**` forbids it
            tar czf docs/x.tgz src => deny: the user's rule `edit: docs/**` forbids it
            curl -s https://a.example/docs/c.md => allow
            wget -O out https://a.example/docs/ => allow
            tar czf x.tgz docs => allow
        "#]],
    );
}

#[test]
fn a_command_that_an_option_names_may_run() {
    let place = all(&[], &["command: evil"]);
    for text in [
        "tar cf x.tar --checkpoint-action=exec=evil src",
        "tar -cf x.tar -I evil src",
        "npx -c 'evil x'",
        "npx evil",
        "npm exec -- evil",
        "ssh -o ProxyCommand=evil box",
        "ssh -oProxyCommand=evil box",
        "rsync -e evil a b:",
        "git -c core.pager=evil log",
        "git rebase -x evil main",
        "sort --compress-prog=evil a.txt",
        "rg --pre evil x",
        "uv run evil",
        "sort \"$x\" a.txt",
    ] {
        assert_ne!(shown(&place.run(text)), "allow", "{text}");
    }
    for text in ["git log --oneline", "ssh box uptime", "npx eslint .", "sort \"./$x\"", "git commit -m evil"]
    {
        assert_eq!(shown(&place.run(text)), "allow", "{text}");
    }
}
