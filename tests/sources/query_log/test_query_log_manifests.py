"""COPY by manifest where the log lacks the files that were read: the manifest itself is read."""

import json
from pathlib import Path

from lineage_merge.column_lineage.scripts.copying import json_paths
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.sources.query_log.lineage.manifests import urls_of
from tests.s3_fixtures import S3
from tests.sources.query_log.log_reading import LogLineage, read_log
from tests.sources.query_log.redshift_history import History

# AWS's example of a manifest that COPY takes, and of one that UNLOAD writes.
_BY_HAND = {
    "entries": [
        {"url": "s3://alpha/sales/2013-10-04-custdata", "mandatory": True},
        {"url": "s3://alpha/sales/2013-10-05-custdata", "mandatory": True},
        {"url": "s3://beta/2013-10-04-custdata", "mandatory": False},
    ]
}
_OF_UNLOAD = {
    "entries": [
        {"url": "s3://unload/venue/0000_part_00", "meta": {"content_length": 32295}},
        {"url": "s3://unload/venue/0001_part_00", "meta": {"content_length": 32771}},
    ]
}


def loaded(folder: Path, *statements: str) -> LogLineage:
    history = History()
    history.columns("core.sales", "id", "price")
    session = history.session(1)
    for text in statements:
        session.run(text)
    return read_log(LocalEngine(), history.write(folder))


def copied(location: str, *, form: str = "csv") -> str:
    return f"copy core.sales from '{location}' iam_role 'arn:aws:iam::1:role/r' manifest format as {form}"


def test_the_files_of_a_manifest_are_the_datasets(tmp_path: Path, s3: S3) -> None:
    location = s3.put("manifests", "day/cust.manifest", json.dumps(_BY_HAND))
    found = loaded(tmp_path, copied(location, form="parquet"))
    sources = {"s3://alpha/sales", "s3://beta/2013-10-04-custdata"}
    assert found.feeds == {f"core.sales #: {source} > core.sales" for source in sources}
    assert found.columns == {
        f"{source}#{column} > core.sales#{column} IDENTITY"
        for source in sources
        for column in ("id", "price")
    }


def test_the_manifests_in_a_folder_without_its_subfolders(tmp_path: Path, s3: S3) -> None:
    s3.put("manifests", "day/cust.manifest", json.dumps(_BY_HAND))
    s3.put("manifests", "day/venue.manifest", json.dumps(_OF_UNLOAD))
    s3.put("manifests", "day/old/ignored.manifest", "not a manifest")
    assert loaded(tmp_path, copied("s3://manifests/day/")).feeds == {
        "core.sales #: s3://alpha/sales > core.sales",
        "core.sales #: s3://beta/2013-10-04-custdata > core.sales",
        "core.sales #: s3://unload/venue > core.sales",
    }


def test_a_manifest_that_cannot_be_read_is_one_line_of_the_report(tmp_path: Path, s3: S3) -> None:
    s3.put("manifests", "broken", '{"entries": [{"key": "s3://a/b"}]}')
    s3.put("manifests", "empty", '{"entries": []}')
    found = loaded(tmp_path, *(copied(f"s3://manifests/{name}") for name in ("removed", "broken", "empty")))
    assert not found.feeds
    assert {(kind, problem) for kind, _, _, problem in found.problems if "manifest" in problem} == {
        ("not-joined", "COPY by manifest: cannot read s3://manifests/removed"),
        ("not-joined", "COPY by manifest: s3://manifests/broken is not a manifest (entries[].url)"),
        ("not-joined", "COPY by manifest: s3://manifests/empty is empty"),
    }
    assert len(found.problems) == 3


def test_nested_json_is_no_manifest_and_no_jsonpaths_file() -> None:
    assert urls_of("[" * 100_000) is None
    assert json_paths("[" * 100_000) is None
