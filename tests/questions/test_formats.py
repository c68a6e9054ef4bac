"""Text formats of a subgraph, also with hostile names."""

import json
import re
from xml.etree import ElementTree

import pytest

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, subgraph
from lineage_merge.model.elements import DatasetName, dataset_id
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.formats.conversions import as_json, json_text
from lineage_merge.questions.formats.diagrams import dot, escape, mermaid
from lineage_merge.questions.formats.graphml import graphml
from lineage_merge.questions.formats.tree import tree
from lineage_merge.questions.lineage import all_paths
from lineage_merge.questions.traversal.lineage import complete_subgraph, lineage
from tests.lineage_made import at, col, pipeline

HOSTILE = [
    'say "hi"',
    "it's; drop",
    "line\nfeed",
    "carriage\r\nreturn\ttab",
    "<b>&amp;</b>",
    "]]> --> <!--",
    "销售 数据",
    "مبيعات",
    "back\\slash\\",
    "dot\\n \\N {a|b} <port>",
    "$HOME `id` #35; %%{init: {}}%%",
    "style a:b#c;",
    "1. item",
    "_under_ **bold** ~x~",
    "end",
    "[brackets] (round) {{curly}} |bar|",
    "\x00bell\x07 \x1b[31mred",
    "half \ud800 pair",
    "😀",
    " ",
]

# Characters that diagrams replace.
OBEYED = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


def hostile(name: str) -> Subgraph:
    """Return two datasets with this name, and a job with this name between them."""
    vertices = [
        Vertex(place, "table", {"name": name, "qualified_name": name, "aliases": (name, "x")})
        for place in (dataset_id("dev", DatasetName("wh", name)), dataset_id("dev", DatasetName("x", name)))
    ]
    edge = Edge(
        f"e{name}", "feeds", vertices[0].id, vertices[1].id, {"job_name": name, "via": name, "sequence": 7}
    )
    return subgraph(vertices, [edge])


def xml_text(text: str) -> str:
    """Return the part of a text that XML can represent."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "\ufffd", text)


NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.mark.parametrize("name", HOSTILE)
def test_graphml_contains_any_name(name: str) -> None:
    graph = hostile(name)
    root = ElementTree.fromstring(graphml(graph).encode())
    keys = {each.get("id"): each for each in root.findall(f"{NAMESPACE}key")}
    nodes = root.findall(f"{NAMESPACE}graph/{NAMESPACE}node")
    (edge,) = root.findall(f"{NAMESPACE}graph/{NAMESPACE}edge")

    def data(element: ElementTree.Element) -> dict[str | None, str | None]:
        found = {}
        for each in element:
            found[keys[each.get("key")].get("attr.name")] = each.text
        return found

    assert [each.get("id") for each in nodes] == [xml_text(each) for each in graph.vertices]
    assert data(nodes[0])["name"] == xml_text(name)
    assert data(nodes[0])["aliases"] == f"{xml_text(name)}, x"
    assert (edge.get("source"), edge.get("target")) == tuple(each.get("id") for each in nodes)
    assert data(edge)["job_name"] == xml_text(name)
    assert keys["edge.sequence"].get("attr.type") == "long"
    assert data(edge)["label"] == "feeds"


def dot_labels(text: str) -> list[str]:
    """Parse Graphviz' quoted texts with escapes and entities."""
    found = []
    for label in re.findall(r'label=("(?:[^"\\]|\\.)*")', text, re.DOTALL):
        plain = re.sub(r"\\(.)", lambda each: "\n" if each[1] == "n" else each[1], label[1:-1])
        found.append(plain.replace("&amp;", "&"))
    return found


LINE_OF_DOT = re.compile(
    r'  (?:n\d+(?: -> n\d+)?|node|edge) \[(?:\w+=(?:[\w]+|"(?:[^"\\]|\\.)*")(?:, )?)+\];|  rankdir=LR;'
)


@pytest.mark.parametrize("name", HOSTILE)
def test_dot_has_one_statement_per_line_with_any_name(name: str) -> None:
    lines = dot(hostile(name)).splitlines()
    assert (lines[0], lines[-1]) == ("digraph lineage {", "}")
    assert all(LINE_OF_DOT.fullmatch(each) for each in lines[1:-1]), lines
    shown = re.sub(
        OBEYED,
        "\ufffd",
        name,
    )
    assert f"{shown}\ntable" in dot_labels(dot(hostile(name)))


def mermaid_text(text: str) -> str:
    """Decode a text as Mermaid does: numbers between # and ; are characters."""
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), text)


LINE_OF_MERMAID = re.compile(r'  n\d+\[\("[^"<>|`\n]+"\)\]|  n\d+ -->(?:\|"[^"<>|`\n]+"\|)? n\d+')


@pytest.mark.parametrize("name", HOSTILE)
def test_mermaid_has_one_statement_per_line_with_any_name(name: str) -> None:
    lines = mermaid(hostile(name)).split("\n")
    assert (lines[0], lines[-1]) == ("flowchart LR", "")
    assert len(lines) == 5
    assert all(LINE_OF_MERMAID.fullmatch(each) for each in lines[1:-1]), lines
    shown = re.sub(
        OBEYED,
        "\ufffd",
        name,
    ).replace("\n", " ")
    assert mermaid_text(lines[1].partition('"')[2].rpartition('"')[0]) == shown


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("tickit_sales", "tickit_sales"),
        ("__init__", "#95;#95;init#95;#95;"),
        ("a #1", "a #35;1"),
        ("style x:y#z;", "style x#58;y#35;z#59;"),
        ("s3://raw/in", "s3://raw/in"),
        ("- item", "#45; item"),
        ("", " "),
    ],
)
def test_mermaid_escapes_only_special_characters(text: str, written: str) -> None:
    assert escape(text) == written


