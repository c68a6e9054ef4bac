"""Whole builds by Spark of all sources at once, damaged documents among good ones."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge.graph_format import files
from lineage_merge.graph_format.validation import find_flaws
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.pipeline import Built
from tests.agent_lines import line, of_database
from tests.fuzz import cases, test_fuzz_dbt, test_fuzz_hive, test_fuzz_openlineage, test_fuzz_spline_agent
from tests.fuzz.cases import SEED, TIMES
from tests.fuzz.mutation import encoded, mutated, written
from tests.fuzz.spline_material import documents
from tests.sources.hive.hive_lines import copy, document
from tests.sources.hive.hive_lines import line as hive_line
from tests.sources.openlineage.made_events import event
from tests.spline_documents import SplineDatabase

pytestmark = pytest.mark.jvm

_GOOD = "zz_good"
# A build takes as long with a tenth of them.
_OF_EACH = round(100 * max(1, TIMES))


# What is damaged is dated by the captures, and nothing that is good is to be too old beside it.
_LOOKBACK = 36_000


def _spline() -> SplineDatabase:
    spline = SplineDatabase(name=_GOOD)
    spline.plan(f"{_GOOD}_app", reads=[f"s3://{_GOOD}/in"], writes=f"s3://{_GOOD}/out", run=_GOOD)
    return spline


def _damaged_lines(rng: random.Random, collection: str) -> Iterator[bytes]:
    own = documents()[collection]
    for _ in range(_OF_EACH // 10):
        yield encoded(written(rng, mutated(rng, rng.choice(own))))


def _write(folder: Path, rng: random.Random | None) -> dict[str, Any]:
    """Files of all sources; with chance damaged documents among them. Returns the settings."""
    database = folder / "spline"
    _spline().write(database)
    for collection in documents():
        if rng and collection != "txInfo":  # an open transaction hides what is good
            with database.joinpath(f"{collection}.jsonl").open("ab") as file:
                file.writelines(each.replace(b"\n", b" ") + b"\n" for each in _damaged_lines(rng, collection))
    hive = [hive_line(document("insert", copy(f"{_GOOD}.t", f"{_GOOD}.s"))).encode()]
    events = [
        json.dumps(
            event(
                "COMPLETE", "06:00", f"{_GOOD}_job", _GOOD, inputs=[f"x|{_GOOD}_a"], outputs=[f"x|{_GOOD}_b"]
            )
        )
    ]
    lines = {"hive.log": hive, "events.jsonl": [each.encode() for each in events]}
    agent = [line(message).encode() for message in of_database(_spline().collections)]
    lines["agent.log"] = agent
    for name, make in (
        ("hive.log", test_fuzz_hive._log),
        ("events.jsonl", test_fuzz_openlineage._log),
        ("agent.log", test_fuzz_spline_agent._log),
    ):
        damaged = [make(rng).content for _ in range(_OF_EACH)] if rng else []
        # What says that it is of the year 9999 makes all else old; it is no bad document.
        lines[name] += [each for each in damaged if b"9999-12" not in each]
        folder.joinpath(name).write_bytes(b"\n".join([*lines[name], b""]))
    sql = folder / "sql"
    sql.mkdir()
    sql.joinpath("good.sql").write_text(f"insert into {_GOOD}.u select a as b from {_GOOD}.v")
    manifest = test_fuzz_dbt._manifests()[0]
    if rng:
        sql.joinpath("bad.sql").write_bytes(
            b"select (((; insert into dw.t select \xff\0 from '; create table"
        )
        manifest = test_fuzz_dbt._with_damaged_entries(rng, manifest)
    else:
        nodes, sources = test_fuzz_dbt._good()
        manifest = {
            **manifest,
            "nodes": {**manifest["nodes"], **nodes},
            "sources": {**manifest["sources"], **sources},
        }
    folder.joinpath("manifest.json").write_bytes(encoded(written(random.Random(1), manifest)))
    return {
        "dag_name": "daily",
        "environment": "dev",
        "spline": {"export": str(database), "operations": True, "lookback": _LOOKBACK},
        "hive": {
            "log": [str(folder / "hive.log")],
            "warehouse": "s3://lake/warehouse",
            "lookback": _LOOKBACK,
        },
        "openlineage": {"events": [str(folder / "events.jsonl")], "lookback": _LOOKBACK},
        "dbt": [{"manifest": str(folder / "manifest.json"), "namespace": "redshift://wh.us-east-1:5439"}],
        "sql": [{"path": str(sql), "dialect": "hive"}],
    }


def _of_good(built: Built) -> set[str]:
    """The nodes and edges that have to do with what is good, whole."""
    rows: list[dict[str, Any]] = [*built.nodes.collect(), *built.edges.collect()]
    texts = (json.dumps(row, sort_keys=True) for row in rows)
    return {text for text in texts if _GOOD in text}


@pytest.mark.parametrize("spline", ["export", "agent"])
def test_what_is_good_is_built_as_if_nothing_else_were_there(
    spark: SparkSession, tmp_path: Path, spline: str
) -> None:
    built: list[Built] = []
    for name, rng in (("clean", None), ("damaged", random.Random(f"{SEED}/build/{spline}"))):
        folder = tmp_path / name
        folder.mkdir()
        settings = _write(folder, rng)
        if spline == "agent":
            own = {
                "spline": {"agent": [str(folder / "agent.log")], "operations": True, "lookback": _LOOKBACK}
            }
            settings = {name: settings[name] for name in ("dag_name", "environment")} | own
        with cases.limit(600):
            built.append(pipeline.build(spark, CONFIGURATION.parse(settings)))
    clean, damaged = built
    good = _of_good(clean)
    assert len(good) > 6
    assert good <= _of_good(damaged)
    assert len(damaged.report.select_kind("rejected")) > 5
    for problem in damaged.report.select_kind("rejected"):
        cases.assert_named(problem)
    files.write(spark, str(tmp_path / "built"), damaged.nodes, damaged.edges, "jsonl")
    elements, flaws = find_flaws(spark, str(tmp_path / "built"))
    assert (elements > len(good), flaws) == (True, [])
