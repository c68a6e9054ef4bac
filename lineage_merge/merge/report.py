"""What a merge says of itself: counts and a short list. Needs no Spark, so anybody can read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.model.elements import Problem

# Examples of each source and kind. The driver keeps a list for people, not a second copy of the data.
MOST_PROBLEMS = 1000
# What the merge itself finds counts under this name among the sources.
MERGE = "merge"
# Its file, beside the node and edge files.
REPORT = "report.json"


class Joined(NamedTuple):
    """A rule and how many datasets it joined."""

    rule: str
    datasets: int


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a merge.

    `read`: counts by what was read. `nodes`, `edges`: counts by label. `joined`: by rule.
    `problems`: examples of what a person should know of, at most `MOST_PROBLEMS` of each source and kind.
    `by_source` counts all problems, by source (its key, or `MERGE`) and kind, `totals` by kind.
    `not_retired`: of which sources nothing is retired, and why.
    """

    read: Mapping[str, int]
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    joined: tuple[Joined, ...]
    problems: tuple[Problem, ...]
    totals: Mapping[str, int] = field(default_factory=dict)
    by_source: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    not_retired: tuple[str, ...] = ()

    def of_kind(self, kind: str) -> list[Problem]:
        """The problems of one kind."""
        return [problem for problem in self.problems if problem.kind == kind]

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Report":
        """A report out of what `as_json` made of it."""
        return cls(
            read=told.get("read", {}),
            nodes=told.get("nodes", {}),
            edges=told.get("edges", {}),
            joined=tuple(Joined(each["rule"], each["datasets"]) for each in told.get("joined", ())),
            problems=tuple(
                Problem(each["kind"], each["document"], each["field"], each["message"])
                for each in told.get("problems", ())
            ),
            totals=told.get("totals", {}),
            by_source=told.get("by_source", {}),
            not_retired=tuple(told.get("not_retired", ())),
        )

    def as_json(self) -> dict[str, Any]:
        """The report as `report.json` holds it."""
        return {
            "read": dict(self.read),
            "nodes": dict(self.nodes),
            "edges": dict(self.edges),
            "joined": [joined._asdict() for joined in self.joined],
            "totals": dict(self.totals),
            "by_source": {source: dict(kinds) for source, kinds in self.by_source.items()},
            "not_retired": list(self.not_retired),
            "problems": [
                {
                    "kind": problem.kind,
                    "document": problem.document,
                    "field": problem.field,
                    "message": problem.message,
                }
                for problem in self.problems
            ],
        }
