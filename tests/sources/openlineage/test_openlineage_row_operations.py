"""MERGE, UPDATE and DELETE in the form of openlineage-spark 1.53: the edges, and what is reported."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Element, Feeds, FeedsColumn, Influences, Problem
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage import row_operations, translator
from lineage_merge.sources.openlineage.row_operations import explain_unnamed_target
from lineage_merge.sources.openlineage.runs import Run, combine_events
from tests.sources.openlineage.made_events import (
    SPARK,
    Event,
    dataset,
    event,
    job_type,
    of_spark,
    write_lines,
)

ORDERS = ("order_id", "customer_id", "amount", "status")
CUSTOMERS = ("customer_id", "name")


def table(address: str, columns: Iterable[str] = (), name: str = "", catalog: str = "") -> Event:
    """A dataset with the facets that the client sends: its schema, and its name if it is used by name."""
    facets: dict[str, Any] = {}
    if columns:
        facets["schema"] = {"fields": [{"name": each} for each in columns]}
    if name:
        facets["symlinks"] = {
            "identifiers": [{"namespace": "file:/data/lake", "name": name, "type": "TABLE"}]
        }
    if catalog:
        facets["catalog"] = {"framework": "iceberg", "type": "hadoop", "name": catalog, "source": "spark"}
    return dataset(address, facets)


TARGET = table("file|/data/lake/db/t", ORDERS, "db.t", "lake")


def run_of(
    command: str,
    query: str = "",
    inputs: Iterable[Event] = (),
    outputs: Iterable[Event] = (TARGET,),
    lineage: Mapping[str, Any] | None = None,
) -> Run:
    outputs = list(outputs)
    if lineage is not None:
        outputs[0]["facets"]["columnLineage"] = lineage
    facets = {**job_type("SPARK", "SQL_JOB")} | ({"sql": {"query": query}} if query else {})
    return combine_events(
        [
            event(
                "COMPLETE",
                "06:01",
                f"app.{command}",
                inputs=inputs,
                outputs=outputs,
                run_facets=of_spark("app"),
                job_facets=facets,
                producer=SPARK,
            )
        ]
    )


def elements(run: Run) -> list[Element]:
    return [element for key in translator.targets(run) for element in translator.translate(run, key)]


def values(found: Iterable[Element]) -> set[str]:
    return {
        f"{each.target_column} < {_name(each.source.name)}#{each.source_column}"
        f" {','.join(each.transformations)}"
        for each in found
        if isinstance(each, FeedsColumn)
    }


def influences(found: Iterable[Element]) -> set[str]:
    return {
        f"{_name(each.source.name)}#{each.source_column} {','.join(each.transformations)}"
        for each in found
        if isinstance(each, Influences)
    }


def sources(found: Iterable[Element]) -> set[str]:
    return {_name(each.source.name) for each in found if isinstance(each, Feeds)}


def problems(found: Iterable[Element]) -> list[tuple[str, str, str]]:
    return [(each.kind, each.document, each.message) for each in found if isinstance(each, Problem)]


def _name(name: str) -> str:
    return name.rpartition("/")[2]


def test_only_assignments_are_edges_whatever_the_client_says_of_the_columns() -> None:
    identity = [{"type": "DIRECT", "subtype": "IDENTITY"}]
    copied = {
        "fields": {
            name: {
                "inputFields": [
                    {
                        "namespace": "file",
                        "name": "/data/lake/db/t",
                        "field": name,
                        "transformations": identity,
                    }
                ]
            }
            for name in ORDERS
        }
    }
    source = table("file|/data/lake/db/s", (*ORDERS, "_file", "_pos"), "db.s")
    found = elements(
        run_of(
            "replace_data.lake_db_t",
            "merge into lake.db.t using lake.db.s on t.order_id = s.order_id"
            " when matched and s.status <> 'x' then update set amount = s.amount + t.amount,"
            " status = t.status"
            " when not matched then insert (order_id, status) values (s.order_id, upper(s.status))"
            " when not matched by source and t.customer_id = 1 then delete",
            [source, table("file|/data/lake/db/t", (*ORDERS, "_file"), "db.t")],
            lineage=copied,
        )
    )

    assert values(found) == {
        "order_id < s#order_id IDENTITY",
        "amount < s#amount TRANSFORMATION",
        "amount < t#amount TRANSFORMATION",
        "status < s#status TRANSFORMATION",
    }
    assert influences(found) == {
        "s#order_id JOIN",
        "t#order_id JOIN",
        "s#status FILTER",
        "t#customer_id FILTER",
    }
    assert sources(found) == {"s", "t"}
    assert problems(found) == []


def test_all_columns_are_those_of_the_target_by_name() -> None:
    found = elements(
        run_of(
            "write_delta.lake_db_t",
            "merge into lake.db.t t using updates s on t.order_id = s.order_id"
            " when matched then update set * when not matched then insert *",
            [table("file|/data/in/updates.csv", (*ORDERS, "loaded_at"))],
        )
    )

    assert values(found) == {f"{name} < updates.csv#{name} IDENTITY" for name in ORDERS}
    assert sources(found) == {"updates.csv"}


def test_a_view_over_several_inputs_has_the_columns_that_one_of_them_has() -> None:
    found = elements(
        run_of(
            "replace_data.lake_db_t",
            "merge into lake.db.t t using joined s on t.order_id = s.order_id when matched then update set"
            " amount = s.amount, status = s.name, customer_id = s.customer_id",
            [table("file|/data/in/orders", ORDERS), table("file|/data/in/customers", CUSTOMERS)],
        )
    )

    assert values(found) == {"amount < orders#amount IDENTITY", "status < customers#name IDENTITY"}
    assert sources(found) == {"orders", "customers"}
    lost = "its statement reads joined, which is no input by name: unknown origin of customer_id"
    assert problems(found) == [("no-columns", "Spark job app", lost)]


def test_as_many_views_as_inputs_are_one_each_if_only_one_assignment_is_possible() -> None:
    query = (
        "merge into lake.db.t t using (select o.order_id, o.customer_id, c.name from o join c"
        " on o.customer_id = c.customer_id) s on t.order_id = s.order_id"
        " when matched then update set customer_id = s.customer_id, status = s.name"
    )
    inputs = [table("file|/data/in/orders", ORDERS), table("file|/data/in/customers", CUSTOMERS)]
    found = elements(run_of("replace_data.lake_db_t", query, inputs))
    assert values(found) == {"customer_id < orders#customer_id IDENTITY", "status < customers#name IDENTITY"}
    assert influences(found) == {
        "orders#order_id JOIN",
        "t#order_id JOIN",
        "orders#customer_id JOIN",
        "customers#customer_id JOIN",
    }

    alike = [table("file|/data/in/orders", (*ORDERS, "name")), table("file|/data/in/more", (*ORDERS, "name"))]
    uncertain = elements(run_of("replace_data.lake_db_t", query, alike))
    assert values(uncertain) == set()
    assert sources(uncertain) == {"orders", "more"}


def test_delta_has_sources_only_in_its_column_lineage() -> None:
    def field(name: str, column: str) -> dict[str, Any]:
        return {"namespace": "s3://in", "name": name, "field": column, "transformations": []}

    lineage = {
        "fields": {"order_id": {"inputFields": [field("orders", "order_id")]}},
        "dataset": [field("orders", "amount")],
    }
    found = elements(
        run_of(
            "execute_merge_into_command.lake_t",
            "merge into delta.`s3://lake/t` t using o on t.order_id = o.order_id when matched"
            " and o.status = 'x' then update set amount = o.amount * 2",
            [table("s3://lake|t", ORDERS)],
            [table("s3://lake|t", ORDERS)],
            lineage,
        )
    )

    assert values(found) == {"amount < orders#amount TRANSFORMATION"}
    assert influences(found) == {"orders#order_id JOIN", "t#order_id JOIN", "orders#status FILTER"}
    assert sources(found) == {"orders"}


def test_a_table_that_the_client_left_out_is_that_of_the_statement() -> None:
    found = elements(
        run_of(
            "replace_data.db_t",
            "update db.t set status = (select max(c.name) from db.c where c.customer_id = t.customer_id)"
            " where order_id in (select o.order_id from other.db.o)",
            [TARGET],
        )
    )

    assert {(each.source.namespace, each.source.name) for each in found if isinstance(each, Feeds)} == {
        ("lake", "db.c"),
        ("other", "db.o"),
    }
    assert values(found) == {"status < db.c#name AGGREGATION"}


@pytest.mark.parametrize(
    ("target", "namespace", "name"),
    [
        ("delta.`s3://lake/t`", "", "s3://lake/t"),
        ("delta.`/data/t`", "", "file:/data/t"),
        ("shop.t", "spark_catalog", "shop.t"),
        ("lake.shop.t", "lake", "shop.t"),
    ],
)
@pytest.mark.parametrize("operation", ["update", "delete"])
def test_without_a_dataset_in_the_event_the_statement_names_it(
    operation: str, target: str, namespace: str, name: str
) -> None:
    query = (
        f"update {target} set a = b + 1 where c" if operation == "update" else f"delete from {target} where c"
    )
    run = run_of(f"execute_{operation}_command", query, outputs=())

    [key] = translator.targets(run)
    found = list(translator.translate(run, key))

    targets = {(each.target.namespace, each.target.name) for each in found if isinstance(each, Influences)}
    assert targets == {(namespace, name)}
    assert translator.write_mode(run, key) == operation
    assert {each.split(" < ")[0] for each in values(found)} == ({"a"} if operation == "update" else set())


def test_a_table_without_a_database_is_reported_with_its_job() -> None:
    run = run_of("execute_update_command", "update t set a = 1", outputs=())

    assert translator.targets(run) == []
    assert (
        explain_unnamed_target(run)
        == "update of t: no event of the job has the table, and the name no database"
    )


@pytest.mark.parametrize("query", ["", "select order_id, amount from orders"])
def test_without_its_statement_an_operation_has_no_columns(query: str) -> None:
    identity = [{"type": "DIRECT", "subtype": "IDENTITY"}]
    field = {"namespace": "file", "name": "/data/in/o", "field": "amount", "transformations": identity}
    found = elements(
        run_of(
            "execute_merge_into_command.db_t",
            query,
            [TARGET],
            lineage={"fields": {"amount": {"inputFields": [field]}}},
        )
    )

    assert values(found) == influences(found) == set()
    [feeds] = [each for each in found if isinstance(each, Feeds)]
    assert _name(feeds.source.name) == "o"
    assert feeds.properties == {"write_mode": "merge", "column_lineage": "unavailable"}
    [(kind, document, message)] = problems(found)
    assert (kind, document) == ("no-columns", "Spark job app")
    assert "without its SQL statement" in message


def test_a_statement_that_cannot_be_parsed_is_reported_without_its_text() -> None:
    found = elements(run_of("replace_data.lake_db_t", "update lake.db.t set password = 'x' y z", [TARGET]))

    assert values(found) == set()
    [(_, _, message)] = problems(found)
    assert message.startswith("its statement cannot be parsed: ")
    assert "'x'" not in message


def test_the_counts_that_a_statement_returns_are_no_change_of_its_table() -> None:
    count = {
        "namespace": "file",
        "name": "/data/lake/db/t",
        "field": "order_id",
        "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION"}],
    }
    found = elements(
        run_of(
            "execute_insert_into_hadoop_fs_relation_command.out",
            "merge into lake.db.t using s on t.order_id = s.order_id when matched then delete",
            [TARGET],
            [table("file|/data/out", ("rows",))],
            {"fields": {"rows": {"inputFields": [count]}}},
        )
    )

    assert values(found) == {"rows < t#order_id TRANSFORMATION"}


def test_an_unknown_command_is_an_operation_if_its_output_is_the_statements_table() -> None:
    run = run_of("some_new_command.db_t", "delete from lake.db.t where amount > 1", [TARGET])

    assert influences(elements(run)) == {"t#amount FILTER"}


def test_columns_are_spelled_as_in_the_schema_whatever_the_statement_writes() -> None:
    run = run_of(
        "write_delta.t", "update LAKE.DB.T as X set AMOUNT = x.Amount + 1 where STATUS = 'x'", [TARGET]
    )

    assert values(elements(run)) == {"amount < t#amount TRANSFORMATION"}
    assert influences(elements(run)) == {"t#status FILTER"}


def test_a_branch_is_its_table() -> None:
    branch = table("file|/data/lake/db/t", ORDERS, "db.t.branch_audit", "lake")
    found = elements(
        run_of("replace_data.t", "update lake.db.t.branch_audit set amount = amount + 1", [branch], [branch])
    )

    assert values(found) == {"amount < t#amount TRANSFORMATION"}


def test_other_producers_are_read_as_they_are() -> None:
    field = {"namespace": "w", "name": "db.s", "field": "a", "transformations": []}
    facet = {"fields": {"a": {"inputFields": [field]}}}
    run = combine_events(
        [
            event(
                "COMPLETE",
                "06:01",
                "dag.merge_into_t",
                outputs=[dataset("w|db.t", {"columnLineage": facet})],
                job_facets={**job_type("AIRFLOW", "TASK"), "sql": {"query": "delete from db.t"}},
            )
        ]
    )

    assert values(elements(run)) == {"a < db.s#a "}


def test_without_the_parser_the_report_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "lineage_merge.sources.openlineage.statements", raising=False)
    row_operations._parse.cache_clear()

    found = elements(run_of("replace_data.lake_db_t", "delete from lake.db.t where amount = 7", [TARGET]))

    row_operations._parse.cache_clear()
    assert values(found) == influences(found) == set()
    [(_, _, message)] = problems(found)
    assert "install lineage-merge[columns]" in message


def merged(folder: Path, runs: Iterable[Event]) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The edges and the problems of a merge of the events."""
    write_lines(folder / "events.jsonl", runs)
    config = CONFIGURATION.parse(
        {"dag_name": "d", "environment": "dev", "openlineage": {"events": str(folder / "events.jsonl")}}
    )
    report, found = read_sources.merge(config)
    return found.collect(), list(report.problems)


