"""Damaged lines of Spline's agents: plans and events of all versions, in logs and collectors' JSON."""

import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan
from lineage_merge.sources.spline.agent.reader import (
    AgentEvent,
    AgentPlan,
    _event_rows,
    _translate,
    join_messages,
    read_slice,
)
from tests.agent_lines import Message, as_1_0, of_database
from tests.conftest import DATA
from tests.fuzz import cases
from tests.fuzz.logs import Log, log_of, smaller
from tests.fuzz.mutation import encoded, mutated, written
from tests.fuzz.spline_material import context, made

_LONGEST = 6_000
_EVENT_DDL = "plan string, at bigint, text string, place string"

Read = AgentPlan | AgentEvent | Problem


@cache
def _messages() -> tuple[Message, ...]:
    found = of_database(made().collections)
    found += [as_1_0(message) for message in found if "labels" in message[1] and not _has_functions(message)]
    for name in ("seed_queries", "tickit_sales_load"):
        lines = gzip.decompress((DATA / "agent" / f"{name}.jsonl.gz").read_bytes()).splitlines()
        found += [tuple(json.loads(line)) for line in lines if len(line) < _LONGEST]
    return tuple(found)


def _has_functions(message: Message) -> bool:
    return bool(message[1].get("expressions", {}).get("functions"))


def _line(rng: random.Random, kind: str, body: Any) -> str:
    text = written(rng, body)
    match rng.randrange(6):
        case 0:
            return text
        case 1:
            return f'26/11/21 10:24:30 INFO Dispatcher: ["{kind}", {text}]'
        case 2:
            return json.dumps({"log": f'["{kind}", {text}]', "stream": "stdout"})
        case 3:
            return f"Execution{kind.capitalize()} (apiVersion: 1.2): {text}"
        case 4:
            return f'["{kind}", {text}, "1.{rng.randrange(4)}"]'
    return f'["{kind}", {text}]'


def _log(rng: random.Random) -> Log:
    kind, body = rng.choice(_messages())
    kind = rng.choice(("plan", "event")) if rng.random() < 0.02 else kind
    return log_of(rng, encoded(_line(rng, kind, mutated(rng, body))), _good(), "agent.log")


@cache
def _good() -> list[bytes]:
    return [json.dumps(message).encode() for message in _messages()]


@pytest.mark.parametrize("numbers", cases.blocks(14_000, 2000), ids=str)
def test_a_log(numbers: range, tmp_path: Path) -> None:
    def search(name: str, content: bytes) -> list[Read]:
        path = tmp_path / name
        path.write_bytes(content)
        return list(read_slice((0, Slice(str(path), 0, len(content))), ["appName"]))

    @cache
    def alone(line: bytes) -> list[Read]:
        return [_without_position(each) for each in search("good.log", line)]

    def check(log: Log) -> None:
        found = search(log.name, log.content)
        for each in found:
            if isinstance(each, Problem):
                cases.assert_named(each)
            elif isinstance(each, AgentEvent):
                cases.assert_fits(each, _EVENT_DDL)
        beside = [_without_position(each) for each in found]
        good = [each for line in log.good for each in alone(line)]
        assert all(each in beside for each in good)
        _translated([each for each in found if _without_position(each) not in good])

    cases.run("agent log", numbers, _log, check, smaller)


def _without_position(found: Read) -> Read:
    """Without its place, which is another one where it stands alone."""
    match found:
        case AgentPlan():
            return found._replace(position=0, location="")
        case AgentEvent():
            return found._replace(location="")
    return found._replace(document="")


def _translated(found: list[Read]) -> None:
    """What becomes of the damaged message alone, with the plan that it has: the good ones are others'."""
    plans = {each.plan: each for each in found if isinstance(each, AgentPlan) and each.rank}
    for each in found:
        if isinstance(each, AgentPlan):
            [joined] = join_messages(each.plan, [each])
            key = ("", each.plan)
            rows: list[tuple[PlanKey, object]] = [(key, joined.plan), (key, SelectedPlan("app", 1, 1))]
            for plan in _translate(context("agent"), key, rows, unrecorded=()):
                cases.assert_made(plan)
                cases.assert_records(plan.records)
        elif isinstance(each, AgentEvent):
            own = [plans[each.plan]] if each.plan in plans else []
            events = list(_event_rows(context("agent"), join_messages(each.plan, [each, *own]), -(2**63)))
            assert events
            for event in events:
                cases.assert_fits(event, cases.EVENT_DDL)
                if event.problem:
                    cases.assert_named(Problem(*json.loads(event.problem)))
