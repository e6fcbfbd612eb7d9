//! What a project that somebody else made can do with its settings file.

use super::*;

#[cfg(unix)]
mod links {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    impl Place {
        /// Makes a link in the place's folder.
        fn link(self, path: &str, to: impl AsRef<Path>) -> Self {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(to, path).unwrap();
            self
        }
    }

    #[test]
    fn a_settings_file_of_a_project_that_leads_out_of_it_is_not_read() {
        let elsewhere = || Place::new().write("elsewhere/config.toml", b"max_steps = 3\n");
        let told = || {
            expect![[r#"
                ! $/project/.askls/config.toml: nothing in this file is used: it is a link that leads out of the project: put the file itself into the project, or list the project's folder in trusted_folders of your own settings file
            "#]]
        };
        elsewhere().link("project/.askls/config.toml", "../../elsewhere/config.toml").check(told());
        elsewhere().link("project/.askls", "../elsewhere").check(told());
    }

    #[test]
    fn a_settings_file_of_a_project_may_be_a_link_inside_of_it_or_lead_nowhere() {
        let inside = Place::new().write("project/shared.toml", b"max_steps = 3\n");
        inside.link("project/.askls/config.toml", "../shared.toml").check(expect![[r#"
            max_steps = 3 ($/project/.askls/config.toml)
        "#]]);
        Place::new().link("project/.askls/config.toml", "gone.toml").check(expect![""]);
    }

    #[test]
    fn a_trusted_project_may_have_its_settings_elsewhere() {
        let place = Place::new().write("elsewhere.toml", b"max_steps = 3\n");
        let place = place.link("project/.askls/config.toml", "../../elsewhere.toml");
        let trusted = format!("trusted_folders = [{:?}]", place.folder.path().join("project"));
        place.user(&trusted).check(expect![[r#"
            max_steps = 3 ($/project/.askls/config.toml)
            trusted_folders = ["$/project"] ($/config/askls/config.toml)
        "#]]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_has_no_end_and_calls_itself_empty_is_no_settings_file_of_anyone() {
        let place = Place::new().link("config/askls/config.toml", "/proc/self/pagemap");
        let warnings = place.load().warnings;
        assert!(
            warnings[0].message.starts_with("nothing in this file is used: it cannot be read"),
            "{warnings:?}"
        );
        let authorities = Place::new().user("ca_file = '/proc/self/pagemap'").load().settings.model_choice();
        let unusable = authorities.unusable.unwrap();
        assert!(unusable.contains("ca_file /proc/self/pagemap cannot be read"), "{unusable}");
    }
}

#[test]
fn names_in_lists_of_tables_count_too() {
    let told = || {
        expect![[r#"
            ! $/project/.askls/config.toml: nothing in this file is used: it sets more than 1000 names
        "#]]
    };
    Place::new().project(&format!("x = [{}]", "{a = 1}, ".repeat(1_001))).check(told());
    Place::new().project(&"[[x]]\na = 1\n".repeat(1_001)).check(told());
    Place::new().project(&format!("x = [{}]", "[{a = 1}], ".repeat(1_001))).check(told());
}

#[test]
fn a_project_s_lists_are_as_long_as_somebody_writes_them() {
    let rules = |count: usize| format!("deny = [{}]", "'command: rm', ".repeat(count));
    let used = |place: Place| !place.load().settings.policy().rules.deny.is_empty();
    assert!(used(Place::new().project(&rules(1_000))));
    assert!(!used(Place::new().project(&rules(1_001))));
    // Who trusts nobody but themselves may have as many as they like.
    assert!(used(Place::new().user(&rules(1_001))));
}

/// What bounds the requests of the model that is chosen, and its effort.
fn bounds(place: &Place) -> String {
    let settings = place.load().settings;
    let model = settings.model_choice().model.unwrap_or_default();
    let tuning = settings.model_choice().tunings.of(&model);
    let tokens = |tokens: Option<crate::model::tuning::Tokens>| tokens.map(|tokens| tokens.0);
    let context = settings.limits_for(&model).context_tokens;
    format!("{model}: {:?} {context:?} {:?}", tokens(tuning.max_output_tokens), tuning.reasoning_effort)
}

const USER: &str = "model = 'm1'\n[models.m1]\nmax_output_tokens = 500\ncontext_tokens = 9000\n\
                    reasoning_effort = 'low'\n[models.large]\nmax_output_tokens = 900\n[models.small]\n\
                    max_output_tokens = 90\n";

#[test]
fn a_model_that_a_project_chooses_may_have_no_more_than_the_one_of_the_user() {
    let chosen = |model: &str| bounds(&Place::new().user(USER).project(&format!("model = '{model}'")));
    assert_eq!(chosen("m1"), "m1: Some(500) Some(9000) Some(Low)");
    assert_eq!(chosen("other"), "other: Some(500) Some(9000) Some(Low)");
    assert_eq!(chosen("large"), "large: Some(500) Some(9000) Some(Low)");
    assert_eq!(chosen("small"), "small: Some(90) Some(9000) Some(Low)");
}

#[test]
fn a_model_that_the_user_chooses_over_the_project_s_has_what_the_user_says_of_it() {
    let place = Place::new().user(USER).project("model = 'other'").variable("ASKLS_MODEL", "large");
    assert_eq!(bounds(&place), "large: Some(900) None None");
    // Editors name a model with a single ask.
    let tunings = Place::new().user(USER).project("model = 'other'").load().settings.tunings();
    let most = |model| tunings.of(model).max_output_tokens.map(|tokens| tokens.0);
    assert_eq!((most("large"), most("other"), most("other:latest")), (Some(900), Some(500), Some(500)));
}

#[test]
fn where_the_user_names_no_model_the_project_s_may_have_what_the_one_may_that_would_answer() {
    let chosen = |user: &str, key: Option<&'static str>| {
        let place = Place::new().user(user).project("model = 'other'");
        bounds(&key.into_iter().fold(place, |place, key| place.variable(key, "k")))
    };
    let of_services =
        "[models.'gpt-5*']\nmax_output_tokens = 100\n[models.'claude-*']\nmax_output_tokens = 50\n";
    assert_eq!(chosen(of_services, Some("OPENAI_API_KEY")), "other: Some(100) None None");
    assert_eq!(chosen(of_services, Some("ANTHROPIC_API_KEY")), "other: Some(50) None None");
    // Whichever the server lists.
    assert_eq!(chosen(of_services, None), "other: Some(50) None None");
    let listed = format!("base_url = 'https://host.test/v1'\n{of_services}");
    assert_eq!(chosen(&listed, Some("ASKLS_API_KEY")), "other: Some(50) None None");
}

#[test]
fn a_no_of_the_user_to_several_calls_holds_for_the_model_of_a_project_too() {
    let may_call_several = |user: &str| {
        let place = Place::new().user(user).project("model = 'p'\nparallel_tool_calls = true");
        place.load().settings.tunings().of("p").parallel_tool_calls
    };
    let no = "model = 'm'\n[models.m]\nparallel_tool_calls = false\n";
    assert_eq!(may_call_several(no), Some(false));
    assert_eq!(may_call_several("model = 'm'"), Some(true));
    // The user's own word of that model.
    let yes = format!("{no}[models.p]\nparallel_tool_calls = true\n");
    assert_eq!(may_call_several(&yes), Some(true));
}

#[test]
fn the_window_of_the_user_s_model_bounds_requests_to_the_one_of_the_project() {
    let user =
        "model = 'm1'\n[models.m1]\nwindow = 9000\n[models.large]\nwindow = 90000\ncontext_tokens = 20000\n";
    let chosen = |model: &str| bounds(&Place::new().user(user).project(&format!("model = '{model}'")));
    assert_eq!(chosen("other"), "other: None Some(9000) None");
    assert_eq!(chosen("large"), "large: None Some(9000) None");
    assert_eq!(bounds(&Place::new().user(user)), "m1: None None None");
}

#[test]
fn a_project_lets_a_model_think_no_longer_than_the_user_does() {
    Place::new().project("reasoning_effort = 'max'").check(expect![[r#"
        ! $/project/.askls/config.toml:1:1: reasoning_effort is ignored here: a project may only make it stricter, and without this line it is as the server has it
    "#]]);
    Place::new().user("reasoning_effort = 'medium'").project("reasoning_effort = 'low'").check(expect![[
        r#"
        reasoning_effort = low ($/project/.askls/config.toml)
    "#
    ]]);
    Place::new().user("reasoning_effort = 'medium'").project("reasoning_effort = 'high'").check(expect![[r#"
        reasoning_effort = medium ($/config/askls/config.toml)
        ! $/project/.askls/config.toml:1:1: reasoning_effort is ignored here: a project may only make it stricter, and without this line it is medium
    "#]]);
}

#[test]
fn the_choice_of_a_project_counts_as_its_own_only_where_it_is_what_answers() {
    let settings = Place::new().project("model = 'other'").load().settings;
    assert!(settings.limits_for("other").project.has("model"));
    // As Ollama calls it.
    assert!(settings.limits_for("other:latest").project.has("model"));
    assert!(!settings.limits_for("m1").project.has("model"));
}

/// What the settings of the editor bound, where the project chooses the model.
#[test]
fn a_model_that_a_project_chooses_has_no_more_than_the_user_allows_in_the_editor() {
    let user = "model = 'mine'\n[models.p]\nmax_output_tokens = 32000\nreasoning_effort = 'high'\n";
    let place = Place::new().user(user).project("model = 'p'");
    let editor = json!({"max_output_tokens": 100, "reasoning_effort": "low"});
    let settings = place.load().settings.with_editor(&editor).settings;
    let tuning = settings.model_choice().tunings.of("p");
    assert_eq!(tuning.max_output_tokens.map(|tokens| tokens.0), Some(100));
    assert_eq!(tuning.reasoning_effort, Some(crate::model::options::Effort::Low));
    // A model that the editor's user names takes the place of the project's, and of the one of the file.
    let place = Place::new().user(USER).project("model = 'other'");
    let settings = place.load().settings.with_editor(&json!({"model": "large"})).settings;
    let tuning = settings.model_choice().tunings.of("large");
    assert_eq!(tuning.max_output_tokens.map(|tokens| tokens.0), Some(900));
}

#[test]
fn a_user_who_wants_no_network_has_none_whatever_model_a_project_chooses() {
    let is_offline = |place: Place| place.load().settings.model_choice().is_offline();
    for offline in ["offline", "Offline", " offline "] {
        let user = format!("model = '{offline}'\nbase_url = 'https://host.test/v1'\n");
        assert!(is_offline(Place::new().user(&user).project("model = 'm'")), "{offline:?}");
        let trusting = format!("{user}trusted_folders = ['~/project']\n");
        assert!(is_offline(Place::new().user(&trusting).project("model = 'm'")), "{offline:?}");
        let place = Place::new().project("model = 'm'").variable("ASKLS_MODEL", offline);
        assert!(is_offline(place), "{offline:?}");
    }
    Place::new().user("model = 'offline'").project("model = 'm'").check(expect![[r#"
        model = offline ($/config/askls/config.toml)
        ! $/project/.askls/config.toml:1:1: model is ignored here: without this line it is offline, and no project changes that
    "#]]);
    // The user may change their mind in a place that is theirs.
    let place = Place::new().user("model = 'offline'").project("model = 'm'").variable("ASKLS_MODEL", "m2");
    assert_eq!(place.load().settings.model_choice().model.as_deref(), Some("m2"));
}

#[test]
fn a_no_of_the_user_stays_one() {
    let no = "tool_choice = 'none'\nparallel_tool_calls = false\nguided = 'off'\necho_reasoning = false\n";
    let yes = "tool_choice = 'required'\nparallel_tool_calls = true\nguided = 'on'\necho_reasoning = true\n";
    Place::new().user(no).project(yes).check(expect![[r#"
        tool_choice = none ($/config/askls/config.toml)
        parallel_tool_calls = false ($/config/askls/config.toml)
        echo_reasoning = false ($/config/askls/config.toml)
        guided = off ($/config/askls/config.toml)
        ! $/project/.askls/config.toml:1:1: tool_choice is ignored here: without this line it is none, and no project changes that
        ! $/project/.askls/config.toml:2:1: parallel_tool_calls is ignored here: without this line it is false, and no project changes that
        ! $/project/.askls/config.toml:3:1: guided is ignored here: without this line it is off, and no project changes that
        ! $/project/.askls/config.toml:4:1: echo_reasoning is ignored here: without this line it is false, and no project changes that
    "#]]);
    // Where they said nothing, or yes, a project may say either.
    Place::new().project(yes).check(expect![[r#"
        tool_choice = required ($/project/.askls/config.toml)
        parallel_tool_calls = true ($/project/.askls/config.toml)
        echo_reasoning = true ($/project/.askls/config.toml)
        guided = on ($/project/.askls/config.toml)
    "#]]);
    Place::new().user(yes).project(no).check(expect![[r#"
        tool_choice = none ($/project/.askls/config.toml)
        parallel_tool_calls = false ($/project/.askls/config.toml)
        echo_reasoning = false ($/project/.askls/config.toml)
        guided = off ($/project/.askls/config.toml)
    "#]]);
}
