"""Rules that map temporary locations, and tables of a warehouse that is not named, to datasets.

They match the raw URI, before it is normalized: the configured rules first, in their order, then the
built-in rules.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache

from lineage_merge import naming
from lineage_merge.config import Config, Rule, split_dataset
from lineage_merge.model.elements import DatasetName, Reference
from lineage_merge.model.errors import NamingError
from lineage_merge.sources import registry

REDSHIFT_TEMPORARY = "redshift-temporary-directory"
DATA_API = "redshift-data-api"

_GENERATED = re.compile(
    r"^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})$", re.IGNORECASE
)
# Other generated ids: long, with letters and digits mixed, so neither a date nor a word.
_MIXED = re.compile(r"^(?=(?:[^0-9]*[0-9]){4})(?=[^A-Za-z]*[A-Za-z])[0-9A-Za-z_-]{16,}$")
_DATE_LIKE = re.compile(r"(?:19|20)\d\d-?[01]\d-?[0-3]\d")
_TABLE = re.compile(r"^[A-Za-z_][\w$-]*(?:\.[A-Za-z_][\w$-]*){0,2}$")
# Common names of folders for such files: no table name precedes the generated segment.
_FOLDER = re.compile(r"te?mp|temp[_-]?dir|temporary|staging|stage|unload|scratch|.*redshift.*", re.IGNORECASE)
# Files that Spark and Redshift create below the directory of one load.
_BELOW = ("part-", "_temporary", "_SUCCESS", "manifest", "attempt_")


@dataclass(frozen=True, slots=True)
class Match:
    """Result of a rule: the dataset, or the reason why it is unknown.

    `everywhere`: it depends on the location alone, not on the application.
    """

    rule: str
    dataset: DatasetName | None
    problem: str = ""
    everywhere: bool = True


@dataclass(frozen=True, slots=True)
class Rules:
    """The configured rules, and the input of the built-in rule.

    `manifests`: the manifests that describe each warehouse, for messages.
    """

    configured: tuple[Rule, ...] = ()
    warehouses: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    manifests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def match(self, ref: Reference) -> Match | None:
        """Return the first rule that matches the location, or None.

        Raises `NamingError` for a table of an unknown warehouse.
        """
        for rule in self.configured:
            groups = _groups(rule, ref)
            if groups is not None:
                named = split_dataset(rule.dataset.format(**groups))
                return Match(rule.name, named, everywhere=not rule.application)
        return self._data_api(ref.name) or self._redshift_temporary(ref.name)

    def _data_api(self, uri: str) -> Match | None:
        table = uri.removeprefix(naming.REDSHIFT_DATA_API)
        if table == uri:
            return None
        named = self._find_in_warehouse(table) if len(self.warehouses) == 1 else None
        if named is None:
            raise NamingError(f"{table}: a table of an unknown Redshift, or without database and schema")
        return Match(DATA_API, named)

    def _redshift_temporary(self, uri: str) -> Match | None:
        table = _table_of_temporary(uri)
        if not table:
            return None
        if len(self.warehouses) != 1:
            return Match(REDSHIFT_TEMPORARY, None, self._unknown_warehouse(table))
        named = self._find_in_warehouse(table)
        if named is None:
            problem = (
                f"a temporary directory of Redshift's table {table}, but merge.default_schemas has no"
                f" database and schema for {self.warehouses[0]}"
            )
            return Match(REDSHIFT_TEMPORARY, None, problem)
        return Match(REDSHIFT_TEMPORARY, named)

    def _find_in_warehouse(self, table: str) -> DatasetName | None:
        """Return the table in the only warehouse; None without its database or schema."""
        named = naming.name_dataset(self.warehouses[0], table, self.defaults).name
        return named if named.name.count(".") == 2 else None

    def _unknown_warehouse(self, table: str) -> str:
        """Return why the warehouse of a table is unknown, and the rule that names it."""
        configured = "no Redshift namespace"
        if self.warehouses:
            configured = "several Redshift namespaces: " + ", ".join(map(self._describe, self.warehouses))
        warehouse = self.warehouses[0] if self.warehouses else "redshift://cluster.region:5439"
        dataset = naming.name_dataset(warehouse, table, self.defaults).name.name
        parts = ["database", "schema"][: max(2 - dataset.count("."), 0)]
        rule = {
            "name": table,
            "match": f"/{re.escape(table)}/",
            "dataset": f"{warehouse}|{'.'.join([*parts, dataset])}",
        }
        return (
            f"a temporary directory of Redshift's table {table}, but the configuration has {configured}."
            f" Fix: add to merge.rules: {json.dumps(rule)}"
        )

    def _describe(self, warehouse: str) -> str:
        manifests = self.manifests.get(warehouse, ())
        return f"{warehouse} ({', '.join(manifests)})" if manifests else warehouse


def from_config(config: Config) -> Rules:
    """Return the rules of a configuration."""
    manifests: dict[str, tuple[str, ...]] = {}
    namespaces = set(config.merge.default_schemas)
    for source, settings in registry.list_configured(config):
        for namespace in source.namespaces(settings):
            namespaces.add(namespace.namespace)
            if namespace.manifest:
                # The section is shown once.
                shown = (
                    namespace.manifest
                    if namespace.namespace in manifests
                    else f"{namespace.section}: {namespace.manifest}"
                )
                manifests[namespace.namespace] = (*manifests.get(namespace.namespace, ()), shown)
    warehouses = tuple(sorted(namespace for namespace in namespaces if namespace.startswith("redshift://")))
    return Rules(config.merge.rules, warehouses, config.merge.default_schemas, manifests)


def is_generated(segment: str) -> bool:
    """Whether a path segment is a generated id, neither a date nor a word."""
    if _GENERATED.match(segment):
        return True
    return bool(_MIXED.match(segment)) and not _DATE_LIKE.search(segment)


def _table_of_temporary(uri: str) -> str:
    """``public.sales`` of ``s3://.../redshift/public.sales/0f7d3c1e-...``; "" for other paths."""
    scheme, _, path = uri.partition("://")
    if scheme.lower() not in ("s3", "s3a", "s3n") or "redshift" not in path.lower():
        return ""
    segments = [segment for segment in path.split("/")[1:] if segment]
    while segments and segments[-1].startswith(_BELOW):
        segments.pop()
    if len(segments) < 2 or not is_generated(segments[-1]):
        return ""
    table = segments[-2]
    return table if _TABLE.match(table) and not _FOLDER.fullmatch(table) else ""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _groups(rule: Rule, ref: Reference) -> Mapping[str, str] | None:
    """Return the named groups of a rule that matches a location, or None."""
    if rule.application and not fnmatchcase(ref.application, rule.application):
        return None
    if not rule.match:
        # Without a pattern, the application alone decides: only for generated paths, not all it accesses.
        return {} if _ends_generated(ref.name) else None
    match = _pattern(rule.match).search(ref.name)
    return {name: text or "" for name, text in match.groupdict().items()} if match else None


def _ends_generated(uri: str) -> bool:
    segments: Iterable[str] = [segment for segment in uri.split("/") if segment]
    return any(is_generated(segment) for segment in list(segments)[-2:])
