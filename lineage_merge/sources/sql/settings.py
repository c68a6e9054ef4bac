"""``sql`` in the configuration: one entry a folder of files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.settings import locations, namespace

# Tables of these are called as Spark calls them, unless a namespace says where their catalog is.
_OF_SPARK = frozenset({"hive", "spark", "spark2", "databricks"})
SPARK_CATALOG = "spark_catalog"


@dataclass(frozen=True, slots=True)
class SqlFiles:
    """A folder (or file) of SQL: its dialect as sqlglot calls it, and the namespace of its tables.

    `project` tells it from others of the DAG and comes first in the names of its jobs. `schema`: files
    and folders whose DDL tells columns. `variables`: values by name.
    """

    path: str
    dialect: str
    namespace: str
    project: str
    schema: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def parse(settings: Sequence[Any]) -> tuple[SqlFiles, ...]:
    """What the schema has passed. Raises `ConfigError`."""
    found = tuple(_entry(f"sql[{index}]", entry) for index, entry in enumerate(settings))
    projects = [each.project for each in found]
    for index, project in enumerate(projects):
        if project in projects[:index]:
            raise ConfigError(f"sql[{index}].project", f"{project} stands for another folder: give one")
    return found


def _entry(key: str, entry: Mapping[str, Any]) -> SqlFiles:
    dialect = entry["dialect"].lower()
    return SqlFiles(
        path=entry["path"],
        dialect=dialect,
        namespace=namespace_of(f"{key}.namespace", dialect, entry.get("namespace", "")),
        project=entry.get("project") or project_of(entry["path"]),
        schema=locations(entry.get("schema", ())),
        variables=entry.get("variables", {}),
    )


def namespace_of(key: str, dialect: str, given: str) -> str:
    """The namespace of a dialect's tables. Raises `ConfigError` where it must be given."""
    if given:
        return namespace(key, given)
    if dialect in _OF_SPARK:
        return SPARK_CATALOG
    raise ConfigError(key, f"where are the tables of {dialect}? Such as redshift://cluster.region:5439")


def project_of(path: str) -> str:
    """What a folder is called where nobody says it: its own name."""
    if "://" in path:
        return path.rstrip("/").rpartition("/")[2]
    try:
        folder = Path(path).expanduser().resolve()
        return (folder.parent if folder.is_file() else folder).name or "sql"
    except (OSError, ValueError, RuntimeError):  # no folder has such a name, which is told where it is read
        return path.rstrip("/").rpartition("/")[2] or "sql"
