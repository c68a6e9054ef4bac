"""Check of this machine: Spark, Java, and the SQL parser for column lineage."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from lineage_merge.config import EMBEDDED, Config
from lineage_merge.infra.embedded import java
from lineage_merge.model.errors import JavaMissing
from lineage_merge.orchestration.doctor.finding import Finding, failed, ok, skipped, warning

SPARK = "Spark"
JAVA = "Java"
SQL = "SQL parser"

_INSTALL = "pip install 'lineage-merge[local]'"


def examine(config: Config) -> Iterator[Finding]:
    """Check Spark and Java, which clusters provide, and sqlglot."""
    spark = _version("pyspark")
    if spark is None:
        yield warning(SPARK, "PySpark is not installed", f"{_INSTALL} (Glue and EMR provide it)")
    elif not spark.startswith(("3.5", "4.")):
        yield warning(SPARK, f"PySpark {spark} is not tested", f"{_INSTALL} (3.5 or 4)")
    else:
        yield ok(SPARK, f"PySpark {spark}")
    yield _java(needed=spark is not None or config.gremlin.endpoint == EMBEDDED)
    yield _sql(config)


def _java(*, needed: bool) -> Finding:
    if not needed:
        return skipped(JAVA, "not needed")
    try:
        return ok(JAVA, str(java.find_java()))
    except JavaMissing as error:
        return failed(JAVA, error, f"{_INSTALL}, or set JAVA_HOME (Glue provides it)")


def _sql(config: Config) -> Finding:
    found = _version("sqlglot")
    if found:
        return ok(SQL, f"sqlglot {found}")
    if not config.sources.get("dbt", ()):
        return skipped(SQL, "not needed without dbt projects")
    message = "sqlglot is not installed: no column lineage of dbt models"
    return warning(SQL, message, "pip install 'lineage-merge[columns]'")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
