"""Pairs of near misses: which names are similar, what is evidence, and what a pipeline explains."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
import yaml

from lineage_merge import naming
from lineage_merge.config import Expect, split_dataset
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.redaction import MASK
from lineage_merge.load.merge_run import report_text
from lineage_merge.merge.alias_resolution import Aliases
from lineage_merge.merge.dataset_uses import Flows
from lineage_merge.merge.expectations import fail_if_unmet, unmet
from lineage_merge.merge.identity_rules import Rules
from lineage_merge.merge.join import Merged
from lineage_merge.merge.near_misses import collection
from lineage_merge.merge.near_misses.collection import find_near_misses
from lineage_merge.merge.near_misses.fixes import Settings, fixes
from lineage_merge.merge.near_misses.names import compare, parts_of
from lineage_merge.merge.near_misses.pairs import (
    MAX_COMPARISONS,
    THRESHOLD,
    OpenDataset,
    Pair,
    candidates,
    pairs,
)
from lineage_merge.merge.report import JoinedBy, NearMiss, Report
from lineage_merge.merge.report_builder import complete_report, with_near_misses
from lineage_merge.model.elements import DatasetName, Problem, Reference, dataset_id
from lineage_merge.model.errors import TooFewJoined
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.settings import NamespaceSetting
from tests.made_merges import Made

EAST, WEST = "redshift://wh.us-east-1:5439", "redshift://wh.us-west-2:5439"
SETTINGS = {"environment": "dev", "dag_name": "daily"}
CONFIG = CONFIGURATION.parse(SETTINGS, needs_source=False)
COLUMNS = ("id", "customer", "total", "placed_at")


def points(read: str, written: str) -> float:
    """Points of name and place; 0: not similar."""
    found = compare(parts_of(f"dev|{read}"), parts_of(f"dev|{written}"))
    return found.points if found else 0


def found(
    reads: Iterable[str],
    writes: Iterable[str],
    flows: Iterable[tuple[str, str]] = (),
    columns: Mapping[str, Iterable[str]] | None = None,
) -> set[tuple[str, str]]:
    """(read, written) of the near misses of datasets, each without the environment."""
    known = set(flows)
    chosen = pairs(
        candidates(
            [OpenDataset(f"dev|{each}") for each in reads], [OpenDataset(f"dev|{each}") for each in writes]
        ),
        {f"dev|{name}": frozenset(each) for name, each in (columns or {}).items()},
        lambda start, end: (start[4:], end[4:]) in known,
    )
    return {(each.read.id[4:], each.written.id[4:]) for each in chosen}


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (f"{EAST}|dev.public.orders", f"{WEST}|dev.public.orders"),
        (f"{EAST}|dev.public.orders", "redshift://wh.us-east-1:5440|dev.public.orders"),
        ("snowflake://acme-prod|DEV.RAW.ORDER", "snowflake://acme-prod|DEV.RAW.ORDERS"),
        (
            "arn:aws:glue:us-east-1:111122223333|table/db/t1x",
            "arn:aws:glue:us-east-1:444455556666|table/db/t1x",
        ),
        ("s3://acme-lake|shop/orders", "s3://acme.lake|shop/orders"),
        ("s3://lake|shop/Orders", "s3://lake|shop/orders"),
        ("s3://lake|shop/order-items", "s3://lake|shop/order_items"),
        ("s3://lake|shop/orders/data", "s3://lake|shop/orders"),
        ("s3://lake|shop/orders.csv", "s3://lake|shop/orders.parquet"),
        ("postgres://h:5432|orders", "postgres://h:5432|shop.public.orders"),
        (f"{EAST}|dev.public.orders", "s3://assets|redshift/public.orders"),
    ],
)
def test_spellings_of_one_name_are_enough(read: str, written: str) -> None:
    assert points(read, written) >= THRESHOLD


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (f"{EAST}|dev.raw.orders", f"{EAST}|dev.public.orders"),
        (f"{EAST}|prod.public.orders", f"{EAST}|dev.public.orders"),
        ("s3://raw|orders", "s3://lake|orders"),
        ("s3://lake|old_shop/orders", "s3://lake|shop/orders"),
        ("s3://lake|orders", "s3://lake|orders_clean"),
        ("s3://lake|shop/orders", f"{EAST}|dev.shop.orders"),
        ("bigquery|one.shop.orders", "snowflake://acme-prod|TWO.SHOP.ORDERS"),
    ],
)
def test_a_name_in_another_place_needs_columns(read: str, written: str) -> None:
    assert 0 < points(read, written) < THRESHOLD
    assert found([read], [written]) == set()
    same = {read: COLUMNS, written: COLUMNS}
    assert found([read], [written], columns=same) == {(read, written)}
    other = {read: COLUMNS, written: ("day", "shop", "stock", "id")}
    assert found([read], [written], columns=other) == set()


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("s3://a|data", "s3://b|data"),
        ("s3://lake|shop/tmp", "s3://lakes|shop/output"),
        ("s3://lake|2026-01-01", "s3://lakes|2026-01-01"),
        ("s3://lake|sales_2025", "s3://lake|sales_2026"),
        ("s3://lake|v1/sales_a", "s3://lake|v1/sales_b"),
        ("s3://shard-1|shop/orders", "s3://shard-2|shop/orders"),
        (f"{EAST}|dev.tenant_1.orders", f"{EAST}|dev.tenant_2.orders"),
        (f"{EAST}|dev.public.orders", f"{EAST}|dev.public.customers"),
        ("kafka://broker:9092|shop.orders.v1", "kafka://broker:9092|shop.users.v1"),
    ],
)
def test_generic_names_numbers_and_variants_are_no_evidence(read: str, written: str) -> None:
    same = {read: COLUMNS, written: COLUMNS}
    assert found([read], [written], columns=same) == set()


def test_environments_are_never_compared() -> None:
    assert candidates([OpenDataset(f"dev|{EAST}|a.b.orders")], [OpenDataset(f"prod|{WEST}|a.b.orders")]) == []


def test_dissimilar_columns_outweigh_a_similar_name() -> None:
    read, written = f"{EAST}|dev.public.orders", f"{WEST}|dev.public.orders"
    assert found([read], [written]) == {(read, written)}
    different = {read: COLUMNS, written: ("day", "shop", "stock", "price")}
    assert found([read], [written], columns=different) == set()


def test_several_tables_that_differ_in_the_same_manner_are_evidence() -> None:
    here, there = "redshift://finance.us-east-1:5439", EAST
    names = ["dev.public.orders", "dev.public.customers", "dev.public.stock"]
    assert found([f"{here}|{names[0]}"], [f"{there}|{names[0]}"]) == set()
    expected = {(f"{here}|{name}", f"{there}|{name}") for name in names}
    assert found([f"{here}|{name}" for name in names], [f"{there}|{name}" for name in names]) == expected


def test_a_copy_retains_its_name() -> None:
    read, written = "s3://acme-raw|shop/orders", "s3://acme-raw-eu-west-1|shop/orders"
    same = {read: COLUMNS, written: COLUMNS}
    assert found([read], [written], columns=same) == {(read, written)}
    assert found([read], [written], [(read, written)], same) == set()


def test_parallel_chains_are_not_joined() -> None:
    raw = {each: f"s3://raw-{each}|shop/orders" for each in ("eu", "us")}
    lake = {each: f"s3://lake-{each}|shop/orders" for each in ("eu", "us")}
    flows = [(raw[each], lake[each]) for each in raw]
    columns = dict.fromkeys((*raw.values(), *lake.values()), COLUMNS)
    assert found(raw.values(), lake.values(), flows, columns) == set()


def test_a_misspelled_bucket_in_a_chain_is_found() -> None:
    raw, staging, misspelled, mart = (
        f"s3://{each}|orders" for each in ("acme-raw", "acme-staging", "acme-stagin", "acme-mart")
    )
    columns = dict.fromkeys((raw, staging, misspelled, mart), COLUMNS)
    flows = [(raw, staging), (misspelled, mart)]
    assert found([raw, misspelled], [staging, mart], flows, columns) == {(misspelled, staging)}


def test_two_equal_counterparts_are_ambiguous() -> None:
    written = [f"redshift://wh.eu-{each}:5439|dev.public.orders" for each in ("west-1", "north-1")]
    assert found([f"{EAST}|dev.public.orders"], written) == set()


def test_a_dbt_project_knows_its_own_tables() -> None:
    read, written = f"dev|{EAST}|dev.raw.order", f"dev|{EAST}|dev.raw.orders"
    own = frozenset({"dbt:shop"})
    assert candidates([OpenDataset(read, own)], [OpenDataset(written, own)]) == []
    other = frozenset({"dbt:finance"})
    assert len(candidates([OpenDataset(read, own)], [OpenDataset(written, other)])) == 1


@pytest.mark.parametrize(
    ("reads", "writes", "number"),
    [
        ("{east}|dev.s{n}.sales", "{west}|dev.s{n}.sales", 2000),
        ("s3://bucket-x{n}|sales", "s3://bucket-y{n}|sales", 0),
        ("s3://b|all/sales_{n}", "s3://b|all/sales_{n}_copy", 0),
        ("{east}|dev.public.table_{n}", "{west}|dev.public.table_{n}", 2000),
    ],
)
def test_many_datasets_of_one_name_are_bounded(
    reads: str, writes: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []

    def counted(read: Any, written: Any) -> Any:
        compared.append((read.id, written.id))
        return compare(read, written)

    monkeypatch.setattr(
        "lineage_merge.merge.near_misses.pairs.compare",
        counted,
    )
    sides = [
        [OpenDataset("dev|" + text.format(n=n, east=EAST, west=WEST)) for n in range(2000)]
        for text in (reads, writes)
    ]

    assert len(candidates(*sides)) == number
    # Groups of names are compared, never all datasets with all: 4,000,000 pairs.
    assert len(compared) <= 4 * 2000 * MAX_COMPARISONS**0.5


def pair(read: str, written: str) -> Pair:
    return Pair(parts_of(f"dev|{read}"), parts_of(f"dev|{written}"), 90, (), is_whole=True)


def fix_of(settings: Settings, *given: Pair) -> list[tuple[str, Any]]:
    """The key and the parsed YAML of each pair's fix."""
    chosen = fixes(given, settings)
    return [
        (
            chosen[each.read.id, each.written.id].key,
            yaml.safe_load(chosen[each.read.id, each.written.id].yaml or "{}"),
        )
        for each in given
    ]


