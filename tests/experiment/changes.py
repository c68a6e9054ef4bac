"""The verdict of an experiment: what a change of a column changes in a result."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tests.experiment.execution import CHANGES, Result, Source, StatementError
from tests.experiment.product import Lineage

# A result of many rows takes seconds, and shows nothing that a smaller one does not.
_MAX_ROWS = 2000


class Executor(Protocol):
    """What runs statements with changed columns."""

    def sources(self) -> Iterator[Source]:
        """Yield each column that experiments change."""

    def run(self, statement: str, changed: Collection[Source] = (), change: str = "", /) -> Result:
        """Return the result. Raises `StatementError`."""


@dataclass(frozen=True)
class Unknown:
    """A source column whose change changed columns of the result that the lineage leaves unexplained."""

    source: Source
    change: str
    columns: tuple[str, ...]


@dataclass
class Verdict:
    """What the experiments with a statement say of its lineage.

    `confirmed` are edges of values that a change moved, `never` those that no change moved.
    """

    statement: str
    unknown: list[Unknown] = field(default_factory=list)
    confirmed: set[tuple[Source, str]] = field(default_factory=set)
    never: set[tuple[Source, str]] = field(default_factory=set)


def experiment(
    laboratory: Executor,
    statement: str,
    lineage: Lineage,
    changes: Sequence[str] = CHANGES,
    max_rows: float = _MAX_ROWS,
) -> Verdict:
    """Change the source columns of a statement. Raises `StatementError` if the statement cannot run at all.

    Columns that the lineage does not have at all are changed together, and one by one if the result changes.
    A change of a column that decides on rows may change every column.
    """
    verdict = Verdict(statement)
    before = laboratory.run(statement)
    if len(before.rows) > max_rows:
        return verdict
    words = set(re.findall(r"\w+", statement.lower()))
    sources = [source for source in laboratory.sources() if source[0] in words]
    foreign = [
        source for source in sources if source not in lineage.edges and source not in lineage.influences
    ]
    _change_unknown(laboratory, before, verdict, foreign, changes)
    for source in sources:
        known = lineage.targets(source)
        if known:
            _change_known(
                laboratory, before, verdict, source, known, changes, is_masked=source in lineage.influences
            )
    return verdict


def _change_unknown(
    laboratory: Executor,
    before: Result,
    verdict: Verdict,
    sources: Sequence[Source],
    changes: Iterable[str],
) -> None:
    for change in changes:
        waiting = [sources] if sources else []
        while waiting:
            group = waiting.pop()
            after = _after(laboratory, before, verdict.statement, group, change)
            if after is None and len(group) > 1:  # one of them makes the statement fail
                waiting += [group[: len(group) // 2], group[len(group) // 2 :]]
            elif after is None or Counter(after.rows) == Counter(before.rows):
                continue
            elif len(group) > 1:
                waiting += [group[: len(group) // 2], group[len(group) // 2 :]]
            else:
                verdict.unknown.append(
                    Unknown(group[0], change, _find_moved(before, after, range(len(before.columns))))
                )
        if verdict.unknown:
            return


def _change_known(
    laboratory: Executor,
    before: Result,
    verdict: Verdict,
    source: Source,
    known: set[str],
    changes: Iterable[str],
    *,
    is_masked: bool,
) -> None:
    names = [column.casefold() for column in before.columns]
    inside = [at for at, name in enumerate(names) if name in known]
    outside = [at for at, name in enumerate(names) if name not in known]
    moved: set[str] = set()
    for change in changes:
        after = _after(laboratory, before, verdict.statement, [source], change)
        if after is None:
            continue
        moved.update(_find_moved(before, after, inside))
        if not is_masked and _project(before, outside) != _project(after, outside):
            verdict.unknown.append(Unknown(source, change, _find_moved(before, after, outside)))
            break
        if moved >= known:
            break
    verdict.confirmed |= {(source, name) for name in known & moved}
    verdict.never |= {(source, name) for name in known - moved if name in names}


def _after(
    laboratory: Executor, before: Result, statement: str, changed: Collection[Source], change: str
) -> Result | None:
    """Return the result after a change; None if the statement does not accept it, such as a duplicate key."""
    try:
        after = laboratory.run(statement, changed, change)
    except StatementError:
        return None
    return after if after.columns == before.columns else None


def _find_moved(before: Result, after: Result, positions: Iterable[int]) -> tuple[str, ...]:
    """Return the columns whose values changed, as bags; those beside the others if none did alone."""
    listed = list(positions)
    alone = [at for at in listed if _project(before, [at]) != _project(after, [at])]
    if not alone:
        rest = [at for at in range(len(before.columns)) if at not in listed]
        alone = [at for at in listed if _project(before, [*rest, at]) != _project(after, [*rest, at])]
    return tuple(before.columns[at].casefold() for at in alone)


def _project(result: Result, positions: Sequence[int]) -> Mapping[object, int]:
    return Counter(tuple(row[at] for at in positions) for row in result.rows)
