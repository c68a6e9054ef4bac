"""Owners, tags, custom metadata and other facts that a dbt project states about its entries. Pure.

Nothing here affects lineage, so a malformed value is ignored; it does not reject the entry.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.infra.redaction import MASK, names_secret, redact
from lineage_merge.model.elements import FIELD, field_path
from lineage_merge.sources.json_values import as_mapping

# Limits of `meta` as text: of the whole, of one value, and of nesting. Whole keys are left out.
MAX_META_LENGTH = 2_000
_MAX_VALUE_LENGTH = 500
_MAX_DEPTH = 4
_MAX_OWNERS = 50
_MAX_TEXT_LENGTH = 300
# Keys of `meta` that are stored as owners.
_OWNER_KEYS = ("owner", "owners")
_OF_COLUMN = ("meta", "tags", "constraints")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w$]*\Z")
_PATH = re.compile(r"[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)+")


@dataclass(frozen=True, slots=True)
class Metadata:
    """Facts about an entry or a column: `properties` of the graph, and sets."""

    properties: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    @property
    def sets(self) -> dict[str, tuple[str, ...]]:
        """Return the sets; the empty ones too, because a project knows all its tags and owners."""
        return {"tags": self.tags, "owners": self.owners, "constraints": self.constraints}

    def __bool__(self) -> bool:
        return bool(self.properties or any(self.sets.values()))


NOTHING = Metadata()


def read_entry(kind: str, entry: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]]) -> Metadata:
    """Return the facts about an entry of a manifest; `groups`: the owners of each group by name."""
    config = as_mapping(entry.get("config"))
    metas = (as_mapping(entry.get("meta")), as_mapping(config.get("meta")))
    group = _text(entry.get("group")) or _text(config.get("group"))
    known = {
        "meta": meta_text(metas),
        "file_path": _text(entry.get("original_file_path")),
        "access": _text(entry.get("access")) or _text(config.get("access")),
        "group": group,
        "contract": "enforced" if as_mapping(config.get("contract")).get("enforced") is True else "",
        "version": _text(entry.get("version")),
        "latest_version": _text(entry.get("latest_version")),
        "deprecation_date": _text(entry.get("deprecation_date")),
        "materialization": _text(config.get("materialized")) if kind == "model" else "",
    }
    if kind == "exposure":
        known |= {
            "exposure_type": _text(entry.get("type")),
            "url": _text(entry.get("url")),
            "maturity": _text(entry.get("maturity")),
        }
    elif kind == "metric":
        known["metric_type"] = _text(entry.get("type"))
    return Metadata(
        properties={name: value for name, value in known.items() if value},
        tags=tags_of(entry),
        owners=_distinct([*owners(entry.get("owner")), *groups.get(group, ()), *owners_in_meta(metas)]),
        constraints=constraints_of(entry),
    )


def read_column(column: Mapping[str, Any]) -> Metadata:
    """Return the facts about a declared column."""
    if not any(map(column.get, _OF_COLUMN)) and not any(as_mapping(column.get("config")).values()):
        return NOTHING  # as most columns
    metas = (as_mapping(column.get("meta")), as_mapping(as_mapping(column.get("config")).get("meta")))
    text = meta_text(metas)
    return Metadata(
        properties={"meta": text} if text else {},
        tags=tags_of(column),
        owners=owners_in_meta(metas),
        constraints=constraints_of(column),
    )


def tags_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tags of an entry or column, sorted."""
    places = (entry.get("tags"), as_mapping(entry.get("config")).get("tags"))
    return tuple(sorted({tag for value in places for tag in _texts(value)}))


def owners(value: Any) -> tuple[str, ...]:
    """Return owners as e-mail addresses, or as names where no address is given.

    dbt has ``{name: ..., email: ...}``, where `email` may be a list; `meta` may have a text or a list.
    """
    if isinstance(value, Mapping):
        return tuple(_texts(value.get("email"))) or tuple(_texts(value.get("name")))
    if isinstance(value, list):
        return tuple(owner for member in value for owner in owners(member))
    return tuple(_texts(value))


def owners_in_meta(metas: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the owners of `owner` and `owners` in `meta`."""
    return _distinct(owner for meta in metas for key in _OWNER_KEYS for owner in owners(meta.get(key)))


def owners_of_groups(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the owners of each group of a manifest by name."""
    groups = as_mapping(document.get("groups")).values()
    return {_text(group.get("name")): owners(group.get("owner")) for group in map(as_mapping, groups)}


def meta_text(metas: Iterable[Mapping[str, Any]]) -> str:
    """Return `meta` as JSON without secrets and without owners, "" if nothing remains.

    Values of keys that name a secret are masked. A text of more than `MAX_META_LENGTH` characters loses its
    longest keys, so the result is always JSON.
    """
    merged = {str(key): value for meta in metas for key, value in meta.items() if key not in _OWNER_KEYS}
    values = {key: _value(key, value, 1) for key, value in merged.items()}
    parts = {key: len(_json({key: value})) for key, value in values.items() if value is not None}
    while parts and sum(parts.values()) > MAX_META_LENGTH:
        del parts[max(parts, key=lambda key: (parts[key], key))]
    if not parts:
        return ""
    text = redact(_json({key: values[key] for key in parts}))
    try:
        json.loads(text)
    except ValueError:  # redaction masked more than a value
        return ""
    return text


def constraints_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the declared constraints: ``not_null``, ``primary_key (id)``, ``check (amount > 0)``."""
    listed = entry.get("constraints")
    stated = listed if isinstance(listed, list) else []
    constraints = {_constraint(constraint) for constraint in stated if isinstance(constraint, Mapping)}
    return tuple(sorted(constraint for constraint in constraints if constraint))


def plain_column(name: str) -> str:
    """Return the column, or the `field_path`, that a text names, without quotes; "" for an expression."""
    text = column_path(name.strip())
    if FIELD in text:
        return text
    if len(text) > 2 and (text[0], text[-1]) in {('"', '"'), ("`", "`"), ("[", "]")}:
        inner = text[1:-1]
        return "" if text[-1] in inner else inner
    return text if _IDENTIFIER.match(text) else ""


def column_path(name: str) -> str:
    """Return the `field_path` of a dotted name of identifiers; another name as it is."""
    return field_path(*name.split(".")) if _PATH.fullmatch(name) else name


def _constraint(constraint: Mapping[str, Any]) -> str:
    columns = ", ".join(_texts(constraint.get("columns")))
    expression = _text(constraint.get("expression"))
    inside = columns or expression
    text = f"{_text(constraint.get('type'))} ({inside})" if inside else _text(constraint.get("type"))
    to = _text(constraint.get("to"))
    if to:
        text += f" references {to} ({', '.join(_texts(constraint.get('to_columns')))})"
    return text[:_MAX_TEXT_LENGTH]


def _value(key: str, value: Any, depth: int) -> Any:
    """Return a value of `meta` without secrets, None if it is empty or nested too deeply."""
    if value is None or isinstance(value, bool):
        return value
    if names_secret(key):
        return MASK
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return redact(value[:_MAX_VALUE_LENGTH])
    if depth >= _MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        members = {str(name): _value(str(name), member, depth + 1) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not None} or None
    if isinstance(value, list):
        return [part for part in (_value(key, item, depth + 1) for item in value) if part is not None] or None
    return None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(values)))[:_MAX_OWNERS]


def _texts(value: Any) -> Iterator[str]:
    for member in value if isinstance(value, list) else [value]:
        text = _text(member)
        if text:
            yield text


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).strip()[:_MAX_TEXT_LENGTH]
