"""Agents' plans compared with the documents that Spline's server stores."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Element, FeedsColumn, JobKey
from lineage_merge.sources.spline.agent.messages import check_plan
from lineage_merge.sources.spline.agent.plans import documents, header, progress
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import PLAN_PARTS, assemble, plan_key_of
from lineage_merge.sources.spline.operation_chain import operations
from lineage_merge.sources.spline.translator import translate
from tests.agent_lines import Message, as_1_0, as_1_1
from tests.api_1_server import stored as as_stored

CAPTURES = {"seed_queries": 9, "tickit_sales_ingest": 3, "tickit_sales_load": 2, "tpch": 22}
# What a database gives its documents, and no agent knows.
OF_THE_DATABASE = frozenset({"_id", "_rev", "_txInfo", "_created"})


def written(data: Path, name: str) -> list[Message]:
    text = gzip.decompress((data / "agent" / f"{name}.jsonl.gz").read_bytes()).decode()
    return [(kind, body) for kind, body in map(json.loads, text.splitlines())]


def plans_of(messages: list[Message]) -> dict[str, Any]:
    return {body["id"]: body for kind, body in messages if kind == "plan"}


def stored(data: Path, name: str) -> dict[str, dict[str, list[Any]]]:
    """The parts of each plan in the database, by collection."""
    plans: defaultdict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for collection in PLAN_PARTS:
        file = data / "spline" / name / f"{collection}.jsonl"
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            document = json.loads(line)
            plans[plan_key_of(collection, document)][collection].append(document)
    return plans


def comparable(parts: dict[str, list[Any]]) -> dict[str, list[str]]:
    """Documents in no order, without what a database adds; edges' keys are its own too."""
    return {
        collection: sorted(
            json.dumps(
                {
                    name: value
                    for name, value in each.items()
                    if name not in OF_THE_DATABASE and not (name == "_key" and "_from" in each)
                },
                sort_keys=True,
            )
            for each in parts.get(collection, ())
        )
        for collection in PLAN_PARTS
    }


def elements(key: str, parts: dict[str, list[Any]]) -> set[str]:
    """Everything that is translated of a plan, the operations too."""

    def found() -> Iterator[Element]:
        plan, problems = assemble(key, parts, EVERYTHING)
        yield from problems
        yield from translate(plan, sequence=1)
        yield from operations(plan, JobKey("spark", "job"), 1)

    return set(map(repr, found()))


@pytest.mark.parametrize(("name", "count"), CAPTURES.items())
def test_a_plan_gives_the_documents_that_the_server_stored(data: Path, name: str, count: int) -> None:
    plans, database = plans_of(written(data, name)), stored(data, name)

    assert len(plans) == count
    assert plans.keys() == database.keys()
    for key, plan in plans.items():
        assert check_plan(plan, "a line") is None
        assert comparable(documents(plan)) == comparable(database[key])
        assert elements(key, documents(plan)) == elements(key, database[key])


@pytest.mark.parametrize("name", CAPTURES)
def test_an_event_gives_the_progress_that_the_server_stored(data: Path, name: str) -> None:
    messages = written(data, name)
    plans = plans_of(messages)
    text = (data / "spline" / name / "progress.jsonl").read_text(encoding="utf-8")
    database = {each["_key"]: each for each in map(json.loads, text.splitlines())}

    events = [
        progress(body, header(plans[body["planId"]])["details"]) for k, body in messages if k == "event"
    ]

    assert {each["_key"] for each in events} == database.keys()
    for event in events:
        known = database[event["_key"]]
        details = {name: known["execPlanDetails"].get(name) for name in event["execPlanDetails"]}
        assert event == {**{name: known.get(name) for name in event}, "execPlanDetails": details}


@pytest.mark.parametrize("name", CAPTURES)
def test_older_versions_of_the_api_have_the_same_lineage(data: Path, name: str) -> None:
    for key, plan in plans_of(written(data, name)).items():
        expected = elements(key, documents(plan))
        for older in (as_1_1, as_1_0):
            _, converted = older(("plan", plan))
            assert check_plan(converted, "a line") is None
            assert elements(key, documents(converted)) == expected


