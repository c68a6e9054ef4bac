"""What is known of the columns of a dbt project, as elements of `lineage_merge.model`."""

from collections.abc import Iterator, Mapping

from lineage_merge.column_lineage import lineage_elements
from lineage_merge.model import Authority, Column, Element, JobKey, Problem, Reference, Scalar
from lineage_merge.sources.dbt.columns import Column as TableColumn
from lineage_merge.sources.dbt.columns import ColumnLineage
from lineage_merge.sources.dbt.nodes import Manifest, Node

# Spark says `int` where a catalog says `integer`, and the catalog knows: of what dbt only reads,
# who builds it decides; of what dbt builds, dbt's catalog.
_READ = Authority.READER
_BUILT = Authority.BUILDER


def column_elements(
    manifest: Manifest,
    references: Mapping[str, Reference],
    lineage: Mapping[str, ColumnLineage],
    location: str,
) -> Iterator[Element]:
    """The columns of each dataset and what they are made of, by the job that builds it.

    `references` are the datasets of `translate`, by unique id; `location` names the manifest in
    problems.
    """
    for unique_id, found in lineage.items():
        for problem in found.problems:
            yield Problem("no-columns", f"{location}: {unique_id}", "", problem)
        target = references.get(unique_id)
        if target is None:
            continue
        authority = _authority(manifest.nodes[unique_id])
        for column in found.columns:
            yield Column(target, column.name, authority, _properties(column))
        job = JobKey("dbt", unique_id)
        yield from lineage_elements(found.flows, found.influences, job, target, references.__getitem__)


def _authority(node: Node) -> Authority:
    return _READ if node.kind == "source" or node.built_elsewhere else _BUILT


def _properties(column: TableColumn) -> dict[str, Scalar]:
    known: dict[str, Scalar] = {
        name: value
        for name, value in (("data_type", column.data_type), ("description", column.description))
        if value
    }
    return known if column.position is None else {**known, "position": column.position}
