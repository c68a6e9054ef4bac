"""Comparison of two states of a graph or of an element. Pure."""

from collections.abc import Iterator, Mapping
from typing import Generic, Literal, NamedTuple, TypeVar

from lineage_merge.graph_format.elements import Edge, Vertex

Action = Literal["added", "removed", "changed"]
Key = TypeVar("Key")
Value = TypeVar("Value")

# What is not compared: properties of a run, of the loader, of usage, and of the order of columns.
NOT_COMPARED = frozenset(
    """
    dag_name environment name job_name job_type last_run_id last_run_at skipped_at described_at duration_ms
    rows_written status failures max_loaded_at position sequence resolved_names first_seen
    read_count last_read_at readers observed_from observed_until
    """.split()
)


class Difference(NamedTuple, Generic[Key, Value]):
    """What one of two states has, or what differs; None: that state does not have it."""

    key: Key
    before: Value | None
    after: Value | None

    @property
    def action(self) -> Action:
        """What happened from one state to the other."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"


def compare(before: Mapping[Key, Value], after: Mapping[Key, Value]) -> Iterator[Difference[Key, Value]]:
    """Yield what differs between two states, each with its values by key."""
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old != new:
            yield Difference(key, old, new)


def list_compared_values(element: Vertex | Edge) -> dict[str, str]:
    """Return the properties that are compared, as texts; of a vertex also its label."""
    values = {} if isinstance(element, Edge) else {"label": element.label}
    for name, value in element.properties.items():
        if name not in NOT_COMPARED:
            values[name] = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return values
