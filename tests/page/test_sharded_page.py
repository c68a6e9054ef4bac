"""The page with shards in Chromium, from a disk: what it loads, shows, finds, and says of missing shards."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from lineage_merge.exporters.page import Options, Topic, render
from lineage_merge.exporters.page.sharded import Annotations
from tests.page import shop_page
from tests.page.page_graphs import WAREHOUSE, PageGraph, large
from tests.page.page_reading import card, cards, click_in_graph, eventually, find, selected, show
from tests.page.sharded_page import files, small_shards, write
from tests.page.test_page_accessibility import axe_findings, check_both_themes

__all__ = ["small_shards"]
pytestmark = pytest.mark.usefixtures("small_shards")


class Opener:
    """Opens pages and watches what they write and request."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self.page: Page | None = None
        self.messages: list[str] = []
        self.requested: list[str] = []

    def __call__(self, file: Path, link: str = "") -> Page:
        page = self.page or self._context.new_page()
        if self.page is None:
            page.on("console", lambda message: self.messages.append(message.text))
            page.on("pageerror", lambda error: self.messages.append(str(error)))
            page.on("request", lambda request: self.requested.append(request.url.partition("#")[0]))
        self.page = page
        page.goto("about:blank")
        self.requested.clear()
        page.goto(f"{file.as_uri()}{link}")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    def kinds(self) -> set[str]:
        """Return the kinds of shards that the page requested."""
        return {url.rpartition("/")[2].partition("-")[0] for url in self.requested if url.endswith(".js")}


@pytest.fixture
def opener(context: BrowserContext) -> Iterator[Opener]:
    """Fail on errors, messages, and requests for anything but files of a disk."""
    opened = Opener(context)
    yield opened
    if opened.page:
        opened.page.close()
    assert [text for text in opened.messages if "ERR_FILE_NOT_FOUND" not in text] == []
    assert {url.partition(":")[0] for url in opened.requested} <= {"file"}


def chain(length: int = 9) -> PageGraph:
    """Return datasets of which each is made from the one before, and one that nothing feeds."""
    made = PageGraph("prod")
    ids = [made.dataset(WAREHOUSE, f"dev.mart_{n % 3}.step_{n}", ("id", "price")) for n in range(length)]
    for source, target in pairwise(ids):
        made.feeds(source, target, "load")
        made.column_feeds((source, "price"), (target, "price"), "TRANSFORMATION", "price + 1")
    made.dataset("s3://lake", "raw/alone", ("id",), "file")
    return made


def step(number: int) -> str:
    return f"prod|{WAREHOUSE}|dev.mart_{number % 3}.step_{number}"


def link(dataset: str, column: str = "") -> str:
    return f"#dataset={quote(dataset)}" + (f"&column={quote(column)}" if column else "")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(chain().graph(), tmp_path / "lineage")


def test_the_overview_loads_no_data(opener: Opener, file: Path) -> None:
    page = opener(file)
    expect(page.locator(".band h2")).to_have_text(["daily"])
    expect(page.locator("#overview .caption")).to_have_text("10 datasets · 19 columns · 1 pipeline")
    groups = page.locator(".group-chip bdi").all_text_contents()
    assert sorted(groups) == ["dev.mart_0", "dev.mart_1", "dev.mart_2", "raw"]
    assert opener.kinds() == set()


def test_a_group_opens_to_its_datasets_and_a_dataset_to_its_lineage(opener: Opener, file: Path) -> None:
    page = opener(file)
    page.locator(".group-chip", has_text="dev.mart_1").click()
    rows = page.locator(".window-row")
    expect(rows).to_have_text(
        ["step_1dev.mart_1.step_1prod", "step_4dev.mart_1.step_4prod", "step_7dev.mart_1.step_7prod"]
    )
    assert opener.kinds() == {"group", "name"}

    page.locator(".window-row", has_text="step_4").locator("button").click()
    expect(card(page, "step_4")).to_have_count(1)
    assert selected(page) == ["step_4"]
    assert cards(page) == [f"step_{n}" for n in range(9)]
    page.go_back()
    expect(rows).to_have_count(3)


