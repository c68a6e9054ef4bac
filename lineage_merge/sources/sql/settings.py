"""The ``sql`` configuration section, one entry per folder of files, and the kind of document."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from lineage_merge.config.section import parse_namespace
from lineage_merge.infra.redaction import redact
from lineage_merge.infra.setting import Form, Texts, declare
from lineage_merge.model.errors import ConfigError
from lineage_merge.naming import find_fixed_namespace, namespace_form
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import NamespaceSetting

# Their tables are in Spark's catalog, unless a namespace is set.
_OF_SPARK = frozenset({"hive", "spark", "spark2", "databricks"})
SPARK_CATALOG = "spark_catalog"


@dataclass(frozen=True, slots=True)
class SqlFiles:
    """A folder (or file) of SQL: its sqlglot dialect, and the namespace of its tables.

    `project` distinguishes it from other folders of the DAG and is the first part of its job names.
    """

    path: str = declare(
        "folder (local or s3://) of .sql and .hql files, or one file", example="etl", is_path=True
    )
    dialect: str = declare(
        "hive, spark, redshift, or another sqlglot dialect",
        example="hive",
        form=Form("^[A-Za-z][A-Za-z0-9_]*$", "hive, spark, redshift or another sqlglot dialect"),
    )
    namespace: str = declare(
        "namespace of the tables, such as redshift://cluster.region:5439 or thrift://host:9083",
        "",
        "redshift://cluster.region:5439",
        "spark_catalog for Hive and Spark",
    )
    project: str = declare("name of the folder in the graph", "", "etl", "its own name")
    schema: Texts = declare(
        "files or folders with CREATE TABLE statements, which define the columns of tables",
        (),
        "ddl",
        is_path=True,
    )
    variables: Mapping[str, Annotated[str, Form(schema={"minLength": 0})]] = declare(
        "values of variables, such as ${hiveconf:env} by name: {env: prod}", {}, {"env": "prod"}
    )
    assume_insert_names: bool = declare(
        "assume that INSERT into a table of unknown columns fills columns with the names of its query's; "
        "such edges are marked as assumed",
        False,
    )

    def complete(self, key: str) -> "SqlFiles":
        """Return the settings with what follows from the dialect and the path."""
        dialect = self.dialect.lower()
        namespace = namespace_of(f"{key}.namespace", dialect, self.namespace)
        project = self.project or project_of(self.path)
        return replace(self, dialect=dialect, namespace=namespace, project=project)


def namespaces(folders: Sequence[SqlFiles]) -> list[NamespaceSetting]:
    """Return the namespaces of the folders."""
    return [
        NamespaceSetting(
            f"sql[{index}].namespace",
            files.namespace,
            "sql",
            {"path": redact(files.path), "dialect": files.dialect},
        )
        for index, files in enumerate(folders)
    ]


def check_projects(folders: Sequence[SqlFiles]) -> None:
    """Check that folders have different names. Raises `ConfigError`."""
    for index, folder in enumerate(folders):
        if folder.project in (other.project for other in folders[:index]):
            problem = f"{folder.project} is also the name of another folder: set project"
            raise ConfigError(f"sql[{index}].project", problem)


def namespace_of(key: str, dialect: str, given: str) -> str:
    """Return the namespace of a dialect's tables. Raises `ConfigError` if it is missing."""
    if given:
        return parse_namespace(given, key, dialect)
    if default := default_namespace(dialect):
        return default
    raise ConfigError(key, f"required for {dialect}, such as {namespace_form(dialect)}")


def default_namespace(dialect: str) -> str | None:
    """Return the namespace of a dialect's tables if there is only one: Spark's catalog, BigQuery."""
    return SPARK_CATALOG if dialect in _OF_SPARK else find_fixed_namespace(dialect)


def project_of(path: str) -> str:
    """Return the default name of a folder: its own name."""
    if "://" in path:
        return path.rstrip("/").rpartition("/")[2]
    try:
        folder = Path(path).expanduser().resolve()
        return (folder.parent if folder.is_file() else folder).name or "sql"
    except (OSError, ValueError, RuntimeError):  # invalid path, which is reported when it is read
        return path.rstrip("/").rpartition("/")[2] or "sql"


STATEMENTS = Kind(
    "a SQL file",
    "give its folder as sql[].path",
    pattern=re.compile(r"(?i)\A(?:\s|--[^\n]*\n)*(?:select|insert|create|with|merge|use)\s"),
)
