"""Small dbt projects for tests of column lineage, built as dbt writes them and read back."""

import json
from typing import Any

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.model.elements import dot_path
from lineage_merge.sources.dbt.catalog import CatalogColumn
from lineage_merge.sources.dbt.columns import ColumnLineage, column_lineage
from lineage_merge.sources.dbt.manifest import read_manifest

Lineage = dict[str, ColumnLineage]


class Project:
    """Sources `raw.NAME` with declared columns, models `mart.NAME` with compiled SQL."""

    def __init__(self, adapter: str = "duckdb") -> None:
        self.metadata: dict[str, Any] = {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "generated_at": "2026-01-01T00:00:00Z",
            "project_name": "p",
            "adapter_type": adapter,
        }
        self.nodes: dict[str, Any] = {}
        self.sources: dict[str, Any] = {}
        self.catalog: dict[str, tuple[CatalogColumn, ...]] = {}

    def source(self, name: str, columns: str = "", *, complete: bool = True, **more: Any) -> "Project":
        """`columns` are in the catalog where `complete`, else only declared in YAML."""
        unique_id = f"source.p.raw.{name}"
        self.sources[unique_id] = {
            "unique_id": unique_id,
            "resource_type": "source",
            "name": name,
            "database": "db",
            "schema": "raw",
            "identifier": name,
            "relation_name": f"db.raw.{name}",
            "columns": {} if complete else {column: {"name": column} for column in columns.split()},
            **more,
        }
        if complete and columns:
            self.catalog[unique_id] = tuple(CatalogColumn(column, "", "") for column in columns.split())
        return self

    def model(self, name: str, sql: str | None, *parents: str, kind: str = "model", **more: Any) -> "Project":
        """`parents` are unique ids without the package: `model.x`."""
        unique_id = f"{kind}.p.{name}"
        self.nodes[unique_id] = {
            "unique_id": unique_id,
            "resource_type": kind,
            "name": name,
            "database": "db",
            "schema": "mart",
            "alias": name,
            "relation_name": f"db.mart.{name}",
            "language": "sql",
            "compiled_code": sql,
            "config": {"materialized": "table"},
            "depends_on": {"nodes": [parent.replace(".", ".p.", 1) for parent in parents]},
            **more,
        }
        return self

    def read(self) -> Lineage:
        """What the package makes of it; a model without columns has an empty lineage."""
        document = {"metadata": self.metadata, "nodes": self.nodes, "sources": self.sources}
        manifest, rejected = read_manifest("manifest.json", json.dumps(document), with_columns=True)
        assert rejected == []
        return dict.fromkeys(self.nodes, ColumnLineage()) | column_lineage(manifest, self.catalog)


def edges(lineage: Lineage, target: str = "m") -> set[str]:
    """`t.a -> x IDENTITY` for each column that a model is made of."""
    return {
        f"{flow.source.split('.')[-1]}.{dot_path(flow.column)} -> {dot_path(flow.target_column)}"
        f" {kinds(flow.transformations)}"
        for flow in lineage[f"model.p.{target}"].flows
    }


def influences(lineage: Lineage, target: str = "m") -> set[str]:
    """`t.a FILTER` for each column that decides the rows of a model."""
    return {
        f"{influence.source.split('.')[-1]}.{dot_path(influence.column)} {','.join(influence.kinds)}"
        for influence in lineage[f"model.p.{target}"].influences
    }


def problems(lineage: Lineage) -> list[tuple[str, str]]:
    """Return the problems per entry."""
    return [(unique_id, each) for unique_id, found in lineage.items() for each in found.problems]


def kinds(transformations: tuple[Transformation, ...]) -> str:
    """`IDENTITY,AGGREGATION`."""
    return ",".join(each.name for each in transformations)
