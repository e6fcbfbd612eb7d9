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
            find . -type f | xargs cat => ask: the rule `read: docs/**` in deny may be about it: it touches files that are not named in it; with a yes it runs all the same [exactly: find . -type f | xargs cat]
            cd $x; cat c.md => ask: the rule `read: docs/**` in deny may be about it: it uses the values of variables or of other commands; with a yes it runs all the same [exactly: cd $x; cat c.md]
            for f in docs/*; do cat $f; done => ask: the rule `read: docs/**` in deny may be about it: it uses more of the shell's language than plain commands; with a yes it runs all the same [exactly: for f in docs/*; do cat $f; done]
            git diff => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: git diff]
            cp -r . /tmp/x => ask: the rule `read: docs/**` in deny may be about it: it shows what lies below a folder; with a yes it runs all the same [exactly: cp -r . /tmp/x]
            ls docs => allow
            find . -name x => allow
            cat src/b.rs => allow
            make => allow
            FOO=1 make => allow
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
            curl $URL => ask: the rule `host: example.com` in deny may be about it: it uses the values of variables or of other commands; with a yes it runs all the same [exactly: curl $URL]
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
            x=curl; $x a.b => ask: the rule `effect: network` in deny may be about it: it sets variables that other commands may use; with a yes it runs all the same [exactly: x=curl; $x a.b]
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
            X=npm; $X test => ask: the rule `command: npm` in deny may be about it: it sets variables that other commands may use; with a yes it runs all the same [exactly: X=npm; $X test]
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
