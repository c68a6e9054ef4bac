"""Graphs read from files: output folders of a build, and the embedded graph's file."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from lineage_merge.config import Gremlin
from lineage_merge.graph_format.elements import VERTEX_LABELS, Edge, Vertex, edge_of_row, vertex_of_row
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.model.errors import EmbeddedError, IntermediateError
from lineage_merge.questions.backends.folder import read_folder, read_graph
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from tests.command_line import python_imports
from tests.lineage_made import MadeLineage, at, pipeline
from tests.snapshots import write_graph


def whole(graph: LineageGraph) -> tuple[set[str], dict[str, Vertex | Edge]]:
    everything = list(graph.everything())
    return {each.id for each in graph.everything(labels=VERTEX_LABELS)}, {
        each.id: each for each in everything
    }


@pytest.mark.jvm
def test_parquet_json_lines_server_and_embedded_graph_are_one_graph(
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
    write_graph(tmp_path / "graph", made.nodes.values(), made.edges.values())

    of_folder = whole(read_folder(pipeline_folder))
    assert len(of_folder[0]) == len(made.nodes)
    assert len(of_folder[1]) == len(made.nodes) + len(made.edges)
    assert whole(read_folder(str(tmp_path))) == of_folder
    assert whole(read_graph(tmp_path / "graph")) == of_folder
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


@pytest.mark.parametrize("suffix", [".parquet", ".json"])
def test_both_formats_need_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    for kind in ("nodes", "edges"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"part-0{suffix}").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(IntermediateError, match=r"install lineage-merge\[parquet\]"):
        read_folder(str(tmp_path))


def write_parts(folder: Path, parts: list[MadeLineage], suffix: str) -> str:
    """Write a file of nodes and one of edges per part, each with the columns that it has."""
    import pyarrow as pa
    from pyarrow import parquet

    for kind in ("nodes", "edges"):
        (folder / kind).mkdir(parents=True)
        for number, part in enumerate(parts):
            rows = [*getattr(part, kind).values()]
            file = folder / kind / f"part-{number}{suffix}"
            lines = "".join(json.dumps(row) + "\n\n" for row in rows).encode()
            if suffix == ".parquet":
                parquet.write_table(pa.Table.from_pylist(rows, _schema(rows)), file, row_group_size=2)
            else:
                file.write_bytes(gzip.compress(lines) if suffix.endswith(".gz") else lines)
    return str(folder)


@pytest.mark.parametrize("suffix", [".parquet", ".json", ".jsonl", ".json.gz"])
def test_several_files_with_different_columns_are_one_graph(tmp_path: Path, suffix: str) -> None:
    parts = [MadeLineage().flow("a > b"), MadeLineage().columns("c.x > d.y")]
    parts[0].nodes[at("a")]["tags"] = ["pii"]
    parts[0].nodes[at("a")]["description"] = "Größe \U0001f600"
    expected = InMemory(
        [vertex_of_row(row) for part in parts for row in part.nodes.values()],
        [edge_of_row(row) for part in parts for row in part.edges.values()],
    )
    assert whole(read_folder(write_parts(tmp_path, parts, suffix))) == whole(expected)


@pytest.mark.parametrize("suffix", [".parquet", ".json"])
def test_an_edge_without_both_ends_is_omitted(tmp_path: Path, suffix: str) -> None:
    made = MadeLineage().flow("a > b").flow("b > c")
    del made.nodes[at("c")]
    graph = read_folder(write_parts(tmp_path, [made], suffix))
    datasets = [at("a"), at("b")]
    assert graph.pairs(["feeds"]) == {(at("a"), at("b"))}
    assert {edge.to_id for edge in graph.edges_from(datasets, ["feeds"])} == {at("b")}
    assert {each.to_id for each in graph.everything(labels=["feeds"]) if isinstance(each, Edge)} == {at("b")}


def test_a_missing_key_of_an_edge_is_reported_by_the_question_that_reads_it(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b")
    for row in made.edges.values():
        row["to"] = None
    graph = read_folder(write_parts(tmp_path, [made], ".json"))
    assert {each.id for each in graph.vertices([at("a")])} == {at("a")}
    with pytest.raises(IntermediateError, match="invalid row of edges"):
        graph.reach([at("a")], ["feeds"], "down")


@pytest.mark.parametrize("value", ['"id": 7', '"id": null', '"name": 7', '"tags": "x"'])
def test_a_value_of_another_type_is_reported(tmp_path: Path, value: str) -> None:
    MadeLineage().flow("a > b").folder(tmp_path)
    with (tmp_path / "nodes" / "part-00000.json").open("a") as lines:
        lines.write('{"id": "x", "label": "table", ' + value + "}\n")
    with pytest.raises(IntermediateError, match="invalid row of nodes"):
        read_folder(str(tmp_path))


def test_bytes_that_are_no_text_are_reported(tmp_path: Path) -> None:
    MadeLineage().flow("a > b").folder(tmp_path)
    with (tmp_path / "nodes" / "part-00000.json").open("ab") as lines:
        lines.write(b'{"id": "x", "label": "table", "name": "\xff"}\n')
    with pytest.raises(IntermediateError, match="invalid JSON line"):
        read_folder(str(tmp_path))


def test_an_unpaired_surrogate_is_a_question_mark(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b")
    made.nodes[at("a")]["description"] = "\ud800 \U0001f600"
    (vertex,) = read_folder(made.folder(tmp_path / "lineage")).vertices([at("a")])
    assert vertex.properties["description"] == "? \U0001f600"


def test_many_requests_of_few_ids_find_the_same_vertices(tmp_path: Path) -> None:
    made = MadeLineage()
    for number in range(70):
        made.flow(f"d{number} > d{number + 1}")
    graph = read_folder(made.folder(tmp_path / "lineage"))
    for number in (*range(71), 71):  # the first ones read all ids, later ones search sorted ids
        found = [each.id for each in graph.vertices([at(f"d{number}"), at("missing")])]
        assert found == ([at(f"d{number}")] if number < 71 else [])


def test_a_question_to_a_folder_imports_no_client_and_no_pandas(tmp_path: Path) -> None:
    folder = MadeLineage().flow("a > b").folder(tmp_path / "lineage")
    imported = python_imports("-m", "lineage_merge", "upstream", at("b"), "--folder", folder)
    unused = {"pandas", "boto3", "botocore", "gremlin_python", "aiohttp", "pyspark", "arango", "jsonschema"}
    assert unused & imported == set()


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


def test_a_missing_embedded_graph_is_empty(tmp_path: Path) -> None:
    with open_graph(Gremlin(), graph_file=tmp_path / "no" / "graph") as graph:
        assert graph.environments() == []
    assert not (tmp_path / "no").exists()


def test_a_damaged_embedded_graph_is_reported(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "graph", [{"id": at("a"), "label": "table"}])
    (graph / "current" / "vertices.arrow").write_bytes(b"ARROW1")
    with pytest.raises(EmbeddedError, match=r"the graph .* cannot be read"):
        read_graph(graph)
