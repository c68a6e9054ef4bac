"""deploy/ci: the GitHub Action and the GitLab job call the command with options that it has."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from lineage_merge.cli.commands import main

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


def test_the_comment_is_found_again_by_its_marker() -> None:
    from lineage_merge.query.formats.review_markdown import MARKER

    assert MARKER in scripts()["Comment"]


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
