"""Runs of dbt's statements are those of the jobs that its manifests have in the same merge."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.merge.join import merge
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.reader import read_dbt
from lineage_merge.sources.registry import QUERY_LOG
from tests.record_reading import problems_of, writes_of
from tests.sources.dbt.test_dbt_jobs import manifest
from tests.sources.query_log.log_reading import NAMESPACE
from tests.sources.query_log.redshift_history import History

_OTHER = "redshift://other.us-east-1:5439"


def ran(history: History, node: str, target: str, rows: int) -> None:
    """Add a run of a node as dbt-redshift makes it; COPY is the statement whose rows the history has."""
    comment = {
        "app": "dbt",
        "dbt_version": "1.8.0",
        "profile_name": "dw",
        "target_name": target,
        "node_id": node,
    }
    session = history.session(rows, "dbt")
    with session.transaction():
        session.run(f'/* {json.dumps(comment)} */ copy "dw"."mart"."m" from \'s3://b/p/\'', loaded=rows)


def merged(
    engine: Engine, folder: Path, history: History, *projects: tuple[dict[str, Any], Mapping[str, str]]
) -> tuple[Record, ...]:
    """Read the history and manifests with their settings as one merge."""
    entries = []
    for index, (document, more) in enumerate(projects):
        file = folder / f"manifest{index}.json"
        file.write_text(json.dumps(document), "utf-8")
        entries.append({"manifest": str(file), "namespace": NAMESPACE, **more})
    log = {"format": "redshift", "path": str(history.write(folder / "history")), "namespace": NAMESPACE}
    sections: dict[str, Any] = {"query_log": [log], **({"dbt": entries} if entries else {})}
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", **sections})
    resolver = from_config(config)
    return (
        *QUERY_LOG.read(engine, config, resolver).collect(),
        *read_dbt(engine, config, resolver).collect(),
    )


def rows_of_jobs(engine: Engine, records: tuple[Record, ...]) -> dict[str, int | None]:
    """Return the rows of the last run of each job vertex of the merge."""
    nodes = merge(engine.rows(records), "dev", "d").nodes.collect()
    return {node["name"]: node.get("rows_written") for node in nodes if node["label"] == "job"}


def test_the_target_of_a_manifest_is_part_of_the_job(engine: Engine, tmp_path: Path) -> None:
    history = History()
    ran(history, "model.a.m", "prod", 7)
    ran(history, "model.a.m", "dev", 8)
    records = merged(engine, tmp_path, history, (manifest("a", "a.m"), {"target": "prod"}))
    assert rows_of_jobs(engine, records) == {"a@prod/model.a.m": 7}


def test_each_target_has_its_runs(engine: Engine, tmp_path: Path) -> None:
    history = History()
    ran(history, "model.a.m", "prod", 7)
    ran(history, "model.a.m", "dev", 8)
    records = merged(
        engine,
        tmp_path,
        history,
        (manifest("a", "a.m", schema="prod"), {"target": "prod"}),
        (manifest("a", "a.m", schema="dev"), {"target": "dev"}),
    )
    assert rows_of_jobs(engine, records) == {"a@prod/model.a.m": 7, "a@dev/model.a.m": 8}


def test_a_model_of_an_installed_package_has_the_project_in_its_job(engine: Engine, tmp_path: Path) -> None:
    history = History()
    ran(history, "model.pkg.p", "prod", 7)
    records = merged(engine, tmp_path, history, (manifest("a", "a.m", "pkg.p"), {}))
    assert rows_of_jobs(engine, records) == {"a/model.pkg.p": 7, "model.a.m": None}


@pytest.mark.parametrize("projects", [(), ((manifest("b", "b.x"), {}),)])
def test_a_node_of_no_manifest_is_named_by_its_id(
    engine: Engine, tmp_path: Path, projects: tuple[tuple[dict[str, Any], dict[str, str]], ...]
) -> None:
    history = History()
    ran(history, "model.a.m", "prod", 7)
    found = rows_of_jobs(engine, merged(engine, tmp_path, history, *projects))
    assert found == {"model.a.m": 7, **({"model.b.x": None} if projects else {})}


def test_of_two_projects_that_install_one_package_the_one_of_this_warehouse_counts(
    engine: Engine, tmp_path: Path
) -> None:
    history = History()
    ran(history, "model.pkg.p", "prod", 7)
    here, there = manifest("a", "a.m", "pkg.p"), manifest("b", "b.m", "pkg.p")
    records = merged(engine, tmp_path, history, (here, {}), (there, {"namespace": _OTHER}))
    others = dict.fromkeys(("model.a.m", "b/model.pkg.p", "model.b.m"))
    assert rows_of_jobs(engine, records) == {"a/model.pkg.p": 7, **others}


def test_runs_that_may_be_of_several_projects_are_reported(engine: Engine, tmp_path: Path) -> None:
    history = History()
    ran(history, "model.pkg.p", "prod", 7)
    records = merged(
        engine, tmp_path, history, (manifest("a", "pkg.p", schema="a"), {}), (manifest("b", "pkg.p"), {})
    )
    assert rows_of_jobs(engine, records) == {"a/model.pkg.p": None, "b/model.pkg.p": None}
    assert [problem for *_, problem in problems_of(records) if "several projects" in problem] == [
        "runs of a node of several projects are not attributed: a/model.pkg.p, b/model.pkg.p"
    ]


def test_a_view_that_a_model_builds_has_no_other_job(engine: Engine, tmp_path: Path) -> None:
    history = History(database="db")
    history.columns("core.orders", "id")
    history.session(1).run("vacuum")
    history.view("mart.m", " SELECT orders.id FROM core.orders;")
    history.view("mart.other", " SELECT orders.id FROM core.orders;")
    records = merged(engine, tmp_path, history, (manifest("a", "a.m"), {}))
    assert {target.rpartition("|")[2] for _, target in writes_of(records)} == {"db.mart.m", "db.mart.other"}
    assert len(writes_of(records)) == 2
