"""A drawn pipeline as documents of Spline's database and a part of a dbt manifest."""

import uuid
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from benchmarks.generated import pipeline as generated
from benchmarks.generated import spline
from tests.properties.pipeline import (
    COLUMNS,
    PROJECT,
    End,
    Kind,
    Mention,
    Node,
    Pipeline,
    Place,
    Plan,
)
from tests.properties.spelling import uri
from tests.spline_documents import table_structure

Document = dict[str, Any]
MINUTE_MS = 60_000
# A transaction that Spline has not committed.
_PENDING = "999999"


def documents(pipeline: Pipeline, prefix: str) -> dict[str, list[Document]]:
    """The database by collection."""
    found: defaultdict[str, list[Document]] = defaultdict(list)
    for number, plan in enumerate(pipeline.plans):
        key = plan_key(plan)
        made = spline.plan_documents(_written(plan, prefix), number, key)
        _tell_tables(made, plan, prefix)
        if plan.by_name:
            _add_subquery(made, plan, key, prefix)
        for collection, each in made.items():
            found[collection] += each
    for number, end in enumerate(pipeline.ends):
        made = spline.run_documents(_run(end, prefix), number, plan_key(end.plan))
        if end.pending:
            made["progress"][0]["_txInfo"]["uid"] = _PENDING
        found["progress"] += made["progress"]
    found["txInfo"].append({"_key": _PENDING})
    return dict(found)


def plan_key(plan: Plan) -> str:
    """The key of its document: in whichever database the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, str(plan)))


def end_key(pipeline: Pipeline, place: int) -> str:
    """The key of an execution's document, which orders those of one moment."""
    return f"{plan_key(pipeline.ends[place].plan)}:{place:x}z"


def application_name(plan: Plan, prefix: str) -> str:
    """`spark.app.name`: on Glue with the id of the job's run."""
    job = job_name(plan, prefix)
    return f"nativespark-{job}-{glue_run(plan)}" if plan.on_glue else job


def job_name(plan: Plan, prefix: str) -> str:
    """The name under which the application runs again and again."""
    return f"{prefix}_{plan.application}"


def glue_run(plan: Plan) -> str:
    """Glue's id of the run that made the plan."""
    return f"jr_{uuid.UUID(plan_key(plan)).hex}"


def run_id(end: End, prefix: str) -> str:
    """Spark's id of the application's run."""
    return f"{prefix}-{end.plan.application}-{end.run}"


def _uri(plan: Plan, mention: Mention, prefix: str, where: object) -> str:
    return uri(prefix, mention, f"{plan_key(plan)}/{where}")


def _written(plan: Plan, prefix: str) -> generated.Plan:
    return generated.Plan(
        application=application_name(plan, prefix),
        reads=tuple(
            generated.Dataset(_uri(plan, each, prefix, place), COLUMNS)
            for place, each in enumerate(plan.reads)
        ),
        target=target_uri(plan, prefix),
        columns=plan.columns,
        filters=plan.filters,
        joins=plan.joins,
        sorts=plan.sorts,
        append=plan.append,
    )


def target_uri(plan: Plan, prefix: str) -> str:
    """The raw URI that a plan writes."""
    return _uri(plan, plan.target, prefix, "target")


def _run(end: End, prefix: str) -> generated.Run:
    return generated.Run(
        plan=_written(end.plan, prefix),
        id=run_id(end, prefix),
        at=generated.START + end.at * MINUTE_MS,
        duration_ms=end.minutes * MINUTE_MS,
        rows=end.rows,
        error="lost" if end.failed else "",
    )


def _tell_tables(made: spline.Documents, plan: Plan, prefix: str) -> None:
    """The catalog's table, where the operation knows it."""
    reads = {_uri(plan, each, prefix, place): each for place, each in enumerate(plan.reads)}
    for operation in made["operation"]:
        if operation["type"] == "Write" and plan.target.with_table:
            operation["params"]["table"] = table_structure(prefix, plan.target.place.name)
        elif operation["type"] == "Read":
            mention = reads[operation["inputSources"][0]]
            if mention.with_table:
                operation["params"]["table"] = table_structure(prefix, mention.place.name)


