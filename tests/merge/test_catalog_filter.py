"""Catalog records of datasets that other sources reference."""

from collections import Counter

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.merge import dataset_resolver, identity_rules
from lineage_merge.merge.catalog_filter import filter_referenced
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
from lineage_merge.model.records import CatalogEntry, Record, ResolvedRecord
from tests.record_reading import records_of

KNOWN = dataset_resolver.DatasetResolver("dev", identity_rules.Rules())
JOB = JobKey("spark", "one")
OUT = Reference("", "s3://out/a")


def rows_of(engine: Engine, *elements: Element) -> Rows[Record]:
    return engine.rows(KNOWN.records(elements), 2)


def catalog(engine: Engine, about: dict[str | None, list[Element]]) -> Rows[CatalogEntry]:
    entries = [CatalogEntry(name, tuple(KNOWN.records(elements))) for name, elements in about.items()]
    return engine.rows(entries, 3)


def table(name: str) -> list[Element]:
    path, called = Reference("", f"s3://lake/db/{name}"), Reference("spark_catalog", f"db.{name}")
    return [
        Dataset(path, Authority.CATALOG, "table", {"name": name}),
        Column(path, "id", Authority.CATALOG, {"position": 0}),
        Alias(called, path, "glue-catalog"),
        Problem("not-joined", name, "", "something about it"),
    ]


def test_only_records_of_referenced_entries_count_under_any_name(each_engine: Engine) -> None:
    listed = catalog(
        each_engine,
        {
            "by path": table("a"),
            "by name": table("b"),
            "unreferenced": table("c"),
            None: [Count("Glue tables", 3), Problem("not-joined", "catalog", "", "of the whole")],
        },
    )
    others = rows_of(
        each_engine,
        Feeds(JOB, Reference("", "s3://lake/db/a/day=1/part-00000.parquet"), OUT),
        Feeds(JOB, Reference("spark_catalog", "db.B"), OUT),
    )

    rows = filter_referenced(listed, others).collect()

    datasets = ["dev|s3://lake|db/a", "dev|s3://lake|db/b"]
    assert sorted(row.of for row in records_of(Alias, rows)) == datasets
    assert sorted(row.ref for row in records_of(Column, rows)) == datasets
    assert sorted(row.dataset for row in records_of(ResolvedRecord, rows)) == datasets
    assert {row.ref for row in records_of(Dataset, rows)} == {*datasets}
    assert sorted(row.document for row in records_of(Problem, rows)) == ["a", "b", "catalog"]
    assert {type(row) for row in rows} == {
        Alias,
        Column,
        Count,
        Dataset,
        Problem,
        ResolvedRecord,
    }


def test_records_of_two_databases_about_one_path_count_with_their_duplicates(
    each_engine: Engine,
) -> None:
    path = Reference("", "s3://lake/db/a")
    one, two = (
        list[Element]([Dataset(path, Authority.CATALOG, "table", {"name": name})]) for name in ("one", "two")
    )
    listed = catalog(each_engine, {"one": one, "two": two})
    used = rows_of(each_engine, Feeds(JOB, path, OUT), Feeds(JOB, path, OUT))

    found = Counter(
        row.properties["name"]
        for row in records_of(Dataset, filter_referenced(listed.union(listed), used.union(used)).collect())
        if row.authority == Authority.CATALOG
    )

    assert found == {"one": 2, "two": 2}


def test_without_references_only_records_of_the_whole_catalog_remain() -> None:
    engine = LocalEngine()
    whole = CatalogEntry(None, tuple(KNOWN.records([Count("Glue tables", 0)])))
    of_table = CatalogEntry("t", tuple(KNOWN.records(table("t"))))

    assert filter_referenced(engine.empty(), rows_of(engine, *table("t"))).collect() == []
    found = filter_referenced(engine.rows([whole, of_table]), rows_of(engine, Count("Glue tables", 1)))
    assert found.collect() == list(whole.records)
