"""Hostile names are shown as text; several DAGs and environments; cycles."""

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from lineage_merge.exporters.page import Options, render
from tests.page import geometry
from tests.page.page_graphs import PageGraph
from tests.page.page_reading import (
    Opened,
    card,
    cards,
    choose_filter,
    click_in_graph,
    columns,
    entries,
    find,
    focused,
    left,
    selected,
    show,
)

HOSTILE = [
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    'it\'s "quoted" & $& $1 `${window.hacked=1}` \\u0041',
    "<!--lineage:data-->",
    "销售订单 表",
    "جدول المبيعات",
    "\u202etxt.exe",
    "line\u2028and\u2029paragraph",
    "__proto__",
    "javascript:window.hacked=1",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a pipeline per name, in which everything has that name."""
    made = PageGraph()
    for number, name in enumerate(HOSTILE):
        named = {"name": name, "dag": f"dag {number}"}
        source = made.dataset(
            "s3://b", f"s/{number}", (name,), "file", **named, description=name, tags=(name,)
        )
        target = made.dataset("s3://b", f"t/{number}/{name}", (name,), "file", **named)
        made.feeds(source, target, name, operations=name, dag=f"dag {number}")
        made.column_feeds((source, name), (target, name), "TRANSFORMATION", name)
    file = tmp_path_factory.mktemp("hostile") / "lineage.html"
    file.write_text(render(made.graph(), Options(title=HOSTILE[0])), encoding="utf-8")
    return file


def test_hostile_names_are_shown_as_they_are(shown: Opened, hostile: Path) -> None:
    twice = sorted([*HOSTILE, *HOSTILE])
    page = shown(hostile)
    assert sorted(page.locator(".box .member bdi").all_text_contents()) == twice
    show(page, "list")
    assert sorted(entries(page)) == twice
    assert cards(shown(hostile, "#view=pipeline")) == twice
    assert geometry.problems(page) == []
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("number", range(len(HOSTILE)), ids=HOSTILE)
def test_a_hostile_name_is_found_and_traced(shown: Opened, hostile: Path, number: int) -> None:
    name = HOSTILE[number]
    page = shown(hostile, f"#view=pipeline&band={quote(f'dev|dag {number}')}")
    assert cards(page) == [name, name]
    box = page.locator(".card").first
    box.locator(".toggle").click()
    assert columns(box) == [name]
    box.locator(".column").click()
    assert page.locator("body").get_attribute("data-view") == "column"
    assert name in page.locator("#panel code").all_text_contents()
    assert name in page.locator(".card .expression").all_text_contents()
    page.locator("#search").fill(name)
    expect(page.locator("#results li").first.locator("bdi").first).to_have_text(name, use_inner_text=False)
    page.keyboard.press("Enter")
    again = shown(hostile, page.evaluate("location.hash"))
    assert selected(again) == [name]
    assert page.evaluate("window.hacked") is None


def test_unpaired_surrogates_are_replaced(opened: Opened) -> None:
    made = PageGraph()
    made.dataset("s3://b", "x", name="half \ud83d", label="file")
    page = opened(made.graph(), "#view=pipeline")
    assert page.locator(".card .name").text_content() in ("half \ud83d", "half \ufffd")


def test_right_to_left_names_do_not_reverse_their_line(opened: Opened) -> None:
    made = PageGraph()
    made.dataset("s3://b", "x", ("عمود",), "file", name="جدول")
    page = opened(made.graph(), "#view=pipeline")
    page.locator(".toggle").click()
    name, kind = page.locator(".column .name"), page.locator(".column .type")
    assert left(name) < left(kind)


def test_filters_by_dag_and_environment(opened: Opened) -> None:
    made = PageGraph()
    raw = made.dataset("s3://b", "raw", label="file", dag="one")
    for dag in ("one", "two"):
        out = made.dataset("s3://b", f"out_{dag}", label="file", dag=dag)
        made.feeds(raw, out, f"job_{dag}", dag)
    made.dataset("s3://b", "elsewhere", label="file", environment="prod")
    page = opened(made.graph(), "#view=pipeline")
    choose_filter(page, "dag", "one")
    assert cards(page) == ["out_one", "raw"]
    page.locator("#clear").click()
    choose_filter(page, "environment", "prod")
    assert cards(page) == ["elsewhere"]
    choose_filter(page, "dag", "two")
    assert cards(page) == []
    expect(page.locator("#nothing")).to_be_visible()


def test_a_neighbour_in_another_pipeline_is_marked(opened: Opened) -> None:
    """`raw` belongs to one DAG, and the other DAG reads it."""
    made = PageGraph()
    raw = made.dataset("s3://b", "raw", label="file", dag="one")
    out = made.dataset("s3://b", "out", label="file", dag="two")
    made.feeds(raw, out, "job", "two")
    page = opened(made.graph(), "#view=pipeline&band=dev%7Ctwo")
    assert (cards(page), cards(page, ".is-outside")) == (["out", "raw"], ["raw"])
    expect(card(page, "raw")).to_contain_text("in one")


def test_a_cycle_and_a_dataset_that_feeds_itself(opened: Opened) -> None:
    made = PageGraph()
    one, two = (made.dataset("s3://b", name, ("id",), "file") for name in ("one", "two"))
    made.feeds(one, two)
    made.feeds(two, one)
    made.feeds(one, one)
    made.column_feeds((one, "id"), (two, "id"))
    made.column_feeds((two, "id"), (one, "id"))
    page = opened(made.graph(), "#view=pipeline")
    assert page.locator("#world .line").count() == 3
    assert geometry.problems(page) == []
    card(page, "one").locator(".toggle").click()
    card(page, "one").locator(".column").click()
    assert columns(card(page, "two")) == ["id"]
    assert geometry.problems(page) == []


def test_an_empty_graph(opened: Opened) -> None:
    page = opened(PageGraph().graph())
    for view in ("overview", "pipeline", "list"):
        show(page, view)
        expect(page.locator("#nothing")).to_be_visible()


def test_influences_and_indirect_edges_look_different(opened: Opened) -> None:
    made = PageGraph()
    source = made.dataset("s3://b", "source", ("a", "b"), "file")
    target = made.dataset("s3://b", "target", ("c",), "file")
    made.feeds(source, target)
    made.column_feeds((source, "a"), (target, "c"), "CONDITIONAL", "CASE WHEN a THEN 1 END")
    made.influences((source, "a"), target)
    page = opened(made.graph(), f"#dataset={source.replace('|', '%7C')}&column=a")
    assert page.locator("#world .line.indirect").count() == 1
    assert page.locator("#world .line.decides").count() == 1
    dashes = [
        page.locator(f"#world .line.{kind} .drawn").evaluate("each => getComputedStyle(each).strokeDasharray")
        for kind in ("indirect", "decides")
    ]
    assert "none" not in dashes
    assert len(set(dashes)) == 2
    expect(page.locator("#panel")).to_contain_text("Decides on the rows of")


def test_a_link_to_a_missing_dataset_shows_the_entire_graph(opened: Opened) -> None:
    made = PageGraph()
    made.dataset("s3://b", "here", label="file")
    link = "#focus=dev%7Cs3%3A%2F%2Fb%7Cgone&dataset=x&column=y&window=a,b,c&depth=-1&band=no&view=pipeline"
    assert cards(opened(made.graph(), link)) == ["here"]


def test_many_columns_are_shown_in_steps(opened: Opened) -> None:
    made = PageGraph()
    made.dataset("s3://b", "wide", tuple(f"c{number:03d}" for number in range(300)), "file")
    page = opened(made.graph(), "#view=pipeline")
    page.locator(".toggle").click()
    expect(page.locator(".card .column .name")).to_have_count(60)
    click_in_graph(page.locator(".more"))
    expect(page.locator(".card .column .name")).to_have_count(300, timeout=20_000)
    find(page, "wide#c299")
    assert focused(page) == "c299"