def _add_subquery(made: spline.Documents, plan: Plan, key: str, prefix: str) -> None:
    """A filter right below the write, whose condition is an EXISTS over each table."""
    own, write = f"operation/{key}:op-exists", f"operation/{key}:op-0"
    common = {"_belongsTo": f"executionPlan/{key}"}
    fields = {"name": "Filter", "params": {}, "extra": {}, "type": "Transformation"}
    made["operation"].append({"_key": f"{key}:op-exists", **fields, **common})
    below = next(each for each in made["follows"] if each["_from"] == write)
    schema = next(each["_to"] for each in made["emits"] if each["_from"] == below["_to"])
    edge = f"{key}:exists"
    made["follows"].append(
        {"_key": edge, "_from": own, "_to": below["_to"], "index": 0, **common},
    )
    below["_to"] = own
    made["emits"].append({"_key": edge, "_from": own, "_to": schema, **common})
    for number, place in enumerate(plan.by_name):
        text = f"Relation spark_catalog.{prefix}.{place.name}[a#1,b#2,c#3] parquet\n"
        extra = {"simpleClassName": "Exists", "_typeHint": "expr.Generic"}
        expression = f"{key}:expr-exists{number}"
        made.setdefault("expression", []).append(
            {"_key": expression, "name": "exists", "type": "Func", "extra": extra, "params": {"plan": text}}
            | common
        )
        made.setdefault("uses", []).append(
            {
                "_key": f"{edge}{number}",
                "_from": own,
                "_to": f"expression/{expression}",
                "path": "$['params']['condition']",
            }
            | common
        )


# dbt


def manifest(pipelines: Mapping[str, Pipeline]) -> Document:
    """One project of the nodes of all pipelines."""
    sections: dict[str, Document] = {"nodes": {}, "sources": {}, "exposures": {}}
    for prefix, pipeline in pipelines.items():
        for place, node in enumerate(pipeline.nodes):
            for source in node.sources:
                sections["sources"][_source_id(source, prefix)] = {
                    "name": source.name,
                    "source_name": prefix,
                    "database": "dev",
                    "schema": prefix,
                }
            section = "exposures" if node.kind == "exposure" else "nodes"
            sections[section][unique_id(pipeline, place, prefix)] = _node(pipeline, place, node, prefix)
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "dbt_version": "1.11.16",
        "generated_at": "2026-11-21T09:44:02.385452Z",
        "invocation_id": "run-1",
        "project_name": PROJECT,
    }
    return {"metadata": metadata, **sections}


def node_name(place: int, prefix: str) -> str:
    """A node's name: an exposure has no schema to distinguish it."""
    return f"{prefix}_n{place}"


def unique_id(pipeline: Pipeline, place: int, prefix: str) -> str:
    """dbt's id of a node, which is the name of its job."""
    kind = pipeline.nodes[place].kind
    resource = "model" if kind in ("table", "view", "ephemeral") else kind
    return f"{resource}.{PROJECT}.{node_name(place, prefix)}"


def _source_id(source: Place, prefix: str) -> str:
    assert source.kind == Kind.WAREHOUSE
    return f"source.{PROJECT}.{prefix}.{source.name}"


def _node(pipeline: Pipeline, place: int, node: Node, prefix: str) -> Document:
    parents = [unique_id(pipeline, each, prefix) for each in node.parents]
    parents += [_source_id(each, prefix) for each in node.sources]
    return {
        "resource_type": unique_id(pipeline, place, prefix).partition(".")[0],
        "name": node_name(place, prefix),
        "package_name": PROJECT,
        "database": "dev",
        "schema": prefix,
        "config": {"materialized": node.kind},
        "depends_on": {"nodes": parents},
    }