def test_a_pipeline_opens_to_its_groups(opener: Opener, file: Path) -> None:
    page = opener(file)
    page.get_by_label("Open daily, prod").click()
    expect(page.locator(".window-row .what")).to_have_text(["dev.mart_0", "dev.mart_1", "dev.mart_2", "raw"])
    page.locator(".catalog-head", has_text="All pipelines").get_by_text("All pipelines").click()
    expect(page.locator(".band")).to_have_count(1)


def test_a_group_is_drawn_as_a_pipeline(opener: Opener, file: Path) -> None:
    page = opener(file)
    page.locator(".group-chip", has_text="dev.mart_1").click()
    page.get_by_text("Draw", exact=True).click()
    eventually(page, lambda: cards(page) == ["step_1", "step_4", "step_7"])
    expect(page.locator("#crumb h2")).to_have_text("dev.mart_1")
    # What is selected brings its lineage with it.
    click_in_graph(card(page, "step_4"))
    expect(page.locator("#panel h3", has_text="Upstream")).to_have_text("Upstream4")
    page.reload()
    expect(page.locator("#panel h3", has_text="Downstream")).to_have_text("Downstream4")


def test_a_long_list_draws_what_is_in_view(opener: Opener, tmp_path: Path) -> None:
    made = PageGraph()
    for number in range(2_000):
        made.dataset(WAREHOUSE, f"dev.mart.t{number:04}")
    page = opener(write(made.graph(), tmp_path / "lineage"))
    page.locator(".group-chip").click()
    expect(page.locator(".window-row").first).to_contain_text("t0000")
    assert page.locator(".window-row").count() < 100
    page.locator("#overview").evaluate("overview => overview.scrollTo(0, overview.scrollHeight)")
    expect(page.locator(".window-row").last).to_contain_text("t1999")
    assert page.locator(".window-row").count() < 100


def read_view(page: Page) -> dict[str, object]:
    """Return what a view shows: cards, lines between them, tables and the panel."""
    titles = {
        str(each.get_attribute("data-key")): each.inner_text() for each in page.locator("#cards .card").all()
    }
    lines = [
        (titles[str(each.get_attribute("data-source"))], titles[str(each.get_attribute("data-target"))])
        for each in page.locator("#lines .line").all()
    ]
    styles = page.locator("#cards .card").evaluate_all(
        """cards => cards.map((each) => {
          const { display, padding } = getComputedStyle(each);
          return `${each.offsetWidth} ${each.offsetHeight} ${display} ${padding}`;
        }).sort()"""
    )
    panel = page.locator("#panel").inner_text().replace("Whole pipeline\n", "")
    return {
        "cards": sorted(titles.values()),
        "styles": styles,
        "lines": sorted(lines),
        "panel": panel,
        "table": page.locator("#table").inner_text(),
    }


def settle(page: Page) -> None:
    """Wait until a dataset or column is drawn as selected."""
    page.wait_for_selector("#cards .is-start", state="attached")


def focus(dataset: str) -> str:
    return f"#view=pipeline&focus={quote(dataset)}&dataset={quote(dataset)}"


@pytest.mark.parametrize(
    ("datasets", "linked"),
    [
        (60, "#view=column&dataset=dev%7Cs3%3A%2F%2Fraw%7Craw_05%2Fraw_0005&column=c1"),
        (60, f"#view=column&dataset={quote(f'dev|{WAREHOUSE}|dev.mart_03.mart_0003')}&column=c0"),
        (60, focus(f"dev|{WAREHOUSE}|dev.lake_02.lake_0002")),
        (400, focus(f"dev|{WAREHOUSE}|dev.shared.calendar")),
    ],
    ids=["downstream", "upstream", "dataset", "groups"],
)
def test_a_trace_over_borders_of_shards_is_that_of_the_page_of_one_file(
    opener: Opener, tmp_path: Path, datasets: int, linked: str
) -> None:
    graph = large(datasets)
    single = tmp_path / "single.html"
    options = Options(title="Sharded", made_at="2026-11-23 03:48 UTC")
    single.write_text(render(graph, options), encoding="utf-8")
    views = []
    for page_file in (single, write(graph, tmp_path / "lineage")):
        page = opener(page_file, linked)
        settle(page)
        views.append(read_view(page))
    assert len([url for url in opener.requested if "/data-" in url]) > 2
    assert views[0] == views[1]
    assert views[0]["lines"]