def update(app: str, number: int) -> Event:
    """An UPDATE of a Delta table in the current database, as the client reports it."""
    return event(
        "COMPLETE",
        f"07:{number:02}",
        f"{app}.execute_update_command",
        f"update-{app}-{number}",
        run_facets=of_spark(app),
        job_facets={**job_type("SPARK", "SQL_JOB"), "sql": {"query": "update sales set a = a + b"}},
        producer=SPARK,
    )


def insert(app: str, path: str, name: str) -> Event:
    return event(
        "COMPLETE",
        "06:00",
        f"{app}.append_data",
        f"insert-{app}-{path}",
        outputs=[table(f"file|{path}", ("a", "b"), name)],
        inputs=[dataset("file|/data/in")],
        run_facets=of_spark(app),
        job_facets=job_type("SPARK", "SQL_JOB"),
        producer=SPARK,
    )


def test_a_name_without_a_database_is_the_table_that_the_job_names_elsewhere(tmp_path: Path) -> None:
    rows, problems = merged(tmp_path, [insert("app", "/wh/sales", "default.sales"), update("app", 1)])

    edges = {(row["from"], row["to"]) for row in rows if row.get("label") == "feeds_column"}
    sales = "dev|file|/wh/sales"
    assert edges == {(f"{sales}|a", f"{sales}|a"), (f"{sales}|b", f"{sales}|a")}
    assert [each for each in problems if each.kind == "not-joined"] == []


