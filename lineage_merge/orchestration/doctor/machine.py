"""What a run on this machine needs: Spark, Java, and a parser of SQL for columns."""

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
    """Spark and Java, of which a cluster brings its own, and sqlglot."""
    spark = _version("pyspark")
    if spark is None:
        yield warning(SPARK, "PySpark is not installed", f"{_INSTALL}; a Glue or EMR job brings its own")
    elif not spark.startswith(("3.5", "4.")):
        yield warning(SPARK, f"PySpark {spark} was never tried", f"{_INSTALL} (3.5 or 4)")
    else:
        yield ok(SPARK, f"PySpark {spark}")
    yield _java(needed=spark is not None or config.gremlin.endpoint == EMBEDDED)
    yield _sql(config)


def _java(*, needed: bool) -> Finding:
    if not needed:
        return skipped(JAVA, "nothing here would use it")
    try:
        return ok(JAVA, str(java.find_java()))
    except JavaMissing as error:
        return failed(JAVA, error, f"{_INSTALL}, or set JAVA_HOME; a Glue job brings its own")


def _sql(config: Config) -> Finding:
    found = _version("sqlglot")
    if found:
        return ok(SQL, f"sqlglot {found}")
    if not config.dbt:
        return skipped(SQL, "no dbt project whose columns it would read")
    told = "sqlglot is not installed: columns of dbt models are left out"
    return warning(SQL, told, "pip install 'lineage-merge[columns]'")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
