"""Configuration that joins near misses, as YAML to paste: a namespace, a default schema, or a rule. Pure.

One fix covers as many pairs as possible: a namespace all tables of a dbt project, a rule all datasets that
differ in the same manner.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from lineage_merge import naming
from lineage_merge.infra.redaction import MASK
from lineage_merge.merge.near_misses.names import NameParts, parts_of
from lineage_merge.merge.near_misses.pairs import Pair
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.identifiers import join_name

_MAX_ALTERNATIVES = 50
_REDSHIFT = "redshift://"
# All spellings of a canonical scheme, as regular expressions.
_SCHEMES = {"s3": "s3[an]?", "abfss": "abfss?", "wasbs": "wasbs?"}


class NamespaceSetting(NamedTuple):
    """A configured namespace of a source's tables: its key, value, and entry in the configuration."""

    key: str
    namespace: str
    section: str
    entry: Mapping[str, str]
    name: str = "namespace"


@dataclass(frozen=True, slots=True)
class Settings:
    """The parts of a configuration that decide names.

    `confirmed`: namespaces in which a source and another one have a dataset in common, so they are correct.
    `by_jdbc`: datasets that Spline records with a JDBC URL, which rules match. `completed`: short names that
    a default schema completes, by dataset; `directories`: temporary directories by the table that they
    represent. `known`: ids that a rule for a path must not match, sorted.
    """

    namespaces: tuple[NamespaceSetting, ...] = ()
    default_schemas: Mapping[str, str] = field(default_factory=dict)
    hive_namespace: str = ""
    spark_catalogs: tuple[str, ...] = ()
    confirmed: frozenset[str] = frozenset()
    by_jdbc: frozenset[str] = frozenset()
    completed: Mapping[str, str] = field(default_factory=dict)
    directories: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()


class Fix(NamedTuple):
    """A change of the configuration: its key, and YAML; "" if no configuration joins the pair."""

    key: str = ""
    yaml: str = ""


def fixes(pairs: Sequence[Pair], settings: Settings) -> dict[tuple[str, str], Fix]:
    """Return the fix of each pair, by the ids of what is read and written.

    Pairs that the fix of another one also joins have the same fix.
    """
    found: dict[tuple[str, str], Fix] = {}
    catalogs = {_ids(pair): _spark_catalog(pair, settings) for pair in pairs}
    found |= {ids: fix for ids, fix in catalogs.items() if fix}
    _fix_namespaces([pair for pair in pairs if _ids(pair) not in found], settings, found)
    rest = [pair for pair in pairs if _ids(pair) not in found]
    for pair in rest:
        fix = _default_schema(pair, settings)
        if fix:
            found[_ids(pair)] = fix
    _fix_by_rules([pair for pair in rest if _ids(pair) not in found], settings, found)
    return found


def _ids(pair: Pair) -> tuple[str, str]:
    return pair.read.id, pair.written.id


def _fix_namespaces(pairs: Sequence[Pair], settings: Settings, found: dict[tuple[str, str], Fix]) -> None:
    """Find namespaces that are wrong: most near misses of their tables are in one other namespace."""
    read_from = {pair.read.namespace for pair in pairs}
    # If the namespaces of both sides are configured, that of what is read.
    configured = sorted(
        {each.namespace for each in settings.namespaces}, key=lambda each: (each not in read_from, each)
    )
    for namespace in configured:
        if namespace in settings.confirmed:
            continue
        of_namespace = [
            pair
            for pair in pairs
            if namespace in (pair.read.namespace, pair.written.namespace)
            and pair.read.namespace != pair.written.namespace
            and not (pair.read.is_path or pair.written.is_path)
        ]
        moves = Counter(
            other.namespace
            for pair in of_namespace
            for own, other in (_sides(pair, namespace),)
            if _renamed(other.namespace, own.name) == (other.namespace, other.name)
        )
        if not moves:
            continue
        (new, number), *_ = sorted(moves.items(), key=lambda each: (-each[1], each[0]))
        if 2 * number < len(of_namespace):
            continue
        of_settings = [each for each in settings.namespaces if each.namespace == namespace]
        fix = _namespace_fix(of_settings, new)
        joined: list[Pair] = []
        table: NameParts | None = None
        for pair in pairs:
            own, other = _sides(pair, namespace)
            if _ids(pair) in found or own.namespace != namespace:
                continue
            if _renamed(new, own.name) == (other.namespace, other.name):
                joined.append(pair)
            elif other.is_path and _is_temporary_directory(other, new, settings, without=namespace):
                # The built-in rule for Redshift's temporary directories also needs a default schema.
                joined.append(pair)
                table = table or own
        if table and new not in settings.default_schemas:
            fix = _with_default(fix, new, table)
        found |= {_ids(pair): fix for pair in joined}


