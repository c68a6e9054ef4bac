import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.graph_format import local_files
from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.files import read, read_rows, write
from lineage_merge.graph_format.local_files import read_tables
from lineage_merge.graph_format.schema import Row
from lineage_merge.graph_format.stored_files import Format
from lineage_merge.graph_format.validation import Flaw, find_flaws
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.errors import IntermediateError

Elements = Sequence[dict[str, Any]]

COMMON = {"environment": "dev", "dag_name": "tickit_daily"}
RAW: dict[str, Any] = {
    "id": "dev|s3://tickit-raw|sales",
    "label": "file",
    "name": "sales",
    "namespace": "s3://tickit-raw",
    "description": 'Verkäufe 売上 🎫 "quoted"\nsecond line\u2028third',
    "tags": ["daily", "ümlaut"],
    **COMMON,
}
LAKE: dict[str, Any] = {"id": "dev|s3://tickit-lake|sales", "label": "table", "name": "sales", **COMMON}
JOB: dict[str, Any] = {
    "id": "dev|tickit_daily|spark|ingest",
    "label": "job",
    "name": "ingest",
    "rows_written": 5_000_000_000,
    **COMMON,
}
FEEDS: dict[str, Any] = {
    "id": "0123456789abcdef0123",
    "label": "feeds",
    "from": RAW["id"],
    "to": LAKE["id"],
    "job_type": "spark",
    "job_name": "ingest",
    **COMMON,
}
WRITES: dict[str, Any] = FEEDS | {"id": "3210fedcba9876543210", "label": "writes", "from": JOB["id"]}


def rows(engine: Engine, nodes: Elements, edges: Elements) -> tuple[Rows[Row], Rows[Row]]:
    return engine.rows(nodes, 2), engine.rows(edges, 2)


def lines(folder: Path, kind: str) -> list[dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted((folder / kind).glob("*.json"))]
    return [json.loads(line) for text in texts for line in text.split("\n") if line]


def by_id(elements: Elements) -> Elements:
    return sorted(elements, key=lambda element: str(element["id"]))


def known(rows: DataFrame) -> Elements:
    """Return the rows without unknown values."""
    found = (row.asDict() for row in rows.collect())
    return by_id([{key: value for key, value in row.items() if value is not None} for row in found])


