"""Writes pages with shards, small enough that lineage crosses their borders, and reads the shards."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.exporters.page import Options
from lineage_merge.exporters.page.sharded import Annotations, write_sharded, writing
from lineage_merge.graph_format.elements import Subgraph
from lineage_merge.questions.backends.in_memory import InMemory

_CALL = re.compile(r'lineage\.shards\.receive\("(shards-\w+)","(\w+)",(\d+),(.*)\);\n', re.DOTALL)


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write shards of a few rows."""
    for name, rows in (("_DATASETS", 2), ("_WALK_ROWS", 3), ("_ROWS", 4), ("_NAMES", 6), ("_IDS", 3)):
        monkeypatch.setattr(writing, name, rows)


def write(
    graph: Subgraph, folder: Path, annotations: Annotations | None = None, title: str = "Sharded"
) -> Path:
    """Write the page of a graph; return its index."""
    source = InMemory(graph.vertices.values(), graph.edges)
    options = Options(title=title, made_at="2026-11-23 03:48 UTC")
    write_sharded(source, f"{folder}/", options, annotations=annotations or Annotations())
    return folder / "index.html"


def files(folder: Path, kind: str = "*") -> list[Path]:
    """Return the shards of a kind, by number."""
    return sorted(
        folder.glob(f"shards-*/{kind}-*.js"), key=lambda file: (file.name.split("-")[0], number_of(file))
    )


def number_of(file: Path) -> int:
    """Return the number in the name of a shard."""
    return int(file.stem.rpartition("-")[2])


def read(folder: Path, kind: str) -> list[Any]:
    """Return the contents of the shards of a kind, by number."""
    contents = []
    for number, file in enumerate(files(folder, kind)):
        call = _CALL.fullmatch(file.read_text(encoding="utf-8"))
        assert call, file
        assert call.groups()[:3] == (file.parent.name, kind, str(number))
        contents.append(json.loads(call[4]))
    return contents


def rows(folder: Path, kind: str) -> list[Any]:
    """Return the rows of a list."""
    return [row for shard in read(folder, kind) for row in shard]


def about(folder: Path) -> dict[str, Any]:
    """Return what the page knows of its shards."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])["shards"]
    return data


Fact = tuple[Any, ...]


def facts_of(data: dict[str, Any], datasets: dict[int, dict[str, Any]]) -> Iterator[Fact]:
    """Yield what data says, with names instead of indexes. `datasets`: by the numbers that data has."""

    def job(index: int) -> str:
        each = data["jobs"][index]
        return f"{each['environment']}|{data['dags'][each['dag']]}|{each['type']}|{each['name']}"

    def column(dataset: int, index: int) -> str:
        return f"{datasets[dataset]['id']}#{datasets[dataset]['columns'][index][0]}" if index >= 0 else ""

    def name(dataset: int) -> str:
        return str(datasets[dataset]["id"])

    for source, target, by, facts in data["feeds"]:
        yield "feeds", name(source), name(target), job(by), str(facts)
    for source, its, target, made, by, *how in data["column_feeds"]:
        yield "feeds_column", column(source, its), column(target, made), job(by), *how
    for source, its, target, by, *how in data["influences"]:
        yield "influences", column(source, its), name(target), job(by), *how
    for by, target in data["writes"]:
        yield "writes", job(by), name(target)
    for row in data["assertions"]:
        for dataset, its in row[6]:
            yield "checks", row[0], row[3], str(row[7]), name(dataset), column(dataset, its)
    for index, each in enumerate(data["jobs"]):
        if each["facts"]:
            yield "job", job(index), str(each["facts"])


def facts_of_datasets(data: dict[str, Any]) -> Iterator[Fact]:
    """Yield what data says of its datasets."""
    for each in data["datasets"]:
        dags = sorted(data["dags"][dag] for dag in each["dags"])
        known = {key: value for key, value in each.items() if key not in ("dags", "sides")}
        yield "dataset", str(dags), json.dumps(known, sort_keys=True)
