"""`lineage-merge demo`: the company's story, its history, and the nine questions."""

import json
import runpy
import shlex
import socket
import subprocess
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import boto3
import pytest
from botocore.validate import ParamValidator

from lineage_merge.cli.sample import company_folder, demo_config_file
from lineage_merge.graph_format.schema import Row
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.demo import shift_times
from lineage_merge.orchestration.read_sources import LocalMerge, merge
from tests.command_line import Outcome, as_process, in_process

Ask = Callable[..., Outcome]
_WAREHOUSE = "redshift://brightmug-wh.eu-central-1:5439|shop."


@pytest.fixture(scope="module")
def company() -> LocalMerge:
    """The company's merge."""
    return merge(CONFIGURATION.load(demo_config_file(), environ={}))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the graph of the demo."""
    folder = tmp_path_factory.mktemp("home")
    profiled = {"PYTHONPROFILEIMPORTTIME": "1"}
    outcome = as_process("demo", "--json", "--quiet", LINEAGE_MERGE_HOME=str(folder), **profiled)
    lines = outcome.err.splitlines()
    assert (outcome.code, [line for line in lines if not line.startswith("import time:")]) == (0, [])
    (folder / "demo.json").write_text(outcome.out)
    (folder / "imports.txt").write_text("\n".join(line.rpartition("|")[2].strip() for line in lines))
    return folder


@pytest.fixture(scope="module")
def ask(home: Path) -> Ask:
    return lambda *words: in_process(*words, LINEAGE_MERGE_HOME=str(home))


def short(identifier: str) -> str:
    """`lake/customers#email` for an id."""
    _, namespace, name, *column = identifier.split("|")
    dataset = f"{namespace.removeprefix('s3://brightmug-')}/{name}"
    return "#".join((dataset.removeprefix(f"{_WAREHOUSE[:-6]}/shop."), ".".join(column))).rstrip("#")


def titles_of_dashboards(rows: list[Row]) -> dict[str, str]:
    """`superset Campaigns`, `superset Campaigns#Recipients.contact` by the ids of dashboards, data sets."""
    tools = {
        "arn:aws:quicksight:eu-central-1:111122223333": "quicksight",
        "superset://superset.brightmug.example": "superset",
    }
    vertices = {row["id"]: row for row in rows if not row.get("from") and row["id"].count("|") > 1}
    titles: dict[str, str] = {}
    for identifier, row in vertices.items():
        _, namespace, name, *column = identifier.split("|")
        if tool := tools.get(namespace):
            owner = f"{tool} {vertices[f'dev|{namespace}|{name}']['name']}"
            titles[identifier] = f"{owner}#{row.get('qualified_name') or row['name']}" if column else owner
    return titles


def flows(rows: list[Row], label: str) -> set[tuple[str, ...]]:
    titles = titles_of_dashboards(rows)
    found: set[tuple[str, ...]] = set()
    for row in rows:
        if row["label"] == label:
            kind = (row["transformation"],) if label == "feeds_column" else ()
            ends = (titles.get(end) or short(end) for end in (row["from"], row["to"]))
            found.add((*ends, *kind))
    return found


def test_the_company_is_one_path_from_json_to_dashboards(company: LocalMerge) -> None:
    assert flows(company.elements.collect(), "feeds") == {
        ("raw/customers", "lake/customers"),
        ("raw/customers", "lake/customer_segments"),
        ("raw/orders", "lake/order_lines"),
        ("raw/visits", "lake/web_visits"),
        ("lake/order_lines", "lake/shop/orders"),
        ("lake/shop/orders", "export/orders"),
        ("lake/customers", "public.customers"),
        ("export/orders", "public.orders"),
        ("lake/web-visits", "public.visits"),
        ("erp/products", "public.products"),
        ("public.customers", "staging.stg_customers"),
        ("public.orders", "staging.stg_orders"),
        ("public.visits", "staging.stg_visits"),
        ("public.products", "staging.stg_products"),
        ("staging.stg_customers", "marts.dim_customers"),
        ("staging.stg_orders", "marts.fct_sales"),
        ("staging.stg_products", "marts.fct_sales"),
        ("marts.fct_sales", "marts.revenue_by_country"),
        ("marts.dim_customers", "marts.revenue_by_country"),
        ("marts.fct_sales", "marts.campaign_recipients"),
        ("staging.stg_customers", "marts.campaign_recipients"),
        ("staging.stg_visits", "marts.campaign_recipients"),
        ("marts.fct_sales", "marts.weekly_demand"),
        ("marts.revenue_by_country", "quicksight Revenue by country"),
        ("marts.fct_sales", "quicksight Sales"),
        ("quicksight Revenue by country", "quicksight Revenue"),
        ("quicksight Sales", "quicksight Revenue"),
        ("marts.campaign_recipients", "superset campaign_recipients"),
        ("marts.weekly_demand", "superset demand_by_category"),
        ("superset campaign_recipients", "superset Campaigns"),
        ("superset demand_by_category", "superset Campaigns"),
        ("marts.campaign_recipients", "dbt://brightmug/newsletter"),
        ("marts.weekly_demand", "dbt://brightmug/purchasing_plan"),
    }


def test_columns_of_the_two_key_paths(company: LocalMerge) -> None:
    of_columns = flows(company.elements.collect(), "feeds_column")
    of_columns = {flow for flow in of_columns if not flow[1].startswith(("quicksight", "superset"))}
    key = ("#email", "#contact", "#mail", "#amount", "#price", "#revenue", "#qty", ".email", ".price", ".qty")
    ends = ("#email_hash", *key)
    assert {flow for flow in of_columns if flow[0].endswith(key) and flow[1].endswith(ends)} == {
        ("raw/customers#contact.email", "lake/customers#email", "IDENTITY"),
        ("lake/customers#email", "public.customers#email", "IDENTITY"),
        ("public.customers#email", "staging.stg_customers#email", "TRANSFORMATION"),
        ("staging.stg_customers#email", "marts.dim_customers#email_hash", "TRANSFORMATION"),
        ("staging.stg_customers#email", "marts.campaign_recipients#contact", "IDENTITY"),
        ("raw/orders#items.price", "lake/order_lines#price", "TRANSFORMATION"),
        ("raw/orders#items.qty", "lake/order_lines#qty", "TRANSFORMATION"),
        ("lake/order_lines#price", "lake/shop/orders#amount", "TRANSFORMATION"),
        ("lake/order_lines#qty", "lake/shop/orders#amount", "TRANSFORMATION"),
        ("lake/order_lines#qty", "lake/shop/orders#qty", "IDENTITY"),
        ("lake/shop/orders#amount", "export/orders#amount", "IDENTITY"),
        ("lake/shop/orders#qty", "export/orders#qty", "IDENTITY"),
        ("export/orders#amount", "public.orders#amount", "IDENTITY"),
        ("export/orders#qty", "public.orders#qty", "IDENTITY"),
        ("public.orders#amount", "staging.stg_orders#amount", "IDENTITY"),
        ("public.orders#qty", "staging.stg_orders#qty", "IDENTITY"),
        ("staging.stg_orders#amount", "marts.fct_sales#amount", "IDENTITY"),
        ("staging.stg_orders#qty", "marts.fct_sales#qty", "IDENTITY"),
        ("marts.fct_sales#amount", "marts.revenue_by_country#revenue", "AGGREGATION"),
    }


def of_dashboard(
    data_set: str, dashboard: str, fields: Mapping[str, set[str]]
) -> Iterator[tuple[str, str, str]]:
    """The flows to visuals and their fields, which are written with their transformation, by column."""
    for column, targets in fields.items():
        for target in targets:
            title, _, how = target.rpartition(" ")
            yield f"{data_set}#{column}", f"{dashboard}#{title}", how


def test_fields_of_charts_are_computed_from_the_columns_of_marts(company: LocalMerge) -> None:
    of_columns = flows(company.elements.collect(), "feeds_column")
    found = {flow for flow in of_columns if flow[1].startswith(("quicksight", "superset"))}
    of_charts = {flow for flow in found if flow[0].startswith(("quicksight", "superset"))}
    assert of_charts == {
        *of_dashboard(
            "quicksight Revenue by country",
            "quicksight Revenue",
            {
                "country": {"Revenue by country.country IDENTITY"},
                "category": {"Margins.category IDENTITY"},
                "margin": {"Margins.margin AGGREGATION", "Margins.margin_rate AGGREGATION"},
                "revenue": {
                    "Total revenue.revenue AGGREGATION",
                    "Revenue by country.revenue AGGREGATION",
                    "Revenue by country SORT",
                    "Margins.margin_rate AGGREGATION",
                },
            },
        ),
        *of_dashboard(
            "quicksight Sales",
            "quicksight Revenue",
            {
                "ordered_on": {"Sales by day.ordered_on TRANSFORMATION"},
                "category": {"Sales by day FILTER"},
                "qty": {"Sizes of orders.order_size CONDITIONAL"},
                "amount": {
                    "Sales by day.amount AGGREGATION",
                    "Sizes of orders.amount AGGREGATION",
                    "Sizes of orders.order_size CONDITIONAL",
                },
            },
        ),
        *of_dashboard(
            "superset campaign_recipients",
            "superset Campaigns",
            {
                "campaign": {
                    "Recipients FILTER",
                    "Recipients.campaign IDENTITY",
                    "Recipients by campaign FILTER",
                    "Recipients by campaign.campaign IDENTITY",
                    "Spent by campaign FILTER",
                    "Spent by campaign.campaign IDENTITY",
                },
                "contact": {"Recipients.contact IDENTITY"},
                "last_visit": {"Recipients.last_visit IDENTITY"},
                "customer_id": {"Recipients by campaign.recipients AGGREGATION"},
                "buyer": {"Recipients by campaign.buyer IDENTITY", "Spent by campaign FILTER"},
                "spent": {"Spent by campaign.SUM(spent) AGGREGATION"},
            },
        ),
        *of_dashboard(
            "superset demand_by_category",
            "superset Campaigns",
            {
                "week": {"Units by week.week IDENTITY"},
                "category": {"Units by week.category IDENTITY"},
                "units": {"Units by week.SUM(units) AGGREGATION"},
            },
        ),
    }
    assert {flow for flow in found - of_charts if flow[2] != "IDENTITY"} == {
        ("marts.fct_sales#category", "quicksight Sales#category", "TRANSFORMATION"),
        ("marts.weekly_demand#units", "superset demand_by_category#units", "AGGREGATION"),
        ("marts.campaign_recipients#spent", "superset campaign_recipients#buyer", "CONDITIONAL"),
    }


def test_the_exposure_of_the_board_is_the_dashboard(company: LocalMerge) -> None:
    vertices = [row for row in company.elements.collect() if row["label"] == "exposure"]
    assert {(row["name"], *(row.get("aliases") or ())) for row in vertices} == {
        ("Revenue", "dbt://brightmug|revenue_dashboard (dashboard-url)"),
        ("Campaigns",),
        ("newsletter",),
        ("purchasing_plan",),
    }


def test_the_dashboards_are_those_of_the_recipe() -> None:
    recipe = runpy.run_path(str(company_folder() / "recipe" / "dashboards.py"))
    sources = company_folder() / "sources"
    for name in ("quicksight", "superset"):
        files = [file for file in (sources / name).rglob("*") if file.is_file()]
        assert {file.relative_to(sources / name).as_posix(): file.read_text() for file in files} == recipe[
            name
        ]()


def test_the_dashboard_of_quicksight_has_the_form_of_the_api() -> None:
    recipe = runpy.run_path(str(company_folder() / "recipe" / "dashboards.py"))
    shapes = boto3.client("quicksight", region_name="eu-central-1").meta.service_model
    kinds = {"data_sources": "DataSource", "data_sets": "DataSet", "dashboards": "DashboardDefinition"}
    for path, text in recipe["quicksight"]().items():
        shape = shapes.operation_model(f"Describe{kinds[path.partition('/')[0]]}").output_shape
        report = ParamValidator().validate(json.loads(text), shape)
        assert not report.has_errors(), f"{path}: {report.generate_report()}"


def test_the_report_has_one_near_miss_and_one_silent_agent(company: LocalMerge) -> None:
    assert [(near.written, near.read) for near in company.report.near_misses] == [
        ("dev|s3://brightmug-lake|web_visits", "dev|s3://brightmug-lake|web-visits")
    ]
    silent = [problem.document for problem in company.report.problems if problem.kind == "silent"]
    assert silent == ["dev|s3://brightmug-lake|customer_segments"]


@pytest.mark.jvm
def test_the_policy_finds_exactly_the_leak(ask: Ask) -> None:
    checked = ask("check", "--demo", "--json")

    violations = [each for policy in json.loads(checked.out)["policies"] for each in policy["violations"]]
    assert checked.code == 14
    assert [each["id"] for each in violations] == [f"dev|{_WAREHOUSE}marts.campaign_recipients|contact"]


@pytest.mark.jvm
def test_a_tag_reaches_the_chart_that_shows_the_address(ask: Ask) -> None:
    lines = [line for line in ask("tags", "--tag", "pii", "--demo").out.splitlines() if "dashboard/" in line]
    (charts,) = {line.partition("#")[2].partition("  ")[0] for line in lines}
    assert charts == "Recipients.contact"


@pytest.mark.jvm
def test_a_dashboard_has_the_name_of_its_exposure(ask: Ask) -> None:
    by_exposure, by_title = (
        ask("upstream", name, "--demo", "--json").out for name in ("revenue_dashboard", "Revenue")
    )
    assert by_exposure == by_title != ""


@pytest.mark.jvm
def test_tests_and_freshness(ask: Ask) -> None:
    listed = json.loads(ask("tests", "--demo", "--dag", "brightmug_daily", "--json").out)["tests"]
    assert sorted((each["name"], each["status"]) for each in listed if each["status"] != "passed") == [
        ("freshness.shop.products", "failed"),
        ("sales_have_a_customer", "failed"),
        ("status_is_known", "warned"),
    ]


@pytest.mark.jvm
def test_each_question_is_answered_by_its_command(home: Path, ask: Ask) -> None:
    questions = json.loads((home / "demo.json").read_text())["questions"]

    assert len(questions) == 9
    for question in questions:
        program, *words = shlex.split(question["command"])
        assert program == "lineage-merge"
        outcome = ask(*words)
        assert not outcome.err.startswith("internal error"), outcome
        printed = [" ".join(line.split()) for line in (outcome.out + outcome.err).splitlines()]
        assert len(question["answer"]) == 2, question
        assert all(any(answer in line for line in printed) for answer in question["answer"]), question


@pytest.mark.jvm
def test_the_history_has_a_renamed_column_a_dropped_one_and_a_broken_join(ask: Ask) -> None:
    def changed(start: str, end: str) -> set[tuple[str, str]]:
        answer = json.loads(ask("diff", "--demo", "--from", start, "--to", end, "--json").out)
        return {
            (change["action"], change["title"])
            for change in answer["changes"]
            if change["kind"] != "expression"
        }

    assert changed("13d", "9d") == {
        ("removed", "shop.staging.stg_customers#mail"),
        ("added", "shop.staging.stg_customers#email"),
    }
    assert changed("9d", "5d") == {("removed", "shop.marts.dim_customers#loyalty_points")}
    assert changed("5d", "1d") == {
        ("added", "s3://brightmug-lake/web-visits"),
        ("added", "s3://brightmug-lake/web-visits -> shop.public.visits"),
        ("removed", "s3://brightmug-lake/web_visits -> shop.public.visits"),
    }
    assert changed("1d", "now") == set()


@pytest.mark.jvm
def test_data_is_as_new_as_the_demo(ask: Ask) -> None:
    listed = json.loads(ask("freshness", "revenue_dashboard", "--demo", "--json").out)["datasets"]
    ages = {each["dataset"].rpartition(".")[2]: each["age_ms"] for each in listed}
    hour = 3_600_000
    assert ages["fct_sales"] < hour
    assert 71 * hour < ages["products"] < 73 * hour


@pytest.mark.jvm
def test_the_demo_does_not_import_what_it_does_not_use(home: Path) -> None:
    imported = {name.partition(".")[0] for name in (home / "imports.txt").read_text().splitlines()}
    assert "pyarrow" in imported
    assert imported & {"pyspark", "py4j", "arango", "boto3"} == set()


@pytest.mark.jvm
def test_without_a_browser_the_page_is_named_and_json_stays_valid(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    outcome = in_process("demo", "--quiet", "--open", "--json", LINEAGE_MERGE_HOME=str(home))
    assert len(json.loads(outcome.out)["questions"]) == 9
    assert outcome.err == f"no browser found: open {(home / 'demo.html').as_uri()}\n"


@pytest.mark.jvm
def test_the_page_is_opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    outcome = in_process("demo", "--quiet", "--open", "--tour", LINEAGE_MERGE_HOME=str(home))
    assert outcome.code == 0, outcome
    assert opened == [(home / "demo.html").as_uri()]
    assert "brightmug_daily" in (home / "demo.html").read_text()
    assert "9 of 9." in outcome.out
    # The whole answers.
    assert "shop.marts.fct_sales#margin" in outcome.out


@pytest.mark.jvm
def test_with_the_page_the_terminal_has_the_summary_and_the_address(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _url: True)
    outcome = in_process("demo", "--quiet", "--open", LINEAGE_MERGE_HOME=str(home))
    assert outcome.out.startswith("lineage_merge")
    assert "near misses" in outcome.out
    assert "Fix:" not in outcome.out
    assert "9." not in outcome.out
    assert outcome.err == f"page {(home / 'demo.html').as_uri()}\n"


@pytest.mark.parametrize(
    ("text", "shifted"),
    [
        ('"2026-11-26T23:59:59.123Z"', '"2026-11-28T00:59:59.123Z"'),
        (
            '"timestamp":1795717320077,"durationNs":4860639554',
            '"timestamp":1795807320077,"durationNs":4860639554',
        ),
        ('"snapshot":8744736658442914487, "local-1795717320077"', None),
        ("date '2026-11-26', 2.1795717320077", None),
    ],
)
def test_times_are_moved_and_other_numbers_are_not(text: str, shifted: str | None) -> None:
    assert shift_times(text, timedelta(days=1, hours=1, microseconds=9)) == (shifted or text)


def test_sources_name_no_machine() -> None:
    texts = {file.name: file.read_text() for file in company_folder().rglob("*.json*")}
    assert [name for name, text in texts.items() if "/tmp/" in text or "file:/" in text] == []


def test_the_demo_starts_no_process_and_downloads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*words: object, **_: object) -> None:
        raise AssertionError(f"the demo needs more than Python: {words}")

    monkeypatch.setattr(subprocess.Popen, "__init__", denied)
    monkeypatch.setattr(socket.socket, "connect", denied)
    monkeypatch.setattr(socket, "getaddrinfo", denied)
    folders = {"LINEAGE_MERGE_HOME": tmp_path / "home", "LINEAGE_MERGE_CACHE": tmp_path / "cache"}

    outcome = in_process("demo", "--quiet", **{name: str(folder) for name, folder in folders.items()})

    assert outcome.code == 0, outcome
    assert not folders["LINEAGE_MERGE_CACHE"].exists()
