"""`capture`: the lineage of a DataFrame or a statement."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config, ConfigReader
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Authority, Dataset, Element, Problem, Reference
from lineage_merge.model.errors import CaptureError
from lineage_merge.sources.spline.agent.plans import documents
from lineage_merge.sources.spline.documents import Document, Plan
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.translator import translate, with_tables
from lineage_merge.spark_capture.captured import Captured
from lineage_merge.spark_capture.plan import PlanDocument
from lineage_merge.spark_capture.session import JvmSession
from lineage_merge.spark_capture.targets import DATAFRAME, WriteTarget, named_target, written

_TARGET = "table:target"
_NOT_CLASSIC = (
    "Spark Connect has its plans on the server: capture needs a classic session, in the process of Spark's"
    " driver"
)


def capture(
    df_or_sql: DataFrame | str,
    *,
    name: str | None = None,
    target: str | None = None,
    append: bool = False,
    environment: str = "dev",
    dag_name: str = "notebook",
    config: Config | None = None,
) -> Captured:
    """Return the lineage of a planned write, in a classic PySpark session, 3.5 or 4. Nothing is run.

    `df_or_sql` is a DataFrame, or a statement for the active session: a query, INSERT, CREATE TABLE AS SELECT
    or CREATE VIEW, which is only parsed and analyzed. `target` is where the rows will be written: a path, an
    address, or a catalog table; statements that write have their own. `name` is the job's name, by default
    the application's. With a `config`, its environment, DAG and rules apply.

    Raises `CaptureError` for streams, Spark Connect, statements that write no rows and statements that Spark
    cannot parse; `ConfigError` for an invalid environment or DAG name.
    """
    settings = config or _settings(environment, dag_name)
    session, plan = _analyzed(df_or_sql)
    found = written(session, plan)
    if found and target:
        raise CaptureError("the statement has its own target: omit target=")
    query, into = found or (plan, named_target(session, target, append) if target else None)
    if query.isStreaming():
        raise CaptureError("capture does not support streams")
    job = application(name or session.application).job
    into = into or WriteTarget(table=Reference(DATAFRAME, job), is_view=True)
    document_name = f"capture of {job}"
    reader = PlanDocument(session, document_name)
    tree = session.tree(query)
    output = session.attributes(query.output())
    document = reader.document(tree, output, _write(into), job, session.version)
    columns, repeated = numbered(str(attribute.get("name")) for attribute in output)
    # The target table has its own column names, matched by position.
    if into.columns:
        _rename(document, into.columns)
    elif repeated and "output" not in into.params.get("table", {}):
        _rename(document, columns)
        what = f"duplicate column names, numbered in the graph: {', '.join(repeated)}"
        reader.problems.append(Problem("notice", document_name, "columns", what))
    parts = {collection: tuple(found) for collection, found in documents(document).items()}
    spline = Plan("capture", parts["executionPlan"][0], parts)
    tables = reader.tables | ({_TARGET: into.table} if into.table and not into.uri else {})
    elements = [
        *reader.problems,
        *(_with_location(_referring(each, tables), document_name) for each in translate(spline)),
        *_of_target(into),
    ]
    known = dataset_resolver.from_config(settings)
    with_queries, _ = with_tables(spline, document_name)
    return Captured(job, settings, known, tuple(elements), with_queries, tables)


def _settings(environment: str, dag_name: str) -> Config:
    return ConfigReader().parse({"dag_name": dag_name, "environment": environment}, needs_source=False)


def _analyzed(df_or_sql: Any) -> tuple[JvmSession, Any]:
    """Return the session, and the analyzed plan of a DataFrame or a statement."""
    if not isinstance(df_or_sql, str):
        if type(df_or_sql).__module__.startswith("pyspark.sql.connect"):
            raise CaptureError(_NOT_CLASSIC)
        if not hasattr(df_or_sql, "_jdf"):
            raise CaptureError("capture expects a PySpark DataFrame or a statement as text")
        session = JvmSession(df_or_sql.sparkSession)
        return session, df_or_sql._jdf.queryExecution().analyzed()
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise CaptureError("no active Spark session: pass a DataFrame, or start a classic session")
    if not hasattr(spark, "_jsparkSession"):
        raise CaptureError(_NOT_CLASSIC)
    session = JvmSession(spark)
    try:
        return session, session.analyzed(df_or_sql)
    except (PySparkException, Py4JJavaError) as error:
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        raise CaptureError(f"Spark cannot analyze the statement: {text[:300]}") from None


def _write(into: WriteTarget) -> Document:
    extra = {"destinationType": into.data_format} if into.data_format else {}
    uri = into.uri or _TARGET
    return {"outputSource": uri, "append": into.append, "params": dict(into.params), "extra": extra}


def _rename(document: Document, columns: tuple[str, ...]) -> None:
    """Set the names of the written columns, as a DataSource V2 table lists its own."""
    listed = [f"{each}#{position}" for position, each in enumerate(columns)]
    params = document["operations"]["write"]["params"]
    params["table"] = {**params.get("table", {}), "output": listed}


def _referring(element: Element, tables: dict[str, Reference]) -> Element:
    """Return the element with tables in place of their placeholder addresses."""
    changed: Any = {
        field.name: tables[value.name]
        for field in fields(element)
        if isinstance(value := getattr(element, field.name), Reference)
        and not value.namespace
        and value.name in tables
    }
    return replace(element, **changed)


def numbered(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make names unique without case; also return those that were changed.

    ``a, A, b`` are ``a, A_2, b``: the graph compares column names without case.
    """
    given = tuple(names)
    taken = {each.lower() for each in given}
    seen: set[str] = set()
    found: list[str] = []
    for name in given:
        new, number = name, 1
        while new.lower() in seen or (number > 1 and new.lower() in taken):
            number += 1
            new = f"{name}_{number}"
        seen.add(new.lower())
        found.append(new)
    return tuple(found), tuple(new for new, name in zip(found, given, strict=True) if new != name)


def _with_location(element: Element, document_name: str) -> Element:
    """Return the element; problems name the capture instead of the generated document."""
    if not isinstance(element, Problem):
        return element
    return replace(element, document=re.sub(r"executionPlan/capture\b", document_name, element.document))


def _of_target(into: WriteTarget) -> Iterator[Element]:
    if into.table and into.is_view:
        short = into.table.name.rpartition(".")[2]
        yield Dataset(into.table, Authority.BUILDER, "view", {"name": short})
