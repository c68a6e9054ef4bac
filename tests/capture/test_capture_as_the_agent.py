"""The same jobs through Spline's agent and through `capture`: the same elements."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge import capture
from lineage_merge.model.elements import (
    Authority,
    Column,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    Writes,
)
from lineage_merge.sources.spline.agent.plans import documents
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.translator import translate
from lineage_merge.spark_capture import Captured

pytestmark = pytest.mark.jvm

Fact = tuple[Any, ...]


def by_agent(data: Path, application: str) -> dict[str, list[Element]]:
    """What the agent's plans say, by the last part of the target."""
    found: dict[str, list[Element]] = {}
    for message in _messages(data / "agent" / f"{application}.jsonl.gz"):
        if message[0] == "plan":
            plan, problems = assemble("plan", documents(message[1]), EVERYTHING)
            assert problems == []
            found[_short(message[1]["operations"]["write"]["outputSource"])] = list(translate(plan))
    return found


def _messages(file: Path) -> Iterator[Any]:
    with gzip.open(file, "rt") as lines:
        yield from map(json.loads, lines)


def _short(name: str) -> str:
    return name.replace("/", ".").rpartition(".")[2]


def facts(elements: Iterable[Element]) -> set[Fact]:
    """All that is said of columns and datasets, with short names.

    A table that both a read and a subquery's text mention has two references with the agent, and one
    here: what they decide is put together.
    """
    found: set[Fact] = set()
    deciding: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for each in elements:
        match each:
            case Column(ref, name, Authority.BUILDER, properties):
                found.add(("column", _short(ref.name), name, *sorted(properties.items())))
            case Feeds(job, source, target, properties):
                found.add(("feeds", job.name, _short(source.name), _short(target.name), *properties.items()))
            case FeedsColumn(_, source, column, _, target_column, how, expression):
                found.add(("feeds_column", _short(source.name), column, target_column, how, expression))
            case Influences(_, source, column, _, kinds):
                deciding[_short(source.name), column].update(kinds)
            case Writes(job, target):
                found.add(("writes", job.name, _short(target.name)))
            case _:
                pass
    return found | {("influences", *key, *sorted(kinds)) for key, kinds in deciding.items()}


@pytest.fixture
def tpch(spark: SparkSession, data: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The text of each query, with its empty tables there."""
    spark.sql(f"create database tpch location '{tmp_path}'")
    spark.sql("use tpch")
    queries: dict[str, str] = {}
    tables: set[str] = set()
    for event in _messages(data / "openlineage" / "events" / "tpch.jsonl.gz"):
        text = event["job"]["facets"].get("sql", {}).get("query", "")
        if text.startswith("create table"):
            if text not in tables:
                spark.sql(text)
            tables.add(text)
        elif text.startswith("/* --"):
            queries.update((_short(output["name"]), text) for output in event["outputs"])
    yield queries
    spark.sql("use default")
    spark.sql("drop database tpch cascade")


def test_tpch_is_the_same_query_by_query(tpch: dict[str, str], data: Path) -> None:
    recorded = by_agent(data, "tpch")
    truth = json.loads((data / "truth" / "tpch_columns.json").read_text())

    found = {
        name: capture(text, name="tpch_queries", target=f"file:/data/tpch/{name}")
        for name, text in tpch.items()
    }

    assert {name: facts(each.elements()) for name, each in found.items()} == {
        name: facts(each) for name, each in recorded.items()
    }
    assert {name: _columns(each) for name, each in found.items()} == {
        name: {tuple(edge) for edge in edges} for name, edges in truth.items()
    }


def _columns(captured: Captured) -> set[tuple[str, ...]]:
    return {
        (_short(each.source.name), each.source_column, each.target_column)
        for each in captured.elements()
        if isinstance(each, FeedsColumn)
    }


def test_the_sales_ingest_is_the_same_write_by_write(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    raw, staging = tmp_path / "tickit-raw", tmp_path / "tickit-staging"
    for name, text in _RAW.items():
        (raw / name).mkdir(parents=True)
        (raw / name / "rows.csv").write_text(text)

    def read(name: str) -> Any:
        return spark.read.options(header="true", inferSchema="true").csv(f"{raw}/{name}")

    sales = (read("sales").where("qtysold > 0").withColumn("saledate", F.to_date("saletime"))).select(
        *_STAGED
    )
    events = read("event").withColumn("eventname", F.trim("eventname"))
    sales.write.parquet(f"{staging}/sales")
    events.write.parquet(f"{staging}/event")
    staged = spark.read.parquet(f"{staging}/sales")
    lake = (
        staged.join(spark.read.parquet(f"{staging}/event"), "eventid")
        .withColumn("net", F.col("pricepaid") - F.col("commission"))
        .select(*_LAKE)
    )
    found = {
        name: facts(capture(frame, name="tickit_sales_ingest", target=target).elements())
        for name, frame, target in (
            ("sales", sales, "s3://tickit-staging/sales"),
            ("event", events, "s3://tickit-staging/event"),
            ("sales_dl", lake, "s3://tickit-lake/sales_dl"),
        )
    }

    recorded = by_agent(data, "tickit_sales_ingest")
    assert found == {name: facts(each) for name, each in recorded.items()}


_RAW = {
    "sales": (
        "salesid,listid,sellerid,buyerid,eventid,qtysold,pricepaid,commission,saletime\n"
        "1,1,1,1,1,2,20.5,1.5,2008-02-18 02:36:48\n"
    ),
    "event": "eventid,venueid,catid,dateid,eventname,starttime\n1,1,1,1,Macbeth,2008-02-18 19:30:00\n",
}
_STAGED = [
    *("salesid", "sellerid", "buyerid", "eventid", "qtysold"),
    *("pricepaid", "commission", "saletime", "saledate"),
]
_LAKE = [
    *("salesid", "eventid", "eventname", "sellerid", "buyerid"),
    *("qtysold", "net", "pricepaid", "commission", "saledate"),
]
