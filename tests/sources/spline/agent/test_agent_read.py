"""Agents' files: the records are those of a database with the same content."""

import gzip
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.errors import SourceMissing
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import line_files
from lineage_merge.sources.spline.reader import read_spline
from tests.agent_lines import line, of_database
from tests.record_reading import comparable, flows_of, jobs_of, problems_of, rows_of
from tests.s3_fixtures import S3
from tests.spline_documents import DAY, SplineDatabase
from tests.spline_histories import everything

CAPTURES = ("seed_queries", "tickit_sales_ingest", "tickit_sales_load")
PREFIX = "2026-11-21 10:11:12,345 INFO  [main] o.e.Dispatcher: "
NOISE = ["java.lang.Error: send(plan)", "\tat o.e.Plan(Plan.scala:1)", '{"planId": 7}', "[event] {", ""]


def settings(spline: dict[str, Any], **more: object) -> Config:
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": spline, **more})


def read(spline: dict[str, Any], engine: Engine | None = None, **more: object) -> list[Record]:
    found = settings(spline, **more)
    return rows_of(read_spline(engine or LocalEngine(), found, dataset_resolver.from_config(found)))


def agent(*locations: Path | str, engine: Engine | None = None, **more: object) -> list[Record]:
    return read({"agent": [str(each) for each in locations], **more}, engine)


