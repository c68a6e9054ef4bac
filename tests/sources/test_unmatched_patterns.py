from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import registry, unmatched_patterns
from lineage_merge.sources.unmatched_patterns import Existing, Patterns
from tests.arango_fixtures import ArangoServer
from tests.record_reading import problems_of
from tests.spline_documents import SplineDatabase

LOAD = "tickit_sales_load"
APPLICATIONS = "tickit_sales_ingest, tickit_sales_load"


def notices(settings: dict[str, Any]) -> set[tuple[str, str]]:
    """Return (field, message) of the notices of reading all sources."""
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", **settings})
    found: list[Any] = []
    for source, _ in registry.list_configured(config):
        found += source.read(LocalEngine(), config, from_config(config)).collect()
    return {(field, message) for kind, _, field, message in problems_of(found) if kind == "notice"}


@pytest.fixture
def export(data: Path, tmp_path: Path) -> Path:
    """Return an export of the databases of two applications."""
    for name in ("tickit_sales_ingest", "tickit_sales_load"):
        (tmp_path / name).symlink_to(data / "spline" / name)
    return tmp_path


def test_a_pattern_of_applications_that_matches_nothing_is_reported_with_those_of_the_export(
    export: Path,
) -> None:
    patterns = ["tickit_*", "tikit_sales_load", "x*"]

    found = notices({"spline": {"export": str(export), "applications": patterns}})

    similar = "did you mean tickit_sales_load or tickit_sales_ingest?"
    assert found == {
        ("applications", f"no application matches tikit_sales_load; found: {APPLICATIONS}; {similar}"),
        ("applications", f"no application matches x*; found: {APPLICATIONS}"),
    }


def test_patterns_that_all_match_are_not_reported(export: Path) -> None:
    assert notices({"spline": {"export": str(export), "applications": ["tickit_*", "*_load"]}}) == set()


def test_applications_of_an_export_without_runs_are_known(export: Path, data: Path) -> None:
    folder = export / "unrecorded"
    folder.mkdir()
    for file in (data / "spline/seed_queries").iterdir():
        if not file.name.startswith("progress"):
            (folder / file.name).symlink_to(file)
    export = folder

    found = notices({"spline": {"export": str(export), "applications": ["seed_queries", "nothing"]}})

    messages = {message for field, message in found if field == "applications"}
    assert messages == {"no application matches nothing; found: seed_queries"}


def test_an_application_that_only_wrote_before_the_lookback_is_reported(export: Path) -> None:
    found = notices(
        {"spline": {"export": str(export), "applications": ["*_load"], "runs": "since 2999-01-01"}}
    )

    assert found == {("applications", "no write within the lookback matches *_load, only older ones")}


@pytest.mark.parametrize(
    ("globs", "messages"),
    [
        (["tickit_*"], set()),
        (
            ["tickit_*", "TICKIT_SALES_*"],
            {f"no application matches TICKIT_SALES_*; found: {LOAD}; did you mean {LOAD}?"},
        ),
        (["nope*"], {"no application matches nope*; found: tickit_sales_load"}),
    ],
)
def test_applications_of_a_database_are_asked_for_only_if_a_pattern_matches_nothing(
    arango: ArangoServer,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    globs: Sequence[str],
    messages: set[str],
) -> None:
    database = arango.database("spline", data / "spline/tickit_sales_load")
    settings = connection(arango, database, monkeypatch)
    before = len(arango.standin.requests)

    found = notices({"spline": {"arango": settings, "applications": globs}})

    asked = [each for each in arango.standin.requests[before:] if "COLLECT name" in str(each.body)]
    assert {message for _, message in found} == messages
    assert bool(asked) == bool(messages)


def test_patterns_of_agents_files(data: Path) -> None:
    agent = [str(data / f"agent/{name}.jsonl.gz") for name in ("tickit_sales_load", "tickit_sales_ingest")]

    found = notices({"spline": {"agent": agent, "applications": ["*_ingest", "*_export"]}})

    assert found == {("applications", f"no application matches *_export; found: {APPLICATIONS}")}


def labelled(spline: SplineDatabase) -> SplineDatabase:
    """Add three plans: two of team a, one of team c, by a label of the plan or of its write."""
    given = ({"team": ["a"], "run": ["1"]}, {"team": ["a"]}, {"team": ["c"], "tier": ["1"]})
    for number, labels in enumerate(given):
        key = spline.plan(f"load_{number}", reads=["s3://in/a"], writes=f"s3://out/{number}", at=1)
        spline.part("executionPlan", key)["labels"] = labels
    return spline


