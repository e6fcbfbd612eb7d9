//! What leads out of the workspace is asked about by its true place, and by nothing wider.

use std::path::PathBuf;

use super::*;
use crate::tools::Extent;

/// A project whose user set `outside = ask`, beside a folder of others. `$` is that folder in what is said.
struct Beside {
    place: Place,
    folder: PathBuf,
}

impl Beside {
    fn new(allow: &[&str], ask: &[&str], deny: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().canonicalize().unwrap();
        let mut place = Place::of(scratch, allow, ask, deny);
        place.policy.outside = Outside::Ask;
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(folder.join(to), folder.join("project").join(name)).unwrap();
        };
        link("beside.txt", "link.txt");
        link("other", "linked");
        link("beside.txt", ".env.local");
        std::fs::create_dir(folder.join("other")).unwrap();
        Self { place, folder }
    }

    /// With the rules below `$`, that folder.
    fn with_rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Self {
        let mut beside = Self::new(&[], &[], &[]);
        let rules = |texts: &[&str]| {
            let folder = beside.folder.display().to_string();
            texts.iter().map(|text| text.replace('$', &folder).parse().unwrap()).collect()
        };
        let rules = Rules { allow: rules(allow), ask: rules(ask), deny: rules(deny) };
        beside.place.policy.rules = Arc::new(rules);
        beside
    }

    fn facts(&self, tool: &'static str, path: &str) -> Facts {
        let path = path.replace('$', &self.folder.display().to_string());
        let effect = if ["edit_file", "write_file"].contains(&tool) { Effect::Edit } else { Effect::Read };
        let extent = match tool {
            "list_files" => Extent::Names,
            "search" => Extent::Below,
            _ => Extent::Named,
        };
        let access = Access { paths: vec![path.clone()], extent, ..Access::default() };
        Facts { tool, effect, arguments: path, access }
    }

    fn check(&self, calls: &[(&'static str, &str)], expected: Expect) {
        let said = |(tool, path): &(&'static str, &str)| {
            let decision = shown(&self.place.decide(&self.facts(tool, path)));
            format!("{tool} {path} => {decision}\n").replace(&*self.folder.to_string_lossy(), "$")
        };
        expected.assert_eq(&calls.iter().map(said).collect::<String>());
    }

    /// The user allows a call for the thread.
    fn allow(&mut self, tool: &'static str, path: &str) {
        let facts = self.facts(tool, path);
        self.place.grants.let_reach(&facts, &Reach::of(&facts, &self.place.files));
    }
}

const CALLS: &[(&str, &str)] = &[
    ("read_file", "a.txt"),
    ("read_file", "$/beside.txt"),
    ("read_file", "../beside.txt"),
    ("read_file", "link.txt"),
    ("read_file", "linked/not yet.txt"),
    ("list_files", "$/other"),
    ("search", "$/other"),
    ("edit_file", "$/beside.txt"),
    ("edit_file", "$/other/.bashrc"),
];

// SPEC A1, T10
#[test]
fn a_place_outside_is_asked_about_by_where_it_is() {
    let expected = expect![[r#"
        read_file a.txt => allow
        read_file $/beside.txt => ask: outside is ask [read: $/beside.txt]
        read_file ../beside.txt => ask: outside is ask [read: $/beside.txt]
        read_file link.txt => ask: outside is ask [read: $/beside.txt]
        read_file linked/not yet.txt => ask: outside is ask [read: $/other/not yet.txt]
        list_files $/other => ask: outside is ask
        search $/other => ask: outside is ask [read: $/other]
        edit_file $/beside.txt => ask: outside is ask [edit: $/beside.txt]
        edit_file $/other/.bashrc => ask: outside is ask
    "#]];
    Beside::new(&[], &[], &[]).check(CALLS, expected);
}

// SPEC T10
#[test]
fn nothing_but_a_rule_for_the_place_lets_a_call_out() {
    let mut beside = Beside::new(&["tool: read_file", "effect: read", "read: **", "edit: **"], &[], &[]);
    beside.place.policy.approvals = Approvals::All;
    beside.check(
        &[("read_file", "$/beside.txt"), ("edit_file", "$/beside.txt")],
        expect![[r#"
        read_file $/beside.txt => ask: outside is ask [read: $/beside.txt]
        edit_file $/beside.txt => ask: outside is ask [edit: $/beside.txt]
    "#]],
    );
    let beside = Beside::with_rules(&["read: $/other", "edit: $/beside.txt"], &[], &["read: $/other/keep"]);
    beside.check(
        &[
            ("read_file", "$/other/x.txt"),
            ("read_file", "linked/x.txt"),
            ("read_file", "$/other/keep/x.txt"),
            ("list_files", "$/other"),
            ("search", "$/other"),
            ("search", "$/other/sub"),
            ("edit_file", "$/other/x.txt"),
            ("edit_file", "link.txt"),
            ("read_file", "link.txt"),
        ],
        expect![[r#"
            read_file $/other/x.txt => allow
            read_file linked/x.txt => allow
            read_file $/other/keep/x.txt => deny: the user's rule `read: $/other/keep` forbids it
            list_files $/other => allow
            search $/other => ask: it may show what the rule `read: $/other/keep` is about
            search $/other/sub => allow
            edit_file $/other/x.txt => ask: outside is ask [edit: $/other/x.txt]
            edit_file link.txt => allow
            read_file link.txt => ask: outside is ask [read: $/beside.txt]
        "#]],
    );
}

#[test]
fn a_yes_for_the_thread_covers_that_place_and_that_use() {
    let mut beside = Beside::new(&[], &[], &[]);
    beside.place.policy.approvals = Approvals::None;
    for (tool, path) in
        [("read_file", "link.txt"), ("list_files", "$/other/names"), ("search", "$/other/texts")]
    {
        beside.allow(tool, path);
    }
    beside.allow("edit_file", "$/other/x.txt");
    beside.check(
        &[
            ("read_file", "$/beside.txt"),
            ("search", "$/beside.txt"),
            ("edit_file", "$/beside.txt"),
            ("list_files", "$/other/names/sub"),
            ("read_file", "$/other/names/a.txt"),
            ("read_file", "$/other/texts/a.txt"),
            ("list_files", "$/other/texts"),
            ("edit_file", "$/other/x.txt"),
            ("write_file", "$/other/x.txt"),
            ("read_file", "$/other/x.txt"),
            // What its tool does inside was never asked about.
            ("edit_file", "a.txt"),
        ],
        expect![[r#"
            read_file $/beside.txt => allow
            search $/beside.txt => ask: outside is ask [read: $/beside.txt]
            edit_file $/beside.txt => ask: outside is ask [edit: $/beside.txt]
            list_files $/other/names/sub => allow
            read_file $/other/names/a.txt => ask: outside is ask [read: $/other/names/a.txt]
            read_file $/other/texts/a.txt => allow
            list_files $/other/texts => allow
            edit_file $/other/x.txt => allow
            write_file $/other/x.txt => allow
            read_file $/other/x.txt => ask: outside is ask [read: $/other/x.txt]
            edit_file a.txt => ask: approvals is none
        "#]],
    );
    // The link that was allowed leads elsewhere now.
    let link = beside.folder.join("project/link.txt");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(beside.folder.join("other/secret plan"), &link).unwrap();
    beside.check(
        &[("read_file", "link.txt")],
        expect![[r#"
        read_file link.txt => ask: outside is ask [read: $/other/secret plan]
    "#]],
    );
}

// SPEC A9
#[test]
fn secrets_and_settings_of_askls_are_refused_outside_too() {
    let mut beside = Beside::with_rules(&["read: $/**", "edit: $/**"], &[], &[]);
    let surroundings = crate::workspace::Surroundings::new(
        Some(beside.folder.join("home")),
        vec![beside.folder.join("home/.local/state/askls")],
    );
    let files = std::mem::replace(&mut beside.place.files, TurnFiles::new(Arc::default()));
    beside.place.files = files.with_surroundings(surroundings);
    beside.check(
        &[
            ("read_file", ".env.local"),
            ("read_file", "$/other/.env"),
            ("read_file", "$/home/.ssh/config"),
            ("list_files", "$/home/.ssh"),
            ("read_file", "$/home/.bash_history"),
            ("read_file", "$/home/.local/state/askls/records/a.json"),
            ("edit_file", "$/home/.config/askls/config.toml"),
            ("edit_file", "$/other/.git/hooks/pre-commit"),
            ("read_file", "$/other/.git/HEAD"),
            ("read_file", "$/home/.vimrc"),
        ],
        expect![[r#"
            read_file .env.local => deny: .env.local may hold secrets, so that it is never read, searched or edited; ask the user if it matters
            read_file $/other/.env => deny: $/other/.env may hold secrets, so that it is never read, searched or edited; ask the user if it matters
            read_file $/home/.ssh/config => deny: $/home/.ssh/config may hold secrets, so that it is never read, searched or edited; ask the user if it matters
            list_files $/home/.ssh => deny: $/home/.ssh may hold secrets, so that it is never read, searched or edited; ask the user if it matters
            read_file $/home/.bash_history => deny: $/home/.bash_history may hold secrets, so that it is never read, searched or edited; ask the user if it matters
            read_file $/home/.local/state/askls/records/a.json => deny: $/home/.local/state/askls/records/a.json may hold secrets, so that it is never read, searched or edited; ask the user if it matters
            edit_file $/home/.config/askls/config.toml => deny: $/home/.config/askls/config.toml belongs to the version control or to the settings of this agent, which it does not edit
            edit_file $/other/.git/hooks/pre-commit => deny: $/other/.git/hooks/pre-commit belongs to the version control or to the settings of this agent, which it does not edit
            read_file $/other/.git/HEAD => allow
            read_file $/home/.vimrc => allow
        "#]],
    );
}

#[test]
fn a_rule_of_ask_asks_once_more_than_the_place() {
    let beside = Beside::with_rules(&["read: $/other"], &["read: $/other/x.txt"], &[]);
    beside.check(
        &[("read_file", "$/other/x.txt"), ("search", "$/other")],
        expect![[r#"
        read_file $/other/x.txt => ask: the rule `read: $/other/x.txt` in ask is about it
        search $/other => ask: it may show what the rule `read: $/other/x.txt` is about
    "#]],
    );
}

// SPEC T10
#[test]
fn where_it_is_refused_nobody_is_asked() {
    let mut beside = Beside::new(&[], &[], &[]);
    beside.place.policy.outside = Outside::Refuse;
    let allowed = CALLS.iter().map(|(tool, path)| format!("{tool} {path} => allow\n")).collect::<String>();
    let said: String = CALLS
        .iter()
        .map(|(tool, path)| {
            format!("{tool} {path} => {}\n", shown(&beside.place.decide(&beside.facts(tool, path))))
        })
        .collect();
    // The tools refuse it by themselves.
    assert_eq!(said, allowed);
}
