"""A dbt project of a pipeline as its manifest (version 12), compiled. Pure."""

from datetime import UTC, datetime
from typing import Any

from .pipeline import Made, Model, Project, Table

Document = dict[str, Any]


def manifest(project: Project) -> Document:
    """The document that dbt would write. Ids: ``model.PROJECT.NAME``, ``source.PROJECT.SCHEMA.NAME``."""
    sources = {_source_id(project, each): _source(project, each) for each in project.sources}
    models = {_model_id(project, each): _model(project, each) for each in project.models}
    parents = {name: entry["depends_on"]["nodes"] for name, entry in models.items()}
    parents |= {name: [] for name in sources}
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, above in parents.items():
        for each in above:
            children[each].append(name)
    generated = datetime.fromtimestamp(project.generated_at / 1000, UTC)
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "dbt_version": "1.11.16",
            "generated_at": generated.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "invocation_id": f"00000000-0000-4000-8000-{project.generated_at:012}",
            "env": {},
            "project_name": project.name,
            "adapter_type": project.adapter,
            "quoting": {"database": True, "schema": True, "identifier": True, "column": None},
        },
        "nodes": models,
        "sources": sources,
        "macros": {},
        "docs": {},
        "exposures": {},
        "metrics": {},
        "groups": {},
        "selectors": {},
        "disabled": {},
        "parent_map": parents,
        "child_map": children,
        "group_map": {},
        "saved_queries": {},
        "semantic_models": {},
        "unit_tests": {},
        "functions": {},
    }


def sql(project: Project, model: Model) -> str:
    """The model's compiled SQL: its columns from what it reads, side by side."""
    shown = ",\n".join(f"    {_value(each)} as {each.name}" for each in model.columns)
    tables = [_relation(project.table(place)) for place in model.reads]
    joined = "\ncross join ".join(f"{table} r{place}" for place, table in enumerate(tables))
    grouped = [str(place) for place, each in enumerate(model.columns, 1) if each.how != "aggregation"]
    is_grouped = grouped and len(grouped) < len(model.columns)
    return f"select\n{shown}\nfrom {joined}" + (f"\ngroup by {', '.join(grouped)}" if is_grouped else "")


def _value(made: Made) -> str:
    names = [f"r{each.read}.{each.column}" for each in made.sources]
    match made.how:
        case "identity":
            return names[0]
        case "transformation":
            return f"upper({' || '.join(names)})"
        case "aggregation":
            return f"sum({' + '.join(names)})"
        case "conditional":
            tests = " and ".join(f"{name} is not null" for name in names)
            return f"case when {tests} then 1 else 0 end"


def _relation(table: Table) -> str:
    return f'"{table.database}"."{table.schema}"."{table.name}"'


def _source_id(project: Project, table: Table) -> str:
    return f"source.{project.name}.{table.schema}.{table.name}"


def _model_id(project: Project, model: Model) -> str:
    return f"model.{project.name}.{model.table.name}"


def _named(project: Project, kind: str, unique_id: str, table: Table, path: str) -> Document:
    described: Document = {"description": "", "meta": {}, "tags": [], "data_type": None, "constraints": []}
    return {
        "database": table.database,
        "schema": table.schema,
        "name": table.name,
        "resource_type": kind,
        "package_name": project.name,
        "path": path,
        "original_file_path": f"models/{path}",
        "unique_id": unique_id,
        "fqn": [project.name, table.name],
        "description": f"Made up: {table.name}.",
        "columns": {name: {"name": name, **described} for name in table.columns},
        "meta": {},
        "tags": [],
        "created_at": project.generated_at / 1000,
    }


def _source(project: Project, table: Table) -> Document:
    named = _named(project, "source", _source_id(project, table), table, "sources.yml")
    return named | {
        "source_name": table.schema,
        "source_description": "",
        "loader": "spark",
        "identifier": table.name,
        "relation_name": _relation(table),
        "config": {"enabled": True},
    }


def _model(project: Project, model: Model) -> Document:
    table = model.table
    is_there = model.materialized != "ephemeral"
    text = sql(project, model)
    above = [
        _source_id(project, project.sources[place])
        if place < len(project.sources)
        else _model_id(project, project.models[place - len(project.sources)])
        for place in model.reads
    ]
    return _named(project, "model", _model_id(project, model), table, f"{table.name}.sql") | {
        "alias": table.name,
        "checksum": {"name": "sha256", "checksum": ""},
        "config": {"enabled": True, "materialized": model.materialized, "tags": [], "meta": {}},
        "relation_name": _relation(table) if is_there else None,
        "raw_code": text,
        "compiled_code": text,
        "compiled": True,
        "language": "sql",
        "depends_on": {"macros": [], "nodes": list(dict.fromkeys(above))},
        "extra_ctes_injected": True,
        "extra_ctes": [],
        "contract": {"enforced": False, "alias_types": True, "checksum": None},
        "access": "protected",
        "constraints": [],
    }