@pytest.fixture(scope="module", params=["local", "spark"])
def built(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """Write one small graph in both formats with each engine."""
    engine = LocalEngine() if request.param == "local" else SparkEngine(spark)
    folders = {name: tmp_path_factory.mktemp(name) for name in ("parquet", "jsonl")}
    graph = rows(engine, [RAW, LAKE, JOB], [FEEDS, WRITES])
    write(spark, str(folders["parquet"]), *graph, "parquet")
    write(spark, str(folders["jsonl"]), *graph, "jsonl")
    yield folders
    engine.unpersist_all()


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    """Write the same graph by hand."""
    for kind, elements in (("nodes", [RAW, LAKE, JOB]), ("edges", [FEEDS, WRITES])):
        (tmp_path / kind).mkdir()
        text = "\n".join(json.dumps(element) for element in elements)
        (tmp_path / kind / f"{kind}.jsonl").write_text(f"{text}\n\n", encoding="utf-8")
    return tmp_path


def test_parquet_files_need_not_have_all_columns_nor_the_same(tmp_path: Path) -> None:
    for kind in ("nodes", "edges"):
        (tmp_path / kind).mkdir()
    (tmp_path / "edges/part-00000.json").touch()
    for number, element in enumerate([RAW, LAKE, JOB]):
        table = pa.table({name: [value] for name, value in element.items()})
        parquet.write_table(table, tmp_path / "nodes" / f"part-{number:05}.parquet")
    assert by_id([*rows_of_table(read_tables(str(tmp_path))[0])]) == by_id([RAW, LAKE, JOB])


def test_a_parquet_file_with_a_set_in_place_of_a_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    table = pa.table({"id": ["a"], "label": ["table"], "dag_name": [["daily"]]})
    parquet.write_table(table, tmp_path / "nodes" / "part-00000.parquet")
    with pytest.raises(IntermediateError, match="invalid file in nodes"):
        read_tables(str(tmp_path))


def rows_of(
    spark: SparkSession | None, folder: str, engine: Engine | None = None
) -> tuple[Rows[dict[str, Any]], Rows[dict[str, Any]]]:
    """Read a folder with Spark, or without."""
    engine = engine or LocalEngine()
    return read_rows(engine, spark, folder) if spark else local_files.read_rows(engine, folder)


@pytest.mark.jvm
@pytest.mark.parametrize("file_format", ["parquet", "jsonl"])
def test_what_was_written_is_read_back(
    spark: SparkSession, built: dict[str, Path], file_format: Format
) -> None:
    for engine, session in ((LocalEngine(), None), (LocalEngine(), spark), (SparkEngine(spark), spark)):
        nodes, edges = rows_of(session, str(built[file_format]), engine)

        assert by_id(nodes.collect()) == by_id([RAW, LAKE, JOB])
        assert by_id(edges.collect()) == by_id([FEEDS, WRITES])


@pytest.mark.jvm
def test_json_lines_hold_only_what_is_known(built: dict[str, Path]) -> None:
    assert by_id(lines(built["jsonl"], "nodes")) == by_id([RAW, LAKE, JOB])
    assert by_id(lines(built["jsonl"], "edges")) == by_id([FEEDS, WRITES])


@pytest.mark.jvm
@pytest.mark.parametrize("file_format", ["parquet", "jsonl"])
def test_what_was_written_has_no_flaws(
    spark: SparkSession, built: dict[str, Path], file_format: Format
) -> None:
    assert find_flaws(spark, str(built[file_format])) == (5, [])


@pytest.mark.jvm
def test_a_graph_written_by_hand_is_read_too(spark: SparkSession, by_hand: Path) -> None:
    assert find_flaws(spark, str(by_hand)) == (5, [])
    assert known(read(spark, f"{by_hand}/")[0]) == by_id([RAW, LAKE, JOB])


@pytest.mark.jvm
@pytest.mark.parametrize("file_format", ["parquet", "jsonl"])
def test_a_graph_without_edges_is_a_graph(
    spark: SparkSession, each_engine: Engine, tmp_path: Path, file_format: Format
) -> None:
    write(spark, str(tmp_path), *rows(each_engine, [RAW], []), file_format)

    nodes, edges = read(spark, str(tmp_path))

    assert (nodes.count(), edges.count()) == (1, 0)
    assert find_flaws(spark, str(tmp_path)) == (1, [])


@pytest.mark.jvm
def test_a_second_write_leaves_nothing_of_the_first(
    spark: SparkSession, each_engine: Engine, tmp_path: Path
) -> None:
    write(spark, str(tmp_path), *rows(SparkEngine(spark), [RAW, LAKE, JOB], [FEEDS, WRITES]), "parquet")

    write(spark, str(tmp_path), *rows(each_engine, [RAW, LAKE], [FEEDS]), "jsonl")

    assert known(read(spark, str(tmp_path))[0]) == by_id([RAW, LAKE])
    assert not list(tmp_path.rglob("*.parquet"))


def add(folder: Path, kind: str, *lines: str) -> None:
    (folder / kind / "more.jsonl").write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.jvm
def test_elements_that_violate_the_schema_are_reported(spark: SparkSession, by_hand: Path) -> None:
    add(
        by_hand,
        "nodes",
        "{broken",
        "[1, 2]",
        json.dumps(JOB | {"id": "a", "label": "task"}),
        json.dumps({"id": "b", "label": "file", **COMMON}),
        json.dumps(LAKE | {"id": "c", "status": "succeeded"}),
    )
    add(by_hand, "edges", json.dumps(FEEDS | {"id": "d", "to": None}))

    elements, found = find_flaws(spark, str(by_hand))

    labels = "file or table or view or topic or seed or snapshot or exposure or semantic_model or metric"
    labels += (
        " or saved_query or column or job or assertion or operation or query_log or merge_run or merge_state"
    )
    assert set(found) == {
        Flaw("nodes", "{broken", "", "not JSON"),
        Flaw("nodes", "[1, 2]", "", "must be an object, not a list"),
        Flaw("nodes", "a", "label", f"must be {labels}, not 'task'"),
        Flaw("nodes", "b", "name", "is missing"),
        Flaw("nodes", "c", "status", "is not allowed here"),
        Flaw("edges", "d", "to", "must be a string, not null"),
    }
    assert elements == 11


@pytest.mark.jvm
def test_inconsistent_elements_are_reported(spark: SparkSession, by_hand: Path) -> None:
    add(by_hand, "nodes", json.dumps(LAKE))
    add(
        by_hand,
        "edges",
        json.dumps(FEEDS),
        json.dumps(FEEDS | {"id": "a", "to": "dev|missing"}),
        json.dumps(FEEDS | {"id": "b", "from": "dev|missing"}),
    )

    _, found = find_flaws(spark, str(by_hand))

    assert set(found) == {
        Flaw("nodes", LAKE["id"], "id", "2 nodes have this id"),
        Flaw("edges", FEEDS["id"], "id", "2 edges have this id"),
        Flaw("edges", "a", "to", "no node has the id dev|missing"),
        Flaw("edges", "b", "from", "no node has the id dev|missing"),
    }


@pytest.mark.jvm
def test_flaws_of_parquet_files_are_found_too(
    spark: SparkSession, each_engine: Engine, tmp_path: Path
) -> None:
    nodes = [{key: value for key, value in each.items() if key != "name"} for each in (RAW, LAKE, JOB)]
    write(spark, str(tmp_path), *rows(each_engine, nodes, [FEEDS, WRITES]), "parquet")

    _, found = find_flaws(spark, str(tmp_path))

    assert {(flaw.kind, flaw.field, flaw.problem) for flaw in found} == {("nodes", "name", "is missing")}


@pytest.mark.jvm
def test_no_more_flaws_are_listed_than_asked_for(spark: SparkSession, by_hand: Path) -> None:
    add(by_hand, "nodes", *["{}"] * 50)

    elements, found = find_flaws(spark, str(by_hand), limit=7)

    assert elements == 55
    assert len(found) == 7


@pytest.fixture
def refused(spark: SparkSession, by_hand: Path) -> Iterator[Path]:
    """Provide a graph that the test damages; reading and checking must reject it."""
    yield by_hand
    for use in (read, find_flaws):
        with pytest.raises(IntermediateError) as raised:
            use(spark, str(by_hand))
        assert str(by_hand) in raised.value.message
        assert "\n" not in raised.value.message


@pytest.mark.jvm
def test_a_missing_folder_is_refused(refused: Path) -> None:
    (refused / "edges" / "edges.jsonl").unlink()
    (refused / "edges").rmdir()


@pytest.mark.jvm
def test_a_folder_of_other_files_is_refused(refused: Path) -> None:
    (refused / "nodes" / "nodes.jsonl").rename(refused / "nodes" / "nodes.csv")


@pytest.mark.jvm
def test_a_write_that_did_not_end_is_refused(refused: Path) -> None:
    attempt = refused / "nodes" / "_temporary" / "0" / "task_1"
    attempt.mkdir(parents=True)
    (attempt / "part-00000.json").write_text("{}")


@pytest.mark.jvm
def test_a_broken_parquet_file_is_named(spark: SparkSession, by_hand: Path) -> None:
    (by_hand / "nodes" / "nodes.jsonl").unlink()
    (by_hand / "nodes" / "part-0.parquet").write_bytes(b"PAR1 no more than this PAR1")

    with pytest.raises(IntermediateError) as raised:
        find_flaws(spark, str(by_hand))

    assert raised.value.message.startswith(f"{by_hand}/nodes: ")
    assert "\n" not in raised.value.message


@pytest.mark.jvm
def test_a_broken_line_is_never_loaded_as_an_empty_node(spark: SparkSession, by_hand: Path) -> None:
    add(by_hand, "nodes", '{"id": "x", "label"')

    for session in (spark, None):
        with pytest.raises(IntermediateError, match=r"nodes: invalid line in nodes\. Fix: run `validate`"):
            rows_of(session, str(by_hand))


@pytest.mark.jvm
@pytest.mark.parametrize(
    "non_string",
    [
        {"name": ["a"]},
        {"name": {"a": 1}},
        {"description": 5},
        {"namespace": 1e300},
        {"description": True},
        {"tags": ["a", ["b"]]},
        {"tags": [7]},
    ],
    ids=str,
)
def test_a_non_string_value_is_rejected(
    spark: SparkSession, by_hand: Path, non_string: dict[str, Any]
) -> None:
    with by_hand.joinpath("nodes", "one.jsonl").open("a") as nodes:
        nodes.write("\n" + json.dumps({**LAKE, "id": "other", **non_string}) + "\n")

    for session in (spark, None):
        with pytest.raises(IntermediateError, match="invalid line in nodes"):
            rows_of(session, str(by_hand))


@pytest.mark.jvm
def test_a_text_may_look_like_anything_else(spark: SparkSession, by_hand: Path) -> None:
    texts = ["[a](b)", '{"a": 1}', "2008", "-1.5e3", "true", "[\n"]
    with by_hand.joinpath("nodes", "one.jsonl").open("a") as nodes:
        for text in texts:
            nodes.write("\n" + json.dumps({**LAKE, "id": text, "name": text, "tags": [text]}))

    found, _ = read(spark, str(by_hand))

    read_back = {row.id: (row.name, row.tags) for row in found.where("label = 'table'").collect()}
    assert {text: (text, [text]) for text in texts}.items() <= read_back.items()
    assert by_id(local_files.read_rows(LocalEngine(), str(by_hand))[0].collect()) == known(found)


def test_bytes_that_are_no_text_are_rejected(by_hand: Path) -> None:
    with by_hand.joinpath("nodes", "one.jsonl").open("ab") as nodes:
        nodes.write(b'\n{"id": "x", "label": "table", "name": "\xff"}\n')
    with pytest.raises(IntermediateError, match="invalid line in nodes"):
        local_files.read_rows(LocalEngine(), str(by_hand))


@pytest.mark.jvm
def test_an_interrupted_write_leaves_no_old_edges_with_new_nodes(spark: SparkSession, tmp_path: Path) -> None:
    engine = SparkEngine(spark)
    nodes, edges = rows(engine, [RAW, LAKE, JOB], [FEEDS, WRITES])
    write(spark, str(tmp_path), nodes, edges)

    # Workers do not import this module: a function of their own.
    def failing(row: Row) -> Row:
        raise ValueError(f"the machine stopped at {row['id']}")

    with pytest.raises(IntermediateError, match="the machine stopped"):
        write(spark, str(tmp_path), nodes, edges.map(failing))

    with pytest.raises(IntermediateError, match="edges: incomplete write"):
        read(spark, str(tmp_path))


@pytest.mark.jvm
def test_a_folder_that_cannot_be_written_is_named(
    spark: SparkSession, each_engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("a file")

    with pytest.raises(IntermediateError) as raised:
        write(spark, str(tmp_path / "file"), *rows(each_engine, [RAW], []))

    assert str(tmp_path / "file") in raised.value.message
    assert "\n" not in raised.value.message


@pytest.mark.jvm
def test_a_folder_without_a_connector_is_reported(spark: SparkSession) -> None:
    with pytest.raises(IntermediateError, match=r"^s3://bucket/lineage: no connector in this Spark"):
        write(spark, "s3://bucket/lineage", *rows(SparkEngine(spark), [RAW], []))
