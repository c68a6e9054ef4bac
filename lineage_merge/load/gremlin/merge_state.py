"""Reads and writes the state that a load stores for the next one (`load.shard_digests`)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import P, T

from lineage_merge.infra.batches import batched
from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.load.graph_state import LOADER_LABELS
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import vertex_counts
from lineage_merge.load.gremlin.executor import READS_IN_FLIGHT, GremlinExecutor, open_executor, send
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.gremlin.upserts import VertexUpsert, batches
from lineage_merge.load.shard_digests import (
    EMPTY_SHARD,
    Differing,
    Entry,
    Shard,
    ShardEntries,
    difference,
    digest_of_keys,
    entries_of,
    entry_of,
    key_of,
    numbers_of,
)
from lineage_merge.load.shard_state import (
    MAX_CHARACTERS,
    decode_digests,
    decode_keys,
    encode_digests,
    encode_keys,
)
from lineage_merge.model.elements import encode

LABEL = "merge_state"
_UNMATCHED_PER_SHARD = 2_000
# A frame of a response must stay below 10 MiB.
_TEXTS_PER_FRAME = 16

Decoded = TypeVar("Decoded")


def digests_id(environment: str, dag_name: str, number: int) -> str:
    """Return the id of the vertex with the digests of a shard: ``dev|tickit_daily|merge_state|7``."""
    return f"{encode(environment)}|{encode(dag_name)}|{LABEL}|{number}"


def keys_id(environment: str, dag_name: str, number: int) -> str:
    """Return the id of the vertex with the keys of a shard: ``dev|tickit_daily|merge_state|7|keys``."""
    return f"{digests_id(environment, dag_name, number)}|keys"


def shard_ids(environment: str, dag_name: str, numbers: Iterable[int]) -> Iterator[str]:
    """Yield the ids of all vertices of shards."""
    for number in numbers:
        yield digests_id(environment, dag_name, number)
        yield keys_id(environment, dag_name, number)


def read_counts(target: LoadTarget) -> tuple[dict[str, int], dict[str, int]]:
    """Count the stored vertices and edges of a DAG, per label."""
    with open_executor(target.endpoint) as execute:
        vertices, edges = (
            execute(partial(query, environment=target.environment, dag_name=target.dag_name))
            for query in (vertex_counts, edge_counts)
        )
    return {label: n for label, n in vertices[0].items() if label not in LOADER_LABELS}, dict(edges[0])


def edge_counts(g: GraphTraversalSource, environment: str, dag_name: str) -> GraphTraversal:
    """Count the edges of a DAG, per label."""
    return g.E().has("dag_name", dag_name).has("environment", environment).group_count().by(T.label)


def any_stored(endpoint: Endpoint, ids: Iterable[str]) -> Iterator[bool]:
    """Yield True once if the graph has any vertex of these ids."""
    with open_executor(endpoint) as execute:
        if any(execute.reads(select_stored_ids, ids)):
            yield True


def select_stored_ids(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return the id of one of these vertices."""
    return g.V(*ids).limit(1).id_()


def compare_shards(shards: Rows[Shard], target: LoadTarget, known: tuple[bytes, ...]) -> Rows[Differing]:
    """Compare the shards of a merge with those of an earlier load, whose digests are `known`.

    Only shards with another digest are read.
    """
    present = frozenset(shards.map(attrgetter("number")).collect())
    missing = [number for number in range(len(known)) if number not in present]
    empty = shards.engine.rows(Shard(number, EMPTY_SHARD, ()) for number in missing)
    compare = partial(_compare, target.drop_state(), shards.engine.share(known))
    return shards.union(empty).map_partitions(compare)


def _compare(
    target: LoadTarget, known: Shared[tuple[bytes, ...]], shards: Iterable[Shard]
) -> Iterator[Differing]:
    differing = []
    for shard in shards:
        if known.value[shard.number] == shard.digest:
            yield Differing(shard.rows)
        else:
            differing.append(shard)
    if differing:
        with open_executor(target.endpoint) as execute:
            yield from _compare_differing(execute, target, differing, known.value)


def _compare_differing(
    execute: GremlinExecutor, target: LoadTarget, shards: list[Shard], known: tuple[bytes, ...]
) -> Iterator[Differing]:
    texts = _texts(execute, target, digests_id, (shard.number for shard in shards))
    stored = {digests.number: digests for digests in _decode_all(decode_digests, texts)}
    compared = []
    for shard in shards:
        before = stored.get(shard.number)
        if before is None or before.shard != known[shard.number]:
            yield Differing(is_damaged=True)
            return
        compared.append((before, entries_of(shard), shard.rows))
    others = [before.number for before, entries, _ in compared if before.keys != digest_of_keys(entries.keys)]
    keys_of = dict(_decode_all(decode_keys, _texts(execute, target, keys_id, others)))
    for before, entries, rows in compared:
        keys = keys_of.get(before.number, entries.keys)
        if before.keys != digest_of_keys(keys):
            yield Differing(is_damaged=True)
            return
        yield difference(entries, rows, dict(zip(keys, numbers_of(before.digests), strict=True)))


