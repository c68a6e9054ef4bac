"""Configuration that joins near misses, as YAML to paste: a namespace, a default schema, or a rule. Pure.

One fix covers as many pairs as possible: a namespace all tables of a dbt project, a rule all datasets that
differ in the same manner.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lineage_merge import naming
from lineage_merge.merge.near_misses.names import NameParts
from lineage_merge.merge.near_misses.pairs import Pair
from lineage_merge.merge.near_misses.rules import Fix, Settings, as_yaml, fix_by_rules
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.identifiers import join_name
from lineage_merge.sources.settings import NamespaceSetting

_REDSHIFT = "redshift://"


def fixes(pairs: Sequence[Pair], settings: Settings) -> dict[tuple[str, str], Fix]:
    """Return the fix of each pair, by the ids of what is read and written.

    Pairs that the fix of another one also joins have the same fix.
    """
    found: dict[tuple[str, str], Fix] = {}
    catalogs = {pair.ids: _spark_catalog(pair, settings) for pair in pairs}
    found |= {ids: fix for ids, fix in catalogs.items() if fix}
    _fix_namespaces([pair for pair in pairs if pair.ids not in found], settings, found)
    rest = [pair for pair in pairs if pair.ids not in found]
    for pair in rest:
        fix = _default_schema(pair, settings)
        if fix:
            found[pair.ids] = fix
    return found | fix_by_rules([pair for pair in rest if pair.ids not in found], settings)


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
            if pair.ids in found or own.namespace != namespace:
                continue
            if _renamed(new, own.name) == (other.namespace, other.name):
                joined.append(pair)
            elif other.is_path and _is_temporary_directory(other, new, settings, without=namespace):
                # The built-in rule for Redshift's temporary directories also needs a default schema.
                joined.append(pair)
                table = table or own
        fix = _with_defaults(fix, namespace, new, table, settings.default_schemas)
        found |= {pair.ids: fix for pair in joined}


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


def _renamed(namespace: str, name: str, defaults: Mapping[str, str] | None = None) -> tuple[str, str] | None:
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
            if _renamed(own.namespace, other.name) != (own.namespace, own.name):
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
        completed = _renamed(namespace, name, {namespace: default})
        is_short = name != short.name or _renamed(namespace, name) != completed
        if completed == (namespace, whole.name) and is_short and naming.completes_names(namespace, default):
            fix = {"merge": {"default_schemas": {namespace: default}}}
            return Fix("merge.default_schemas", as_yaml(fix))
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