DBT = NamespaceSetting("dbt[0].namespace", WEST, "dbt", {"manifest": "target/manifest.json"})


def test_a_wrong_namespace_is_one_fix_for_all_tables() -> None:
    given = [pair(f"{WEST}|dev.public.t{each}x", f"{EAST}|dev.public.t{each}x") for each in range(5)]
    expected = {"dbt": [{"manifest": "target/manifest.json", "namespace": EAST}]}
    assert fix_of(Settings((DBT,)), *given) == [("dbt[0].namespace", expected)] * 5


def test_a_namespace_that_joins_other_tables_is_not_replaced() -> None:
    given = pair(f"{WEST}|dev.public.orders", f"{EAST}|dev.public.orders")
    by_jdbc = frozenset({given.written.id})
    ((key, value),) = fix_of(Settings((DBT,), confirmed=frozenset({WEST}), by_jdbc=by_jdbc), given)
    assert key == "merge.rules"
    assert value["merge"]["rules"][0]["dataset"] == f"{WEST}|dev.public.orders"


def test_datasets_that_differ_in_the_same_manner_have_one_rule() -> None:
    given = [pair(f"s3://lakes|shop/{name}", f"s3://lake|shop/{name}") for name in ("orders", "stock.v2")]
    ((key, value), other) = fix_of(Settings(), *given)
    assert (key, value) == other
    (rule,) = value["merge"]["rules"]
    assert rule["match"] == r"^s3[an]?://lakes/+shop/(?P<name>orders|stock\.v2)(?:/|$)"
    assert rule["dataset"] == "s3://lake|shop/{name}"


