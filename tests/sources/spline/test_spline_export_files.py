"""Document texts of exported files, without Spark."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.sources import line_files as sliced
from lineage_merge.sources.spline import export
from tests.s3_fixtures import S3
from tests.spline_documents import FORMATS, SplineDatabase, array_of_lines, pretty_array, write_collections

HEADERS = [{"_key": f"plan-{number}", "name": f"job {number}"} for number in range(5)]


def two_plans() -> SplineDatabase:
    spline = SplineDatabase()
    spline.plan("load", reads=["s3://lake/a"], writes="s3://mart/x\u2028\u0085é")
    spline.plan("load", reads=["s3://lake/b"], writes="s3://mart/y", subqueries=["Relation d.t[a#1] csv"])
    return spline


def found(parts: list[export.Part]) -> Counter[tuple[str, str, str]]:
    """Return every document by database and collection; a problem fails the test."""
    documents: Counter[tuple[str, str, str]] = Counter()
    for part in parts:
        for text in export.texts(part):
            assert isinstance(text, export.Text), text
            document = json.loads(text.text)
            plain = json.dumps(document.get("data", document), sort_keys=True)
            documents[part.database, part.collection, plain] += 1
    return documents


def expected(spline: SplineDatabase, database: str = "") -> Counter[tuple[str, str, str]]:
    return Counter(
        (database, collection, json.dumps(document, sort_keys=True))
        for collection, documents in spline.contents.items()
        for document in documents
    )


def texts(file: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the keys in a file of plans, and the problems (location in the file, message)."""
    part = next(each for each in export.find(str(file.parent)) if each.slice.location == str(file))
    keys, problems = [], []
    for each in export.texts(part):
        if isinstance(each, Problem):
            assert (each.kind, each.field) == ("rejected", "")
            problems.append((each.document.removeprefix(str(file)), each.message))
        else:
            keys.append(json.loads(each.text)["_key"])
    return keys, problems


def plans_file(folder: Path, name: str, content: bytes | str) -> Path:
    folder.joinpath("operation.jsonl").write_bytes(b"")
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


@pytest.mark.parametrize("file_format", FORMATS)
def test_every_format_holds_the_same_documents(tmp_path: Path, file_format: str) -> None:
    spline = two_plans()
    spline.write(tmp_path, file_format)

    assert found(export.find(str(tmp_path))) == expected(spline)


def test_line_separators_may_be_unescaped(tmp_path: Path) -> None:
    """Line separators of Unicode end no line of JSON."""
    document = {"_key": "p", "name": "one\u2028two\u0085three\x0b"}
    text = json.dumps(document, ensure_ascii=False).replace("\\u000b", "\x0b")
    for name in ("executionPlan.json", "executionPlan.jsonl"):
        folder = tmp_path / name
        folder.mkdir()
        plans_file(folder, name, text + "\n")
        (part,) = (each for each in export.find(str(folder)) if each.collection == "executionPlan")

        assert [type(each) for each in export.texts(part)] == [export.Text]


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_slices_of_any_size_hold_every_document_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    spline = two_plans()
    spline.write(tmp_path, "byte order mark and blank lines")
    monkeypatch.setattr(sliced, "SLICE_BYTES", size)

    parts = export.find(str(tmp_path))

    assert len(parts) > len(spline.contents)
    assert found(parts) == expected(spline)


def test_compressed_files_and_arrays_are_never_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sliced, "SLICE_BYTES", 10)
    spline = two_plans()
    for file_format in ("jsonl.gz", "json", "arangodump"):
        folder = spline.write(tmp_path / file_format, file_format)
        parts = export.find(str(folder))
        assert len(parts) == len({part.collection for part in parts})


def test_a_dump_in_several_files_is_one_collection(tmp_path: Path) -> None:
    plans_file(tmp_path, "executionPlan_" + "0" * 32 + ".0.data.json", json.dumps(HEADERS[0]))
    plans_file(tmp_path, "executionPlan_" + "0" * 32 + ".1.data.json", json.dumps(HEADERS[1]))
    plans_file(tmp_path, "executionPlan_" + "0" * 32 + ".structure.json", "{}")
    plans_file(tmp_path, "dump.json", "{}")
    plans_file(tmp_path, "ENCRYPTION", "none")

    assert len(found(export.find(str(tmp_path)))) == 2


def test_a_folder_of_folders_is_several_databases(tmp_path: Path) -> None:
    spline = two_plans()
    spline.write(tmp_path / "eu")
    spline.write(tmp_path / "us" / "spline", "json.gz")

    everything = found(export.find(str(tmp_path)))

    assert everything == expected(spline, "eu") + expected(spline, "us/spline")
    assert found(export.find(f"{tmp_path}/us/../eu/.")) == expected(spline)
    assert found(export.find(f"file://{tmp_path}/eu/")) == expected(spline)


def test_a_bucket_is_read_like_a_folder(s3: S3, tmp_path: Path) -> None:
    spline = two_plans()
    for file in spline.write(tmp_path).iterdir():
        s3.put("exports", f"spline/{file.name}", file)

    for location in ("s3://exports/spline", "s3://exports/spline/", "s3a://exports/spline"):
        assert found(export.find(location)) == expected(spline)


@pytest.mark.parametrize("missing", ["executionPlan", "operation"])
def test_a_missing_collection_is_reported(tmp_path: Path, missing: str) -> None:
    two_plans().write(tmp_path / "whole")
    two_plans().write(tmp_path / "torn")
    (tmp_path / "torn" / f"{missing}.jsonl").unlink()

    with pytest.raises(SourceMissing, match=rf"torn: the required collection {missing} is missing"):
        export.find(str(tmp_path))