def test_tests_owners_and_runs_are_those_of_the_page_of_one_file(opener: Opener, tmp_path: Path) -> None:
    graph = shop_page.shop()
    single = tmp_path / "single.html"
    single.write_text(render(graph, Options(title="shop", made_at="2026-11-23 03:48 UTC")), encoding="utf-8")
    folder = write(graph, tmp_path / "lineage")
    for dataset in [each.id for each in graph.datasets if any(edge.to_id == each.id for edge in graph.edges)][
        :4
    ]:
        views = []
        for page_file in (single, folder):
            page = opener(page_file, f"#view=pipeline&focus={quote(dataset)}&dataset={quote(dataset)}")
            settle(page)
            views.append(read_view(page)["panel"])
        assert views[0] == views[1]


def test_a_link_to_a_dataset_or_column_leads_to_its_lineage(opener: Opener, file: Path) -> None:
    page = opener(file, link(step(4)))
    expect(page.locator("#crumb h2")).to_have_text("Lineage of step_4")
    page = opener(file, link(step(4), "price"))
    expect(page.locator("#crumb h2")).to_have_text("step_4.price")
    expect(page.locator("#crumb .quiet")).to_have_text("4 columns upstream · 4 downstream")


def test_a_link_to_what_is_gone_leads_to_the_overview(opener: Opener, file: Path) -> None:
    page = opener(file, link("prod|s3://lake|gone"))
    expect(page.locator(".band")).to_have_count(1)
    expect(page.locator("#notice")).to_be_hidden()


def test_a_selected_neighbour_brings_its_own_lineage(opener: Opener, tmp_path: Path) -> None:
    made = chain()
    sibling = made.dataset(WAREHOUSE, "dev.mart_0.sibling", ("id",))
    made.feeds(sibling, step(5), "load")
    page = opener(write(made.graph(), tmp_path / "lineage"), link(step(4)))
    settle(page)
    assert "sibling" not in cards(page)
    # It is made of the sibling, too, which is not in the lineage of step_4.
    click_in_graph(card(page, "step_5"))
    expect(page.locator("#panel h2")).to_have_text("step_5")
    expect(page.locator("#panel .item", has_text="sibling")).to_have_count(1)
    assert "sibling" not in cards(page)
    page.go_back()
    expect(page.locator("#panel h2")).to_have_text("step_4")


def test_of_a_large_lineage_the_nearest_part_is_loaded(opener: Opener, tmp_path: Path) -> None:
    page = opener(write(chain(700).graph(), tmp_path / "lineage"), link(step(0)))
    settle(page)
    expect(page.locator("#part")).to_contain_text(
        "Only the nearest 500 of 700 upstream and downstream are loaded."
    )
    expect(page.locator("#panel h3", has_text="Downstream")).to_have_text("Downstream499")
    page.get_by_text("Load 2,000").click()
    expect(page.locator("#panel h3", has_text="Downstream")).to_have_text("Downstream699")
    expect(page.locator("#part")).not_to_contain_text("Only")


@pytest.mark.parametrize(
    "typed", ["step_4", "STEP_4", "mart_1.step_4", "dev.mart_1.step_4", "4", "mart_1 step_4"]
)
def test_search_finds_datasets(opener: Opener, file: Path, typed: str) -> None:
    page = opener(file)
    find(page, typed)
    expect(page.locator("#panel h2")).to_have_text("step_4")
    assert selected(page) == ["step_4"]


def test_search_finds_columns(opener: Opener, file: Path) -> None:
    page = opener(file)
    page.locator("#search").fill("PRI")
    results = page.locator("#results li")
    expect(results).to_have_count(9)
    expect(results.first).to_contain_text("column of dev.mart_")
    page.locator("#search").fill("step_4#pri")
    expect(results).to_have_text(["pricecolumn of dev.mart_1.step_4prod"])
    page.locator("#search").press("Enter")
    expect(page.locator("#crumb h2")).to_have_text("step_4.price")
    page.locator("#search").fill("nowhere")
    expect(results).to_have_text(["nothing found"])


