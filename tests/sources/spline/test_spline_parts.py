"""Documents validated and assembled to plans, without Spark."""

import json
import random
from typing import Any

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.database_state import EVERYTHING, Snapshot, newest
from lineage_merge.sources.spline.documents import Document, assemble, decode, name_of, parse, plan_key, read
from tests.spline_documents import SplineDatabase


@pytest.fixture
def spline() -> SplineDatabase:
    made = SplineDatabase()
    made.plan(
        "load", reads=["s3://lake/a", "s3://lake/b"], writes="s3://mart/x", subqueries=["Relation d.t[a#1] x"]
    )
    return made


def key_of(spline: SplineDatabase) -> str:
    return str(spline.contents["executionPlan"][0]["_key"])


def test_a_plan_is_the_same_from_shuffled_and_doubled_documents(spline: SplineDatabase) -> None:
    key = key_of(spline)
    changed = dict(spline.part("operation", f"{key}:op-1"), name="Other version")
    documents = {name: [*found, *found] for name, found in spline.contents.items()}
    documents["operation"].append(changed)
    expected = assemble(key, documents, EVERYTHING)

    shuffled = {name: random.Random(7).sample(found, len(found)) for name, found in documents.items()}
    backwards = {name: found[::-1] for name, found in documents.items()}

    assert len(expected[0].operations) == len(spline.contents["operation"])
    assert assemble(key, shuffled, EVERYTHING) == expected
    assert assemble(key, backwards, EVERYTHING) == expected


def test_edges_without_keys_are_distinguished_by_their_ends(spline: SplineDatabase) -> None:
    for edge in spline.contents["follows"]:
        del edge["_key"]

    plan, rejections = assemble(key_of(spline), spline.contents, EVERYTHING)

    assert rejections == []
    assert len(plan.follows) == len(spline.contents["follows"])


@pytest.mark.parametrize("collection", ["executionPlan", "operation", "follows", "expression"])
def test_a_plan_of_which_any_part_is_not_committed_is_open(spline: SplineDatabase, collection: str) -> None:
    spline.contents[collection][-1]["_txInfo"] = {"num": 9, "uid": "9", "params": {}}

    assert assemble(key_of(spline), spline.contents, Snapshot(frozenset({"9"})))[0].is_open
    assert not assemble(key_of(spline), spline.contents, Snapshot(frozenset({"8"})))[0].is_open


@pytest.mark.parametrize("collection", ["executionPlan", "operation", "follows", "expression"])
def test_a_plan_of_which_any_part_is_younger_than_the_snapshot_is_open(
    spline: SplineDatabase, collection: str
) -> None:
    spline.contents[collection][-1]["_txInfo"] = {"num": 1009, "uid": "9", "params": {}}

    assert assemble(key_of(spline), spline.contents, Snapshot(newest=1008))[0].is_open
    assert not assemble(key_of(spline), spline.contents, Snapshot(newest=1009))[0].is_open


@pytest.mark.parametrize(
    ("transaction", "is_hidden"),
    [
        ({"num": 5, "uid": "a"}, False),
        ({"num": 6, "uid": "a"}, True),
        ({"num": 1, "uid": "open"}, True),
        ({"uid": "a"}, False),
        ({"num": "9", "uid": ["open"]}, False),
        (None, False),
        ("open", False),
    ],
)
def test_a_snapshot_hides_what_was_open_or_began_later(transaction: Any, is_hidden: bool) -> None:
    document = {"_key": "x", "_txInfo": transaction}

    assert Snapshot(frozenset({"open"}), 5).hides(document) is is_hidden
    assert not EVERYTHING.hides(document)


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ([{"_key": "tx", "curVal": 7}], 7),
        ([{"_key": "tx", "curVal": 7.0}], 7),
        ([{"_key": "other", "curVal": 7}], None),
        ([{"_key": "tx"}], None),
        ([{"_key": "tx", "curVal": True}], None),
        ([{"_key": "tx", "curVal": float("nan")}], None),
        ([], None),
    ],
)
def test_the_newest_transaction_is_the_counters_value(counters: list[Document], expected: int | None) -> None:
    assert newest(counters) == expected


