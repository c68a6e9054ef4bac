"""Samples of large sources."""

from pathlib import Path

from lineage_merge.config import Config
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.init import inspection
from lineage_merge.orchestration.init.findings import JobFindings, ObservedJob


def parsed(**sources: object) -> Config:
    return CONFIGURATION.parse({"dag_name": "d", "environment": "e", **sources})


def test_the_newest_files_that_fit_are_read(tmp_path: Path) -> None:
    for day, size in (("01", 50), ("02", 30), ("03", 60)):
        (tmp_path / f"events-{day}.jsonl").write_bytes(b"x" * size)
    seen: list[tuple[str, ...]] = []

    def read_all(config: Config) -> JobFindings:
        seen.append(tuple(Path(each).name for each in config.sources["openlineage"].events))
        return JobFindings(jobs=(ObservedJob("openlineage", "a", 0),))

    found = inspection.sample(parsed(openlineage={"events": str(tmp_path)}), 100, read_all)

    assert seen == [("events-02.jsonl", "events-03.jsonl")]
    assert (found.is_sample, [each.name for each in found.jobs]) == (True, ["a"])


def test_one_file_above_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "hive.log").write_bytes(b"x" * 200)

    def read_all(_config: Config) -> JobFindings:
        raise AssertionError("reads a file above the limit")

    assert inspection.sample(parsed(hive={"log": str(tmp_path)}), 100, read_all).jobs == ()


def test_an_export_gives_names_and_datasets_of_its_first_documents(data: Path) -> None:
    folder = str(data / "spline" / "tickit_sales_load")

    found = inspection.sample(parsed(spline={"export": folder}), 100, lambda _: JobFindings())

    assert [(each.name, each.newest > 0) for each in found.jobs] == [("tickit_sales_load", True)]
    assert {each.name for each in found.references} >= {
        "s3://tickit-lake/sales_dl",
        "s3://tickit-staging/event",
    }
    assert any(each.name.startswith("jdbc:redshift:") for each in found.references)
