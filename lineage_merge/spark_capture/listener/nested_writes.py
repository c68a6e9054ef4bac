"""Which executions are one write. Pure.

Spark executes some commands by others: CREATE TABLE AS SELECT runs an append. It reports the append first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_merge.spark_capture.write_documents import WriteDocument


@dataclass(frozen=True, slots=True)
class Write:
    """A finished write: its document, its counts, and its error ("": none).

    `started_ms` is when Spark began with it, `ended_ms` when the listener was called, both in ms since 1970;
    `duration_ns` is None of a failed write, of which Spark reports none.
    """

    document: WriteDocument
    started_ms: int
    ended_ms: int
    duration_ns: int | None
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str = ""


def is_part_of(inner: Write, outer: Write) -> bool:
    """Return whether a write ran as a part of another one, which was reported later.

    The other one began before it, with attributes that Spark numbers uniquely, and with the same target. So
    one DataFrame that two threads write to one target at the same time counts as one write.
    """
    if inner.started_ms < outer.started_ms:
        return False
    if _names(inner.document).isdisjoint(_names(outer.document)):
        return False
    ids, outer_ids = _attributes(inner.document), _attributes(outer.document)
    return ids <= outer_ids or outer_ids <= ids


def join_writes(inner: Write, outer: Write) -> Write:
    """Return both as one write, with the document that says more of the target."""
    document = max(outer, inner, key=lambda write: _knowledge(write.document)).document
    return replace(outer, document=document, counts={**inner.counts, **outer.counts})


def _knowledge(document: WriteDocument) -> int:
    """Return how much a document says of its target: its address, and its name in a catalog."""
    return 2 * (document.table is None) + bool(_identifier(document))


def _attributes(document: WriteDocument) -> frozenset[str]:
    return frozenset(str(attribute["id"]) for attribute in document.document["attributes"])


def _names(document: WriteDocument) -> frozenset[str]:
    """Return the names by which a document refers to its target: an address, tables."""
    uri, table = document.uri, document.table
    names = {_identifier(document)}
    if table:
        names.add(f"{table.namespace}.{table.name}")
    else:
        # Spark qualifies local paths in some commands only.
        names.add(
            "/" + uri.removeprefix("file:").strip("/")
            if uri[:1] == "/" or uri[:5] == "file:"
            else uri.rstrip("/")
        )
    return frozenset(names - {""})


def _identifier(document: WriteDocument) -> str:
    """Return ``lake.db.sales`` of a write to a table of a catalog."""
    params: Mapping[str, Any] = document.document["operations"]["write"].get("params") or {}
    identifier = (params.get("table") or {}).get("identifier") or ""
    if isinstance(identifier, str):
        return identifier
    catalog = identifier.get("catalog") or "spark_catalog"
    return f"{catalog}.{identifier.get('database')}.{identifier.get('table')}"
