"""Counts and examples of a report, and completeness of its sources."""

import io
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver, identity_rules
from lineage_merge.merge.join import merge
from lineage_merge.merge.report import MAX_EXAMPLES, Report
from lineage_merge.merge.report_builder import assign_source, report
from lineage_merge.merge.source_completeness import assess, why_not_retired
from lineage_merge.model.elements import (
    Alias,
    Count,
    Element,
    Feeds,
    JobKey,
    Problem,
    Reference,
    Writes,
)
from lineage_merge.model.errors import SourceError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.pipeline import build
from lineage_merge.orchestration.report_text import print_summary

KNOWN = dataset_resolver.DatasetResolver("dev", identity_rules.Rules())
REDSHIFT = "redshift://warehouse.eu-west-1:5439"
DBT = {"manifest": "target/manifest.json", "namespace": REDSHIFT}
HIVE = {"log": "hive.log"}
MANY = 2 * MAX_EXAMPLES


def reported(engine: Engine, **by_source: Iterable[Element]) -> Report:
    found = engine.union(
        [assign_source(engine.rows(KNOWN.records(each), 2), key) for key, each in by_source.items()]
    ).cache()
    return report(found, merge(found, "dev", "dag"))


def config(**sources: Any) -> Config:
    return CONFIGURATION.parse({"environment": "dev", "dag_name": "d", **sources})


def problems(kind: Any, number: int) -> list[Problem]:
    return [Problem(kind, f"document {each:06}", "", "found") for each in range(number)]


def test_a_rejected_document_among_many_problems_is_counted_listed_and_prevents_retiring(
    each_engine: Engine,
) -> None:
    broken = Problem("rejected", "target/manifest.json: model.shop.orders", "columns", "must be an object")
    found = reported(each_engine, dbt=[*problems("no-columns", MANY), *problems("notice", MANY), broken])

    assert found.totals == {"no-columns": MANY, "notice": MANY, "rejected": 1}
    assert found.by_source == {"dbt": {"no-columns": MANY, "notice": MANY, "rejected": 1}}
    assert found.select_kind("rejected") == [broken]
    assert len(found.select_kind("notice")) == MAX_EXAMPLES
    assert assess(config(dbt=[DBT]), found).projects["dbt"] is False


def test_many_harmless_problems_do_not_prevent_retiring(each_engine: Engine) -> None:
    found = reported(each_engine, dbt=problems("no-columns", MANY), hive=problems("skipped", MANY))

    assert assess(config(dbt=[DBT], hive=HIVE), found).projects["dbt"] is True
    assert assess(config(dbt=[DBT], hive=HIVE), found).runs is True
    assert why_not_retired(config(dbt=[DBT], hive=HIVE), found) == ()


def test_many_counts_leave_room_for_problems(each_engine: Engine) -> None:
    counts = [Count(f"documents of {each:06}", 2) for each in range(MANY)]
    found = reported(each_engine, hive=[*counts, *problems("rejected", 3)])

    assert found.read == {f"documents of {each:06}": 2 for each in range(MANY)}
    assert found.totals == {"rejected": 3}
    assert [each.document for each in found.problems] == [f"document {each:06}" for each in range(3)]


def test_a_problem_counts_once_for_several_workers_and_once_per_source(
    each_engine: Engine,
) -> None:
    same = Problem("rejected", "a document", "", "broken")
    found = reported(each_engine, hive=[same, same], openlineage=[same])

    assert found.by_source == {"hive": {"rejected": 1}, "openlineage": {"rejected": 1}}
    assert found.totals == {"rejected": 2}


def test_ambiguous_names_and_disconnected_datasets_are_counted_without_a_limit(
    each_engine: Engine,
) -> None:
    job = JobKey("spark", "job")
    elements: list[Element] = []
    for each in range(MAX_EXAMPLES + 1):
        table = Reference("spark_catalog", f"db.t{each:06}")
        elements += [Alias(table, Reference("", f"s3://{bucket}/t{each}"), "symlink") for bucket in "ab"]
        elements += [Feeds(job, table, target := Reference("", f"s3://out/{each}")), Writes(job, target)]
    found = reported(each_engine, hive=elements)

    assert found.totals == {"not-joined": MAX_EXAMPLES + 1, "no-consumer": MAX_EXAMPLES + 1}
    assert found.by_source == {"merge": found.totals}
    assert len(found.select_kind("no-consumer")) == len(found.select_kind("not-joined")) == MAX_EXAMPLES
    assert found.select_kind("not-joined")[0] == Problem(
        "not-joined",
        "dev|spark_catalog|db.t000000",
        "",
        "could mean 2 datasets: dev|s3://a|t0, dev|s3://b|t0",
    )


def test_a_report_lists_sources_that_are_not_retired_with_the_reason(each_engine: Engine) -> None:
    found = reported(each_engine, dbt=problems("rejected", 1), hive=problems("rejected", MANY))
    settings = config(dbt=[DBT], hive=HIVE, openlineage={"events": "events.json", "retire_after": 0})

    assert why_not_retired(settings, found) == (
        "OpenLineage: retire_after is 0",
        f"Hive: {MANY} documents rejected",
        "dbt: 1 document rejected",
    )


def test_a_source_without_lineage_is_in_the_summary_and_an_error_if_strict(tmp_path: Path) -> None:
    log, lines = tmp_path / "hive.log", tmp_path / "sql" / "load.sql"
    log.write_text("INFO started\n")
    lines.parent.mkdir()
    lines.write_text("insert into shop.b select x from shop.a;\n")
    sources = config(sql=[{"path": str(lines.parent), "dialect": "spark"}], hive={"log": str(log)})

    with build(None, sources) as built:
        found = built.report
    assert found.empty_sources == ("hive",)
    assert Report.from_json(found.as_json()).empty_sources == ("hive",)
    printed = io.StringIO()
    print_summary(Console(file=printed, width=200), found, "")
    assert "no lineage found in hive; with --strict, this is an error" in printed.getvalue()

    with pytest.raises(SourceError, match=r"^no lineage found in hive \(strict\)\. Fix: "):
        build(None, replace(sources, strict=True))
