"""Names of datasets in events that are no names of datasets: queries, placeholders, swapped parts, quotes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Dataset, FeedsColumn, Influences
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.record_reading import counts_of, flows_of, problems_of, records_of
from tests.sources.openlineage.made_events import (
    SPARK,
    Event,
    dataset,
    event,
    job_type,
    of_spark,
    write_lines,
)

_OUT = "s3://lake|out"


def read(folder: Path, *events: Event) -> list[Record]:
    write_lines(folder / "events.jsonl", events)
    document: dict[str, Any] = {"dag_name": "d", "environment": "dev"}
    config = CONFIGURATION.parse({**document, "openlineage": {"events": str(folder)}})
    return read_openlineage(LocalEngine(), config, dataset_resolver.from_config(config)).collect()


def action(
    number: int, inputs: Iterable[str | Event] = (), outputs: Iterable[str | Event] = (), **more: Any
) -> Event:
    """The event of an action of the Spark application ``app``."""
    return event(
        "COMPLETE",
        f"06:0{number}",
        job=f"app.action_{number}",
        run=f"01a1fd70-0000-7000-8000-00000000000{number}",
        inputs=inputs,
        outputs=outputs,
        producer=SPARK,
        run_facets=of_spark("app"),
        job_facets=job_type("SPARK", "SQL_JOB"),
        **more,
    )


def columns(**sources: tuple[str, str, str]) -> dict[str, Any]:
    """The facet `columnLineage`: dataset, column and subtype of each column's source."""
    fields: dict[str, Any] = {}
    for column, (address, field, subtype) in sources.items():
        namespace, _, name = address.partition("|")
        kinds = [{"type": "DIRECT", "subtype": subtype}]
        of = {"namespace": namespace, "name": name, "field": field, "transformations": kinds}
        fields[column] = {"inputFields": [of]}
    return {"columnLineage": {"fields": fields}}


def datasets(records: Iterable[Record]) -> set[str]:
    return {record.ref.partition("|")[2] for record in records_of(Dataset, records)}


def column_edges(records: Iterable[Record]) -> set[tuple[str, str, str, str]]:
    return {
        (edge.source.split("|")[-1], edge.source_column, edge.target_column, ",".join(edge.transformations))
        for edge in records_of(FeedsColumn, records)
    }


def messages(records: Iterable[Record]) -> list[str]:
    return sorted(message for *_, message in problems_of(records))


def test_placeholders_of_queries_are_reported_and_join_no_jobs(tmp_path: Path) -> None:
    query = "bigquery|QUERY"
    lineage = columns(a=(query, "a", "IDENTITY"), b=("bigquery|p.d.known", "b", "IDENTITY"))
    records = read(
        tmp_path,
        action(1, [query, "bigquery|p.d.known"], [dataset(_OUT, lineage)]),
        action(2, ["postgres://db:5432|shop.COMPLEX"], ["s3://lake|other"]),
        action(3, ["snowflake://o-a|D.S.COMPLEX"], ["s3://lake|third"]),
        event(
            "COMPLETE", "06:04", run="4", inputs=["snowflake://o-a|D.S.COMPLEX"], outputs=["s3://lake|out"]
        ),
    )

    assert datasets(records) == {
        "bigquery|p.d.known",
        "s3://lake|other",
        "s3://lake|out",
        "s3://lake|third",
        "snowflake://o-a|D.S.COMPLEX",
    }
    assert column_edges(records) == {("p.d.known", "b", "b", "IDENTITY")}
    assert messages(records) == [
        "an input in bigquery is named QUERY, which stands for a query: its tables are unknown",
        "an input in postgres://db:5432 is named COMPLEX, which stands for a query: its tables are unknown",
        "an input in snowflake://o-a is named COMPLEX, which stands for a query: its tables are unknown",
    ]


def test_the_tables_of_a_query_are_read_in_its_place(tmp_path: Path) -> None:
    text = "select o.id, max(c.name) as who from sales.orders o join crm c using (id)"
    query = f"postgres://db:5432|shop.({text}) q"
    lineage = columns(id=(query, "id", "TRANSFORMATION"), who=(query, "who", "IDENTITY"))
    records = read(tmp_path, action(1, [query], [dataset(_OUT, lineage)]))

    assert flows_of(records) == {
        ("app", "postgres://db:5432|shop.sales.orders", "s3://lake|out"),
        ("app", "postgres://db:5432|shop.public.crm", "s3://lake|out"),
    }
    assert column_edges(records) == {
        ("shop.sales.orders", "id", "id", "TRANSFORMATION"),
        ("shop.public.crm", "name", "who", "AGGREGATION"),
    }
    assert messages(records) == []


def test_a_query_that_cannot_be_parsed_is_reported_without_its_text(tmp_path: Path) -> None:
    records = read(tmp_path, action(1, ["mysql://db:3306|shop.(select secret from where) q"], [_OUT]))

    assert datasets(records) == {"s3://lake|out"}
    assert messages(records) == [
        "an input in mysql://db:3306 is a query whose tables are unknown: cannot be parsed"
    ]


def test_swapped_namespaces_and_names_are_one_dataset(tmp_path: Path) -> None:
    records = read(
        tmp_path,
        action(1, ["trino://h:8080|lake.raw.in"], ["lake.raw.t|trino://h:8080"]),
        action(2, ["trino://h:8080|lake.raw.t"], [_OUT]),
    )

    assert flows_of(records) == {
        ("app", "trino://h:8080|lake.raw.in", "trino://h:8080|lake.raw.t"),
        ("app", "trino://h:8080|lake.raw.t", "s3://lake|out"),
    }


def test_columns_of_tables_have_no_quotes_around_them(tmp_path: Path) -> None:
    table = 'snowflake://o-a|"shop"."raw"."orders"'
    lineage = columns(a=(table, '"Id"', "IDENTITY"))
    schema = {"schema": {"fields": [{"name": '"Id"', "type": "int"}]}}
    records = read(tmp_path, action(1, [dataset(table, schema)], [dataset(_OUT, lineage)]))

    assert column_edges(records) == {("SHOP.RAW.ORDERS", "Id", "a", "IDENTITY")}
    assert records_of(Influences, records) == []


def test_a_dataset_without_a_name_costs_only_itself(tmp_path: Path) -> None:
    records = read(tmp_path, action(1, ["s3://lake|in", "mysql://db:3306|"], [_OUT]))

    assert flows_of(records) == {("app", "s3://lake|in", "s3://lake|out")}
    assert messages(records) == ["an input in mysql://db:3306 has no name"]


def test_runs_without_writes_are_counted_by_reason(tmp_path: Path) -> None:
    created = {"lifecycleStateChange": {"lifecycleStateChange": "CREATE"}}
    records = read(
        tmp_path,
        action(1, ["s3://lake|in"], [_OUT]),
        action(2, ["s3://lake|in"]),
        action(3),
        action(4, [], [dataset("s3://lake|defined", created)]),
        action(5, [], ["bigquery|QUERY"]),
        {**action(6, ["s3://lake|in"], [_OUT]), "eventType": "START"},
    )

    assert counts_of(records) == {
        "OpenLineage events": 6,
        "OpenLineage runs": 6,
        "OpenLineage runs that only define tables": 1,
        "OpenLineage runs that only read": 1,
        "OpenLineage runs with unknown datasets": 1,
        "OpenLineage runs without an end": 1,
        "OpenLineage runs without datasets": 1,
    }
