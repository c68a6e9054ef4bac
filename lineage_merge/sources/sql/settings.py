"""The ``sql`` configuration section, one entry per folder of files, and the kind of document."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage_merge.config.section import locations, namespace
from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import ConfigError, ErrorCollector
from lineage_merge.naming import find_fixed_namespace, namespace_form
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import NamespaceSetting

# Their tables are in Spark's catalog, unless a namespace is set.
_OF_SPARK = frozenset({"hive", "spark", "spark2", "databricks"})
SPARK_CATALOG = "spark_catalog"


@dataclass(frozen=True, slots=True)
class SqlFiles:
    """A folder (or file) of SQL: its sqlglot dialect, and the namespace of its tables.

    `project` distinguishes it from other folders of the DAG and is the first part of its job names. `schema`:
    files and folders with DDL that defines columns. `variables`: values by name. `assume_insert_names`:
    INSERT into a table of unknown columns fills those that the columns of its query are named after.
    """

    path: str
    dialect: str
    namespace: str
    project: str
    schema: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    assume_insert_names: bool = False


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


def parse(settings: Sequence[Any]) -> tuple[SqlFiles, ...]:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    errors = ErrorCollector()
    folders: list[SqlFiles] = []
    for index, entry in enumerate(settings):
        with errors.collecting():
            folders.append(_entry(f"sql[{index}]", entry))
            project = folders[-1].project
            if project in (folder.project for folder in folders[:-1]):
                raise ConfigError(
                    f"sql[{index}].project", f"{project} is also the name of another folder: set project"
                )
    errors.raise_errors()
    return tuple(folders)


def _entry(key: str, entry: Mapping[str, Any]) -> SqlFiles:
    dialect = entry["dialect"].lower()
    return SqlFiles(
        path=entry["path"],
        dialect=dialect,
        namespace=namespace_of(f"{key}.namespace", dialect, entry.get("namespace", "")),
        project=entry.get("project") or project_of(entry["path"]),
        schema=locations(entry.get("schema", ())),
        variables=entry.get("variables", {}),
        assume_insert_names=entry.get("assume_insert_names", False),
    )


def namespace_of(key: str, dialect: str, given: str) -> str:
    """Return the namespace of a dialect's tables. Raises `ConfigError` if it is missing."""
    if given:
        return namespace(key, given, dialect)
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