@pytest.mark.parametrize(
    ("collection", "changes", "field"),
    [
        ("executionPlan", {"_key": 7}, "_key"),
        ("executionPlan", {"name": ["load"]}, "name"),
        ("executionPlan", {"_created": "today"}, "_created"),
        ("operation", {"type": "Delete"}, "type"),
        ("operation", {"type": None}, "type"),
        ("operation", {"outputSource": None}, "outputSource"),
        ("operation", {"outputSource": ""}, "outputSource"),
        ("operation", {"append": "yes"}, "append"),
        ("operation", {"params": "text"}, "params"),
        ("operation", {"type": "Read"}, "inputSources"),
        ("operation", {"type": "Read", "inputSources": "s3://lake/a"}, "inputSources"),
        ("operation", {"type": "Read", "inputSources": ["s3://lake/a", None]}, "inputSources[1]"),
        ("follows", {"_to": None}, "_to"),
        ("expression", {"params": []}, "params"),
        ("progress", {"timestamp": "2026-01-01"}, "timestamp"),
        ("progress", {"timestamp": -1}, "timestamp"),
        ("progress", {"execPlanDetails": {"dataSourceUri": "s3://x"}}, "execPlanDetails.executionPlanKey"),
        ("progress", {"extra": {"writeMetrics": {"numOutputRows": "5"}}}, "extra.writeMetrics.numOutputRows"),
    ],
)
def test_a_malformed_document_is_rejected_by_name_and_field(
    spline: SplineDatabase, collection: str, changes: dict[str, Any], field: str
) -> None:
    document = {**spline.contents[collection][0], **changes}

    problem = read(collection, document)

    assert isinstance(problem, Problem)
    assert (problem.kind, problem.document, problem.field) == (
        "rejected",
        f"{collection}/{document['_key']}",
        field,
    )


def test_a_missing_field_is_named(spline: SplineDatabase) -> None:
    del spline.contents["operation"][0]["outputSource"]

    problem = read("operation", spline.contents["operation"][0])

    assert isinstance(problem, Problem)
    assert (problem.field, problem.message) == ("outputSource", "is missing")


def test_a_broken_part_leaves_the_rest_of_its_plan(spline: SplineDatabase) -> None:
    key = key_of(spline)
    broken = spline.part("operation", f"{key}:op-2")
    broken["type"] = "Delete"

    plan, rejections = assemble(key, spline.contents, EVERYTHING, "eu")

    assert [each.document for each in rejections] == [f"eu: operation/{broken['_key']}"]
    assert len(plan.operations) == len(spline.contents["operation"]) - 1


def test_real_documents_fit_the_schema(data: Any) -> None:
    for collection in ("executionPlan", "operation", "follows", "expression", "progress"):
        for file in (data / "spline").glob(f"*/{collection}.jsonl"):
            lines = file.read_text(encoding="utf-8").splitlines()
            assert lines
            assert not any(isinstance(decode(collection, line), Problem) for line in lines)


@pytest.mark.parametrize(
    ("collection", "document", "key"),
    [
        ("executionPlan", {"_key": "p1", "extra": {"_belongsTo": "executionPlan/p2"}}, "p1"),
        ("operation", {"_key": "p1:op-0", "_belongsTo": "executionPlan/p1"}, "p1"),
        ("operation", {"_key": "p1:op-0"}, "p1"),
        ("operation", {"_id": "operation/p1:op-0", "_key": "p1:op-0", "_belongsTo": None}, "p1"),
        ("follows", {"_key": "10049", "_from": "operation/p1:op-0", "_to": "operation/p1:op-1"}, "p1"),
        ("expression", {"type": 2300, "data": {"_key": "p1:expr-0"}}, "p1"),
        ("operation", {"_key": "op-0"}, ""),
        ("operation", {"_key": "p1:op-0", "_belongsTo": 5}, ""),
        ("operation", {"_key": 5}, ""),
        ("operation", {}, ""),
        ("executionPlan", {"_key": 5}, ""),
    ],
)
def test_a_document_has_the_key_of_its_plan(collection: str, document: Document, key: str) -> None:
    assert plan_key(collection, json.dumps(document)) == key
    assert plan_key(collection, json.dumps(document).replace("/", "\\/")) == key


def test_text_inside_a_document_does_not_determine_its_plan() -> None:
    document = {
        "_key": "p1:op-0",
        "params": {"query": '"_belongsTo": "executionPlan/p2"'},
        "_belongsTo": "executionPlan/p1",
    }

    assert plan_key("operation", json.dumps(document)) == "p1"


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ('{"_key": "p1:op-0", "name": }', "operation/p1:op-0", "not JSON"),
        ('{"name": }', "operation/(no key)", "not JSON"),
        ("[1]", "operation/(no key)", "not a JSON object"),
        (
            '{"_key": "p1:op-0", "params": ' + "[" * 100_000 + "]" * 100_000 + "}",
            "operation/p1:op-0",
            "nested too deeply",
        ),
    ],
)
def test_a_text_that_is_no_document_is_rejected(text: str, name: str, reason: str) -> None:
    problem = parse("operation", text)

    assert isinstance(problem, Problem)
    assert (problem.kind, problem.document) == ("rejected", name)
    assert reason in problem.message


def test_a_document_without_a_key_is_named_by_its_plan() -> None:
    assert (
        name_of("operation", {"_belongsTo": "executionPlan/p1"}) == "operation/(no key) of executionPlan/p1"
    )