@pytest.mark.parametrize(
    "uri",
    [
        "jdbc:redshift://wh.abc123xyz789.us-east-1.redshift.amazonaws.com:5439/dev:public.event",
        "jdbc:redshift:iam://wh:us-east-1/dev:event",
        "jdbc:postgresql://db.shop:5432/dev?user=x:public.event",
        'jdbc:postgresql://db.shop/dev:"public"."event"',
        "jdbc:mysql://10.0.0.1:3306/dev:event",
        "jdbc:snowflake://acme-prod.snowflakecomputing.com/?db=DEV&schema=PUBLIC:EVENT",
        "jdbc:sqlserver://h1:1433;databaseName=dev:dbo.event",
        "jdbc:oracle:thin:@//ora1:1521/XE:SCOTT.EVENT",
        "s3a://bucket/shop/event/part-00000.parquet",
        "hdfs://nn:8020/shop/event",
        "file:///shop/event/",
        "/shop/event",
        "dbfs:/shop/event",
        "abfs://c@acc.dfs.core.windows.net/shop/event",
        "gs://bucket/shop.v1/event",
    ],
)
def test_a_rule_matches_its_dataset_and_no_other(uri: str) -> None:
    name = naming.name_uri(uri.replace("/part-00000.parquet", "")).name
    here, there = f"{name.namespace}|{name.name}", "redshift://other.us-east-1:5439|a.b.event"
    given = pair(there, here)
    ((key, value),) = fix_of(Settings(by_jdbc=frozenset({f"dev|{here}"})), given)
    assert key == "merge.rules"
    (rule,) = CONFIGURATION.parse({**SETTINGS, **value}, needs_source=False).merge.rules
    rules = Rules((rule,))

    match = rules.match(Reference("", uri))

    assert match is not None
    assert match.dataset == DatasetName("redshift://other.us-east-1:5439", "a.b.event")
    for old, new in (("event", "events"), ("event", "old_event"), ("EVENT", "EVENTS"), ("shop", "shop2")):
        other = uri.replace(old, new)
        if other != uri and not (old == "shop" and uri.startswith("jdbc:")):
            assert rules.match(Reference("", other)) is None
    if uri.startswith("jdbc:postgresql"):
        assert rules.match(Reference("", uri.replace("db.shop", "db.crm"))) is None


