//! What tools show and take of texts with keys in them, and of files that hold secrets by their names.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::tools::testing::Project;
use crate::workspace::{
    TurnFiles,
    keys::{self, Masking},
    outputs::Outputs,
};

const PROJECT: &str = "\
//- /client.py
import os
TOKEN = \"ghp_0123456789abcdefghij\"
USER = \"me\"
//- /fixture.txt
-----BEGIN PRIVATE KEY-----
MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F7V
-----END PRIVATE KEY-----
";

/// The answer, and what is staged after it.
async fn check(tool: &str, arguments: Value, answer: Expect, staged: Expect) {
    let project = Project::new(PROJECT);
    answer.assert_eq(&project.call(tool, arguments).await);
    staged.assert_eq(&project.context.files.proposal().diff());
}

#[tokio::test]
async fn a_file_is_read_without_its_keys() {
    check(
        "read_file",
        json!({"path": "client.py"}),
        expect![[r#"
            client.py (lines 1-3 of 3)
                 1	import os
                 2	TOKEN = "<key hidden by askls>"
                 3	USER = "me"
        "#]],
        expect![""],
    )
    .await;
    // A line of a private key alone does not look like one.
    check(
        "read_file",
        json!({"path": "fixture.txt", "start_line": 2, "end_line": 2}),
        expect![[r#"
            fixture.txt (lines 2-2 of 3)
                 2	<key hidden by askls>
        "#]],
        expect![""],
    )
    .await;
}

#[tokio::test]
async fn a_key_that_would_be_cut_in_two_is_hidden_whole() {
    let project = Project::new("");
    let key = "ghp_0123456789abcdefghij";
    project.write("long.txt", format!("{}{key}", "- ".repeat(995)));
    let read = project.call("read_file", json!({"path": "long.txt"})).await;
    assert!(read.contains("- <key hidd"), "{read}");
    assert!(!read.contains("ghp_"), "{read}");
    project.write("long.txt", format!("{key} {} needle {}{key}", "- ".repeat(95), "- ".repeat(395)));
    let found = project.call("search", json!({"pattern": "needle"})).await;
    assert!(!found.contains("abcdef") && !found.contains("ghp_"), "{found}");
}

// SPEC A9
#[cfg(unix)]
#[tokio::test]
async fn no_part_of_a_key_is_shown_where_an_output_is_cut() {
    let mut project = Project::new("");
    let folder = tempfile::tempdir().unwrap();
    project.settings.outputs = Some(Outputs::new(folder.path().to_owned()));
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    // Each key stands in a line without end, where the head ends, the tail begins, or a page cuts its lines.
    for before in [30_640, 1_990] {
        project.write("long.txt", format!("{}{key}{}", "- ".repeat(before / 2), "- ".repeat(30_000)));
        let answer = project.call("run_command", json!({"command": "cat long.txt"})).await;
        assert!(answer.contains("left out here"), "{answer}");
        let name = answer.split_once("the whole output is ").unwrap().1.split(';').next().unwrap();
        let page = project.call("read_file", json!({"path": name})).await;
        for shown in [&answer, &page] {
            let shown = keys::masked(shown);
            assert!(!shown.contains("ghp_") && !shown.contains("012345"), "{before}: {shown}");
        }
    }
    for behind in [20_460, 20_440, 20_420] {
        project.write("long.txt", format!("{}{key}{}", "- ".repeat(30_000), "- ".repeat(behind / 2)));
        let answer = project.call("run_command", json!({"command": "cat long.txt"})).await;
        let shown = keys::masked(&answer);
        assert!(!shown.contains("ghp_") && !shown.contains("012345"), "{behind}: {shown}");
    }
}

// SPEC A9
#[cfg(unix)]
#[tokio::test]
async fn what_a_command_reads_in_a_file_of_secrets_is_not_printed() {
    let mut project = Project::new("//- /web/.env\nQUEUE_PASS=kP93nfw0XbLq72vRtaYz\n");
    let folder = tempfile::tempdir().unwrap();
    project.settings.outputs = Some(Outputs::new(folder.path().to_owned()));
    for command in [
        "cut -d= -f2 web/.env",
        "printf 'kP93nfw0Xb'; sleep 0.01; printf 'Lq72vRtaYz\\n'",
        "env cat web/.env",
    ] {
        let answer = project.call("run_command", json!({"command": command})).await;
        assert!(!answer.contains("kP93nfw0XbLq72vRtaYz"), "{command}: {answer}");
        assert!(answer.contains("<key hidden by askls>"), "{command}: {answer}");
    }
    // Whoever names it has it.
    let answer = project.call("run_command", json!({"command": "echo kP93nfw0XbLq72vRtaYz"})).await;
    assert!(answer.contains("kP93nfw0XbLq72vRtaYz"), "{answer}");
    let job = json!({"command": "cat web/.env; sleep 27301", "background": true});
    let started = project.call("run_command", job).await;
    assert!(started.contains("QUEUE_PASS=<key hidden by askls>"), "{started}");
    project.call("stop_job", json!({"id": 1})).await;
    let files = TurnFiles::new(project.context.files.workspace().clone()).with_masking(Masking::Off);
    project.context.files = files.into();
    let answer = project.call("run_command", json!({"command": "cat web/.env"})).await;
    assert!(answer.contains("kP93nfw0XbLq72vRtaYz"), "{answer}");
}

#[tokio::test]
async fn a_search_finds_lines_and_shows_no_key() {
    check(
        "search",
        json!({"pattern": "ghp_|MIIE|USER"}),
        expect![[r#"
            client.py:2: TOKEN = "<key hidden by askls>"
            client.py:3: USER = "me"
            fixture.txt:2: <key hidden by askls>
        "#]],
        expect![""],
    )
    .await;
}

#[tokio::test]
async fn a_text_beside_a_key_is_edited_and_the_key_stays() {
    check(
        "edit_file",
        json!({"path": "client.py", "find": "USER = \"me\"", "replace": "USER = \"you\""}),
        expect![[r#"
            edited client.py in 1 place (line 3)
                 1	import os
                 2	TOKEN = "<key hidden by askls>"
                 3	USER = "you"
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        expect![[r#"
            diff --git a/client.py b/client.py
            --- a/client.py
            +++ b/client.py
            @@ -1,3 +1,3 @@
             import os
             TOKEN = "ghp_0123456789abcdefghij"
            -USER = "me"
            +USER = "you"
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_mask_is_never_written_in_the_place_of_a_key() {
    check(
        "edit_file",
        json!({"path": "client.py", "find": "import os", "replace": "TOKEN = \"<key hidden by askls>\""}),
        expect!["error: client.py was not changed: `<key hidden by askls>` in the new text stands for a key that you are not shown, and would take its place in the file; change with edit_file only text before and after it, and leave it out of find and replace; where a key has to move or to change, say so to the user"],
        expect![""],
    )
    .await;
    check(
        "edit_file",
        json!({"path": "client.py", "find": "TOKEN = \"<key hidden by askls>\"", "replace": "TOKEN = None"}),
        expect![[r#"
            error: client.py was not edited: the text to find is not in the file, and nothing in it is near; read the file again and copy the text from there
            (`<key hidden by askls>` stands for a key that you are not shown: change with edit_file only text before and after it, and leave it out of find and replace; where a key has to move or to change, say so to the user)"#]],
        expect![""],
    )
    .await;
    check(
        "apply_patch",
        json!({"input": "*** Begin Patch\n*** Update File: client.py\n@@\n import os\n-TOKEN = \"<key hidden by askls>\"\n+KEY = \"<key hidden by askls>\"\n*** End Patch\n"}),
        expect![[r#"
            error: nothing of the patch was applied: the hunk at line 3 of the patch does not fit client.py: the text to find is not in the file; the nearest is at lines 1-2:
            1: import os
            2: TOKEN = "<key hidden by askls>"
            line 2 is `TOKEN = "<key hidden by askls>"`, not `TOKEN = "<key hidden by askls>"` (the first difference)
            (`<key hidden by askls>` stands for a key that you are not shown: change with edit_file only text before and after it, and leave it out of find and replace; where a key has to move or to change, say so to the user)"#]],
        expect![""],
    )
    .await;
    check(
        "write_file",
        json!({"path": "copy.py", "text": "TOKEN = \"<key hidden by askls>\"\n"}),
        expect!["error: copy.py was not changed: `<key hidden by askls>` in the new text stands for a key that you are not shown, and would take its place in the file; change with edit_file only text before and after it, and leave it out of find and replace; where a key has to move or to change, say so to the user"],
        expect![""],
    )
    .await;
}

#[tokio::test]
async fn what_an_error_quotes_of_a_file_has_no_key() {
    let answer = Project::new(PROJECT)
        .call("edit_file", json!({"path": "fixture.txt", "find": "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MbzYLdZ7ZvVy7F8W", "replace": "x"}))
        .await;
    assert!(answer.starts_with("error: ") && !answer.contains("ZvVy7F7V"), "{answer}");
}

#[tokio::test]
async fn who_switches_masks_off_is_shown_everything() {
    let mut project = Project::new(PROJECT);
    let files = TurnFiles::new(project.context.files.workspace().clone()).with_masking(Masking::Off);
    project.context.files = files.into();
    let read = project.call("read_file", json!({"path": "client.py", "start_line": 2, "end_line": 2})).await;
    assert_eq!(read, "client.py (lines 2-2 of 3)\n     2\tTOKEN = \"ghp_0123456789abcdefghij\"\n");
}

/// Every way to a secret: what is written for it in a call.
const SECRETS: [&str; 12] = [
    ".env",
    "a/../.env",
    "deploy/.env.production",
    "deploy/.ENV.bak",
    "certs/server.pem",
    ".ssh/id_ed25519",
    "credentials.json",
    "link.txt",
    "open.env",
    "new/.env",
    "untitled:/p/.env",
    "git:/p/.env?HEAD",
];

#[cfg(unix)]
fn secrets() -> Project {
    let project = Project::new("//- /a.txt\nplain\n//- /a/b.txt\nplain\n");
    for path in [
        ".env",
        "deploy/.env.production",
        "deploy/.ENV.bak",
        "certs/server.pem",
        ".ssh/id_ed25519",
        "credentials.json",
        "open.env",
    ] {
        project.write(path, "hush-hush\n");
    }
    std::os::unix::fs::symlink(".env", project.path("link.txt")).unwrap();
    project.open("open.env", "hush-hush, typed\n");
    project.open(".env", "hush-hush, typed\n");
    let overlay = project.context.files.workspace().overlay();
    for uri in ["untitled:/p/.env", "git:/p/.env?HEAD"] {
        overlay.open(uri, "text", 1, "hush-hush\n".to_owned());
    }
    project
}

// SPEC A9
#[cfg(unix)]
#[tokio::test]
async fn no_tool_reads_or_changes_what_holds_secrets_by_its_name() {
    for path in SECRETS {
        let patch = |body: &str| json!({"input": format!("*** Begin Patch\n{body}\n*** End Patch\n")});
        let calls = [
            ("read_file", json!({"path": path})),
            ("search", json!({"pattern": "hush", "path": path})),
            ("list_files", json!({"path": path})),
            ("edit_file", json!({"path": path, "find": "hush", "replace": "told"})),
            ("write_file", json!({"path": path, "text": "told\n"})),
            ("delete_file", json!({"path": path})),
            ("move_file", json!({"from": path, "to": "told.txt"})),
            ("move_file", json!({"from": "a.txt", "to": path})),
            ("apply_patch", patch(&format!("*** Update File: {path}\n@@\n-hush-hush\n+told"))),
            ("apply_patch", patch(&format!("*** Add File: {path}\n+told"))),
            ("apply_patch", patch(&format!("*** Delete File: {path}"))),
            (
                "apply_patch",
                patch(&format!("*** Update File: a.txt\n*** Move to: {path}\n@@\n-plain\n+told")),
            ),
        ];
        for (tool, arguments) in calls {
            let project = secrets();
            let answer = project.call(tool, arguments).await;
            assert!(
                answer.starts_with("error: ") && answer.contains("may hold secrets"),
                "{tool} {path}: {answer}"
            );
            assert!(!answer.contains("hush-hush"), "{tool} {path}: {answer}");
            assert!(project.context.files.proposal().is_empty(), "{tool} {path}");
        }
    }
}

// SPEC A9
#[cfg(unix)]
#[tokio::test]
async fn secrets_are_listed_by_name_and_never_searched() {
    let project = secrets();
    let found = project.call("search", json!({"pattern": "hush|plain"})).await;
    assert_eq!(found, "a/b.txt:1: plain\na.txt:1: plain\n");
    let listed = project.call("list_files", json!({"hidden": true})).await;
    assert!(listed.contains("certs/server.pem\n") && !listed.contains("hush"), "{listed}");
}
