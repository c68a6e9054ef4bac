"""Findings of a review: what a change does, how severe it is, and what depends on it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.traversal.dependents import AffectedTest, Dependent, Dependents
from lineage_merge.questions.traversal.effects import Change, Effect
from lineage_merge.questions.traversal.usage import Usage
from lineage_merge.review.graph_change import EdgeKey, GraphChange
from lineage_merge.review.struct_types import field_differences


class Severity(StrEnum):
    """The severity of a finding, the worst first.

    `BREAKING`: something that the change does not adapt will fail. `POLICY`: a policy with the severity error
    is newly violated. `CHANGED`: values, rows or types may differ. `INFO`: an addition.
    """

    BREAKING = "breaking"
    POLICY = "policy"
    CHANGED = "changed"
    INFO = "info"


SEVERITIES = tuple(Severity)
# The DAG of a manifest that is reviewed without a configuration.
NO_DAG = "none"


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference between two versions.

    `unique_id` names the dbt entry or the SQL file. `dataset` and `column` are the changed element before the
    change, or the added one; `dataset` is an id of the graph, "" for an element outside the graph.
    `is_guess`: a rename that is concluded from equal expressions or SQL. `change`: its kind for the effects
    downstream, None if it changes values or rows only. `edge`: the one that is added, removed or changed;
    `clauses`: the removed and the added conditions, joins or groupings.
    """

    kind: str
    title: str
    unique_id: str
    message: str
    severity: Severity = Severity.CHANGED
    before: str = ""
    after: str = ""
    dataset: str = ""
    column: str = ""
    is_guess: bool = False
    change: Change | None = None
    file_path: str = ""
    edge: EdgeKey | None = None
    clauses: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@dataclass(frozen=True, slots=True)
class Subject:
    """The dataset that findings are about; fields as in `Finding`."""

    title: str
    unique_id: str
    dataset: str
    file_path: str = ""

    def finding(
        self,
        kind: str,
        message: str,
        severity: Severity = Severity.CHANGED,
        *,
        column: str = "",
        **fields: Any,
    ) -> Finding:
        """Return a finding on the dataset, or on a column, with other fields of `Finding`."""
        return Finding(
            kind,
            f"{self.title}#{column}" if column else self.title,
            self.unique_id,
            message,
            severity,
            dataset=self.dataset,
            column=column,
            file_path=self.file_path,
            **fields,
        )

    def report_altered(self, kind: str, before: str, after: str, **fields: Any) -> Finding:
        """Return the finding that a value changed."""
        message = f"was {before}, is {after}"
        return self.finding(kind, message, before=before, after=after, **fields)

    def report_retyped(self, column: str, before: str, after: str) -> Iterator["Finding"]:
        """Yield the finding that the type of a column changed; of a structure one for each field that did."""
        differences = field_differences(before, after, column)
        if not differences:
            yield self.report_altered("type changed", before, after, column=column, change=Change.RETYPE)
        for path, was, now in differences or ():
            if not now:
                yield self.finding(
                    "column dropped", "is dropped", column=path, before=path, change=Change.DROP
                )
            elif not was:
                yield self.finding("column added", "is new", Severity.INFO, column=path, after=path)
            else:
                yield self.report_altered("type changed", was, now, column=path, change=Change.RETYPE)

    def clause(self, kind: str, removed: Iterable[str], added: Iterable[str]) -> Finding:
        """Return a finding on conditions, joins, groupings or other clauses of a kind."""
        clauses = tuple(removed), tuple(added)
        before, after = (" and ".join(texts) for texts in clauses)
        message = f"was {before or 'none'}, is {after or 'none'}"
        return self.finding(f"{kind} changed", message, before=before, after=after, clauses=clauses)


@dataclass(frozen=True, slots=True)
class Assessed:
    """A finding with everything downstream, and the tests on it; None: not in the graph.

    `readers`: the direct readers of an element of SQL files, without those in the files. `usage`: of the
    element in the graph.
    """

    finding: Finding
    dependents: Dependents | None = None
    tests: tuple[AffectedTest, ...] = ()
    readers: tuple[str, ...] = ()
    usage: Usage | None = None

    @property
    def observed_usage(self) -> Usage | None:
        """The usage; None if it is not observed."""
        return self.usage if self.usage and self.usage.is_observed else None

    @property
    def elements(self) -> tuple[Dependent, ...]:
        """Everything downstream."""
        return self.dependents.elements if self.dependents else ()

    @property
    def broken(self) -> list[Dependent]:
        """The elements that break."""
        return [element for element in self.elements if element.effect is Effect.BREAKS]

    @property
    def broken_datasets(self) -> dict[str, Vertex]:
        """The datasets and exposures that break, by id."""
        vertices = (element.vertex for element in self.broken if element.kind in ("dataset", "exposure"))
        return {vertex.id: vertex for vertex in vertices}

    @property
    def affected(self) -> list[Dependent]:
        """The datasets and exposures downstream, the nearest first."""
        return [
            element
            for element in self.elements
            if element.kind in ("dataset", "exposure") and element.effect is not Effect.UNAFFECTED
        ]

    @property
    def owners(self) -> list[str]:
        """The owners of what is affected."""
        properties = (element.vertex.properties for element in self.affected)
        return sorted({owner for known in properties for owner in known.get("owners", ())})

    @property
    def dags(self) -> list[str]:
        """The DAGs downstream."""
        dags = self.dependents.impact.dags if self.dependents else ()
        return [dag for dag in dags if dag != NO_DAG]


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """All findings of a review, the worst first. `notes`: what could not be compared, and other remarks.

    `incomparable`: the notes on what could not be compared; `change`: what the HTML page draws.
    """

    findings: tuple[Assessed, ...] = ()
    notes: tuple[str, ...] = ()
    incomparable: tuple[str, ...] = ()
    change: GraphChange | None = field(default=None, repr=False, compare=False)

    @property
    def counts(self) -> dict[Severity, int]:
        """The number of findings by severity."""
        numbers = Counter(assessed.finding.severity for assessed in self.findings)
        return {severity: numbers[severity] for severity in SEVERITIES}

    def select_at_least(self, severity: Severity) -> list[Assessed]:
        """Return the findings of this severity or a worse one."""
        allowed = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return [assessed for assessed in self.findings if assessed.finding.severity in allowed]

    @property
    def summary(self) -> str:
        """``2 breaking, 1 changed``; ``no findings``."""
        counts = (f"{number:,} {severity.value}" for severity, number in self.counts.items() if number)
        return ", ".join(counts) or "no findings"


def sort_findings(findings: Iterable[Assessed]) -> tuple[Assessed, ...]:
    """Return findings by severity, then by name."""

    def place(assessed: Assessed) -> tuple[int, str, str, str]:
        finding = assessed.finding
        return SEVERITIES.index(finding.severity), finding.title, finding.kind, finding.message

    return tuple(sorted(findings, key=place))
