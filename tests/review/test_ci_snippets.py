"""deploy/ci: the GitHub Action and the GitLab job call the command with options that it has."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl

import click
import pytest
import yaml

from lineage_merge.cli.commands import main
from lineage_merge.model.version import __version__
from lineage_merge.review.review_formats import MARKER
from tests.http_server import serving

CI = Path(__file__).parents[2] / "deploy" / "ci"


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((CI / "github" / "action.yml").read_text()))


def gitlab() -> dict[str, Any]:
    return dict(yaml.safe_load((CI / "gitlab.yml").read_text())["lineage-review"])


def scripts() -> dict[str, str]:
    found = {each["name"]: each["run"] for each in action()["runs"]["steps"] if "run" in each}
    return {**found, "gitlab": "\n".join(gitlab()["script"])}


@pytest.mark.parametrize("name", scripts())
def test_a_script_is_valid_bash(name: str) -> None:
    checked = subprocess.run(
        ["bash", "-n"], input=scripts()[name], text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name", ["Review", "gitlab"])
def test_the_options_exist(name: str) -> None:
    flags = {
        flag
        for each in main.commands["review"].params
        if isinstance(each, click.Option)
        for flag in each.opts
    }
    text = scripts()[name]
    start = text.index("--base")
    used = set(re.findall(r"--[a-z-]+", text[start:].partition("|| code")[0]))
    assert used <= flags
    assert {"--base", "--head", "--fail-on", "--format", "--out"} <= used


def test_no_script_of_the_action_contains_an_expression() -> None:
    """An input in a script would be executed; inputs are variables."""
    assert [name for name, text in scripts().items() if "${{" in text] == []


def test_actions_are_pinned_by_commit_and_every_input_is_used() -> None:
    steps = action()["runs"]["steps"]
    pins = [each["uses"].partition("@")[2] for each in steps if "uses" in each]
    assert pins
    assert all(re.fullmatch(r"[0-9a-f]{40}", each) for each in pins)
    used = set(re.findall(r"inputs\.([a-z-]+)", (CI / "github" / "action.yml").read_text()))
    assert used == action()["inputs"].keys()


INSTALLED = re.compile(r"lineage-merge\[([a-z,]+)\]")


@pytest.mark.parametrize("name", ["Install lineage-merge", "gitlab"])
def test_the_extras_are_those_that_the_inputs_need(name: str) -> None:
    """A folder of build, and a history, are Parquet files; manifests need the parser of SQL."""
    declared = tomllib.loads((CI.parents[1] / "pyproject.toml").read_text())["project"]
    [extras] = [set(each.split(",")) for each in INSTALLED.findall(scripts()[name])]
    needed = {"columns"}
    if {"folder", "history"} & action()["inputs"].keys() or "LINEAGE_FOLDER" in gitlab()["variables"]:
        needed |= {"parquet"}
    assert needed <= extras <= declared["optional-dependencies"].keys()


def test_the_wheel_is_a_required_url_of_this_version() -> None:
    assert action()["inputs"]["wheel"]["required"] is True
    assert gitlab()["variables"]["LINEAGE_WHEEL"].endswith(f"/lineage_merge-{__version__}-py3-none-any.whl")
    assert ' @ $WHEEL"' in scripts()["Install lineage-merge"]
    assert ' @ $LINEAGE_WHEEL"' in scripts()["gitlab"]


# ---- the scripts are run, with programs in place of lineage-merge, pip and gh


def program(folder: Path, name: str, text: str) -> None:
    file = folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/bash\n{text}\n")
    file.chmod(0o755)


REVIEW = f"""printf '%s\\n' "$@" > arguments
while [ "$1" != --out ]; do shift; done
printf '%s\\n' '{MARKER}' '**Lineage review: 1 breaking**' > "$2"
exit 12"""


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as both platforms do."""
    program(folder, "pip", "true")
    inherited = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder)}
    inherited |= {"GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "output")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env=inherited | variables,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def inputs(**given: str) -> dict[str, str]:
    """Return the variables of the step `Review`."""
    [step] = [each for each in action()["runs"]["steps"] if each.get("id") == "review"]
    names = {key: re.findall(r"inputs\.([a-z-]+)", each)[0] for key, each in step["env"].items()}
    defaults = {name: each.get("default", "") for name, each in action()["inputs"].items()}
    return {key: {**defaults, "base": "main", **given}[name] for key, name in names.items()}


def arguments(folder: Path) -> list[str]:
    return (folder / "arguments").read_text().splitlines()


@pytest.mark.parametrize(
    ("given", "graph"),
    [
        ({"folder": "build"}, {"--folder"}),
        ({"history": "past"}, {"--history"}),
        ({"folder": "build", "history": "past"}, {"--history"}),
        ({}, set()),
    ],
)
def test_one_graph_is_passed(given: dict[str, str], graph: set[str], tmp_path: Path) -> None:
    program(tmp_path, "lineage-merge", REVIEW)
    assert run(scripts()["Review"], tmp_path, **inputs(**given)).returncode == 0
    assert {"--folder", "--history"} & {*arguments(tmp_path)} == graph
    assert (tmp_path / "output").read_text() == "code=12\n"

    variables = gitlab()["variables"] | {"LINEAGE_FOLDER": "", "LINEAGE_REVIEW_TOKEN": ""}
    variables |= {f"LINEAGE_{key.upper()}": value for key, value in given.items()}
    assert run(scripts()["gitlab"], tmp_path, **variables).returncode == 12
    assert {"--folder", "--history"} & {*arguments(tmp_path)} == graph


def test_no_argument_of_the_gitlab_job_is_empty(tmp_path: Path) -> None:
    program(tmp_path, "lineage-merge", REVIEW)
    variables = gitlab()["variables"] | {"LINEAGE_CONFIG": "", "LINEAGE_REVIEW_TOKEN": ""}
    run(scripts()["gitlab"], tmp_path, **variables)
    assert "" not in arguments(tmp_path)
    assert "--config" not in arguments(tmp_path)


@pytest.mark.parametrize("key", ["", "dbt-sales"])
def test_a_comment_is_that_of_its_key(key: str, tmp_path: Path) -> None:
    """The filter of the request for comments is run, on the comments of two reviews."""
    jq = shutil.which("jq")
    if jq is None:
        pytest.skip("jq is not installed")
    program(tmp_path, "lineage-merge", REVIEW)
    run(scripts()["Review"], tmp_path, **inputs(key=key))
    own = (tmp_path / "comment.md").read_text()
    bodies = [f"{MARKER[:-4]}: other -->\n", own, f"{MARKER[:-4]}: dbt -->\n"]
    comments = [
        {"id": 5, "body": own, "user": {"type": "User"}},
        *({"id": 10 + at, "body": each, "user": {"type": "Bot"}} for at, each in enumerate(bodies)),
    ]
    (tmp_path / "comments.json").write_text(json.dumps(comments))
    program(
        tmp_path,
        "gh",
        f'if [ "$4" = --jq ]; then {jq} "$5" comments.json; else echo "$2 $3 $4" >> calls; fi',
    )
    done = run(scripts()["Comment"], tmp_path, NUMBER="7", REPOSITORY="o/r")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "calls").read_text() == "--method PATCH repos/o/r/issues/comments/11\n"
    (tmp_path / "comments.json").write_text("[]")
    run(scripts()["Comment"], tmp_path, NUMBER="7", REPOSITORY="o/r")
    assert (tmp_path / "calls").read_text().splitlines()[1] == "--method POST repos/o/r/issues/7/comments"


