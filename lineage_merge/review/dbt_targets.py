"""Manifests of two targets of dbt, such as a schema of CI and the production schema. Pure.

A relation that only another target places elsewhere did not move: the head is renamed to the places of the
base.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from lineage_merge.review.dbt_versions import BuiltRelation, DbtFile, built_of
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
    places = _places(built_of(base), built_of(head))
    if not places:
        return head, []
    moved = [f"{was} (base) is {now} (head)" for was, now in sorted(places.items()) if was != now]
    shown = ", ".join(moved[:_MAX_SHOWN])
    more = f" and {len(moved) - _MAX_SHOWN:,} more" if len(moved) > _MAX_SHOWN else ""
    note = (
        f"the manifests are of different targets: {shown}{more}. The head is compared as if it were of the"
        " target of the base. Fix: compile both for one target, such as dbt compile --target prod"
    )
    return replace(head, manifest=_renamed(base.manifest, head.manifest, places)), [note]


def _places(
    base: Mapping[str, BuiltRelation], head: Mapping[str, BuiltRelation]
) -> dict[SchemaPlace, SchemaPlace]:
    """Return the place in the head by that in the base; nothing unless nearly all models follow it."""
    counted: dict[SchemaPlace, Counter[SchemaPlace]] = {}
    pairs = [(each, head[key]) for key, each in base.items() if key in head]
    for was, now in pairs:
        places = counted.setdefault(SchemaPlace(was.database, was.schema), Counter())
        places[SchemaPlace(now.database, now.schema)] += 1
    found = {was: places.most_common(1)[0][0] for was, places in counted.items()}
    models = [(was, now) for was, now in pairs if was.kind == "model"]
    following = 0
    for was, now in models:
        place = SchemaPlace(was.database, was.schema)
        following += place != found[place] == SchemaPlace(now.database, now.schema)
    is_target = following >= max(_MIN_MODELS, _MIN_SHARE * len(models))
    return found if is_target else {}


def _renamed(base: Manifest, head: Manifest, places: Mapping[SchemaPlace, SchemaPlace]) -> Manifest:
    nodes = {key: _at_base(base.nodes.get(key), node, places) for key, node in head.nodes.items()}
    names = _RelationNames(base, head)
    relations = {
        node.code.relation_name: names.of_base(node, nodes[key], base.nodes.get(key))
        for key, node in head.nodes.items()
        if nodes[key] != node and node.code.relation_name
    }
    prefixes = {match[1] for relation in relations if (match := _LAST_NAME.match(relation))}
    if not prefixes:
        return replace(head, nodes=nodes)
    several = "|".join(re.escape(prefix) for prefix in sorted(prefixes, key=len, reverse=True))
    pattern = re.compile(rf"""(?<![\w."`\]])(?:{several}){_NAME}""")
    for key, node in nodes.items():
        code = node.code
        sql = pattern.sub(lambda match: relations.get(match[0], match[0]), code.sql) if code.sql else ""
        name = relations.get(code.relation_name, code.relation_name)
        if nodes[key] == head.nodes[key]:
            name = code.relation_name
        if (sql, name) != (code.sql, code.relation_name):
            nodes[key] = replace(node, code=replace(code, sql=sql, relation_name=name))
    return replace(head, nodes=nodes)


def _at_base(old: Node | None, new: Node, places: Mapping[SchemaPlace, SchemaPlace]) -> Node:
    """Return an entry of the head at its place in the target of the base."""
    now = SchemaPlace(new.database, new.schema)
    if old is not None and places.get(was := SchemaPlace(old.database, old.schema)) == now:
        if was == now:
            return new
        is_same = (old.identifier, old.materialized) == (new.identifier, new.materialized)
        location = old.location if is_same else new.location
        return replace(new, database=was.database, schema=was.schema, location=location)
    origins = [each for each, place in places.items() if place == now]
    if new.is_built and len(origins) == 1:
        return replace(new, database=origins[0].database, schema=origins[0].schema)
    return new


class _RelationNames:
    """Names of relations in SQL, which the adapter quotes."""

    def __init__(self, base: Manifest, head: Manifest) -> None:
        self._prefixes: dict[tuple[str, SchemaPlace], str] = {}
        for key, prefix, place in self._known(base, head):
            self._prefixes.setdefault((key, place), prefix)

    def of_base(self, node: Node, renamed: Node, old: Node | None) -> str:
        """Return the name in the target of the base."""
        if old is not None and old.code.relation_name and _is_at(old, renamed):
            return old.code.relation_name
        match = _LAST_NAME.match(node.code.relation_name)
        if match is None:
            return node.code.relation_name
        prefix = self._prefixes.get((match[1], SchemaPlace(renamed.database, renamed.schema)))
        return f"{prefix}{match[2]}" if prefix is not None else node.code.relation_name

    @staticmethod
    def _known(base: Manifest, head: Manifest) -> Iterator[tuple[str, str, SchemaPlace]]:
        """Yield prefixes in the head and in the base, with the place in the base."""
        for key, old in base.nodes.items():
            new = head.nodes.get(key)
            was = _LAST_NAME.match(old.code.relation_name)
            now = _LAST_NAME.match(new.code.relation_name) if new is not None else None
            if was and now and was[2] == now[2]:
                yield now[1], was[1], SchemaPlace(old.database, old.schema)


def _is_at(one: Node, other: Node) -> bool:
    return (one.database, one.schema, one.identifier) == (other.database, other.schema, other.identifier)