def test_other_collections_may_be_missing(tmp_path: Path) -> None:
    spline = two_plans()
    only = {name: spline.contents[name] for name in ("executionPlan", "operation")}
    write_collections(only, tmp_path)

    assert {part.collection for part in export.find(str(tmp_path))} == {"executionPlan", "operation"}


def test_a_folder_without_documents_of_spline_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="no files found"):
        export.find(str(tmp_path))
    with pytest.raises(SourceMissing, match="no such folder"):
        export.find(str(tmp_path / "nowhere"))
    tmp_path.joinpath("manifest.json").write_text("{}")
    with pytest.raises(SourceMissing, match="no collections of Spline"):
        export.find(str(tmp_path))


def test_a_malformed_line_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = [json.dumps(each).encode() for each in HEADERS]
    lines = [good[0], b'{"_key": "cut', good[1], b"7", b'{"name": "\xff"}', good[2]]

    keys, problems = texts(plans_file(tmp_path, "executionPlan.jsonl", b"\n".join(lines)))

    assert keys == ["plan-0", "plan-1", "plan-2"]
    assert problems == [
        (", line 2", "not a JSON object"),
        (", line 4", "not a JSON object"),
        (", line 5", "not UTF-8 text (byte 10 of the line)"),
    ]


def test_a_line_of_a_later_slice_is_named_by_its_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sliced, "SLICE_BYTES", 50)
    text = json.dumps(HEADERS[0]) + "\n" + json.dumps(HEADERS[1]) + "\nbroken\n"
    plans_file(tmp_path, "executionPlan.jsonl", text)

    problems = [
        each
        for part in export.find(str(tmp_path))
        for each in export.texts(part)
        if isinstance(each, Problem)
    ]

    assert [each.document for each in problems] == [
        f"{tmp_path}/executionPlan.jsonl, byte {text.index('broken')}"
    ]


@pytest.mark.parametrize("layout", ["compact", "pretty", "arangoexport"])
def test_a_malformed_element_of_an_array_is_named_and_the_rest_is_read(tmp_path: Path, layout: str) -> None:
    documents = [{**each, "params": {"list": [{"inner": 1}, {"inner": 2}]}} for each in HEADERS]
    documents[1]["name"] = "BROKEN"
    text = {
        "compact": json.dumps(documents),
        "pretty": pretty_array(documents).decode(),
        "arangoexport": array_of_lines(documents).decode(),
    }[layout]

    keys, problems = texts(plans_file(tmp_path, "executionPlan.json", text.replace('"BROKEN"', "BROKEN")))

    assert keys == ["plan-0", "plan-2", "plan-3", "plan-4"]
    line = text[: text.index('"plan-1"')].rpartition("{")[0].count("\n") + 1
    assert [location for location, _ in problems] == [f", line {line}"]
    assert problems[0][1].startswith("not JSON: ")


@pytest.mark.parametrize("layout", ["compact", "pretty", "arangoexport"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_truncated_array_yields_its_complete_elements(tmp_path: Path, layout: str, inside: bool) -> None:
    documents = [{**each, "params": {"list": [{"inner": 1}, {"inner": 2}]}} for each in HEADERS]
    text = {
        "compact": json.dumps(documents),
        "pretty": pretty_array(documents).decode(),
        "arangoexport": array_of_lines(documents).decode(),
    }[layout]
    last = text.index('"plan-4"')
    cut = text[: text.rindex("}", 0, last) + 1] if not inside else text[: text.rindex("inner") + 5]

    keys, problems = texts(plans_file(tmp_path, "executionPlan.json", cut))

    assert keys == ["plan-0", "plan-1", "plan-2", "plan-3"]
    assert len(problems) == 1
    assert ("nothing after it can be read" if inside else "the file is truncated") in problems[0][1]


def test_elements_that_are_no_documents_are_named(tmp_path: Path) -> None:
    content = json.dumps([HEADERS[0], None, [HEADERS[1]], "x", HEADERS[2]])

    keys, problems = texts(plans_file(tmp_path, "executionPlan.json", content))

    assert keys == ["plan-0", "plan-2"]
    assert problems == [(f", element {number}", "not a JSON object") for number in (2, 3, 4)]


def test_an_element_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    deep = '{"_key": "deep", "params": ' + "[" * 100_000 + "]" * 100_000 + "}"
    content = f"[{json.dumps(HEADERS[0])},\n{deep},\n{json.dumps(HEADERS[1])}]"

    keys, problems = texts(plans_file(tmp_path, "executionPlan.json", content))

    assert keys == ["plan-0", "plan-1"]
    assert problems == [(", line 2", "nested too deeply")]


def test_a_large_broken_array_takes_time_in_proportion(tmp_path: Path) -> None:
    documents = [{"_key": f"plan-{number}", "name": "x" * 50} for number in range(20_000)]
    content = array_of_lines(documents)[:-4]

    keys, problems = texts(plans_file(tmp_path, "executionPlan.json", content))

    assert len(keys) == len(documents) - 1
    assert [location for location, _ in problems] == [", line 20001"]


def test_a_truncated_file_is_one_clear_error(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(HEADERS).encode())
    file = plans_file(tmp_path, "executionPlan.json.gz", packed[:-10])
    with pytest.raises(SourceError, match="not a valid gzip file"):
        texts(file)
    file.unlink()
    with pytest.raises(SourceError, match="not UTF-8 text"):
        texts(plans_file(tmp_path, "executionPlan.json", json.dumps(HEADERS).encode("utf-16")))
