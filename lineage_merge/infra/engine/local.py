"""Rows in this process, and reading without garbage collection. Imports no Spark."""

import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import Any, Generic

from lineage_merge.infra.batches import batched
from lineage_merge.infra.engine.rows import Counter, Engine, Key, Rows, Shared, T, U, V, W


class LocalEngine(Engine):
    """Computes rows eagerly in this process, as lists.

    Partitions are computed sequentially, or `threads` at a time, for functions that wait for a server.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads

    @property
    def is_local(self) -> bool:
        return True

    @property
    def parallelism(self) -> int:
        return self._threads

    def rows(self, items: Iterable[T], partitions: int | None = None) -> Rows[T]:
        return LocalRows(self, [list(items)])

    def deferred_rows(self, read: Callable[[], Iterable[T]]) -> Rows[T]:
        """Return rows that are read when they are needed, if ever."""
        return LocalRows(self, lambda: [list(read())])

    def share(self, value: T) -> Shared[T]:
        return _LocalValue(value)

    def reserve(self, input_bytes: int) -> None:
        pass

    def counter(self) -> Counter:
        return _LocalCounter()

    def own_errors(self) -> AbstractContextManager[None]:
        return nullcontext()

    def unpersist_all(self) -> None:
        pass

    def run(self, function: Callable[[int, Iterable[T]], Iterable[U]], parts: list[list[T]]) -> list[list[U]]:
        """Return the results of the function for each part, called with its number and rows."""

        def run_one(number: int, part: list[T]) -> list[U]:
            return list(function(number, iter(part)))

        if self._threads == 1 or len(parts) < 2:
            return [run_one(number, part) for number, part in enumerate(parts)]
        # Each thread has its own context: copy it, so that the input budget applies.
        contexts = [copy_context() for _ in parts]
        with ThreadPoolExecutor(self._threads, thread_name_prefix="partition") as pool:
            return list(
                pool.map(
                    lambda number, context, part: context.run(run_one, number, part),
                    range(len(parts)),
                    contexts,
                    parts,
                )
            )


class LocalRows(Rows[T]):
    """Partitions as lists."""

    def __init__(self, engine: LocalEngine, parts: list[list[T]] | Callable[[], list[list[T]]]) -> None:
        self._engine = engine
        self._given = parts

    @cached_property
    def _parts(self) -> list[list[T]]:
        return self._given() if callable(self._given) else self._given

    @property
    def engine(self) -> LocalEngine:
        return self._engine

    @property
    def partition_count(self) -> int:
        return len(self._parts)

    def map_numbered_partitions(self, function: Callable[[int, Iterable[T]], Iterable[U]]) -> Rows[U]:
        return LocalRows(self._engine, self._engine.run(function, self._parts))

    def group(self, key: Callable[[T], Key], function: Callable[[Key, list[T]], Iterable[U]]) -> Rows[U]:
        groups: dict[Key, list[T]] = {}
        for row in self._all():
            groups.setdefault(key(row), []).append(row)
        results = [result for name, rows in groups.items() for result in function(name, rows)]
        return LocalRows(self._engine, [results])

    def combine(
        self: "LocalRows[tuple[Key, W]]",
        create: Callable[[W], V],
        add: Callable[[V, W], V],
        merge: Callable[[V, V], V],
    ) -> Rows[tuple[Key, V]]:
        combined: dict[Key, V] = {}
        for key, value in self._all():
            combined[key] = add(combined[key], value) if key in combined else create(value)
        return LocalRows(self._engine, [list(combined.items())])

    def union(self, *others: Rows[T]) -> Rows[T]:
        return LocalRows(
            self._engine, [*self._parts, *chain.from_iterable(_parts(other) for other in others)]
        )

    def cache(self) -> Rows[T]:
        return self

    def repartition(self, partitions: int) -> Rows[T]:
        rows = list(self._all())
        size = max(1, -(-len(rows) // partitions))
        return LocalRows(self._engine, list(batched(rows, size)))

    def repartition_by(self, key: Callable[[T], Key], partitions: int) -> Rows[T]:
        parts: list[list[T]] = [[] for _ in range(partitions)]
        for row in self._all():
            parts[hash(key(row)) % partitions].append(row)
        return LocalRows(self._engine, [part for part in parts if part])

    def collect(self) -> list[T]:
        return list(self._all())

    def _all(self) -> Iterator[T]:
        return chain.from_iterable(self._parts)


def _parts(rows: Rows[Any]) -> list[list[Any]]:
    if not isinstance(rows, LocalRows):
        raise TypeError("rows of another engine")
    return rows._parts


@dataclass(frozen=True)
class _LocalValue(Generic[T]):
    value: T


class _LocalCounter:
    def __init__(self) -> None:
        self.value = 0
        self._lock = Lock()

    def add(self, number: int) -> None:
        with self._lock:
            self.value += number


@contextmanager
def collection_off() -> Iterator[None]:
    """Switch off garbage collection while objects are created that are needed until the end."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
