"""Names of datasets: aliases with their canonical ids, ambiguous ones, and the origin of each name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Self

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.merge.declared_dashboards import (
    DASHBOARD_NAME_RULE,
    DASHBOARD_URL_RULE,
    find_name,
    find_url,
    name_exposure,
    pair_by_name,
    pair_exposures,
)
from lineage_merge.model.elements import Alias, Dataset, Scalar
from lineage_merge.model.records import Record, ResolvedRecord

# Begin the keys of exposures of one address, and of one name; no id begins so.
_URL, _NAME = "\x1furl ", "\x1fname "


class ResolvedAlias(NamedTuple):
    """A resolved alias: the id of its dataset, and properties that the alias adds to it."""

    canonical_id: str
    properties: Mapping[str, Scalar]
    aliases: list[str]


@dataclass(frozen=True, slots=True)
class Aliases:
    """The aliases of a merge, by alias id.

    `candidates`: the ids that each alias may resolve to; only an alias with one candidate is resolved.
    `rules`: the rule that found the alias. `resolved`: the resolved aliases.
    """

    candidates: Mapping[str, list[str]] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    resolved: Mapping[str, ResolvedAlias] = field(default_factory=dict)

    def canonical_ids(self) -> dict[str, str]:
        """Return the canonical id of each resolved alias."""
        return {alias: alias_target.canonical_id for alias, alias_target in self.resolved.items()}

    def list_canonical_ids(self, *rules: str) -> list[str]:
        """Return the canonical ids of the aliases that one of the rules found."""
        found = (
            self.resolved[alias] for alias, of in self.rules.items() if of in rules and alias in self.resolved
        )
        return sorted({alias.canonical_id for alias in found})

    def drop(self, ids: Iterable[str]) -> "Aliases":
        """Return the aliases without those that resolve to one of these ids."""
        excluded = set(ids)
        dropped = {
            alias for alias, alias_target in self.resolved.items() if alias_target.canonical_id in excluded
        }
        return Aliases(
            {alias: targets for alias, targets in self.candidates.items() if alias not in dropped},
            {alias: rules for alias, rules in self.rules.items() if alias not in dropped},
            {alias: alias_target for alias, alias_target in self.resolved.items() if alias not in dropped},
        )


@dataclass(slots=True)
class _Candidates:
    """What one alias may resolve to."""

    assumed: bool
    targets: dict[str, Mapping[str, Scalar]]
    rule: str
    aliases: set[str]


def find_aliases(records: Rows[Record]) -> Aliases:
    """Find and resolve the aliases among the records. There are few of them: they fit into the driver."""
    collected = dict(records.flat_map(_key_by_alias).reduce_by_key(_merge).collect())
    for prefix, rule, pair in (
        (_URL, DASHBOARD_URL_RULE, pair_exposures),
        (_NAME, DASHBOARD_NAME_RULE, pair_by_name),
    ):
        for key in sorted((key for key in collected if key.startswith(prefix)), reverse=True):
            for declared, dashboard in pair(collected.pop(key).targets):
                known = _Candidates(False, {dashboard: {}}, rule, {name_exposure(declared, rule)})
                collected.setdefault(declared, known)
    return _resolve(collected)


def _resolve(collected: Mapping[str, _Candidates]) -> Aliases:
    """Resolve each alias that has one candidate, through any number of other aliases."""
    candidates = {
        source: sorted(alias_candidates.targets) for source, alias_candidates in sorted(collected.items())
    }
    steps = {source: targets[0] for source, targets in candidates.items() if len(targets) == 1}
    resolved: dict[str, ResolvedAlias] = {}
    for source, target in resolve_aliases(steps).items():
        alias_candidates = collected[source]
        # The properties of an alias in the middle of a chain do not describe the dataset at its end.
        properties = alias_candidates.targets[target] if target == steps[source] else {}
        resolved[source] = ResolvedAlias(target, properties, sorted(alias_candidates.aliases))
        candidates[source] = [target]
    for source in steps.keys() - resolved.keys():
        del candidates[source]
    return Aliases(candidates, {source: collected[source].rule for source in candidates}, resolved)


def resolve_aliases(steps: Mapping[str, str]) -> dict[str, str]:
    """Return the end of each alias chain; a cycle ends at the smallest id in it.

    ``{"a": "b", "b": "c"}`` is ``{"a": "c", "b": "c"}``; ``{"a": "b", "b": "a"}`` is ``{"b": "a"}``:
    two sources that name each other's id describe one dataset.
    """
    aliases: dict[str, str] = {}
    for start in steps:
        path = {start: 0}
        end = steps[start]
        while end in steps and end not in path:
            path[end] = len(path)
            end = steps[end]
        if end in path:
            end = min(list(path)[path[end] :])
        if end != start:
            aliases[start] = end
    return aliases


def _key_by_alias(record: Record) -> Iterator[tuple[str, _Candidates]]:
    if isinstance(record, Alias):
        targets: dict[str, Mapping[str, Scalar]] = {record.of: dict(record.properties)}
        yield record.ref, _Candidates(record.assumed, targets, record.rule, {record.text})
    elif isinstance(record, Dataset):
        if url := find_url(record):
            yield f"{_URL}{url}", _Candidates(False, {record.ref: {}}, "", set())
        if name := find_name(record):
            yield f"{_NAME}{name}", _Candidates(False, {record.ref: {"url": url}}, "", set())


def _merge(one: _Candidates, other: _Candidates) -> _Candidates:
    # A known alias takes precedence over an assumed one.
    if one.assumed != other.assumed:
        return other if one.assumed else one
    for target, properties in other.targets.items():
        known = one.targets.get(target)
        # Records with the same target normally agree; if they differ, the result must not depend on order.
        one.targets[target] = properties if known is None else max(known, properties, key=_items)
    one.rule = max(one.rule, other.rule)
    one.aliases |= other.aliases
    return one


def _items(properties: Mapping[str, Scalar]) -> list[tuple[str, str]]:
    return sorted((name, str(value)) for name, value in properties.items())


# Values of `known_by`: the location has its own name, no rule matches; a rule that depends on the location
# alone, so it holds for every DAG; another part of this DAG's configuration; a source or a catalog.
OWN, EVERYWHERE, CONFIGURED, ALIAS = "own", "everywhere", "configured", "alias"


class IdentityRow(NamedTuple):
    """An alias, the dataset that it resolves to (both as ids), and the origin of that knowledge."""

    alias_id: str
    canonical_id: str
    known_by: str

    @classmethod
    def from_row(cls, row: Mapping[str, str]) -> Self:
        """Return the alias in a row of the file `identities`."""
        return cls(row["alias_id"], row["canonical_id"], row["known_by"])


def identities(records: Rows[Record], aliases: Aliases) -> Rows[IdentityRow]:
    """Return each name with its canonical id. A rule may resolve to an alias, which is resolved here."""
    known = {
        alias_id: canonical_ids[0]
        for alias_id, canonical_ids in aliases.candidates.items()
        if len(canonical_ids) == 1
    }
    engine = records.engine
    of_aliases = engine.rows((IdentityRow(*pair, ALIAS) for pair in known.items()), engine.parallelism)
    return records.flat_map(partial(_identity, known)).union(of_aliases).distinct()


def _identity(known: Mapping[str, str], record: Record) -> Iterator[IdentityRow]:
    if isinstance(record, ResolvedRecord):
        is_own = record.name == record.dataset
        known_by = OWN if is_own else EVERYWHERE if record.is_everywhere else CONFIGURED
        yield IdentityRow(record.name, known.get(record.dataset, record.dataset), known_by)
