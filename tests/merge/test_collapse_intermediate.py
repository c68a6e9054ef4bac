"""Collapsed temporary datasets: edges of datasets and columns, and datasets that remain."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge.config import Merge
from lineage_merge.graph_format.validation import find_flaws
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver, identity_rules
from lineage_merge.merge.alias_resolution import Aliases
from lineage_merge.merge.join import Merged, merge
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Column,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    Job,
    JobKey,
    Reference,
    Writes,
)
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.spline_documents import SplineDatabase

KNOWN = dataset_resolver.DatasetResolver("dev", identity_rules.Rules())
A, B = JobKey("spark", "a"), JobKey("spark", "b")
TEMPORARY = Merge(collapse_datasets=("s3://*/tmp/*",))

Edges = set[tuple[str, str, str]]


def at(path: str) -> Reference:
    return Reference("", f"s3://b/{path}")


def flow(
    job: JobKey, source: str, target: str, *operations: str, **properties: int | str
) -> Feeds[Reference]:
    return Feeds(job, at(source), at(target), properties, {"operations": operations} if operations else {})


def column(job: JobKey, source: str, target: str, how: str, expression: str = "") -> FeedsColumn[Reference]:
    """From ``path.column`` to ``path.column``."""
    (start, start_column), (end, end_column) = source.rsplit(".", 1), target.rsplit(".", 1)
    return FeedsColumn(job, at(start), start_column, at(end), end_column, (how,), expression)


def influences(job: JobKey, source: str, target: str, how: str) -> Influences[Reference]:
    start, start_column = source.rsplit(".", 1)
    return Influences(job, at(start), start_column, at(target), (how,))


def collapsed(engine: Engine, *elements: Element, settings: Merge = TEMPORARY) -> Merged:
    return merge(engine.rows(KNOWN.records(elements)), "dev", "dag", settings)


def edges(found: Merged, label: str, value: str) -> Mapping[tuple[str, str, str], Any]:
    """Return job, start and end of the edges with a label, and a property of each; ids without prefixes."""

    def short(identifier: str) -> str:
        return identifier.removeprefix("dev|s3://b|").removeprefix("dev|dag|spark|").replace("|", ".")

    return {
        (row["job_name"], short(row["from"]), short(row["to"])): row.get(value)
        for row in found.edges.collect()
        if row["label"] == label
    }


def node_ids(found: Merged) -> set[str]:
    return {row["id"].removeprefix("dev|s3://b|") for row in found.nodes.collect()}


def test_the_sources_of_a_temporary_dataset_feed_its_targets(engine: Engine) -> None:
    found = collapsed(
        engine,
        Dataset(at("tmp/x"), Authority.BUILDER),
        Column(at("tmp/x"), "c", Authority.BUILDER),
        Alias(Reference("spark_catalog", "db.x"), at("tmp/x"), "catalog-table"),
        Job(A),
        Writes(A, at("tmp/x")),
        flow(A, "raw1", "tmp/x", "Filter", sequence=1),
        flow(A, "raw2", "tmp/x", sequence=1),
        Job(B),
        Writes(B, at("mart")),
        flow(B, "tmp/x", "mart", "Join > Sort", "Union", sequence=7),
        flow(B, "raw3", "mart", "Join", sequence=7),
    )

    assert edges(found, "feeds", "via") == {
        ("b", "raw1", "mart"): "s3://b/tmp/x",
        ("b", "raw2", "mart"): "s3://b/tmp/x",
        ("b", "raw3", "mart"): None,
    }
    assert edges(found, "feeds", "operations") == {
        ("b", "raw1", "mart"): "Filter > Join > Sort | Filter > Union",
        ("b", "raw2", "mart"): "Join > Sort | Union",
        ("b", "raw3", "mart"): "Join",
    }
    assert {*edges(found, "feeds", "sequence").values()} == {7}
    assert set(edges(found, "writes", "via")) == {("b", "b", "mart")}
    assert "has_column" not in {row["label"] for row in found.edges.collect()}
    assert node_ids(found) == {"raw1", "raw2", "raw3", "mart", "dev|dag|spark|a", "dev|dag|spark|b"}
    assert not found.aliases.candidates


def test_a_temporary_dataset_is_matched_by_any_of_its_names(engine: Engine) -> None:
    table = Reference("spark_catalog", "db.x")

    found = collapsed(
        engine,
        Alias(table, at("tmp/x"), "catalog-table"),
        flow(A, "raw", "tmp/x"),
        Feeds(B, table, at("mart")),
    )

    assert set(edges(found, "feeds", "via")) == {("b", "raw", "mart")}


def test_a_chain_of_temporary_datasets_collapses_completely(engine: Engine) -> None:
    found = collapsed(
        engine,
        flow(A, "raw", "tmp/1", "Filter"),
        flow(A, "tmp/1", "tmp/2"),
        flow(A, "tmp/2", "tmp/3", "Sort"),
        flow(B, "tmp/3", "mart", "Join"),
        flow(B, "tmp/1", "mart", "Join"),
    )

    assert edges(found, "feeds", "via") == {
        ("b", "raw", "mart"): "s3://b/tmp/1 | s3://b/tmp/2 | s3://b/tmp/3"
    }
    assert edges(found, "feeds", "operations") == {
        ("b", "raw", "mart"): "Filter > Join | Filter > Sort > Join"
    }


def test_unavailable_columns_of_one_step_are_unavailable_on_the_whole_path(engine: Engine) -> None:
    found = collapsed(
        engine,
        flow(A, "raw1", "tmp/1", column_lineage="unavailable"),
        flow(A, "raw2", "tmp/2"),
        flow(A, "tmp/1", "tmp/2"),
        flow(B, "tmp/2", "mart"),
    )

    assert edges(found, "feeds", "column_lineage") == {
        ("b", "raw1", "mart"): "unavailable",
        ("b", "raw2", "mart"): None,
    }


def test_metadata_of_one_step_is_metadata_on_the_whole_path(engine: Engine) -> None:
    found = collapsed(
        engine,
        flow(A, "raw1", "tmp/1"),
        flow(A, "raw2", "tmp/1", reads="metadata"),
        flow(A, "raw3", "tmp/2", reads="metadata"),
        flow(A, "raw3", "tmp/1"),
        flow(A, "tmp/1", "tmp/2"),
        influences(A, "raw1.a", "tmp/1", "FILTER"),
        flow(B, "tmp/2", "mart"),
        flow(B, "tmp/1", "audit", reads="metadata"),
    )

    assert edges(found, "feeds", "reads") == {
        ("b", "raw1", "mart"): None,
        ("b", "raw2", "mart"): "metadata",
        ("b", "raw3", "mart"): None,
        ("b", "raw1", "audit"): "metadata",
        ("b", "raw2", "audit"): "metadata",
        ("b", "raw3", "audit"): "metadata",
    }
    assert edges(found, "influences", "transformation") == {("b", "raw1.a", "mart"): "FILTER"}


def test_of_several_reads_those_of_rows_count(engine: Engine) -> None:
    metadata, rows = flow(A, "raw", "mart", reads="metadata"), flow(A, "raw", "mart")

    assert edges(collapsed(engine, metadata, metadata), "feeds", "reads") == {
        ("a", "raw", "mart"): "metadata"
    }
    for reads in ([metadata, rows], [rows, metadata]):
        assert edges(collapsed(engine, *reads), "feeds", "reads") == {("a", "raw", "mart"): None}


def test_via_contains_no_generated_ids(engine: Engine) -> None:
    generated = "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"
    below = at(f"tmp/{generated}")  # named s3://b/tmp, and yet below it

    found = collapsed(
        engine,
        flow(A, "raw", f"tmp/{generated}/stage"),
        flow(A, f"tmp/{generated}/stage", "mart"),
        Feeds(A, at("raw2"), below),
        Feeds(A, below, at("mart")),
    )

    assert edges(found, "feeds", "via") == {
        ("a", "raw", "mart"): "s3://b/tmp/stage",
        ("a", "raw2", "mart"): "s3://b/tmp",
    }


def test_cycles_of_temporary_datasets_terminate(engine: Engine) -> None:
    found = collapsed(
        engine,
        flow(A, "raw", "tmp/1"),
        flow(A, "tmp/1", "tmp/2", "Map"),
        flow(A, "tmp/2", "tmp/1", "Back"),
        flow(A, "tmp/2", "tmp/2", "Stay"),
        flow(A, "tmp/2", "mart"),
        flow(A, "mart", "mart"),
        column(A, "raw.a", "tmp/1.a", "IDENTITY"),
        column(A, "tmp/1.a", "tmp/2.a", "IDENTITY"),
        column(A, "tmp/2.a", "tmp/1.a", "AGGREGATION", "sum(a)"),
        column(A, "tmp/2.a", "tmp/2.a", "IDENTITY"),
        column(A, "tmp/2.a", "mart.a", "IDENTITY"),
    )

    assert edges(found, "feeds", "operations") == {("a", "raw", "mart"): "Map", ("a", "mart", "mart"): None}
    # Directly, or once through the cycle with the sum.
    assert edges(found, "feeds_column", "transformation") == {
        ("a", "raw.a", "mart.a"): "IDENTITY,AGGREGATION"
    }


def test_many_paths_through_temporary_datasets_do_not_multiply(engine: Engine) -> None:
    """Each of twelve is made of the two before: 144 paths lead from one end to the other."""
    ladder = [flow(A, "raw", "tmp/0", "Op"), flow(A, "raw", "tmp/1", "Op")]
    for rung in range(2, 12):
        ladder += [flow(A, f"tmp/{rung - back}", f"tmp/{rung}", f"Op{rung}") for back in (1, 2)]

    found = collapsed(engine, *ladder, flow(A, "tmp/11", "mart", "Op"))

    via = edges(found, "feeds", "via")
    assert set(via) == {("a", "raw", "mart")}
    assert via["a", "raw", "mart"].count(" | ") == 11


def test_datasets_without_source_or_target_remain(engine: Engine) -> None:
    found = collapsed(
        engine,
        Writes(A, at("tmp/unread")),
        flow(A, "raw", "tmp/unread"),
        flow(A, "tmp/unwritten", "mart"),
        Writes(A, at("tmp/constants")),
        flow(A, "tmp/constants", "mart"),
        flow(A, "tmp/itself", "tmp/itself"),
        flow(A, "tmp/itself", "mart"),
    )

    assert set(edges(found, "feeds", "via")) == {
        ("a", "raw", "tmp/unread"),
        ("a", "tmp/unwritten", "mart"),
        ("a", "tmp/constants", "mart"),
        ("a", "tmp/itself", "tmp/itself"),
        ("a", "tmp/itself", "mart"),
    }


def test_only_configured_datasets_are_collapsed(engine: Engine) -> None:
    chain = flow(A, "raw", "tmp/x"), flow(A, "tmp/x", "mart")

    for settings in (Merge(), Merge(collapse_datasets=("s3://c/*",)), Merge(collapse_run_local=True)):
        assert set(edges(collapsed(engine, *chain, settings=settings), "feeds", "via")) == {
            ("a", "raw", "tmp/x"),
            ("a", "tmp/x", "mart"),
        }


def test_column_lineage_passes_through_temporary_datasets(engine: Engine) -> None:
    found = collapsed(
        engine,
        flow(A, "raw", "tmp/1"),
        flow(A, "tmp/1", "tmp/2"),
        flow(B, "tmp/2", "mart"),
        column(A, "raw.a", "tmp/1.A", "TRANSFORMATION", "cast(a as int)"),
        column(A, "raw.b", "tmp/1.b", "IDENTITY"),
        column(A, "raw.k", "tmp/1.b", "CONDITIONAL", "if(k, b, 0)"),
        column(A, "raw.c", "tmp/1.c", "WINDOW", "rank()"),
        column(A, "tmp/1.a", "tmp/2.x", "IDENTITY"),
        column(A, "tmp/1.b", "tmp/2.y", "AGGREGATION", "sum(b)"),
        column(A, "tmp/1.c", "tmp/2.z", "AGGREGATION", "max(c)"),
        column(B, "tmp/2.X", "mart.x", "IDENTITY"),
        column(B, "tmp/2.y", "mart.y", "IDENTITY"),
        column(B, "tmp/2.z", "mart.z", "IDENTITY"),
        column(B, "tmp/2.constant", "mart.none", "IDENTITY"),
        column(B, "tmp/2.x", "mart.w", "CONDITIONAL", "if(x, 1, 2)"),
    )

    assert edges(found, "feeds_column", "transformation") == {
        ("b", "raw.a", "mart.x"): "TRANSFORMATION",
        ("b", "raw.b", "mart.y"): "AGGREGATION",
        ("b", "raw.k", "mart.y"): "CONDITIONAL",
        ("b", "raw.c", "mart.z"): "WINDOW",
        ("b", "raw.a", "mart.w"): "CONDITIONAL",
    }
    assert edges(found, "feeds_column", "expression") == {
        ("b", "raw.a", "mart.x"): "cast(a as int)",
        ("b", "raw.b", "mart.y"): "sum(b)",
        ("b", "raw.k", "mart.y"): "sum(b)",
        ("b", "raw.c", "mart.z"): "max(c)",
        ("b", "raw.a", "mart.w"): "if(x, 1, 2)",
    }
    assert not {each for each in node_ids(found) if "tmp" in each}


def test_edges_through_an_assumed_column_are_assumed_unless_another_path_is_known(engine: Engine) -> None:
    def assumed(source: str, target: str) -> FeedsColumn[Reference]:
        return column(A, source, target, "IDENTITY")._replace(assumed=True)

    found = collapsed(
        engine,
        flow(A, "raw", "tmp/1"),
        flow(A, "raw", "tmp/2"),
        flow(B, "tmp/1", "mart"),
        flow(B, "tmp/2", "mart"),
        assumed("raw.a", "tmp/1.a"),
        assumed("raw.b", "tmp/1.b"),
        column(A, "raw.b", "tmp/2.b", "IDENTITY"),
        column(A, "raw.c", "tmp/1.c", "IDENTITY"),
        column(B, "tmp/1.a", "mart.a", "IDENTITY"),
        column(B, "tmp/1.b", "mart.b", "AGGREGATION", "max(b)"),
        column(B, "tmp/2.b", "mart.b", "IDENTITY"),
        assumed("tmp/1.c", "mart.c"),
        influences(B, "tmp/1.a", "mart", "FILTER"),
        influences(B, "tmp/2.b", "mart", "FILTER"),
    )

    assert edges(found, "feeds_column", "assumed") == {
        ("b", "raw.a", "mart.a"): "true",
        ("b", "raw.b", "mart.b"): None,
        ("a", "raw.c", "mart.c"): "true",
    }
    assert edges(found, "feeds_column", "transformation")["b", "raw.b", "mart.b"] == "IDENTITY,AGGREGATION"
    assert edges(found, "influences", "assumed") == {
        ("b", "raw.a", "mart"): "true",
        ("b", "raw.b", "mart"): None,
    }


def test_influences_on_a_temporary_dataset_apply_downstream(engine: Engine) -> None:
    found = collapsed(
        engine,
        flow(A, "raw", "tmp/1"),
        flow(A, "tmp/1", "tmp/2"),
        flow(B, "tmp/2", "mart"),
        column(A, "raw.a", "tmp/1.a", "TRANSFORMATION", "a + 1"),
        column(A, "tmp/1.a", "tmp/2.a", "IDENTITY"),
        column(A, "tmp/1.b", "tmp/2.b", "IDENTITY"),
        influences(A, "raw.f", "tmp/1", "FILTER"),
        influences(A, "tmp/1.a", "tmp/2", "GROUP_BY"),
        influences(B, "tmp/2.a", "mart", "JOIN"),
        influences(B, "tmp/2.b", "mart", "SORT"),
        influences(B, "raw.j", "mart", "JOIN"),
    )

    assert edges(found, "influences", "transformation") == {
        ("b", "raw.f", "mart"): "FILTER",
        ("b", "raw.a", "mart"): "JOIN,GROUP_BY",
        ("b", "raw.j", "mart"): "JOIN",
    }
    assert set(edges(found, "influences", "expression").values()) == {None}


@pytest.mark.jvm
def test_run_local_datasets_are_collapsed_from_documents_to_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    spline = SplineDatabase()
    for run, hour in (("r1", 0), ("r2", 24)):
        for step, (source, target) in enumerate(
            (
                ("raw", "cleaned"),  # another application reads it too
                ("cleaned", "step1"),
                ("step1", "step2"),
                ("step2", "mart"),
                ("state", "report"),  # the previous run wrote it
                ("report", "state"),
            )
        ):
            spline.plan(
                "load", reads=[f"s3://b/{source}"], writes=f"s3://b/{target}", at=hour + step, run=run
            )
    spline.plan("other", reads=["s3://b/cleaned"], writes="s3://b/copy", at=40, run="r3")
    settings = {
        "dag_name": "dag",
        "environment": "dev",
        "spline": {"export": str(spline.write(tmp_path / "export"))},
        "merge": {"collapse_run_local": True},
    }

    built = pipeline.build(spark, CONFIGURATION.parse(settings))
    pipeline.write_folder(built, str(tmp_path / "out"), "jsonl")

    found = Merged(built.nodes.union(built.edges), Aliases())
    assert edges(found, "feeds", "via") == {
        ("load", "raw", "cleaned"): None,
        ("load", "cleaned", "mart"): "s3://b/step1 | s3://b/step2",
        # The report of a run is made of the state before it, and read by that run only.
        ("load", "state", "state"): "s3://b/report",
        ("other", "cleaned", "copy"): None,
    }
    assert find_flaws(spark, str(tmp_path / "out")) == (7 + 8, [])


def test_column_flows_within_a_temporary_dataset_count(engine: Engine) -> None:
    """A job reads its own output and writes it again: one column filters rows, another is derived from it."""
    found = collapsed(
        engine,
        flow(A, "raw", "tmp/x"),
        column(A, "raw.id", "tmp/x.id", "IDENTITY"),
        flow(A, "tmp/x", "tmp/x"),
        column(A, "tmp/x.id", "tmp/x.key", "TRANSFORMATION"),
        influences(A, "tmp/x.id", "tmp/x", "JOIN"),
        flow(B, "tmp/x", "lake"),
        column(B, "tmp/x.key", "lake.key", "IDENTITY"),
    )

    assert edges(found, "feeds_column", "transformation") == {("b", "raw.id", "lake.key"): "TRANSFORMATION"}
    assert edges(found, "influences", "transformation") == {("b", "raw.id", "lake"): "JOIN"}
