"""What a MERGE, UPDATE or DELETE of openlineage-spark does to its table, by its statement. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage_merge.model.elements import FeedsColumn, Influences, JobKey, Reference
from lineage_merge.sources.openlineage.datasets import (
    StoredTable,
    find_stored_table,
    reference,
    schema_fields,
    spark_catalog,
)
from lineage_merge.sources.openlineage.documents import Document
from lineage_merge.sources.openlineage.field_paths import input_fields
from lineage_merge.sources.openlineage.row_operations import RowOperation, outputs
from lineage_merge.sources.openlineage.runs import DatasetKey, Run
from lineage_merge.sources.openlineage.statement_names import names_of

if TYPE_CHECKING:
    from lineage_merge.sources.openlineage.statements import EventTable


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The edges of an operation between columns, and what it reads besides the inputs of its event.

    `reads` has the target only if its own columns are assigned. `columns_lost`: there is no statement.
    """

    columns: tuple[FeedsColumn[Reference] | Influences[Reference], ...] = ()
    reads: frozenset[Reference] = frozenset()
    problems: tuple[str, ...] = ()
    columns_lost: bool = False


def derive_changed_rows(operation: RowOperation, run: Run, key: DatasetKey, job: JobKey) -> ChangedRows:
    """Return what the operation of a run does to one of its outputs."""
    if operation.statement is None:
        return ChangedRows(problems=(operation.problem,), columns_lost=True)
    from lineage_merge.sources.openlineage.statements import lineage_of

    output = outputs(run)[key]
    target = _event_table(key, output, {}, job.name)
    named = _columns_named((output.get("facets") or {}).get("columnLineage") or {})
    known: dict[DatasetKey, Document] = {source: {} for source in named} | dict(run.inputs)
    sources = [_event_table(source, document, named, job.name) for source, document in known.items()]
    lineage = lineage_of(operation.statement, target, sources, job)
    return ChangedRows(lineage.columns, frozenset(lineage.reads), tuple(lineage.problems))


def _event_table(
    key: DatasetKey, dataset: Document, named: Mapping[DatasetKey, list[str]], application: str
) -> "EventTable":
    from lineage_merge.sources.openlineage.statements import EventTable

    ref = reference(*key, application)
    table: StoredTable = find_stored_table(dataset, ref, of_spark=True)
    facets: Mapping[str, Any] = dataset.get("facets") or {}
    fields = [str(field["name"]) for field in schema_fields(dataset)]
    return EventTable(
        ref,
        names_of(*key, dataset),
        tuple(name for name in (fields or named.get(key) or []) if table.stores(name)),
        complete=bool(fields),
        metadata=table.part == "metadata",
        catalog=spark_catalog(facets.get("catalog") or {}),
    )


def _columns_named(facet: Mapping[str, Any]) -> dict[DatasetKey, list[str]]:
    """Return the columns of each dataset that the client's column lineage names."""
    named: dict[DatasetKey, list[str]] = {}
    for field in input_fields(facet):
        columns = named.setdefault((field["namespace"], field["name"]), [])
        if field["field"] not in columns:
            columns.append(field["field"])
    return named
