"""Owners, tags, tests, freshness and the semantic layer of a dbt project on the page."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from lineage_merge.questions.traversal.staleness import Expectations, freshness
from tests.page import geometry, shop_page
from tests.page.conftest import PHONE
from tests.page.page_graphs import WAREHOUSE, PageGraph
from tests.page.page_reading import Opened, card, choose_filter, entries, find, follow, selected, show
from tests.page.test_page_accessibility import check, check_both_themes
from tests.page.test_page_names import HOSTILE

MAIN = "dev|duckdb://shop|shop.main."
RAW = "dev|duckdb://shop|shop.main_raw."
DBT = "dev|dbt://shop|"
DECLARED = {"churn_notebook", "monthly_revenue", "revenue_dashboard"}
SEMANTIC = {"double_revenue", "orders", "revenue", "revenue_per_order", "revenue_to_date"}
CUSTOMERS = {"customers_history", "customers_v1", "customers_v2"}
LATE_INPUT = "newer input, stale upstream, because of shop.main_raw.raw_orders (2 hops)"
STATES = {
    *((name, "stale", "no run recorded, stale") for name in (*DECLARED, *SEMANTIC)),
    *((name, "stale", "succeeded, stale") for name in CUSTOMERS),
    ("days", "3 h ago", "succeeded"),
    ("orders", "1 test failed", "succeeded, 1 test failed"),
    ("raw_customers", "stale: 3 d old", "no run recorded, stale: 3 d old"),
    ("raw_orders", "loaded 3 h ago", "no run recorded"),
    ("stg_customers", "1 test failed", "succeeded, 1 test failed"),
    ("stg_orders", "4 tests failed", "succeeded, 4 tests failed"),
    ("unloaded", "not recorded", "no run recorded"),
}
UNKNOWN = "no_orders_of_unknown_customers"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("shop") / "shop.html"
    written.write_text(shop_page.page(), encoding="utf-8")
    return written


@pytest.fixture
def panel(shown: Opened, file: Path) -> Callable[..., Page]:
    """Open the panel of a dataset, optionally of its column."""

    def select(identifier: str, column: str = "") -> Page:
        return shown(file, f"#dataset={quote(identifier)}" + (f"&column={column}" if column else ""))

    return select


def test_a_card_shows_the_state_of_its_tests_and_its_run_in_words(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=pipeline")
    found = {
        (
            box.locator(".head .name").text_content(),
            box.locator(".age").text_content(),
            box.locator(".dot").get_attribute("aria-label"),
        )
        for box in page.locator(".card").all()
    }
    assert found == STATES
    shapes = {
        name: card(page, name, "main").locator(".dot").get_attribute("class")
        for name in ("stg_orders", "raw_customers", "days")
    }
    assert shapes == {
        "stg_orders": "dot is-failed",
        "raw_customers": "dot is-warned",
        "days": "dot is-ok",
    }
    expect(card(page, "customers_v1")).to_contain_text("deprecated")
    assert geometry.problems(page) == []
    assert [
        box.text_content()
        for box in page.locator(".card .age").all()
        if box.evaluate("each => each.scrollWidth > each.clientWidth")
    ] == []


def test_a_group_shows_how_many_of_its_datasets_failed(opened: Opened) -> None:
    made = PageGraph()
    for number in range(80):
        place = "good" if number % 2 else "bad"
        one = made.dataset(WAREHOUSE, f"dev.{place}.t_{number:02d}")
        made.check(f"unique_{number}", one, status="failed" if number in (2, 4, 6) else "passed")
    page = opened(made.graph(), "#view=pipeline")
    expect(card(page, "bad")).to_contain_text("3 failed")
    expect(card(page, "good")).not_to_contain_text("failed")


def test_a_column_of_a_card_shows_its_failed_tests(shown: Opened, file: Path) -> None:
    page = shown(file, f"#view=pipeline&open={quote(MAIN + 'stg_orders')}")
    rows = card(page, "stg_orders").locator(".column")
    assert {row.get_attribute("aria-label") for row in rows.all()} == {
        "column order_id, INTEGER",
        "column customer_id, INTEGER, 1 test failed",
        "column amount, DOUBLE, 1 test failed",
        "column status, VARCHAR, 1 test failed",
        "column ordered_at, DATE",
    }
    expect(rows.nth(2)).to_have_text("amount1 test failed")


def test_a_trace_shows_the_failed_tests_of_its_columns(panel: Callable[..., Page]) -> None:
    page = panel(f"{MAIN}stg_orders", "amount")
    start = page.locator(".card .column.is-start")
    expect(start).to_have_text("amount1 test failed")
    assert start.get_attribute("aria-label") == "column amount of stg_orders, 1 test failed"
    type_ = start.locator(".type")
    assert type_.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert geometry.problems(page) == []


def listed_tests(page: Page) -> list[str]:
    return [
        each.inner_text().replace("\n", " ").strip() for each in page.locator("#panel .test summary").all()
    ]


def test_the_panel_of_a_dataset_lists_its_tests(panel: Callable[..., Page]) -> None:
    page = panel(f"{MAIN}stg_customers")
    assert (
        page.locator("#panel section", has_text="Tests").locator("h3").text_content()
        == "Tests1 failed, 1 warned, 2 passed"
    )
    assert [each.replace("\xa0", "") for each in listed_tests(page)] == [
        "no_orders_of_unknown_customers failed: 1 row · custom_sql · 3 h ago",
        "every_customer_has_an_email warned: 1 row · not_null · email · 3 h ago",
        "not_null_stg_customers_customer_id passed · not_null · customer_id · 3 h ago",
        "unique_stg_customers_customer_id passed · unique · customer_id · 3 h ago",
    ]
    page.locator("#panel .test").first.locator("summary").click()
    expect(page.locator("#panel .test").first).to_contain_text("test.shop.no_orders_of_unknown_customers")
    expect(page.locator("#panel .test").first).to_contain_text("2026-11-23 00:48:52 UTC")


def test_the_panel_of_a_column_lists_its_tests_tags_and_owners(panel: Callable[..., Page]) -> None:
    page = panel(f"{RAW}raw_customers", "email")
    assert page.locator("#panel .tags .tag").all_text_contents() == ["pii", "crm"]
    expect(page.locator("#panel .facts")).to_contain_text("privacy@example.com")
    page = panel(f"{MAIN}stg_customers", "email")
    assert [each.replace("\xa0", "") for each in listed_tests(page)] == [
        "every_customer_has_an_email warned: 1 row · not_null · email · 3 h ago"
    ]
    page = panel(f"{MAIN}customers_v1", "customer_id")
    expect(page.locator("#panel section", has_text="More")).to_contain_text("check (customer_id > 0)")


def test_the_panel_of_a_source_shows_how_fresh_it_is(panel: Callable[..., Page]) -> None:
    def lines(identifier: str) -> list[str]:
        return panel(identifier).locator("#panel :is(.fresh, .check)").all_text_contents()

    assert lines(f"{RAW}raw_customers") == [
        "stale: freshness check · last update 3 d ago",
        "newest row 3 d old · warns after 12 h · fails after 24 h · checked 3 h ago: failed",
    ]
    assert lines(f"{RAW}raw_orders") == [
        "fresh: within 6 h (freshness check) · last update 3 h ago",
        "newest row 3 h old · warns after 6 h · checked 3 h ago: passed",
    ]
    assert lines(f"{RAW}unloaded") == [
        "unknown: no known update",
        "newest row unknown · fails after 30 min · not checked",
    ]
    dots = {
        name: panel(f"{RAW}{name}").locator("#panel .fresh .dot").get_attribute("class")
        for name in ("raw_customers", "raw_orders", "unloaded")
    }
    assert dots == {
        "raw_customers": "dot is-warned",
        "raw_orders": "dot is-ok",
        "unloaded": "dot is-none",
    }


def test_the_panel_says_what_a_dataset_is_compared_with(panel: Callable[..., Page]) -> None:
    def line(identifier: str) -> str | None:
        return panel(identifier).locator("#panel .fresh").text_content()

    assert line(f"{MAIN}days") == (
        "current: as new as its inputs, without an expectation · last update 3 h ago"
    )
    assert line(f"{MAIN}stg_orders") == "fresh: all of its inputs are"
    assert line(f"{MAIN}customers_v2") == (
        "stale: stale upstream, because of shop.main_raw.raw_customers (2 hops) · last update 3 h ago"
    )


def test_the_page_has_the_statuses_of_the_command(shown: Opened, file: Path) -> None:
    statuses = "lineage.app.model.datasets.map((each) => [each.id, each.freshness.status])"
    found = freshness(shop_page.graph(), Expectations(shop_page.NOW))
    assert dict(shown(file).evaluate(statuses)) == {each.dataset.id: each.status for each in found}


def test_the_owners_of_a_dataset_and_its_columns_are_filters(panel: Callable[..., Page]) -> None:
    page = panel(f"{RAW}raw_customers")
    owners = page.locator("#panel [data-owner]")
    assert owners.all_text_contents() == [
        "crm-import@example.comdataset",
        "crm@example.comdataset",
        "privacy@example.comemail",
    ]
    owners.nth(2).click()
    show(page, "list")
    assert entries(page) == ["raw_customers"]
    choose_filter(page, "owner", "crm@example.com")
    assert sorted(entries(page)) == ["raw_customers", "raw_orders", "unloaded"]


def test_a_tag_filters_datasets_with_a_column_that_has_it(panel: Callable[..., Page]) -> None:
    page = panel(f"{MAIN}stg_customers")
    assert page.locator("#panel .tag").all_text_contents() == ["staging", "piiemail"]
    page.locator("#panel .tag", has_text="pii").click()
    show(page, "list")
    assert sorted(entries(page)) == ["customers_v1", "raw_customers", "stg_customers"]


def test_a_deprecated_version_has_a_notice(panel: Callable[..., Page]) -> None:
    expect(panel(f"{MAIN}customers_v1").locator("#panel .notice")).to_have_text(
        "deprecated, will be removed on 2027-01-31; version 1, the latest is 2"
    )
    expect(panel(f"{MAIN}customers_v2").locator("#panel .notice")).to_have_count(0)


def test_an_exposure_links_to_its_address(panel: Callable[..., Page]) -> None:
    page = panel(f"{DBT}revenue_dashboard")
    link = page.locator("#panel a")
    expect(link).to_have_text("Open dashboard")
    assert link.get_attribute("href") == "https://bi.example.com/dashboards/7"
    assert link.get_attribute("rel") == "noopener noreferrer"
    cells = page.locator("#panel .facts > div").all_text_contents()
    assert cells == ["Reads2 datasets", "Ownerada@example.com", "Typedashboard", "Maturityhigh"]
    expect(page.locator("#panel section", has_text="More")).to_contain_text("audience: board")


def test_only_http_addresses_become_links(opened: Opened) -> None:
    addresses = [
        "javascript:window.hacked=1",
        " JaVaScript:window.hacked=1",
        "java\nscript:window.hacked=1",
        "data:text/html,<script>window.hacked=1</script>",
        "vbscript:x",
        "file:///etc/hosts",
        "//bi.example.com",
        "/relative",
        "http://",
        "",
    ]
    made = PageGraph()
    boards = [
        made.dataset("dbt://shop", f"board_{number}", label="exposure", url=address)
        for number, address in enumerate(addresses)
    ]
    page = opened(made.graph())
    for board, address in zip(boards, addresses, strict=True):
        follow(page, f"#dataset={quote(board)}")
        expect(page.locator("#panel h2")).to_have_text(board.rpartition("|")[2])
        assert page.locator("a[href]").count() == 0
        if address:
            expect(page.locator("#panel")).to_contain_text(address.split("\n")[0].strip())


def test_the_semantic_layer_has_kinds_of_its_own(shown: Opened, file: Path) -> None:
    page = shown(file)
    boxes = {
        box.locator(".top bdi").text_content(): set(box.locator(".member bdi").all_text_contents())
        for box in page.locator(".box").all()
    }
    assert boxes["metrics"] == SEMANTIC
    assert boxes["semantic models"] == {"orders"}
    assert boxes["saved queries"] == {"monthly_revenue"}
    foot = set(page.locator(".foot span:has(.icon)").all_text_contents())
    assert {"semantic model", "metric", "saved query"} <= foot
    icons = page.locator(".box .member").evaluate_all(
        "all => all.map((each) => each.querySelector('path').getAttribute('d'))"
    )
    assert len(set(icons)) == 8  # table, view, seed, snapshot, exposure, and these three
    page.locator("#filters-button").click()
    kinds = page.locator("#filter-kind option").all_text_contents()
    assert {"semantic model", "metric", "saved query"} <= set(kinds)
    show(page, "list")
    choose_filter(page, "kind", "metric")
    assert set(entries(page)) == SEMANTIC
    assert set(page.locator("#listing .entry .two span").all_text_contents()) == {"stale · dbt metric"}


def test_metrics_belong_to_their_dbt_project(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=pipeline")
    labels = page.locator(".frame-label").evaluate_all("all => all.map((each) => each.title)")
    (label,) = labels
    assert label == (
        "dbt · project shop 6 models, 2 seeds, 1 snapshot, 5 metrics, 1 saved query, 2 exposures, "
        "1 semantic model"
    )
    expect(page.locator("#table td.wide")).not_to_contain_text("metric")
    find(page, "stg_orders#amount")
    jobs = set(page.locator("#table tbody td:last-child").all_text_contents())
    assert jobs == {
        "",
        "dbt stg_orders",
        "dbt orders",
        "dbt revenue",
        "dbt revenue_per_order",
        "dbt revenue_to_date",
        "dbt double_revenue",
        "dbt monthly_revenue",
    }
    assert "revenue.revenue" in page.locator("#table .what").all_text_contents()


FILTERS: list[tuple[str, set[str]]] = [
    ("status=tests-failed", {"orders", "stg_customers", "stg_orders"}),
    ("status=tests-warned", {"stg_customers"}),
    ("status=tests-passed", {"raw_orders"}),
    ("status=current", {"days"}),
    ("status=fresh", {"raw_orders", "stg_orders"}),
    ("status=unknown", {"unloaded"}),
    ("status=stale&kind=seed", {"raw_customers"}),
    ("status=ok&owner=-", {"stg_orders"}),
    ("older=1d", {"raw_customers"}),
    ("older=5d", set()),
    ("older=1h&kind=view", set()),
    ("older=1h&kind=snapshot", {"customers_history"}),
    ("owner=-&kind=metric", SEMANTIC - {"revenue"}),
    ("tag=pii&status=tests-failed", {"stg_customers"}),
    ("older=junk&kind=seed", {"raw_customers", "raw_orders"}),
]


def test_links_filter(shown: Opened, file: Path) -> None:
    page = shown(file)
    for link, names in FILTERS:
        follow(page, f"#view=list&{link}")
        assert (link, set(entries(page))) == (link, names)
        written = page.evaluate("lineage.links.write(lineage.app.model, lineage.app.state, null)")
        follow(page, "#view=overview")
        follow(page, f"#{written}")
        assert (written, set(entries(page))) == (written, names)


def test_a_link_with_a_value_that_is_not_offered_is_shown_in_the_filters(opened: Opened, file: Path) -> None:
    page = opened(file, "#view=list&older=3h")
    page.locator("#filters-button").click()
    expect(page.locator("#filter-older option:checked")).to_have_text("older than 3 h")
    choose_filter(page, "kind", "seed")
    assert entries(page) == ["raw_customers"]


def test_the_search_finds_owners_and_tags(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=list")
    page.locator("#search").fill("pii")
    expect(page.locator("#results li").first).to_have_text("piitag of 3 datasets")
    page.keyboard.press("Enter")
    assert sorted(entries(page)) == ["customers_v1", "raw_customers", "stg_customers"]
    page.locator("#clear").evaluate("each => each.click()")
    page.locator("#search").fill("privcy")  # a typing error
    found = page.locator("#results li").all_text_contents()
    assert "privacy@example.comowner of 1 dataset" in found
    page.locator("#search").fill("privacy")
    assert "emailcolumn of shop.main_raw.raw_customersdev" in page.locator("#results li").all_text_contents()


def test_failed_tests_stale_sources_and_missing_owners_are_worth_a_look(shown: Opened, file: Path) -> None:
    page = shown(file)
    rows = page.locator("#sidebar .row:has(.warn)")
    looks = {(row.locator("bdi").inner_text(), row.locator(".two span").inner_text()) for row in rows.all()}
    assert looks == {
        ("orders: 1 test failed", "only_paid_orders · dev"),
        ("stg_customers: 1 test failed", "no_orders_of_unknown_customers · dev"),
        (
            "stg_orders: 4 tests failed",
            f"accepted_values_stg_orders_status__paid__returned, {UNKNOWN}, positive_stg_orders_amount · dev",
        ),
        ("raw_customers is stale", "last update 3 d ago, freshness check · dev"),
        ("orders is stale", f"last update 3 h ago, {LATE_INPUT} · dev"),
        ("6 datasets without an owner", "double_revenue, orders, revenue_per_order, … · dev"),
    }
    expect(page.locator(".band > header")).to_contain_text("3 with failed tests")
    rows.filter(has_text="without an owner").click()
    assert set(entries(page)) == {"monthly_revenue", "stg_orders", *SEMANTIC - {"revenue"}}
    page.go_back()
    page.locator("#sidebar .row", has_text="stg_orders: 4").click()
    assert selected(page) == ["stg_orders"]
    expect(page.locator("#panel")).to_contain_text("Tests4 failed")


def test_a_deprecated_dataset_with_readers_is_worth_a_look(opened: Opened) -> None:
    made = PageGraph()
    old = made.dataset(WAREHOUSE, "dev.public.old", deprecation_date="2027-01-31T00:00:00+00:00")
    made.dataset(WAREHOUSE, "dev.public.unread", deprecation_date="2027-01-31T00:00:00+00:00")
    for name in ("one", "two"):
        made.feeds(old, made.dataset(WAREHOUSE, f"dev.public.{name}"))
    page = opened(made.graph())
    assert page.locator("#sidebar .row:has(.warn) bdi").all_text_contents() == [
        "old is deprecated and has 2 readers"
    ]


def test_a_failed_run_has_no_successful_write(opened: Opened, tmp_path: Path) -> None:
    made = PageGraph()
    source = made.dataset("s3://raw", "source", label="file")
    for job, status in (("broken", "failed"), ("good", "succeeded")):
        made.feeds(source, target := made.dataset(WAREHOUSE, f"dev.public.{job}"), job)
        made.job(job, target, status=status, last_run_at=1795394932396 - 30 * 3_600_000)
    written = tmp_path / "runs.html"
    written.write_text(shop_page.page(made.graph()), encoding="utf-8")
    page = opened(written, "#view=list&older=1d")
    assert entries(page) == ["good"]
    page = opened(written, f"#dataset={quote('dev|' + WAREHOUSE + '|dev.public.broken')}")
    expect(page.locator("#panel .fresh")).to_have_text("unknown: failed run")
    expect(card(page, "broken")).to_contain_text("failed 33 h ago")


def test_a_test_of_two_dags_is_one_entry_with_its_newest_result(opened: Opened) -> None:
    made = PageGraph()
    one = made.dataset(WAREHOUSE, "dev.public.one", ("a",))
    made.check("not_null_a", f"{one}|a", status="failed", failures=3, last_run_at=2_000, dag="early")
    made.check("not_null_a", f"{one}|a", status="passed", failures=0, last_run_at=1_000, dag="late")
    page = opened(made.graph(), f"#dataset={quote(one)}")
    assert page.locator("#panel .test").count() == 1
    expect(page.locator("#panel .test")).to_contain_text("failed: 3 rows")
    assert page.locator("#panel .test dd").last.locator("div").all_text_contents() == ["early", "late"]


def test_hostile_metadata_is_shown_as_text(opened: Opened) -> None:
    made = PageGraph()
    ids: list[str] = []
    for number, text in enumerate(HOSTILE):
        many: dict[str, Any] = {"owners": (text,), "tags": (text,)}
        ids.append(
            one := made.dataset(
                WAREHOUSE,
                f"dev.public.table_{number}",
                ("a",),
                **many,
                meta=text,
                deprecation_date=text,
                version=text,
            )
        )
        made.check(text, one, status=text, assertion_type=text, severity=text, column_name=text, **many)
        made.check(f"failed {text}", f"{one}|a", status="failed", **many)
    page = opened(made.graph())
    for identifier, text in zip(ids, HOSTILE, strict=True):
        follow(page, f"#dataset={quote(identifier)}")
        assert text in page.locator("#panel .test summary bdi").all_text_contents()
        assert text in page.locator("#panel .tag bdi").all_text_contents()
        page.locator("#panel [data-owner]").first.click()
        assert page.locator("#filter-owner").input_value() == text
        link = page.evaluate("location.hash")
        follow(page, "#view=overview")
        follow(page, link)
        assert page.locator("#filter-owner").input_value() == text
        assert page.evaluate("window.hacked") is None


def saved(page: Page, kind: str, tmp_path: Path) -> str:
    page.locator("#export-button").click()
    with page.expect_download() as waiting:
        page.locator(f"[data-export='{kind}']").click()
    waiting.value.save_as(tmp_path / "saved")
    return (tmp_path / "saved").read_bytes().decode()


def test_exports_have_the_states(opened: Opened, file: Path, tmp_path: Path) -> None:
    page = opened(file, "#view=list")
    rows = {
        (row["dataset"], row["tests"], row["failed tests"], row["warned tests"], row["owners"])
        for row in csv.DictReader(io.StringIO(saved(page, "csv", tmp_path)))
    }
    assert {
        ("shop.main.stg_orders", "5", "4", "0", ""),
        ("shop.main.stg_customers", "4", "1", "1", "CRM team"),
        ("shop.main_raw.raw_customers", "2", "1", "0", "crm-import@example.com; crm@example.com"),
    } <= rows
    page = opened(file, "#view=pipeline")
    root = ElementTree.fromstring(saved(page, "svg", tmp_path))  # the page's own file
    assert {"4 tests failed", "stale: 3 d old"} <= {
        each.text for each in root.iter("{http://www.w3.org/2000/svg}text")
    }
    # Stale data is a diamond, not a square: of 15 stale datasets two have failed tests.
    diamonds = [
        each
        for each in root.iter("{http://www.w3.org/2000/svg}path")
        if each.get("d", "").count("L") == 3
        and each.get("d", "").endswith("Z")
        and each.get("stroke") == "none"
    ]
    assert len(diamonds) == 13


VIEWS = {
    "overview": "",
    "pipeline": "#view=pipeline",
    "tests": f"#dataset={quote(MAIN + 'stg_customers')}",
    "source": f"#dataset={quote(RAW + 'raw_customers')}",
    "deprecated": f"#dataset={quote(MAIN + 'customers_v1')}&open={quote(MAIN + 'stg_orders')}",
    "dashboard": f"#dataset={quote(DBT + 'revenue_dashboard')}",
    "column": f"#dataset={quote(MAIN + 'stg_orders')}&column=amount",
    "list": "#view=list",
}


@pytest.mark.parametrize("view", VIEWS)
def test_texts_have_contrast_and_controls_have_names(shown: Opened, file: Path, view: str) -> None:
    check_both_themes(shown(file, VIEWS[view]))


def test_a_phone_shows_tests_and_owners(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=list&status=tests-failed")
    page.set_viewport_size(PHONE)
    expect(page.locator(".entry").first).to_contain_text("1 test failed")
    page.locator(".entry", has_text="stg_customers").click()
    expect(page.locator("#panel .test")).to_have_count(4)
    assert check(page, "targets") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_tests_and_owners_are_reachable_by_keyboard(panel: Callable[..., Page]) -> None:
    page = panel(f"{MAIN}stg_customers")
    page.locator("#panel .close").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.test summary')"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("#panel .test[open]")).to_have_count(1)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-owner]')"):
            break
    page.keyboard.press("Enter")
    assert page.locator("#filter-owner").input_value() == "CRM team"
