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
from lineage_merge.infra.batches import batched
from lineage_merge.infra.redaction import MASK
from lineage_merge.merge.near_misses.names import NameParts, parts_of
from lineage_merge.merge.near_misses.pairs import Pair
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.identifiers import join_name
from lineage_merge.sources.settings import NamespaceSetting

_REDSHIFT = "redshift://"
_MAX_ALTERNATIVES = 50
# Platforms whose tables Spline records with a JDBC URL, and names that need no quotes.
_JDBC_SCHEMES = frozenset(
    ("redshift", "postgres", "mysql", "mssql", "oracle", "snowflake", "awsathena", "trino", "hive")
)
_PLAIN = re.compile(r"[\w$-]+")
# All spellings of a canonical scheme, as regular expressions.
_SCHEMES = {"s3": "s3[an]?", "abfss": "abfss?", "wasbs": "wasbs?"}


@dataclass(frozen=True, slots=True)
class Settings:
    """The parts of a configuration that decide names.

    `confirmed`: namespaces in which a source and another one have a dataset in common, without a rule that
    places it there, so they are correct.
    `by_jdbc`: datasets that Spline records with a JDBC URL, which rules match. `completed`: short names that
    a default schema completes, by dataset; `directories`: temporary directories by the table that they
    represent. `known`: ids that a rule for a path must not match, sorted.
    """

    namespaces: tuple[NamespaceSetting, ...] = ()
    default_schemas: Mapping[str, str] = field(default_factory=dict)
    confirmed: frozenset[str] = frozenset()
    by_jdbc: frozenset[str] = frozenset()
    completed: Mapping[str, str] = field(default_factory=dict)
    directories: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()


class Fix(NamedTuple):
    """A change of the configuration: its key, and YAML; "" if no configuration joins the pair."""

    key: str = ""
    yaml: str = ""