def test_the_same_job_over_http_in_1_0_and_in_1_2_is_the_same(data: Path) -> None:
    versions: list[list[Message]] = [
        [tuple(json.loads(line)) for line in (data / "agent" / name).read_text(encoding="utf-8").splitlines()]
        for name in ("http_probe_1_0.jsonl", "http_probe_1_2.jsonl")
    ]
    old, new = map(plans_of, versions)

    assert old.keys() == new.keys()
    assert len(old) == 2
    for key, plan in old.items():
        assert elements(key, documents(plan)) == elements(key, documents(new[key]))


@pytest.mark.parametrize("name", CAPTURES)
def test_plans_of_api_1_have_the_same_lineage_in_the_database(data: Path, name: str) -> None:
    for key, plan in plans_of(written(data, name)).items():
        in_database = as_stored(as_1_0(("plan", plan))[1])

        assert "computedBy" not in in_database
        assert elements(key, in_database) == elements(key, documents(plan))


def test_a_job_of_api_1_has_its_kinds_and_expressions_from_the_database(data: Path) -> None:
    text = (data / "agent" / "http_probe_1_0.jsonl").read_text(encoding="utf-8")
    plans = plans_of([tuple(json.loads(line)) for line in text.splitlines()])
    key, plan = list(plans.items())[1]
    read, problems = assemble(key, as_stored(plan), EVERYTHING)

    flows = {
        (each.source.name, each.source_column, each.target_column, each.transformations, each.expression)
        for each in translate(read)
        if isinstance(each, FeedsColumn)
    }

    assert problems == []
    assert flows == {
        ("file:/data/http_src", "id", "id", ("IDENTITY",), ""),
        ("file:/data/http_src", "v", "total", ("AGGREGATION",), "sum(v)"),
    }


def test_a_duration_in_extra_is_that_of_the_event() -> None:
    plan = {
        "id": "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611",
        "operations": {"write": {"outputSource": "s3://out/x", "append": True, "id": 0, "childIds": []}},
        "systemInfo": {"name": "spark", "version": "2.4.7"},
        "extraInfo": {"appName": "old"},
    }
    event = {"planId": plan["id"], "timestamp": 1_795_252_896_204, "extra": {"durationNs": "1500000000"}}

    found = progress(event, header(plan)["details"])

    assert (found["_key"], found["durationNs"]) == (f"{plan['id']}:mwq7805o", 1_500_000_000)
    assert found["execPlanDetails"] == {
        "executionPlanKey": plan["id"],
        "frameworkName": "spark 2.4.7",
        "applicationName": "old",
        "dataSourceUri": "s3://out/x",
        "dataSourceType": None,
        "labels": {},
        "append": True,
    }


def test_of_an_operation_without_output_the_schema_is_that_below_unless_it_is_ambiguous() -> None:
    def operation(name: str, *children: str, output: list[str] | None = None) -> dict[str, Any]:
        own: dict[str, Any] = {} if output is None else {"output": output}
        return {"id": name, "childIds": list(children), **own}

    plan = {
        "id": "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611",
        "operations": {
            "write": {"outputSource": "s3://out/x", "append": False, **operation("w", "join")},
            "reads": [
                {"inputSources": ["s3://in/a"], **operation("a", output=["1", "2"])},
                {"inputSources": ["s3://in/b"], **operation("b", output=["3"])},
            ],
            "other": [
                operation("filter", "a"),
                operation("same", "filter", output=["1", "2"]),
                operation("self", "same", "filter"),
                operation("join", "self", "b"),
                operation("circle", "circle"),
            ],
        },
    }

    found = documents(plan)

    def short(edge: dict[str, Any]) -> tuple[str, str]:
        return edge["_from"].rpartition(":")[2], edge["_to"].rpartition(":")[2]

    assert {short(each) for each in found["emits"]} == {
        ("a", "a"),
        ("b", "b"),
        ("filter", "a"),
        ("same", "a"),
        ("self", "a"),
    }
    assert {short(each) for each in found["produces"]} == {("a", "1"), ("a", "2"), ("b", "3")}
