"""Merge of records into nodes and edges: aliases, authority, grouping."""

from collections.abc import Iterable

from lineage_merge.graph_format.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_PROPERTIES,
)
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.merge import dataset_resolver, identity_rules
from lineage_merge.merge.join import Merged, merge
from lineage_merge.merge.report_builder import report
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Dataset,
    Element,
    Feeds,
    Job,
    JobKey,
    Reference,
    Writes,
    edge_id,
)
from lineage_merge.model.records import Record

KNOWN = dataset_resolver.DatasetResolver("dev", identity_rules.Rules())
JOB = JobKey("spark", "job|one")
RAW, LAKE = Reference("", "s3://raw/a"), Reference("", "s3://lake/b")
PATH, OTHER_PATH = Reference("", "s3://lake/db/t"), Reference("", "s3://lake/db/u")
TABLE = Reference("spark_catalog", "db.t")


def rows(engine: Engine, *elements: Element) -> Rows[Record]:
    return engine.rows(KNOWN.records(elements))


def merged(engine: Engine, *elements: Element) -> Merged:
    return merge(rows(engine, *elements), "dev", "dag")


def edges(found: Merged) -> set[tuple[str, str, str]]:
    return {(row["from"], row["label"], row["to"]) for row in found.edges.collect()}


def node(found: Merged, identifier: str) -> dict[str, object]:
    return {row["id"]: row for row in found.nodes.collect()}[identifier]


def test_rows_have_declared_properties_only(engine: Engine) -> None:
    found = merged(engine, Writes(JOB, LAKE), Job(JOB, 1, {"unknown": "x"}), Feeds(JOB, RAW, LAKE))
    declared = {
        "nodes": {*NODE_KEYS, *(each.name for each in NODE_PROPERTIES)},
        "edges": {*EDGE_KEYS, *(each.name for each in EDGE_PROPERTIES)},
    }
    for name, rows_ in (("nodes", found.nodes), ("edges", found.edges)):
        assert {key for row in rows_.collect() for key in row} <= declared[name]


def test_an_edges_id_is_the_models_id(engine: Engine) -> None:
    found = merged(engine, Feeds(JOB, RAW, LAKE), Writes(JOB, LAKE), Job(JOB))
    for row in found.edges.collect():
        assert row["id"] == edge_id("dev", "dag", JOB, row["from"], row["label"], row["to"])
    assert ("dev|dag|spark|job%7Cone", "writes", "dev|s3://lake|b") in edges(found)


def test_a_table_name_resolves_to_the_path_in_the_catalog(engine: Engine) -> None:
    found = merged(
        engine,
        Alias(TABLE, PATH, "catalog-table"),
        Feeds(JOB, TABLE, LAKE),
        Dataset(TABLE, Authority.READER, properties={"description": "from the name"}),
    )

    assert edges(found) == {("dev|s3://lake|db/t", "feeds", "dev|s3://lake|b")}
    table = node(found, "dev|s3://lake|db/t")
    assert table["aliases"] == ["spark_catalog|db.t (catalog-table)"]
    assert table["description"] == "from the name"
    assert (table["name"], table["namespace"], table["label"]) == ("t", "s3://lake", "file")
    assert "dev|spark_catalog|db.t" not in {row["id"] for row in found.nodes.collect()}


def test_an_ambiguous_alias_is_not_resolved(engine: Engine) -> None:
    elements: Iterable[Element] = (
        Alias(TABLE, PATH, "catalog-table"),
        Alias(TABLE, OTHER_PATH, "catalog-table"),
        Feeds(JOB, TABLE, LAKE),
    )
    given = rows(engine, *elements)
    found = merge(given, "dev", "dag")

    assert edges(found) == {("dev|spark_catalog|db.t", "feeds", "dev|s3://lake|b")}
    [problem] = report(given, found).select_kind("not-joined")
    assert problem.document == "dev|spark_catalog|db.t"
    assert "dev|s3://lake|db/t, dev|s3://lake|db/u" in problem.message


def test_a_dataset_that_several_rules_join_counts_once(engine: Engine) -> None:
    """The path is joined with two tables of a catalog, and Spark writes what dbt reads."""
    other = Reference("hive", "db.t")
    given = rows(
        engine,
        Alias(TABLE, PATH, "catalog-table"),
        Alias(other, PATH, "glue-catalog"),
        Feeds(JOB, RAW, TABLE),
        Feeds(JobKey("dbt", "model.shop.a"), other, LAKE),
    )

    found = report(given, merge(given, "dev", "dag"))

    assert dict(found.joined) == {"catalog-table": 1, "glue-catalog": 1, "same-name": 1}
    assert found.datasets_joined == 1
    assert list(map(str, found.joined_by)) == ["1 by catalog-table and glue-catalog and same-name"]


