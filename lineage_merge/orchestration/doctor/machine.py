"""Checks of this machine, without requests: Spark, Java, the SQL parser, AWS credentials and region."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from lineage_merge.config import Config
from lineage_merge.infra.aws import LOG_IN
from lineage_merge.infra.embedded import java
from lineage_merge.infra.storage import is_s3
from lineage_merge.model.errors import JavaMissing, SourceDenied
from lineage_merge.sources import registry
from lineage_merge.sources.diagnosis import Diagnosis, ok, report_failure, report_skipped, warning
from lineage_merge.sources.kafka_landing import broker_check

CREDENTIALS = "AWS credentials"
SPARK = "Spark"
JAVA = "Java"
SQL = "SQL parser"

_INSTALL = "install lineage-merge[local]"


def examine(config: Config) -> Iterator[Diagnosis]:
    """Check Spark and Java, which clusters provide, and sqlglot."""
    spark = _version("pyspark")
    if spark is None:
        yield warning(SPARK, "PySpark is not installed", f"{_INSTALL} (Glue and EMR provide it)")
    elif not spark.startswith(("3.5", "4.")):
        yield warning(SPARK, f"PySpark {spark} is not tested", f"{_INSTALL} (3.5 or 4)")
    else:
        yield ok(SPARK, f"PySpark {spark}")
    yield _java(needed=spark is not None)
    yield _sql(config)


def _java(*, needed: bool) -> Diagnosis:
    if not needed:
        return report_skipped(JAVA, "not needed")
    try:
        return ok(JAVA, str(java.find_java()))
    except JavaMissing as error:
        return report_failure(JAVA, error, f"{_INSTALL}, or set JAVA_HOME (Glue provides it)")


def _sql(config: Config) -> Diagnosis:
    installed = _version("sqlglot")
    if installed:
        return ok(SQL, f"sqlglot {installed}")
    missing = [
        source.without_sqlglot for source, _ in registry.list_configured(config) if source.without_sqlglot
    ]
    if not missing:
        return report_skipped(SQL, "not needed by these sources")
    message = f"sqlglot is not installed: {', '.join(missing)}"
    return warning(SQL, message, "install lineage-merge[columns]")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def examine_aws(config: Config) -> Iterator[Diagnosis]:
    """Check the credentials, if the configuration needs AWS."""
    if not needs_aws(config):
        return
    import boto3
    from botocore.exceptions import BotoCoreError

    try:
        session = boto3.Session()
        credentials = session.get_credentials()
        region = session.region_name
    except BotoCoreError as error:
        yield report_failure(
            CREDENTIALS, SourceDenied(f"no AWS credentials ({type(error).__name__})"), LOG_IN
        )
        return
    if credentials is None:
        yield report_failure(CREDENTIALS, SourceDenied("no AWS credentials found"), LOG_IN)
    else:
        yield ok(CREDENTIALS, f"from {credentials.method}, {f'region {region}' if region else 'no region'}")


def needs_aws(config: Config) -> bool:
    """Whether any part of the configuration needs AWS credentials."""
    sources = list(registry.list_configured(config))
    topics = list(broker_check.list_topics(config))
    files = [file for source in sources for file in source.source.files(source.settings)]
    files += [topic.landing for topic in topics]
    return (
        config.gremlin.iam_auth
        or config.gremlin.bulk is not None
        or any(source.source.needs_aws(source.settings) for source in sources)
        or any(topic.options_secret for topic in topics)
        or any(is_s3(file) for file in files)
    )
