"""Report of a merge: counts and examples of problems. Imports no Spark."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import Problem, decode

# Examples per source and kind: bounds the memory of the driver.
MAX_EXAMPLES = 1000
# Source name of problems that the merge itself finds.
MERGE = "merge"
# File name, beside the node and edge files.
REPORT = "report.json"


class Joined(NamedTuple):
    """A rule and the number of datasets that it joined."""

    rule: str
    datasets: int


class JoinedBy(NamedTuple):
    """Rules and the number of datasets that all of them joined, and no other rule."""

    rules: tuple[str, ...]
    datasets: int

    def __str__(self) -> str:
        """Return ``2 by catalog-table and same-name``."""
        return f"{self.datasets} by {' and '.join(self.rules)}"


class NearMiss(NamedTuple):
    """Two datasets that are probably one: ids of what is written and what is read, and the evidence.

    `score`: up to 100 (docs/joining.md). `fix_key`: the configuration key that joins them, `fix` YAML to
    paste; both "" if no configuration does. `note`: the dismissal that no longer applies, "" without one.
    """

    written: str
    read: str
    score: int
    evidence: tuple[str, ...]
    fix_key: str = ""
    fix: str = ""
    note: str = ""


class Dismissed(NamedTuple):
    """A near miss that the configuration dismisses: who did it, why, and until which day ("": no end)."""

    written: str
    read: str
    score: int
    evidence: tuple[str, ...]
    by: str
    reason: str
    until: str = ""


def dataset_text(identifier: str) -> str:
    """Return ``namespace|name`` of the id of a dataset, or the path of a file."""
    _, namespace, name = map(decode, identifier.split("|", 2))
    is_bucket = namespace.partition("://")[0] in ("s3", "gs")
    return f"{namespace}/{name}" if is_bucket else f"{namespace}|{name}"


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a merge.

    `read`: counts by what was read. `elements`: counts of elements by key of the source. `nodes`, `edges`:
    counts by label. `joined_by`: each joined dataset once.
    `problems`: examples of problems, at most `MAX_EXAMPLES` per source and kind. `by_source` counts all
    problems by source (its key, or `MERGE`) and kind, `totals` by kind. `not_retired`: sources of which
    nothing is retired, with the reason. `near_misses`: datasets that are probably one, best first; without
    `dismissed_near_misses`.
    `assumed`: number of assumed edges.
    `unmet`: expectations of the configuration (`merge.expect`) that the merge does not meet.
    """

    read: Mapping[str, int]
    nodes: Mapping[str, int]
    edges: Mapping[str, int]
    joined_by: tuple[JoinedBy, ...]
    problems: tuple[Problem, ...]
    totals: Mapping[str, int] = field(default_factory=dict)
    by_source: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    not_retired: tuple[str, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    dismissed_near_misses: tuple[Dismissed, ...] = ()
    unmet: tuple[str, ...] = ()
    assumed: int = 0
    elements: Mapping[str, int] = field(default_factory=dict)

    @property
    def empty_sources(self) -> tuple[str, ...]:
        """The configured sources that yield no lineage."""
        return tuple(key for key, number in self.elements.items() if not number)

    @property
    def counts(self) -> dict[str, int]:
        """The counts of a build in logs, metrics and spans."""
        return {
            "documents_read": sum(self.read.values()),
            "documents_rejected": self.totals.get("rejected", 0),
            "vertices_built": sum(self.nodes.values()),
            "edges_built": sum(self.edges.values()),
            "not_joined": self.totals.get("not-joined", 0),
        }

    @property
    def joined(self) -> tuple[Joined, ...]:
        """The datasets that each rule joined; a dataset that several rules joined counts for each."""
        counts: Counter[str] = Counter()
        for rules, datasets in self.joined_by:
            counts.update(dict.fromkeys(rules, datasets))
        return tuple(Joined(*item) for item in sorted(counts.items()))

    @property
    def datasets_joined(self) -> int:
        """The number of datasets that any rule joined."""
        return sum(item.datasets for item in self.joined_by)

    def select_kind(self, kind: str) -> list[Problem]:
        """Return the problems of one kind."""
        return [problem for problem in self.problems if problem.kind == kind]

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Report":
        """Parse the output of `as_json`; unknown keys are ignored."""
        values: dict[str, Any] = {name: stored[name] for name in cls.__match_args__ if name in stored}
        values |= {
            name: tuple(parse(item) for item in stored.get(name, ())) for name, parse in _PARSERS.items()
        }
        return cls(**{"read": {}, "nodes": {}, "edges": {}, **values})

    def as_redacted_json(self) -> dict[str, Any]:
        """Return the output of `as_json` without secrets in its problems."""
        shown = self.as_json()
        for problem in shown["problems"]:
            problem["document"], problem["message"] = redact(problem["document"]), redact(problem["message"])
        return shown

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object of `report.json`."""
        return {
            "read": dict(self.read),
            "nodes": dict(self.nodes),
            "edges": dict(self.edges),
            "elements": dict(self.elements),
            "joined": [joined._asdict() for joined in self.joined],
            "joined_by": [{"rules": list(rules), "datasets": number} for rules, number in self.joined_by],
            "datasets_joined": self.datasets_joined,
            "assumed": self.assumed,
            "totals": dict(self.totals),
            "by_source": {source: dict(kinds) for source, kinds in self.by_source.items()},
            "not_retired": list(self.not_retired),
            "near_misses": [{**miss._asdict(), "evidence": list(miss.evidence)} for miss in self.near_misses],
            "dismissed_near_misses": [
                {**miss._asdict(), "evidence": list(miss.evidence)} for miss in self.dismissed_near_misses
            ],
            "unmet": list(self.unmet),
            "problems": [problem.as_json() for problem in self.problems],
        }


def _drop_unknown(kind: type[Problem | NearMiss | Dismissed], stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: stored[name] for name in kind.__match_args__ if name in stored}


# Of the lists in JSON: how their items are parsed.
_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "joined_by": lambda item: JoinedBy(tuple(item["rules"]), item["datasets"]),
    "problems": lambda item: Problem(**_drop_unknown(Problem, item)),
    "near_misses": lambda item: NearMiss(
        **{**_drop_unknown(NearMiss, item), "evidence": tuple(item["evidence"])}
    ),
    "dismissed_near_misses": lambda item: Dismissed(
        **{**_drop_unknown(Dismissed, item), "evidence": tuple(item["evidence"])}
    ),
    "not_retired": str,
    "unmet": str,
}


EMPTY = Report({}, {}, {}, (), ())
