"""Merge of the records of all sources: resolve aliases, collapse temporary datasets, group by id."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from lineage_merge.config import Merge, MetadataRule
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.merge import metadata_rules, property_rows
from lineage_merge.merge.alias_resolution import Aliases, find_aliases
from lineage_merge.merge.collapse_intermediate import collapse
from lineage_merge.merge.declared_dashboards import (
    DASHBOARD_NAME_RULE,
    DASHBOARD_URL_RULE,
    drop_declared_feeds,
)
from lineage_merge.merge.property_rows import EdgeKey, Facts, Key
from lineage_merge.model.elements import JobKey, SuccessfulRuns, UnreadColumns
from lineage_merge.model.records import ElementRecord, Record

_NO_COLLAPSE = Merge()


@dataclass(frozen=True, slots=True)
class Merged:
    """The graph as rows of `lineage_merge.graph_format.schema`, and the aliases of its datasets.

    `elements` are all rows, nodes and edges: a caller that needs both reads them once.
    """

    elements: Rows[Row]
    aliases: Aliases

    @property
    def nodes(self) -> Rows[Row]:
        """Return the nodes."""
        return self.elements.filter(lambda row: not property_rows.is_edge(row))

    @property
    def edges(self) -> Rows[Row]:
        """Return the edges."""
        return self.elements.filter(property_rows.is_edge)


def merge(
    records: Rows[Record],
    environment: str,
    dag_name: str,
    settings: Merge = _NO_COLLAPSE,
    metadata: Sequence[MetadataRule] | None = None,
) -> Merged:
    """Merge the records of all sources. They are read several times: cache them.

    `settings` select the temporary datasets to collapse. `metadata`: tags and owners of the configuration.
    """
    engine = records.engine
    aliases = find_aliases(records)
    resolved = records.map_partitions(partial(_resolve, engine.share(aliases.canonical_ids())))
    if dashboards := aliases.list_canonical_ids(DASHBOARD_URL_RULE, DASHBOARD_NAME_RULE):
        resolved = drop_declared_feeds(resolved, dashboards)
    collapsed = collapse(resolved, settings)
    if collapsed:
        resolved = collapsed.records
        aliases = aliases.drop(collapsed.hops)
    facts = resolved.flat_map(partial(property_rows.facts, environment, dag_name))
    resolved_aliases = engine.rows(
        map(property_rows.describe_alias, aliases.resolved.values()), engine.parallelism
    )
    elements = (
        facts.union(resolved_aliases)
        .combine(property_rows.create, property_rows.add, property_rows.merge)
        .map(partial(_row, environment, dag_name))
    )
    if metadata is not None:
        elements = metadata_rules.apply(elements.cache(), metadata)
    return Merged(elements.cache(), aliases)


@dataclass(frozen=True, slots=True)
class Graph:
    """A merged graph in this process: rows sorted by id, and the candidates of each alias."""

    nodes: list[Row]
    edges: list[Row]
    aliases: Mapping[str, list[str]]


def merge_locally(
    records: Iterable[Record],
    environment: str,
    dag_name: str,
    metadata: Sequence[MetadataRule] | None = None,
) -> Graph:
    """Merge the records of a few thousand elements in this process."""
    merged = merge(LocalEngine().rows(records), environment, dag_name, metadata=metadata)
    nodes, edges = (sorted(rows.collect(), key=_id) for rows in (merged.nodes, merged.edges))
    return Graph(nodes, edges, merged.aliases.candidates)


def _id(row: Row) -> str:
    return str(row["id"])


def job_runs(records: Rows[Record]) -> dict[JobKey, int]:
    """Return the number of successful runs per job; if two sources report a job, the smaller number."""
    return dict(records.flat_map(_runs).reduce_by_key(min).collect())


def jobs_with_unread_columns(records: Rows[Record]) -> frozenset[JobKey]:
    """Return the jobs whose column lineage the sources cannot know."""
    return frozenset(records.flat_map(_unread).distinct().collect())


def _unread(record: Record) -> Iterator[JobKey]:
    if isinstance(record, UnreadColumns):
        yield record.job


def _runs(record: Record) -> Iterator[tuple[JobKey, int]]:
    if isinstance(record, SuccessfulRuns):
        yield record.job, record.number


def _resolve(canonical_ids: Shared[dict[str, str]], records: Iterable[Record]) -> Iterator[ElementRecord]:
    known = canonical_ids.value
    for record in records:
        resolved = property_rows.resolve_ids(known, record)
        if resolved is not None:
            yield resolved


def _row(environment: str, dag_name: str, element: tuple[Key, Facts]) -> Row:
    key, facts = element
    if isinstance(key, EdgeKey):
        return property_rows.edge_row(key, facts, environment, dag_name)
    return property_rows.node_row(key, facts, environment, dag_name)
