"""Questions about one run (`--run`), which are answered from the sources."""

import json
from pathlib import Path

import pytest

from tests.command_line import in_process
from tests.sources.openlineage.made_events import SPARK, Event, dataset, event, of_spark, write_lines


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one job: the newer one reads another input and writes two rows."""
    folder = tmp_path_factory.mktemp("runs")

    def run(day: int, application: str, source: str, rows: int) -> list[Event]:
        output = dataset("s3://mart|sales", {"version": {"datasetVersion": str(day)}}, rows=rows)
        facets = of_spark("load_sales", application)
        return [
            event(
                kind,
                f"{day:02}T06:0{minute}",
                "load_sales.execute",
                f"run-{day}",
                inputs=[source],
                outputs=[output],
                run_facets=facets,
                producer=SPARK,
            )
            for minute, kind in enumerate(("START", "COMPLETE"))
        ]

    static = event("COMPLETE", "02T06:00", "static", inputs=["s3://mart|sales"], outputs=["s3://mart|copy"])
    del static["run"], static["eventType"]
    runs = [*run(1, "app-1", "s3://lake|old", 7), *run(9, "app-2", "s3://lake|new", 2)]
    write_lines(folder / "events.jsonl", [static, *runs])
    file = folder / "lineage_merge.yml"
    file.write_text("dag_name: d\nenvironment: dev\nopenlineage: {events: events.jsonl, lookback: 1d}\n")
    return file


@pytest.mark.parametrize(("run", "source"), [("app-1", "old"), ("app-2", "new")])
def test_upstream_of_a_run_is_what_it_read(config: Path, run: str, source: str) -> None:
    outcome = in_process("upstream", "s3://mart/sales", "--run", run, "-c", config)
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["s3://mart/sales", "└──"]
    assert f"s3://lake/{source}" in outcome.out


def test_jobs_of_a_run_have_its_rows_and_versions(config: Path) -> None:
    outcome = in_process("jobs", "--run", "app-1", "-c", config, "--json")
    (job,) = json.loads(outcome.out)["vertices"]
    properties = job["properties"]
    assert (properties["last_run_id"], properties["rows_written"]) == ("app-1", 7)
    assert properties["last_versions"].endswith("@1")


def test_impact_in_a_run_is_what_it_wrote_of_a_dataset(config: Path) -> None:
    outcome = in_process("impact", "s3://lake/new", "--run", "app-2", "-c", config, "--json")
    assert [
        found["title"] for found in json.loads(outcome.out)["affected"] if found["kind"] == "dataset"
    ] == ["s3://mart/sales"]
    outcome = in_process("impact", "s3://lake/new", "--run", "app-1", "-c", config)
    assert "not found" in outcome.err


def test_two_runs_are_compared(config: Path) -> None:
    outcome = in_process("diff", "--run", "app-1", "--run", "app-2", "-c", config, "--json")
    found = json.loads(outcome.out)
    assert {(each["kind"], each["action"], each["title"]) for each in found["changes"]} == {
        ("dataset", "removed", "s3://lake/old"),
        ("dataset", "added", "s3://lake/new"),
        ("job", "changed", "load_sales"),  # the version that it wrote
        ("feed", "removed", "s3://lake/old -> s3://mart/sales"),
        ("feed", "added", "s3://lake/new -> s3://mart/sales"),
    }
    assert (found["from"]["moment"], found["to"]["moment"]) == ("run app-1", "run app-2")


def test_a_run_that_the_sources_do_not_have_is_an_error(config: Path) -> None:
    outcome = in_process("upstream", "s3://mart/sales", "--run", "app-9", "-c", config)
    assert outcome.code != 0
    assert "no run app-9 in the sources" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("upstream", "x", "--as-of", "1d"), "--run reads the sources: omit --as-of and --folder"),
        (("diff", "dev", "prod"), "--run compares two runs: give it twice"),
        (("diff",), "--run compares two runs: give it twice"),
    ],
)
def test_a_run_excludes_moments_and_folders(config: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = in_process(*arguments, "--run", "app-1", "-c", config)
    assert outcome.code == 2
    assert message in outcome.err


def test_without_sources_there_are_no_runs(tmp_path: Path) -> None:
    outcome = in_process("upstream", "x", "--run", "app-1", "--environment", "dev")
    assert outcome.code == 2
    assert "a run is read from the sources: set --config" in outcome.err