@pytest.mark.parametrize("name", ["Review", "gitlab"])
def test_a_key_with_markup_is_rejected(name: str, tmp_path: Path) -> None:
    program(tmp_path, "lineage-merge", REVIEW)
    variables = inputs() | gitlab()["variables"] | {"KEY": "a --> b", "LINEAGE_KEY": "a --> b"}
    done = run(scripts()[name], tmp_path, **variables)
    assert (done.returncode, "are allowed" in done.stdout + done.stderr) == (2, True)
    assert not (tmp_path / "arguments").exists()


def test_a_token_that_cannot_comment_is_a_warning_and_the_result_counts(tmp_path: Path) -> None:
    """A pull request from a fork has a token that can only read."""
    program(tmp_path, "lineage-merge", REVIEW)
    run(scripts()["Review"], tmp_path, **inputs())
    program(tmp_path, "gh", 'if [ "$4" != --jq ]; then echo "HTTP 403" >&2; exit 1; fi')
    done = run(scripts()["Comment"], tmp_path, NUMBER="7", REPOSITORY="o/r")
    assert (done.returncode, done.stdout[:11]) == (0, "::warning::")
    assert "1 breaking" in (tmp_path / "summary").read_text()
    result = action()["runs"]["steps"][-1]
    assert (result["name"], result["if"]) == ("Result", "always()")
    assert [run(result["run"], tmp_path, CODE=each).returncode for each in ("0", "12", "")] == [0, 12, 1]