def as_yaml(value: Mapping[str, Any]) -> str:
    """Return a part of a configuration to paste."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000))


def fixes(pairs: Sequence[Pair], settings: Settings) -> dict[tuple[str, str], Fix]:
    """Return the fix of each pair, by the ids of what is read and written.

    Pairs that the fix of another one also joins have the same fix.
    """
    fixes: dict[tuple[str, str], Fix] = {}
    catalogs = {pair.ids: _spark_catalog(pair, settings) for pair in pairs}
    fixes |= {ids: fix for ids, fix in catalogs.items() if fix}
    _fix_namespaces([pair for pair in pairs if pair.ids not in fixes], settings, fixes)
    rest = [pair for pair in pairs if pair.ids not in fixes]
    for pair in rest:
        fix = _default_schema(pair, settings)
        if fix:
            fixes[pair.ids] = fix
    return fixes | fix_by_rules([pair for pair in rest if pair.ids not in fixes], settings)


def _fix_namespaces(pairs: Sequence[Pair], settings: Settings, fixes: dict[tuple[str, str], Fix]) -> None:
    """Find namespaces that are wrong: most near misses of their tables are in one other namespace."""
    read_from = {pair.read.namespace for pair in pairs}
    # If the namespaces of both sides are configured, that of what is read.
    configured = sorted(
        {rule.namespace for rule in settings.namespaces}, key=lambda name: (name not in read_from, name)
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
            if _rename(other.namespace, own.name) == (other.namespace, other.name)
        )
        if not moves:
            continue
        (new, number), *_ = sorted(moves.items(), key=lambda move: (-move[1], move[0]))
        if 2 * number < len(of_namespace):
            continue
        of_settings = [rule for rule in settings.namespaces if rule.namespace == namespace]
        fix = _namespace_fix(of_settings, new)
        joined: list[Pair] = []
        table: NameParts | None = None
        for pair in pairs:
            own, other = _sides(pair, namespace)
            if pair.ids in fixes or own.namespace != namespace:
                continue
            if _rename(new, own.name) == (other.namespace, other.name):
                joined.append(pair)
            elif other.is_path and _is_temporary_directory(other, new, settings, without=namespace):
                # The built-in rule for Redshift's temporary directories also needs a default schema.
                joined.append(pair)
                table = table or own
        fix = _with_defaults(fix, namespace, new, table, settings.default_schemas)
        fixes |= {pair.ids: fix for pair in joined}


def _with_defaults(fix: Fix, old: str, new: str, table: NameParts | None, defaults: Mapping[str, str]) -> Fix:
    """Add all default schemas after the change, if a namespace has one or a table needs one."""
    changed = {namespace: default for namespace, default in defaults.items() if namespace != old}
    default = defaults.get(old) or (join_name(table.containers).lower() if table else "")
    if default and naming.completes_names(new, default):
        changed.setdefault(new, default)
    if changed == defaults:
        return fix
    text = as_yaml({"merge": {"default_schemas": changed}})
    if old in defaults:
        # A second Redshift namespace would make temporary directories ambiguous.
        text = text.replace("default_schemas:", f"default_schemas:  # without {old}", 1)
    return Fix(f"{fix.key}, merge.default_schemas", fix.yaml + text)


def _sides(pair: Pair, namespace: str) -> tuple[NameParts, NameParts]:
    """Return the dataset in the namespace, and the other one."""
    return (pair.read, pair.written) if pair.read.namespace == namespace else (pair.written, pair.read)


def _rename(namespace: str, name: str, defaults: Mapping[str, str] | None = None) -> tuple[str, str] | None:
    try:
        return naming.name_dataset(namespace, name, defaults or {}).name
    except NamingError:
        return None


def _namespace_fix(settings: Sequence[NamespaceSetting], new: str) -> Fix:
    keys = ", ".join(setting.key for setting in settings)
    value: dict[str, Any] = {}
    for setting in settings:
        if setting.entry:
            value.setdefault(setting.section, []).append({**setting.entry, setting.name: new})
        else:
            value[setting.section] = {setting.name: new}
    return Fix(keys, as_yaml(value))


def _spark_catalog(pair: Pair, settings: Settings) -> Fix | None:
    """Return the name of a metastore in Spark, if that is what is missing."""
    if not pair.is_whole:
        return None
    metastores = {
        namespace.namespace: namespace
        for namespace in settings.namespaces
        if namespace.spark_catalogs is not None
    }
    for own, other in ((pair.read, pair.written), (pair.written, pair.read)):
        metastore = metastores.get(own.namespace)
        if metastore and ":" not in other.namespace:
            if _rename(own.namespace, other.name) != (own.namespace, own.name):
                continue
            names = [*(metastore.spark_catalogs or ()), other.namespace]
            section = metastore.section
            return Fix(f"{section}.spark_catalogs", as_yaml({section: {"spark_catalogs": names}}))
    return None


def _default_schema(pair: Pair, settings: Settings) -> Fix | None:
    """Return the default schema that completes the shorter name to the other one."""
    for short, whole in ((pair.read, pair.written), (pair.written, pair.read)):
        namespace = whole.namespace
        default = join_name([container for container in whole.containers if container])
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
        completed = _rename(namespace, name, {namespace: default})
        is_short = name != short.name or _rename(namespace, name) != completed
        if completed == (namespace, whole.name) and is_short and naming.completes_names(namespace, default):
            fix = {"merge": {"default_schemas": {namespace: default}}}
            return Fix("merge.default_schemas", as_yaml(fix))
    return None


def _is_temporary_directory(path: NameParts, namespace: str, settings: Settings, without: str = "") -> bool:
    """Whether the built-in rule resolves a directory as soon as the namespace has a default schema.

    `without`: a configured namespace that is replaced.
    """
    configured = {rule.namespace for rule in settings.namespaces} - {without}
    warehouses = {
        name for name in {*configured, *settings.default_schemas, namespace} if name.startswith(_REDSHIFT)
    }
    in_s3 = path.namespace.startswith("s3://") and "redshift" in path.id.lower()
    return warehouses == {namespace} and in_s3 and "." in path.leaf


class _Mapping(NamedTuple):
    """A rule in preparation: datasets that differ in the same manner."""

    is_jdbc: bool
    source: tuple[str, str]
    target: tuple[str, str]


def fix_by_rules(pairs: Iterable[Pair], settings: Settings) -> dict[tuple[str, str], Fix]:
    """Return rules for pairs, one for all that differ in the same manner; an empty fix if no rule matches."""
    fixes: dict[tuple[str, str], Fix] = {}
    groups: dict[_Mapping, list[tuple[Pair, NameParts, NameParts]]] = defaultdict(list)
    for pair in pairs:
        ends = _find_matched_end(pair, settings)
        if ends is None:
            fixes[pair.ids] = Fix()
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
        for batch in batched(members, _MAX_ALTERNATIVES):
            fix = _rule(mapping, [(source, target) for _, source, target in batch], settings)
            for pair, _, _ in batch:
                fixes[pair.ids] = fix
    return fixes


def _find_matched_end(pair: Pair, settings: Settings) -> tuple[NameParts, NameParts] | None:
    """Return the dataset whose URI a rule can match, and the dataset that it becomes."""
    sides = ((pair.read, pair.written), (pair.written, pair.read))
    for source, target in sides:
        if source.is_path and _can_be_in_rule(source, target):
            return source, target
    for source, target in reversed(sides):
        if not _can_be_in_rule(source, target):
            continue
        if source.id in settings.directories:
            return parts_of(settings.directories[source.id]), target
        if source.id in settings.by_jdbc and _has_jdbc_url(source):
            return source, target
    return None


def _can_be_in_rule(source: NameParts, target: NameParts) -> bool:
    """Whether a rule can contain two names: no masked passwords, control characters or separators."""
    text = f"{source.namespace}{source.name}{target.namespace}{target.name}"
    return MASK not in text and "|" not in text and text.isprintable()


def _has_jdbc_url(table: NameParts) -> bool:
    is_plain = all(_PLAIN.fullmatch(segment) for segment in (*table.containers, table.leaf))
    return bool(table.containers) and is_plain and table.namespace.partition("://")[0] in _JDBC_SCHEMES


def _last(parts: NameParts) -> str:
    return parts.name.rpartition("/")[2] if parts.is_path else parts.leaf


def _prefix(parts: NameParts) -> str:
    """Return the name without its last part, with the separator."""
    if parts.is_path:
        return parts.name[: len(parts.name) - len(_last(parts))]
    return "".join(f"{join_name([container])}." for container in parts.containers)


def _rule(mapping: _Mapping, members: Sequence[tuple[NameParts, NameParts]], settings: Settings) -> Fix:
    """Return one rule for all members, or one for each if the group of a pattern cannot name the target."""
    is_one = len(members) == 1 or all(_is_inserted_as_is(mapping, target) for _, target in members)
    batches = [members] if is_one else [[member] for member in members]
    rules = [_rule_of(mapping, batch, settings) for batch in batches]
    return Fix("merge.rules", as_yaml({"merge": {"rules": rules}}))


def _is_inserted_as_is(mapping: _Mapping, target: NameParts) -> bool:
    """Whether the last name as a URI spells it, in any case for JDBC, names the target."""
    if not mapping.is_jdbc:
        return target.is_path or bool(_PLAIN.fullmatch(target.leaf))
    is_insensitive = _upper(target) == (target.namespace, target.name)
    return is_insensitive and bool(_PLAIN.fullmatch(target.leaf))


def _upper(table: NameParts) -> tuple[str, str] | None:
    """Return the canonical name of a table that a URI spells in upper case."""
    try:
        return naming.name_dataset(table.namespace, table.name.upper()).name
    except NamingError:
        return None


def _rule_of(
    mapping: _Mapping, members: Sequence[tuple[NameParts, NameParts]], settings: Settings
) -> dict[str, str]:
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
    dataset = f"{target.namespace}|{_prefix(target) if is_group else target.name}"
    dataset = dataset.replace("{", "{{").replace("}", "}}") + ("{name}" if is_group else "")
    title = f"{names[0]} and {len(names) - 1} more" if is_group else names[0]
    return {"name": f"joins {title}", "match": match, "dataset": dataset}


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
    database, *schemas = (_escape(container) for container in table.containers[-2:])
    qualified = rf"(?:\W?{database}\W?\.)?"
    if schemas:
        qualified = rf"(?:{qualified}\W?{schemas[0]}\W?\.)?"
    return rf"(?i)^jdbc:.*\b{server}\b.*\b{database}\b.*:{qualified}\W?{chosen}\W?$"


def _escape(text: str) -> str:
    """Escape a text for a regular expression, and no more than needed: people read it."""
    return re.sub(r"([][\\.^$*+?{}|()])", r"\\\1", text)
