"""A catalog's tables and what other sources speak of."""

from collections import Counter

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.merge import dataset_resolver, identity_rules
from lineage_merge.merge.catalog_filter import Described, described, of_mentioned
from lineage_merge.merge.records import Record, records, with_kind
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Column,
    Count,
    Dataset,
    Element,
    Feeds,
    JobKey,
    Problem,
    Reference,
)

KNOWN = dataset_resolver.DatasetResolver("dev", identity_rules.Rules())
JOB = JobKey("spark", "one")
OUT = Reference("", "s3://out/a")


def told(engine: Engine, *elements: Element) -> Rows[Record]:
    return engine.rows(records(elements, KNOWN), 2)


def catalog(engine: Engine, about: dict[str | None, list[Element]]) -> Rows[Described]:
    rows = [row for name, elements in about.items() for row in described(name, records(elements, KNOWN))]
    return engine.rows(rows, 3)


def table(name: str) -> list[Element]:
    path, called = Reference("", f"s3://lake/db/{name}"), Reference("spark_catalog", f"db.{name}")
    return [
        Dataset(path, Authority.CATALOG, "table", {"name": name}),
        Column(path, "id", Authority.CATALOG, {"position": 0}),
        Alias(called, path, "glue-catalog"),
        Problem("not-joined", name, "", "something about it"),
    ]


def test_only_what_is_about_a_mentioned_thing_counts_under_whichever_name(each_engine: Engine) -> None:
    listed = catalog(
        each_engine,
        {
            "by path": table("a"),
            "by name": table("b"),
            "unmentioned": table("c"),
            None: [Count("Glue tables", 3), Problem("not-joined", "catalog", "", "of the whole")],
        },
    )
    others = told(
        each_engine,
        Feeds(JOB, Reference("", "s3://lake/db/a/day=1/part-00000.parquet"), OUT),
        Feeds(JOB, Reference("spark_catalog", "db.B"), OUT),
    )

    rows = of_mentioned(listed, others).collect()

    assert {type(row) for row in rows} == {Record}
    assert sorted(
        (row.kind, row.target or row.document) for row in rows if row.kind not in ("dataset", "count")
    ) == [
        ("alias", "dev|s3://lake|db/a"),
        ("alias", "dev|s3://lake|db/b"),
        ("column", "dev|s3://lake|db/a"),
        ("column", "dev|s3://lake|db/b"),
        ("problem", "a"),
        ("problem", "b"),
        ("problem", "catalog"),
        ("resolved", "dev|s3://lake|db/a"),
        ("resolved", "dev|s3://lake|db/b"),
    ]
    assert {row.target for row in rows if row.kind == "dataset"} == {
        "dev|s3://lake|db/a",
        "dev|s3://lake|db/b",
    }


def test_what_two_databases_say_of_one_path_both_count_and_what_is_there_twice_stays_so(
    each_engine: Engine,
) -> None:
    path = Reference("", "s3://lake/db/a")
    one, two = ([Dataset(path, Authority.CATALOG, "table", {"name": name})] for name in ("one", "two"))
    listed = catalog(each_engine, {"one": one, "two": two})
    used = told(each_engine, Feeds(JOB, path, OUT), Feeds(JOB, path, OUT))

    found = Counter(
        row.properties["name"]
        for row in of_mentioned(listed.union(listed), used.union(used)).collect()
        if row.authority == Authority.CATALOG
    )

    assert found == {"one": 2, "two": 2}


def test_a_catalog_without_tables_and_records_without_datasets_say_only_what_is_of_the_whole() -> None:
    engine = LocalEngine()
    whole = list(described(None, records([Count("Glue tables", 0)], KNOWN)))
    of_table = list(described("t", records(table("t"), KNOWN)))
    # A name of no dataset is not of the whole catalog.
    unnamed = Described("u", with_kind(of_table[0].record, "name")._replace(target=None))

    assert of_mentioned(engine.empty(), told(engine, *table("t"))).collect() == []
    found = of_mentioned(engine.rows([*whole, *of_table, unnamed]), told(engine, Count("Glue tables", 1)))
    assert found.collect() == [each.record for each in whole]