def _with_default(fix: Fix, namespace: str, table: NameParts) -> Fix:
    default = {"merge": {"default_schemas": {namespace: join_name(table.containers).lower()}}}
    return Fix(f"{fix.key}, merge.default_schemas", fix.yaml + _as_yaml(default))


def _sides(pair: Pair, namespace: str) -> tuple[NameParts, NameParts]:
    """Return the dataset in the namespace, and the other one."""
    return (pair.read, pair.written) if pair.read.namespace == namespace else (pair.written, pair.read)


def _renamed(namespace: str, name: str, defaults: Mapping[str, str] | None = None) -> tuple[str, str] | None:
    try:
        return naming.name_dataset(namespace, name, defaults or {}).name
    except NamingError:
        return None


def _namespace_fix(settings: Sequence[NamespaceSetting], new: str) -> Fix:
    keys = ", ".join(each.key for each in settings)
    value: dict[str, Any] = {}
    for each in settings:
        if each.entry:
            value.setdefault(each.section, []).append({**each.entry, each.name: new})
        else:
            value[each.section] = {each.name: new}
    return Fix(keys, _as_yaml(value))


def _spark_catalog(pair: Pair, settings: Settings) -> Fix | None:
    """Return the name of Hive's metastore in Spark, if that is what is missing."""
    if not settings.hive_namespace or not pair.is_whole:
        return None
    for own, other in ((pair.read, pair.written), (pair.written, pair.read)):
        if own.namespace == settings.hive_namespace and ":" not in other.namespace:
            if _renamed(own.namespace, other.name) != (own.namespace, own.name):
                continue
            names = [*settings.spark_catalogs, other.namespace]
            return Fix("hive.spark_catalogs", _as_yaml({"hive": {"spark_catalogs": names}}))
    return None


def _default_schema(pair: Pair, settings: Settings) -> Fix | None:
    """Return the default schema that completes the shorter name to the other one."""
    for short, whole in ((pair.read, pair.written), (pair.written, pair.read)):
        namespace = whole.namespace
        default = join_name([each for each in whole.containers if each])
        if whole.is_path or not default or default == settings.default_schemas.get(namespace):
            continue
        if short.is_path:
            if not _is_temporary_directory(short, namespace, settings):
                continue
            name = short.leaf
        elif short.namespace != namespace:
            continue
        else:
            name = settings.completed.get(short.id, short.name)
        completed = _renamed(namespace, name, {namespace: default})
        is_short = name != short.name or _renamed(namespace, name) != completed
        if completed == (namespace, whole.name) and is_short and naming.completes_names(namespace, default):
            fix = {"merge": {"default_schemas": {namespace: default}}}
            return Fix("merge.default_schemas", _as_yaml(fix))
    return None


def _is_temporary_directory(path: NameParts, namespace: str, settings: Settings, without: str = "") -> bool:
    """Whether the built-in rule resolves a directory as soon as the namespace has a default schema.

    `without`: a configured namespace that is replaced.
    """
    configured = {each.namespace for each in settings.namespaces} - {without}
    warehouses = {
        each for each in {*configured, *settings.default_schemas, namespace} if each.startswith(_REDSHIFT)
    }
    in_s3 = path.namespace.startswith("s3://") and "redshift" in path.id.lower()
    return warehouses == {namespace} and in_s3 and "." in path.leaf


class _Mapping(NamedTuple):
    """A rule in preparation: datasets that differ in the same manner."""

    is_jdbc: bool
    source: tuple[str, str]
    target: tuple[str, str]


def _fix_by_rules(pairs: Iterable[Pair], settings: Settings, found: dict[tuple[str, str], Fix]) -> None:
    groups: dict[_Mapping, list[tuple[Pair, NameParts, NameParts]]] = defaultdict(list)
    for pair in pairs:
        ends = _matched_end(pair, settings)
        if ends is None:
            found[_ids(pair)] = Fix()
            continue
        source, target = ends
        above = _prefix(source), _prefix(target)
        same_name = _last(source) == _last(target)
        key = _Mapping(
            not source.is_path,
            (source.namespace, above[0] if same_name else source.name),
            (target.namespace, above[1] if same_name else target.name),
        )
        groups[key].append((pair, source, target))
    for mapping, members in sorted(groups.items()):
        for start in range(0, len(members), _MAX_ALTERNATIVES):
            batch = members[start : start + _MAX_ALTERNATIVES]
            fix = _rule(mapping, [(source, target) for _, source, target in batch], settings)
            for pair, _, _ in batch:
                found[_ids(pair)] = fix


