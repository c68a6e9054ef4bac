"""Small plans of Spline, made and captured, by the collection that each document stands in."""

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from lineage_merge.merge import dataset_resolver
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan
from lineage_merge.sources.spline.document_rows import Context
from lineage_merge.sources.spline.documents import PLAN_PARTS, plan_key_of
from lineage_merge.sources.spline.plan_texts import DocumentTexts
from tests.conftest import DATA
from tests.fuzz.mutation import ADDRESSES
from tests.spline_documents import Document, Read, SplineDatabase, table_text

_MOST_DOCUMENTS = 50
# A condition and a table as text, with addresses that hold a password.
_SUBQUERY = "Project [a#1]\n+- Relation spark_catalog.shop.parts[a#1,b#2] parquet\n"

Plan = Mapping[str, list[Document]]


@cache
def context(source: str = "export") -> Context:
    """What executors are given, operations asked for too."""
    spline: dict[str, Any] = {"operations": True, source: ["/x"] if source == "agent" else "/x"}
    parsed = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": spline})
    assert parsed.sources["spline"]
    return Context(parsed.sources["spline"], dataset_resolver.from_config(parsed))


@cache
def made() -> SplineDatabase:
    """Plans with what a translation looks at: several reads, tables, a view, a subquery, passwords."""
    spline = SplineDatabase()
    spline.plan("ingest", reads=["s3://raw/sales", ADDRESSES[1]], writes="s3://lake/sales", rows=3)
    spline.plan(
        "load-2026",
        reads=[Read(["s3://lake/sales"], table=table_text("shop", "sales")), ADDRESSES[0]],
        writes=ADDRESSES[2],
        subqueries=[_SUBQUERY],
        views=["tmp"],
        append=True,
        error={"message": "lost"},
    )
    spline.plan(
        "create",
        reads=["s3://lake/sales"],
        writes="s3://lake/new",
        table=table_text("shop", "new"),
        created_table=table_text("shop", "new", rest="Location: s3://lake/new"),
    )
    return spline


@cache
def plans() -> tuple[tuple[str, Plan], ...]:
    """The key and the documents of each plan, none of them large."""
    found: defaultdict[str, defaultdict[str, list[Document]]] = defaultdict(lambda: defaultdict(list))
    for collection, documents in made().collections.items():
        if collection in PLAN_PARTS:
            for document in documents:
                found[plan_key_of(collection, document)][collection].append(document)
    for folder in ("tickit_sales_load", "tickit_sales_ingest", "seed_queries"):
        for collection in PLAN_PARTS:
            file = DATA / "spline" / folder / f"{collection}.jsonl"
            for line in file.read_text().splitlines() if file.exists() else ():
                document = json.loads(line)
                found[plan_key_of(collection, document)][collection].append(document)
    return tuple(
        (key, plan) for key, plan in found.items() if sum(map(len, plan.values())) <= _MOST_DOCUMENTS
    )


@cache
def documents() -> Mapping[str, list[Document]]:
    """Documents of all plans by collection, and the ends of writes."""
    found: defaultdict[str, list[Document]] = defaultdict(list)
    for _, plan in plans():
        for collection, own in plan.items():
            found[collection] += own
    found["progress"] += made().collections["progress"]
    captured = DATA / "spline" / "seed_queries" / "progress.jsonl"
    found["progress"] += [json.loads(line) for line in captured.read_text().splitlines()]
    found["counter"] = [{"_key": "tx", "curVal": 9}]
    found["txInfo"].append({"_key": "7"})
    return found


def bundle(
    key: str, texts: list[tuple[str, str]], chosen: bool = True
) -> tuple[PlanKey, list[tuple[PlanKey, object]]]:
    """A plan's key and its rows as `_translate_texts` takes them: documents, what is known of its runs."""
    plan = ("", key)
    rows: list[tuple[PlanKey, object]] = [(plan, DocumentTexts(*each)) for each in texts]
    return plan, [*rows, (plan, SelectedPlan("app", 1, 1))] if chosen else rows
