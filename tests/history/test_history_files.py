"""The files of a history: names, the index, Parquet, formats of other versions."""

import json
import re
import string
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.history import layout, merge_index
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord, parse_record
from lineage_merge.infra import storage
from lineage_merge.model.errors import IntermediateError, QueryError
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.history.made_history import MadeHistory, at
from tests.made_merges import Made
from tests.s3_fixtures import S3

DAILY = DagScope("dev", "daily")


def test_names_sort_by_time_and_are_read_back() -> None:
    times = [0, 999, 1000, at("2026-01-31T23:59:59"), at("2026-02-01")]
    names = [MergeName(time, "0" * 12) for time in times]
    assert [MergeName.parse(str(each)) for each in names] == names
    assert sorted(map(str, names)) == [str(each) for each in names]
    others = ("", "x", "20260131T235959Z-000000000000", "20261331T235959000Z-000000000000", f"{names[0]}0")
    assert [MergeName.parse(each) for each in others] == [None] * len(others)


@pytest.fixture(params=["folder", "s3"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "history")
    s3: S3 = request.getfixturevalue("s3")
    s3.put("lake", "other/file", "")
    return "s3://lake/lineage/history"


def test_a_merge_is_partitioned_as_in_hive_and_completed_last(location: str) -> None:
    made = Made().job("spark", "load", {"b": ["a"]}).column("b", "c", data_type="int")
    record = MadeHistory(location).full("2026-01-01T04:00", made)
    name = "20260101T040000000Z-000000000001"
    assert str(record.name) == name
    found = {each.location.removeprefix(f"{location}/") for each in storage.list_files(location)}
    scope = "environment=dev/dag_name=daily"
    assert found == {
        f"nodes/{scope}/entry={name}/part-00000-00000.parquet",
        f"edges/{scope}/entry={name}/part-00000-00000.parquet",
        f"edges_from/{scope}/entry={name}/part-00000-00000.parquet",
        f"fingerprints/{scope}/{name}.json",
        f"merges/{scope}/{name}.json",
    }
    assert merge_index.environments(location) == ["dev"]
    assert merge_index.scopes(location) == [DAILY]
    assert merge_index.newest_record(location, DAILY) == record


def test_files_have_the_columns_of_the_graph_files_without_partition_keys(tmp_path: Path) -> None:
    MadeHistory(str(tmp_path)).full("2026-01-01", Made().job("spark", "load", {"b": ["a"]}))
    for kind, ddl in (("nodes", node_ddl()), ("edges", edge_ddl())):
        (file,) = tmp_path.joinpath(kind).rglob("*.parquet")
        declared = [each.split()[0].strip("`") for each in ddl.split(", ")]
        partitions = {"environment", "dag_name"}
        assert pq.ParquetFile(file).schema_arrow.names == [
            each for each in declared if each not in partitions
        ]
        # pyarrow takes the keys from the folders, which fails if a file has them too.
        assert partitions <= set(pq.read_table(tmp_path / kind).column_names)


def test_the_newest_merge_until_a_time(location: str) -> None:
    history = MadeHistory(location)
    first = history.full("2026-01-01", Made().node("a"))
    second = history.unchanged("2026-01-03", "daily")
    other = history.full("2026-01-02", Made("weekly").node("a"))
    scopes = merge_index.scopes(location)

    def until(time: str) -> list[MergeRecord | None]:
        return merge_index.newest_until(location, scopes, at(time))

    assert until("2025-12-31") == [None, None]
    assert until("2026-01-01") == [first, None]
    assert until("2026-01-02T12:00") == [first, other]
    assert until("2026-01-03") == [second, other]
    assert merge_index.scopes(location, "prod") == []
    assert merge_index.scopes(location, "dev", "weekly") == [DagScope("dev", "weekly")]


def test_an_environment_has_the_characters_of_the_configuration(location: str) -> None:
    history = MadeHistory(location)
    history.full("2026-01-01", Made().node("a"))
    for environment in ("", "..\\dev", "x/../environment=dev", "../merges/environment=dev", "dev\n", "*"):
        with pytest.raises(QueryError, match="invalid environment: "):
            merge_index.scopes(location, environment)
    storage.create_file(f"{location}/merges/environment=a b/dag_name=daily/x.json", "{}")
    assert merge_index.environments(location) == ["dev"]


def test_environments_are_those_that_the_configuration_accepts(tmp_path: Path) -> None:
    pattern = re.compile(CONFIGURATION.schema["properties"]["environment"]["pattern"])
    for character in string.printable.strip():
        if pattern.search(character):
            assert merge_index.scopes(str(tmp_path), character) == []
        else:
            with pytest.raises(QueryError):
                merge_index.scopes(str(tmp_path), character)


def test_an_entry_without_its_object_does_not_count(location: str) -> None:
    history = MadeHistory(location)
    first = history.full("2026-01-01", Made().node("a"))
    killed = history.full("2026-01-02", Made().node("b"))
    storage.delete_file(layout.json_file(location, layout.MERGES, DAILY, killed.name))

    assert merge_index.newest_record(location, DAILY) == first
    assert merge_index.entry_names(location, DAILY) == {first.name, killed.name}
    assert merge_index.entry_names(location, DAILY, first.name) == {killed.name}


def test_two_merges_of_one_moment_have_two_objects(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path))
    names = [history.full("2026-01-01", Made().node(each)).name for each in "ab"]
    assert merge_index.merge_names(str(tmp_path), [DAILY]) == [names]


def written(**values: Any) -> str:
    name = MergeName(at("2026-01-01"), "a" * 12)
    return json.dumps({**json.loads(MergeRecord(name, "full", name).text()), **values})


def test_an_object_of_a_newer_format_is_refused() -> None:
    with pytest.raises(
        IntermediateError, match=r"history format 2, this one reads 1.*upgrade lineage-merge"
    ) as raised:
        parse_record(written(format=2), "merges/x.json")
    assert raised.value.exit_code == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", written(format="1"), written(format=0), written(entry="x"), written(merge="")]
)
def test_a_damaged_object_is_an_error(text: str) -> None:
    with pytest.raises(IntermediateError, match="not a merge of a history"):
        parse_record(text, "merges/x.json")
