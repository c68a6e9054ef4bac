"""Translation of runs, static jobs and static datasets into `lineage_merge.model.elements`. Pure.

Column lineage: since 1-1-0 of the facet each input field has `transformations`; before, the output field had
one type for all of them (https://openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet).
"""

import re
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.model.elements import (
    Assertion,
    Authority,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    Job,
    JobKey,
    Problem,
    Reference,
    Scalar,
    Writes,
)
from lineage_merge.naming import redact
from lineage_merge.sources.json_values import as_list, as_mapping
from lineage_merge.sources.openlineage import airflow_tasks
from lineage_merge.sources.openlineage.changed_rows import derive_changed_rows
from lineage_merge.sources.openlineage.datasets import (
    StoredTable,
    dataset_elements,
    find_stored_table,
    reference,
    schema_fields,
    yield_stored_edges,
)
from lineage_merge.sources.openlineage.documents import Document, sets_of, text
from lineage_merge.sources.openlineage.explicit_lineage import list_explicit_inputs
from lineage_merge.sources.openlineage.field_paths import input_fields, select_known_fields, with_field_paths
from lineage_merge.sources.openlineage.jobs import JobRun, is_airflow, is_spark, job_of, own_name
from lineage_merge.sources.openlineage.known_datasets import find_key
from lineage_merge.sources.openlineage.row_operations import outputs, row_operation
from lineage_merge.sources.openlineage.runs import DatasetKey, Run

if TYPE_CHECKING:
    from lineage_merge.sources.openlineage.task_statements import TaskWrites

_DEFINITIONS = frozenset({"CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"})
# In the name of Spark's command, or in SQL: a table that is created with rows.
_CREATED_WITH_ROWS = re.compile(r"as_select|insert|append|overwrite|save", re.IGNORECASE)
_CREATES_OF_QUERY = re.compile(
    r"\bcreate\b.*\btable\b.*\bas\b[\s(]*(?:select|with|from|values|table)\b", re.IGNORECASE | re.DOTALL
)
_OVERWRITES = frozenset({"CREATE", "OVERWRITE", "TRUNCATE"})


def targets(run: Run) -> list[DatasetKey]:
    """Return the datasets that the run wrote data to, in a fixed order.

    A table that is only created, altered or dropped (`lifecycleStateChange`, and neither a source nor a row)
    received no data.
    """
    operation = row_operation(run)
    return [
        key for key, output in outputs(run).items() if operation is not None or not _only_defines(run, output)
    ]


def write_mode(run: Run, key: DatasetKey) -> str:
    """Return ``overwrite``, ``append``, ``merge``, ``update``, ``delete``, or "" if it is unknown.

    openlineage-spark reports overwriting and creating; what is no row-level operation is an append else.
    """
    operation = row_operation(run)
    if operation is not None:
        return operation.operation or ""
    change = _lifecycle(run.outputs[key])
    if change in _OVERWRITES:
        return "overwrite"
    return "append" if job_of(run).key.job_type == "spark" else ""


def rows_written(run: Run, key: DatasetKey) -> int | None:
    """Return the number of rows written to one of the run's targets, if reported."""
    statistics = (outputs(run)[key].get("outputFacets") or {}).get("outputStatistics") or {}
    count = statistics.get("rowCount")
    return None if count is None else int(count)


def version_written(run: Run, key: DatasetKey) -> str | None:
    """Return one of the run's targets with its version after the write, if reported: ``db.orders@4``."""
    facets = outputs(run)[key].get("facets") or {}
    version = text(as_mapping(facets.get("version")).get("datasetVersion"))
    if not version:
        return None
    table = find_stored_table(outputs(run)[key], reference(*key))
    names = [str(identifier["name"]) for identifier in table.names]
    return f"{min(names, default=table.ref.name)}@{version}"


