"""Lineage of SQL files as plain sets, which tests compare completely."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import Dialect

from lineage_merge.column_lineage.scripts.project import read_project
from lineage_merge.column_lineage.scripts.syntax import parse
from lineage_merge.config import Config, Merge
from lineage_merge.merge.dataset_resolver import DatasetResolver, from_config
from lineage_merge.model.elements import (
    Alias,
    Column,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    Problem,
    Reference,
    Writes,
    dot_path,
)
from lineage_merge.sources.sql.reader import reader_of
from lineage_merge.sources.sql.settings import SqlFiles
from lineage_merge.sources.sql.translator import translate

REDSHIFT = "redshift://wh.us-east-1:5439"


@dataclass(frozen=True)
class SqlLineage:
    """Edges by names; `columns` as ``t#a > u#b IDENTITY``, `influences` as ``t#a > u FILTER``."""

    elements: tuple[Element, ...]

    @property
    def feeds(self) -> set[tuple[str, str]]:
        return {(_name(e.source), _name(e.target)) for e in self.elements if isinstance(e, Feeds)}

    @property
    def columns(self) -> set[str]:
        return {
            f"{_name(e.source)}#{dot_path(e.source_column)} > {_name(e.target)}#{dot_path(e.target_column)}"
            f" {','.join(e.transformations)}"
            for e in self.elements
            if isinstance(e, FeedsColumn)
        }

    @property
    def assumed(self) -> set[str]:
        """Column edges of which the target column is assumed, as ``t#a > u#b``."""
        return {
            f"{_name(e.source)}#{dot_path(e.source_column)} > {_name(e.target)}#{dot_path(e.target_column)}"
            for e in self.elements
            if isinstance(e, FeedsColumn) and e.assumed
        }

    @property
    def influences(self) -> set[str]:
        return {
            f"{_name(e.source)}#{dot_path(e.source_column)} > {_name(e.target)} {','.join(e.transformations)}"
            for e in self.elements
            if isinstance(e, Influences)
        }

    @property
    def writes(self) -> set[tuple[str, str]]:
        return {(e.job.name, _name(e.target)) for e in self.elements if isinstance(e, Writes)}

    @property
    def problems(self) -> set[tuple[str, str, str]]:
        return {
            (e.kind, f"{e.document}:{e.field}", e.message) for e in self.elements if isinstance(e, Problem)
        }

    @property
    def aliases(self) -> set[tuple[str, str]]:
        return {(_name(e.ref), _name(e.of)) for e in self.elements if isinstance(e, Alias)}

    @property
    def described(self) -> dict[str, list[tuple[str, str]]]:
        """The columns with a position, in order, each with its type."""
        found: dict[str, list[tuple[int, str, str]]] = {}
        for e in self.elements:
            if isinstance(e, Column) and "position" in e.properties:
                at, kind = int(e.properties["position"]), str(e.properties.get("data_type", ""))
                found.setdefault(_name(e.ref), []).append((at, e.name, kind))
        return {name: [(c, k) for _, c, k in sorted(columns)] for name, columns in found.items()}


def names(defaults: Mapping[str, str] | None = None) -> DatasetResolver:
    return from_config(Config("d", "dev", merge=Merge(default_schemas=defaults or {})))


def lineage_of(
    files: Mapping[str, str] | str,
    dialect: str = "hive",
    *,
    schema: str = "",
    variables: Mapping[str, str] | None = None,
    default: str = "",
    assume_insert_names: bool = False,
) -> SqlLineage:
    """What files do; one file is ``f.sql``."""
    texts = {"f.sql": files} if isinstance(files, str) else files
    namespace = REDSHIFT if dialect == "redshift" else "spark_catalog"
    folder = SqlFiles(
        "etl",
        dialect,
        namespace,
        "etl",
        variables=variables or {},
        assume_insert_names=assume_insert_names,
    )
    sql = Dialect.get_or_raise(dialect)
    scripts = [parse(name, text, sql, folder.variables) for name, text in texts.items()]
    known = names({namespace: default} if default else {})
    described = [parse("ddl.sql", schema, sql, {})] if schema else []
    found = read_project(scripts, reader_of(folder, known), schema=described)
    return SqlLineage(tuple(translate(found, "etl", dialect, "etl")))


def _name(reference: Reference) -> str:
    return reference.name
