"""Databases in memory: collections of documents, with look-ups that stand for indexes.

Documents come out in an order of their own (by a hash of the key): the server promises none
without SORT, so clients must not rely on the order of insertion.
"""

import hashlib
import itertools
import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from .errors import DATA_SOURCE_NOT_FOUND, UNIQUE_CONSTRAINT_VIOLATED, ServerError
from .values import identity

Document = dict[str, Any]

DOCUMENT_TYPE: Final = 2
EDGE_TYPE: Final = 3
SYSTEM_COLLECTIONS: Final = ("_analyzers", "_graphs", "_jobs", "_queues")

# What Spline's database has beside the primary index and the edge index.
SPLINE_INDEXES: Final[Mapping[str, Sequence[str]]] = {
    "operation": ("_belongsTo", "type", "outputSource"),
    "follows": ("_belongsTo",),
    "progress": (
        "timestamp",
        "extra.appId",
        "execPlanDetails.applicationName",
        "execPlanDetails.executionPlanKey",
    ),
}

_numbers = itertools.count(9000)


def _position(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=8).digest()


class Collection:
    """Documents by key. `kind` is 2 for documents, 3 for edges, as the server numbers them."""

    def __init__(self, name: str, kind: int, indexes: Iterable[str] = ()) -> None:
        self.name = name
        self.kind = kind
        self.number = str(next(_numbers))
        self.indexed = frozenset(
            [("_key",), ("_id",), *(tuple(path.split(".")) for path in indexes)]
            + ([("_from",), ("_to",)] if kind == EDGE_TYPE else [])
        )
        self._by_key: dict[str, Document] = {}
        self._ordered: list[Document] | None = None
        self._lookups: dict[tuple[str, ...], dict[Hashable, list[int]]] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, document: Mapping[str, Any], *, replace: bool = False) -> None:
        """Takes one document; `_id` and a missing `_key` or `_rev` are the collection's to give."""
        key = document.get("_key")
        if key is None and isinstance(document.get("_id"), str):
            key = document["_id"].partition("/")[2]
        if key is None:
            key = str(next(_numbers))
        with self._lock:
            if key in self._by_key and not replace:
                raise ServerError(
                    UNIQUE_CONSTRAINT_VIOLATED,
                    f"unique constraint violated - in index primary of type primary over '_key';"
                    f" conflicting key: {key}",
                )
            revision = document.get("_rev") or f"_r{next(_numbers)}"
            self._by_key[key] = {**document, "_key": key, "_id": f"{self.name}/{key}", "_rev": revision}
            self._ordered = None
            self._lookups.clear()

    def get(self, key: str) -> Document | None:
        return self._by_key.get(key)

    def documents(self) -> list[Document]:
        with self._lock:
            if self._ordered is None:
                self._ordered = sorted(self._by_key.values(), key=lambda each: _position(each["_key"]))
            return self._ordered

    def matching(self, path: tuple[str, ...], values: Iterable[Any]) -> list[Document]:
        """The documents whose attribute at `path` equals one of `values`, each once."""
        with self._lock:
            documents = self.documents()
            lookup = self._lookups.get(path)
            if lookup is None:
                lookup = {}
                for position, document in enumerate(documents):
                    lookup.setdefault(identity(at_path(document, path)), []).append(position)
                self._lookups[path] = lookup
        found = {position for value in values for position in lookup.get(identity(value), ())}
        return [documents[position] for position in sorted(found)]


def at_path(document: Any, path: Iterable[str]) -> Any:
    """The value at a path of attributes; null where one is missing."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


class Database:
    """Collections by name."""

    def __init__(self, name: str, indexes: Mapping[str, Sequence[str]] = SPLINE_INDEXES) -> None:
        self.name = name
        self._indexes = indexes
        self.collections: dict[str, Collection] = {}
        for each in SYSTEM_COLLECTIONS:
            self.create(each, DOCUMENT_TYPE)

    def create(self, name: str, kind: int) -> Collection:
        collection = Collection(name, kind, self._indexes.get(name, ()))
        self.collections[name] = collection
        return collection

    def load(self, contents: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Creates the collections; one whose documents have `_from` is an edge collection."""
        for name, documents in contents.items():
            kind = EDGE_TYPE if is_edge_collection(documents) else DOCUMENT_TYPE
            collection = self.create(name, kind)
            for document in documents:
                collection.add(document)

    def collection(self, name: str) -> Collection:
        found = self.collections.get(name)
        if found is None:
            raise ServerError(DATA_SOURCE_NOT_FOUND, f"AQL: collection or view not found: {name}")
        return found

    def document(self, identifier: str) -> Document | None:
        """By `collection/key`; None if the document or its collection is missing."""
        name, _, key = identifier.partition("/")
        collection = self.collections.get(name)
        return collection.get(key) if collection is not None else None


def is_edge_collection(documents: Sequence[Mapping[str, Any]]) -> bool:
    return any("_from" in document for document in documents)
