"""The suite itself: which tests start Java, in which order tests run, and what is drawn at random."""

import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_merge.config import Config
from lineage_merge.infra import embedded
from lineage_merge.orchestration import pipeline
from tests import conftest, drawing, jvm, nightly
from tests.command_line import as_process, python_imports
from tests.fuzz import cases


def _serving() -> Iterator[str]:
    with embedded.EmbeddedServer(None) as server:
        yield server.url


class _World:
    @property
    def url(self) -> str:
        return next(_serving())


def _by_a_helper() -> str:
    return _World().url


def _as_a_process() -> int:
    return as_process("demo").code


def _of_the_pipeline(config: Config) -> Any:
    return pipeline.endpoint(config)


def _of_imports() -> set[str]:
    return python_imports("-c", "pass")


@pytest.mark.parametrize("starts", [_serving, _World, _by_a_helper, _as_a_process, _of_the_pipeline])
def test_what_starts_java_is_found_through_helpers_of_the_tests(starts: Any) -> None:
    assert jvm._uses(starts)


@pytest.mark.parametrize("pure", [_of_imports, cases.blocks, drawing.header])
def test_what_starts_none_is_not(pure: Any) -> None:
    assert not jvm._uses(pure)


def test_java_started_without_the_marker_is_an_error(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("jvm") is None
    with pytest.raises(RuntimeError, match="a test without the marker jvm starts java"):
        subprocess.run(["java", "-version"], check=True)


class _Item(SimpleNamespace):
    nodeid = ""

    def get_closest_marker(self, _name: str) -> bool | None:
        return True if self.heavy else None


def _of(file: str, count: int, *, heavy: bool) -> list[_Item]:
    return [_Item(path=Path(file), nodeid=f"{file}::{n}", heavy=heavy) for n in range(count)]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_each_process_begins_with_what_starts_no_java_and_has_files_whole(processes: int) -> None:
    heavy = [*_of("tests/b.py", 5, heavy=True), *_of("tests/chaos/c.py", 4, heavy=True)]
    items: list[Any] = [*heavy, *_of("tests/a.py", 20, heavy=False)]
    names = {item.nodeid for item in items}
    config: Any = SimpleNamespace(workerinput={"workercount": processes})

    conftest.pytest_collection_modifyitems(config, items)

    assert {item.nodeid for item in items} == names
    ends = [len(items) * number // processes for number in range(processes + 1)]
    parts = [items[start:end] for start, end in pairwise(ends)]
    for part in parts:
        kinds = [item.heavy for item in part]
        assert kinds == sorted(kinds)
    if processes > 1:
        of_file = [{item.path.name for item in part if item.heavy} for part in parts]
        assert sorted(map(sorted, of_file)) == sorted([[]] * (processes - 2) + [["b.py"], ["c.py"]])
    else:
        assert [item.path.name for item in items[20:]] == ["c.py"] * 4 + ["b.py"] * 5


def test_a_run_draws_a_tenth_and_says_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(drawing.SHARE, raising=False)
    monkeypatch.setenv(drawing.SEED, "20260131")
    assert drawing.share() == 0.1
    assert drawing.header() == (
        "drawn at random: 0.1 of all cases; repeat with "
        "LINEAGE_MERGE_TEST_SEED=20260131 LINEAGE_MERGE_TEST_SHARE=0.1"
    )
    assert drawing.share_of(range(30)) == drawing.share_of(range(30))
    assert [len(drawing.share_of(range(count))) for count in (1, 4, 30)] == [1, 1, 3]
    monkeypatch.setenv(drawing.SHARE, "1")
    assert drawing.share() == 1
    assert drawing.share_of("cba") == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("share", "arguments", "expression", "expected"),
    [
        ("0.1", ["tests/chaos"], "", False),
        ("0.1", ["tests/chaos"], "not jvm", False),
        ("0.1", ["tests/chaos/test_chaos_rounds.py::test_a"], "", True),
        ("0.1", ["tests"], "nightly", True),
        ("1", ["tests"], "", True),
    ],
)
def test_nightly_tests_run_with_all_cases_or_by_name(
    share: str, arguments: list[str], expression: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(drawing.SHARE, share)
    assert nightly.runs_all(arguments, expression) is expected
