#!/usr/bin/env python3
"""How well a small local model answers questions about projects, through the real `askls ask`.

    eval.py ASKLS BASE_URL [MODE...]

Each question has its answer in one file of a small project, so that a model has to list the files, read one and answer.
The modes are `guided` (each step bound to a schema; the default), `text_calls` (calls that come as text are taken) and
`plain` (native calls only). Prints a table for each mode, ends with `right: N of M` of the first one, and fails when that
is less than nine of ten.

All steps are right when every call worked, none was made twice, and one of them showed what the answer says.

A project is one text in eval/SET: `question`, `answer` (a regular expression that the answer has to match), `wrong` (one
that it must not), `file` (the one that holds the answer), then the files, each after a line `//- PATH`. The set `open`
may be looked at while guided mode is worked on; `held` is what counts, and loses its worth when anything is tuned to it.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent

SETTINGS = {
    "guided": 'guided = "on"\n',
    "text_calls": 'guided = "off"\ntext_calls = true\n',
    "plain": 'guided = "off"\ntext_calls = false\n',
}

# What counts, and how much of it has to be right.
COUNTED = "held"
WANTED = 0.9

# A question takes half a minute on one idle core; one that takes this long hangs.
QUESTION_SECONDS = 900

# More steps than any of these questions needs: what goes on after them goes in circles.
MAX_STEPS = 10


@dataclass
class Project:
    set: str
    name: str
    question: str = ""
    answer: str = ""
    wrong: str = ""
    file: str = ""
    files: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def read(path: Path) -> "Project":
        project = Project(path.parent.name, path.stem)
        head, *files = re.split(r"^//- ", path.read_text(), flags=re.MULTILINE)
        for line in head.splitlines():
            key, value = line.split(": ", 1)
            if key not in ("question", "answer", "wrong", "file"):
                sys.exit(f"{path}: there is no key {key}; the keys are: question, answer, wrong, file")
            setattr(project, key, value)
        for text in files:
            name, content = text.split("\n", 1)
            project.files[name] = content
        project.check(path)
        return project

    def check(self, path: Path) -> None:
        """A question that another file answers as well, or none, measures nothing."""
        holders = [name for name, text in self.files.items() if re.search(self.answer, text)]
        if holders != [self.file]:
            sys.exit(f"{path}: the answer stands in {holders}, and should in {self.file} alone")

    def is_right(self, answer: str) -> bool:
        if self.wrong and re.search(self.wrong, answer):
            return False
        return re.search(self.answer, answer) is not None


@dataclass
class Outcome:
    right: bool
    steps_right: bool
    requests: int
    seconds: float
    calls: str
    answer: str


def ask(askls: Path, base_url: str, mode: str, project: Project) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        root, config = Path(folder, "project"), Path(folder, "config")
        for name, text in project.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (config / "askls").mkdir(parents=True)
        (config / "askls" / "config.toml").write_text(SETTINGS[mode])
        command = [askls, "ask", "--json", "--base-url", base_url, "--max-steps", str(MAX_STEPS)]
        command += ["--root", root, project.question]
        environment = {**os.environ, "XDG_CONFIG_HOME": str(config)}
        start = time.monotonic()
        try:
            done = subprocess.run(command, env=environment, timeout=QUESTION_SECONDS, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return Outcome(False, False, 0, QUESTION_SECONDS, "", f"[no answer in {QUESTION_SECONDS} s]")
        seconds = time.monotonic() - start
    if not done.stdout.strip():
        sys.exit(f"{project.name}: askls ended with {done.returncode} and said: {done.stderr.strip()}")
    if "warning:" in done.stderr:
        sys.exit(f"the mode {mode} is not what was measured: {done.stderr.strip()}")
    return judge(project, [json.loads(line) for line in done.stdout.splitlines()], seconds)


def judge(project: Project, events: list[dict], seconds: float) -> Outcome:
    started = [event for event in events if event["type"] == "tool_started"]
    outputs = [event["output"] for event in events if event["type"] == "tool_ended" and not event["is_error"]]
    end = events[-1]
    answered = end["stop_reason"] == "answer"
    # It may look at more than it has to, but every call has to work, none is made twice, and one shows the answer.
    calls = [(event["name"], event["arguments"]) for event in started]
    all_good = len(outputs) == len(started) and len(set(calls)) == len(calls)
    shown = any(re.search(project.answer, output) for output in outputs)
    ending = end["answer"] if answered else f"[{end['stop_reason']}] {end.get('detail', '')}"
    return Outcome(
        right=answered and project.is_right(end["answer"]),
        steps_right=answered and shown and all_good,
        requests=end["steps"],
        seconds=seconds,
        calls=", ".join(f"{event['name']} {event['target']}".strip() for event in started),
        answer=" ".join(ending.split()),
    )


def run(askls: Path, base_url: str, mode: str, projects: list[Project]) -> int:
    """Asks everything in one mode, prints its table, and gives how many of those that count are right."""
    print(f"\n{mode} at {base_url}")
    print(f"{'set':5} {'project':18} {'right':5} {'steps':5} {'requests':>8} {'seconds':>7}  calls => answer")
    outcomes: list[tuple[Project, Outcome]] = []
    for project in projects:
        outcome = ask(askls, base_url, mode, project)
        outcomes.append((project, outcome))
        words = [("no", "yes")[flag] for flag in (outcome.right, outcome.steps_right)]
        figures = f"{outcome.requests:8} {outcome.seconds:7.1f}"
        answer = outcome.answer if len(outcome.answer) <= 100 else outcome.answer[:99] + "…"
        line = f"{project.set:5} {project.name:18} {words[0]:5} {words[1]:5} {figures}  {outcome.calls} => {answer}"
        print(line, flush=True)
    for name in sorted({project.set for project in projects}):
        of_set = [outcome for project, outcome in outcomes if project.set == name]
        right, steps = sum(one.right for one in of_set), sum(one.steps_right for one in of_set)
        requests = sum(one.requests for one in of_set) / len(of_set)
        seconds = sum(one.seconds for one in of_set) / len(of_set)
        print(
            f"{mode}, {name}: {right} of {len(of_set)} right, all steps right in {steps},"
            f" {requests:.1f} requests and {seconds:.0f} s a question"
        )
    return sum(outcome.right for project, outcome in outcomes if project.set == COUNTED)


def main() -> int:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    askls, base_url, *modes = sys.argv[1:]
    modes = modes or ["guided"]
    for mode in modes:
        if mode not in SETTINGS:
            sys.exit(f"there is no mode {mode}; the modes are: {', '.join(SETTINGS)}")
    projects = [Project.read(path) for path in sorted((HERE / "eval").glob("*/*.txt"))]
    counted = sum(project.set == COUNTED for project in projects)
    right = [run(Path(askls).resolve(), base_url, mode, projects) for mode in modes]
    print(f"right: {right[0]} of {counted}")
    return 0 if right[0] >= WANTED * counted > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
