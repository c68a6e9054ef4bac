"""Translation of a Spline plan into elements: its sources, target and job. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lineage_merge import naming
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Dataset,
    Element,
    Feeds,
    Job,
    JobKey,
    Problem,
    Reference,
    Scalar,
    Writes,
)
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.jobs import CATALOG_RULE, SPARK, application
from lineage_merge.sources.spline import jdbc_queries, labels
from lineage_merge.sources.spline.column_elements import column_elements, read_columns
from lineage_merge.sources.spline.documents import Document, Plan, write_mode
from lineage_merge.sources.spline.naming import CatalogTable, catalog_table
from lineage_merge.sources.spline.operation_chain import operation_chains
from lineage_merge.sources.spline.subqueries import plan_texts, relations, temporary_views

if TYPE_CHECKING:
    from lineage_merge.column_lineage.sql.pushed_queries import PushedQuery

# Name of the rule on vertices and in reports: a catalog's table and its path are one dataset.
# Kinds of the problems that the listener puts into a plan.
_OF_LISTENER = ("not-joined", "no-columns", "notice")


def application_name(plan: Plan) -> str:
    """Return the plan's application: `spark.app.name` as Spline stores it, "" if unknown."""
    header = plan.header or {}
    return str(header.get("name") or (header.get("extra") or {}).get("appName") or "")


def target(plan: Plan) -> str:
    """Return the raw URI that the plan writes, "" if it writes nothing."""
    return next((str(op["outputSource"]) for op in plan.operations if op["type"] == "Write"), "")


def translate(
    plan: Plan, applied_by: str = "", database: str = "", sequence: int | None = None
) -> Iterator[Element]:
    """Translate one plan into elements.

    `applied_by` is the application name in `progress`, used if the plan's own document is missing; `sequence`
    is the position of its write in the run. Every source feeds the target, including tables that only a
    subquery reads.
    """
    name = application_name(plan) or applied_by
    document = f"{database}: executionPlan/{plan.key}" if database else f"executionPlan/{plan.key}"
    write = next((operation for operation in plan.operations if operation["type"] == "Write"), None)
    if write is None:
        yield Problem("skipped", document, "", "no write operation")
        return
    if not name:
        yield Problem("skipped", document, "name", "no application name, so the job is unknown")
        return
    plan, problems = with_tables(plan, document)
    yield from problems
    yield from _report_listener(plan, document)
    job = JobKey(SPARK, application(name).job)
    output = Reference("", write["outputSource"], job.name)
    yield from _describe_written(write, output, _table_of_write(plan, write))
    # `progress` has the facts about runs; without it, only the job itself is known.
    yield Job(job, properties=_framework(plan), sets=labels.owners_and_tags(plan.header or {}))
    yield Writes(job, output)

    mode: dict[str, Scalar] = {"write_mode": write_mode(write)}
    if sequence is not None:
        mode["sequence"] = sequence
    seen: set[Reference] = set()
    for operation in plan.operations:
        if operation["type"] != "Read":
            continue
        inputs = [Reference("", uri, job.name) for uri in operation["inputSources"]]
        yield from _read(operation, inputs)
        seen.update(inputs)
    views = temporary_views({operation["_key"]: operation for operation in plan.operations})
    named: set[tuple[Reference, bool]] = set()  # whether it is only a metadata table
    for key, text in plan_texts(plan.expressions):
        tables, unnamed = relations(text, views)
        named.update((Reference(table.catalog, table.name), table.part == "metadata") for table in tables)
        for kind in sorted(unnamed):
            yield Problem(
                "not-joined",
                document,
                key,
                f"a subquery reads {kind or 'a relation'} that is no table, and Spline records no path",
            )
    metadata_only = {source for source, is_metadata in named if is_metadata and (source, False) not in named}
    seen.update(source for source, _ in named)
    columns = read_columns(plan, job.name, document)
    lost: frozenset[Reference] = frozenset()
    if isinstance(columns, Problem):
        yield columns
    else:
        lost = frozenset(columns.untraced)
        metadata_only |= columns.metadata_only
        seen -= columns.rewritten
        for key, what in columns.problems:
            yield Problem("no-columns", document, key, naming.redact(what))
        yield from column_elements(columns, job, output)
    chains = operation_chains(plan.operations, plan.follows)
    for source in sorted(seen):
        # Spline records no operations for a table that only a subquery reads.
        chain = "" if source.namespace else chains.get(source.name, "")
        properties = {**mode, "column_lineage": "unavailable"} if source in lost else mode
        if source in metadata_only:
            properties = {**properties, "reads": "metadata"}
        yield Feeds(
            job,
            source,
            output,
            properties,
            {"operations": tuple(chain.split(" | "))} if chain else {},
        )


