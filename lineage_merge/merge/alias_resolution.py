"""Other identities of datasets: which id means which, and what could not be decided."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.records import Record


class Followed(NamedTuple):
    """What an identity that was followed tells of the dataset that it means (`means`, an id)."""

    means: str
    properties: Mapping[str, str]
    aliases: list[str]


@dataclass(frozen=True, slots=True)
class Aliases:
    """The other identities of a merge, by id.

    `candidates`: the ids that each could mean; only one that could mean a single dataset is followed.
    `rules`: how that is known. `followed`: of those that are followed.
    """

    candidates: Mapping[str, list[str]] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    followed: Mapping[str, Followed] = field(default_factory=dict)

    def meanings(self) -> dict[str, str]:
        """The id that counts, by each other id that is followed."""
        return {other: each.means for other, each in self.followed.items()}

    def without(self, ids: Iterable[str]) -> "Aliases":
        """Without those that are followed to one of these ids."""
        gone = set(ids)
        lost = {other for other, each in self.followed.items() if each.means in gone}
        return Aliases(
            {other: each for other, each in self.candidates.items() if other not in lost},
            {other: each for other, each in self.rules.items() if other not in lost},
            {other: each for other, each in self.followed.items() if other not in lost},
        )


@dataclass(slots=True)
class _Said:
    """What records say of one other identity: those with the highest authority."""

    authority: int
    targets: dict[str, Mapping[str, str]]
    rule: str
    aliases: set[str]


def find_aliases(records: Rows[Record]) -> Aliases:
    """The aliases among the records. They are few beside what is told of datasets: the driver holds them."""
    said = records.filter(_is_alias).map(_by_source).combine(_create, _add, _merge).collect()
    return settle(dict(said))


def settle(said: Mapping[str, _Said]) -> Aliases:
    """Follow each alias that means a single dataset, over however many others."""
    candidates = {source: sorted(each.targets) for source, each in sorted(said.items())}
    steps = {source: targets[0] for source, targets in candidates.items() if len(targets) == 1}
    followed: dict[str, Followed] = {}
    for source, target in ends(steps).items():
        each = said[source]
        # What was told of a name on the way is not true of what it means.
        properties = each.targets[target] if target == steps[source] else {}
        followed[source] = Followed(target, properties, sorted(each.aliases))
        candidates[source] = [target]
    for source in steps.keys() - followed.keys():
        del candidates[source]
    return Aliases(candidates, {source: said[source].rule for source in candidates}, followed)


def ends(steps: Mapping[str, str]) -> dict[str, str]:
    """Where each name leads to, over however many others; a circle leads to the smallest name in it.

    ``{"a": "b", "b": "c"}`` is ``{"a": "c", "b": "c"}``; ``{"a": "b", "b": "a"}`` is ``{"b": "a"}``:
    two sources that each know the other's name mean one dataset.
    """
    found: dict[str, str] = {}
    for start in steps:
        path = {start: 0}
        end = steps[start]
        while end in steps and end not in path:
            path[end] = len(path)
            end = steps[end]
        if end in path:
            end = min(list(path)[path[end] :])
        if end != start:
            found[start] = end
    return found


def _is_alias(record: Record) -> bool:
    return record.kind == "alias"


def _by_source(record: Record) -> tuple[str, Record]:
    return str(record.source), record


def _create(record: Record) -> _Said:
    return _Said(
        record.authority or 0,
        {str(record.target): record.properties},
        record.rule or "",
        set(record.sets.get("aliases", ())),
    )


def _add(said: _Said, record: Record) -> _Said:
    return _merge(said, _create(record))


def _merge(one: _Said, other: _Said) -> _Said:
    # What is only assumed yields to what somebody knows.
    if one.authority != other.authority:
        return max(one, other, key=lambda each: each.authority)
    for target, properties in other.targets.items():
        known = one.targets.get(target)
        # All that lead to one target tell the same; if not, the order must not count.
        one.targets[target] = properties if known is None else max(known, properties, key=_as_key)
    one.rule = max(one.rule, other.rule)
    one.aliases |= other.aliases
    return one


def _as_key(properties: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted(properties.items())