def translate(run: Run, key: DatasetKey, sequence: int | None = None) -> Iterator[Element]:
    """Yield what the run did to one target. `sequence` is the position of the write in the job's run.

    Every input feeds the target, and so does a dataset that only the column lineage or the statement names.
    """
    job_run = job_of(run)
    job, of_spark = job_run.key, job_run.key.job_type == "spark"
    output = outputs(run)[key]
    target = reference(*key, job.name)
    inputs = {reference(*source, job.name): dataset for source, dataset in run.inputs.items()}
    query = str((run.job_facets.get("sql") or {}).get("query") or "")
    tables = {
        ref: find_stored_table(dataset, ref, query, of_spark=of_spark)
        for ref, dataset in ((target, output), *inputs.items())
    }
    yield from dataset_elements(output, tables[target], Authority.BUILDER, of_spark=of_spark)
    target = tables[target].ref  # without the name of a branch
    tables.setdefault(target, StoredTable(target))
    if job.job_type == "dbt" and job.name.startswith("snapshot."):
        yield Dataset(target, Authority.BUILDER, "snapshot")
    yield _job(run, job_run)
    yield Writes(job, target)
    for ref, dataset in inputs.items():
        yield from dataset_elements(dataset, tables[ref], Authority.READER, of_spark=of_spark)
    written = _read_statements(run, query, key, job, sequence)
    if written is not None:
        yield from written.elements
        for problem in written.problems:
            yield Problem("no-columns", f"Airflow task {job.name}", target.name, redact(problem))
        return
    facet = with_field_paths(
        (output.get("facets") or {}).get("columnLineage") or {},
        schema_fields(output),
        {ref: schema_fields(dataset) for ref, dataset in inputs.items()},
        job.name,
    )
    mode = write_mode(run, key)
    properties: dict[str, Scalar] = {"write_mode": mode} if mode else {}
    if sequence is not None:
        properties["sequence"] = sequence
    explicit = list_explicit_inputs(output)
    fed = inputs.keys() if explicit is None else {reference(*source, job.name) for source in explicit}
    sources = fed | _column_sources(facet, job.name)
    columns = column_elements(facet, job, target)
    operation = row_operation(run)
    if operation is not None:
        changed = derive_changed_rows(operation, run, key, job)
        sources = (sources - {target}) | changed.reads
        columns = iter(changed.columns)
        if changed.columns_lost:
            properties["column_lineage"] = "unavailable"
        for problem in changed.problems:
            yield Problem("no-columns", f"Spark job {job.name}", target.name, redact(problem))
    for source in sorted(sources):
        table = tables.get(source) or StoredTable(source)
        reads: dict[str, Scalar] = {"reads": "metadata"} if table.part == "metadata" else {}
        yield Feeds(job, table.ref, target, {**properties, **reads})
    yield from yield_stored_edges(columns, tables)


def _read_statements(
    run: Run, query: str, key: DatasetKey, job: JobKey, sequence: int | None
) -> "TaskWrites | None":
    """Return what a task's SQL writes to an output; None if only the event says it."""
    if not query or not is_airflow(run):
        return None
    try:
        from lineage_merge.sources.openlineage.task_statements import task_writes
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        return None
    return task_writes(run, query, key, job, sequence)


def translate_dataset(event: Document, location: str) -> Iterator[Element]:
    """Translate a `DatasetEvent`: metadata of a dataset, without a job."""
    dataset = event["dataset"]
    key = find_key((dataset["namespace"], dataset["name"]))
    if key is None:
        yield Problem("skipped", location, "dataset.name", "names no dataset")
        return
    ref = reference(*key)
    yield from dataset_elements(dataset, find_stored_table(dataset, ref), Authority.CATALOG)
    facets = dataset.get("facets") or {}
    if _column_sources(facets.get("columnLineage") or {}, ""):
        what = "the event names no job, so its column lineage cannot be used"
        yield Problem("skipped", location, "dataset.facets.columnLineage", what)
    if as_mapping(facets.get("lineage")):
        what = "the event names no job, so its lineage cannot be used"
        yield Problem("skipped", location, "dataset.facets.lineage", what)


def _job(run: Run, job_run: JobRun) -> Job:
    known = {"framework": job_run.framework, "project": job_run.project}
    properties = {name: value for name, value in known.items() if value} | airflow_tasks.task_properties(run)
    sets = airflow_tasks.sets_of_task(run) if is_airflow(run) else sets_of(run.job_facets)
    return Job(job_run.key, properties=properties, sets=sets)


