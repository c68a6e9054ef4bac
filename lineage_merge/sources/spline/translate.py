"""One Spline plan into elements: what it read, what it wrote, under which job. Pure."""

from collections.abc import Iterator
from typing import Any

from lineage_merge.model import (
    Alias,
    Authority,
    Dataset,
    Element,
    Feeds,
    Job,
    JobKey,
    Problem,
    Reference,
    Writes,
)
from lineage_merge.sources.spline.documents import Document, Plan
from lineage_merge.sources.spline.naming import CatalogTable, application, catalog_table
from lineage_merge.sources.spline.subqueries import plan_texts, relations

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


def translate(plan: Plan, applied_by: str = "", database: str = "") -> Iterator[Element]:
    """The elements of one plan.

    `applied_by` is the application's name as `progress` gives it, used where the plan's own
    document is missing. Every source feeds the target; a table that only a subquery reads is
    a source too.
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
    job = JobKey(JOB_TYPE, application(name).job)
    output = Reference("", write["outputSource"], job.name)
    yield from _written(write, output, _table_of_write(plan, write))
    # What its runs did, `progress` tells; without it, this is all there is of the job.
    yield Job(job, properties=_framework(plan))
    yield Writes(job, output)

    mode = {"write_mode": "append" if write.get("append") else "overwrite"}
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
    for source in sorted(seen):
        yield Feeds(job, source, output, mode)


def _framework(plan: Plan) -> dict[str, str]:
    """``spark 3.5.9``, just as `progress` names it."""
    system = (plan.header or {}).get("systemInfo") or {}
    name = f"{system.get('name') or ''} {system.get('version') or ''}".strip()
    return {"framework": name} if name else {}


def _written(write: Document, output: Reference, table: CatalogTable | None) -> Iterator[Element]:
    file_format = (write.get("extra") or {}).get("destinationType")
    properties = {"format": file_format} if file_format else {}
    yield Dataset(output, Authority.BUILDER, properties=properties)
    if table:
        yield from _table(table, output)


def _read(operation: Document, inputs: list[Reference]) -> Iterator[Element]:
    file_format = (operation.get("extra") or {}).get("sourceType")
    properties = {"format": file_format} if file_format else {}
    for ref in inputs:
        yield Dataset(ref, Authority.READER, properties=properties)
    table = catalog_table(operation.get("params"))
    # A table of several paths (its partitions lie apart) has no path of its own to be joined by.
    if table and len(inputs) == 1:
        yield from _table(table, inputs[0])


def _table(table: CatalogTable, path: Reference) -> Iterator[Element]:
    properties = {"qualified_name": table.name, "name": table.name.rpartition(".")[2]}
    label: Any = "view" if table.is_view else "table"
    yield Dataset(path, Authority.BUILDER, label, properties)
    yield Alias(Reference(table.catalog, table.name), path, CATALOG_RULE)


def _table_of_write(plan: Plan, write: Document) -> CatalogTable | None:
    """The catalog's table that a write fills: its own `params.table`, or that of the command below.

    CREATE TABLE is reported as a write above the command that holds the table.
    """
    own = catalog_table(write.get("params"))
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
