"""Damaged definitions of QuickSight, beside good ones: documents, and expressions."""

import json
import random
from functools import cache
from typing import Any, NamedTuple

import pytest

from lineage_merge.column_lineage.derive import derive_flows
from lineage_merge.column_lineage.value_graph import SourceColumn, Value
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Element, Problem
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.document_files import Text
from lineage_merge.sources.quicksight.catalog import Fact, combine_facts, gather_facts
from lineage_merge.sources.quicksight.documents import Asset, read_document
from lineage_merge.sources.quicksight.expressions import ExpressionError, Names, parse_expression
from lineage_merge.sources.quicksight.reader import translate
from lineage_merge.sources.quicksight.settings import QuickSight
from tests.fuzz import cases
from tests.fuzz.mutation import mutated, written
from tests.sources.quicksight import made_definitions as made

_SETTINGS = QuickSight(definitions="/x", analyses=True)
_NAMES = dataset_resolver.from_config(
    CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "quicksight": [{"definitions": "/x"}]})
)
_GOOD = "sales"


@cache
def _documents() -> tuple[Any, ...]:
    tables = {
        "o": made.table("orders", "id", "amount", "state"),
        "q": made.query("select id, max(x) as x from public.t group by 1", "id", "x"),
    }
    logical = {
        "a": made.logical(made.physical("o"), made.created(gross="ifelse(amount > 0, amount, 0)")),
        "b": made.logical(
            made.physical("q"), {"RenameColumnOperation": {"ColumnName": "id", "NewColumnName": "id[b]"}}
        ),
        "c": made.logical(
            made.join("a", "b", "{id} = {id[b]}"),
            {"FilterOperation": {"ConditionExpression": "{state} = 'x'"}},
            {"CastColumnTypeOperation": {"ColumnName": "x", "NewColumnType": "DECIMAL"}},
            {"ProjectOperation": {"ProjectedColumns": ["id", "gross", "x"]}},
        ),
    }
    source = {"TransformOperationId": "s"}
    steps = {
        "s": {"ImportTableStep": {"Alias": "s", "Source": {"SourceTableId": "t"}}},
        "g": {
            "AggregateStep": {
                "Alias": "g",
                "Source": source,
                "GroupByColumnNames": ["state"],
                "Aggregations": [
                    {
                        "AggregationFunction": {
                            "SimpleAggregation": {"InputColumnName": "amount", "FunctionType": "SUM"}
                        },
                        "NewColumnName": "total",
                    }
                ],
            }
        },
    }
    prepared = {
        "SourceTableMap": {"t": {"PhysicalTableId": "o"}},
        "TransformStepMap": steps,
        "DestinationTableMap": {"d": {"Source": {"TransformOperationId": "g"}}},
    }
    board = made.dashboard(
        made.sheet("s", made.visual("v", made.dimension("Kind"), made.measure("gross"), title="Kinds")),
        calculated={"Kind": "switch({state}, 'x', id, {Kind})", "Net": "sumOver(gross, [id], PRE_AGG)"},
        FilterGroups=[made.filters(made.category_filter("Net"), scope=made.selected("s", "v"))],
    )
    return (
        made.WAREHOUSE,
        made.data_set("joined", tables, logical, RowLevelPermissionDataSet={"Arn": made.arn_of(_GOOD)}),
        made.data_set("prepared", tables, {}, DataPrepConfiguration=prepared),
        board,
        {"DashboardSummaryList": [{"DashboardId": "sales_board", "LastPublishedTime": 1.5}]},
        {"resourceType": "dataset", "dataSetId": "x", "physicalTableMap": {"A": {}}},
    )


class Definitions(NamedTuple):
    """The texts of documents, of which one is damaged."""

    texts: tuple[str, ...]


def _make(rng: random.Random) -> Definitions:
    documents = list(_documents())
    at = rng.randrange(len(documents))
    texts = [json.dumps(document) for document in documents]
    texts[at] = written(rng, mutated(rng, documents[at]))
    return Definitions((*texts, json.dumps(made.plain_data_set(_GOOD, "id", "state"))))


def _elements(texts: tuple[str, ...]) -> list[list[Element]]:
    """The elements of each document."""
    read = [read_document(text, f"document {number}") for number, text in enumerate(texts)]
    facts: list[Fact] = [fact for asset in read if isinstance(asset, Asset) for fact in gather_facts(asset)]
    known = combine_facts(facts, {}, _NAMES.resolve_id, lambda _: ())
    return [
        list(translate(Text(f"document {number}", text), known, _SETTINGS))
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize("numbers", cases.blocks(6_000, 1000), ids=str)
def test_definitions(numbers: range) -> None:
    def check(case: Definitions) -> None:
        found = _elements(case.texts)
        for elements in found:
            cases.assert_records(_NAMES.records(elements))
            for element in elements:
                if isinstance(element, Problem):
                    cases.assert_named(element)
        assert not [
            element for element in found[-1] if isinstance(element, Problem) and element.kind == "rejected"
        ]

    cases.run("quicksight", numbers, _make, check)


_PIECES = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "${",
        "'",
        '"',
        ",",
        "//",
        "/*",
        "*/",
        "\n",
        " ",
        "\\",
        ".",
        "a",
        "{b}",
        "1",
    ),
    *(
        "ifelse(",
        "sum(",
        "maxOver(",
        " AND ",
        " in ",
        "NOT ",
        "${p}",
        "+",
        "<>",
        "'x'",
        "é",
        "\x00",
        "\u2028",
    ),
)


def _expression(rng: random.Random) -> str:
    pieces = [rng.choice(_PIECES) for _ in range(rng.randrange(1, 40))]
    return "".join(pieces) * rng.choice((1, 1, 1, 1, 200))


@pytest.mark.parametrize("numbers", cases.blocks(6_000, 2000), ids=str)
def test_expressions(numbers: range) -> None:
    names = Names(
        lambda name, _: Value(columns=(SourceColumn("t", name),)), lambda _: Value(), lambda _: Value()
    )

    def check(text: str) -> None:
        try:
            flows = derive_flows([("v", parse_expression(text, names))])
        except ExpressionError:
            return
        assert all(len(flow.expression) <= 1_000 for flow in flows)

    cases.run("quicksight expressions", numbers, _expression, check)