def _only_defines(run: Run, output: Document) -> bool:
    if _lifecycle(output) not in _DEFINITIONS or run.inputs or _is_of_query(run):
        return False
    statistics = (output.get("outputFacets") or {}).get("outputStatistics") or {}
    return not statistics.get("rowCount") and not (output.get("facets") or {}).get("columnLineage")


def _is_of_query(run: Run) -> bool:
    """Return whether a run writes the rows of a query, whose tables may be unknown."""
    command = own_name(run).partition(".")[0] if is_spark(run) else ""
    query = str(as_mapping(run.job_facets.get("sql")).get("query") or "")
    return _CREATED_WITH_ROWS.search(command) is not None or _CREATES_OF_QUERY.search(query) is not None


def _lifecycle(output: Document) -> str:
    facet = (output.get("facets") or {}).get("lifecycleStateChange") or {}
    return str(facet.get("lifecycleStateChange") or "").upper()


_INFLUENCES = frozenset(kind.value for kind in InfluenceKind)
_DIRECT = frozenset(
    kind.name for kind in (Transformation.IDENTITY, Transformation.TRANSFORMATION, Transformation.AGGREGATION)
)
_STEERING = frozenset((Transformation.CONDITIONAL.name, Transformation.WINDOW.name))


def _column_sources(facet: Mapping[str, Any], application: str) -> set[Reference]:
    """Return the datasets whose columns are direct or indirect inputs."""
    return {reference(field["namespace"], field["name"], application) for field in input_fields(facet)}


def column_elements(facet: Mapping[str, Any], job: JobKey, target: Reference) -> Iterator[Element]:
    """Yield the edges to the target's columns, and those of columns that decide its rows, without duplicates.

    Older events repeat the columns that decide rows for each output column.
    """
    return iter(dict.fromkeys(_column_elements(facet, job, target)))


def _column_elements(facet: Mapping[str, Any], job: JobKey, target: Reference) -> Iterator[Element]:
    for column, output_field in (facet.get("fields") or {}).items():
        for field in select_known_fields(output_field.get("inputFields")):
            yield from _column_edges(field, column, output_field, job, target)
    for input_field in select_known_fields(facet.get("dataset")):
        source = reference(input_field["namespace"], input_field["name"], target.application)
        # For a computed indirect input, the facet says how it is computed, not what it decides.
        kinds = _select_known(input_field, _INFLUENCES)
        yield Influences(job, source, input_field["field"], target, kinds)


def _column_edges(
    field: Mapping[str, Any], column: str, output_field: Mapping[str, Any], job: JobKey, target: Reference
) -> Iterator[Element]:
    source = reference(field["namespace"], field["name"], target.application)
    transformations = field.get("transformations") or ()
    if not transformations:
        how = _legacy_subtypes(output_field)
        text = str(output_field.get("transformationDescription") or "")
        # "identical" is no expression.
        text = "" if how == (Transformation.IDENTITY.name,) else text
        yield FeedsColumn(job, source, field["field"], target, column, how, text)
        return
    kinds = _select_known(field, _INFLUENCES)
    if kinds:
        yield Influences(job, source, field["field"], target, kinds)
    flows = [
        transformation for transformation in transformations if _subtype(transformation) not in _INFLUENCES
    ]
    if flows:
        how = _select_known(field, _DIRECT | _STEERING)
        texts = dict.fromkeys(str(flow.get("description") or "").strip() for flow in flows)
        expression = " | ".join(text for text in texts if text)
        yield FeedsColumn(job, source, field["field"], target, column, how, expression)