def test_a_rule_does_not_match_datasets_below() -> None:
    given = pair("s3://lakes|orders", "s3://lake|orders")
    known = ("dev|s3://lakes|orders", "dev|s3://lakes|orders/archive")
    ((_, value),) = fix_of(Settings(known=known), given)
    assert value["merge"]["rules"][0]["match"] == "^s3[an]?://lakes/+orders/?$"


def test_braces_of_a_name_are_no_groups_of_a_rule() -> None:
    given = [
        pair(f"s3://lakes|{{shop}}/{name}", f"s3://lake|{{shop}}/{name}") for name in ("orders", "stock")
    ]
    for fixed in (given, given[:1]):
        ((_, value), *_) = fix_of(Settings(), *fixed)
        (rule,) = CONFIGURATION.parse({**SETTINGS, **value}, needs_source=False).merge.rules
        match = Rules((rule,)).match(Reference("", "s3://lakes/{shop}/orders"))
        assert match is not None
        assert match.dataset == DatasetName("s3://lake", "{shop}/orders")


def test_tables_whose_case_counts_have_a_rule_each() -> None:
    here, there = "postgres://db.shop:5432", "postgres://db.shop:5433"
    given = [
        pair(f"{there}|shop.public.{name}", f"{here}|shop.public.{name}") for name in ("orders", "stock")
    ]
    by_jdbc = frozenset(each.written.id for each in given)
    ((_, value), _) = fix_of(Settings(by_jdbc=by_jdbc), *given)
    rules = Rules(CONFIGURATION.parse({**SETTINGS, **value}, needs_source=False).merge.rules)
    match = rules.match(Reference("", "jdbc:postgresql://db.shop:5432/shop:PUBLIC.STOCK"))
    assert match is not None
    assert match.dataset == DatasetName(there, "shop.public.stock")


def test_names_that_only_sources_give_have_no_fix() -> None:
    assert fix_of(Settings(), pair(f"{WEST}|a.b.orders", f"{EAST}|a.b.orders")) == [("", {})]
    piped = pair("s3://lakes|a%7Cb/orders", "s3://lake|a%7Cb/orders")
    assert fix_of(Settings(), piped) == [("", {})]
    masked = pair(f"s3://lakes|orders/{MASK}", f"s3://lake|orders/{MASK}")
    assert fix_of(Settings(), masked) == [("", {})]


