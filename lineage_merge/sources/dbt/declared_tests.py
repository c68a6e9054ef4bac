"""Tests of a dbt project as declared in its manifest: data tests, unit tests, source freshness. Pure.

Arguments of tests (accepted values, rows of unit tests) are data and are not read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage_merge.sources.dbt.metadata import owners_in_meta, plain_column, tags_of
from lineage_merge.sources.json_values import as_mapping, as_text

CUSTOM_SQL = "custom_sql"
UNIT_TEST = "unit_test"
FRESHNESS = "freshness"

# ref('customers', v=2), ref('package', 'customers'), source('crm', 'customers')
_CALL = re.compile(r"(ref|source)\s*\(([^)]*)\)")
_ARGUMENT = re.compile(r"\s*(?:(?P<key>v|version)\s*=\s*)?['\"]?(?P<value>[^'\",\s]+)['\"]?\s*(?:,|\Z)")
_PERIODS = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}


@dataclass(frozen=True, slots=True)
class DeclaredTest:
    """A data test or unit test.

    `checks` are the unique ids of the nodes it checks. `column` is the tested column or expression, and
    `references` the node and column on the other side of a relationship.
    """

    unique_id: str
    name: str
    type: str
    checks: tuple[str, ...]
    column: str = ""
    references: tuple[str, str] | None = None
    severity: str = ""
    description: str = ""
    file_path: str = ""
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()


class Freshness(NamedTuple):
    """Criteria of a source's freshness: ages in ms (None: not checked), and the column with the time."""

    warn_after_ms: int | None = None
    error_after_ms: int | None = None
    loaded_at: str = ""

    @property
    def is_checked(self) -> bool:
        """Return whether there is a criterion."""
        return self.warn_after_ms is not None or self.error_after_ms is not None


NOT_CHECKED = Freshness()


def tests_of(document: Mapping[str, Any]) -> tuple[DeclaredTest, ...]:
    """Return the enabled tests of a manifest."""
    return tuple(_data_tests(document)) + tuple(_unit_tests(document))


def freshness_of(entry: Mapping[str, Any]) -> Freshness:
    """Return the criteria in a source's entry of the manifest."""
    config = as_mapping(entry.get("config"))
    loaded_at = entry.get("loaded_at_field") or config.get("loaded_at_field")
    freshness = criteria(entry.get("freshness") or config.get("freshness"))
    return freshness._replace(loaded_at=loaded_at if isinstance(loaded_at, str) else "")


def criteria(value: Any) -> Freshness:
    """Return criteria such as ``{"warn_after": {"count": 12, "period": "hour"}}``."""
    mapping = as_mapping(value)
    return Freshness(_milliseconds(mapping.get("warn_after")), _milliseconds(mapping.get("error_after")))


def _milliseconds(value: Any) -> int | None:
    limit = as_mapping(value)
    count, period = limit.get("count"), limit.get("period")
    unit = _PERIODS.get(period) if isinstance(period, str) else None
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 10**6:
        return None
    return count * unit if unit else None


def _data_tests(document: Mapping[str, Any]) -> Iterator[DeclaredTest]:
    for unique_id, entry in document["nodes"].items():
        if entry.get("resource_type") != "test" or _is_disabled(entry):
            continue
        details = as_mapping(entry.get("test_metadata"))
        arguments = as_mapping(details.get("kwargs"))
        parents = _parents(entry)
        column = as_text(entry.get("column_name")) or as_text(arguments.get("column_name"))
        other = _node_named(as_text(arguments.get("to")), parents, document)
        field = plain_column(as_text(arguments.get("field")))
        severity = as_text(as_mapping(entry.get("config")).get("severity")).lower()
        yield DeclaredTest(
            unique_id,
            as_text(entry.get("name")) or unique_id,
            _type(details),
            _find_checked(entry, arguments, parents, document) if details else tuple(parents),
            column,
            (other, field) if other and field else None,
            severity if severity in ("error", "warn") else "",
            *_describe(entry),
        )


def _unit_tests(document: Mapping[str, Any]) -> Iterator[DeclaredTest]:
    for unique_id, entry in as_mapping(document.get("unit_tests")).items():
        if not isinstance(entry, Mapping) or _is_disabled(entry):
            continue
        tested = entry.get("tested_node_unique_id")
        checks = [tested] if isinstance(tested, str) else _parents(entry)[:1]
        name = as_text(entry.get("name")) or unique_id
        yield DeclaredTest(unique_id, name, UNIT_TEST, tuple(checks), "", None, "error", *_describe(entry))


def _describe(entry: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    metas = (as_mapping(entry.get("meta")), as_mapping(as_mapping(entry.get("config")).get("meta")))
    path = as_text(entry.get("original_file_path"))
    return as_text(entry.get("description")), path, tags_of(entry), owners_in_meta(metas)


def _type(details: Mapping[str, Any]) -> str:
    name, package = as_text(details.get("name")), as_text(details.get("namespace"))
    return f"{package}.{name}" if package and name else name or CUSTOM_SQL


def _find_checked(
    entry: Mapping[str, Any], arguments: Mapping[str, Any], parents: list[str], document: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the node that a generic test checks; all its inputs if that is unknown."""
    attached = entry.get("attached_node")  # since v8; null for sources
    if isinstance(attached, str):
        return (attached,)
    named = _node_named(as_text(arguments.get("model")), parents, document)
    return (named,) if named else tuple(parents)


def _node_named(call: str, parents: list[str], document: Mapping[str, Any]) -> str:
    """Return the input of a test that a ``ref()`` or ``source()`` names, "" if not exactly one does."""
    match = _CALL.search(call)
    if match is None:
        return ""
    arguments = list(_ARGUMENT.finditer(match[2]))
    names = [argument["value"] for argument in arguments if not argument["key"]]
    version = next((argument["value"] for argument in arguments if argument["key"]), "")
    if not names:
        return ""
    matching = [parent for parent in parents if _is_named(parent, match[1], names, version, document)]
    return matching[0] if len(matching) == 1 else ""


def _is_named(unique_id: str, call: str, names: list[str], version: str, document: Mapping[str, Any]) -> bool:
    section = "sources" if unique_id.startswith("source.") else "nodes"
    entry = as_mapping(as_mapping(document.get(section)).get(unique_id))
    if (call == "source") != (section == "sources") or entry.get("name") != names[-1]:
        return False
    if call == "source":
        return unique_id.endswith("." + ".".join(names[-2:]))
    return not version or str(entry.get("version")) == version


def _is_disabled(entry: Mapping[str, Any]) -> bool:
    return as_mapping(entry.get("config")).get("enabled") is False


def _parents(entry: Mapping[str, Any]) -> list[str]:
    listed = as_mapping(entry.get("depends_on")).get("nodes")
    nodes = (node for node in listed if isinstance(node, str)) if isinstance(listed, list) else ()
    return list(dict.fromkeys(nodes))
