"""The lakehouse jobs of `tests/data/lakehouse`: what they do, by hand, and how a reader's edges compare.

A dataset is named by the last segment of its path or table, as in `truth.json`. Fields of structures are
dotted; for a reader that only knows columns, `truth` is cut at the first dot.
"""

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lineage_merge.model.elements import Element, FeedsColumn, Influences, Reference, dot_path

_FOLDER = Path(__file__).parent / "data" / "lakehouse"
# The letters of the truth for the graph's transformations.
_KINDS = {
    "IDENTITY": "I",
    "TRANSFORMATION": "T",
    "AGGREGATION": "A",
    "CONDITIONAL": "C",
    "WINDOW": "W",
    "FILTER": "F",
    "JOIN": "J",
    "GROUP_BY": "G",
    "SORT": "S",
}

# Target, target column, source, source column.
Value = tuple[str, str, str, str]
# Target, source, source column.
Influence = tuple[str, str, str]


@dataclass(frozen=True)
class LakehouseEdges:
    """Value edges and influences of all targets, each with the letters of its kinds."""

    values: Mapping[Value, frozenset[str]]
    influences: Mapping[Influence, frozenset[str]]

    def of(self, targets: Iterable[str]) -> "LakehouseEdges":
        """The edges to some of the targets."""
        wanted = set(targets)
        return LakehouseEdges(
            {edge: kinds for edge, kinds in self.values.items() if edge[0] in wanted},
            {edge: kinds for edge, kinds in self.influences.items() if edge[0] in wanted},
        )

    def without_self_influences(self) -> "LakehouseEdges":
        """The edges without influences of a target on itself, which a reader may omit."""
        influences = {edge: kinds for edge, kinds in self.influences.items() if edge[0] != edge[1]}
        return LakehouseEdges(self.values, influences)


@dataclass(frozen=True)
class Comparison:
    """Edges that a reader finds, misses, and makes up; `wrong_kinds` are found, with other kinds."""

    right: frozenset[Any]
    missing: frozenset[Any]
    wrong: frozenset[Any]
    wrong_kinds: Mapping[Any, tuple[str, str]]

    def __str__(self) -> str:
        counts = f"{len(self.right)} right, {len(self.missing)} missing, {len(self.wrong)} wrong"
        return f"{counts}, {len(self.wrong_kinds)} of other kinds"


def messages(client: str) -> list[Any]:
    """The lines of a client's capture, ``spline`` or ``openlineage``, decoded."""
    text = gzip.decompress((_FOLDER / f"{client}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


@cache
def truth(*, fields: bool = False) -> LakehouseEdges:
    """What the jobs do; `fields`: with field paths, instead of top-level columns."""
    values: dict[Value, set[str]] = {}
    influences: dict[Influence, set[str]] = {}
    for target, entry in _documents().items():
        for column, source, source_column, kinds in entry["columns"]:
            edge = (target, _column(column, fields=fields), source, _column(source_column, fields=fields))
            values.setdefault(edge, set()).update(kinds)
        for source, column, kinds in entry["influences"]:
            influences.setdefault((target, source, _column(column, fields=fields)), set()).update(kinds)
    return _frozen(values, influences)


def applications() -> dict[str, str]:
    """The application that writes each target."""
    return {target: entry["applications"][0] for target, entry in _documents().items()}


def edges(elements: Iterable[Element], short_name: Mapping[Reference, str] | None = None) -> LakehouseEdges:
    """The edges among a reader's elements; `short_name` replaces the last segment of references' names."""
    values: dict[Value, set[str]] = {}
    influences: dict[Influence, set[str]] = {}
    names = short_name or {}

    def name(reference: Reference) -> str:
        return names.get(reference) or last_segment(reference.name)

    for element in elements:
        if isinstance(element, FeedsColumn):
            columns = dot_path(element.target_column), dot_path(element.source_column)
            value = (name(element.target), columns[0], name(element.source), columns[1])
            values.setdefault(value, set()).update(_KINDS[each] for each in element.transformations)
        elif isinstance(element, Influences):
            influence = (name(element.target), name(element.source), dot_path(element.source_column))
            influences.setdefault(influence, set()).update(_KINDS[each] for each in element.transformations)
    return _frozen(values, influences)


def compare_values(expected: LakehouseEdges, actual: LakehouseEdges) -> Comparison:
    """Compare value edges."""
    return _compare(expected.values, actual.values)


def compare_influences(expected: LakehouseEdges, actual: LakehouseEdges) -> Comparison:
    """Compare influences."""
    return _compare(expected.influences, actual.influences)


def last_segment(name: str) -> str:
    """The file of ``file:/data/in/orders.csv``, the table of ``db.src_t`` and of ``/data/lake/db/src_t``."""
    segment = name.rstrip("/").rpartition("/")[2]
    return segment if "/" in name else segment.rpartition(".")[2]


def _compare(expected: Mapping[Any, frozenset[str]], actual: Mapping[Any, frozenset[str]]) -> Comparison:
    both = expected.keys() & actual.keys()
    return Comparison(
        right=frozenset(both),
        missing=frozenset(expected.keys() - actual.keys()),
        wrong=frozenset(actual.keys() - expected.keys()),
        wrong_kinds={
            edge: ("".join(sorted(expected[edge])), "".join(sorted(actual[edge])))
            for edge in both
            if expected[edge] != actual[edge]
        },
    )


def _column(path: str, *, fields: bool) -> str:
    return path if fields else path.partition(".")[0]


def _frozen(values: dict[Value, set[str]], influences: dict[Influence, set[str]]) -> LakehouseEdges:
    return LakehouseEdges(
        {edge: frozenset(kinds) for edge, kinds in values.items()},
        {edge: frozenset(kinds) for edge, kinds in influences.items()},
    )


@cache
def _documents() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((_FOLDER / "truth.json").read_text(encoding="utf-8"))
    return loaded