HOSTILE = (
    *(
        "a b",
        "{x}",
        "[y]",
        "(z",
        "\\d+",
        "^",
        "*",
        "é",
        "\U0001d4b3",
        "\u2028",
        "%7C",
        "a|b",
        "'q'",
        '"dq"',
        "..",
    ),
    *("\x00", "\n", "#c", "a: b", "- x", "!t", "&a", "null", "1e3", "{name}", "?", "`t`", "=eq=", "x" * 5000),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_fixes_of_hostile_names_are_valid_configurations(name: str) -> None:
    sides = [
        [f"{namespace}|{middle}{name}{separator}orders", f"{namespace}|{middle}orders{separator}{name}"]
        for namespace, middle, separator in ((EAST, "dev.", "."), (WEST, "dev.", "."), ("s3://lake", "", "/"))
        for namespace in (namespace, f"{namespace}s")
    ]
    ids = [dataset_id("dev", split_dataset(each)) for side in sides for each in side]
    known = [OpenDataset(each) for each in ids]
    listed = pairs(candidates(known, known), dict.fromkeys(ids, COLUMNS), lambda _start, _end: False)

    chosen = fixes(listed, Settings((DBT,), by_jdbc=frozenset(ids)))

    assert len(listed) > 3
    for each in listed:
        value = yaml.safe_load(chosen[each.ids].yaml or "{}")
        assert CONFIGURATION.parse({**SETTINGS, **value}, needs_source=False)


def shop() -> Made:
    """A job that writes orders, and a project that reads them in another region."""
    made = Made().job("spark", "load", {f"{EAST}|dev.public.orders": ["s3://raw|orders"]})
    made.job("dbt", "model.shop.report", {f"{WEST}|dev.mart.report": [f"{WEST}|dev.public.orders"]})
    for column in COLUMNS:
        made.column(f"{EAST}|dev.public.orders", column).column(f"{WEST}|dev.public.orders", column)
    return made


def elements(made: Made) -> list[Row]:
    return [*made.nodes.values(), *made.edges.values()]


@pytest.mark.parametrize(
    "each_engine", ["local", pytest.param("spark", marks=pytest.mark.jvm)], indirect=True
)
def test_engines_find_the_same_near_misses(each_engine: Engine) -> None:
    rows = each_engine.rows(elements(shop()), 3).cache()
    listed, notes, _ = find_near_misses(rows, CONFIG)
    assert [(each.written, each.read, each.score) for each in listed] == [
        (f"dev|{EAST}|dev.public.orders", f"dev|{WEST}|dev.public.orders", 100)
    ]
    assert notes == ()


def test_the_report_of_a_merge_has_the_near_misses_of_its_rows(each_engine: Engine) -> None:
    made = shop()
    made.job("spark", "append", {f"{EAST}|dev.public.log": [f"{EAST}|dev.public.log"]})
    rows = each_engine.rows(elements(made), 3).cache()

    found = complete_report(each_engine.rows([], 1), Merged(rows, Aliases()), CONFIG)

    assert found.near_misses == find_near_misses(rows, CONFIG).found
    assert len(found.near_misses) == 1
    # The job that appends to the log reads it.
    assert f"dev|{EAST}|dev.public.log" not in {each.document for each in found.select_kind("no-consumer")}


def test_columns_of_a_wide_table_are_bounded_to_the_same_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "MAX_COLUMNS", 4)
    made = shop()
    for number in range(20):
        made.column(f"{EAST}|dev.public.orders", f"z{number:02}")
        made.column(f"{WEST}|dev.public.orders", f"y{number:02}")
    rows = elements(made)
    for order in (rows, list(reversed(rows))):
        ((_, _, _, evidence, *_),) = find_near_misses(LocalEngine().rows(order), CONFIG).found
        assert "4 of 4 columns in common" in evidence


def test_limits_are_reported(each_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "MAX_DATASETS", 1)
    listed, notes, _ = find_near_misses(each_engine.rows(elements(shop()), 3).cache(), CONFIG)
    assert [each.read for each in listed] == [f"dev|{WEST}|dev.public.orders"]
    assert [each.message for each in notes] == [
        "only the first 1 of 2 datasets without producer were compared"
    ]
    report = with_near_misses(Report({}, {}, {}, (), ()), collection.NearMisses(listed, notes))
    assert report.totals == {"notice": 1}
    assert report.by_source == {"merge": {"notice": 1}}


def test_only_the_best_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "MAX_NEAR_MISSES", 2)
    made = Made()
    for name in ("orders", "stock", "prices"):
        made.job("spark", f"load_{name}", {f"{EAST}|dev.public.{name}": []})
        made.job("dbt", f"model.shop.{name}_r", {f"{WEST}|dev.mart.{name}_r": [f"{WEST}|dev.public.{name}"]})
    listed, notes, _ = find_near_misses(LocalEngine().rows(elements(made)), CONFIG)
    assert len(listed) == 2
    assert [each.message for each in notes] == ["only the best 2 of 3 near misses are listed"]


