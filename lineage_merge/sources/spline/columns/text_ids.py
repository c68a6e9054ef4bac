"""Attributes of a plan behind the ids in an operation's text, ``amount#2``.

The agent records Spark's ids nowhere but in texts. Which attribute an id is follows from its name and from
what Spark guarantees: an id is one attribute, and the columns of a relation have successive ids.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lineage_merge.sources.spline.columns.documents import PlanColumns

_WORD = re.compile(r"\w+")


class Occurrence(NamedTuple):
    """A column in a text: its id, its name, and the attributes that are visible there."""

    id: int
    name: str
    visible: frozenset[str]


class Copies(NamedTuple):
    """What the agent recorded of a column that rows are merged into: from which attributes it `derives`.

    `ids` are those of all columns that are assigned to it unchanged. It derives from these, and from `own`.
    """

    ids: frozenset[int]
    derives: frozenset[str]
    own: str


def attributes_by_id(
    plan: PlanColumns, occurrences: Iterable[Occurrence], copies: Iterable[Copies] = ()
) -> dict[int, frozenset[str]]:
    """Return the attributes that each id may be: one, several if the texts do not decide, or none."""
    return _Candidates(plan, occurrences).decide(tuple(copies))


class _Candidates:
    def __init__(self, plan: PlanColumns, occurrences: Iterable[Occurrence]) -> None:
        self._candidates: dict[int, set[str]] = {}
        names: dict[frozenset[str], _Names] = {}
        for occurrence in occurrences:
            if occurrence.visible not in names:
                names[occurrence.visible] = _Names(plan, occurrence.visible)
            named = names[occurrence.visible].attributes(occurrence.name)
            known = self._candidates.get(occurrence.id)
            self._candidates[occurrence.id] = named if known is None else known & named
        self._places = {
            attribute: (read, position)
            for read in plan.reads
            for position, attribute in enumerate(plan.output(read))
        }

    def decide(self, copies: tuple[Copies, ...]) -> dict[int, frozenset[str]]:
        for operation in copies:
            for identifier in operation.ids & self._candidates.keys():
                attributes = self._candidates[identifier]
                self._candidates[identifier] = attributes & operation.derives or attributes
        size = -1
        while size != (size := sum(map(len, self._candidates.values()))):
            self._use_copies(copies)
            self._use_successive_ids()
            self._use_only_once()
        return {identifier: frozenset(attributes) for identifier, attributes in self._candidates.items()}

    def _use_copies(self, copies: tuple[Copies, ...]) -> None:
        """Decide on ids by what a column derives from: each attribute but its own is assigned to it."""
        for operation in copies:
            for attribute in operation.derives - {operation.own}:
                ids = [id_ for id_ in operation.ids if attribute in self._candidates.get(id_, ())]
                if len(ids) == 1:
                    self._candidates[ids[0]] = {attribute}

    def _use_successive_ids(self) -> None:
        firsts: defaultdict[str, set[int]] = defaultdict(set)
        for identifier, own in self._candidates.items():
            for attribute in own if len(own) == 1 else ():
                if attribute in self._places:
                    read, position = self._places[attribute]
                    firsts[read].add(identifier - position)
        # Other threads of the driver may have taken ids in between.
        first = {read: next(iter(ids)) for read, ids in firsts.items() if len(ids) == 1}
        for identifier, own in self._candidates.items():
            if len(own) > 1:
                expected = {attribute: self._find_expected(attribute, first) for attribute in own}
                at = {attribute for attribute, id_ in expected.items() if id_ == identifier}
                own &= at or {attribute for attribute, id_ in expected.items() if id_ is None} or own

    def _find_expected(self, attribute: str, first: Mapping[str, int]) -> int | None:
        read, position = self._places.get(attribute, ("", 0))
        return first[read] + position if read in first else None

    def _use_only_once(self) -> None:
        taken = {next(iter(some)): id_ for id_, some in self._candidates.items() if len(some) == 1}
        for identifier, attributes in self._candidates.items():
            if len(attributes) > 1:
                attributes -= {
                    attribute for attribute in attributes if taken.get(attribute, identifier) != identifier
                }


class _Names:
    """Attributes by the name that a text has for them."""

    def __init__(self, plan: PlanColumns, attributes: Iterable[str]) -> None:
        self._by_name: defaultdict[str, set[str]] = defaultdict(set)
        for attribute in attributes:
            self._by_name[plan.name(attribute).casefold()].add(attribute)
        self._with_spaces = [name for name in self._by_name if not _WORD.fullmatch(name)]

    def attributes(self, name: str) -> set[str]:
        name = name.casefold()
        # Of a name with spaces or brackets, what is taken from the text is the end.
        longer = {other for other in self._with_spaces if other.endswith(name)}
        return {attribute for other in {name, *longer} for attribute in self._by_name.get(other, ())}
