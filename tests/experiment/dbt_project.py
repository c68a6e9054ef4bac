"""The models of a dbt project in DuckDB: the sources have the columns of the catalog, and values that match.

The lineage is that of the manifest, over all models from the sources.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp

from lineage_merge.model.elements import Element, FeedsColumn, Influences
from lineage_merge.sources.dbt.reader import elements
from lineage_merge.sources.dbt.settings import DbtProject
from tests.experiment.execution import Column, Laboratory, Source, Table
from tests.experiment.product import Lineage

_NAMESPACE = "duckdb://e"
# By the first word of a type: the value in row `i`, and a changed value `c`. Keys of all tables match.
_VALUES = {
    "VARCHAR": ("'v' || (i % 12)", "c || 'z'"),
    "INTEGER": ("i % 12", "c + 1"),
    "BIGINT": ("i % 12", "c + 1"),
    "DECIMAL": ("(i % 6) / 2", "c + 3"),
    "DOUBLE": ("(i % 6) / 2", "c + 3"),
    "BOOLEAN": ("i % 2 = 0", "not c"),
    "DATE": ("date '2026-01-01' + (i * 9)::INTEGER", "c + 400"),
    "TIMESTAMP": ("timestamp '2026-01-01' + to_days((i * 9)::INTEGER)", "c + interval 400 day"),
}


class Model(NamedTuple):
    """A model: a query on the sources, and its lineage from these."""

    name: str
    query: str
    lineage: Lineage


def read_models(folder: Path) -> tuple[Laboratory, list[Model]]:
    """Return the sources of a project with data, and its models, of a folder with manifest and catalog."""
    manifest = json.loads((folder / "manifest.json").read_text())
    catalog = json.loads((folder / "catalog.json").read_text())
    named = {unique_id: node["name"] for unique_id, node in (manifest["nodes"] | manifest["sources"]).items()}
    tables = tuple(_table(named[unique_id], table) for unique_id, table in catalog["sources"].items())
    project = DbtProject(str(folder / "manifest.json"), _NAMESPACE, str(folder / "catalog.json"))
    lineage = _Paths(elements(project), {table.name for table in tables})
    models = {
        unique_id: node for unique_id, node in manifest["nodes"].items() if node["resource_type"] == "model"
    }
    found = [
        Model(node["name"], _query(unique_id, models, manifest), lineage.of(node["name"]))
        for unique_id, node in models.items()
    ]
    return Laboratory(tables, None), found


def _table(name: str, table: Mapping[str, Any]) -> Table:
    columns = {}
    for column, described in table["columns"].items():
        value, changed = _VALUES[described["type"].partition("(")[0].partition(" ")[0]]
        columns[column] = Column(described["type"], value, changed)
    return Table(name, columns)


def _query(unique_id: str, models: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """Return the SQL of a model whose parents are CTEs."""
    ctes: dict[str, str] = {}

    def add(each: str) -> None:
        for parent in models[each]["depends_on"]["nodes"]:
            if parent in models and models[parent]["name"] not in ctes:
                add(parent)
        ctes[models[each]["name"]] = _local(models[each]["compiled_code"], manifest)

    add(unique_id)
    parts = ", ".join(f"{name} as ({sql})" for name, sql in ctes.items())
    return f"with {parts} select * from {models[unique_id]['name']}"


def _local(sql: str, manifest: Mapping[str, Any]) -> str:
    """Return a model's SQL for DuckDB, with names of relations without schema."""
    tree = sqlglot.parse_one(sql, dialect=manifest["metadata"]["adapter_type"])
    for table in tree.find_all(exp.Table):
        table.set("db", None)
        table.set("catalog", None)
    return tree.sql(dialect="duckdb")


class _Paths:
    """The lineage of all models, and its paths from the sources."""

    def __init__(self, found: Iterable[Element], sources: set[str]) -> None:
        self._sources = sources
        self._parents: dict[Source, set[Source]] = defaultdict(set)
        self._influences: dict[str, set[Source]] = defaultdict(set)
        for element in found:
            if isinstance(element, FeedsColumn):
                target = _name(element.target.name), element.target_column.casefold()
                self._parents[target].add((_name(element.source.name), element.source_column.casefold()))
            elif isinstance(element, Influences):
                source = _name(element.source.name), element.source_column.casefold()
                self._influences[_name(element.target.name)].add(source)

    def of(self, model: str) -> Lineage:
        """Return the lineage of a model from the sources."""
        lineage = Lineage()
        for table, column in list(self._parents):
            if table == model:
                for source in self._origins((table, column)):
                    lineage.edges.setdefault(source, set()).add(column)
        for table in self._ancestors(model):
            for influence in self._influences[table]:
                lineage.influences |= self._origins(influence)
        return lineage

    def _origins(self, column: Source) -> set[Source]:
        if column[0] in self._sources:
            return {column}
        return {origin for parent in self._parents[column] for origin in self._origins(parent)}

    def _ancestors(self, model: str) -> set[str]:
        near = {
            table for target, parents in self._parents.items() if target[0] == model for table, _ in parents
        }
        near |= {table for table, _ in self._influences[model]}
        return {model}.union(*(self._ancestors(table) for table in near if table != model))


def _name(dataset: str) -> str:
    return dataset.rpartition(".")[2]