def test_search_forgives_a_typing_error(opener: Opener, file: Path) -> None:
    page = opener(file)
    page.locator("#search").fill("alnoe")
    expect(page.locator("#results li").first).to_contain_text("alone")


@pytest.mark.parametrize("kind", ["data", "walk", "id"])
def test_a_missing_shard_is_a_message(opener: Opener, file: Path, kind: str) -> None:
    removed = [(shard, shard.read_text()) for shard in files(file.parent, kind)]
    for shard, _ in removed:
        shard.unlink()
    page = opener(file, link(step(4)))
    notice = page.locator("#notice")
    expect(notice).to_contain_text(f"A part of the lineage is missing. {removed[0][0].parent.name}/{kind}-")
    expect(notice).to_contain_text("could not be loaded")
    assert cards(page) == []
    expect(page.locator(".band")).to_have_count(1)

    for shard, text in removed:
        shard.write_text(text)
    page.get_by_text("Try again").click()
    expect(card(page, "step_4")).to_have_count(1)
    expect(notice).to_be_hidden()


@pytest.mark.parametrize("kind", ["group", "name"])
def test_a_list_without_its_shard_is_a_message(opener: Opener, file: Path, kind: str) -> None:
    for shard in files(file.parent, kind):
        shard.unlink()
    page = opener(file)
    page.locator(".group-chip", has_text="dev.mart_1").click()
    expect(page.locator("#notice")).to_contain_text(f"{kind}-")


def test_a_search_without_its_shard_is_a_message(opener: Opener, file: Path) -> None:
    for shard in files(file.parent, "search"):
        shard.unlink()
    page = opener(file)
    page.locator("#search").fill("step")
    expect(page.locator("#notice")).to_contain_text(re.compile(r"search-\d+\.js could not be loaded"))


def test_a_shard_with_other_content_is_a_message(opener: Opener, file: Path) -> None:
    # Those of another run: the folder was copied in part.
    for shard in files(file.parent, "data"):
        shard.write_text('lineage.shards.receive("shards-00000000","data",0,{});')
    page = opener(file, link(step(4)))
    expect(page.locator("#notice")).to_contain_text("could not be loaded")


def test_marked_datasets_are_counted_and_listed(opener: Opener, tmp_path: Path) -> None:
    made = chain()
    made.job("other", step(4), status="failed", last_run_at=0)
    made.check("unique", step(2), status="failed")
    topic = Topic(
        "policy-failed", "violate a policy", "failed", (step(1),), ((step(1), "no owner", "set one"),)
    )
    described = Annotations(
        describe=lambda vertices: ({}, [topic] if step(1) in {each.id for each in vertices} else [])
    )
    page = opener(write(made.graph(), tmp_path / "lineage", described))
    expect(page.locator("#story .tile")).to_have_text(
        ["1last run failed", "1tests failed", "1violate a policy", "1end points", "1sources"]
    )
    page.locator("#story .tile", has_text="policy").click()
    page.locator(".window-row button").click()
    expect(page.locator("#panel .notice")).to_contain_text("no owner")
    page.go_back()
    page.locator("#story .tile", has_text="last run failed").click()
    expect(page.locator(".window-row .what")).to_have_text(["step_4"])


# As the page of one file lists them.
_LISTS = """() => {
  const { model } = lineage.app;
  const { datasets } = model;
  const titles = (members) => [...new Set(members.map((each) => each.title))].sort();
  const all = (entries) => titles(entries.flatMap((each) => each.members));
  const looks = lineage.attention.worthALook(model, datasets);
  const of = (words) => all(looks.filter((each) => each.what.includes(words)));
  return {
    end: all(lineage.attention.endPoints(model, datasets)),
    source: all(lineage.attention.sources(model, datasets)),
    unread: of(" not read"),
    deprecated: of(" is deprecated"),
    "no-owner": of(" without an owner"),
  };
}"""


