"""Translation of a dbt manifest into datasets, jobs and data flow.

Ephemeral models and functions, which do not exist in the warehouse, are collapsed: their readers read the
datasets behind them, and `via` names the nodes between. Semantic models, metrics and saved queries are
vertices in the project's namespace, as exposures are.
"""

import re
from collections.abc import Iterator, Mapping, Set
from typing import cast

from lineage_merge.model.elements import (
    DBT_NAMESPACE,
    Alias,
    Authority,
    Column,
    Dataset,
    DatasetLabel,
    Element,
    Feeds,
    Job,
    JobKey,
    Problem,
    Reference,
    Scalar,
    Writes,
)
from lineage_merge.naming import redact
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.nodes import SEMANTIC, Manifest, Node
from lineage_merge.sources.dbt.order import find_behind
from lineage_merge.sources.dbt.run_results import RunResults

# Name of the rule on vertices and in reports: a table and the path of its files are one dataset.
LOCATION_RULE = "dbt-location"

# Platforms with case-insensitive names; their catalogs have them in lower case.
_LOWER_CASE = frozenset({"databricks", "fabricspark", "spark"})
_OWN_LABELS = frozenset({"seed", "snapshot", "exposure", *SEMANTIC})
_VIEWS = frozenset({"view", "materialized_view", "materializedview"})
# A quoted part of a name, or one of several in the same field.
_QUOTED = re.compile(r"""(?:^|(?<=\.))(?:"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|\[((?:[^\]]|\]\])+)\])(?=\.|$)""")


def dataset_references(manifest: Manifest, namespace: str) -> dict[str, Reference]:
    """Return the dataset of each node that has one, by unique id."""
    return {
        unique_id: _reference(manifest, node, namespace)
        for unique_id, node in manifest.nodes.items()
        if not node.folded
    }


def translate(
    manifest: Manifest,
    namespace: str,
    location: str,
    jobs: Jobs | None = None,
    metadata_only: Mapping[str, Set[str]] | None = None,
) -> Iterator[Element]:
    """Translate a manifest into `lineage_merge.model.elements`.

    `namespace` is that of the warehouse, because a manifest has no host; `location` names the manifest in
    problems; `jobs` names its jobs if it is not the only one of its project; `metadata_only` are the sources
    that the SQL of each node reads no rows of.
    """
    jobs = jobs or Jobs(manifest.project)
    references = dataset_references(manifest, namespace)
    for unique_id, node in manifest.nodes.items():
        yield from _unknown_parents(manifest, node, location)
        if node.folded:
            continue
        target = references[unique_id]
        job = jobs.key(unique_id)
        yield _dataset(node, target)
        yield from _describe_columns(node, target)
        if node.location:
            yield from _describe_files(node, target)
        if node.is_built:
            yield _job(manifest, node, job)
            yield Writes(job, target)
        flows = {(references[parent], via) for parent, via in find_behind(manifest.nodes, node)}
        metadata = {references.get(read_id) for read_id in (metadata_only or {}).get(unique_id, ())}
        for source, via in sorted(flows):
            reads: dict[str, Scalar] = {"reads": "metadata"} if source in metadata else {}
            yield Feeds(job, source, target, reads, {"via": via} if via else {})


def _reference(manifest: Manifest, node: Node, namespace: str) -> Reference:
    if node.kind == "exposure":
        return Reference(f"{DBT_NAMESPACE}{manifest.project or node.package_name}", node.name)
    if node.kind in SEMANTIC:  # a metric and its semantic model may have the same name
        return Reference(
            f"{DBT_NAMESPACE}{manifest.project or node.package_name}", f"{node.kind}.{node.name}"
        )
    parts = (_QUOTED.sub(_unquote, part) for part in (node.database, node.schema, node.identifier))
    name = ".".join(part for part in parts if part)
    return Reference(namespace, name.lower() if manifest.adapter.lower() in _LOWER_CASE else name)


def _unquote(match: re.Match[str]) -> str:
    quote = match[0][-1]
    return match[0][1:-1].replace(quote * 2, quote)


def _dataset(node: Node, ref: Reference) -> Dataset[Reference]:
    properties: dict[str, Scalar] = dict(node.metadata.properties)
    if node.description.strip():
        properties["description"] = node.description
    return Dataset(ref, _authority(node), _label(node), properties, node.metadata.sets)


def _describe_columns(node: Node, ref: Reference) -> Iterator[Column[Reference]]:
    """Yield the declared columns that have tags, owners, constraints or custom metadata."""
    for column in node.code.columns:
        if column.metadata and column.name:
            properties: dict[str, Scalar] = dict(column.metadata.properties)
            yield Column(ref, column.name, _authority(node), properties, column.metadata.sets)


def _authority(node: Node) -> Authority:
    reads_only = node.kind == "source" or node.built_elsewhere
    return Authority.READER if reads_only else Authority.BUILDER


def _describe_files(node: Node, table: Reference) -> Iterator[Element]:
    path = Reference("", node.location)
    names = {"qualified_name": table.name, "name": table.name.rpartition(".")[2]}
    # The table is more specific than its path, also where dbt only reads it.
    yield Dataset(path, Authority.BUILDER, _label(node), names)
    yield Alias(table, path, LOCATION_RULE)


def _label(node: Node) -> DatasetLabel:
    if node.kind in _OWN_LABELS:
        return cast("DatasetLabel", node.kind)
    # Models of another project lack a materialization: dbt's default is used.
    if node.kind == "model" and node.materialized in _VIEWS and not node.built_elsewhere:
        return "view"
    return "table"


def _job(manifest: Manifest, node: Node, key: JobKey) -> Job:
    properties: dict[str, Scalar] = {
        "framework": f"dbt {manifest.dbt_version}".rstrip(),
        "project": manifest.project or node.package_name,
        "described_at": manifest.generated_at,
    }
    known = {name: value for name, value in properties.items() if value}
    return Job(key, at=manifest.generated_at, properties=known)


def last_runs(manifest: Manifest, results: RunResults, jobs: Jobs) -> Iterator[Job]:
    """Yield the time and status of the last run of each model, seed and snapshot, and when it was skipped."""
    for unique_id, at in results.skipped.items():
        node = manifest.nodes.get(unique_id)
        if node is not None and node.is_built and not node.folded and at:
            yield Job(jobs.key(unique_id), at, {"skipped_at": at})
    for unique_id, run in results.runs.items():
        node = manifest.nodes.get(unique_id)
        if node is None or node.folded or not node.is_built:
            continue
        properties: dict[str, Scalar] = {"last_run_at": run.at, "status": run.status}
        if results.invocation_id:
            properties["last_run_id"] = results.invocation_id
        if run.duration_ms is not None:
            properties["duration_ms"] = run.duration_ms
        if run.rows is not None:
            properties["rows_written"] = run.rows
        yield Job(jobs.key(unique_id), run.at, properties)


def _unknown_parents(manifest: Manifest, node: Node, location: str) -> Iterator[Problem]:
    for parent in node.parents:
        if parent not in manifest.nodes:
            why = manifest.left_out.get(parent, "is not in the manifest")
            message = redact(f"{node.unique_id} depends on {parent}, which {why}")
            yield Problem("not-joined", f"{location}: {node.unique_id}", node.parents_at, message)
