"""Damaged lines of Hive's lineage hooks, between good ones."""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.storage import Slice
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import JobKey, Problem
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.hive.reader import Context, Logged, _query, _read_part, target_of, write_rows
from lineage_merge.sources.hive.settings import Hive
from lineage_merge.sources.hive.translator import JOB_TYPE, job_name, tables, translate
from tests.conftest import DATA
from tests.fuzz import cases
from tests.fuzz.logs import Log, log_of, smaller
from tests.fuzz.mutation import ADDRESSES, encoded, mutated, written
from tests.sources.hive.hive_lines import PREFIX, copy, document, found_in, line, with_names

_FOUND_DDL = "key string, form int, text string, logged_at string, place string, problem string"


@cache
def _context() -> Context:
    hive = {"log": ["/x"], "warehouse": "s3://lake/warehouse"}
    parsed = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "hive": hive})
    settings = parsed.of(Hive)
    assert settings
    return Context(
        settings.jobs, settings.job_name_from, tables(settings), dataset_resolver.from_config(parsed)
    )


@cache
def _documents() -> tuple[dict[str, Any], ...]:
    case = "case when a.b > 1 then sum(a.c) else 'x' end"
    text = f"insert overwrite directory '{ADDRESSES[1]}' select {case} from ods.a a"
    edges = [
        (
            "PROJECTION",
            "CASE WHEN ((a.b > 1)) THEN (sum(a.c)) ELSE ('x') END",
            ["ods.a.b", "ods.a.c"],
            ["dw.t.x"],
        ),
        ("PREDICATE", "(a.b = 1)", ["ods.a.b"], ["dw.t.x"]),
    ]
    made = document("insert overwrite table dw.t select 1", copy("dw.t", "ods.a", ("x", "y")))
    found = [made, with_names(made), document(text, edges)]
    for name in ("hive-lineage.log", "hive-lineage-names.log"):
        captured = found_in((DATA / "hive" / name).read_text())
        found += [each.document for each in captured if not isinstance(each, Problem)]
    return tuple(each for each in found if len(json.dumps(each)) < 2500)


def _log(rng: random.Random) -> Log:
    text = written(rng, mutated(rng, rng.choice(_documents())))
    match rng.randrange(5):
        case 0:
            bad = encoded(text)
        case 1:
            bad = encoded(json.dumps({"message": PREFIX + text, "level": "INFO"}))
        case _:
            bad = encoded(PREFIX + text)
    if rng.random() < 0.1:
        bad = bad.replace(b"{", b"{\n  ", 1).replace(b',"', b',\n  "')
    return log_of(rng, bad, _good(), "hive.log")


@cache
def _good() -> list[bytes]:
    return [line(each).encode() for each in _documents()]


@pytest.mark.parametrize("numbers", cases.blocks(14_000, 2000), ids=str)
def test_a_log_of_hive(numbers: range, tmp_path: Path) -> None:
    def search(name: str, content: bytes) -> list[Logged]:
        path = tmp_path / name
        path.write_bytes(content)
        return list(_read_part(Slice(str(path), 0, len(content))))

    @cache
    def alone(text: bytes) -> list[tuple[Any, ...]]:
        return [each[:4] for each in search("good.log", text)]

    def check(log: Log) -> None:
        found = search(log.name, log.content)
        good = [each for text in log.good for each in alone(text)]
        for each in found:
            cases.assert_fits(each, _FOUND_DDL)
            if each.problem:
                cases.assert_named(Problem(*json.loads(each.problem)))
            elif each[:4] not in good:
                _translated(each)
        beside = [each[:4] for each in found]
        assert all(each in beside for each in good)

    cases.run("hive", numbers, _log, check, smaller)


def _translated(found: Logged) -> None:
    query = _query(found)
    events = [each.event for each in write_rows(query, _context())]
    for each in events:
        cases.assert_fits(each, cases.EVENT_DDL)
    job = JobKey(JOB_TYPE, job_name(query, _context().job_name_from))
    targets = {target_of(each.plan) for each in events if each.plan}
    cases.assert_records(_context().resolver.records(translate(query, targets, job, _context().tables)))
