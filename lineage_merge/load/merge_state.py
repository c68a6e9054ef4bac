"""Reads and writes what a load leaves in the graph for the next one (`load.shard_digests`)."""

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import Cardinality, Merge, P, T

from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.graph_state import vertex_counts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import GremlinExecutor, by_request, open_executor
from lineage_merge.load.merge_run import LABEL as RUN_LABEL
from lineage_merge.load.shard_digests import (
    LONGEST_SHARD,
    Differing,
    Entry,
    Shard,
    difference,
    digest_of_entries,
    packed,
    unpacked,
)
from lineage_merge.model.elements import encode

LABEL = "merge_state"
# Shards in one answer, whose texts are below 1 MB each, mostly far below.
_SHARDS_A_READ = 8
# Of text in one request; a server takes 10 MiB.
_CHARACTERS = 2_000_000


def shard_id(environment: str, dag_name: str, number: int) -> str:
    """``dev|tickit_daily|merge_state|7``."""
    return f"{encode(environment)}|{encode(dag_name)}|{LABEL}|{number}"


def counts_of(endpoint: Endpoint, environment: str, dag_name: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many vertices and edges of each label the graph has for a DAG."""
    with open_executor(endpoint) as ask:
        vertices, edges = (
            ask(partial(query, environment=environment, dag_name=dag_name))
            for query in (vertex_counts, edge_counts)
        )
    own = (RUN_LABEL, LABEL)
    return {label: n for label, n in vertices[0].items() if label not in own}, dict(edges[0])


def edge_counts(g: GraphTraversalSource, environment: str, dag_name: str) -> GraphTraversal:
    """How many edges of each label a DAG has."""
    return g.E().has("dag_name", dag_name).has("environment", environment).group_count().by(T.label)


def are_stored(endpoint: Endpoint, ids: Iterable[str]) -> Iterator[bool]:
    """Yield whether the graph has a vertex of these ids, once."""
    with open_executor(endpoint) as ask:
        for some in by_request(ids):
            if ask(partial(stored_ids, ids=some)):
                yield True
                return


def stored_ids(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """One of these vertices."""
    return g.V(*ids).limit(1).id_()


def compare_shards(
    shards: Rows[Shard],
    present: Container[int],
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    known: tuple[str, ...],
) -> Rows[Differing]:
    """Compare the shards of a merge with what an earlier load left; `known` are the digests of its shards.

    `present` are the numbers of the merge's shards. Only those are read whose digest differs.
    """
    engine = shards.engine
    missing = [number for number in range(len(known)) if number not in present]
    differing = shards.map_partitions(partial(_compare, endpoint, environment, dag_name, engine.share(known)))
    empty = engine.rows(missing).map_partitions(
        partial(_removed, endpoint, environment, dag_name, engine.share(known))
    )
    return differing.union(empty)


def _compare(
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    known: Shared[tuple[str, ...]],
    shards: Iterable[Shard],
) -> Iterator[Differing]:
    with open_executor(endpoint) as ask:
        for shard in shards:
            if known.value[shard.number] == shard.digest:
                yield Differing(tuple(row for _, row in shard.elements))
                continue
            entries = _read(ask, environment, dag_name, shard.number, known.value)
            yield Differing(is_damaged=True) if entries is None else difference(shard, entries)


def _removed(
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    known: Shared[tuple[str, ...]],
    numbers: Iterable[int],
) -> Iterator[Differing]:
    with open_executor(endpoint) as ask:
        for number in numbers:
            if known.value[number] != digest_of_entries(()):
                entries = _read(ask, environment, dag_name, number, known.value)
                yield Differing(is_damaged=True) if entries is None else difference(None, entries)


def _read(
    ask: GremlinExecutor, environment: str, dag_name: str, number: int, known: tuple[str, ...]
) -> list[Entry] | None:
    """Return the entries of a shard; None where they are missing or not what its digest says."""
    found = ask(partial(state_texts, ids=[shard_id(environment, dag_name, number)]))
    try:
        entries = unpacked(found[0])
    except (IndexError, ValueError):
        return None
    return entries if digest_of_entries(entries) == known[number] else None


def read_left(
    endpoint: Endpoint, environment: str, dag_name: str, first: int, number: int
) -> list[Entry] | None:
    """Return the entries of elements that the earlier merge did not have, of shards from `first` on.

    None where they are missing or damaged.
    """
    entries: list[Entry] = []
    ids = [shard_id(environment, dag_name, first + each) for each in range(number)]
    with open_executor(endpoint) as ask:
        for start in range(0, number, _SHARDS_A_READ):
            some = ids[start : start + _SHARDS_A_READ]
            texts = ask(partial(state_texts, ids=some))
            if len(texts) != len(some):
                return None
            try:
                entries += [entry for text in texts for entry in unpacked(text)]
            except ValueError:
                return None
    return entries


def state_texts(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """The texts of shards."""
    return g.V(*ids).values("state")


def write_shards(
    shards: Rows[Shard], endpoint: Endpoint, environment: str, dag_name: str, wanted: Shared[frozenset[int]]
) -> bool:
    """Write the shards of these numbers; whether none was too long."""
    write = partial(_write_shards, endpoint, environment, dag_name, wanted)
    return all(shards.map_partitions(write).collect())


def _write_shards(
    endpoint: Endpoint,
    environment: str,
    dag_name: str,
    wanted: Shared[frozenset[int]],
    shards: Iterable[Shard],
) -> Iterator[bool]:
    texts = (
        (shard.number, packed(entry for entry, _ in shard.elements))
        for shard in shards
        if shard.number in wanted.value
    )
    yield from write_texts(endpoint, environment, dag_name, texts)


def write_texts(
    endpoint: Endpoint, environment: str, dag_name: str, texts: Iterable[tuple[int, str]]
) -> Iterator[bool]:
    """Write the texts of shards, several in a request; yields for each whether it was not too long."""
    with open_executor(endpoint) as ask:
        some: dict[str, str] = {}
        for number, text in texts:
            yield len(text) <= LONGEST_SHARD
            if len(text) > LONGEST_SHARD:
                continue
            if sum(map(len, some.values())) + len(text) > _CHARACTERS:
                ask(partial(writing, environment=environment, dag_name=dag_name, texts=some))
                some = {}
            some[shard_id(environment, dag_name, number)] = text
        if some:
            ask(partial(writing, environment=environment, dag_name=dag_name, texts=some))


def writing(
    g: GraphTraversalSource, environment: str, dag_name: str, texts: Mapping[str, str]
) -> GraphTraversal:
    """Write the texts of shards by their ids. They have no tag: they are nothing of the lineage."""
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


def drop_others(endpoint: Endpoint, environment: str, dag_name: str, first: int, earlier: int) -> None:
    """Drop the shards from `first` on of the `earlier` ones."""
    with open_executor(endpoint) as ask:
        for some in by_request(shard_id(environment, dag_name, number) for number in range(first, earlier)):
            ask(partial(dropping, ids=some))


def dropping(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Drop vertices."""
    return g.V(*ids).drop()


def sharing(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """The other DAGs whose tags are on these vertices."""
    return g.V(*ids).values("dag_name").is_(P.neq(dag_name)).dedup()


def other_dags(endpoint: Endpoint, dag_name: str, ids: Iterable[str]) -> Iterator[str]:
    """Yield the other DAGs whose tags are on these vertices; one may come several times."""
    with open_executor(endpoint) as ask:
        for some in by_request(ids):
            yield from ask(partial(sharing, ids=some, dag_name=dag_name))
