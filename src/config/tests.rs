use expect_test::{Expect, expect};
use secrecy::ExposeSecret;
use serde_json::json;

use super::*;
use crate::{
    agent::{ApprovalPolicy, FirstTool, Limits},
    model::select::Choice,
};

mod foreign;
mod misplaced;
mod rules;

impl Choice {
    /// Why an ask of a model server ends.
    fn held_up(self) -> Option<String> {
        self.unbounded.or(self.unusable)
    }
}

/// Files and variables of one user, in a folder of their own.
struct Place {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    fn user(self, text: &str) -> Self {
        self.write("config/askls/config.toml", text.as_bytes())
    }

    fn project(self, text: &str) -> Self {
        self.write("project/.askls/config.toml", text.as_bytes())
    }

    fn write(self, path: &str, bytes: &[u8]) -> Self {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn load(&self) -> Loaded {
        let home = self.folder.path().to_str().unwrap();
        let home = [("HOME", home.to_owned()), ("APPDATA", format!("{home}/config"))].into_iter();
        let config = ("XDG_CONFIG_HOME", self.folder.path().join("config").to_str().unwrap().to_owned());
        let variables = home.chain([config]).chain(self.variables.clone());
        Settings::load(&Environment::from_pairs(variables), &[self.folder.path().join("project")])
    }

    fn check(&self, expected: Expect) {
        self.compare(&self.load(), expected);
    }

    fn check_editor(&self, editor: Value, expected: Expect) {
        let loaded = self.load();
        let with_editor = loaded.settings.with_editor(&editor);
        let warnings = [loaded.warnings, with_editor.warnings].concat();
        self.compare(&Loaded { settings: with_editor.settings, warnings }, expected);
    }

    /// What is set and by whom, then the warnings; `$` is the place's folder.
    fn compare(&self, loaded: &Loaded, expected: Expect) {
        let set = loaded.settings.shown().into_iter().filter(|shown| shown.origin != Origin::Default);
        let set = set.map(|shown| format!("{} = {} ({})", shown.name, shown.value, shown.origins()));
        let warnings = loaded.warnings.iter().map(|warning| format!("! {warning}"));
        let lines: Vec<_> = set.chain(warnings).map(|line| line + "\n").collect();
        expected
            .assert_eq(&lines.concat().replace(self.folder.path().to_str().unwrap(), "$").replace('\\', "/"));
    }
}

#[test]
fn with_nothing_set_everything_is_its_default() {
    let loaded = Place::new().load();
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.settings.limits(), Limits::default());
    assert_eq!(loaded.settings.policy(), ApprovalPolicy::default());
    let shown = loaded.settings.shown();
    let shown: Vec<_> = shown.iter().map(|shown| format!("{} = {}\n", shown.name, shown.value)).collect();
    expect![[r#"
        model = 
        wire = 
        base_url = 
        api_key_env = 
        api_key_command = 
        auth_header = authorization, or that of the wire or of Azure
        headers = 
        query = 
        proxy = the environment's
        ca_file = 
        connect_timeout = 15
        idle_timeout = 120, or 300 for a server on this machine
        reply_timeout = none
        max_attempts = 6
        retry_wait = 1
        max_retry_wait = 120
        tool_choice = auto
        max_output_tokens = 
        reasoning_effort = 
        temperature = 
        parallel_tool_calls = 
        strict_tools = false
        store = false
        context_tokens = 80 % of the model's window
        window = 
        echo_reasoning = true
        think_tags = true
        strict_alternation = false
        null_content = null
        text_calls = true for a server on this machine, else false
        guided = auto
        price = 
        models = 
        max_steps = 50
        max_turn_tokens = none
        max_tool_calls = none
        turn_timeout = none
        max_cost = none
        on_limit = message
        unknown_tools = tell
        repeated_calls = refuse
        edits = propose
        checkpoints = true
        approvals = edits
        outside = refuse
        allow = 
        ask = 
        deny = 
        hooks = 
        mask_secrets = true
        approval_timeout = 120
        command_timeout = 120
        shell = the platform's shell
        sandbox = auto
        sandbox_network = false
        sandbox_write = 
        fetch = false
        fetch_hosts = 
        background = auto
        show_answer = message
        edit_lenses = true
        edit_hints = true
        trusted_folders = 
    "#]]
    .assert_eq(&shown.concat());
}

#[test]
fn each_layer_lies_over_the_one_before() {
    Place::new()
        .user("model = 'user'\nmax_steps = 9\nwire = 'chat'\nbase_url = 'http://localhost:1/v1'\nedits = 'apply'\n")
        .project("model = 'project'\nmax_steps = 8\n")
        .variable("ASKLS_MODEL", " variable ")
        .variable("ASKLS_WIRE", "responses")
        .check_editor(
            json!({"askls": {"model": "editor", "shell": ["/bin/bash", "-lc"]}}),
            expect![[r#"
                model = editor (editor)
                wire = responses (ASKLS_WIRE)
                base_url = http://localhost:1/v1 ($/config/askls/config.toml)
                max_steps = 8 ($/project/.askls/config.toml)
                edits = apply ($/config/askls/config.toml)
                shell = ["/bin/bash", "-lc"] (editor)
            "#]],
        );
}

#[test]
fn an_unknown_name_is_told_with_its_place_and_the_nearest_known_one() {
    Place::new().user("model = 'm'\n  max_step = 3\nxyz = 1\n").check_editor(
        json!({"maxSteps": 1, "base-url": "http://x", "trace": {"server": "off"}}),
        expect![[r#"
            model = m ($/config/askls/config.toml)
            ! $/config/askls/config.toml:2:3: there is no setting max_step; did you mean max_steps?
            ! $/config/askls/config.toml:3:1: there is no setting xyz; askls status lists them all
            ! editor settings, base-url: there is no setting base-url; did you mean base_url?
            ! editor settings, maxSteps: there is no setting maxSteps; did you mean max_steps?
        "#]],
    );
}

#[test]
fn a_value_that_does_not_fit_costs_only_itself() {
    Place::new()
        .user(
            "max_steps = 0\non_limit = 'never'\nwire = 3\nshell = []\nidle_timeout = 1.5\napprovals = 'all'\n\
             base_url = 'user:secret@host'\nmodel = 2026-01-01\n[edits]\nmode = 'apply'\n",
        )
        .variable("ASKLS_WIRE", "soap")
        .check_editor(
            json!({"command_timeout": -1, "trusted_folders": ["/"], "background": null, "show_answer": ""}),
            expect![[r#"
                idle_timeout = 1.5 ($/config/askls/config.toml)
                approvals = all ($/config/askls/config.toml)
                ! $/config/askls/config.toml:1:1: max_steps must be a whole number from 1 to 10000, not 0
                ! $/config/askls/config.toml:2:1: on_limit must be one of error, message, final_answer, not "never"
                ! $/config/askls/config.toml:3:1: wire must be one of responses, chat, messages, not 3
                ! $/config/askls/config.toml:4:1: shell must be a list such as ["/bin/sh", "-c"]: the program and its first arguments, not []
                ! $/config/askls/config.toml:7:1: base_url must be an address that begins with http:// or https://
                ! $/config/askls/config.toml:8:1: model must be text, not 2026-01-01
                ! $/config/askls/config.toml:9:2: edits must be one of propose, apply, immediate, not { mode = "apply" }
                ! ASKLS_WIRE: wire must be one of responses, chat, messages, not "soap"
                ! editor settings, command_timeout: command_timeout must be a number of seconds from 0.001 to 86400, not -1
                ! editor settings, trusted_folders: trusted_folders is ignored here: it can only be set in your own settings file
            "#]],
        );
}

#[test]
fn a_whole_number_of_an_editor_may_have_a_point_and_no_part_of_one() {
    Place::new().check_editor(
        json!({"askls": {
            "max_steps": 2.0, "max_turn_tokens": 1e6, "max_cost": 2.0, "temperature": 1.0,
            "max_attempts": 2.5, "max_tool_calls": -1.0,
        }}),
        expect![[r#"
            temperature = 1 (editor)
            max_steps = 2 (editor)
            max_turn_tokens = 1000000 (editor)
            max_cost = 2 (editor)
            ! editor settings, askls.max_attempts: max_attempts must be a whole number from 1 to 100, not 2.5
            ! editor settings, askls.max_tool_calls: max_tool_calls must be a whole number from 1 to 100000, not -1
        "#]],
    );
    // In a file it is a slip that its author sees at once.
    Place::new().user("max_steps = 2.0\n").check(expect![[r#"
        ! $/config/askls/config.toml:1:1: max_steps must be a whole number from 1 to 10000, not 2.0
    "#]]);
}

#[test]
fn a_broken_line_is_told_with_line_and_column_and_the_others_count() {
    Place::new().user("approvals = 'none'\nmodel = sk-secret\nmax_steps = 4\n").check(expect![[r#"
        max_steps = 4 ($/config/askls/config.toml)
        approvals = none ($/config/askls/config.toml)
        ! $/config/askls/config.toml:2:9: this line is not valid TOML and is not used: text stands in quotes: write model = "…"
    "#]]);
    Place::new().user("approvals = 'none'\nmodel = \"open\nmax_steps = 4\n").check(expect![[r#"
        max_steps = 4 ($/config/askls/config.toml)
        approvals = none ($/config/askls/config.toml)
        ! $/config/askls/config.toml:2:14: this line is not valid TOML and is not used: the text after model = is not closed: write a second " at its end
    "#]]);
    Place::new().user("approvals = 'none'\napprovals = 'all'\n").check(expect![[r#"
        approvals = none ($/config/askls/config.toml)
        ! $/config/askls/config.toml:2:1: approvals is set twice, in lines 1 and 2: remove one of them
    "#]]);
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_everything_else_counts() {
    Place::new().write("config/askls/config.toml", b"model = 'm'\n# caf\xe9\n").check(expect![[r#"
        ! $/config/askls/config.toml: nothing in this file is used: it cannot be read: line 2, column 6 is not UTF-8
    "#]]);
    Place::new().write("config/askls/config.toml/file", b"").project("model = 'm'").check(expect![[r#"
        model = m ($/project/.askls/config.toml)
        ! $/config/askls/config.toml: nothing in this file is used: it cannot be read: it is a folder
    "#]]);
    Place::new().write("project", b"the root is a file").check(expect![""]);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_nothing_special() {
    Place::new().user("\u{feff}model = 'm'\r\nmax_steps = 'x'\r\n").check(expect![[r#"
        model = m ($/config/askls/config.toml)
        ! $/config/askls/config.toml:2:1: max_steps must be a whole number from 1 to 10000, not "x"
    "#]]);
}

// SPEC L13
#[test]
fn what_a_project_sets_is_handed_down_with_its_file() {
    let bounds = "max_steps = 3\nmax_cost = 0.5\ncommand_timeout = 10\n";
    let place = Place::new().user("max_turn_tokens = 9\n").project(bounds);
    let settings = place.load().settings.with_editor(&json!({"max_cost": 2})).settings;
    let project = settings.limits().project;
    assert_eq!(project.named("max_steps"), ", which is the project's: max_steps = 3 of .askls/config.toml");
    assert_eq!(settings.tools().project, project);
    // The user's own word, under it or over it.
    assert_eq!(
        ["max_turn_tokens", "max_cost", "max_tool_calls"].map(|name| project.named(name)),
        ["", "", ""]
    );

    let (one, other) = (place.folder.path().join("project"), place.folder.path().join("other"));
    let settings = Settings::load(&Environment::default(), &[one, other]).settings;
    assert!(
        settings.limits().project.named("max_steps").ends_with("max_steps = 3 of project/.askls/config.toml")
    );
}

// SPEC L13
#[test]
fn a_project_may_bound_a_turn_and_not_unbind_it() {
    let narrow = "max_turn_tokens = 5000\nmax_tool_calls = 5\nturn_timeout = 5\nmax_cost = 0.5\n\
                  unknown_tools = 'stop'\nrepeated_calls = 'stop'\n";
    Place::new().project(narrow).check(expect![[r#"
        max_turn_tokens = 5000 ($/project/.askls/config.toml)
        max_tool_calls = 5 ($/project/.askls/config.toml)
        turn_timeout = 5 ($/project/.askls/config.toml)
        max_cost = 0.5 ($/project/.askls/config.toml)
        unknown_tools = stop ($/project/.askls/config.toml)
        repeated_calls = stop ($/project/.askls/config.toml)
    "#]]);
    let wide = "max_turn_tokens = 5001\nmax_tool_calls = 6\nturn_timeout = 5.5\nmax_cost = 0.51\n\
                unknown_tools = 'tell'\nrepeated_calls = 'refuse'\n";
    Place::new().user(narrow).project(wide).check(expect![[r#"
        max_turn_tokens = 5000 ($/config/askls/config.toml)
        max_tool_calls = 5 ($/config/askls/config.toml)
        turn_timeout = 5 ($/config/askls/config.toml)
        max_cost = 0.5 ($/config/askls/config.toml)
        unknown_tools = stop ($/config/askls/config.toml)
        repeated_calls = stop ($/config/askls/config.toml)
        ! $/project/.askls/config.toml:1:1: max_turn_tokens is ignored here: a project may only make it stricter, and without this line it is 5000
        ! $/project/.askls/config.toml:2:1: max_tool_calls is ignored here: a project may only make it stricter, and without this line it is 5
        ! $/project/.askls/config.toml:3:1: turn_timeout is ignored here: a project may only make it stricter, and without this line it is 5
        ! $/project/.askls/config.toml:4:1: max_cost is ignored here: a project may only make it stricter, and without this line it is 0.5
        ! $/project/.askls/config.toml:5:1: unknown_tools is ignored here: a project may only make it stricter, and without this line it is stop
        ! $/project/.askls/config.toml:6:1: repeated_calls is ignored here: a project may only make it stricter, and without this line it is stop
    "#]]);
}

#[test]
fn a_sum_of_money_that_makes_no_sense_is_no_bound() {
    let check = |value: &str, expected| Place::new().user(&format!("max_cost = {value}")).check(expected);
    check(
        "0",
        expect![[r#"
        ! $/config/askls/config.toml:1:1: max_cost must be a number of dollars from 0.0001 to 1000000, not 0
    "#]],
    );
    check(
        "'$5'",
        expect![[r#"
        ! $/config/askls/config.toml:1:1: max_cost must be a number of dollars from 0.0001 to 1000000, not "$5"
    "#]],
    );
    check(
        "nan",
        expect![[r#"
            ! $/config/askls/config.toml:1:1: max_cost must be a number of dollars from 0.0001 to 1000000, not nan
        "#]],
    );
}

#[test]
fn a_project_may_narrow() {
    Place::new()
        .user("approvals = 'all'\noutside = 'ask'\nedits = 'apply'\n")
        .project(
            "approvals = 'edits'\noutside = 'refuse'\nedits = 'propose'\nmax_steps = 5\ncommand_timeout = 10\nidle_timeout = 300\nsandbox = 'on'\n\
             on_limit = 'error'\nmodel = 'm'\n",
        )
        .check(expect![[r#"
            model = m ($/project/.askls/config.toml)
            idle_timeout = 300 ($/project/.askls/config.toml)
            max_steps = 5 ($/project/.askls/config.toml)
            on_limit = error ($/project/.askls/config.toml)
            edits = propose ($/project/.askls/config.toml)
            approvals = edits ($/project/.askls/config.toml)
            outside = refuse ($/project/.askls/config.toml)
            command_timeout = 10 ($/project/.askls/config.toml)
            sandbox = on ($/project/.askls/config.toml)
        "#]]);
}

#[test]
fn a_project_may_not_widen() {
    Place::new()
        .project(
            "approvals = 'all'\nedits = 'apply'\nmax_steps = 51\ncommand_timeout = 121\napproval_timeout = 121\nsandbox = 'off'\nsandbox_network = true\nsandbox_write = ['/']\n\
             idle_timeout = 301\nconnect_timeout = 16\non_limit = 'final_answer'\ntrusted_folders = ['/']\nfetch = true\nfetch_hosts = ['127.0.0.1:80']\noutside = 'ask'\n",
        )
        .check(expect![[r#"
            ! $/project/.askls/config.toml:1:1: approvals is ignored here: a project may only make it stricter, and without this line it is edits
            ! $/project/.askls/config.toml:2:1: edits is ignored here: a project may only make it stricter, and without this line it is propose
            ! $/project/.askls/config.toml:3:1: max_steps is ignored here: a project may only make it stricter, and without this line it is 50
            ! $/project/.askls/config.toml:4:1: command_timeout is ignored here: a project may only make it stricter, and without this line it is 120
            ! $/project/.askls/config.toml:5:1: approval_timeout is ignored here: a project may only make it stricter, and without this line it is 120
            ! $/project/.askls/config.toml:6:1: sandbox is ignored here: a project may only make it stricter, and without this line it is auto
            ! $/project/.askls/config.toml:7:1: sandbox_network is ignored here: a project may only make it stricter, and without this line it is false
            ! $/project/.askls/config.toml:8:1: sandbox_write is ignored here: it can only be set in your own settings file
            ! $/project/.askls/config.toml:9:1: idle_timeout is ignored here: a project may only make it stricter, and without this line it is 120, or 300 for a server on this machine
            ! $/project/.askls/config.toml:10:1: connect_timeout is ignored here: a project may only make it stricter, and without this line it is 15
            ! $/project/.askls/config.toml:11:1: on_limit is ignored here: a project may only make it stricter, and without this line it is message
            ! $/project/.askls/config.toml:12:1: trusted_folders is ignored here: it can only be set in your own settings file
            ! $/project/.askls/config.toml:13:1: fetch is ignored here: a project may only make it stricter, and without this line it is false
            ! $/project/.askls/config.toml:14:1: fetch_hosts is ignored here: it can only be set in your own settings file
            ! $/project/.askls/config.toml:15:1: outside is ignored here: a project may only make it stricter, and without this line it is refuse
        "#]]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_commands_may_change_and_that_is_not_there_is_told() {
    Place::new()
        .write("there/x", b"")
        .user("sandbox_write = ['~/there', '~/.cache/go-build']\n")
        .check(expect![[r#"
            sandbox_write = ["~/there", "~/.cache/go-build"] ($/config/askls/config.toml)
            ! $/config/askls/config.toml:1:1: sandbox_write: ~/.cache/go-build is not there, so that commands can neither change nor make it: make the folder, or remove it from the list
        "#]]);
}

#[test]
fn a_project_may_not_send_the_key_away_or_run_a_program() {
    Place::new()
        .project(
            "base_url = 'https://evil.example'\nwire = 'chat'\napi_key_env = 'AWS_SECRET'\n\
             api_key_command = 'cat .ssh/id_rsa'\nshell = ['./evil']\napi_key = 'sk-1'\n",
        )
        .check(expect![[r#"
            ! $/project/.askls/config.toml:1:1: base_url is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:2:1: wire is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:3:1: api_key_env is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:4:1: api_key_command is ignored in a project's file, since it could run a program: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:5:1: shell is ignored in a project's file, since it could run a program: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:6:1: a key is not read from settings, where it would be copied and committed: name the variable that holds it in api_key_env, or a command that prints it in api_key_command
        "#]]);
}

#[test]
fn a_project_in_a_trusted_folder_may_choose_servers_and_programs_but_not_widen() {
    Place::new()
        .user("trusted_folders = ['~/project']")
        .project("base_url = 'https://user:sk-1@host/v1?key=sk-2'\napi_key_command = 'pass show sk-3'\napprovals = 'all'")
        .check(expect![[r#"
            base_url = https://host/v1 ($/project/.askls/config.toml)
            api_key_command = pass ($/project/.askls/config.toml)
            trusted_folders = ["~/project"] ($/config/askls/config.toml)
            ! $/project/.askls/config.toml:3:1: approvals is ignored here: a project may only make it stricter, and without this line it is edits
        "#]]);
}

#[test]
fn a_folder_beside_a_trusted_one_is_not_trusted() {
    Place::new()
        .write("pro/file", b"")
        .user("trusted_folders = ['~/pro', '~/missing']")
        .project("shell = ['sh']")
        .check(expect![[r#"
            trusted_folders = ["~/pro", "~/missing"] ($/config/askls/config.toml)
            ! $/project/.askls/config.toml:1:1: shell is ignored in a project's file, since it could run a program: set it in your own settings file, or list the project's folder in trusted_folders there
        "#]]);
}

// SPEC A9
#[test]
fn a_key_in_settings_is_refused_and_never_shown() {
    Place::new().user("api_key = 'sk-secret'\n").check_editor(
        json!({"api-key": "sk-secret", "api_key_env": "sk-secret", "base_url": "sk-secret", "API_KEY": "sk-secret"}),
        expect![[r#"
            ! $/config/askls/config.toml:1:1: a key is not read from settings, where it would be copied and committed: name the variable that holds it in api_key_env, or a command that prints it in api_key_command
            ! editor settings, API_KEY: a key is not read from settings, where it would be copied and committed: name the variable that holds it in api_key_env, or a command that prints it in api_key_command
            ! editor settings, api-key: a key is not read from settings, where it would be copied and committed: name the variable that holds it in api_key_env, or a command that prints it in api_key_command
            ! editor settings, api_key_env: api_key_env must be the name of an environment variable in capitals, such as OPENROUTER_API_KEY, and not the key itself
            ! editor settings, base_url: base_url must be an address that begins with http:// or https://
        "#]],
    );
    let place = Place::new()
        .user("base_url = 'https://sk-secret@host/?k=sk-secret'\napi_key_command = ['echo', 'sk-secret']")
        .variable("ASKLS_API_KEY", "sk-secret")
        .variable("OPENAI_API_KEY", "sk-secret");
    let loaded = place.load();
    let shown = format!(
        "{loaded:?} {:?} {:?} {:?}",
        loaded.settings.model_choice().key,
        loaded.settings.model_choice().openai,
        loaded.settings.environment
    );
    assert!(!shown.contains("sk-secret"), "{shown}");
}

/// Which spelling of the key counts.
fn check_key(place: &Place, editor: Value, expected: &str) {
    let choice = place.load().settings.with_editor(&editor).settings.model_choice();
    assert_eq!(format!("{:?}", choice.key), expected);
}

#[test]
fn of_two_spellings_of_the_key_the_stronger_layer_counts() {
    check_key(&Place::new(), json!(null), "None");
    let place = Place::new().user("api_key_command = 'pass'").variable("MINE", "sk-1");
    check_key(&place, json!(null), "Some(Command)");
    check_key(&place, json!({"api_key_env": "MINE"}), "Some(Value(MINE))");
    check_key(&place, json!({"api_key_env": "OTHER"}), "Some(Unset(OTHER))");
    let place = place.variable("ASKLS_API_KEY", "sk-2");
    check_key(&place, json!(null), "Some(Value(ASKLS_API_KEY))");
    check_key(&place, json!({"api_key_env": "MINE"}), "Some(Value(MINE))");
}

/// Why no server may be chosen.
fn check_unusable(place: &Place, editor: Value, expected: Expect) {
    let choice = place.load().settings.with_editor(&editor).settings.model_choice();
    let reason = choice.held_up().unwrap_or_else(|| "none".to_owned());
    let reason = reason.replace(place.folder.path().to_str().unwrap(), "$").replace('\\', "/");
    expected.assert_eq(reason.split("; nothing is sent").next().unwrap());
}

#[test]
fn a_bound_of_a_turn_that_cannot_be_used_is_never_left_out() {
    check_unusable(
        &Place::new().user("max_cost = 0"),
        json!(null),
        expect![
            "$/config/askls/config.toml:1:1: max_cost must be a number of dollars from 0.0001 to 1000000, not 0"
        ],
    );
    // A project can only bound a turn further, and cannot hold it up.
    check_unusable(&Place::new().project("turn_timeout = 'soon'"), json!(null), expect!["none"]);
    check_unusable(
        &Place::new(),
        json!({"max_turn_tokens": -1}),
        expect![
            "editor settings, max_turn_tokens: max_turn_tokens must be a whole number from 1 to 100000000, not -1"
        ],
    );
    // Another layer that sets it says what it is.
    check_unusable(&Place::new().user("max_cost = 0"), json!({"max_cost": 2}), expect!["none"]);
}

#[test]
fn what_decides_where_data_goes_and_cannot_be_used_is_never_left_out_in_silence() {
    let check = |place: Place, expected| check_unusable(&place, json!(null), expected);
    check(
        Place::new().variable("ASKLS_BASE_URL", "localhost:8080/v1"),
        expect!["ASKLS_BASE_URL: base_url must be an address that begins with http:// or https://"],
    );
    check(
        Place::new().user("base_url = 'localhost:8080/v1'"),
        expect![
            "$/config/askls/config.toml:1:1: base_url must be an address that begins with http:// or https://"
        ],
    );
    check(
        Place::new().user("max_steps = 3\nbase_url = \"http://localhost:8080/v1\n"),
        expect![[
            r#"$/config/askls/config.toml:2:37: this line is not valid TOML and is not used: the text after base_url = is not closed: write a second " at its end"#
        ]],
    );
    check(
        Place::new().user("baseUrl = 'http://localhost:8080/v1'"),
        expect!["$/config/askls/config.toml:1:1: there is no setting baseUrl; did you mean base_url?"],
    );
    check(
        Place::new().user("[server]\nbase_url = 'http://localhost:8080/v1'"),
        expect![
            "$/config/askls/config.toml:1:2: there is no table server: write base_url above the first [table] line and remove [server]"
        ],
    );
    check(
        Place::new().write("config/askls/config.toml", b"model = '\xff'"),
        expect![
            "$/config/askls/config.toml: nothing in this file is used: it cannot be read: line 1, column 10 is not UTF-8"
        ],
    );
    check(
        Place::new().user("api_key_env = 'sk-secret'"),
        expect![
            "$/config/askls/config.toml:1:1: api_key_env must be the name of an environment variable in capitals, such as OPENROUTER_API_KEY, and not the key itself"
        ],
    );
    check(
        Place::new().user("trusted_folders = ['~/project']").project("wire = 'soap'"),
        expect![[
            r#"$/project/.askls/config.toml:1:1: wire must be one of responses, chat, messages, not "soap""#
        ]],
    );
    check_unusable(
        &Place::new().variable("ASKLS_BASE_URL", "http://localhost:1/v1"),
        json!({"base_url": "localhost:8080"}),
        expect![
            "editor settings, base_url: base_url must be an address that begins with http:// or https://"
        ],
    );
}

#[test]
fn a_model_that_cannot_be_used_may_have_been_meant_to_keep_the_network_out() {
    for (user, message) in [
        ("model = ['offline']", "1:1: model must be text, not [\"offline\"]"),
        ("model = false", "1:1: model must be text, not false"),
        ("model = offline", "1:9: this line is not valid TOML and is not used: text stands in quotes"),
        ("model = 'offline\nmax_steps = 4", "1:17: this line is not valid TOML and is not used"),
        ("model = 'm'\nmodel = 'offline'", "2:1: model is set twice, in lines 1 and 2: remove one of them"),
        ("modle = 'offline'", "1:1: there is no setting modle; did you mean model?"),
        ("models = 'offline'", "1:1: models must be "),
        ("modes = ['offline']", "1:1: there is no setting modes; did you mean models?"),
        ("Model = ['Offline ']", "1:1: there is no setting Model; did you mean model?"),
        ("[server]\nmodel = 'offline'", "1:2: there is no table server: write model above"),
        ("[server]\nmodle = 'offline'", "1:2: there is no table server: write model above"),
        ("[models]\nmodel = 'offline'", "2:1: model stands below [models]"),
    ] {
        // The project's choice takes the place of no ban.
        for place in [Place::new().user(user), Place::new().user(user).project("model = 'm'")] {
            let choice = place.load().settings.model_choice();
            let unusable = choice.unusable.unwrap_or_default();
            assert!(unusable.contains(message), "{user}\n{unusable}");
            assert!(unusable.ends_with("since model decides what goes where"), "{unusable}");
        }
    }
    let place = Place::new();
    for editor in [json!({"model": ["offline"]}), json!({"server": {"model": "offline"}})] {
        let choice = place.load().settings.with_editor(&editor).settings.model_choice();
        assert!(choice.unusable.is_some(), "{editor}");
    }
    let flags = json!({"model": ""});
    let flags = flags.as_object().unwrap();
    let choice = place.load().settings.with_command_line(flags).settings.model_choice();
    assert!(
        choice.unusable.unwrap_or_default().starts_with("command line: model must not be empty; nothing")
    );
    // What the user says in a stronger place counts, and what is offline sends nothing.
    let place = Place::new().user("model = 'offline'");
    let choice = place.load().settings.with_editor(&json!({"model": 3})).settings.model_choice();
    assert!(choice.is_offline());
}

#[test]
fn what_is_broken_elsewhere_or_said_again_by_a_stronger_layer_holds_nothing_up() {
    let check = |place: Place| check_unusable(&place, json!(null), expect!["none"]);
    check(Place::new());
    check(Place::new().user("# base_url = 'x'\nedits = \"open\nmax_steps = 4\n"));
    check(Place::new().user("base_url = 'http://localhost:1/v1'\nedits = \"open\n"));
    check(Place::new().user("model = 3").variable("ASKLS_MODEL", "m"));
    check(Place::new().project("model = 3"));
    // What may be meant for something else.
    check(Place::new().user("mode = 'fast'\nnode = 3\n[server]\nmode = 'fast'"));
    check(Place::new().user("base_url = 'x'").variable("ASKLS_BASE_URL", "HTTP://localhost:1/v1"));
    check(Place::new().user("api_key_env = 'x'").variable("ASKLS_API_KEY", "sk-1"));
    check(Place::new().project("base_url = 'x'\nwire = 3"));
    check(Place::new().write("project/.askls/config.toml", b"\xff"));
}

#[test]
fn a_file_that_cannot_be_read_may_bound_a_turn_whatever_server_is_named() {
    let place = Place::new()
        .write("config/askls/config.toml", b"max_cost = 1 # caf\xe9")
        .variable("ASKLS_BASE_URL", "http://localhost:1/v1");
    check_unusable(
        &place,
        json!({"base_url": "http://localhost:2/v1"}),
        expect![
            "$/config/askls/config.toml: nothing in this file is used: it cannot be read: line 1, column 19 is not UTF-8"
        ],
    );
    assert!(place.load().settings.model_choice().unbounded.is_some());
}

#[test]
fn what_needs_consent_is_not_lost_with_a_line_that_is_not_valid() {
    check_unusable(
        &Place::new().user("model = \"\"\"m\napprovals = \"none\"\n"),
        json!(null),
        expect![
            "$/config/askls/config.toml:3:1: a text that begins with three quotes is not closed, and nothing after it is used: write the three quotes at its end"
        ],
    );
    check_unusable(
        &Place::new().user("approvals = 'non'"),
        json!(null),
        expect![[r#"$/config/askls/config.toml:1:1: approvals must be one of none, edits, all, not "non""#]],
    );
}

#[test]
fn a_wall_that_is_misspelt_is_not_left_out() {
    for line in [
        "sandbox = 'yes'",
        "sandbox = 'of'",
        "sandbox_network = 'true'",
        "sandbox_write = 3",
        "mask_secrets = 'on'",
    ] {
        let unbounded = Place::new().user(line).load().settings.model_choice().unbounded.unwrap_or_default();
        let (name, _) = line.split_once(' ').unwrap();
        assert!(
            unbounded.contains(name) && unbounded.contains("nothing is sent anywhere"),
            "{line}: {unbounded}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_unicode_is_not_taken_for_one_that_is_not_set() {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};
    for name in ["ASKLS_BASE_URL", "ASKLS_WIRE", "ASKLS_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"] {
        let garbled = OsString::from_vec(b"http://caf\xe9/v1".to_vec());
        let loaded = Settings::load(&Environment::from_pairs([(OsString::from(name), garbled)]), &[]);
        assert_eq!(
            loaded.warnings[0].to_string(),
            format!("{name}: its value is not valid Unicode: set it again, or unset it")
        );
        assert!(loaded.settings.model_choice().unusable.is_some(), "{name}");
    }
}

#[test]
fn each_member_of_a_table_stands_for_itself_and_none_is_shown_that_may_be_a_secret() {
    let place = Place::new().user(
        "headers = { X-Team = 'sk-secret', Host = 'h', 'a b' = 'c', X-Two = 2 }\n[query]\napi-version = 'preview'\n\
         key = 'sk-secret'\nbad = ['x']\n",
    );
    place.check_editor(
        json!({"headers": {"x-team": "other", "X-More": "1"}, "query": 3}),
        expect![[r#"
            headers = x-more, x-team ($/config/askls/config.toml and editor)
            query = api-version=preview, key ($/config/askls/config.toml)
            ! $/config/askls/config.toml:1:35: headers.host cannot be set: askls sets this header itself
            ! $/config/askls/config.toml:1:47: headers.a b is not the name of a header: it may hold letters, digits and dashes
            ! $/config/askls/config.toml:1:60: headers.x-two must be text: write "2"
            ! $/config/askls/config.toml:5:1: query.bad must be text, such as "1"
            ! editor settings, query: query must be a table of names and texts, such as { api-version = "preview" }
        "#]],
    );
    let choice =
        place.load().settings.with_editor(&json!({"headers": {"x-team": "other"}})).settings.model_choice();
    let headers: Vec<_> = choice
        .route
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.expose_secret()))
        .collect();
    assert_eq!(headers, ["x-team: other"]);
    assert!(!format!("{choice:?}").contains("sk-secret"), "{choice:?}");
}

#[test]
fn a_model_may_have_settings_of_its_own_and_a_bad_one_costs_only_itself() {
    let place = Place::new().user(
        "temperature = 0.5\nmax_output_tokens = 9\ncontext_tokens = 1000\n\n[models.\"qwen*\"]\ntext_calls = true\n\
         temperature = 3\nmodel = 'x'\nguded = 'on'\nmax_output_tokens = 7\n\n[models.other]\nwindow = 4096\n\
         context_tokens = 500\nprice = { input = 1, output = 2.5 }\n",
    );
    place.check_editor(
        json!({"models": {"qwen3": {"guided": "on"}}}),
        expect![[r#"
            max_output_tokens = 9 ($/config/askls/config.toml)
            temperature = 0.5 ($/config/askls/config.toml)
            context_tokens = 1000 ($/config/askls/config.toml)
            models = other, qwen* ($/config/askls/config.toml)
            ! $/config/askls/config.toml:7:1: temperature must be a number from 0 to 2, not 3
            ! $/config/askls/config.toml:8:1: model cannot be set for single models: write it above the first [table] line
            ! $/config/askls/config.toml:9:1: there is no setting guded; did you mean guided?
            ! editor settings, models: models is ignored here: it can only be set in your own settings file
        "#]],
    );
    let settings = place.load().settings;
    let tunings = settings.model_choice().tunings;
    let of = |model: &str| {
        let tuning = tunings.of(model);
        let tokens = tuning.max_output_tokens.map(|tokens| tokens.0);
        (
            tokens,
            tuning.temperature.map(|number| number.0),
            tuning.text_calls,
            tuning.window.map(|window| window.0),
        )
    };
    assert_eq!(of("qwen3:8b"), (Some(7), Some(0.5), Some(true), None));
    assert_eq!(of("other"), (Some(9), Some(0.5), None, Some(4096)));
    assert_eq!(settings.limits_for("other").context_tokens, Some(500));
    assert_eq!(settings.limits().context_tokens, Some(1000));
}

#[test]
fn a_broken_line_in_a_table_costs_only_itself() {
    Place::new().user("[models.a]\nwindow = 1000\nprice = sk-secret\n[models.b]\nwindow = 2000\n").check(expect![[r#"
        models = a, b ($/config/askls/config.toml)
        ! $/config/askls/config.toml:3:9: this line is not valid TOML and is not used: price must be dollars per million tokens, such as { input = 1.25, output = 10 } (cached and cache_write may be added)
    "#]]);
}

#[test]
fn the_settings_of_a_request_are_checked_by_their_bounds() {
    Place::new()
        .user(
            "max_output_tokens = 0\ntemperature = 2.1\nparallel_tool_calls = 'yes'\nreasoning_effort = 'lots'\n\
             tool_choice = 'two words'\nmax_attempts = 101\nretry_wait = 0\nmax_retry_wait = nan\nidle_timeout = 0.3\n\
             auth_header = 'content-type'\nproxy = 'user:sk-secret@host'\nca_file = 'relative.pem'\nprice = { input = 1 }\n\
             guided = true\nreply_timeout = 86401\n",
        )
        .check(expect![[r#"
            idle_timeout = 0.3 ($/config/askls/config.toml)
            ! $/config/askls/config.toml:1:1: max_output_tokens must be a whole number from 1 to 100000000, not 0
            ! $/config/askls/config.toml:2:1: temperature must be a number from 0 to 2, not 2.1
            ! $/config/askls/config.toml:3:1: parallel_tool_calls must be true or false, not "yes"
            ! $/config/askls/config.toml:4:1: reasoning_effort must be one of none, minimal, low, medium, high, xhigh, max, not "lots"
            ! $/config/askls/config.toml:5:1: tool_choice must be auto, none, required, or the name of a tool, not "two words"
            ! $/config/askls/config.toml:6:1: max_attempts must be a whole number from 1 to 100, not 101
            ! $/config/askls/config.toml:7:1: retry_wait must be a number of seconds from 0.001 to 86400, not 0
            ! $/config/askls/config.toml:8:1: max_retry_wait must be a number of seconds from 0.001 to 86400, not nan
            ! $/config/askls/config.toml:10:1: auth_header must be the name of a header such as x-api-key, and not content-type or host
            ! $/config/askls/config.toml:11:1: proxy must be none, or an address that begins with http:// or https://
            ! $/config/askls/config.toml:12:1: ca_file must be the absolute path of a file, or one that begins with ~/, not "relative.pem"
            ! $/config/askls/config.toml:13:1: price must be dollars per million tokens, such as { input = 1.25, output = 10 } (cached and cache_write may be added), not { input = 1 }
            ! $/config/askls/config.toml:14:1: guided must be one of auto, on, off, not true
            ! $/config/askls/config.toml:15:1: reply_timeout must be a number of seconds from 0.001 to 86400, not 86401
        "#]]);
}

#[test]
fn what_is_set_about_requests_reaches_them() {
    let settings = Place::new()
        .user(
            "max_attempts = 2\nretry_wait = 0.05\nmax_retry_wait = 7\ntool_choice = 'read_file'\nreply_timeout = 1.5\n\
             auth_header = 'X-Api-Key'\nproxy = 'http://me:sk-secret@proxy:3128'\n",
        )
        .load()
        .settings;
    assert_eq!(settings.first_tool(), FirstTool::Named("read_file".to_owned()));
    expect![[r#"
        RetryPolicy {
            max_attempts: 2,
            first_wait: 50ms,
            longest_wait: 30s,
            longest_server_wait: 7s,
        }
    "#]]
    .assert_debug_eq(&settings.retries());
    let choice = settings.model_choice();
    assert_eq!(choice.reply_timeout, Some(Duration::from_millis(1500)));
    expect![[r#"
        Route {
            key_header: Some(
                "x-api-key",
            ),
            headers: [],
            query: [],
            proxy: Url(http://proxy:3128),
            certificates: None,
        }
    "#]]
    .assert_debug_eq(&choice.route);
    let proxy = settings.shown().into_iter().find(|shown| shown.name == "proxy").unwrap();
    assert_eq!(proxy.value, "http://proxy:3128");
}

#[test]
fn a_file_of_certificates_that_cannot_be_read_ends_the_ask() {
    let place = Place::new().user("ca_file = '~/missing.pem'");
    let reason = place.load().settings.model_choice().unusable.unwrap();
    assert!(
        reason.contains("config.toml: ca_file ") && reason.contains("missing.pem cannot be read: "),
        "{reason}"
    );
    let place = place.write("missing.pem", b"-----BEGIN");
    let choice = place.load().settings.model_choice();
    assert_eq!((choice.unusable, choice.route.certificates.unwrap().pem.len()), (None, 10));
}

#[test]
fn a_project_may_not_choose_the_way_of_a_request() {
    Place::new()
        .project(
            "headers = { a = 'b', c = 'd' }\nquery = { a = 'b' }\nproxy = 'http://evil.example'\nca_file = '/evil.pem'\n\
             auth_header = 'x'\nprice = { input = 0, output = 0 }\nstore = true\ntext_calls = true\n\
             max_attempts = 7\nmax_retry_wait = 121\nreasoning_effort = 'low'\n[models.x]\nstore = true\n",
        )
        .check(expect![[r#"
            ! $/project/.askls/config.toml:1:1: headers is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:2:1: query is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:3:1: proxy is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:4:1: ca_file is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:5:1: auth_header is ignored in a project's file, since it could send your key and your files elsewhere: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:6:1: price is ignored in a project's file, since it could make a turn look cheaper than it is: set it in your own settings file, or list the project's folder in trusted_folders there
            ! $/project/.askls/config.toml:7:1: store is ignored here: a project may only make it stricter, and without this line it is false
            ! $/project/.askls/config.toml:8:1: text_calls is ignored here: a project may only make it stricter, and without this line it is true for a server on this machine, else false
            ! $/project/.askls/config.toml:9:1: max_attempts is ignored here: a project may only make it stricter, and without this line it is 6
            ! $/project/.askls/config.toml:10:1: max_retry_wait is ignored here: a project may only make it stricter, and without this line it is 120
            ! $/project/.askls/config.toml:11:1: reasoning_effort is ignored here: a project may only make it stricter, and without this line it is as the server has it
            ! $/project/.askls/config.toml:12:2: models is ignored here: it can only be set in your own settings file
        "#]]);
}

#[test]
fn editor_settings_that_are_no_object_are_told() {
    Place::new().check_editor(
        json!(["model"]),
        expect![[r#"
            ! editor settings: must be an object with one member for each setting, such as {"max_steps": 20}
        "#]],
    );
    Place::new().check_editor(json!({"askls": null}), expect![""]);
    Place::new().check_editor(json!([]), expect![""]);
    Place::new().check_editor(json!(null), expect![""]);
}

#[test]
fn every_setting_is_in_the_schema_and_in_the_list() {
    let schema: Value = serde_json::from_str(&schema::json_schema()).unwrap();
    let mut in_schema: Vec<_> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut in_list: Vec<_> = schema::KEYS.iter().map(|key| key.name).collect();
    in_schema.sort_unstable();
    in_list.sort_unstable();
    assert_eq!(in_schema, in_list);
}

/// `UPDATE_EXPECT=1 cargo test` writes it.
#[test]
fn the_shipped_schema_is_up_to_date() {
    expect_test::expect_file!["../../settings.schema.json"].assert_eq(&schema::json_schema());
}

#[test]
fn a_name_that_is_set_twice_is_told_with_both_lines_and_which_one_is_used() {
    Place::new()
        .user(
            "edits = 'apply'\nmodel = 'a'\nmodel = 'b'\nedits.x = 1\nprice = { input = 1, output = 2, input = 3 }\n\
             # from here on, tables\n[models.a]\nwindow = 1000\nwindow = 2000\n[models.'a b']\nwindow = 1\n\
             [models.a]\nwindow = 3000\ntemperature = 1\n[models]\nb.window = 7\nb.window = 8\na.store = true\n",
        )
        .check(expect![[r#"
            model = a ($/config/askls/config.toml)
            price = { input = 1, output = 2 } ($/config/askls/config.toml)
            models = a, a b, b ($/config/askls/config.toml)
            edits = apply ($/config/askls/config.toml)
            ! $/config/askls/config.toml:3:1: model is set twice, in lines 2 and 3: remove one of them
            ! $/config/askls/config.toml:4:1: edits.x cannot be set beside edits, in lines 1 and 4; line 1 is used: remove one of them
            ! $/config/askls/config.toml:5:34: price.input is set twice, in line 5; the first is used: remove one of them
            ! $/config/askls/config.toml:9:1: models.a.window is set twice, in lines 8 and 9; line 8 is used: remove one of them
            ! $/config/askls/config.toml:12:2: [models.a] stands twice, in lines 7 and 12; both are used: make them one table
            ! $/config/askls/config.toml:13:1: models.a.window is set twice, in lines 8 and 13; line 8 is used: remove one of them
            ! $/config/askls/config.toml:17:1: models.b.window is set twice, in lines 16 and 17; line 16 is used: remove one of them
            ! $/config/askls/config.toml:18:1: models.a.store cannot be set beside [models.a], in lines 12 and 18; line 12 is used: remove one of them
        "#]]);
}

#[test]
fn which_of_two_lines_is_used_is_told_as_it_is() {
    for (text, used) in [
        ("max_attempts = 1\nmax_attempts = 2", "line 1 is used"),
        ("max_attempts = 1\n\"max_attempts\" = 2", "line 1 is used"),
        ("max_attempts = 1\n[max_attempts]", "line 2 is used"),
        ("[max_attempts]\n[max_attempts]", "both are used"),
        ("models = 1\n[models.a]\nwindow = 5", "line 1 is used"),
        ("models = 1\nmodels.a.window = 5", "line 1 is used"),
        ("models.a.window = 5\nmodels = 1", "line 1 is used"),
        ("models.a.window = 5\n[models]\nb.window = 6", "both are used"),
        ("models = { a = { window = 5 } }\n[models]\nb.window = 6", "both are used"),
        ("models = { a = { window = 5 } }\nmodels.b.window = 6", "line 1 is used"),
        ("models = { a = { window = 5 },\n a = { window = 6 } }", "line 1 is used"),
    ] {
        let loaded = Place::new().user(text).load();
        let told = loaded.warnings.first().expect(text).to_string();
        assert!(told.contains(used), "{text}\n{told}");
        let set: BTreeMap<_, _> =
            loaded.settings.shown().into_iter().map(|shown| (shown.name, shown.value)).collect();
        let windows = |model| loaded.settings.tunings().of(model).window.map(|window| window.0);
        let found = (set["max_attempts"].as_str(), windows("a"), windows("b"));
        let expected = match (text.contains("max_attempts"), used) {
            (true, "line 1 is used") => ("1", None, None),
            (true, _) => ("6", None, None),
            (false, "both are used") => ("6", Some(5), Some(6)),
            (false, _) if text.starts_with("models = 1") => ("6", None, None),
            (false, _) => ("6", Some(5), None),
        };
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_decides_where_data_goes_and_stands_twice_holds_every_ask_up() {
    for (text, message) in [
        (
            "base_url = 'http://a/v1'\nbase_url = 'http://b/v1'",
            "2:1: base_url is set twice, in lines 1 and 2",
        ),
        ("wire = 'chat'\n\n'wire' = 'chat'", "3:1: wire is set twice, in lines 1 and 3"),
        ("[headers]\na = '1'\n[headers]\nb = '2'", "3:2: [headers] is set twice, in lines 1 and 3"),
        ("query = { a = '1' }\n[query]", "2:2: [query] is set twice, in lines 1 and 2"),
        (
            "query.a = '1'\nquery.b = '2'\n[query]\na = '3'",
            "3:2: [query] cannot be set beside query.a, in lines 1 and 3",
        ),
        ("query = { a = '1', a = '2' }", "1:20: query.a is set twice, in line 1: remove"),
        ("[query]\na.b = '1'\na = '2'", "3:1: query.a cannot be set beside query.a.b, in lines 2 and 3"),
        ("[headers]\nX-Team = 'a'\nx-team = 'b'", "3:1: headers holds x-team twice"),
        ("proxy = 'none'\nproxy.x = 1", "2:1: proxy.x cannot be set beside proxy, in lines 1 and 2"),
    ] {
        let place = Place::new().user(text);
        let unusable = place.load().settings.model_choice().held_up().unwrap_or_default();
        assert!(unusable.contains(message), "{text}\n{unusable}");
        assert!(unusable.contains(": remove one of them; nothing is sent"), "{unusable}");
    }
    let overridden = Place::new().user("base_url = 'http://a/v1'\nbase_url = 'http://b/v1'");
    let overridden = overridden.variable("ASKLS_BASE_URL", "http://localhost:1/v1");
    assert_eq!(overridden.load().settings.model_choice().held_up(), None);
    let untrusted = Place::new().project("base_url = 'http://a/v1'\nbase_url = 'http://b/v1'");
    assert_eq!(untrusted.load().settings.model_choice().held_up(), None);
}

#[test]
fn a_setting_below_the_header_of_another_table_is_told_where_it_belongs() {
    let place = Place::new().user(
        "[models.'m*']\nmax_steps = 3\nwindow = 9\nbase_url = 'http://a/v1'\n[query]\napprovals = 'none'\n",
    );
    place.check(expect![[r#"
        query = approvals ($/config/askls/config.toml)
        models = m* ($/config/askls/config.toml)
        ! $/config/askls/config.toml:2:1: max_steps cannot be set for single models: write it above the first [table] line
        ! $/config/askls/config.toml:4:1: base_url cannot be set for single models: write it above the first [table] line
        ! $/config/askls/config.toml:6:1: approvals stands below [query] and is taken for a part of it: write approvals above the first [table] line
    "#]]);
    check_unusable(
        &place,
        json!(null),
        expect![
            "$/config/askls/config.toml:2:1: max_steps cannot be set for single models: write it above the first [table] line"
        ],
    );
    check_unusable(
        &Place::new().user("[query]\na = '1'\nbase_url = 'http://a/v1'"),
        json!(null),
        expect![
            "$/config/askls/config.toml:3:1: base_url stands below [query] and is taken for a part of it: write base_url above the first [table] line"
        ],
    );
    check_unusable(
        &Place::new().user("[askls]\nbase_url = 'http://a/v1'"),
        json!(null),
        expect!["$/config/askls/config.toml:1:2: settings stand in no table here: remove the line [askls]"],
    );
    Place::new().user("models.a = 3\n[askls]\nmodel = 'm'\n").check_editor(
        json!({"server": {"model": "m"}}),
        expect![[r#"
            ! $/config/askls/config.toml:1:8: models."a" must be a table, such as { temperature = 0.2 }
            ! $/config/askls/config.toml:2:2: settings stand in no table here: remove the line [askls]
            ! editor settings, server: there is no setting server: write model beside it, not inside
        "#]],
    );
}

#[test]
fn what_decides_where_data_goes_is_seen_in_any_table_and_spelling() {
    for (text, message) in [
        ("[models]\nbase_url = 'http://a/v1'", "2:1: base_url stands below [models]"),
        ("[models.a]\nbaseUrl = 'http://a/v1'", "2:1: there is no setting baseUrl; did you mean base_url?"),
        ("[models.a]\n[models.a.headers]\nx = 'y'", "2:11: headers cannot be set for single models"),
        ("[headers]\nproxy = 'none'", "2:1: proxy stands below [headers]"),
    ] {
        let unusable = Place::new().user(text).load().settings.model_choice().held_up().unwrap_or_default();
        assert!(unusable.contains(message), "{text}\n{unusable}");
    }
}

#[test]
fn each_line_that_is_not_valid_toml_is_told_once() {
    Place::new()
        .user("max_steps = 3\nmodel = sk-secret x\nedits propose\n[models.\"\nwindow = 1\n")
        .check(expect![[r#"
            max_steps = 3 ($/config/askls/config.toml)
            ! $/config/askls/config.toml:2:9: this line is not valid TOML and is not used: text stands in quotes: write model = "…"
            ! $/config/askls/config.toml:3:7: this line is not valid TOML and is not used: write = between edits and its value
            ! $/config/askls/config.toml:4:10: this line is not valid TOML and is not used: the name of a table stands between [ and ], such as [models."qwen*"]
        "#]]);
}

#[test]
fn a_file_of_nothing_but_faults_sets_nothing_and_is_told_in_few_lines() {
    let broken = Place::new()
        .user(&format!("max_steps = 3\nbase_url = 'http://a/v1'\n{}", "max_steps = 4\n".repeat(101)));
    broken.check(expect![[r#"
        ! $/config/askls/config.toml: nothing in this file is used: it has more than 100 lines that are not valid TOML
    "#]]);
    assert!(broken.load().settings.model_choice().unusable.is_some());
    let many: String = (0..500).map(|number| format!("[models.m{number}]\nwindow = 1000\n")).collect();
    Place::new().project(&many).check(expect![[r#"
        ! $/project/.askls/config.toml: nothing in this file is used: it sets more than 1000 names
    "#]]);
    let unknown: String = (0..25).map(|number| format!("qqq{number} = 1\n")).collect();
    let loaded = Place::new().project(&unknown).load();
    assert_eq!(loaded.warnings.len(), 21);
    assert!(loaded.warnings[20].to_string().ends_with(": 5 more warnings about this file are not shown"));
}

#[test]
fn a_folder_is_trusted_by_its_whole_path_only() {
    Place::new().user("trusted_folders = ['.']").check(expect![[r#"
        ! $/config/askls/config.toml:1:1: trusted_folders must be a list of absolute paths, or paths that begin with ~/, such as ["~/work"], not ["."]
    "#]]);
}
