"""The shards of a page hold what a page of one file does, without secrets, whatever the names."""

import json
import random
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.exporters.page import Options, Topic
from lineage_merge.exporters.page.data import freshness_rows, page_data
from lineage_merge.exporters.page.sharded import Annotations, Scope, batches, names, write_sharded
from lineage_merge.exporters.page.sharded.batches import order_by_lineage
from lineage_merge.exporters.page.sharded.catalog import group_of
from lineage_merge.exporters.page.sharded.names import NameIndex, Place, key_text, keys_of, words_of
from lineage_merge.graph_format.elements import Subgraph
from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import column_id
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from tests.page import shop_page
from tests.page.page_graphs import WAREHOUSE, PageGraph, large
from tests.page.sharded_page import (
    Fact,
    about,
    facts_of,
    facts_of_datasets,
    files,
    read,
    rows,
    small_shards,
    write,
)

__all__ = ["small_shards"]
pytestmark = pytest.mark.usefixtures("small_shards")

SECRET = "hunter2"


def chain(length: int = 9) -> PageGraph:
    """Return datasets of which each is made from the one before, by one job."""
    made = PageGraph("prod")
    ids = [made.dataset(WAREHOUSE, f"dev.mart_{n % 3}.t{n}", ("id", "price")) for n in range(length)]
    for source, target in pairwise(ids):
        made.feeds(source, target, "load")
        made.column_feeds((source, "price"), (target, "price"), "TRANSFORMATION", "price + 1")
    made.job("load", *ids, last_run_at=0, status="succeeded")
    made.check("unique", ids[0], ids[-1], status="failed", failures=2)
    return made


def read_facts(folder: Path) -> tuple[list[dict[str, Any]], set[Fact]]:
    """Return the shards of data, and what they say."""
    shards = read(folder, "data")
    datasets = {
        start + at: dataset
        for start, shard in zip(about(folder)["starts"], shards, strict=True)
        for at, dataset in enumerate(shard["datasets"])
    }
    return shards, {fact for shard in shards for fact in facts_of(shard, datasets)}


@pytest.mark.parametrize(
    "graph", [shop_page.shop(), large(60), chain().graph()], ids=["shop", "large", "chain"]
)
def test_shards_say_what_the_page_of_one_file_says(graph: Subgraph, tmp_path: Path) -> None:
    assessed = shop_page.assessed(graph, shop_page.NOW)
    write(graph, tmp_path / "lineage", Annotations(freshness_rows(assessed)))

    shards, said = read_facts(tmp_path / "lineage")
    whole = page_data(graph, assessed)
    assert len(shards) > 1
    assert said == set(facts_of(whole, dict(enumerate(whole["datasets"]))))
    assert {fact for shard in shards for fact in facts_of_datasets(shard)} == set(facts_of_datasets(whole))


def test_batches_of_any_size_give_the_same_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = []
    for size in (1, 1_000):
        monkeypatch.setattr(batches, "_FIRST_BATCH", size)
        monkeypatch.setattr(batches, "_ELEMENTS", size)
        write(large(40), tmp_path / str(size))
        shards, said = read_facts(tmp_path / str(size))
        ids = [each["id"] for shard in shards for each in shard["datasets"]]
        contents.append((ids, said, rows(tmp_path / str(size), "walk")))
    assert contents[0] == contents[1]


def test_walks_lead_to_what_feeds_and_what_is_fed(tmp_path: Path) -> None:
    write(chain(5).graph(), tmp_path / "lineage")
    ids = [each["id"] for shard in read(tmp_path / "lineage", "data") for each in shard["datasets"]]
    walks = rows(tmp_path / "lineage", "walk")
    pairs = {(ids[at + apart], ids[at]) for at, (up, _) in enumerate(walks) for apart in up}
    assert pairs == {(ids[at], ids[at + apart]) for at, (_, down) in enumerate(walks) for apart in down}
    assert pairs == {(edge.from_id, edge.to_id) for edge in chain(5).graph().edges if edge.label == "feeds"}


def test_walks_lead_along_columns_without_a_feed(tmp_path: Path) -> None:
    made = PageGraph()
    ids = [made.dataset(WAREHOUSE, f"dev.mart.t{n}", ("id",)) for n in range(3)]
    made.column_feeds((ids[0], "id"), (ids[1], "id"))
    made.influences((ids[0], "id"), ids[2])
    write(made.graph(), tmp_path / "lineage")
    assert rows(tmp_path / "lineage", "walk") == [[[], [1, 2]], [[-1], []], [[-2], []]]


