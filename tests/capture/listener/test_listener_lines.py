"""Messages of a write: what they have of tables and runs, and that they have no secrets."""

import json
from typing import Any

import pytest

from lineage_merge.model.elements import Problem, Reference
from lineage_merge.spark_capture.listener.facts import Application
from lineage_merge.spark_capture.listener.lines import messages
from lineage_merge.spark_capture.write_documents import WriteDocument
from tests.capture.listener.listener_documents import PLAN, document, write

APPLICATION = Application("app-1", {"glueJobName": "sales", "glueJobRunId": "jr_0a"})


def sent(made: WriteDocument, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    (plan, event) = map(json.loads, messages(write(made, **more), APPLICATION).lines().splitlines())
    assert (plan[0], event[0]) == ("plan", "event")
    return plan[1], event[1]


def test_an_event_has_the_run_and_what_it_wrote() -> None:
    _, event = sent(document(), counts={"numOutputRows": 3})

    assert event == {
        "planId": PLAN,
        "timestamp": 10,
        "durationNs": 9_000_000,
        "extra": {
            "appId": "app-1",
            "glueJobName": "sales",
            "glueJobRunId": "jr_0a",
            "writeMetrics": {"numOutputRows": 3},
        },
    }


def test_a_failed_write_has_an_error() -> None:
    _, event = sent(document(), error="SparkException, caused by ArithmeticException [DIVIDE_BY_ZERO]")

    assert event["error"] == "SparkException, caused by ArithmeticException [DIVIDE_BY_ZERO]"


def test_tables_without_a_path_have_an_address_and_a_view_its_kind() -> None:
    made = document(
        table=Reference("spark_catalog", "a.b/c.v"), is_view=True, params={"table": {"output": ["x#0"]}}
    )

    plan, _ = sent(made)

    target = plan["operations"]["write"]
    assert target["outputSource"] == "catalog-table:spark_catalog/a.b%2Fc.v"
    identifier = {"catalog": "spark_catalog", "database": "a.b/c", "table": "v"}
    assert target["params"]["table"] == {"output": ["x#0"], "identifier": identifier, "tableType": "VIEW"}


def test_problems_of_a_plan_are_a_part_of_it() -> None:
    plan, _ = sent(document(problems=(Problem("not-joined", "capture", "LogicalRDD", "an RDD"),)))

    assert plan["extraInfo"]["problems"] == [["not-joined", "LogicalRDD", "an RDD"]]


S = "hunter2secret"


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(document(reads=[f"jdbc:postgresql://u:{S}@h/db:t"]), id="address of a source"),
        pytest.param(document(f"s3://key:{S}@bucket/a"), id="address of the target"),
        pytest.param(document(params={"options": {"password": S}}), id="option"),
        pytest.param(document(params={"options": {"url": f"jdbc:mysql://h/db?password={S}"}}), id="url"),
        pytest.param(
            document(params={"table": {"output": [f"aes_encrypt(a, '{S}')#0"]}}), id="column's name"
        ),
        pytest.param(
            document(constants=[{"id": "const-0", "value": f"Bearer {S}1"}]), id="literal with a token"
        ),
        pytest.param(
            document(
                functions=[
                    {"id": "expr-0", "name": "aes_encrypt", "childRefs": [{"__exprId": "expr-1"}]},
                    {"id": "expr-1", "name": "cast", "childRefs": [{"__exprId": "const-0"}]},
                ],
                constants=[{"id": "const-0", "value": S}],
            ),
            id="key of an encryption",
        ),
    ],
)
def test_secrets_do_not_leave_the_process(made: WriteDocument) -> None:
    found = messages(write(made), APPLICATION)

    assert S not in found.lines().decode()


def test_other_literals_stay() -> None:
    constants: list[dict[str, Any]] = [
        {"id": "const-0", "value": "PAID"},
        {"id": "const-1", "value": "GCM"},
        {"id": "const-2", "value": float("nan")},
    ]
    functions = [{"id": "expr-0", "name": "aes_encrypt", "childRefs": [{"__exprId": "const-1"}]}]

    plan, _ = sent(document(functions=functions, constants=constants))

    assert [each["value"] for each in plan["expressions"]["constants"]] == ["PAID", "GCM", "nan"]
