"""The command `near-misses`: what it writes into the configuration file, and what it refuses."""

import getpass
from pathlib import Path

import pytest
import yaml

from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.command_line import Outcome, in_process
from tests.graph_folder import write_folder
from tests.made_merges import Made

EAST, WEST = "redshift://wh.us-east-1:5439", "redshift://wh.us-west-2:5439"
TEXT = f"""\
# The daily pipeline
dag_name: daily
environment: dev   # never joined
dbt:
  - manifest: target/manifest.json
    namespace: {WEST}  # check

merge:
  expect: {{joined_at_least: 1}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder of `build` in which the project reads another region than the job writes."""
    made = Made().job("spark", "load", {f"{EAST}|dev.public.event": ["s3://raw|event"]})
    made.job("spark", "load_sales", {f"{EAST}|dev.public.sales": []})
    reads = [f"{WEST}|dev.public.{name}" for name in ("event", "sales")]
    made.job("dbt", "model.shop.report", {f"{WEST}|dev.mart.report": reads})
    return write_folder(tmp_path / "lineage", made.nodes.values(), made.edges.values())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lineage_merge.yml"
    path.write_text(TEXT)
    return path


DISMISS = ("--by", "anna", "--reason", "of another shop")


def decide(file: Path | None, folder: str, *words: str, **variables: str) -> Outcome:
    config = ("--config", file) if file else ("--environment", "dev")
    return in_process("near-misses", *words, *config, "--folder", folder, **variables)


def test_an_unknown_environment_is_an_error(folder: str) -> None:
    listed = in_process("near-misses", "--environment", "prd", "--folder", folder)
    assert listed.code == 9
    assert "unknown environment: prd" in listed.err


def test_without_arguments_they_are_listed(file: Path, folder: str) -> None:
    listed = decide(file, folder)

    assert listed.code == 0, listed.err
    lines = [line.split(maxsplit=1) for line in listed.out.splitlines()]
    assert [line[1] for line in lines if line[:1] == ["written"]] == [
        f"{EAST}|dev.public.{name}" for name in ("event", "sales")
    ]
    assert file.read_text() == TEXT


def test_accepting_writes_the_fix_and_nothing_else(file: Path, folder: str) -> None:
    shown = decide(file, folder, "accept", f"{EAST}|dev.public.event")
    assert (shown.code, file.read_text()) == (0, TEXT)
    assert f"-    namespace: {WEST}  # check" in shown.out.splitlines()
    assert f"+    namespace: {EAST}  # check" in shown.out.splitlines()
    assert "not written. Fix: --apply writes it" in shown.err

    applied = decide(file, folder, "accept", f"{EAST}|dev.public.event", "--apply")

    assert (applied.code, applied.out) == (0, shown.out)
    assert file.read_text() == TEXT.replace(WEST, EAST)


def test_dismissing_writes_an_entry_that_applies(file: Path, folder: str) -> None:
    file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    outcome = decide(file, folder, "dismiss", "public.event", *DISMISS, "--until", "2999-01-31", "--apply")
    assert outcome.code == 0, outcome.err
    written = file.read_bytes().decode()
    assert written.startswith(TEXT.replace("\n", "\r\n"))
    (entry,) = yaml.safe_load(written)["merge"]["dismissed_near_misses"]
    assert entry["written"] == f"{EAST}|dev.public.event"
    assert (entry["by"], entry["reason"], entry["until"]) == ("anna", "of another shop", "2999-01-31")
    CONFIGURATION.load(file, environ={})

    again = decide(file, folder, "dismiss", "public.event", *DISMISS)
    assert again.code == 9
    assert "no near miss of public.event" in again.err
    assert decide(file, folder, "dismiss", "public.sales", *DISMISS).code == 0


def test_without_a_local_file_that_sets_the_key_the_yaml_is_printed(file: Path, folder: str) -> None:
    outcome = decide(None, folder, "dismiss", "public.event", *DISMISS)
    assert outcome.code == 2
    assert "--config: no local configuration file. Fix: add the printed YAML there" in outcome.err
    assert yaml.safe_load(outcome.out)["merge"]["dismissed_near_misses"][0]["by"] == "anna"

    variables = {"LINEAGE_MERGE_MERGE_DISMISSED_NEAR_MISSES": "[]"}
    outcome = decide(file, folder, "dismiss", "public.event", *DISMISS, "--apply", **variables)
    assert outcome.code == 2
    assert (
        "LINEAGE_MERGE_MERGE_DISMISSED_NEAR_MISSES: merge.dismissed_near_misses: is not set by" in outcome.err
    )
    assert file.read_text() == TEXT


def test_a_layout_that_cannot_be_changed_is_left_alone(file: Path, folder: str) -> None:
    text = (
        TEXT.replace("namespace: ", "namespace: &warehouse ")
        + "  default_schemas: {*warehouse : dev.public}\n"
    )
    file.write_text(text)
    outcome = decide(file, folder, "accept", "public.event", "--apply")
    assert outcome.code == 2
    assert "cannot be changed alone in the layout of the file. Fix: add the printed YAML" in outcome.err
    assert yaml.safe_load(outcome.out)["dbt"][0]["namespace"] == EAST
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("dismiss", "public.event"), 2, "dismiss requires --reason"),
        (("accept",), 2, "accept requires DATASET"),
        (("--apply",), 2, "only for accept and dismiss"),
        (("accept", "public.event", "--demo"), 2, "--demo is only for the list"),
        (("accept", "public.event", "--by", "anna"), 2, "only for dismiss"),
        (("dismiss", "x", *DISMISS, "--until", "2020-01-01"), 2, "--until is in the past"),
        (("accept", f"{EAST}|dev.public.evnt"), 9, f"did you mean {EAST}|dev.public.event"),
    ],
)
def test_wrong_arguments(words: tuple[str, ...], code: int, message: str, file: Path, folder: str) -> None:
    outcome = decide(file, folder, *words)
    assert outcome.code == code
    assert message in outcome.err


def test_a_user_without_a_name_has_to_give_one(
    file: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)
    outcome = decide(file, folder, "dismiss", "public.event", "--reason", "of another shop")
    assert outcome.code == 2
    assert "set --by" in outcome.err


def test_the_end_of_several_names_is_ambiguous(file: Path, folder: str, tmp_path: Path) -> None:
    made = Made().job("spark", "load", {f"{EAST}|dev.{each}.event": [] for each in ("one", "two")})
    reads = [f"{WEST}|dev.{each}.event" for each in ("one", "two")]
    made.job("dbt", "model.shop.report", {f"{WEST}|dev.mart.report": reads})
    other = write_folder(tmp_path / "other", made.nodes.values(), made.edges.values())
    outcome = decide(file, other, "accept", "event")
    assert "several near misses of event" in outcome.err
    assert f"{EAST}|dev.one.event and {WEST}|dev.one.event" in outcome.err
