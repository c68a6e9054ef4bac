"""Files of other tools: written as a stream, read by readers of their own."""

import json
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.exporters import neptune_csv, pictures
from lineage_merge.exporters.exporter import Export, Exporter
from lineage_merge.graph_format import neptune_csv as neptune_format
from lineage_merge.graph_format.elements import Edge, Vertex, edge_of_row, vertex_of_row
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from tests.command_line import in_process
from tests.graph_reading import whole
from tests.lineage_made import MadeLineage, at, col, pipeline
from tests.neptune_reading import put, records
from tests.s3_fixtures import S3

GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def read_graphml(file: Path) -> tuple[dict[str, dict[str, str]], set[tuple[str, str, str]]]:
    """Vertices with their data by id, and (from, label, to)."""
    root = ET.parse(file).getroot()
    names = {each.get("id"): each.get("attr.name") for each in root.iter(f"{GRAPHML}key")}

    def properties(element: ET.Element) -> dict[str, str]:
        return {str(names[each.get("key")]): each.text or "" for each in element.iter(f"{GRAPHML}data")}

    vertices = {str(each.get("id")): properties(each) for each in root.iter(f"{GRAPHML}node")}
    edges = {
        (str(each.get("source")), properties(each)["label"], str(each.get("target")))
        for each in root.iter(f"{GRAPHML}edge")
    }
    return vertices, edges


@pytest.mark.jvm
@pytest.mark.parametrize("backend", ["server", "folder"])
def test_graphml_contains_the_complete_graph(
    backend: str, pipeline_url: str, pipeline_folder: str, tmp_path: Path
) -> None:
    where = ("--folder", pipeline_folder) if backend == "folder" else ("--gremlin-endpoint", pipeline_url)
    out = tmp_path / "lineage.graphml"
    done = in_process("export", "--to", "graphml", "--out", out, *where, "--json")
    vertices, edges = read_graphml(out)
    made = pipeline()
    assert set(vertices) == set(made.nodes)
    assert edges == {(each["from"], each["label"], each["to"]) for each in made.edges.values()}
    assert vertices[at("a")] == {
        "label": "table",
        "environment": "dev",
        "dag_name": "daily",
        "name": "a",
        "namespace": "redshift://wh:5439",
        "qualified_name": "a",
    }
    counts = {"vertices": len(made.nodes), "edges": len(made.edges)}
    assert json.loads(done.out) == {
        "to": "graphml",
        "environment": None,
        "dag": None,
        "destination": str(out),
        "counts": counts,
    }


def test_exports_are_filtered_by_environment_and_dag(pipeline_folder: str, tmp_path: Path) -> None:
    out = tmp_path / "lineage.graphml"
    words = ("--folder", pipeline_folder, "--environment", "dev", "--dag", "nightly")
    assert in_process("export", "--to", "graphml", "--out", out, *words).code == 0
    vertices, edges = read_graphml(out)
    assert {each["label"] for each in vertices.values()} == {"table", "column", "job"}
    assert {(start, end) for start, label, end in edges if label == "feeds"} == {
        (at("e"), at("x")),
        (at("x"), at("y")),
        (at("y"), at("x")),
        (at("y"), at("z")),
    }
    assert {(start, end) for start, label, end in edges if label == "feeds_column"} == {
        (col("e", "Total"), col("x", "n"))
    }


@pytest.mark.jvm
@pytest.mark.parametrize("backend", ["server", "folder"])
def test_neptune_csv_restores_the_same_graph(
    backend: str,
    pipeline_url: str,
    pipeline_folder: str,
    gremlin: GraphTraversalSource,
    gremlin_url: str,
    tmp_path: Path,
) -> None:
    out = tmp_path / "copy"
    (out / "edges").mkdir(parents=True)
    (out / "edges" / "part-00000-007.csv.gz").write_bytes(b"of an older, larger graph")
    with open_graph(Endpoint(pipeline_url) if backend == "server" else pipeline_folder) as graph:
        sent = neptune_csv.send(Export(graph, {"out": str(out)}))
    for kind in ("vertices", "edges"):
        for file in sorted((out / kind).iterdir()):
            for record in records(file.read_bytes()):
                put(gremlin, record, update_single=False)
    found = whole(gremlin)
    gremlin.V().drop().to_list()
    pipeline().load(gremlin_url)
    assert found == whole(gremlin)
    made = pipeline()
    assert sent.counts == {"vertices": len(made.nodes), "edges": len(made.edges), "files": 2}


def test_digests_of_the_last_load_are_not_exported(tmp_path: Path) -> None:
    # A load writes them without the DAG as a property.
    digests = Vertex("dev|daily|merge_state|0", "merge_state", {"environment": "dev", "name": "0"})
    made = pipeline()
    vertices = [*map(vertex_of_row, made.nodes.values()), digests]
    graph = InMemory(vertices, map(edge_of_row, made.edges.values()))
    sent = neptune_csv.send(Export(graph, {"out": str(tmp_path / "copy")}))
    assert sent.counts["vertices"] == len(made.nodes)


