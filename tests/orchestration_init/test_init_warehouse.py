"""Choice of the namespace of dbt's tables by the tables on Spark's side."""

import pytest

from lineage_merge.model.elements import Reference
from lineage_merge.orchestration.init.findings import JobFindings
from lineage_merge.orchestration.init.warehouse import choose, default_schema
from lineage_merge.sources.discovery import ProjectFindings

SALES, FINANCE = "redshift://sales.us-east-1:5439", "redshift://finance.us-east-1:5439"
TEMPORARY = "s3://glue/temporary/redshift/{}/0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"


def manifest(*sources: str, adapter: str = "redshift", built: tuple[str, ...] = ()) -> ProjectFindings:
    schemas = tuple(dict.fromkeys(name.rpartition(".")[0] for name in (*sources, *built)))
    return ProjectFindings(
        "dbt",
        "manifest.json",
        "shop",
        adapter,
        sources=frozenset(sources),
        built=frozenset(built),
        schemas=schemas,
    )


def jobs(*references: str | tuple[str, str]) -> JobFindings:
    return JobFindings(
        references=frozenset(
            Reference("", each) if isinstance(each, str) else Reference(*each) for each in references
        )
    )


def jdbc(namespace: str, table: str, database: str = "dev") -> str:
    scheme, _, rest = namespace.partition("://")
    host, _, port = rest.partition(":")
    cluster, _, region = host.partition(".")
    suffix = f".abc.{region}.redshift.amazonaws.com" if scheme == "redshift" else f".{region}"
    return f"jdbc:{scheme}://{cluster}{suffix}:{port}/{database}:{table}"


def test_of_two_warehouses_the_one_with_the_manifests_tables_is_chosen() -> None:
    found = jobs(
        jdbc(SALES, "public.orders"), jdbc(SALES, "public.customers"), jdbc(FINANCE, "public.invoices")
    )

    sales = choose(manifest("dev.public.orders", "dev.public.refunds"), found)
    finance = choose(manifest("dev.public.invoices"), found)

    assert (sales.namespace, sales.matched, sales.is_known) == (SALES, frozenset({"dev.public.orders"}), True)
    assert (finance.namespace, finance.is_known) == (FINANCE, True)


def test_more_tables_are_more_evidence() -> None:
    found = jobs(jdbc(SALES, "public.orders"), jdbc(SALES, "public.items"), jdbc(FINANCE, "public.orders"))

    assert choose(manifest("dev.public.orders", "dev.public.items"), found).namespace == SALES


def test_a_source_counts_more_than_models() -> None:
    found = jobs(jdbc(SALES, "marts.a"), jdbc(SALES, "marts.b"), jdbc(FINANCE, "public.orders"))
    built = ("dev.marts.a", "dev.marts.b")

    assert choose(manifest("dev.public.orders", built=built), found).namespace == FINANCE


def test_equal_evidence_is_a_guess_with_alternatives() -> None:
    found = jobs(jdbc(SALES, "public.orders"), jdbc(FINANCE, "public.orders"))

    choice = choose(manifest("dev.public.orders"), found)

    assert ({choice.namespace, *choice.alternatives}, choice.is_known) == ({SALES, FINANCE}, False)


def test_another_database_of_the_same_cluster_does_not_match() -> None:
    found = jobs(jdbc(SALES, "public.orders", database="test"), jdbc(FINANCE, "public.orders"))

    assert choose(manifest("dev.public.orders"), found).namespace == FINANCE


def test_a_table_of_another_platform_is_not_evidence() -> None:
    found = jobs("jdbc:postgresql://orders.internal:5432/dev:public.orders")

    choice = choose(manifest("dev.public.orders"), found)

    assert (choice.namespace, choice.is_known) == ("redshift://cluster.region:5439", False)


def test_the_only_namespace_of_the_platform_is_the_guess() -> None:
    choice = choose(manifest("dev.public.orders"), jobs(jdbc(SALES, "public.other")))

    assert (choice.namespace, choice.matched, choice.is_known, choice.is_of_jobs) == (
        SALES,
        frozenset(),
        False,
        True,
    )


@pytest.mark.parametrize(
    ("adapter", "uri", "source", "namespace"),
    [
        (
            "postgres",
            "jdbc:postgresql://db.internal/dev:public.orders",
            "dev.public.orders",
            "postgres://db.internal:5432",
        ),
        (
            "snowflake",
            "jdbc:snowflake://org-acc.snowflakecomputing.com/?db=dev&schema=public:orders",
            "DEV.PUBLIC.ORDERS",
            "snowflake://org-acc",
        ),
        ("bigquery", "bigquery://shop:raw.orders", "shop.raw.orders", "bigquery"),
        ("mysql", "jdbc:mysql://db.internal:3306/shop:orders", "shop.orders", "mysql://db.internal:3306"),
    ],
)
def test_platforms(adapter: str, uri: str, source: str, namespace: str) -> None:
    choice = choose(manifest(source, adapter=adapter), jobs(uri))

    assert (choice.namespace, choice.matched, choice.is_known) == (namespace, frozenset({source}), True)


def test_dbt_on_spark_joins_the_tables_of_its_catalog() -> None:
    choice = choose(manifest("raw.orders", adapter="spark"), jobs(("spark_catalog", "raw.orders")))

    assert (choice.namespace, choice.matched) == ("spark_catalog", frozenset({"raw.orders"}))


def test_no_default_schema_is_proposed_without_a_gain() -> None:
    assert default_schema(SALES, [manifest("dev.public.orders")], jobs(jdbc(SALES, "public.orders"))) is None


def test_the_default_schema_completes_tables_of_temporary_directories() -> None:
    found = jobs(jdbc(SALES, "public.orders"), TEMPORARY.format("public.items"), TEMPORARY.format("refunds"))
    known = manifest(
        "dev.public.orders", "dev.public.items", "dev.public.refunds", built=("dev.marts.items",)
    )

    default = default_schema(SALES, [known], found)

    assert default is not None
    assert default.schema == "dev.public"
    assert default.completed == {"dev.public.items", "dev.public.refunds"}


def test_a_redshift_known_only_by_temporary_directories_is_matched_with_any_address() -> None:
    found = jobs(TEMPORARY.format("public.orders"))
    known = manifest("dev.public.orders")

    choice = choose(known, found)
    default = default_schema(choice.namespace, [known], found)

    assert not choice.is_known
    assert default is not None
    assert default.completed == {"dev.public.orders"}
