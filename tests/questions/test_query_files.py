"""Graphs read from files: output folders of a build, and the embedded graph's file."""

import json
import sys
from pathlib import Path

import pytest

from lineage_merge.config import Gremlin
from lineage_merge.graph_format.elements import VERTEX_LABELS, Edge, Vertex
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.graph_store import save
from lineage_merge.model.errors import EmbeddedError, IntermediateError
from lineage_merge.questions.backends.embedded import open_embedded, read_graph_file
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from tests.lineage_made import MadeLineage, at, pipeline


def whole(graph: LineageGraph) -> tuple[set[str], dict[str, Vertex | Edge]]:
    everything = list(graph.everything())
    return {each.id for each in graph.everything(labels=VERTEX_LABELS)}, {
        each.id: each for each in everything
    }


def test_parquet_json_lines_server_and_graph_file_are_one_graph(
    pipeline_folder: str, pipeline_url: str, tmp_path: Path
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    made = pipeline()
    for kind, rows in (("nodes", made.nodes), ("edges", made.edges)):
        (tmp_path / kind).mkdir()
        table = pa.Table.from_pylist(list(rows.values()), _schema(list(rows.values())))
        parquet.write_table(table, tmp_path / kind / "part-00000.snappy.parquet")
        (tmp_path / kind / "_SUCCESS").touch()
    save(pipeline_url, tmp_path / "graph.json")

    of_folder = whole(read_folder(pipeline_folder))
    assert len(of_folder[0]) == len(made.nodes)
    assert len(of_folder[1]) == len(made.nodes) + len(made.edges)
    assert whole(read_folder(str(tmp_path))) == of_folder
    assert whole(read_graph_file(tmp_path / "graph.json")) == of_folder
    from lineage_merge.load.gremlin.connection import Endpoint

    with open_graph(Endpoint(pipeline_url)) as graph:
        assert whole(graph) == of_folder


def _schema(rows: list[dict[str, object]]) -> object:
    import pyarrow as pa

    keys = dict.fromkeys(key for row in rows for key in row)
    many = {key for row in rows for key, value in row.items() if isinstance(value, list)}
    return pa.schema([(key, pa.list_(pa.string()) if key in many else pa.string()) for key in keys])


def test_a_single_dag_name_becomes_a_set(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b")
    for row in made.nodes.values():
        row["dag_name"] = "daily"
    graph = read_folder(made.folder(tmp_path / "lineage"))
    assert {each.dags for each in graph.vertices([at("a"), at("b")])} == {("daily",)}


def test_missing_pyarrow_is_reported_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("nodes", "edges"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "part-0.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(IntermediateError, match=r"pip install 'lineage-merge\[parquet\]'"):
        read_folder(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "text", "pattern"),
    [
        ("part-0.parquet", "PAR1", "invalid or incomplete Parquet file"),
        ("part-0.json", "{", "invalid JSON line"),
        ("part-0.json", '{"id": "a"}', "invalid row of nodes"),
        ("part-0.json", "[]", "invalid row of nodes"),
        ("_temporary/part-0.json", "{}", "incomplete write"),
        ("notes.txt", "", "neither Parquet nor JSON lines"),
    ],
)
def test_an_invalid_folder_is_reported(tmp_path: Path, name: str, text: str, pattern: str) -> None:
    file = tmp_path / "nodes" / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(IntermediateError, match=pattern):
        read_folder(str(tmp_path))


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(IntermediateError, match="create them with build"):
        read_folder(str(tmp_path / "nowhere"))


def test_the_embedded_graph_is_read_through_its_server_or_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    said: list[str] = []
    with EmbeddedServer(file) as server:
        pipeline().load(server.url)
        with open_embedded(Gremlin(), said.append, file) as graph:
            assert {each.id for each in graph.vertices([at("z")])} == {at("z")}
        assert said == []  # nothing is in the file yet
    before = file.read_bytes()
    with open_embedded(Gremlin(), said.append, file) as graph:
        assert {each.id for each in graph.vertices([at("z")])} == {at("z")}
    assert said == [f"reading {file}"]
    assert file.read_bytes() == before


def test_a_missing_embedded_graph_is_empty(tmp_path: Path) -> None:
    with open_embedded(Gremlin(), lambda _: None, tmp_path / "no" / "graph.json") as graph:
        assert graph.environments() == []
    assert not (tmp_path / "no").exists()


def test_an_invalid_graph_file_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({"id": "a", "label": "table"}) + "\n[]\n")
    with pytest.raises(EmbeddedError, match=r"cannot read graph file .*graph\.json: line 2"):
        read_graph_file(file)