def _select_known(field: Mapping[str, Any], wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the known subtypes; missing or unknown ones are not guessed."""
    subtypes = {_subtype(transformation) for transformation in field.get("transformations") or ()}
    return tuple(sorted(subtypes & wanted))


def _subtype(transformation: Mapping[str, Any]) -> str:
    return str(transformation.get("subtype") or "").strip().upper()


def _legacy_subtypes(output_field: Mapping[str, Any]) -> tuple[str, ...]:
    match str(output_field.get("transformationType") or "").strip().upper():
        case "IDENTITY":
            return (Transformation.IDENTITY.name,)
        case "MASKED":
            return (Transformation.TRANSFORMATION.name,)
    return ()


_OF_EXPRESSIONS = frozenset("()'\"*/+,;=<>")


def assertions(run: Run) -> Iterator[Element]:
    """Yield the data quality assertions that a finished run reports about its inputs and outputs."""
    if run.at is None:
        return
    reported = [*_read_dataset_checks(run)]
    reported += _read_run_checks(run, {str(assertion.properties["name"]) for assertion in reported})
    yield from reported
    if is_airflow(run) and not reported:
        yield from _read_task_checks(run)


def _read_dataset_checks(run: Run) -> Iterator[Assertion[Reference]]:
    for key, dataset in (*run.inputs.items(), *run.outputs.items()):
        for group in ("inputFacets", "facets"):
            facets = as_mapping(dataset.get(group))
            for assertion in as_list(as_mapping(facets.get("dataQualityAssertions")).get("assertions")):
                yield from _assertion(run, key, as_mapping(assertion))


def _read_run_checks(run: Run, known: Set[str]) -> Iterator[Assertion[Reference]]:
    """Yield the tests in the run facet `test`, of the only input, except those that are `known` by name."""
    if len(run.inputs) != 1:
        return
    (key,) = run.inputs
    for test in map(as_mapping, as_list(as_mapping(run.facets.get("test")).get("tests"))):
        tested = as_mapping(test.get("params"))
        table = text(tested.get("tested_table"))
        success = {"pass": True, "fail": False}.get(text(test.get("status")).lower())
        if text(test.get("name")) in known or not f".{key[1]}".lower().endswith(
            f".{table}".lower() if table else ""
        ):
            continue
        stated = {
            **test,
            "assertion": test.get("type"),
            "success": success,
            "column": tested.get("tested_column"),
        }
        yield from _assertion(run, key, stated)


def _read_task_checks(run: Run) -> Iterator[Assertion[Reference]]:
    """Yield the checks of an operator of Airflow, whose events have them only if it checks one table."""
    if len(run.inputs) != 1:
        return
    (key,) = run.inputs
    job_run = job_of(run)
    for check in airflow_tasks.checks(run):
        properties: dict[str, Scalar] = {
            "name": check.name or f"{check.kind} {check.column}",
            "assertion_type": check.kind,
            "column_name": check.column,
            "status": check.status,
            "last_run_id": job_run.shown_run_id,
            "last_run_at": run.at or 0,
        }
        known = {name: value for name, value in properties.items() if value}
        name = ":".join(part for part in (f"{'|'.join(key)}#{check.column}", check.kind, check.name) if part)
        target = reference(*key, job_run.key.name)
        yield Assertion(job_run.key, target, check.column, name, run.at or 0, properties=known)


def _assertion(run: Run, key: DatasetKey, stated: Mapping[str, Any]) -> Iterator[Assertion[Reference]]:
    kind, column = text(stated.get("assertion")), text(stated.get("column"))
    job_run, severity = job_of(run), text(stated.get("severity")).lower()
    # The branch that a task of Airflow takes is information.
    if not kind or not isinstance(stated.get("success"), bool) or severity == "info":
        return
    failed = "warned" if severity == "warn" else "failed"
    given_name = text(stated.get("name"))
    properties: dict[str, Scalar] = {
        "name": given_name or f"{kind} {column}".rstrip(),
        "description": text(stated.get("description")),
        "assertion_type": kind,
        "column_name": column,
        "severity": severity if severity in ("error", "warn") else "",
        "status": "passed" if stated["success"] else failed,
        "last_run_id": job_run.shown_run_id,
        "last_run_at": run.at or 0,
        "project": job_run.project,
    }
    known = {name: value for name, value in properties.items() if value}
    # Tests of one kind, such as custom_sql, differ only in their names.
    name = ":".join(part for part in (f"{'|'.join(key)}#{column}", kind, given_name) if part)
    checked = "" if _OF_EXPRESSIONS.intersection(column) else column
    target = reference(*key, job_run.key.name)
    yield Assertion(job_run.key, target, checked, name, run.at or 0, properties=known)