def test_a_name_of_two_tables_or_of_another_jobs_table_is_reported_once_per_job(tmp_path: Path) -> None:
    rows, problems = merged(
        tmp_path,
        [
            insert("two", "/wh/sales", "default.sales"),
            insert("two", "/other/sales", "other.sales"),
            update("two", 1),
            update("two", 2),
            update("none", 1),
        ],
    )

    assert [row for row in rows if row.get("label") == "feeds_column"] == []
    message = "update of sales: no event of the job has the table, and the name no database"
    assert [(each.document, each.message) for each in problems if each.kind == "not-joined"] == [
        ("Spark job none", message),
        ("Spark job two", message),
    ]


def test_secrets_of_a_statement_are_in_no_row_and_no_problem(tmp_path: Path) -> None:
    statement = (
        "update lake.db.t set status = concat(status, 'jdbc:postgresql://u:hunter2@h/d?password=hunter2')"
        " where amount = aes_encrypt(unknown, 'hunter2')"
    )
    broken = f"{statement} )) 'password=hunter2'"
    runs = [
        event(
            "COMPLETE",
            "06:00",
            f"app{number}.replace_data.t",
            f"r{number}",
            outputs=[TARGET],
            run_facets=of_spark(f"app{number}"),
            job_facets={**job_type("SPARK", "SQL_JOB"), "sql": {"query": query}},
            producer=SPARK,
        )
        for number, query in enumerate((statement, broken))
    ]

    rows, problems = merged(tmp_path, runs)

    assert [row["expression"] for row in rows if row.get("label") == "feeds_column"] == [
        "concat(status, 'jdbc:postgresql://h/d?password=*****')"
    ]
    assert "hunter2" not in f"{rows} {problems}"