def test_lists_are_those_of_the_page_of_one_file(opener: Opener, tmp_path: Path) -> None:
    made = chain()
    owned = made.dataset(WAREHOUSE, "dev.mart_0.owned", owners=("ann",), deprecation_date="2027-01-31")
    made.feeds(step(8), owned, "load")
    # A dataset that also reads itself is an end point; one that only does so is none, and has no reader.
    made.feeds(owned, owned, "load")
    alone = made.dataset(WAREHOUSE, "dev.mart_0.alone", deprecation_date="2027-01-31")
    made.feeds(alone, alone, "load")
    old = made.dataset(WAREHOUSE, "dev.mart_0.old", deprecation_date="2027-01-31")
    made.feeds(old, old, "load")
    made.feeds(old, made.dataset("s3://lake", "out/exported", label="file"), "export")
    single = tmp_path / "single.html"
    single.write_text(render(made.graph(), Options(title="one")), encoding="utf-8")
    expected = opener(single).evaluate(_LISTS)
    assert all(expected.values())

    page = opener(write(made.graph(), tmp_path / "lineage"))
    # What is no problem is not shown as one.
    expect(page.locator("#story .tile").first).to_have_text("nothing failed, nothing is stale")
    for key, listed in expected.items():
        page = opener(tmp_path / "lineage" / "index.html", f"#view=overview&mark={key}")
        expect(page.locator(".window-row .row")).to_have_count(len(listed))
        titles = page.locator(".window-row .row").evaluate_all("rows => rows.map((each) => each.title)")
        assert sorted(titles) == listed


def described() -> PageGraph:
    """Return datasets with descriptions, an alias, tags, owners and jobs."""
    made = PageGraph("prod")
    of_orders = "One row per order of a customer"
    orders = made.dataset(WAREHOUSE, "dev.mart.fact_1", ("id",), description=of_orders, tags=("a <b> & c",))
    refunds = made.dataset(WAREHOUSE, "dev.mart.fact_2", ("id",), description="Refunds of each customer")
    made.dataset(
        WAREHOUSE, "dev.mart.customer", ("id",), owners=("ann",), aliases=("s3://old|crm/kunden (a rule)",)
    )
    made.feeds(orders, refunds, "make_refunds")
    made.feeds(refunds, made.dataset("s3://lake", "out", (), "file"), "export_all")
    return made


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        # Names come first.
        ("customer", ["customer", "fact_1", "fact_2"]),
        ("custom", ["customer", "fact_1", "fact_2"]),
        ("customer refunds", ["fact_2"]),
        ("fact_1 customer", ["fact_1"]),
        ("kunden", ["customer"]),
        ("crm/kunden", ["customer"]),
        ("make", ["make_refunds"]),
        ("ann", ["ann"]),
        ("<b>", ["a <b> & c"]),
    ],
)
def test_search_finds_names_then_descriptions(
    opener: Opener, tmp_path: Path, typed: str, found: list[str]
) -> None:
    page = opener(write(described().graph(), tmp_path / "lineage"))
    page.locator("#search").fill(typed)
    expect(page.locator("#results .found")).to_have_text(found)
    # The name index, and of each word the one of words.
    assert opener.kinds() <= {"search", "word", "data", "walk"}


def test_a_tag_leads_to_its_datasets(opener: Opener, tmp_path: Path) -> None:
    page = opener(write(described().graph(), tmp_path / "lineage"))
    page.locator("#search").fill("a <b>")
    expect(page.locator("#results .where")).to_have_text("tag of 1 dataset")
    page.locator("#search").press("Enter")
    expect(page.locator(".window-row .what")).to_have_text(["fact_1"])
    page.reload()
    expect(page.locator(".catalog-head h2")).to_have_text("tag a <b> & c")
    expect(page.locator(".window-row .what")).to_have_text(["fact_1"])
    # A tag that another page had.
    page = opener(tmp_path / "lineage" / "index.html", "#view=overview&mark=tag%20other")
    expect(page.locator(".band")).to_have_count(1)