def test_the_builder_of_a_dataset_takes_precedence_over_readers(engine: Engine) -> None:
    ref = Reference("redshift://c.us-east-1:5439", "dev.public.v")
    read = Dataset(ref, Authority.READER, "table", {"description": "from a reader"})
    built = Dataset(ref, Authority.BUILDER, "view", {"description": "from the builder"})

    for order in ((read, built), (built, read)):
        view = node(merged(engine, *order), "dev|redshift://c.us-east-1:5439|dev.public.v")
        assert (view["label"], view["description"]) == ("view", "from the builder")


def test_a_write_that_is_reported_twice_is_one_edge(engine: Engine) -> None:
    twice = [Feeds(JOB, RAW, LAKE, {"write_mode": "overwrite"})] * 2
    parts = [Feeds(JOB, Reference("", f"s3://raw/a/part-0000{n}-x.c000.csv"), LAKE) for n in range(3)]

    found = merged(engine, *twice, *parts)

    assert edges(found) == {("dev|s3://raw|a", "feeds", "dev|s3://lake|b")}
    [edge] = found.edges.collect()
    assert edge["write_mode"] == "overwrite"


def test_via_is_the_union_over_all_records(engine: Engine) -> None:
    found = merged(
        engine,
        Feeds(JOB, RAW, LAKE, sets={"via": ("b", "a")}),
        Feeds(JOB, RAW, LAKE, sets={"via": ("c", "a")}),
    )
    [edge] = found.edges.collect()
    assert edge["via"] == "a | b | c"


def test_the_newest_properties_of_a_job_count(engine: Engine) -> None:
    older = Job(JOB, 1, {"last_run_id": "z", "last_run_at": 1, "rows_written": 9})
    newer = Job(JOB, 2, {"last_run_id": "a", "last_run_at": 2})

    job = node(merged(engine, newer, older), "dev|dag|spark|job%7Cone")

    assert (job["last_run_id"], job["last_run_at"], job["name"]) == ("a", 2, "job|one")


def test_an_unresolved_reference_is_reported_without_secrets(engine: Engine) -> None:
    uri = "jdbc:postgresql://db:5432/dev?user=me&password=hunter2:(select * from t) q"
    given = rows(engine, Feeds(JOB, Reference("", uri), LAKE), Writes(JOB, LAKE))
    found = merge(given, "dev", "dag")

    assert edges(found) == {("dev|dag|spark|job%7Cone", "writes", "dev|s3://lake|b")}
    [problem] = report(given, found).select_kind("not-joined")
    assert "query" in problem.message
    assert "hunter2" not in repr(problem)


def test_a_chain_of_aliases_resolves_to_its_end(engine: Engine) -> None:
    third = Reference("awsathena://athena.eu-west-1.amazonaws.com", "catalog.db.t")
    found = merged(
        engine,
        Dataset(PATH, Authority.BUILDER, "table"),
        Alias(third, TABLE, "openlineage-symlink"),
        Alias(TABLE, PATH, "catalog-table"),
        Feeds(JOB, third, LAKE),
    )

    assert edges(found) == {("dev|s3://lake|db/t", "feeds", "dev|s3://lake|b")}
    table = node(found, "dev|s3://lake|db/t")
    assert (table["qualified_name"], table["aliases"]) == (
        "db/t",
        [
            "awsathena://athena.eu-west-1.amazonaws.com|catalog.db.t (openlineage-symlink)",
            "spark_catalog|db.t (catalog-table)",
        ],
    )
    assert {row["id"] for row in found.nodes.collect()} == {"dev|s3://lake|db/t", "dev|s3://lake|b"}


def test_two_names_that_are_aliases_of_each_other_are_one_dataset(engine: Engine) -> None:
    one, other = Reference("redshift://wh:5439", "dev.public.t"), Reference("trino://t:8080", "dev.public.t")
    found = merged(
        engine,
        Dataset(one, Authority.READER, "table"),
        Dataset(other, Authority.READER, "table"),
        Alias(one, other, "openlineage-symlink"),
        Alias(other, one, "openlineage-symlink"),
        Feeds(JOB, RAW, one),
        Feeds(JOB, other, LAKE),
    )

    canonical = "dev|redshift://wh:5439|dev.public.t"
    assert edges(found) == {
        ("dev|s3://raw|a", "feeds", canonical),
        (canonical, "feeds", "dev|s3://lake|b"),
    }
    assert node(found, canonical)["namespace"] == "redshift://wh:5439"
    assert found.aliases.candidates == {"dev|trino://t:8080|dev.public.t": [canonical]}
