"""What a server knows beside its exports: the numbers of data sets, and rules of row level security. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.sources.json_values import as_list, as_mapping, as_text


class RowRule(NamedTuple):
    """A rule of row level security: a condition in SQL on the rows of a data set or of its table."""

    name: str
    clause: str
    uuid: str
    database: str
    catalog: str
    schema: str
    table: str
    is_virtual: bool


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """UUIDs of data sets by number, and the rules of row level security."""

    data_sets: Mapping[int, str] = field(default_factory=dict)
    rules: tuple[RowRule, ...] = ()


def combine_facts(data_sets: Iterable[Mapping[str, Any]], rules: Iterable[Mapping[str, Any]]) -> ServerFacts:
    """Return the facts of the lists of data sets and of rules."""
    listed = {number: entry for entry in data_sets if isinstance(number := entry.get("id"), int)}
    uuids = {number: uuid for number, entry in listed.items() if (uuid := as_text(entry.get("uuid")).lower())}
    found: dict[RowRule, None] = {}
    for rule in rules:
        for table in map(as_mapping, as_list(rule.get("tables"))):
            number = table.get("id")
            entry = listed.get(number, {}) if isinstance(number, int) else {}
            if as_text(rule.get("clause")) and as_text(entry.get("uuid")):
                found[_make_rule(rule, entry)] = None
    return ServerFacts(uuids, tuple(found))


def _make_rule(rule: Mapping[str, Any], data_set: Mapping[str, Any]) -> RowRule:
    return RowRule(
        as_text(rule.get("name")),
        as_text(rule.get("clause")),
        as_text(data_set.get("uuid")).lower(),
        as_text(as_mapping(data_set.get("database")).get("uuid")).lower(),
        as_text(data_set.get("catalog")),
        as_text(data_set.get("schema")),
        as_text(data_set.get("table_name")),
        bool(as_text(data_set.get("sql"))),
    )
