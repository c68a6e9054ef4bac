"""The walk index of a folder: when it is written and used, and that it answers as the files do."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from lineage_merge.graph_format import folder_index
from lineage_merge.graph_format.arrow import arrow_schema, rows_of_table
from lineage_merge.graph_format.elements import ALL_VERTEX_LABELS, COLUMN
from lineage_merge.graph_format.folder_index import open_folder_index, write_folder_index
from lineage_merge.graph_format.local_files import read_tables
from lineage_merge.graph_format.schema import Row, edge_ddl
from lineage_merge.infra.walk_index.reading import WalkIndex
from lineage_merge.model.errors import IntermediateError
from lineage_merge.questions.backends.columnar import ColumnarGraph
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.backends.mapped import MappedGraph
from lineage_merge.questions.graph import LineageGraph
from tests.graph_folder import write_folder
from tests.lineage_made import MadeLineage, at, col


def made() -> MadeLineage:
    """Two DAGs that share a table, two environments, fields, a name of several datasets."""
    lineage = MadeLineage().flow("a > b > c").flow("b > d > b", job="other", dag="weekly")
    lineage.columns("a.x > b.x > c.y").columns("b.x > d.x", job="other", dag="weekly")
    lineage.flow("a > z", environment="prod")
    lineage.dataset("s3://raw|Orders/2024", "daily", label="file", location="orders")
    return lineage


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return made().folder(tmp_path / "lineage")


def both(folder: str) -> tuple[LineageGraph, LineageGraph]:
    files = read_folder(folder)
    assert isinstance(files, ColumnarGraph)
    write_folder_index(folder, at_least=0)
    indexed = read_folder(folder)
    assert isinstance(indexed, MappedGraph)
    return files, indexed


@pytest.mark.parametrize("dag", [None, "daily", "weekly", "unknown"])
def test_an_index_answers_as_the_files_do(folder: str, dag: str | None) -> None:
    files, indexed = both(folder)
    ids = [at("b"), at("missing"), at("a"), col("b", "x"), at("a", "prod")]
    assert files.vertices(ids) == indexed.vertices(ids)
    assert files.environments() == indexed.environments()
    for labels in (["feeds"], ["feeds", "has_column"], ["feeds_column"], ["influences"]):
        for ask in ("edges_from", "edges_to"):
            of_files, of_index = (getattr(graph, ask)(ids, labels, dag) for graph in (files, indexed))
            assert sorted(of_files, key=lambda edge: edge.id) == sorted(of_index, key=lambda edge: edge.id)
        for direction in ("up", "down"):
            assert files.reach(ids, labels, direction, None, dag) == indexed.reach(
                ids, labels, direction, None, dag
            )
        assert files.pairs(labels, "dev", dag) == indexed.pairs(labels, "dev", dag)
    assert files.find_without_consumer("dev", dag) == indexed.find_without_consumer("dev", dag)
    assert {*files.ids(ALL_VERTEX_LABELS, "dev", dag)} == {*indexed.ids(ALL_VERTEX_LABELS, "dev", dag)}


@pytest.mark.parametrize(
    "text", ["b", at("b"), "orders", "ORDERS", "rder", "raw", "Orders/2024", "x", "no", ""]
)
def test_an_index_finds_names_as_the_files_do(folder: str, text: str) -> None:
    files, indexed = both(folder)
    for labels in (ALL_VERTEX_LABELS, [COLUMN], ["file"]):
        for environment in (None, "dev", "prod", "none"):
            named = [graph.find_named(text, labels, environment) for graph in (files, indexed)]
            assert {each.id for each in named[0]} == {each.id for each in named[1]}
            for limit in (None, 1):
                found = [graph.search(text, labels, environment, limit=limit) for graph in (files, indexed)]
                assert found[0] == found[1]


@pytest.fixture
def loadable(tmp_path: Path) -> str:
    """Return a folder of one DAG, as a build writes it."""
    lineage = MadeLineage().flow("a > b > c").columns("a.x > b.x > c.y")
    nodes = [{**node, "dag_name": "daily"} for node in lineage.nodes.values()]
    edges = [edge for edge in lineage.edges.values() if {edge["from"], edge["to"]} <= lineage.nodes.keys()]
    return write_folder(tmp_path / "loadable", nodes, edges)


def rows_to_load(folder: str) -> list[dict[str, Row]]:
    return [{row["id"]: row for row in rows_of_table(table)} for table in read_tables(folder)]


def test_a_load_reads_the_same_rows_of_an_index_as_of_the_files(loadable: str) -> None:
    of_files = rows_to_load(loadable)
    write_folder_index(loadable, at_least=0)
    for file in Path(loadable).glob("*/part*"):  # what is read is the index
        content, status = file.read_bytes(), file.stat()
        file.write_bytes(content[::-1])
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert rows_to_load(loadable) == of_files


def test_a_load_does_not_miss_an_edge_that_an_index_omits(loadable: str) -> None:
    file = next(file for file in Path(loadable, "edges").iterdir() if file.stat().st_size)
    lines = file.read_text().splitlines()
    lines.append(json.dumps({**json.loads(lines[0]), "id": "0", "to": at("missing")}))
    file.write_text("\n".join(lines))
    write_folder_index(loadable, at_least=0)
    assert open_folder_index(loadable)
    assert "0" in rows_to_load(loadable)[1]


def test_a_folder_of_few_rows_has_no_index(folder: str) -> None:
    write_folder_index(folder)
    assert not Path(folder, "index").exists()


def test_a_folder_of_very_many_rows_has_no_index(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_index, "MAX_ROWS", 3)
    write_folder_index(folder, at_least=0)
    assert not Path(folder, "index").exists()


def test_an_index_older_than_a_file_is_not_used(folder: str) -> None:
    write_folder_index(folder, at_least=0)
    file = next(Path(folder, "nodes").iterdir())
    later = (Path(folder, "index", "vertices.arrow").stat().st_mtime_ns + 1_000_000_000,) * 2
    os.utime(file, ns=later)
    assert open_folder_index(folder) is None
    assert read_folder(folder).vertices([at("a")])


@pytest.mark.parametrize("name", ["vertices", "edges", "adjacency", "names"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut"])
def test_a_damaged_index_is_not_used(folder: str, name: str, damage: str) -> None:
    write_folder_index(folder, at_least=0)
    file = Path(folder, "index", f"{name}.arrow")
    content = file.read_bytes()
    file.unlink()
    if damage != "missing":
        file.write_bytes(b"" if damage == "empty" else content[:-30])
    assert open_folder_index(folder) is None
    assert read_folder(folder).vertices([at("a")])


def test_an_index_of_another_format_is_not_used(folder: str) -> None:
    write_folder_index(folder, at_least=0)
    file = Path(folder, "index", "vertices.arrow")
    table = pa.ipc.open_file(file.read_bytes()).read_all()
    with pa.ipc.new_file(file, table.schema.with_metadata({"format": "0", "has_fields": "False"})) as writer:
        writer.write_table(table)
    assert WalkIndex.open(file.parent) is None


def test_nodes_with_the_same_id_have_no_index(tmp_path: Path) -> None:
    folder = made().folder(tmp_path / "lineage")
    file = next(Path(folder, "nodes").iterdir())
    file.write_text(file.read_text() + file.read_text().splitlines()[0] + "\n")
    write_folder_index(folder, at_least=0)
    assert not Path(folder, "index").exists()


@pytest.mark.parametrize("change", ["other", "fewer", "more"])
def test_an_index_of_other_files_of_the_same_age_is_not_used(folder: str, change: str) -> None:
    write_folder_index(folder, at_least=0)
    file = next(Path(folder, "nodes").iterdir())
    first, *_ = lines = file.read_text().splitlines(keepends=True)
    status = file.stat()
    if change == "other":
        file.write_text("".join(lines[:-1]))
    elif change == "fewer":
        file.unlink()
    else:
        file = file.with_name("part-00009.json")
        file.write_text(first.replace("|wh|", "|new|"))
    if change != "fewer":
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert open_folder_index(folder) is None


def test_a_folder_without_edges_has_an_index(folder: str) -> None:
    edges = Path(folder, "edges")
    for file in edges.iterdir():
        file.unlink()
    parquet.write_table(arrow_schema(edge_ddl()).empty_table(), edges / "part-00000.parquet")
    _, indexed = both(folder)
    assert indexed.vertices([at("a")])
    assert not indexed.edges_from([at("a")], ["feeds"])


def test_files_with_other_integers_are_one_column(tmp_path: Path) -> None:
    for kind in ("nodes", "edges"):
        (tmp_path / kind).mkdir()
    for number, kind in enumerate((pa.int64(), pa.int32())):
        row = {"id": [at(f"n{number}")], "label": ["job"], "rows_written": pa.array([number], kind)}
        parquet.write_table(pa.table(row), tmp_path / "nodes" / f"part-{number}.parquet")
    parquet.write_table(arrow_schema(edge_ddl()).empty_table(), tmp_path / "edges" / "part-0.parquet")
    found = read_folder(str(tmp_path)).vertices([at("n0"), at("n1")])
    assert [vertex.properties["rows_written"] for vertex in found] == [0, 1]


def test_files_with_texts_and_numbers_in_one_column_give_one_line(tmp_path: Path) -> None:
    for kind in ("nodes", "edges"):
        (tmp_path / kind).mkdir()
    for number, value in enumerate(("text", 1)):
        row = {"id": [at(f"n{number}")], "label": ["job"], "description": [value]}
        parquet.write_table(pa.table(row), tmp_path / "nodes" / f"part-{number}.parquet")
    parquet.write_table(arrow_schema(edge_ddl()).empty_table(), tmp_path / "edges" / "part-0.parquet")
    with pytest.raises(IntermediateError, match="invalid"):
        read_folder(str(tmp_path)).vertices([at("n0")])
