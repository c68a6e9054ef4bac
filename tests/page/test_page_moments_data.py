"""Several moments in one page's data: what each has, sizes, passwords, limits."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from lineage_merge.exporters.page import Options, PageMoment, render, render_moments
from lineage_merge.exporters.page.data import page_data
from lineage_merge.exporters.page.document import document
from lineage_merge.exporters.page.moments import moments_data
from lineage_merge.graph_format.elements import Subgraph, Vertex, subgraph
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.traversal.lineage_changes import Change, compare_pictures
from tests.page import compared_page, shop_page
from tests.page.page_graphs import WAREHOUSE, PageGraph, large
from tests.page.page_reading import Opened


def changes_of(graphs: list[Subgraph]) -> dict[tuple[int, int], list[Change]]:
    pictures = [InMemory(each.vertices.values(), each.edges) for each in graphs]
    pairs = combinations(range(len(graphs)), 2)
    return {(a, b): compare_pictures(pictures[a], pictures[b]) for a, b in pairs}


def moments_of(graphs: list[Subgraph]) -> list[PageMoment]:
    return [PageMoment(f"k{at}", f"2026-01-0{at + 1} 00:00 UTC", each) for at, each in enumerate(graphs)]


def rendered(graphs: list[Subgraph]) -> str:
    return render_moments(moments_of(graphs), changes_of(graphs), Options(title="x"))


def content(data: dict[str, Any]) -> dict[str, set[str]]:
    """What a page shows, with names instead of indexes."""
    datasets, jobs, dags = data["datasets"], data["jobs"], data["dags"]

    def text(*values: Any) -> str:
        return json.dumps(values, sort_keys=True)

    def column(at: int, number: int) -> str:
        return str(
            datasets[at]["id"] + "#" + datasets[at]["columns"][number][0]
            if number >= 0
            else datasets[at]["id"]
        )

    def job(at: int) -> list[str]:
        return [jobs[at]["environment"], dags[jobs[at]["dag"]], jobs[at]["type"], jobs[at]["name"]]

    def trimmed(row: list[Any]) -> list[Any]:
        return row if len(row) < 4 or row[3] else row[:3]

    plain = ("id", "kind", "name", "title", "namespace", "path", "environment", "facts")
    return {
        "datasets": {
            text(*(each[key] for key in plain), sorted(dags[at] for at in each["dags"])) for each in datasets
        },
        "columns": {text(each["id"], [trimmed(row) for row in each["columns"]]) for each in datasets},
        "jobs": {text(job(at), each["facts"]) for at, each in enumerate(jobs)},
        "feeds": {text(datasets[a]["id"], datasets[b]["id"], job(j), f) for a, b, j, f in data["feeds"]},
        "column_feeds": {
            text(column(a, c), column(b, d), job(j), how) for a, c, b, d, j, *how in data["column_feeds"]
        },
        "influences": {
            text(column(a, c), datasets[b]["id"], job(j), h) for a, c, b, j, h in data["influences"]
        },
        "writes": {text(job(j), datasets[at]["id"]) for j, at in data["writes"]},
        "assertions": {
            text(*row[:6], sorted(column(*each) for each in row[6]), *row[7:]) for row in data["assertions"]
        },
    }


def restored_data(page: Page, at: int) -> dict[str, Any]:
    """The data of a moment as the page reads it."""
    data = "JSON.parse(document.getElementById('data').textContent)"
    script = f"at => lineage.moments.restore({data}, {{at, from: null}}).data"
    found: dict[str, Any] = page.evaluate(script, at)
    return found


def restored(page: Page, at: int) -> dict[str, set[str]]:
    """What the page shows as of a moment."""
    return content(restored_data(page, at))


def scripted(folder: Path) -> list[Subgraph]:
    compared_page.write(str(folder / "history"))
    return [each.graph for each in compared_page.moments(str(folder / "history")).moments]


def shops() -> list[Subgraph]:
    """A dbt project with tests and facts of columns; each moment lacks and changes other parts."""
    whole = shop_page.shop()

    def varied(moment: int) -> Subgraph:
        vertices = []
        for at, each in enumerate(whole.vertices.values()):
            if (at + moment) % 9 == 0 and moment:
                continue
            if (at + moment) % 4 == 0:
                each = replace(
                    each, properties={**each.properties, "tags": (f"t{moment}",), "data_type": f"d{moment}"}
                )
            vertices.append(each)
        return subgraph(vertices, (each for at, each in enumerate(whole.edges) if (at + moment) % 7))

    return [varied(2), varied(0), varied(1)]


@pytest.mark.parametrize("which", ["scripted", "shop"])
def test_each_moment_is_the_picture_of_a_page_of_that_moment(
    opened: Opened, tmp_path: Path, which: str
) -> None:
    graphs = scripted(tmp_path) if which == "scripted" else shops()
    file = tmp_path / "moments.html"
    file.write_text(rendered(graphs), encoding="utf-8")
    page = opened(file)
    for at, graph in enumerate(graphs):
        assert restored(page, at) == content(page_data(graph))


def test_each_moment_has_the_freshness_of_its_time(opened: Opened, tmp_path: Path) -> None:
    compared_page.write(str(tmp_path / "history"))
    # Jobs run in the morning; the first two moments are ends of days.
    found = compared_page.moments(str(tmp_path / "history"), older_than_ms=12 * 3_600_000)
    written = {compared_page.ORDERS, compared_page.REVENUE}
    statuses = [
        {each.status for each in moment.freshness if each.dataset.id.removeprefix("dev|") in written}
        for moment in found.moments
    ]
    assert statuses == [{"stale"}, {"stale"}, {"fresh"}]
    file = tmp_path / "moments.html"
    file.write_text(compared_page.rendered(found), encoding="utf-8")
    page = opened(file)
    for at, moment in enumerate(found.moments):
        shown = {each["id"]: each["freshness"][0] for each in restored_data(page, at)["datasets"]}
        assert shown == {each.dataset.id: each.status for each in moment.freshness}


def test_the_embedded_changes_are_those_of_the_comparison(tmp_path: Path) -> None:
    compared_page.write(str(tmp_path))
    found = compared_page.moments(str(tmp_path))
    data = moments_data(found.moments, found.changes)
    kinds = ("dataset", "job", "feed", "column", "expression")
    actions = ("added", "removed", "changed")

    def named(kind: str, at: Any) -> str:
        assert at not in (-1, [-1, -1])
        if kind == "job":
            return str(data["jobs"][at]["name"])
        if kind in ("dataset", "feed"):
            return str(data["datasets"][at]["id"])
        return f"{data['datasets'][at[0]]['id']}|{data['datasets'][at[0]]['columns'][at[1]][0]}"

    for pair, changes in found.changes.items():
        embedded = {
            (
                kinds[kind],
                actions[action],
                named(kinds[kind], at),
                named(kinds[kind], source) if source else "",
            )
            for kind, action, at, source, _ in data["moments"]["changes"][f"{pair[0]},{pair[1]}"]
        }
        ids = {
            (
                each.kind,
                each.action,
                each.id.rpartition("|")[2] if each.kind == "job" else each.id,
                each.source,
            )
            for each in changes
        }
        assert embedded == ids
    assert len(found.changes[0, 2]) == 15


def test_three_moments_cost_little_more_than_one() -> None:
    whole = large(1000)

    def varied(moment: int) -> Subgraph:
        """Without one per cent of the vertices, and with other types of one per cent."""
        vertices = []
        for at, each in enumerate(whole.vertices.values()):
            if moment and (at * 7 + moment) % 100 == 0:
                continue
            is_other = each.label == "column" and (at + moment) % 100 == 0
            vertices.append(
                Vertex(each.id, each.label, {**each.properties, "data_type": f"t{moment}"})
                if is_other
                else each
            )
        return subgraph(vertices, whole.edges)

    graphs = [varied(2), varied(1), varied(0)]
    one = len(render(graphs[2], Options()).encode())
    assert len(rendered(graphs).encode()) < 1.3 * one
    assert len(rendered([graphs[2]] * 3).encode()) < 1.06 * one


def test_no_password_reaches_the_page_in_changes() -> None:
    def graph(word: str) -> Subgraph:
        made = PageGraph()
        source = made.dataset(
            "s3://b", "x", ("a",), "file", location=f"jdbc:postgresql://u:{word}@h/d?password={word}"
        )
        target = made.dataset(WAREHOUSE, "dev.y", ("b",), description=f"see https://u:{word}@wiki/x")
        made.feeds(source, target, via=f"https://u:{word}@h/tmp")
        made.column_feeds((source, "a"), (target, "b"), "TRANSFORMATION", f"connect('password={word}')")
        return made.graph()

    page = rendered([graph("hunter2"), graph("hunter3")])
    assert "hunter" not in page


def test_a_page_without_moments_has_nothing_of_them() -> None:
    page = render(shop_page.shop(), Options())
    assert "lineage.compare =" not in page
    assert ".moments{" not in page


def test_the_page_of_moments_without_data_is_small() -> None:
    empty = document({**moments_data([], {}), "title": "", "made_at": ""})
    assert len(empty.encode()) < 287_000


def test_moments_are_sorted_and_named(tmp_path: Path) -> None:
    compared_page.write(str(tmp_path))
    found = compared_page.moments(str(tmp_path), ["2026-01-02", "000000000001", "2026-01-02T23:59:59.999"])
    assert [(each.key, each.name) for each in found.moments] == [
        ("2026-01-01T04:00:00Z", "2026-01-01 04:00 UTC"),
        ("2026-01-02T23:59:59Z", "2026-01-02 23:59 UTC"),
        ("2026-01-03T23:59:59Z", "2026-01-03 23:59 UTC"),
    ]
    assert found.moments[0].merges == ("daily in dev: merge 000000000001 of 2026-01-01 04:00:00 UTC",)
    close = compared_page.moments(str(tmp_path), ["2026-01-03T10:00:01"], "2026-01-03T10:00:02")
    assert [each.name for each in close.moments] == ["2026-01-03 10:00:01 UTC", "2026-01-03 10:00:02 UTC"]


def test_a_focus_has_the_lineage_of_all_moments(tmp_path: Path) -> None:
    compared_page.write(str(tmp_path))
    found = compared_page.moments(str(tmp_path), focus="orders_csv")
    assert [{each.name for each in moment.graph.datasets} for moment in found.moments] == [
        {"orders", "orders_csv"},
        {"orders", "orders_csv"},
        {"orders"},
    ]
    assert {(each.kind, each.action, each.title) for each in found.changes[1, 2]} == {
        ("dataset", "removed", "s3://shop-export/orders_csv"),
        ("job", "removed", "export_orders"),
        ("feed", "removed", "dev.public.orders -> s3://shop-export/orders_csv"),
    }
    with pytest.raises(NotFound):
        compared_page.moments(str(tmp_path), focus="unknown")


@pytest.mark.parametrize(
    ("earlier", "newest", "message"),
    [
        (["2026-01-03"], "2026-01-02", "2026-01-03 is later than 2026-01-02 23:59:59 UTC"),
        ([f"2026-01-0{day}" for day in range(1, 9)], "2026-01-09", "more than 7 moments: 8"),
        (["soon"], "2026-01-03", "--moment: not a time: soon"),
    ],
)
def test_wrong_moments(tmp_path: Path, earlier: list[str], newest: str, message: str) -> None:
    compared_page.write(str(tmp_path))
    with pytest.raises(ConfigError, match=message):
        compared_page.moments(str(tmp_path), earlier, newest)
