"""Damaged exports: the report names the document and the field, and all other charts are read."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lineage_merge.model.elements import Column, Problem
from tests.record_reading import records_of
from tests.sources.superset.test_superset import CHARTS, edges_of, pack, read
from tests.superset_recipe import FOLDER

_CHART, _DATA_SET = "charts/total_*.yaml", "datasets/shop/paid_*.yaml"
_DASHBOARD, _DATABASE = "dashboards/*.yaml", "databases/shop.yaml"


def _read_changed(folder: Path, pattern: str, change: Callable[[Any], Any]) -> list[Any]:
    """Return the records of the recorded export with one changed document."""
    [changed] = FOLDER.glob(pattern)
    for file in FOLDER.rglob("*.yaml"):
        target = folder / file.relative_to(FOLDER)
        target.parent.mkdir(parents=True, exist_ok=True)
        document = yaml.safe_load(file.read_text())
        text = change(document) if file == changed else document
        target.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
    return read(export=str(folder))


def _named(records: list[Any]) -> set[tuple[str, str]]:
    """Return the documents and fields that the report names."""
    return {(Path(problem.document).name, problem.field) for problem in records_of(Problem, records)}


def _list_whole(records: list[Any]) -> Iterator[str]:
    """Yield the charts that have all edges of the recorded export."""
    titles = {column.properties.get("title") for column in records_of(Column, records)}
    for case in CHARTS.split("# ")[1:]:
        title, *lines = case.strip().split("\n")
        if title in titles and edges_of(records, title) == set(lines):
            yield title


_ALL = {case.partition("\n")[0] for case in CHARTS.split("# ")[1:]}


def _put(path: str, value: Any) -> Callable[[Any], Any]:
    """Return a change that puts a value at a path."""

    def change(document: Any) -> Any:
        *above, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
        place = document
        for step in above:
            place = place[step]
        if value is None:
            del place[last]
        else:
            place[last] = value
        return document

    return change


@pytest.mark.parametrize(
    ("pattern", "path", "value", "field"),
    [
        (_CHART, "slice_name", 5, "slice_name"),
        (_CHART, "viz_type", ["table"], "viz_type"),
        (_CHART, "params", "{", "params"),
        (_CHART, "params", [1], "params"),
        (_CHART, "uuid", 5, "uuid"),
        (_CHART, "uuid", None, "uuid"),
        (_CHART, "viz_type", None, "viz_type"),
        (_DATA_SET, "columns", {"a": 1}, "columns"),
        (_DATA_SET, "columns.0", "segment", "columns[0]"),
        (_DATA_SET, "columns.0.type", 7, "columns[0].type"),
        (_DATA_SET, "columns.0.column_name", None, "columns[0].column_name"),
        (_DATA_SET, "metrics", "count", "metrics"),
        (_DATA_SET, "sql", {"select": 1}, "sql"),
        (_DATA_SET, "uuid", None, "uuid"),
        (_DATA_SET, "template_params", "[1, 2]", "template_params"),
        (_DASHBOARD, "metadata", 5, "metadata"),
        (_DASHBOARD, "slug", ["shop"], "slug"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_and_no_other_chart_is_lost(
    pattern: str, path: str, value: Any, field: str, tmp_path: Path
) -> None:
    found = _read_changed(tmp_path, pattern, _put(path, value))
    [file] = FOLDER.glob(pattern)

    assert (file.name, field) in _named(found)
    concerned = {_CHART: {"total"}, _DATA_SET: {"by segment"}}.get(pattern, set())
    if path != "metadata":  # with it the filters of all charts
        assert set(_list_whole(found)) >= _ALL - concerned


@pytest.mark.parametrize("key", ["metric", "adhoc_filters", "groupby"])
@pytest.mark.parametrize("value", [5, [5], 1.5])
def test_a_number_in_place_of_a_column_is_named(key: str, value: Any, tmp_path: Path) -> None:
    found = _read_changed(tmp_path, _CHART, _put(f"params.{key}", value))

    assert [problem.message for problem in records_of(Problem, found)] == [
        f"chart total names columns in an unknown form: {key}"
    ]
    assert set(_list_whole(found)) >= _ALL - {"total"}


@pytest.mark.parametrize("value", [5, None, {"type": "CHART", "children": [], "meta": {"chartId": 99}}])
def test_a_chart_without_its_place_is_named(value: Any, tmp_path: Path) -> None:
    def find_place(document: Any) -> str:
        [place] = [name for name, node in document["position"].items() if _is_total(node)]
        return f"position.{place}"

    [file] = FOLDER.glob(_DASHBOARD)
    path = find_place(yaml.safe_load(file.read_text()))
    found = _read_changed(tmp_path, _DASHBOARD, _put(path, value))

    # The export places the chart a second time, by its number alone.
    assert (file.name, path) in _named(found)
    assert {name for name, _ in _named(found)} == {file.name}
    assert set(_list_whole(found)) == _ALL - {"total"}


def _is_total(node: Any) -> bool:
    return isinstance(node, dict) and node.get("meta", {}).get("sliceName") == "total"


def test_of_two_documents_with_one_uuid_the_second_is_named(tmp_path: Path) -> None:
    found = _read_changed(tmp_path, _CHART, lambda document: document)
    assert records_of(Problem, found) == []
    [file] = tmp_path.glob(_CHART)
    copy = file.with_name("zz_copy.yaml")
    copy.write_text(file.read_text())
    assert records_of(Problem, read(export=str(tmp_path))) == []

    copy.write_text(file.read_text().replace("slice_name: total", "slice_name: sum"))
    found = read(export=str(tmp_path))

    assert _named(found) == {(copy.name, "uuid")}
    assert set(_list_whole(found)) == _ALL


_DEEP = "\n".join(f"{' ' * level}a:" for level in range(1000))


@pytest.mark.parametrize(
    "text",
    [
        _DEEP,
        "a: " + "[" * 1000,
        "[" * 100_000,
        "a: &a [*a]",
        "a: 1\na: 2",
        "\0",
        "{}: }",
        "a: " + '"' * 1_000_001,
    ],
    ids=["block", "flow", "flow of 100,000", "recursive", "duplicate key", "zero", "syntax", "1 MB"],
)
def test_text_that_is_no_document_is_named(text: str, tmp_path: Path) -> None:
    found = _read_changed(tmp_path, _CHART, lambda document: text)

    assert any(name.startswith("total_") for name, _ in _named(found))
    assert set(_list_whole(found)) == _ALL - {"total"}


@pytest.mark.parametrize("path", ["params.metric", "params.adhoc_filters", "params.new_key", "slice_name"])
def test_a_large_text_takes_no_more_than_its_length(path: str, tmp_path: Path) -> None:
    found = _read_changed(tmp_path, _CHART, _put(path, "revenue " * 130_000))

    assert all(len(problem.message) < 1000 for problem in records_of(Problem, found))
    assert set(_list_whole(found)) >= _ALL - {"total"}


def test_nested_parameters_take_no_recursion(tmp_path: Path) -> None:
    deep: Any = "revenue"
    for _ in range(400):
        deep = [{"a": deep}]
    change = _put("params.metric", deep)
    found = _read_changed(tmp_path, _CHART, lambda document: json.dumps(change(document)))

    assert set(_list_whole(found)) >= _ALL - {"total"}


def test_a_damaged_member_of_a_zip_costs_no_other(tmp_path: Path) -> None:
    content = bytearray(pack())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        [member] = [each for each in archive.infolist() if "/charts/total_" in each.filename]
    at = member.header_offset + 30 + len(member.filename)
    content[at : at + 20] = b"x" * 20
    (tmp_path / "export.zip").write_bytes(content)
    found = read(export=str(tmp_path))

    damage = next(problem for problem in records_of(Problem, found) if "total_" in problem.document)
    assert damage.message == "damaged in its zip (BadZipFile)"
    assert set(_list_whole(found)) == _ALL - {"total"}


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-30], lambda content: b"", lambda content: b"PK"]
)
def test_a_damaged_zip_is_named(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "export.zip").write_bytes(damage(pack()))
    found = read(export=str(tmp_path))

    assert _named(found) == {("export.zip", "")}