def test_runs_of_a_job_are_where_it_feeds_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_FIRST_BATCH", 1)
    monkeypatch.setattr(batches, "_ELEMENTS", 1)
    made = PageGraph()
    raw = made.dataset("s3://b", "raw", (), "file")
    # Its writing was recorded for another dataset only.
    made.job("load", made.dataset(WAREHOUSE, "dev.a.other"), status="failed", last_run_at=0)
    made.dataset(WAREHOUSE, "dev.b.between")
    made.feeds(raw, made.dataset(WAREHOUSE, "dev.z.mart"), "load")
    write(made.graph(), tmp_path / "lineage")
    _, said = read_facts(tmp_path / "lineage")
    jobs = [job for shard in read(tmp_path / "lineage", "data") for job in shard["jobs"]]
    assert len(jobs) == 2
    assert all(job["facts"] for job in jobs)
    assert {fact[1] for fact in said if fact[0] == "job"} == {"dev|daily|spark|load"}


def test_what_is_counted_in_the_whole_graph_is_in_the_shard(tmp_path: Path) -> None:
    write(chain(5).graph(), tmp_path / "lineage")
    shards = read(tmp_path / "lineage", "data")
    assert {job["written"] for shard in shards for job in shard["jobs"]} == {5}
    sides = sorted(each["sides"] for shard in shards for each in shard["datasets"])
    assert sides == [[0, 1], [1, 0], [1, 1], [1, 1], [1, 1]]


def test_datasets_that_feed_each_other_are_neighbours() -> None:
    feeds = [("a", "z"), ("z", "m"), ("b", "y"), ("elsewhere", "b")]
    assert order_by_lineage({"a", "b", "m", "n", "y", "z"}, feeds) == ["a", "z", "m", "b", "y", "n"]


def test_no_password_reaches_shards_and_index(tmp_path: Path) -> None:
    made = PageGraph()
    url = f"jdbc:postgresql://u:{SECRET}@h/d?password={SECRET}"
    source = made.dataset(
        f"https://u:{SECRET}@h", f"raw/?password={SECRET}", (f"x https://u:{SECRET}@h",), "file", location=url
    )
    target = made.dataset("s3://b", "z", ("c",), "file", aliases=(url,), description=url, name=url)
    made.feeds(source, target, f"job https://u:{SECRET}@h", via=url)
    made.column_feeds((source, f"x https://u:{SECRET}@h"), (target, "c"), "TRANSFORMATION", f"read('{url}')")
    made.check("unique", target, status="failed", description=url)
    topic = Topic("policy-failed", "violate a policy", "failed", (source,), ((source, url, url),))
    folder = tmp_path / "lineage"
    write(made.graph(), folder, Annotations(describe=lambda _: ({}, [topic])), title=url)

    texts = {file.name: file.read_text(encoding="utf-8") for file in [*files(folder), folder / "index.html"]}
    assert {name for name, text in texts.items() if SECRET in text} == set()
    # The lists and the index of names have these datasets.
    assert {row[0] for row in rows(folder, "name")} >= {redact(url)}
    assert {"policy-failed", "end", "source"} <= {mark[0] for mark in about(folder)["marks"] if mark[4]}
    assert rows(folder, "word")


HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<!--lineage:data-->",
    'it\'s "quoted" \\u0041 `${1}`',
    "line\u2028and\u2029paragraph",
    "unpaired \ud800 surrogate",
    "__proto__",
    "...",
    "x" * 20_000,
]


def test_hostile_names_stay_text_in_shards(tmp_path: Path) -> None:
    made = PageGraph()
    for number, name in enumerate(HOSTILE):
        source = made.dataset("s3://b", f"s/{number}", (name,), "file", name=name, description=name)
        made.feeds(source, made.dataset("s3://b", f"t/{number}", name=name), name)
    write(made.graph(), tmp_path / "lineage")
    assert {row[0] for row in rows(tmp_path / "lineage", "name")} == set(HOSTILE)
    for file in files(tmp_path / "lineage"):
        assert not set(file.read_text(encoding="utf-8")) & set("<>&\u2028\u2029")


def test_the_policy_allows_no_address(tmp_path: Path) -> None:
    page = write(chain().graph(), tmp_path / "lineage").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert re.fullmatch(r"'sha256-[^']+' 'strict-dynamic'", rules.pop("script-src"))
    assert re.fullmatch(r"'sha256-[^']+'", rules.pop("style-src"))
    assert set(rules.values()) == {"'none'"}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        (
            "dev.Schema_1.OrderItems",
            {"dev.schema_1.orderitems", "schema_1.orderitems", "1.orderitems", "orderitems", "items"},
        ),
        ("s3://b/x", {"s3://b/x", "b/x", "x"}),
        ("...", {"..."}),
        ("销售_表", {"销售_表", "表"}),
        ("a" * 100, {"a" * 40}),
    ],
)
def test_names_are_found_by_the_beginnings_of_their_words(name: str, keys: set[str]) -> None:
    assert set(map(key_text, keys_of(name))) == keys


