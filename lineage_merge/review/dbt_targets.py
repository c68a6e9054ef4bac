"""Manifests of two targets of dbt, such as a schema of CI and the production schema. Pure.

A relation that only another target places elsewhere did not move: the head is renamed to the places of the
base.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from lineage_merge.model.counts import format_names
from lineage_merge.review.dbt_versions import BuiltRelation, DbtFile
from lineage_merge.sources.dbt.nodes import Manifest, Node

# Fewer models that move together may be a change of the project.
_MIN_MODELS = 3
_MIN_SHARE = 0.9
_MAX_SHOWN = 3
_NAME = r"""(?:"[^"]*"|`[^`]*`|\[[^\]]*\]|\w+)"""
_LAST_NAME = re.compile(rf"(?s)(.*?)({_NAME})$")


class SchemaPlace(NamedTuple):
    """A database and schema."""

    database: str
    schema: str

    def __str__(self) -> str:
        return ".".join(filter(None, self))


def with_places_of_base(base: DbtFile, head: DbtFile) -> tuple[DbtFile, list[str]]:
    """Return the head with the relations of the base's target, and a note if the targets differ."""
    places = _places(base.built, head.built)
    if not places:
        return head, []
    moved = [f"{was} (base) is {now} (head)" for was, now in sorted(places.items()) if was != now]
    note = (
        f"the manifests are of different targets: {format_names(moved, _MAX_SHOWN)}. The head is compared as"
        " if it were of the target of the base."
        " Fix: compile both for one target, such as dbt compile --target prod"
    )
    return replace(head, manifest=_rename(base.manifest, head.manifest, places)), [note]


def _places(
    base: Mapping[str, BuiltRelation], head: Mapping[str, BuiltRelation]
) -> dict[SchemaPlace, SchemaPlace]:
    """Return the place in the head by that in the base; nothing unless nearly all models follow it."""
    pairs = [
        (was.kind, SchemaPlace(was.database, was.schema), SchemaPlace(now.database, now.schema))
        for key, was in base.items()
        if (now := head.get(key))
    ]
    counted: dict[SchemaPlace, Counter[SchemaPlace]] = {}
    for _, old, new in pairs:
        counted.setdefault(old, Counter())[new] += 1
    places = {was: counts.most_common(1)[0][0] for was, counts in counted.items()}
    models = [(was, now) for kind, was, now in pairs if kind == "model"]
    following = sum(was != places[was] == now for was, now in models)
    is_target = following >= max(_MIN_MODELS, _MIN_SHARE * len(models))
    return places if is_target else {}


def _rename(base: Manifest, head: Manifest, places: Mapping[SchemaPlace, SchemaPlace]) -> Manifest:
    nodes = {key: _move_to_base(base.nodes.get(key), node, places) for key, node in head.nodes.items()}
    prefixes = _prefixes(base, head)
    relations = {
        node.code.relation_name: _name_at_base(node, nodes[key], base.nodes.get(key), prefixes)
        for key, node in head.nodes.items()
        if nodes[key] != node and node.code.relation_name
    }
    starts = {match[1] for relation in relations if (match := _LAST_NAME.match(relation))}
    if not starts:
        return replace(head, nodes=nodes)
    several = "|".join(re.escape(start) for start in sorted(starts, key=len, reverse=True))
    pattern = re.compile(rf"""(?<![\w."`\]])(?:{several}){_NAME}""")
    for key, node in nodes.items():
        code, name = node.code, node.code.relation_name
        sql = pattern.sub(lambda match: relations.get(match[0], match[0]), code.sql)
        if node != head.nodes[key]:
            name = relations.get(name, name)
        if (sql, name) != (code.sql, code.relation_name):
            nodes[key] = replace(node, code=replace(code, sql=sql, relation_name=name))
    return replace(head, nodes=nodes)


def _move_to_base(old: Node | None, new: Node, places: Mapping[SchemaPlace, SchemaPlace]) -> Node:
    """Return an entry of the head at its place in the target of the base."""
    now = SchemaPlace(new.database, new.schema)
    if old is not None and places.get(was := SchemaPlace(old.database, old.schema)) == now:
        if was == now:
            return new
        is_same = (old.identifier, old.materialized) == (new.identifier, new.materialized)
        location = old.location if is_same else new.location
        return replace(new, database=was.database, schema=was.schema, location=location)
    origins = [origin for origin, place in places.items() if place == now]
    if new.is_built and len(origins) == 1:
        return replace(new, database=origins[0].database, schema=origins[0].schema)
    return new


def _name_at_base(
    node: Node, renamed: Node, old: Node | None, prefixes: Mapping[tuple[str, SchemaPlace], str]
) -> str:
    """Return the name of a relation in the target of the base, as its adapter quotes it."""
    name = node.code.relation_name
    if old is not None and old.code.relation_name and _is_at(old, renamed):
        return old.code.relation_name
    match = _LAST_NAME.match(name)
    prefix = prefixes.get((match[1], SchemaPlace(renamed.database, renamed.schema))) if match else None
    return f"{prefix}{match[2]}" if match and prefix is not None else name


def _prefixes(base: Manifest, head: Manifest) -> dict[tuple[str, SchemaPlace], str]:
    """Return the start of relation names in the base, by that in the head and the place in the base."""
    prefixes: dict[tuple[str, SchemaPlace], str] = {}
    for key, old in base.nodes.items():
        new = head.nodes.get(key)
        was = _LAST_NAME.match(old.code.relation_name)
        now = _LAST_NAME.match(new.code.relation_name) if new is not None else None
        if was and now and was[2] == now[2]:
            prefixes.setdefault((now[1], SchemaPlace(old.database, old.schema)), was[1])
    return prefixes


def _is_at(one: Node, other: Node) -> bool:
    return (one.database, one.schema, one.identifier) == (other.database, other.schema, other.identifier)
