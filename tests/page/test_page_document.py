"""The HTML document: content, escaping, content security policy, determinism."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.exporters.page import Options, render, selection
from lineage_merge.exporters.page.data import page_data
from lineage_merge.exporters.page.document import escape_json
from lineage_merge.graph_format.elements import Vertex, subgraph
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.questions.backends.in_memory import InMemory
from tests.page.page_graphs import WAREHOUSE, PageGraph


class Scripts(HTMLParser):
    """Collects the texts of script and style elements, and the addresses in attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {"script": [], "style": [], "data": []}
        self.addresses: list[str] = []
        self._in = ""
        self.policy = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href", "action", "srcset")]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        self._in = "data" if given.get("id") == "data" else tag

    def handle_data(self, data: str) -> None:
        if self._in in self.texts:
            self.texts[self._in].append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def two() -> PageGraph:
    made = PageGraph()
    raw = made.dataset("s3://b", "raw/orders", ("id", "price"), "file", description="as they come")
    mart = made.dataset(WAREHOUSE, "dev.mart.orders", ("total",), tags=("gold", "daily"))
    made.feeds(raw, mart, "load", write_mode="append")
    made.column_feeds((raw, "price"), (mart, "total"), "AGGREGATION", "sum(price)")
    made.influences((raw, "id"), mart, "GROUP_BY")
    return made


def test_page_data_contains_the_graph() -> None:
    data = page_data(two().graph())
    assert [each["title"] for each in data["datasets"]] == ["dev.mart.orders", "s3://b/raw/orders"]
    assert [each["kind"] for each in data["datasets"]] == ["table", "file"]
    assert data["datasets"][1]["columns"] == [["id", "int", ""], ["price", "int", ""]]
    assert ["tags", "gold\ndaily"] in data["datasets"][0]["facts"]
    assert [(each["name"], each["type"]) for each in data["jobs"]] == [("load", "spark")]
    assert data["feeds"] == [[1, 0, 0, [["write mode", "append"]]]]
    assert data["column_feeds"] == [[1, 1, 0, 0, 0, "AGGREGATION", "sum(price)"]]
    assert data["influences"] == [[1, 0, 0, 0, "GROUP_BY"]]
    assert data["writes"] == []
    assert data["dags"] == ["daily"]


def test_assumed_edges_say_so() -> None:
    made = two()
    made.column_feeds(
        ("dev|s3://b|raw/orders", "id"), (f"dev|{WAREHOUSE}|dev.mart.orders", "total"), assumed="true"
    )

    found = {tuple(each) for each in page_data(made.graph())["column_feeds"]}
    assert found == {(1, 1, 0, 0, 0, "AGGREGATION", "sum(price)"), (1, 0, 0, 0, 0, "IDENTITY", "", True)}


def test_columns_are_ordered_by_position() -> None:
    made = PageGraph()
    made.dataset("s3://b", "x", ("zebra", "ant", "mouse"), "file")
    assert [name for name, _, _ in page_data(made.graph())["datasets"][0]["columns"]] == [
        "zebra",
        "ant",
        "mouse",
    ]


def test_jobs_have_facts() -> None:
    made = two()
    job = Vertex(
        "dev|daily|spark|load",
        "job",
        {"environment": "dev", "dag_name": ("daily",), "name": "load", "job_type": "spark", "last_run_at": 0},
    )
    graph = made.graph()
    data = page_data(type(graph)({**graph.vertices, job.id: job}, graph.edges))
    assert data["jobs"][0]["facts"] == [["last run at", "1970-01-01 00:00:00 UTC"]]


def test_no_password_reaches_the_page() -> None:
    made = PageGraph()
    made.dataset("s3://b", "x", label="file", location="jdbc:postgresql://u:hunter2@h/d?password=hunter2")
    made.feeds(
        made.dataset("s3://b", "y", label="file", description="see https://u:hunter2@wiki/x", dag="d"),
        made.dataset("s3://b", "z", label="file", aliases=("jdbc:redshift://h/d?user=u&password=hunter2",)),
        via="https://u:hunter2@h/tmp",
    )
    page = render(made.graph(), Options(title="https://u:hunter2@h", source="wss://u:hunter2@h:8182/gremlin"))
    assert "hunter2" not in page
    assert "wss://h:8182" in page or "h:8182/gremlin" in page


def test_the_policy_allows_only_the_pages_scripts_and_styles() -> None:
    found = Scripts(render(two().graph(), Options()))
    hashes = set(re.findall(r"'sha256-([^']+)'", found.policy))
    texts = [*found.texts["script"], *found.texts["style"]]
    assert hashes == {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts}
    assert "default-src 'none'" in found.policy
    assert "unsafe" not in found.policy
    assert all(address.startswith("#") for address in found.addresses)


def test_rendering_is_independent_of_order() -> None:
    graph = two().graph()
    turned = subgraph(reversed(list(graph.vertices.values())), reversed(graph.edges))
    options = Options(title="x", focus="dev|s3://b|raw/orders")
    assert render(turned, options) == render(graph, options)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_data_round_trips(data: object) -> None:
    text = escape_json(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&\u2028\u2029")
    text.encode()


def test_the_title_is_escaped() -> None:
    page = render(PageGraph().graph(), Options(title="</title><script>alert(1)</script>"))
    assert "<script>alert" not in page


def graph_of(made: PageGraph) -> InMemory:
    graph = made.graph()
    return InMemory(graph.vertices.values(), graph.edges)


def test_more_datasets_than_the_maximum_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_DATASETS", 1)
    with pytest.raises(ConfigError, match="--focus"):
        selection.entire_graph(graph_of(two()))


@pytest.mark.parametrize(
    ("environment", "dag", "message", "known"),
    [
        (None, "typo", "unknown DAG: typo; the graph has:", ("daily",)),
        ("dev", "typo", "unknown DAG: typo; dev has:", ("daily",)),
        ("typo", None, "unknown environment: typo; the graph has:", ("dev",)),
        ("typo", "daily", "unknown environment: typo; the graph has:", ("dev",)),
    ],
)
def test_an_unknown_environment_or_dag_is_an_error(
    environment: str | None, dag: str | None, message: str, known: tuple[str, ...]
) -> None:
    made = two()
    graph = made.graph()
    job = Vertex("job|x", "job", {"environment": "dev", "dag_name": ("daily",), "name": "x"})
    with pytest.raises(NotFound) as refused:
        selection.entire_graph(InMemory([*graph.vertices.values(), job], graph.edges), environment, dag)
    assert (refused.value.message, refused.value.candidates) == (message, known)


def test_an_empty_graph_yields_an_empty_page() -> None:
    assert len(selection.entire_graph(InMemory([], []), "dev").datasets) == 0
    with pytest.raises(NotFound, match="unknown DAG: typo; dev has none"):
        selection.entire_graph(InMemory([], []), "dev", "typo")


def test_the_neighborhood_of_a_column_is_that_of_its_dataset() -> None:
    start, graph = selection.neighborhood(graph_of(two()), "s3://b/raw/orders#price")
    assert start.id == "dev|s3://b|raw/orders"
    assert {each.title for each in graph.datasets} == {"s3://b/raw/orders", "dev.mart.orders"}
    assert {each.label for each in graph.edges} == {"feeds", "has_column", "feeds_column", "influences"}