def test_a_job_leads_to_what_it_reads_and_writes(opener: Opener, tmp_path: Path) -> None:
    page = opener(write(described().graph(), tmp_path / "lineage"))
    find(page, "make_refunds")
    eventually(page, lambda: cards(page) == ["fact_1", "fact_2"])
    expect(page.locator(".frame-label")).to_have_text(["make_refunds"])
    # The filter ends with the next search.
    find(page, "fact_2")
    eventually(page, lambda: cards(page) == ["fact_1", "fact_2", "out"])


def test_hostile_names_are_shown_and_found(opener: Opener, tmp_path: Path) -> None:
    hostile = [
        "</script><script>window.hacked=1</script>",
        '<img src=x onerror="window.hacked=1">',
        "'`\"\\u0041",
        "销售订单 表",
        "x" * 3_000,
    ]
    made = PageGraph()
    for number, name in enumerate(hostile):
        source = made.dataset("s3://b", f"s/{number}", (name,), "file", name=name, description=name)
        target = made.dataset("s3://b", f"t/{number}/{name}", (name,), "file", name=name)
        made.feeds(source, target, name)
        made.column_feeds((source, name), (target, name), "TRANSFORMATION", name)
    folder = write(made.graph(), tmp_path / "lineage", title=hostile[0])
    for number, name in enumerate(hostile):
        page = opener(folder, link(f"dev|s3://b|s/{number}", name))
        expect(page.locator("#panel h2")).to_have_text(name)
        assert page.locator("#table tbody tr").count() == 2
        page.locator("#search").fill(name[:60])
        expect(page.locator("#results .found").first).to_have_text(name)
        assert page.evaluate("window.hacked") is None


def test_views_go_back_to_the_overview(opener: Opener, file: Path) -> None:
    page = opener(file, link(step(4)))
    settle(page)
    show(page, "list")
    expect(page.locator("#listing .entry", has_text="step_4")).to_have_count(1)
    show(page, "column")
    show(page, "overview")
    expect(page.locator(".band")).to_have_count(1)
    show(page, "pipeline")
    expect(card(page, "step_4")).to_have_count(1)
    for _ in range(3):
        page.keyboard.press("Escape")
    expect(page.locator(".band")).to_have_count(1)


def test_without_a_selection_other_views_ask_for_one(opener: Opener, file: Path) -> None:
    page = opener(file)
    for view in ("pipeline", "column", "list"):
        show(page, view)
        expect(page.locator("#said")).to_have_text("select a dataset, or search for one")
        expect(page.locator(".band")).to_have_count(1)


def test_filters_are_those_of_what_is_loaded(opener: Opener, file: Path) -> None:
    page = opener(file, link(step(4)))
    settle(page)
    page.locator("#filters-button").click()
    expect(page.locator("#filter-job ~ datalist option, #jobs option")).to_have_count(1)


@pytest.mark.parametrize("view", ["", "&band=prod%7Cdaily", "&mark=end", "missing", "lineage"])
def test_texts_have_contrast_and_axe_finds_nothing(opener: Opener, file: Path, view: str) -> None:
    if view == "missing":
        for shard in files(file.parent, "data"):
            shard.unlink()
    is_lineage = view in ("missing", "lineage")
    page = opener(file, link(step(4)) if is_lineage else f"#view=overview{view}")
    page.wait_for_selector({"missing": "#retry", "lineage": "#cards .is-start"}.get(view, ".window-row"))
    check_both_themes(page)
    assert axe_findings(page) == []


def test_a_phone_shows_the_overview_and_lists(opener: Opener, file: Path) -> None:
    page = opener(file)
    page.set_viewport_size({"width": 390, "height": 844})
    page = opener(file)
    page.locator(".group-chip", has_text="dev.mart_1").click()
    for touched in page.locator("#story button, .window-row button, .catalog-head button").all():
        assert touched.evaluate("each => each.offsetHeight") >= 44
    page.locator(".window-row", has_text="step_4").locator("button").click()
    expect(page.locator("#panel h2")).to_have_text("step_4")
    page.set_viewport_size({"width": 1440, "height": 900})
