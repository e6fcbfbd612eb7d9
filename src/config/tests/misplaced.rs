//! Settings that stand where they set nothing.

use super::*;

// SPEC L13
#[test]
fn a_bound_inside_any_table_holds_every_ask_up() {
    for (text, message) in [
        (
            "[limits]\nmax_tool_calls = 1",
            "1:2: there is no table limits: write max_tool_calls above the first [table] line and remove [limits]",
        ),
        (
            "model = 'm'\nlimits.max_tool_calls = 1",
            "2:1: there is no table limits: write max_tool_calls above the first [table] line, not inside limits",
        ),
        (
            "limits = { turn_timeout = 5, max_steps = 3 }",
            "1:1: there is no table limits: write turn_timeout, max_steps above the first [table] line, not inside limits",
        ),
        ("[limits.of.a.turn]\nmax_cost = 1", "1:2: there is no table limits: write max_cost above"),
        ("[[limits]]\nmaxCost = 1", "1:3: there is no table limits: write max_cost above"),
        ("limits = [{ max_turn_token = 9 }]", "1:1: there is no table limits: write max_turn_tokens above"),
        ("[[models]]\nmax_cost = 1", "2:1: max_cost stands below [models] and is taken for a part of it"),
        ("[models.a.limits]\nmax_cost = 1", "1:11: there is no table limits: write max_cost above"),
        ("[models.a]\nmax_cost = 1", "2:1: max_cost cannot be set for single models"),
        (
            "[price]\ninput = 1\noutput = 2\nmax_cost = 1",
            "4:1: max_cost stands below [price] and is taken for a part of it: write max_cost above the first [table] line",
        ),
        (
            "price = { input = 1, output = 2, max_cost = 1 }",
            "1:34: max_cost stands inside price and is taken for a part of it: write max_cost on a line of its own",
        ),
        ("models.a.price = { input = 1, max_cost = 1 }", "1:31: max_cost stands inside price"),
        ("[edits]\nmax_steps = 3", "2:1: max_steps stands below [edits]"),
        ("[headers]\nmax_cost = 1", "2:1: max_cost stands below [headers]"),
        ("[headers.x]\nmax_cost = 1", "2:1: max_cost stands below [headers]"),
        ("[a.b]\nproxy = 'none'", "1:2: there is no table a: write proxy above"),
    ] {
        let unusable = Place::new().user(text).load().settings.model_choice().held_up().unwrap_or_default();
        assert!(unusable.contains(message), "{text}\n{unusable}");
    }
}

#[test]
fn the_same_holds_in_an_editor() {
    for (editor, message) in [
        (
            json!({"limits": {"max_tool_calls": 1}}),
            "editor settings, limits: there is no setting limits: write max_tool_calls beside it, not inside",
        ),
        (
            json!({"askls": {"limits": [{"turn": {"maxCost": 1}}]}}),
            "there is no setting limits: write max_cost",
        ),
        (
            json!({"price": {"input": 1, "output": 2, "max_cost": 1}}),
            "editor settings, price.max_cost: max_cost stands inside price and is taken for a part of it: write max_cost beside price",
        ),
        (
            json!({"models": {"max_cost": 1}}),
            "editor settings, models.max_cost: max_cost stands inside models",
        ),
        (
            json!({"edits": {"max_steps": 1}}),
            "editor settings, edits.max_steps: max_steps stands inside edits",
        ),
        (json!({"headers": {"max_cost": "1"}}), "max_cost stands inside headers"),
    ] {
        let settings = Place::new().load().settings.with_editor(&editor).settings;
        let unusable = settings.model_choice().held_up().unwrap_or_default();
        assert!(unusable.contains(message), "{editor}\n{unusable}");
    }
}

#[test]
fn what_is_nobodys_setting_holds_nothing_up() {
    for editor in [
        json!({"limits": {"max_tool_calls": null}}),
        json!({"completion": {"timeout": 5, "url": "x", "steps": 3}}),
        json!({"headers": {"proxy": "a"}}),
    ] {
        let settings = Place::new().load().settings.with_editor(&editor).settings;
        assert_eq!(settings.model_choice().held_up(), None, "{editor}");
    }
    let project = Place::new().project("[limits]\nmax_cost = 1").load();
    assert_eq!(project.settings.model_choice().held_up(), None);
}