def write(file: Path, text: list[str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(text) + "\n", encoding="utf-8")
    return file


def test_captured_jobs_are_the_same_as_from_the_database(engine: Engine, data: Path, tmp_path: Path) -> None:
    for name in CAPTURES:
        (tmp_path / name).symlink_to(data / "spline" / name)
    all_at_once = {"operations": True, "lookback": "36500d"}
    database = read({"export": str(tmp_path), **all_at_once}, engine, merge={"collapse_run_local": True})

    found = read(
        {"agent": [str(data / "agent" / f"{name}.jsonl.gz") for name in CAPTURES], **all_at_once},
        engine,
        merge={"collapse_run_local": True},
    )

    assert comparable(found) - comparable(database) == Counter()
    assert comparable(database) - comparable(found) == Counter()
    assert len(flows_of(found)) == 8


def test_histories_in_logs_are_the_same_as_in_a_database(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spline, counting = everything()
    chaos = random.Random(5)
    messages = [line(each) for each in of_database(spline.collections)]
    # What only a database can hold: a plan that writes nothing, a document that is lost, transactions.
    messages = [each for each in messages if '"operations": {"reads"' not in each]
    left_out = ("without_its_own_document", "not_committed", "name_no_run")
    applications = [name for name in counting if not any(each in name for each in left_out)]
    mixed = chaos.sample([*messages, *chaos.sample(messages, 100)], len(messages) + 100)
    logs: defaultdict[str, list[str]] = defaultdict(list)
    for each in mixed:
        kind, body = json.loads(each)
        where = chaos.choice(["a.log", "b/c.jsonl", "b/d.log.gz"])
        logs[where] += chaos.choices(NOISE, k=2)
        announced = [f"{PREFIX}Execution{kind.title()} (apiVersion: 1.2):", json.dumps(body)]
        logs[where] += chaos.choice([[PREFIX + each], announced])
    for name, text in logs.items():
        file = write(tmp_path / "logs" / name, text)
        if name.endswith(".gz"):
            file.write_bytes(gzip.compress(file.read_bytes()))
    monkeypatch.setattr(line_files, "SLICE_BYTES", 30_000)

    found = agent(tmp_path / "logs", engine=engine)

    counted = read({"export": str(spline.write(tmp_path / "export"))})
    flows = {name: {flow[1:] for flow in flows_of(found, name)} for name in applications}
    assert flows == {name: {flow[1:] for flow in flows_of(counted, name)} for name in applications}
    assert sum(map(len, flows.values())) > 20
    jobs, counted_jobs = jobs_of(found), jobs_of(counted)
    assert {name: jobs.get(name) for name in applications} == {
        name: counted_jobs.get(name) for name in applications
    }


def test_malformed_messages_are_named_and_the_rest_is_read(engine: Engine, tmp_path: Path) -> None:
    spline = SplineDatabase()
    spline.plan("good", reads=["s3://in/a"], writes="s3://out/x", at=1)
    lost = spline.plan("lost", reads=["s3://in/a"], writes="s3://out/lost", at=1)
    cut = spline.plan("cut", reads=["s3://in/a"], writes="s3://out/cut", at=1)
    idle = spline.plan("idle", reads=["s3://in/a"], writes="s3://out/idle", at=1)
    wrong = spline.plan("wrong", reads=["s3://in/a"], writes="s3://out/wrong", at=1)
    messages = of_database(spline.collections)
    by_plan = {body["id"]: body for kind, body in messages if kind == "plan"}
    del by_plan[idle]["operations"]["write"]
    by_plan[wrong]["operations"]["reads"][0]["childIds"] = "none"
    text = [line(each) for each in messages if each[1].get("id") != lost]
    text = [each[:-30] if cut in each and each.startswith('["plan"') else each for each in text]
    log = write(tmp_path / "agent.log", [*text, '["plan", 7]', '["event", {"planId": "x", "timestamp": 1}]'])
    with log.open("ab") as file:
        file.write(b'["plan", {"id": "\xff"}]\n')

    rows = agent(log, engine=engine)

    places = {key: number for number, each in enumerate(text, 1) for key in by_plan if key in each}
    assert flows_of(rows) == {("good", "s3://in|a", "s3://out|x")}
    at = {
        (each["planId"] if kind == "event" else each["id"], kind): number
        for number, (kind, each) in enumerate([m for m in messages if m[1].get("id") != lost], 1)
    }
    assert places.keys() == by_plan.keys()
    assert {(document, field) for _, document, field, _ in problems_of(rows)} == {
        (f"{log}, line {at[cut, 'plan']}", ""),
        (f"{log}, line {at[cut, 'event']}", "planId"),
        (f"{log}, line {at[lost, 'event']}", "planId"),
        (f"{log}, line {at[idle, 'plan']}", "operations.write"),
        (f"{log}, line {at[wrong, 'plan']}", "operations.reads[0].childIds"),
        (f"{log}, line {len(text) + 1}", ""),
        (f"{log}, line {len(text) + 2}", "planId"),
        (f"{log}, line {len(text) + 3}", ""),
    }


def test_an_event_that_is_too_old_to_count_may_lack_its_plan(tmp_path: Path) -> None:
    spline = SplineDatabase()
    old = spline.plan("job", reads=["s3://in/old"], writes="s3://out/x", at=0)
    spline.plan("job", reads=["s3://in/new"], writes="s3://out/x", at=40 * DAY)
    messages = [line(each) for each in of_database(spline.collections) if each[1].get("id") != old]
    log = write(tmp_path / "agent.log", messages)

    assert problems_of(agent(log)) == set()
    assert [kind for kind, _, _, _ in problems_of(agent(log, lookback="41d"))] == ["rejected"]


def test_labels_may_stand_on_the_event_on_the_plan_or_in_what_a_user_adds(tmp_path: Path) -> None:
    spline = SplineDatabase()
    for name in ("event", "plan", "extra", "none", "other"):
        spline.plan(name, reads=["s3://in/a"], writes=f"s3://out/{name}", at=1)
    messages = of_database(spline.collections)
    plans = {body["name"]: body for kind, body in messages if kind == "plan"}
    events = {body["planId"]: body for kind, body in messages if kind == "event"}
    events[plans["event"]["id"]]["labels"] = {"team": ["a"]}
    plans["plan"]["labels"] = {"team": ["a", "c"]}
    plans["extra"]["extraInfo"]["team"] = "b"
    plans["other"]["labels"] = {"team": ["z"]}
    log = write(tmp_path / "agent.log", [line(each) for each in messages])

    rows = agent(log, labels={"team": ["a", "b"]}, applications=["*"])

    assert {job for job, _, _ in flows_of(rows)} == {"event", "plan", "extra"}


def test_without_any_event_the_last_plan_of_each_target_counts(engine: Engine, tmp_path: Path) -> None:
    spline = SplineDatabase()
    for source in ("old", "new"):
        spline.plan("job", reads=[f"s3://in/{source}"], writes="s3://out/x", at=None)
    old, new = (line(each) for each in of_database(spline.collections))
    write(tmp_path / "logs" / "2026-01-01.log", [new, old])
    write(tmp_path / "logs" / "2026-01-02.log", [new])

    rows = agent(tmp_path / "logs", engine=engine)

    assert flows_of(rows) == {("job", "s3://in|new", "s3://out|x")}
    assert {(kind, document) for kind, document, _, _ in problems_of(rows)} == {("notice", "Spline")}


def test_files_in_s3_and_lines_longer_than_a_slice(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    spline = SplineDatabase()
    spline.plan("a", reads=[f"s3://in/{number:03}" for number in range(100)], writes="s3://out/a", at=1)
    spline.plan("b", reads=["s3://in/b"], writes="s3://out/b", at=2)
    text = "\n".join(line(each) for each in of_database(spline.collections))
    s3.put("logs", "spline/2026/a.log", text)
    alone = s3.put("logs", "spline-b.log", text)
    monkeypatch.setattr(line_files, "SLICE_BYTES", 7_000)

    folder = flows_of(agent("s3://logs/spline"))

    assert len(folder) == 101
    assert flows_of(agent(alone)) == folder


def test_missing_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="nowhere"):
        agent(tmp_path / "nowhere")
