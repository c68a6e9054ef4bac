"""Columns and column lineage of a dbt project as `lineage_merge.model.elements`."""

from collections.abc import Iterator, Mapping

from lineage_merge.column_lineage.sql.text import cut
from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.model.elements import (
    Authority,
    Column,
    Dataset,
    Element,
    Feeds,
    JobKey,
    Problem,
    Reference,
    Scalar,
    UnreadColumns,
    column_properties,
)
from lineage_merge.naming import redact
from lineage_merge.sources.dbt.columns import ColumnLineage
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.metadata import NOTHING
from lineage_merge.sources.dbt.nodes import Manifest, Node
from lineage_merge.sources.dbt.order import find_behind
from lineage_merge.sources.dbt.undeclared import UndeclaredTable

# Types differ: Spark says `int`, a catalog `integer`. For datasets that dbt only reads, the producer's type
# takes precedence; for those that dbt builds, the type in dbt's catalog.
_READ = Authority.READER
_BUILT = Authority.BUILDER


def column_elements(
    manifest: Manifest,
    references: Mapping[str, Reference],
    lineage: Mapping[str, ColumnLineage],
    namespace: str,
    location: str,
    jobs: Jobs | None = None,
) -> Iterator[Element]:
    """Yield the columns of each dataset and their inputs, by the job that builds it.

    Also tables that only its SQL names. `references` are the datasets of `translate`, by unique id;
    `namespace` is that of the warehouse; `location` names the manifest in problems, `jobs` its jobs.
    """
    jobs = jobs or Jobs(manifest.project)
    yield from _partial(manifest, lineage, location)
    for unique_id, columns in lineage.items():
        for problem in columns.problems:
            yield Problem("no-columns", f"{location}: {unique_id}", "", problem)
        if columns.outdated:
            why = f"{unique_id}: the catalog is older than the manifest and has columns that its SQL has not"
            text = cut(f"{why}: {', '.join(columns.outdated)}")
            yield Problem("notice", f"{location}: {unique_id}", "", redact(text))
        for written, expected in columns.deferred:
            why = f"{unique_id} reads {written}, which was taken for {expected} of another target (--defer)"
            yield Problem("notice", f"{location}: {unique_id}", "compiled_code", redact(why))
        target = references.get(unique_id)
        if target is None:
            continue
        node = manifest.nodes[unique_id]
        authority = _authority(node)
        for column in (*columns.columns, *columns.fields):
            properties = column_properties(column.data_type, column.description, column.position)
            yield Column(target, column.name, authority, properties, NOTHING.sets)
        job = jobs.key(unique_id)
        if columns.is_partial:
            yield UnreadColumns(job)
        only_in_sql = {key: _reference(table, namespace) for key, table in columns.undeclared.items()}
        known = {**references, **only_in_sql}
        for ref in only_in_sql.values():
            yield Dataset(ref, _READ, "table" if ref.namespace else None)
        yield from _read_undeclared(manifest, node, columns, known, job, location)
        yield from lineage_elements(columns.flows, columns.influences, job, target, known.__getitem__)


def _partial(manifest: Manifest, lineage: Mapping[str, ColumnLineage], location: str) -> Iterator[Problem]:
    """Yield the number of models whose column lineage the manifest cannot say."""
    built = {key for key, node in manifest.nodes.items() if node.kind in ("model", "snapshot")}
    partial = sum(columns.is_partial for key, columns in lineage.items() if key in built)
    if partial:
        why = (
            f"lacks compiled SQL of {partial} of {len(built)} models, or of what they read: the column"
            " lineage that the graph has of them is not retired. Fix: run dbt compile, and merge its manifest"
        )
        yield Problem("notice", location, "compiled_code", why)


def _read_undeclared(
    manifest: Manifest,
    node: Node,
    lineage: ColumnLineage,
    references: Mapping[str, Reference],
    job: JobKey,
    location: str,
) -> Iterator[Element]:
    """Yield what the SQL reads without `ref` or `source`: it has column lineage, so it has data flow too."""
    target = references[node.unique_id]
    declared = {references[source] for source, _ in find_behind(manifest.nodes, node)}
    read = {references[key] for key in lineage.reads} - declared - {target}
    expected = (
        f"; its SQL does not read {', '.join(lineage.expected)}, which it refers to"
        if lineage.expected
        else ""
    )
    metadata_only = {references[key] for key in lineage.metadata_only}
    for source in sorted(read):
        reads: dict[str, Scalar] = {"reads": "metadata"} if source in metadata_only else {}
        yield Feeds(job, source, target, {"undeclared": "true", **reads})
        message = f"{node.unique_id} reads {source.name} in its SQL without ref or source{expected}"
        yield Problem("notice", f"{location}: {node.unique_id}", "compiled_code", redact(message))


def _reference(table: UndeclaredTable, namespace: str) -> Reference:
    return Reference("", table.path) if table.path else Reference(namespace, table.name)


def _authority(node: Node) -> Authority:
    return _BUILT if node.is_built else _READ