def test_an_index_that_does_not_fit_into_memory_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [Place(number, f"dev.t{number}", "table", "dev") for number in range(100)]
    random.Random(7).shuffle(places)
    found: list[Any] = []
    monkeypatch.setattr(names, "MOST_OF_WORD", 7)
    for most in (10, 1_000_000):
        monkeypatch.setattr(names, "_IN_MEMORY", most)
        folder = tmp_path / str(most)
        folder.mkdir()
        index = NameIndex(folder)
        for place in places:
            index.add(place, f"t{place.number}", ["id", f"c{place.number % 7}"], ["load"])
            index.add_words(place, f"t{place.number}", "Orders of a day", [])
        found.append([(row.key, row.name, row.total) for row in index.rows()])
        # Of a common name, some datasets; of a common word, too.
        assert max(len(row.datasets) for row in index.rows()) == names.MOST_DATASETS
        assert [key_text(row.key) for row in index.rows() if row.kind == names.WORDS] == ["day"] * 7 + [
            "orders"
        ] * 7
        assert bool(list(folder.iterdir())) == (most == 10)
    assert found[0] == found[1]
    assert {("id", 100), ("load", 100)} <= {(name, count) for _, name, count in found[0]}
    by_name = [key for key, _, _ in found[0]][:-14]
    assert by_name == sorted(by_name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One row per order, with the customer.", ["row", "order", "customer"]),
        ("Orders of orders: ORDERS", ["orders"]),
        ("in_stock at a id", ["in_stock"]),
        (" ".join(f"word{number}" for number in range(99)), [f"word{number}" for number in range(10)]),
        ("x" * 100, ["x" * 40]),
        ("", []),
    ],
)
def test_the_first_words_of_a_description_are_found(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_an_alias_is_found_by_the_words_of_its_name(tmp_path: Path) -> None:
    index = NameIndex(tmp_path)
    place = Place(0, "dev.mart.orders", "table", "dev")
    index.add_words(place, "orders", "", ["s3://b|", "s3://lake|crm/old_orders (a rule)", "jdbc:x"])
    assert [key_text(row.key) for row in index.rows()] == [
        "crm/old_orders",
        "jdbc:x",
        "old_orders",
        "orders",
        "x",
    ]
    assert {row.more for row in index.rows()} == {"crm/old_orders jdbc:x"}


def found_by_name(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return the names of the datasets of each tag and owner."""
    listed = rows(folder, "mark")
    return {
        (row[1], row[0]): [each[0] for each in listed[row[2] :][: row[3]]]
        for row in rows(folder, "search")
        if row[1] in ("tag", "owner")
    }


def test_tags_and_owners_are_also_those_of_columns_and_jobs(tmp_path: Path) -> None:
    made = PageGraph()
    raw = made.dataset("s3://b", "raw", ("mail",), "file", tags=("pii", "raw"), owners=("ann",))
    mart = made.dataset(WAREHOUSE, "dev.mart.orders", ("mail", "id"), owners=("ben",))
    made.job("load", raw, mart, owners=("cat",))
    graph = made.graph()
    mail = graph.vertices[column_id(mart, "mail")]
    tagged = replace(mail, properties={**mail.properties, "tags": ("pii",)})
    write(Subgraph({**graph.vertices, mail.id: tagged}, graph.edges), tmp_path / "lineage")
    assert found_by_name(tmp_path / "lineage") == {
        ("tag", "pii"): ["orders", "raw"],
        ("tag", "raw"): ["raw"],
        ("owner", "ann"): ["raw"],
        ("owner", "ben"): ["orders"],
        ("owner", "cat"): ["orders", "raw"],
    }


def test_many_tags_do_not_enlarge_the_index(tmp_path: Path) -> None:
    sizes = []
    for number in (1, 3_000):
        made = PageGraph()
        made.dataset("s3://b", "raw", tags=tuple(f"tag_{each}" for each in range(number)))
        folder = tmp_path / str(number)
        write(made.graph(), folder)
        known = about(folder)
        sizes.append(len(json.dumps({**known, "beginnings": {}})))
        assert len(found_by_name(folder)) == number
    assert abs(sizes[1] - sizes[0]) < 20


def test_a_job_is_found_once_in_each_environment(tmp_path: Path) -> None:
    made = PageGraph()
    for environment in ("dev", "prod"):
        made.environment = environment
        for number in range(5):
            target = made.dataset(WAREHOUSE, f"dev.mart.t{number}")
            made.job("load_orders", target, dag="daily")
            made.job("load_orders", target, dag="weekly")
    write(made.graph(), tmp_path / "lineage")
    jobs = [row for row in rows(tmp_path / "lineage", "search") if row[1] == "job"]
    # By each of its words.
    assert len(jobs) == 4
    assert {(name, place[1], count) for name, _, place, count in jobs} == {("load_orders", "dev.mart.t0", 5)}
    assert {place[3] for _, _, place, _ in jobs} == {0, 1}


def test_without_any_owner_no_dataset_lacks_one(tmp_path: Path) -> None:
    write(chain().graph(), tmp_path / "lineage")
    assert {mark[0]: mark[4] for mark in about(tmp_path / "lineage")["marks"]}["no-owner"] == 0


@pytest.mark.parametrize(
    ("dataset", "group"),
    [
        (("table", WAREHOUSE, "dev.mart.orders", "dev.mart.orders"), (WAREHOUSE, "dev.mart")),
        (("file", "s3://b", "raw/2026/orders", "s3://b/raw/2026/orders"), ("s3://b", "raw/2026")),
        (("file", "s3://b", "orders", "s3://b/orders"), ("s3://b", "s3://b")),
        (("exposure", "dbt://shop", "board", "board"), ("dbt://shop", "dashboards")),
    ],
)
def test_groups_are_schemas_and_folders(dataset: tuple[str, ...], group: tuple[str, str]) -> None:
    assert group_of(dict(zip(("kind", "namespace", "path", "title"), dataset, strict=True))) == group


def test_bands_count_their_groups_and_marks(tmp_path: Path) -> None:
    made = PageGraph("dev", "daily")
    raw = made.dataset("s3://b", "raw/a", (), "file", dag="daily")
    mart = made.dataset(WAREHOUSE, "dev.mart.a", dag="weekly")
    made.dataset(WAREHOUSE, "dev.mart.b", environment="prod")
    made.feeds(raw, mart, "load", dag="weekly")
    made.job("load", mart, dag="weekly", status="failed", last_run_at=0)
    made.check("unique", raw, status="failed", severity="warn")
    write(made.graph(), tmp_path / "lineage")

    known = about(tmp_path / "lineage")
    assert [(band["environment"], band["dag"], band["names"], band["groups"]) for band in known["bands"]] == [
        ("prod", "daily", [0, 1], [0, 1]),
        ("dev", "daily", [1, 1], [1, 1]),
        ("dev", "weekly", [2, 1], [2, 1]),
    ]
    marks = {
        known["marks"][at][0]: (band["dag"], number)
        for band in known["bands"]
        for at, number in band["marks"]
    }
    # Lists of many datasets, such as end points, are not marks of a band or a dataset.
    assert marks == {"failed": ("weekly", 1), "tests-warned": ("daily", 1)}
    listed = rows(tmp_path / "lineage", "mark")
    assert {
        mark[0]: [row[0] for row in listed[mark[3] :][: mark[4]]] for mark in known["marks"] if mark[4]
    } == {
        "failed": ["a"],
        "tests-warned": ["a"],
        "end": ["a"],
        "source": ["a"],
    }


def test_writing_again_replaces_the_shards(tmp_path: Path) -> None:
    folder = tmp_path / "lineage"
    write(chain(9).graph(), folder)
    (folder / "notes.txt").write_text("mine")
    before = {file.parent for file in files(folder)}
    write(chain(2).graph(), folder)
    assert {file.parent.name for file in files(folder)} == {about(folder)["folder"]}
    assert not any(old.exists() for old in before)
    assert (folder / "notes.txt").exists()


def test_a_page_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("my site")
    with pytest.raises(
        ConfigError, match=r"index\.html that is not of a page with shards\. Fix: name a new folder"
    ):
        write(chain().graph(), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["index.html"]


def test_a_page_is_of_its_scope(tmp_path: Path) -> None:
    made = PageGraph("dev", "daily")
    raw = made.dataset("s3://b", "a", ("c",), "file")
    made.feeds(raw, made.dataset(WAREHOUSE, "dev.mart.a", dag="weekly"), dag="weekly")
    graph = InMemory(made.graph().vertices.values(), made.graph().edges)
    written = write_sharded(graph, str(tmp_path / "one"), Options(), Scope(dag="daily"))
    assert (written.datasets, written.columns) == (1, 1)
    assert [shard["feeds"] for shard in read(tmp_path / "one", "data")] == [[]]
    with pytest.raises(NotFound, match="unknown DAG: typo"):
        write_sharded(graph, str(tmp_path / "two"), Options(), Scope(dag="typo"))


def test_progress_counts_datasets(tmp_path: Path) -> None:
    graph = chain().graph()
    lines: list[str] = []
    source = InMemory(graph.vertices.values(), graph.edges)
    write_sharded(source, str(tmp_path / "lineage"), Options(), on_progress=lines.append)
    assert "writing shards (9 of 9 datasets)" in lines


def test_an_empty_graph_has_an_empty_page(tmp_path: Path) -> None:
    write(PageGraph().graph(), tmp_path / "lineage")
    assert about(tmp_path / "lineage")["bands"] == []
    assert json.dumps(about(tmp_path / "lineage")["starts"]) == "[]"
