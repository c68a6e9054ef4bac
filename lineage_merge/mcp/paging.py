"""Pages of answers: as many rows as fit a size, and a cursor for the next ones. Pure."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from lineage_merge.mcp.untrusted_text import cut, has_cut, visible
from lineage_merge.model.errors import QueryError

# Characters of an answer's JSON: 2,000 to 3,000 tokens.
DEFAULT_SIZE = 8_000
MIN_SIZE = 4_000
# What `fitted` leaves of texts and lists, the first of these that fits.
_LIMITS = ((1_000, 20), (300, 10), (120, 5), (60, 2), (20, 1))
_FEW = 5
# Of the size, for the fields beside the rows, and for a row.
_HEADER_SHARE = 0.5
_ROW_SHARE = 0.4
_CURSOR = re.compile(r"(\d{1,12})-(\d{1,12})-([0-9a-f]{12})")
# For total, truncated, next_cursor and brackets.
_ENVELOPE = 160


@dataclass(frozen=True, slots=True)
class Found:
    """A complete answer. `header`: the fields beside the rows; `row` makes a row of one of `items`."""

    items: Sequence[Any]
    row: Callable[[Any], BaseModel]
    header: Mapping[str, Any] = field(default_factory=dict)


def compact(value: Any) -> str:
    """Return JSON without spaces; other scripts than Latin stay readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def page(answer: Found, question: str, size: int, cursor: str | None) -> dict[str, Any]:
    """Return the rows that fit `size` characters, from a cursor of the same question on.

    Raises `QueryError` if the cursor is one of another question, or the answer has changed.
    """
    total = len(answer.items)
    start = _position(cursor, question, total) if cursor else 0
    header = fit(plain(answer.header), int(size * _HEADER_SHARE))
    left = size - len(compact(header)) - _ENVELOPE
    rows: list[dict[str, Any]] = []
    for item in answer.items[start:]:
        values = answer.row(item).model_dump(mode="json", exclude_defaults=True)
        row = fit(values, int(size * _ROW_SHARE))
        left -= len(compact(row)) + 1
        if left < 0 and rows:
            break
        rows.append(row)
    end = start + len(rows)
    more = {"truncated": True, "next_cursor": _cursor(end, question, total)} if end < total else {}
    return {"total": total, **more, **header, "rows": rows}


def plain(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not empty; ``cut`` says that a text of them was cut."""
    present = {key: _dump(value) for key, value in header.items() if value not in ("", None, [], {}, ())}
    return {**present, "cut": True} if has_cut(header) else present


def fit(values: dict[str, Any], size: int) -> dict[str, Any]:
    """Return values whose JSON has at most `size` characters; ``cut`` says that something was cut."""
    for longest, most in _LIMITS:
        limited: dict[str, Any] = _limit(values, longest, most)
        if limited != values:
            limited = {**limited, "cut": True}
        if len(compact(limited)) <= size:
            break
    return limited


def _limit(value: Any, longest: int, most: int) -> Any:
    if isinstance(value, str):
        # Escaped by the tools: here only what they forget, such as a label.
        return cut(visible(value), longest)
    if isinstance(value, list):
        return [_limit(member, longest, most) for member in value[:most]]
    if isinstance(value, dict):
        limited = {cut(visible(key), longest): _limit(part, longest, most) for key, part in value.items()}
        return dict(list(limited.items())[: most if most < _FEW else 2 * most])
    return value


def _dump(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, list | tuple):
        return [_dump(member) for member in value]
    return value


def fingerprint(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a digest of a question, without its cursor."""
    given = {key: value for key, value in sorted(arguments.items()) if key != "cursor"}
    text = json.dumps([tool, given], sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()


def _cursor(position: int, question: str, total: int) -> str:
    return f"{position}-{total}-{question}"


def _position(cursor: str, question: str, total: int) -> int:
    parts = _CURSOR.fullmatch(cursor)
    if not parts:
        raise QueryError("invalid cursor. Fix: use next_cursor of an answer")
    if parts[3] != question:
        raise QueryError("the cursor belongs to a question with other arguments. Fix: repeat its arguments")
    if int(parts[2]) != total or int(parts[1]) > total:
        raise QueryError("the answer has changed since its first page. Fix: ask again without cursor")
    return int(parts[1])
