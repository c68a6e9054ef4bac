"""What the page says of datasets beside their lineage."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.exporters.page.data import NO_USAGE
from lineage_merge.exporters.page.topics import Topic
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.traversal.usage import Usage

# The usage of datasets and columns by id, and the topics of these datasets.
Described = tuple[Mapping[str, Usage], list[Topic]]


def describe_nothing(_vertices: Iterable[Vertex]) -> Described:
    """Return neither usage nor topics."""
    return NO_USAGE, []


@dataclass(frozen=True, slots=True)
class Annotations:
    """Freshness of all datasets, as the page has it, and what is read for some datasets and their columns."""

    freshness: Mapping[str, list[Any]] = field(default_factory=dict)
    describe: Callable[[Iterable[Vertex]], Described] = describe_nothing
