"""Comparison of two environments."""

from dataclasses import dataclass
from typing import Any

from lineage_merge.graph_format.elements import COLUMN
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.graph import LineageGraph

Feed = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Only:
    """Elements of only one environment, as sorted ids without the environment.

    `columns`: only for datasets that both environments have.
    """

    environment: str
    datasets: tuple[str, ...] = ()
    feeds: tuple[Feed, ...] = ()
    columns: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """``{"datasets": ["<namespace>|<name>"], "feeds": [{"from": ..., "to": ...}], "columns": [...]}``."""
        feeds = [{"from": source, "to": target} for source, target in self.feeds]
        return {"datasets": list(self.datasets), "feeds": feeds, "columns": list(self.columns)}

    @property
    def is_empty(self) -> bool:
        """Whether the other environment has all elements."""
        return not (self.datasets or self.feeds or self.columns)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Elements that only one of two environments has."""

    only_left: Only
    only_right: Only


@dataclass(frozen=True, slots=True)
class _Content:
    environment: str
    datasets: set[str]
    feeds: set[Feed]
    columns: set[str]

    def without(self, other: "_Content") -> Only:
        shared = self.datasets & other.datasets
        columns = {each for each in self.columns - other.columns if each.rpartition("|")[0] in shared}
        return Only(
            self.environment,
            tuple(sorted(self.datasets - other.datasets)),
            tuple(sorted(self.feeds - other.feeds)),
            tuple(sorted(columns)),
        )


def compare(graph: LineageGraph, left: str, right: str, dag: str | None = None) -> Comparison:
    """Compare datasets, feeds and columns of two environments, by id without the environment."""
    left_content, right_content = (_content(graph, each, dag) for each in (left, right))
    return Comparison(left_content.without(right_content), right_content.without(left_content))


def _content(graph: LineageGraph, environment: str, dag: str | None) -> _Content:
    return _Content(
        environment,
        {_without_environment(each) for each in graph.ids(DATASET_LABELS, environment, dag)},
        {
            (_without_environment(source), _without_environment(target))
            for source, target in graph.pairs(["feeds"], environment, dag)
        },
        {_without_environment(each) for each in graph.ids([COLUMN], environment, dag)},
    )


def _without_environment(identifier: str) -> str:
    """Return ``s3://tickit-raw|sales`` of ``dev|s3://tickit-raw|sales``."""
    return identifier.partition("|")[2]