#[test]
fn a_part_that_a_price_does_not_have_is_named_and_what_is_lost_with_it() {
    Place::new()
        .user("[price]\ninput = 1\noutput = 2\ncahced = 0.5\ncurrency = '€'\n[models.a]\nprice = { input = 1, outptu = 2 }\nwindow = 9\n")
        .check(expect![[r#"
            price = { input = 1, output = 2 } ($/config/askls/config.toml)
            models = a ($/config/askls/config.toml)
            ! $/config/askls/config.toml:4:1: price has no part cahced (did you mean cached?); the rest of it is used
            ! $/config/askls/config.toml:5:1: price has no part currency (its parts are input, output, cached, cache_write); the rest of it is used
            ! $/config/askls/config.toml:7:22: price has no part outptu (did you mean output?); nothing of it is used
        "#]]);
    Place::new()
        .user("[price]\ninput = 1\noutput = '2'\n")
        .check_editor(json!({"price": {"input": 1}}), expect![[r#"
            ! $/config/askls/config.toml:1:2: price must be dollars per million tokens, such as { input = 1.25, output = 10 } (cached and cache_write may be added), not { input = 1, output = "2" }
            ! editor settings, price: price must be dollars per million tokens, such as { input = 1.25, output = 10 } (cached and cache_write may be added), not {"input":1}
        "#]]);
}

#[test]
fn an_empty_text_is_a_content_where_it_can_be_one() {
    Place::new().user("null_content = ''\nmodel = ''\n[models.a]\nnull_content = ''").check_editor(
        json!({"null_content": ""}),
        expect![[r#"
            null_content = empty_string ($/config/askls/config.toml)
            models = a ($/config/askls/config.toml)
        "#]],
    );
}

#[test]
fn a_bound_that_is_no_number_is_never_left_out() {
    for (text, message) in [
        (
            "max_steps = '5'",
            "1:1: max_steps must be a whole number from 1 to 10000, not \"5\"; nothing is sent",
        ),
        (
            "max_steps = 0",
            "not 0; nothing is sent anywhere until this is fixed, since max_steps is a limit that you set",
        ),
        ("max_cost = $1", "1:12: this line is not valid TOML and is not used: max_cost must be"),
        (
            "checkpoints = True\nturn_timeout = 30s",
            "2:16: this line is not valid TOML and is not used: turn_timeout must be",
        ),
        (
            "max_cost = 1\nmodel = \"\"\"m\nmax_steps = 5\n",
            "a text that begins with three quotes is not closed",
        ),
        (
            "[limits]\nturn_timeout = 30s",
            "2:16: this line is not valid TOML and is not used: turn_timeout must be",
        ),
    ] {
        let unusable = Place::new().user(text).load().settings.model_choice().held_up().unwrap_or_default();
        assert!(unusable.contains(message), "{text}\n{unusable}");
    }
}

#[test]
fn what_an_ask_ends_with_is_no_warning_beside_it() {
    let loaded = Place::new().user("max_steps = 0\nmodle = 'x'\nmax_cost = 0\n").load();
    let shown: Vec<_> = loaded.warnings_beside_error().map(|warning| warning.message.clone()).collect();
    assert_eq!(
        shown,
        [
            "there is no setting modle; did you mean model?",
            "max_cost must be a number of dollars from 0.0001 to 1000000, not 0",
        ]
    );
}

#[test]
fn the_name_of_an_option_leads_to_the_setting_of_that_option() {
    for (text, message) in [
        ("timeout = 3", "there is no setting timeout; did you mean turn_timeout?"),
        ("max-tokens = 3", "there is no setting max-tokens; did you mean max_turn_tokens?"),
        ("approve = 'none'", "there is no setting approve; did you mean approvals?"),
    ] {
        let loaded = Place::new().user(text).load();
        assert_eq!(loaded.warnings[0].message, message);
        assert!(loaded.settings.model_choice().held_up().is_some(), "{text}");
    }
    // A hook has a part of that name.
    let loaded = Place::new().user("[[hooks]]\non = 'input'\ncommand = ['true']\ntimeout = 3\n").load();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}
