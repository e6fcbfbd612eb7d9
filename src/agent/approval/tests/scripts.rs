//! What a rule forbids is forbidden in a script too.

use super::*;

/// A project with these files, in which all is allowed but what the rules forbid.
fn with_scripts(deny: &[&str], files: &[(&str, &str)]) -> Place {
    let place = Place::new(&[], &[], deny).approvals(Approvals::All);
    let root = place.files.workspace().roots().remove(0);
    for (path, text) in files {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
    place
}

#[test]
fn a_forbidden_command_is_forbidden_in_a_script_however_it_is_started() {
    let script = "#!/bin/sh\nset -e\nif [ -n \"$1\" ]; then\n  git push \"$1\"\nfi\n";
    let place = with_scripts(
        &["command: git push"],
        &[("release.sh", script), ("tools/deep.sh", "for i in 1 2; do\n\tsh ./release.sh\ndone\n")],
    );
    place.check(
        &["sh release.sh", "bash -e release.sh -c", "./release.sh", "cd tools && cd .. && ./release.sh", "sh tools/deep.sh", "ls && env CI=1 sh release.sh"],
        expect![[r#"
            sh release.sh => deny: the user's rule `command: git push` forbids what is in release.sh
            bash -e release.sh -c => deny: the user's rule `command: git push` forbids what is in release.sh
            ./release.sh => deny: the user's rule `command: git push` forbids what is in ./release.sh
            cd tools && cd .. && ./release.sh => deny: the user's rule `command: git push` forbids what is in ./release.sh
            sh tools/deep.sh => deny: the user's rule `command: git push` forbids what is in ./release.sh
            ls && env CI=1 sh release.sh => deny: the user's rule `command: git push` forbids what is in release.sh
        "#]],
    );
}

#[test]
fn a_forbidden_command_is_forbidden_in_a_script_of_a_package() {
    let package = r#"{"scripts": {"prebuild": "git push", "build": "tsc", "lint": "eslint ."}}"#;
    let place = with_scripts(&["command: git push"], &[("package.json", package)]);
    place.check(
        &["npm run build", "npm run lint", "yarn build", "npm install"],
        expect![[r#"
            npm run build => deny: the user's rule `command: git push` forbids what is in the script build of package.json
            npm run lint => allow
            yarn build => deny: the user's rule `command: git push` forbids what is in the script build of package.json
            npm install => allow
        "#]],
    );
}

#[test]
fn a_script_that_the_same_line_writes_asks_before_it_runs() {
    let place = with_scripts(&["command: git push"], &[]);
    place.check(
        &[
            "cat <<'E' > x.sh\ngit push\nE\nsh x.sh",
            "echo 'git push' > x.sh; bash ./x.sh",
            "printf 'git push' | tee bin/x; chmod +x bin/x && ./bin/x",
            "cat <<'E' > x.sh\nls\nE",
        ],
        expect![[r#"
            cat <<'E' > x.sh
            git push
            E
            sh x.sh => ask: the rule `command: git push` in deny may be about it: it runs a script that it writes itself; with a yes it runs all the same
            echo 'git push' > x.sh; bash ./x.sh => ask: the rule `command: git push` in deny may be about it: it runs a script that it writes itself; with a yes it runs all the same [exactly: echo 'git push' > x.sh; bash ./x.sh]
            printf 'git push' | tee bin/x; chmod +x bin/x && ./bin/x => ask: the rule `command: git push` in deny may be about it: it runs a script that it writes itself; with a yes it runs all the same [exactly: printf 'git push' | tee bin/x; chmod +x bin/x && ./bin/x]
            cat <<'E' > x.sh
            ls
            E => allow
        "#]],
    );
}

/// However its text came there: what it says is not known before the line runs.
#[test]
fn a_script_that_the_same_line_copies_moves_or_links_asks_before_it_runs() {
    let place = with_scripts(
        &["command: git push"],
        &[("deploy.txt", "git push\n"), ("scripts/x.sh", "ls\n"), ("build.sh", "ls\n")],
    );
    let asks = |line: &&str| matches!(place.run(line), Decision::Ask { .. });
    let made = [
        "cp deploy.txt x.sh && sh x.sh",
        "mv deploy.txt x.sh; sh ./x.sh",
        "ln -s deploy.txt x.sh && . ./x.sh",
        "install -m 755 deploy.txt build.sh && ./build.sh",
        "cp -t scripts docs/x.sh && sh scripts/x.sh",
        "cp -r scripts other && sh other/x.sh",
        "mv scripts other && cd other && sh x.sh",
        "sed -i s/ls/git/ build.sh && sh build.sh",
        "dd if=deploy.txt of=x.sh; bash x.sh",
        "tar xf deploy.tar && sh build.sh",
    ];
    let others = [
        "cp deploy.txt other.txt && sh build.sh",
        "chmod +x build.sh && ./build.sh",
        "mkdir -p scripts && sh scripts/x.sh",
        "cp deploy.txt . && sh ./build.sh",
        "sh build.sh > log.txt",
        "cp deploy.txt x.sh",
    ];
    let not_asked: Vec<_> = made.iter().filter(|line| !asks(line)).collect();
    let asked: Vec<_> = others.iter().filter(|line| asks(line)).collect();
    assert_eq!((not_asked, asked), (Vec::new(), Vec::new()));
}

#[test]
fn a_script_that_does_nothing_forbidden_goes_ahead() {
    let place = with_scripts(
        &["command: git push"],
        &[("build.sh", "git pull && echo 'git push'\n"), ("run.py", "#!/usr/bin/python3\ngit push\n")],
    );
    place.check(
        &["sh build.sh", "./run.py", "sh missing.sh"],
        expect![[r#"
            sh build.sh => allow
            ./run.py => allow
            sh missing.sh => allow
        "#]],
    );
}
