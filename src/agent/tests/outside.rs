//! Calls that lead out of the workspace, from the question to what the model gets.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::{
    agent::approval::Outside,
    tools::{list_files::ListFiles, read_file::ReadFile, write_file::WriteFile},
};

/// Keeps each question in words, answers it, and may do something first.
struct Asked {
    answer: Answer,
    said: Mutex<Vec<String>>,
    meanwhile: Box<dyn Fn() + Send + Sync>,
}

impl Approver for Asked {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        let kept = question.kept_in_words().map(|kept| format!(" [{kept}]")).unwrap_or_default();
        let said = format!("{}\n  to {}, since {}{kept}", question.preview, question.wish(), question.why);
        self.said.lock().unwrap().push(said);
        (self.meanwhile)();
        std::future::ready(self.answer.clone()).boxed()
    }
}

struct Scene {
    _folder: tempfile::TempDir,
    folder: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().canonicalize().unwrap();
        fs::create_dir(folder.join("project")).unwrap();
        fs::write(folder.join("beside.txt"), "beside\n").unwrap();
        fs::write(folder.join("other.txt"), "other\n").unwrap();
        symlink(folder.join("beside.txt"), folder.join("project/link.txt")).unwrap();
        Self { _folder: scratch, folder }
    }

    /// The questions, then the history; `$` is the folder that holds the project.
    async fn run(
        &self,
        calls: &[(&str, Value)],
        answer: Answer,
        meanwhile: impl Fn() + Send + Sync + 'static,
    ) -> String {
        let named = |text: String| text.replace('$', &self.folder.display().to_string());
        let mut script: Vec<Step> = calls
            .iter()
            .enumerate()
            .map(|(id, (tool, arguments))| {
                reply([call(&id.to_string(), tool, &named(arguments.to_string()))])
            })
            .collect();
        script.push(reply([text("done")]));
        let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
        let settings = crate::tools::ToolSettings::default();
        bench.agent.tools = Toolbox::default().with(ReadFile::new(&settings)).with(ListFiles).with(WriteFile);
        bench.agent.policy.outside = Outside::Ask;
        let asked = Arc::new(Asked { answer, said: Mutex::default(), meanwhile: Box::new(meanwhile) });
        let workspace = Arc::new(Workspace::new(vec![self.folder.join("project")]));
        let context = TurnContext {
            files: Arc::new(TurnFiles::new(workspace)),
            approver: asked.clone(),
            ..bench.context()
        };
        let input = UserInput { prompt: "go".to_owned(), ..UserInput::default() };
        bench.agent.run_turn(&mut bench.thread, input, &context).await;
        let questions: String = asked.said.lock().unwrap().iter().map(|said| format!("? {said}\n")).collect();
        (questions + &bench.history()).replace(&self.folder.display().to_string(), "$")
    }

    async fn check(&self, calls: &[(&str, Value)], answer: Answer, expected: Expect) {
        expected.assert_eq(&self.run(calls, answer, || ()).await);
    }
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

// SPEC A1, A2
#[tokio::test]
async fn each_place_outside_is_asked_about_by_its_true_name() {
    let calls = [
        read("$/beside.txt"),
        read("link.txt"),
        ("list_files", json!({"path": "$"})),
        ("write_file", json!({"path": "../new.txt", "text": "x\n"})),
    ];
    Scene::new()
        .check(
            &calls,
            Answer::AllowOnce,
            expect![[r#"
                ? $/beside.txt
                  to read this outside the workspace, since outside is ask [`read: $/beside.txt`]
                ? link.txt
                  to read this outside the workspace, at $/beside.txt, since outside is ask [`read: $/beside.txt`]
                ? $
                  to read this outside the workspace, since outside is ask
                ? write ../new.txt
                x

                  to make this change outside the workspace, at $/new.txt, since outside is ask [`edit: $/new.txt`]
                user: go
                call: read_file {"path":"$/beside.txt"}
                output: $/beside.txt (lines 1-1 of 1)
                     1	beside

                call: read_file {"path":"link.txt"}
                output: $/beside.txt (lines 1-1 of 1)
                     1	beside

                call: list_files {"path":"$"}
                output: $/beside.txt
                $/other.txt
                $/project/
                $/project/link.txt

                call: write_file {"path":"../new.txt","text":"x\n"}
                output: created $/new.txt: 1 line, 2 bytes
                Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it.
                agent: done
            "#]],
        )
        .await;
}

// SPEC A3
#[tokio::test]
async fn a_no_tells_nothing_of_the_place() {
    let answer = Answer::Deny { reason: "the user denied it".to_owned() };
    Scene::new()
        .check(
            &[read("link.txt"), read("$/gone.txt")],
            answer,
            expect![[r#"
        ? link.txt
          to read this outside the workspace, at $/beside.txt, since outside is ask [`read: $/beside.txt`]
        ? $/gone.txt
          to read this outside the workspace, since outside is ask [`read: $/gone.txt`]
        user: go
        call: read_file {"path":"link.txt"}
        error: this call was not allowed and did not run: the user denied it
        call: read_file {"path":"$/gone.txt"}
        error: this call was not allowed and did not run: the user denied it
        agent: done
    "#]],
        )
        .await;
}

// SPEC A4
#[tokio::test]
async fn a_yes_for_the_thread_or_for_good_is_not_asked_for_again() {
    let calls = [read("link.txt"), read("$/beside.txt"), read("../beside.txt"), read("$/other.txt")];
    for answer in [Answer::AllowForThread, Answer::AllowAlways] {
        let questions = Scene::new().run(&calls, answer, || ()).await;
        assert_eq!(questions.matches("? ").count(), 2, "{questions}");
    }
}

// SPEC T10
#[tokio::test]
async fn a_link_that_is_changed_while_the_user_is_asked_gives_nothing_else() {
    let scene = Scene::new();
    let (link, other) = (scene.folder.join("project/link.txt"), scene.folder.join("other.txt"));
    let swap = move || {
        fs::remove_file(&link).unwrap();
        symlink(&other, &link).unwrap();
    };
    let said = scene.run(&[read("link.txt")], Answer::AllowForThread, swap).await;
    expect![[r#"
        ? link.txt
          to read this outside the workspace, at $/beside.txt, since outside is ask [`read: $/beside.txt`]
        user: go
        call: read_file {"path":"link.txt"}
        error: link.txt is outside the workspace; use a path below one of its folders, relative to it
        agent: done
    "#]]
    .assert_eq(&said);
}