@pytest.mark.parametrize(
    ("wanted", "messages"),
    [
        ({"team": "a"}, set()),
        ({"team": ["a", "c"]}, set()),
        ({"team": ["a", "b"]}, {"no write has the label team=b; found: a, c"}),
        ({"team": "C"}, {"no write has the label team=C; found: a, c; did you mean c?"}),
        (
            {"teem": "a"},
            {"no write has the label teem=a; found: the labels run, team, tier; did you mean team?"},
        ),
        ({"team": "c", "run": "1"}, {"no write has all of the labels run=1, team=c"}),
    ],
)
@pytest.mark.parametrize("source", ["export", "arango"])
def test_labels_that_no_write_has_are_reported_with_those_that_exist(
    arango: ArangoServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    wanted: dict[str, Any],
    messages: set[str],
) -> None:
    spline = labelled(SplineDatabase())
    if source == "export":
        given: dict[str, Any] = {"export": str(spline.write(tmp_path))}
    else:
        given = {"arango": connection(arango, arango.database("spline", spline.collections), monkeypatch)}

    found = notices({"spline": {**given, "labels": wanted}})

    assert {message for _, message in found} == messages


def test_labels_of_agents_files_that_no_write_has(data: Path) -> None:
    agent = str(data / "agent/tickit_sales_load.jsonl.gz")

    ((field, message),) = notices({"spline": {"agent": agent, "labels": {"team": "a"}}})

    assert (field, message.partition("; ")[0]) == ("labels", "no write has the label team=a")


def connection(arango: ArangoServer, database: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the settings of a connection."""
    monkeypatch.setenv("PATTERNS_PASSWORD", arango.password)
    return {
        "hosts": arango.url,
        "database": database,
        "username": arango.username,
        "password_env": "PATTERNS_PASSWORD",
    }


def test_patterns_of_openlineage_jobs_and_namespaces(data: Path) -> None:
    events = str(data / "openlineage/events/tickit_sales_load.jsonl.gz")
    settings = {
        "events": events,
        "jobs": ["tickit_*", f"{LOAD}x"],
        "namespaces": ["tickit", "prod"],
    }

    found = notices({"openlineage": settings})

    by_field = dict(found)
    assert by_field["jobs"].startswith("no job matches tickit_sales_loadx; found: tickit_sales_load")
    assert by_field["jobs"].endswith("; did you mean tickit_sales_load?")
    assert by_field["namespaces"] == "no namespace of a job matches prod; found: tickit"
    assert len(found) == 2


def test_patterns_of_hive_jobs(data: Path) -> None:
    found = notices({"hive": {"log": str(data / "hive/hive-lineage.log"), "jobs": ["*", "nothing.*"]}})

    ((field, message),) = found
    assert field == "jobs"
    assert message.startswith("no job matches nothing.*; found: ")


def test_many_names_are_counted(engine: Engine) -> None:
    known: list[tuple[str, ...]] = [(f"job_{number:05}", f"run_{number}") for number in range(3000)]
    names = engine.rows([*known, *known], 4)
    patterns = Patterns(
        "Spline", "applications", "application", ["run_7", "job_0299?", "nothing", "JOB_00007"]
    )

    found = unmatched_patterns.problems(patterns, names)

    listed = "job_00000, job_00001, job_00002, job_00003, job_00004, ... (3,000 in all)"
    assert [each.message for each in found] == [
        f"no application matches nothing; found: {listed}",
        f"no application matches JOB_00007; found: {listed}; did you mean job_00007?",
    ]


@pytest.mark.parametrize(
    ("glob", "similar"),
    [
        ("tikit_*", "; did you mean tickit_sales_ingest?"),
        ("Tickit_*", "; did you mean tickit_sales_ingest?"),
        ("tickit_sales_laod", "; did you mean tickit_sales_load or tickit_sales_ingest?"),
        ("orders_*", ""),
        ("*", ""),
        ("", ""),
    ],
)
def test_similar_names_of_a_glob(glob: str, similar: str) -> None:
    names = ["seed_queries", "tickit_sales_ingest", "tickit_sales_load"]

    assert unmatched_patterns.similar(glob, names if glob != "*" else []) == similar


def test_without_any_name_there_is_none() -> None:
    patterns = Patterns("Spline", "applications", "application", ["a"])

    (notice,) = unmatched_patterns.notices(patterns, ["a"], Existing([], 0))

    assert notice.message == "no application matches a; found: none"