def test_a_table_that_its_own_job_reads_has_no_reader() -> None:
    made = Made().job("spark", "a", {f"{EAST}|dev.public.orders": [f"{EAST}|dev.public.orders"]})
    made.job("spark", "b", {f"{EAST}|dev.public.report": [f"{WEST}|dev.public.orders"]})
    listed, *_ = find_near_misses(LocalEngine().rows(elements(made)), CONFIG)
    assert [each.written for each in listed] == [f"dev|{EAST}|dev.public.orders"]


def test_flows_follow_edges_and_end_at_cycles() -> None:
    made = Made().job("spark", "a", {"b": ["a"], "c": ["b"], "a": ["c"], "d": ["x"]})
    flows = Flows.from_elements(LocalEngine().rows(elements(made)))
    assert flows.reaches("dev|wh|a", "dev|wh|c")
    assert not flows.reaches("dev|wh|a", "dev|wh|d")


def test_the_limit_of_a_search_applies() -> None:
    rows = LocalEngine().rows(elements(Made().job("spark", "a", {"b": ["a"], "c": ["b"]})))
    ends = "dev|wh|a", "dev|wh|unknown"
    # A search that would take too long finds everything connected.
    assert Flows.from_elements(rows, max_visited=1).reaches(*ends)
    assert not Flows.from_elements(rows, max_visited=3).reaches(*ends)


def test_a_report_with_near_misses_is_stored_within_its_limit() -> None:
    text = "x" * 2000
    listed = tuple(
        NearMiss(f"dev|a|{each}", f"dev|b|{each}", 90, (text,), "merge.rules", text) for each in range(100)
    )
    problems = tuple(Problem("notice", f"{each}", "", text) for each in range(500))
    report = Report({}, {}, {}, (), problems, near_misses=listed, unmet=("one",))
    assert Report.from_json(report.as_json()) == report

    stored = report_text(report)

    assert len(stored) <= 200_000
    read = Report.from_json(yaml.safe_load(stored))
    assert read.near_misses == listed[: len(read.near_misses)]
    assert len(read.near_misses) > 10
    assert read.problems


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        (("s3://raw/orders", f"{EAST}|dev.public.orders"), ""),
        (("s3a://raw/orders/part-00000.parquet", "public.orders"), ""),
        (("raw/orders", "ORDERS"), ""),
        (("public.orders", "model.shop.report"), ""),
        (("s3://raw/orders", "mart.report"), "no lineage from s3://raw/orders to mart.report"),
        (("dev.mart.report", "dev.public.orders"), "no lineage from dev.mart.report to dev.public.orders"),
        (("s3://raw/sales", "report"), "s3://raw/sales not found in the merge"),
    ],
)
def test_expected_lineage_is_followed_by_any_name(
    each_engine: Engine, pair: tuple[str, str], problem: str
) -> None:
    made = shop()
    for identifier, node in made.nodes.items():
        namespace, _, name = identifier.removeprefix("dev|").partition("|")
        if node["label"] == "table":
            node |= {"namespace": namespace, "qualified_name": name, "name": name.rpartition(".")[2]}
    rows = each_engine.rows(elements(made), 3).cache()
    empty = Report({}, {}, {}, (), ())
    assert unmet(rows, empty, Expect(joined=(pair,))) == ((problem,) if problem else ())


def test_fewer_joined_datasets_than_expected_fail_with_a_near_miss() -> None:
    near_miss = NearMiss("dev|a|x", "dev|b|x", 90, ())
    joined = (JoinedBy(("same-name",), 2), JoinedBy(("catalog-table", "same-name"), 1))
    report = Report({}, {}, {}, joined, (), near_misses=(near_miss,))
    rows: Rows[Any] = LocalEngine().rows([])
    assert unmet(rows, report, Expect(joined_at_least=3)) == ()
    (line,) = unmet(rows, report, Expect(joined_at_least=4))

    with pytest.raises(TooFewJoined) as raised:
        fail_if_unmet(Report({}, {}, {}, joined, (), near_misses=report.near_misses, unmet=(line,)))

    assert raised.value.exit_code == 13
    assert raised.value.message == (
        "merge.expect: 3 of at least 4 expected datasets are joined;"
        " near misses: 1, first dev|a|x and dev|b|x"
    )