class Large(InMemory):
    """A graph that is never held: vertices and edges are made when they are asked for."""

    def __init__(self, vertices: int) -> None:
        super().__init__((), ())
        self._size = vertices

    def everything(self, *_: object) -> Iterator[Vertex | Edge]:
        properties = {
            "environment": "dev",
            "dag_name": ("daily",),
            "name": "a name",
            "description": "d" * 500,
        }
        for number in range(self._size):
            yield Vertex(f"dev|s3://bucket|path/{number}", "file", properties)
        of_edge = {"environment": "dev", "dag_name": "daily", "job_type": "spark", "job_name": "load"}
        for number in range(1, self._size):
            start, end = (f"dev|s3://bucket|path/{each}" for each in (number - 1, number))
            yield Edge(f"{number:020x}", "feeds", start, end, of_edge)


@pytest.mark.parametrize("exporter", [pictures.GRAPHML, neptune_csv.EXPORTER])
def test_a_large_graph_is_streamed(exporter: Exporter, tmp_path: Path) -> None:
    vertices = 8_000
    tracemalloc.start()
    try:
        sent = exporter.send(Export(Large(vertices), {"out": str(tmp_path / "out")}))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (sent.counts["vertices"], sent.counts["edges"]) == (vertices, vertices - 1)
    # Their ids alone, of which an edge's ends are looked up; the texts are 8 MB.
    assert peak < 6_000_000


def test_large_neptune_files_are_split(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written = neptune_format.write_parts(
        str(tmp_path), "vertices", ([f'"{number}"'] for number in range(2_500)), "part-00000", largest_file=1
    )
    assert written == neptune_format.WrittenFiles(2_500, 3)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "part-00000-000.csv.gz",
        "part-00000-001.csv.gz",
        "part-00000-002.csv.gz",
    ]


def test_edges_without_both_vertices_are_omitted(tmp_path: Path) -> None:
    class Changing(Large):
        def everything(self, *_: object) -> Iterator[Vertex | Edge]:
            return (each for each in super().everything() if each.id != "dev|s3://bucket|path/1")

    out = tmp_path / "lineage.graphml"
    pictures.GRAPHML.send(Export(Changing(4), {"out": str(out)}))
    _, edges = read_graphml(out)
    assert edges == {("dev|s3://bucket|path/2", "feeds", "dev|s3://bucket|path/3")}


def test_mermaid_draws_datasets_and_optionally_columns_and_jobs(tmp_path: Path) -> None:
    made = MadeLineage().flow("raw > mart").columns("raw.id > mart.key", transformation="IDENTITY")
    folder = made.folder(tmp_path / "made")
    plain = in_process("export", "--to", "mermaid", "--folder", folder)
    assert plain.out.splitlines() == [
        "flowchart LR",
        '  n0[("mart")]',
        '  n1[("raw")]',
        '  n1 -->|"load"| n0',
    ]
    whole_picture = "{mermaid: {columns: true, jobs: true}}"
    config = tmp_path / "lineage_merge.yml"
    config.write_text(f"exporters: {whole_picture}\n")
    full = in_process("export", "--to", "mermaid", "--folder", folder, "--config", config)
    assert {'"raw#35;id"' in full.out, '{{"load"}}' in full.out, "IDENTITY" in full.out} == {True}
    dot = in_process("export", "--to", "dot", "--folder", folder)
    assert dot.out.startswith("digraph lineage {")


def test_files_are_written_to_s3_and_a_missing_bucket_is_reported(s3: S3, tmp_path: Path) -> None:
    s3.client.create_bucket(Bucket="docs")
    graph: LineageGraph = read_folder(MadeLineage().flow("a > b").folder(tmp_path / "made"))
    pictures.GRAPHML.send(Export(graph, {"out": "s3://docs/lineage.graphml"}))
    with s3.client.get_object(Bucket="docs", Key="lineage.graphml")["Body"] as body:
        (tmp_path / "read.graphml").write_bytes(body.read())
    assert len(read_graphml(tmp_path / "read.graphml")[0]) == 3
    folder = str(tmp_path / "made")
    failed = in_process("export", "--to", "graphml", "--folder", folder, "--out", "s3://none/x")
    assert failed.code != 0
    assert "s3://none/x: no such bucket" in failed.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "neptune-csv"), "--to neptune-csv needs --out"),
        (("--to", "graphml", "--json"), "--json requires --out"),
        (("--to", "graphml", "--url", "http://x"), "exporters.graphml.url: is not a known key"),
        (("--to", "tableau"), "'tableau' is not one of"),
    ],
)
def test_invalid_options_are_reported(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    folder = MadeLineage().flow("a > b").folder(tmp_path / "made")
    outcome = in_process("export", *words, "--folder", folder)
    assert outcome.code == 2
    assert message in outcome.err