def with_tables(plan: Plan, document: str) -> tuple[Plan, list[Problem]]:
    """Return the plan with the tables behind a JDBC query as sources, in place of its address."""
    operations: list[Document] = []
    problems: list[Problem] = []
    for operation in plan.operations:
        if operation["type"] != "Read":
            operations.append(operation)
            continue
        params, key = operation.get("params"), operation["_key"]
        uris: list[str] = []
        queries: list[PushedQuery | None] = []
        for uri in operation["inputSources"]:
            sources = jdbc_queries.sources(uri, params)
            uris.extend(sources.uris)
            if sources.is_query:
                queries.append(sources.query)
            if sources.problem:
                what = f"{jdbc_queries.redact_connection(uri)}: {sources.problem}"
                problems.append(Problem("not-joined", document, key, what))
        operations.append({**operation, "inputSources": uris, jdbc_queries.QUERIES: queries})
    return replace(plan, parts={**plan.parts, "operation": tuple(operations)}), problems


def _report_listener(plan: Plan, document: str) -> Iterator[Problem]:
    """Yield what our listener found to be missing in a plan of Spark."""
    reported = ((plan.header or {}).get("extra") or {}).get("problems")
    for problem in reported if isinstance(reported, list) else ():
        if isinstance(problem, list) and len(problem) == 3 and problem[0] in _OF_LISTENER:
            yield Problem(problem[0], document, *(naming.redact(str(text)) for text in problem[1:]))


def _framework(plan: Plan) -> dict[str, str]:
    """Return ``spark 3.5.9``, as `progress` has it."""
    system = (plan.header or {}).get("systemInfo") or {}
    name = f"{system.get('name') or ''} {system.get('version') or ''}".strip()
    return {"framework": name} if name else {}


def _describe_written(write: Document, output: Reference, table: CatalogTable | None) -> Iterator[Element]:
    file_format = (write.get("extra") or {}).get("destinationType")
    properties = {"format": file_format} if file_format else {}
    yield Dataset(output, Authority.BUILDER, properties=properties)
    if table and table.is_view:
        yield Dataset(output, Authority.BUILDER, "view", {"name": table.name.rpartition(".")[2]})
    elif table and _is_path(output.name):
        yield from _table(table, output)


def _read(operation: Document, inputs: list[Reference]) -> Iterator[Element]:
    file_format = (operation.get("extra") or {}).get("sourceType")
    properties = {"format": file_format} if file_format else {}
    for ref in inputs:
        yield Dataset(ref, Authority.READER, properties=properties)
    location = inputs[0].name if inputs else ""
    table = catalog_table(operation.get("params"), file_format or "", location)
    # A table with several paths (partitions in different places) has no path of its own to join by.
    if table and len(inputs) == 1 and _is_path(inputs[0].name):
        yield from _table(table, inputs[0])


def _table(table: CatalogTable, path: Reference) -> Iterator[Element]:
    properties = {"qualified_name": table.name, "name": table.name.rpartition(".")[2]}
    label: Any = "view" if table.is_view else "table"
    yield Dataset(path, Authority.BUILDER, label, properties)
    if table.catalog:
        yield Alias(Reference(table.catalog, table.name), path, CATALOG_RULE)


@lru_cache(1 << 12)
def _is_path(uri: str) -> bool:
    """Return whether tables of the format are files: Cassandra and others have catalog tables too."""
    try:
        return naming.name_uri(uri).stored_as_files
    except NamingError:
        return False


def _table_of_write(plan: Plan, write: Document) -> CatalogTable | None:
    """Return the catalog table of a write: its own `params.table`, or that of the command below.

    CREATE TABLE is reported as a write above the command that has the table.
    """
    file_format = (write.get("extra") or {}).get("destinationType") or ""
    own = catalog_table(write.get("params"), file_format, write["outputSource"])
    if own:
        return own
    followed = {
        edge["_to"].rpartition("/")[2]
        for edge in plan.follows
        if edge["_from"].rpartition("/")[2] == write["_key"]
    }
    for operation in plan.operations:
        is_below = operation["_key"] in followed if plan.follows else operation["type"] == "Transformation"
        if is_below and operation.get("name") == write.get("name"):
            table = catalog_table(operation.get("params"), location=write["outputSource"])
            if table:
                return table
    return None