@pytest.mark.parametrize("name", HOSTILE)
def test_json_contains_any_name_unchanged(name: str) -> None:
    graph = hostile(name)
    said = json.loads(json_text(as_json(graph)))
    source, target = graph.vertices
    assert said["vertices"][0] == {
        "id": source,
        "label": "table",
        "name": name,
        "properties": {"aliases": [name, "x"], "name": name, "qualified_name": name},
    }
    assert said["edges"] == [
        {
            "id": f"e{name}",
            "label": "feeds",
            "from": source,
            "to": target,
            "properties": {"job_name": name, "sequence": 7, "via": name},
        }
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_tree_lines_are_safe_for_terminals(name: str) -> None:
    lines = [each.plain for each in tree(hostile(name))]
    assert len(lines) == 2
    assert all(each.isprintable() for each in lines)


@pytest.fixture(scope="module")
def graph() -> InMemory:
    made = pipeline()
    vertices = [
        Vertex(key, row["label"], {**row, "dag_name": tuple(row["dag_name"])})
        for key, row in made.nodes.items()
    ]
    keys = ("id", "label", "from", "to")
    edges = [
        Edge(
            row["id"],
            row["label"],
            row["from"],
            row["to"],
            {key: value for key, value in row.items() if key not in keys},
        )
        for row in made.edges.values()
    ]
    return InMemory(vertices, edges)


def drawn(found: Subgraph, *roots: str, direction: str = "down") -> str:
    return "\n".join(each.plain for each in tree(found, list(roots) or None, direction))  # type: ignore[arg-type]


def test_a_tree_expands_shared_vertices_and_cycles_once(graph: InMemory) -> None:
    start = graph.vertices([at("a")])[0]
    assert drawn(lineage(graph, start, "down"), at("a")) == (
        "a  table\n"
        "├── b  table  ← load\n"
        "│   └── d  table  ← load\n"
        "│       └── e  table  ← load\n"
        "│           ├── report!  exposure  ← exposure.report\n"
        "│           └── x  table  ← night\n"
        "│               └── y  table  ← night\n"
        "│                   ├── x  table  ← back  (see above)\n"
        "│                   └── z  table  ← night\n"
        "└── c  table  ← side\n"
        "    └── d  table  ← side  (see above)"
    )


def test_an_upstream_tree_has_reversed_arrows(graph: InMemory) -> None:
    start = graph.vertices([at("c")])[0]
    assert drawn(lineage(graph, start, "up"), at("c"), direction="up") == (
        "c  table\n└── a  table  → side\n    └── s3://raw/in  file  → load"
    )


def test_vertices_are_expanded_on_their_shortest_path(graph: InMemory) -> None:
    edges = [
        Edge(pair, "feeds", pair[0], pair[1], {"job_name": "j"}) for pair in ("ab", "bc", "cd", "de", "ad")
    ]
    found = subgraph([Vertex(each, "table") for each in "abcde"], edges)
    assert drawn(found, "a") == (
        "a  table\n"
        "├── b  table  ← j\n"
        "│   └── c  table  ← j\n"
        "│       └── d  table  ← j  (see below)\n"
        "└── d  table  ← j\n"
        "    └── e  table  ← j"
    )


def test_a_tree_of_columns_has_transformations_and_influences(graph: InMemory) -> None:
    start = graph.vertices([col("e", "total")])[0]
    found = lineage(graph, start, "up", depth=1, influences=True)
    assert drawn(found, start.id, direction="up") == (
        "e#Total  column\n"
        "└── d#key  column  → load  AGGREGATION  count(key)\n"
        "\n"
        "rows determined by:\n"
        "  d#flag → e  FILTER  load"
    )


def test_a_tree_of_datasets_lists_columns_with_their_sources(graph: InMemory) -> None:
    found = lineage(graph, graph.vertices([at("b")])[0], "up", depth=1, columns=True)
    assert drawn(found, at("b"), direction="up") == (
        "b  table\n"
        "├── · key  ← a#id  TRANSFORMATION  cast(id as string)\n"
        "└── a  table  → load\n"
        "    ├── · day\n"
        "    └── · id"
    )


def test_without_roots_a_tree_starts_at_sources_and_cycles(graph: InMemory) -> None:
    everything = complete_subgraph(
        graph, graph.ids(["table"], "dev"), graph.edges_from([at("x"), at("y")], ["feeds"])
    )
    assert drawn(everything).splitlines() == [
        *(f"{each}  table" for each in ("a", "b", "c", "d", "e", "log", "x")),
        "└── y  table  ← night",
        "    ├── x  table  ← back  (see above)",
        "    └── z  table  ← night",
    ]


def test_two_jobs_on_one_edge_are_one_line(graph: InMemory) -> None:
    vertices = [Vertex(each, "table") for each in "ab"]
    edges = [Edge(job, "feeds", "a", "b", {"job_name": job}) for job in ("one", "two")]
    assert drawn(subgraph(vertices, edges)) == "a  table\n└── b  table  ← one; two"


def test_mermaid_and_dot_show_collapsed_datasets(graph: InMemory) -> None:
    ends = [graph.vertices([at(each)])[0] for each in ("a", "c")]
    found = all_paths(graph, *ends)
    assert mermaid(found) == 'flowchart LR\n  n0[("a")]\n  n1[("c")]\n  n0 -->|"side"| n1\n'
    assert '  n0 -> n1 [label="side", tooltip="feeds", style=solid];' in dot(found).splitlines()
