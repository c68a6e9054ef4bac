"""Reads and writes the state that a load stores for the next one (`load.shard_digests`)."""

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import Cardinality, Merge, P, T

from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.graph_state import LOADER_LABELS
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import vertex_counts
from lineage_merge.load.gremlin.executor import GremlinExecutor, open_executor
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.shard_digests import (
    MAX_SHARD_CHARACTERS,
    Differing,
    Entry,
    Shard,
    decode_entries,
    difference,
    digest_of_entries,
    encode_entries,
)
from lineage_merge.model.elements import encode

LABEL = "merge_state"
# Shards per response; their texts are below 1 MB each.
_SHARDS_PER_READ = 8
# Maximum characters per request; a server accepts 10 MiB.
_CHARACTERS_PER_REQUEST = 2_000_000


def shard_id(environment: str, dag_name: str, number: int) -> str:
    """Return the id of a shard's vertex: ``dev|tickit_daily|merge_state|7``."""
    return f"{encode(environment)}|{encode(dag_name)}|{LABEL}|{number}"


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


def compare_shards(
    shards: Rows[Shard], present: Container[int], target: LoadTarget, known: tuple[str, ...]
) -> Rows[Differing]:
    """Compare the shards of a merge with those of an earlier load, whose digests are `known`.

    `present`: numbers of the merge's shards. Only shards with another digest are read.
    """
    missing = [number for number in range(len(known)) if number not in present]
    empty = shards.engine.rows(Shard(number, digest_of_entries(()), ()) for number in missing)
    compare = partial(_compare, target.drop_state(), shards.engine.share(known))
    return shards.union(empty).map_partitions(compare)


def _compare(
    target: LoadTarget, known: Shared[tuple[str, ...]], shards: Iterable[Shard]
) -> Iterator[Differing]:
    with open_executor(target.endpoint) as execute:
        for shard in shards:
            if known.value[shard.number] == shard.digest:
                yield Differing(tuple(row for _, row in shard.elements))
                continue
            entries = _read(execute, target, shard.number, known.value)
            yield Differing(is_damaged=True) if entries is None else difference(shard, entries)


def _read(
    execute: GremlinExecutor, target: LoadTarget, number: int, known: tuple[str, ...]
) -> list[Entry] | None:
    """Read the entries of a shard; None if they are missing or do not match the digest."""
    texts = execute(partial(state_texts, ids=[shard_id(target.environment, target.dag_name, number)]))
    try:
        entries = decode_entries(texts[0])
    except (IndexError, ValueError):
        return None
    return entries if digest_of_entries(entries) == known[number] else None


def read_unmatched(target: LoadTarget, first: int, number: int) -> list[Entry] | None:
    """Read the entries of elements that the earlier merge did not have, in `number` shards from `first` on.

    None if they are missing or damaged.
    """
    entries: list[Entry] = []
    ids = [shard_id(target.environment, target.dag_name, first + index) for index in range(number)]
    with open_executor(target.endpoint) as execute:
        for start in range(0, number, _SHARDS_PER_READ):
            batch = ids[start : start + _SHARDS_PER_READ]
            texts = execute(partial(state_texts, ids=batch))
            if len(texts) != len(batch):
                return None
            try:
                entries += [entry for text in texts for entry in decode_entries(text)]
            except ValueError:
                return None
    return entries


def state_texts(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return the texts of shards."""
    return g.V(*ids).values("state")


def write_shards(shards: Rows[Shard], target: LoadTarget, wanted: Shared[frozenset[int]]) -> bool:
    """Write the shards of these numbers; returns False if any was too long."""
    texts = shards.filter(lambda shard: shard.number in wanted.value).map(_text)
    return all(texts.map_partitions(partial(write_texts, target.drop_state())).collect())


def _text(shard: Shard) -> tuple[int, str]:
    return shard.number, encode_entries(entry for entry, _ in shard.elements)


def write_texts(target: LoadTarget, texts: Iterable[tuple[int, str]]) -> Iterator[bool]:
    """Write the texts of shards, several per request; yields False for each that is too long."""
    upsert = partial(upsert_shards, environment=target.environment, dag_name=target.dag_name)
    with open_executor(target.endpoint) as execute:
        batch: dict[str, str] = {}
        for number, text in texts:
            yield len(text) <= MAX_SHARD_CHARACTERS
            if len(text) > MAX_SHARD_CHARACTERS:
                continue
            if sum(map(len, batch.values())) + len(text) > _CHARACTERS_PER_REQUEST:
                execute(partial(upsert, texts=batch))
                batch = {}
            batch[shard_id(target.environment, target.dag_name, number)] = text
        if batch:
            execute(partial(upsert, texts=batch))


def upsert_shards(
    g: GraphTraversalSource, environment: str, dag_name: str, texts: Mapping[str, str]
) -> GraphTraversal:
    """Upsert the vertices of shards by id. They have no tag, because they are not lineage."""
    request: Any = g
    single = Cardinality.single
    for identifier, text in texts.items():
        request = (
            request.merge_v({T.id: identifier})
            .option(Merge.on_create, {T.id: identifier, T.label: LABEL})
            .property(single, "name", dag_name)
            .property(single, "environment", environment)
            .property(single, "state", text)
        )
    return request.count()


def drop_surplus_shards(target: LoadTarget, first: int, earlier: int) -> None:
    """Drop shards with numbers from `first` to below `earlier`."""
    ids = (shard_id(target.environment, target.dag_name, number) for number in range(first, earlier))
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
