"""`capture`: the lineage of a DataFrame or a statement."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config, ConfigReader
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Reference
from lineage_merge.model.errors import CaptureError
from lineage_merge.naming.jobs import application
from lineage_merge.sources.spline.translator import with_tables
from lineage_merge.spark_capture.captured import Captured
from lineage_merge.spark_capture.session import JvmSession
from lineage_merge.spark_capture.targets import DATAFRAME, WriteTarget, find_target
from lineage_merge.spark_capture.write_documents import query_document, write_document

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

    `df_or_sql` is a DataFrame, or a statement for the active session: a query, INSERT, CREATE TABLE AS
    SELECT, CREATE VIEW, MERGE, UPDATE or DELETE, which is only parsed and analyzed. `target` is where the
    rows will be written: a path, an address, or a catalog table; statements that write have their own. `name`
    is the job's name, by default the application's. With a `config`, its environment, DAG and rules apply.

    Raises `CaptureError` for streams, Spark Connect, statements that write no rows and statements that Spark
    cannot parse; `ConfigError` for an invalid environment or DAG name.
    """
    settings = config or _settings(environment, dag_name)
    session, plan = _analyze(df_or_sql)
    job = application(name or session.application).job
    document_name = f"capture of {job}"
    write = write_document(session, plan, job, document_name)
    if write and target:
        raise CaptureError("the statement has its own target: omit target=")
    if write is None:
        if session.is_command(plan):
            what = f"{plan.getClass().getSimpleName()} is neither a query nor a supported statement"
            raise CaptureError(what)
        placeholder = WriteTarget(table=Reference(DATAFRAME, job), is_view=True)
        into = find_target(session, target, append) if target else placeholder
        write = query_document(session, plan, into, job, document_name)
    spline = write.plan
    with_queries, _ = with_tables(spline, document_name)
    known = dataset_resolver.from_config(settings)
    return Captured(job, settings, known, tuple(write.elements()), with_queries, write.tables)


def _settings(environment: str, dag_name: str) -> Config:
    return ConfigReader().parse({"dag_name": dag_name, "environment": environment}, needs_source=False)


def _analyze(df_or_sql: Any) -> tuple[JvmSession, Any]:
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
        return session, session.analyze(df_or_sql)
    except (PySparkException, Py4JJavaError) as error:
        text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        raise CaptureError(f"Spark cannot analyze the statement: {text[:300]}") from None
