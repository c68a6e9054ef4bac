"""Damaged OpenLineage events, in lines, in logs, and in files of one array."""

import gzip
import json
import random
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from lineage_merge.infra.storage import Slice
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Problem
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.events import Context, event_rows, number_of
from lineage_merge.sources.openlineage.reader import static_elements
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.openlineage.subjects import Subject, events_by_subject
from lineage_merge.sources.openlineage.translator import targets, translate
from tests.conftest import DATA
from tests.fuzz import cases
from tests.fuzz.logs import Log, log_of, smaller
from tests.fuzz.mutation import ADDRESSES, damaged, encoded, mutated, written
from tests.sources.openlineage.made_events import Event, dataset, event, job_type, of_spark

_LONGEST = 3_500
_SUBJECT_DDL = "kind string, subject string, text string, location string"
Text = tuple[str, str, str, str]


@cache
def _context() -> Context:
    parsed = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "openlineage": {"events": ["/x"]}}
    )
    settings = parsed.of(OpenLineage)
    assert settings
    return Context(settings, dataset_resolver.from_config(parsed))


@cache
def _events() -> tuple[Event, ...]:
    columns = {
        "fields": {
            "a": {
                "inputFields": [
                    {
                        "namespace": "s3://lake",
                        "name": "sales",
                        "field": "b",
                        "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
                    }
                ]
            }
        }
    }
    facets = {"columnLineage": columns, "schema": {"fields": [{"name": "a", "type": "int"}]}}
    found = [
        event(
            "COMPLETE",
            "06:01",
            inputs=["s3://lake|sales", f"s3://lake|{ADDRESSES[0]}"],
            outputs=[dataset("redshift://host:5439|dev.public.t", facets, rows=3)],
            run_facets=of_spark("app"),
            job_facets=job_type("SPARK", "JOB"),
        ),
        event("START", "06:00", inputs=["s3://lake|sales"]),
    ]
    found.append({name: value for name, value in found[0].items() if name not in ("run", "eventType")})
    of_dataset = {name: found[0][name] for name in ("eventTime", "producer", "schemaURL")}
    found.append({**of_dataset, "dataset": dataset("s3://lake|sales", facets)})
    for name in ("seed_queries", "tickit_sales_load"):
        lines = (DATA / "openlineage" / f"{name}.jsonl").read_bytes().splitlines()
        lines += gzip.decompress(
            (DATA / "openlineage" / "events" / f"{name}.jsonl.gz").read_bytes()
        ).splitlines()
        found += [json.loads(line) for line in lines if len(line) < _LONGEST and b"eventTime" in line]
    return tuple(found)


def _log(rng: random.Random) -> Log:
    text = written(rng, mutated(rng, rng.choice(_events())))
    match rng.randrange(5):
        case 0:
            text = f"26/11/01 06:00:00 INFO ConsoleTransport: {text}"
        case 1:
            text = json.dumps({"log": {"message": text}})
        case 2:
            text = f"[{text}]"
    bad = encoded(text)
    if rng.random() < 0.1:
        array = b"[" + b",\n".join([rng.choice(_good()), bad]) + b"]"
        return Log("events.json", damaged(rng, array) if rng.random() < 0.3 else array)
    return log_of(rng, bad, _good(), "events.jsonl")


@cache
def _good() -> list[bytes]:
    return [json.dumps(each).encode() for each in _events()]


@pytest.mark.parametrize("numbers", cases.blocks(15_000, 2500), ids=str)
def test_a_file_of_events(numbers: range, tmp_path: Path) -> None:
    def search(name: str, content: bytes) -> list[Text]:
        path = tmp_path / name
        path.write_bytes(content)
        part = Slice(str(path), 0, len(content))
        return [(*subject, *of_subject) for subject, of_subject in events_by_subject(part)]

    @cache
    def alone(line: bytes) -> list[str]:
        return [each[2] for each in search("good.jsonl", line)]

    def check(log: Log) -> None:
        found = search(log.name, log.content)
        for each in found:
            cases.assert_fits(each, _SUBJECT_DDL)
            if each[0] == "problem":
                cases.assert_named(Problem(*json.loads(each[2])))
        _translated(found)
        texts = [each[2] for each in found]
        assert all(text in texts for line in log.good for text in alone(line))

    cases.run("openlineage", numbers, _log, check, smaller)


def _translated(found: list[Text]) -> None:
    """What is grouped by, and each group."""
    things: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for kind, thing, text, location in found:
        things[kind, thing].append((text, location))
    for (kind, thing), events in things.items():
        grouped = Subject(kind, thing, frozenset(events))
        if kind != "RunEvent":
            cases.assert_records(_context().resolver.records(static_elements(grouped, _context())))
            continue
        run = grouped.run()
        for each in event_rows(run, _context()):
            cases.assert_fits(each, cases.EVENT_DDL)
            if each.plan and each.target:
                elements = translate(run, targets(run)[number_of(each.plan)], 1)
                cases.assert_records(_context().resolver.records(elements))