def _matched_end(pair: Pair, settings: Settings) -> tuple[NameParts, NameParts] | None:
    """Return the dataset whose URI a rule can match, and the dataset that it becomes."""
    for source, target in ((pair.read, pair.written), (pair.written, pair.read)):
        if source.is_path and MASK not in f"{source.id}{target.id}":
            return source, target
    for source, target in ((pair.written, pair.read), (pair.read, pair.written)):
        if source.id in settings.directories:
            return parts_of(settings.directories[source.id]), target
        if source.id in settings.by_jdbc and source.containers and MASK not in f"{source.id}{target.id}":
            return source, target
    return None


def _last(parts: NameParts) -> str:
    return parts.name.rpartition("/")[2] if parts.is_path else parts.leaf


def _prefix(parts: NameParts) -> str:
    """Return the name without its last part, with the separator."""
    if parts.is_path:
        return parts.name[: len(parts.name) - len(_last(parts))]
    return "".join(f"{join_name([each])}." for each in parts.containers)


def _rule(mapping: _Mapping, members: Sequence[tuple[NameParts, NameParts]], settings: Settings) -> Fix:
    names = sorted({_last(source) for source, _ in members})
    first, target = members[0]
    is_group = len(names) > 1
    chosen = f"(?P<name>{'|'.join(map(_escape, names))})" if is_group else _escape(names[0])
    if mapping.is_jdbc:
        match = _jdbc_pattern(first, chosen)
    else:
        is_parent = any(_has_children(source.id, settings.known) for source, _ in members)
        end = "/?$" if is_parent else "(?:/|$)"
        match = f"{_path_pattern(first)}{chosen}{end}"
    name = f"{_prefix(target)}{{name}}" if is_group else target.name
    escaped = name if is_group else name.replace("{", "{{").replace("}", "}}")
    title = f"{names[0]} and {len(names) - 1} more" if is_group else names[0]
    rule = {"name": f"joins {title}", "match": match, "dataset": f"{target.namespace}|{escaped}"}
    return Fix("merge.rules", _as_yaml({"merge": {"rules": [rule]}}))


def _has_children(identifier: str, known: Sequence[str]) -> bool:
    """Whether another known dataset is below a path."""
    below = f"{identifier}/"
    position = bisect_left(known, below)
    return position < len(known) and known[position].startswith(below)


def _path_pattern(path: NameParts) -> str:
    """Return a regular expression for the folder of a path, in all spellings of its scheme."""
    above = _escape(_prefix(path).lstrip("/"))
    scheme, separator, authority = path.namespace.partition("://")
    if not separator:  # files of one machine, and DBFS
        return f"^(?:file:(?://)?)?/{above}" if scheme == "file" else f"^{_escape(scheme)}:(?://)?/{above}"
    host, colon, port = authority.partition(":")
    server = _escape(host) + (f"(?::{port})?" if colon else "")
    return f"^{_SCHEMES.get(scheme, scheme)}://{server}/+{above}"


def _jdbc_pattern(table: NameParts, chosen: str) -> str:
    """Return a regular expression for tables of one schema, in all forms of the JDBC URL."""
    scheme, _, authority = table.namespace.partition("://")
    host = authority.partition(":")[0]
    # These namespaces have other host names than their URLs, with the same first label.
    server = _escape(host.partition(".")[0] if scheme in ("redshift", "snowflake") else host)
    database, *schemas = (_escape(each) for each in table.containers[-2:])
    qualified = rf"(?:\W?{database}\W?\.)?"
    if schemas:
        qualified = rf"(?:{qualified}\W?{schemas[0]}\W?\.)?"
    return rf"(?i)^jdbc:.*\b{server}\b.*\b{database}\b.*:{qualified}\W?{chosen}\W?$"


def _escape(text: str) -> str:
    """Escape a text for a regular expression, and no more than needed: people read it."""
    return re.sub(r"([][\\.^$*+?{}|()])", r"\\\1", text)


def _as_yaml(value: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000))
