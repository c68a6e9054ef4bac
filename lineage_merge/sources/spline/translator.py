"""One Spline plan into elements: what it read, what it wrote, under which job. Pure."""

from collections.abc import Iterator
from dataclasses import replace
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
from lineage_merge.sources.spline import jdbc_queries
from lineage_merge.sources.spline.column_elements import column_elements, read_columns
from lineage_merge.sources.spline.documents import Document, Plan
from lineage_merge.sources.spline.naming import CatalogTable, application, catalog_table
from lineage_merge.sources.spline.operation_chain import operation_chains
from lineage_merge.sources.spline.subqueries import plan_texts, relations

if TYPE_CHECKING:
    from lineage_merge.sources.spline.pushed_queries import PushedQuery

JOB_TYPE = "spark"
# The rule's name on vertices and in reports: a catalog's table and its path are one dataset.
CATALOG_RULE = "catalog-table"


def application_name(plan: Plan) -> str:
    """The plan's application: `spark.app.name` as Spline keeps it, "" where it is unknown."""
    header = plan.header or {}
    return str(header.get("name") or (header.get("extra") or {}).get("appName") or "")


def target(plan: Plan) -> str:
    """The raw URI that the plan writes, "" where it writes nothing."""
    return next((str(op["outputSource"]) for op in plan.operations if op["type"] == "Write"), "")


def translate(
    plan: Plan, applied_by: str = "", database: str = "", sequence: int | None = None
) -> Iterator[Element]:
    """The elements of one plan.

    `applied_by` is the application's name as `progress` gives it, used where the plan's own
    document is missing, `sequence` the place of its write in the run. Every source feeds the
    target; a table that only a subquery reads is a source too.
    """
    name = application_name(plan) or applied_by
    document = f"{database}: executionPlan/{plan.key}" if database else f"executionPlan/{plan.key}"
    write = next((operation for operation in plan.operations if operation["type"] == "Write"), None)
    if write is None:
        yield Problem("skipped", document, "", "it has no write operation")
        return
    if not name:
        yield Problem("skipped", document, "name", "no application name, so it has no job")
        return
    plan, problems = with_tables(plan, document)
    yield from problems
    job = JobKey(JOB_TYPE, application(name).job)
    output = Reference("", write["outputSource"], job.name)
    yield from _written(write, output, _table_of_write(plan, write))
    # What its runs did, `progress` tells; without it, this is all there is of the job.
    yield Job(job, properties=_framework(plan))
    yield Writes(job, output)

    mode: dict[str, Scalar] = {"write_mode": "append" if write.get("append") else "overwrite"}
    if sequence is not None:
        mode["sequence"] = sequence
    seen: set[Reference] = set()
    for operation in plan.operations:
        if operation["type"] != "Read":
            continue
        inputs = [Reference("", uri, job.name) for uri in operation["inputSources"]]
        yield from _read(operation, inputs)
        seen.update(inputs)
    for key, text in plan_texts(plan.expressions):
        tables, unnamed = relations(text)
        seen.update(Reference(table.catalog, table.name) for table in tables)
        for kind in sorted(unnamed):
            yield Problem(
                "not-joined",
                document,
                key,
                f"a subquery reads {kind or 'a relation'} that is no table, and Spline keeps no path",
            )
    columns = read_columns(plan, job.name, document)
    lost: frozenset[Reference] = frozenset()
    if isinstance(columns, Problem):
        yield columns
    else:
        lost = frozenset(columns.untraced)
        for key, what in columns.problems:
            yield Problem("no-columns", document, key, f"a query over JDBC {naming.redact(what)}")
        yield from column_elements(columns, job, output)
    chains = operation_chains(plan.operations, plan.follows)
    for source in sorted(seen):
        # Of a table that only a subquery reads nobody keeps the operations.
        chain = "" if source.namespace else chains.get(source.name, "")
        yield Feeds(
            job,
            source,
            output,
            {**mode, "column_lineage": "unavailable"} if source in lost else mode,
            {"operations": tuple(chain.split(" | "))} if chain else {},
        )


def with_tables(plan: Plan, document: str) -> tuple[Plan, list[Problem]]:
    """The plan with the tables behind a query over JDBC as sources, in place of its address."""
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
            found = jdbc_queries.sources(uri, params)
            uris.extend(found.uris)
            if found.is_query:
                queries.append(found.query)
            if found.problem:
                what = f"{jdbc_queries.shown(uri)}: {found.problem}"
                problems.append(Problem("not-joined", document, key, what))
        operations.append({**operation, "inputSources": uris, jdbc_queries.QUERIES: queries})
    return replace(plan, parts={**plan.parts, "operation": tuple(operations)}), problems


def _framework(plan: Plan) -> dict[str, str]:
    """``spark 3.5.9``, just as `progress` names it."""
    system = (plan.header or {}).get("systemInfo") or {}
    name = f"{system.get('name') or ''} {system.get('version') or ''}".strip()
    return {"framework": name} if name else {}


def _written(write: Document, output: Reference, table: CatalogTable | None) -> Iterator[Element]:
    file_format = (write.get("extra") or {}).get("destinationType")
    properties = {"format": file_format} if file_format else {}
    yield Dataset(output, Authority.BUILDER, properties=properties)
    if table and _is_path(output.name):
        yield from _table(table, output)


def _read(operation: Document, inputs: list[Reference]) -> Iterator[Element]:
    file_format = (operation.get("extra") or {}).get("sourceType")
    properties = {"format": file_format} if file_format else {}
    for ref in inputs:
        yield Dataset(ref, Authority.READER, properties=properties)
    table = catalog_table(operation.get("params"), file_format or "")
    # A table of several paths (its partitions lie apart) has no path of its own to be joined by.
    if table and len(inputs) == 1 and _is_path(inputs[0].name):
        yield from _table(table, inputs[0])


def _table(table: CatalogTable, path: Reference) -> Iterator[Element]:
    properties = {"qualified_name": table.name, "name": table.name.rpartition(".")[2]}
    label: Any = "view" if table.is_view else "table"
    yield Dataset(path, Authority.BUILDER, label, properties)
    if table.catalog:
        yield Alias(Reference(table.catalog, table.name), path, CATALOG_RULE)


def _is_path(uri: str) -> bool:
    """Cassandra and others have tables in catalogs too, but not as files."""
    try:
        return naming.name_uri(uri).stored_as_files
    except NamingError:
        return False


def _table_of_write(plan: Plan, write: Document) -> CatalogTable | None:
    """The catalog's table that a write fills: its own `params.table`, or that of the command below.

    CREATE TABLE is reported as a write above the command that holds the table.
    """
    own = catalog_table(write.get("params"), (write.get("extra") or {}).get("destinationType") or "")
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
            table = catalog_table(operation.get("params"))
            if table:
                return table
    return None
