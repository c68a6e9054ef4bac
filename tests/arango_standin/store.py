"""Databases in memory: collections of documents, the order of values, and what the server refuses.

Documents come out in an order of their own (by a hash of the key): the server promises none
without SORT, so clients must not rely on the order of insertion.
"""

import hashlib
import itertools
import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

Document = dict[str, Any]

DOCUMENT_TYPE: Final = 2
EDGE_TYPE: Final = 3
DATA_SOURCE_NOT_FOUND: Final = 1203

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


class ServerError(Exception):
    """An error answer of the server: its `errorNum` and message."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number
        self.message = message


def rank(value: Any) -> tuple[Any, ...]:
    """Return a key that is equal for values that AQL calls equal, and sorts as AQL does.

    Approximate for texts, which the server sorts by ICU's collation, and for objects of different attributes.
    """
    match value:
        case None:
            return (0,)
        case bool():
            return (1, value)
        case int() | float():
            return (2, value)
        case str():
            return (3, value.casefold(), value.swapcase(), value)
        case list():
            return (4, tuple(map(rank, value)))
        case _:
            present = [(name, rank(item)) for name, item in value.items() if item is not None]
            return (5, tuple(sorted(present)))


def at_path(document: Any, path: Iterable[str]) -> Any:
    """Return the value at a path of attributes; null where one is missing."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


class Collection:
    """Documents by key. `kind` is 2 for documents, 3 for edges, as the server numbers them."""

    def __init__(self, name: str, kind: int, indexes: Iterable[str] = ()) -> None:
        self.name = name
        self.kind = kind
        ends = [("_from",), ("_to",)] if kind == EDGE_TYPE else []
        self.indexed = {("_key",), ("_id",), *ends, *(tuple(path.split(".")) for path in indexes)}
        self._documents: list[Document] = []
        self._lookups: dict[tuple[str, ...], dict[Any, list[int]]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Take documents; `_id` and a missing `_key` or `_rev` are the collection's to give."""
        with self._lock:
            for document in documents:
                key = document.get("_key") or str(document.get("_id") or next(_numbers)).rpartition("/")[2]
                given = {"_rev": f"_r{next(_numbers)}", **document}
                self._documents.append({**given, "_key": key, "_id": f"{self.name}/{key}"})
            self._documents.sort(key=lambda each: hashlib.blake2b(each["_key"].encode()).digest())
            self._lookups.clear()

    def documents(self) -> list[Document]:
        """Return all documents, in no useful order."""
        return self._documents

    def matching(self, path: tuple[str, ...], values: Iterable[Any]) -> list[Document]:
        """Return the documents whose attribute at `path` equals one of `values`, each once."""
        with self._lock:
            lookup = self._lookups.get(path)
            if lookup is None:
                lookup = self._lookups[path] = defaultdict(list)
                for position, document in enumerate(self._documents):
                    lookup[rank(at_path(document, path))].append(position)
        positions = {position for value in values for position in lookup.get(rank(value), ())}
        return [self._documents[position] for position in sorted(positions)]


class Database:
    """Collections by name; `indexes` are the indexed attributes of each, beside keys and ends of edges."""

    def __init__(self, name: str, indexes: Mapping[str, Sequence[str]] = SPLINE_INDEXES) -> None:
        self.name = name
        self._indexes = indexes
        self.collections: dict[str, Collection] = {}
        for system in ("_analyzers", "_graphs", "_jobs", "_queues"):
            self.create(system, DOCUMENT_TYPE)

    def create(self, name: str, kind: int) -> Collection:
        """Create an empty collection."""
        self.collections[name] = Collection(name, kind, self._indexes.get(name, ()))
        return self.collections[name]

    def collection(self, name: str) -> Collection:
        """Return a collection; `ServerError` 1203 if there is none of that name."""
        if name not in self.collections:
            raise ServerError(DATA_SOURCE_NOT_FOUND, f"AQL: collection or view not found: {name}")
        return self.collections[name]


def read_folder(folder: Path) -> dict[str, list[Document]]:
    """Return exported collections by name: `.jsonl` has a document a line, `.json` an array or lines."""
    contents: dict[str, list[Document]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in {".json", ".jsonl"}:
            text = path.read_text(encoding="utf-8")
            is_array = path.suffix == ".json" and text.lstrip().startswith("[")
            lines = (line for line in text.splitlines() if line.strip())
            contents[path.stem] = json.loads(text) if is_array else [json.loads(line) for line in lines]
    return contents