def _texts(
    execute: GremlinExecutor,
    target: LoadTarget,
    id_of: Callable[[str, str, int], str],
    numbers: Iterable[int],
) -> Iterator[str]:
    ids = (id_of(target.environment, target.dag_name, number) for number in numbers)
    return chain.from_iterable(execute.reads(state_texts, ids))


def _decode_all(decode: Callable[[str], Decoded], texts: Iterable[str]) -> Iterator[Decoded]:
    """Yield the contents of the texts that are not damaged."""
    for text in texts:
        with suppress(ValueError):
            yield decode(text)


def read_unmatched(target: LoadTarget, first: int, number: int) -> list[Entry] | None:
    """Read the entries of elements that the earlier merge did not have, in `number` shards from `first` on.

    None if they are missing or damaged.
    """
    if not number:
        return []
    with open_executor(target.endpoint) as execute:
        texts = _texts(execute, target, keys_id, range(first, first + number))
        found = dict(_decode_all(decode_keys, texts))
    if len(found) != number:
        return None
    return [entry_of(key) for keys in found.values() for key in keys]


def state_texts(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return the texts of vertices of shards."""
    return g.with_("batchSize", _TEXTS_PER_FRAME).V(*ids).values("state")


def write_shards(entries: Rows[ShardEntries], target: LoadTarget) -> bool:
    """Write the entries of shards; returns False if a text was too long."""
    return _write(entries.flat_map(partial(_upserts_of, target.environment, target.dag_name)), target)


def write_unmatched(engine: Engine, entries: Iterable[Entry], target: LoadTarget, first: int) -> int | None:
    """Write the entries of elements that the merge does not have to shards with numbers from `first` on.

    Returns the number of these shards; None if a text was too long.
    """
    upserts = [
        _upsert_of_keys(target.environment, target.dag_name, number, map(key_of, batch))
        for number, batch in enumerate(batched(entries, _UNMATCHED_PER_SHARD), start=first)
    ]
    return len(upserts) if not upserts or _write(engine.rows(upserts), target) else None


def _upserts_of(environment: str, dag_name: str, entries: ShardEntries) -> Iterator[VertexUpsert]:
    identifier = digests_id(environment, dag_name, entries.number)
    upsert = _upsert(identifier, environment, dag_name, encode_digests(entries))
    if entries.has_new_keys:
        yield upsert
        yield _upsert_of_keys(environment, dag_name, entries.number, entries.keys)
    else:
        yield replace(upsert, created=())  # it exists: more of them in a request


def _upsert_of_keys(environment: str, dag_name: str, number: int, keys: Iterable[str]) -> VertexUpsert:
    identifier = keys_id(environment, dag_name, number)
    return _upsert(identifier, environment, dag_name, encode_keys(number, keys))


def _upsert(identifier: str, environment: str, dag_name: str, text: str) -> VertexUpsert:
    """Return the upsert of a vertex of a shard, which has no tag, because it is not lineage."""
    created = ("name", dag_name), ("environment", environment)
    return VertexUpsert(identifier, LABEL, (("state", text),), (), created=created)


def _write(shards: Rows[VertexUpsert], target: LoadTarget) -> bool:
    return all(shards.map_partitions(partial(_write_partition, target.endpoint)).collect())


def _write_partition(endpoint: Endpoint, shards: Iterable[VertexUpsert]) -> Iterator[bool]:
    are_all_short = True

    def short_ones() -> Iterator[VertexUpsert]:
        nonlocal are_all_short
        for shard in shards:
            if shard.characters <= MAX_CHARACTERS:
                yield shard
            else:
                are_all_short = False

    # As many as of reads, because no two of these requests write to the same vertex.
    send(endpoint, batches(short_ones()), READS_IN_FLIGHT)
    yield are_all_short


def drop_surplus_shards(target: LoadTarget, first: int, earlier: int) -> None:
    """Drop shards with numbers from `first` to below `earlier`."""
    ids = shard_ids(target.environment, target.dag_name, range(first, earlier))
    with open_executor(target.endpoint) as execute:
        execute.run_in_batches(drop_shards, ids)


def drop_shards(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Drop the vertices of shards."""
    return g.V(*ids).drop()


def other_dag_tags(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Return the other DAGs whose tags these vertices have."""
    return g.V(*ids).values("dag_name").is_(P.neq(dag_name)).dedup()


def other_dags(endpoint: Endpoint, dag_name: str, ids: Iterable[str]) -> Iterator[str]:
    """Yield the other DAGs whose tags these vertices have, possibly repeated."""
    with open_executor(endpoint) as execute:
        yield from chain.from_iterable(execute.reads(partial(other_dag_tags, dag_name=dag_name), ids))
