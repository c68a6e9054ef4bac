"""Commands with a history of an older or newer format."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.history.layout import MergeName
from tests.command_line import Outcome, in_process
from tests.expected import WAREHOUSE
from tests.graph_reading import whole
from tests.history.made_history import MadeHistory, at
from tests.made_merges import Made

REFUSED = (
    "written by a newer version of lineage_merge (history format 2, this one reads 1)."
    " Fix: upgrade lineage-merge"
)
READS = (
    "history --json",
    "history mart --json",
    "history compact --dry-run --json",
    "upstream mart --as-of 2026-02-01 --json",
    "report --dag daily --environment dev --as-of 2026-02-01 --json",
    "diff --from 2026-01-01 --to 2026-02-01 --json",
)
READS_WITH_MOVES = [words for words in READS if not words.startswith(("history --", "history c", "report"))]


@pytest.fixture
def history(tmp_path: Path) -> MadeHistory:
    """Two DAGs; the second moves a dataset of the first."""
    history = MadeHistory(str(tmp_path / "history"))
    history.full("2026-01-01", Made().job("spark", "load", {"hive|b": ["a"]}))
    history.full("2026-01-01T12:00", Made("weekly").job("dbt", "m", {"mart": ["hive|b"]}))
    moves = {"dev|hive|b": "dev|b"}
    history.full("2026-01-02", Made("weekly").job("dbt", "m", {"mart": ["b"]}), moves=moves)
    return history


def ask(history: MadeHistory, words: str) -> Outcome:
    return in_process(*words.split(), "--history", history.location)


def files(location: str | Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in Path(location).rglob("*") if each.is_file()}


def objects(location: str | Path, kind: str) -> list[Path]:
    return sorted(Path(location).joinpath(kind).rglob("*.json"), key=lambda each: each.name)


def change(file: Path, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    file.write_text(json.dumps(changed(json.loads(file.read_text()))) + "\n")


def newer(found: dict[str, Any]) -> dict[str, Any]:
    """An object of a later version, whose fields this one does not know."""
    return {"format": 2, "contents": {key: value for key, value in found.items() if key != "format"}}


def older(found: dict[str, Any]) -> dict[str, Any]:
    """An object of an imaginary earlier version."""
    return {"format": 0, "old": {key: value for key, value in found.items() if key != "format"}}


@pytest.mark.parametrize("words", READS)
def test_a_merge_of_a_newer_format_is_refused(history: MadeHistory, words: str) -> None:
    change(objects(history.location, "merges")[0], newer)
    before = files(history.location)
    outcome = ask(history, words)
    assert (outcome.code, outcome.out) == (4, "")
    assert REFUSED in outcome.err
    assert history.records[0][1].id in outcome.err  # the file
    assert files(history.location) == before


def test_a_moment_before_the_newer_format_is_read(history: MadeHistory) -> None:
    change(objects(history.location, "merges")[-1], newer)
    assert ask(history, "upstream mart --as-of 2026-01-01").code == 0
    assert REFUSED in ask(history, "upstream mart --as-of 2026-01-02").err


@pytest.mark.parametrize("words", READS_WITH_MOVES)
@pytest.mark.parametrize(
    ("changed", "message"),
    [(newer, REFUSED), (older, "not the moves of a merge"), (lambda _: {"format": 1}, "not the moves")],
    ids=["newer", "unknown", "damaged"],
)
def test_moves_of_another_format_are_refused(
    history: MadeHistory, words: str, changed: Callable[[Any], Any], message: str
) -> None:
    (file,) = objects(history.location, "moves")
    change(file, changed)
    before = files(history.location)
    outcome = ask(history, words)
    assert (outcome.code, outcome.out) == (4, "")
    assert f"{file}: {message}" in outcome.err
    assert files(history.location) == before


@pytest.fixture
def run(spark: object, gremlin_url: str, data: Path, tmp_path: Path) -> Callable[..., Outcome]:
    """Run the merge of a dbt project, with `also` of a Spark application."""
    sources: dict[str, Any] = {
        "dbt": [{"manifest": str(data / "dbt/redshift_v12/manifest.json"), "namespace": WAREHOUSE}]
    }

    def ran(*, also: bool = False) -> Outcome:
        spline = {"spline": {"export": str(data / "spline/tickit_sales_load")}} if also else {}
        file = tmp_path / "lineage_merge.yml"
        location = str(tmp_path / "history")
        owner = {"dag_name": "daily", "environment": "dev"}
        file.write_text(yaml.safe_dump({**owner, "history": location, **sources, **spline}))
        return in_process("run", "-c", file, "--gremlin-endpoint", gremlin_url)

    return ran


@pytest.mark.jvm
def test_a_run_before_a_merge_of_a_newer_format_changes_nothing(
    run: Callable[..., Outcome], gremlin: GraphTraversalSource, tmp_path: Path
) -> None:
    assert run().code == 0
    (first,) = objects(tmp_path / "history", "merges")
    name = MergeName(at("2099-01-01"), "a" * 12)
    later = first.with_name(f"{name}.json")
    later.write_text(first.read_text())
    change(later, newer)
    before = files(tmp_path / "history"), whole(gremlin)

    outcome = run(also=True)

    assert outcome.code == 4
    assert f"{later}: {REFUSED}" in outcome.err
    assert (files(tmp_path / "history"), whole(gremlin)) == before
    later.unlink()
    assert run(also=True).code == 0
    added = objects(tmp_path / "history", "merges")[-1]
    assert json.loads(added.read_text())["kind"] == "full"