def test_the_comment_of_an_earlier_review_of_the_job_is_not_sent_again(tmp_path: Path) -> None:
    program(tmp_path, "lineage-merge", REVIEW)
    run(scripts()["Review"], tmp_path, **inputs())
    program(tmp_path, "lineage-merge", "exit 3")
    assert run(scripts()["Review"], tmp_path, **inputs()).returncode == 0
    assert not (tmp_path / "comment.md").exists()


class GitLab(BaseHTTPRequestHandler):
    """The notes of a merge request, in pages of 100; the token is that of user 7."""

    notes: ClassVar[list[dict[str, Any]]] = []
    calls: ClassVar[list[tuple[str, str]]] = []

    def _answer(self, found: Any, status: int = 200) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/user":
            self._answer({"id": 7})
            return
        page = int(dict(parse_qsl(query))["page"])
        self._answer(self.notes[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        fields = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.calls.append((f"{self.command} {self.path}", fields["body"]))
        self._answer({}, 200 if self.headers["PRIVATE-TOKEN"] == "t" else 401)

    def do_PUT(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def gitlab_api() -> Iterator[str]:
    GitLab.notes, GitLab.calls = [], []
    with serving(GitLab) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def merge_request(api: str, token: str = "t") -> dict[str, str]:
    number = {"CI_API_V4_URL": api, "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "9"}
    variables: dict[str, str] = gitlab()["variables"]
    return variables | number | {"LINEAGE_REVIEW_TOKEN": token, "LINEAGE_KEY": "shop"}


def test_the_note_of_a_merge_request_is_updated(tmp_path: Path, gitlab_api: str) -> None:
    program(tmp_path, "lineage-merge", REVIEW)
    place = "/projects/3/merge_requests/9/notes"
    assert run(scripts()["gitlab"], tmp_path, **merge_request(gitlab_api)).returncode == 12
    [(call, body)] = GitLab.calls
    assert (call, body) == (f"POST {place}", (tmp_path / "review.md").read_text())
    assert body.startswith(f"{MARKER[:-4]}: shop -->\n**Lineage review of shop: 1 breaking**")

    GitLab.notes = [
        {"id": 50, "author": {"id": 8}, "body": body},
        {"id": 51, "author": {"id": 7}, "body": f"{MARKER}\nanother key"},
        *({"id": each, "author": {"id": 7}, "body": "text"} for each in range(100, 250)),
        {"id": 300, "author": {"id": 7}, "body": body},
    ]
    assert run(scripts()["gitlab"], tmp_path, **merge_request(gitlab_api)).returncode == 12
    assert GitLab.calls[1][0] == f"PUT {place}/300"


def test_a_note_that_is_refused_does_not_hide_the_result(tmp_path: Path, gitlab_api: str) -> None:
    program(tmp_path, "lineage-merge", REVIEW)
    done = run(scripts()["gitlab"], tmp_path, **merge_request(gitlab_api, "x"))
    assert (done.returncode, "has no comment" in done.stderr) == (12, True)


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (("--builtin-schema", "vendor.github-actions"), CI / "github" / "action.yml"),
        (("--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"), CI / "gitlab.yml"),
    ],
)
def test_the_schema_of_the_platform_is_met(arguments: tuple[str, ...], file: Path) -> None:
    """The program is no dependency: pip install check-jsonschema."""
    program = shutil.which("check-jsonschema")
    if program is None:
        pytest.skip("check-jsonschema is not installed")
    checked = subprocess.run([program, *arguments, str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
