"""Clients that report the same run: the word of the first one counts, others add what it left out."""

from collections.abc import Iterator

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import property_rows
from lineage_merge.merge.property_rows import EdgeKey, edge_row
from lineage_merge.merge.report_builder import assign_source
from lineage_merge.model.elements import FeedsColumn, Influences, JobKey
from lineage_merge.model.records import Record
from lineage_merge.orchestration.read_sources import number_clients
from lineage_merge.sources.registry import SOURCES

JOB = JobKey("spark", "daily")


def edge(column: str, kind: str, expression: str = "") -> Record:
    return FeedsColumn(JOB, "dev|file|/in", column, "dev|file|/out", "total", [kind], expression)


def merged(*clients: list[Record]) -> Iterator[tuple[str, str, str | None]]:
    """Yield the edges of the records of clients, the first one first."""
    facts: dict[EdgeKey, property_rows.Facts] = {}
    engine = LocalEngine()
    for number, records in enumerate(clients):
        for record in assign_source(engine.rows(records), f"source {number}", number).collect():
            if isinstance(record, (FeedsColumn, Influences)):
                for key, fact in property_rows.facts("dev", "daily", record):
                    if isinstance(key, EdgeKey) and key.job:
                        property_rows.add(facts.setdefault(key, property_rows.Facts()), fact)
    for key, known in facts.items():
        row = edge_row(key, known, "dev", "daily")
        yield key.start.rpartition("|")[2], str(row["transformation"]), row.get("expression")


def test_the_first_client_says_what_an_edge_does() -> None:
    agent = [edge("amount", "TRANSFORMATION", "cast(amount AS double)")]
    log = [edge("amount", "IDENTITY"), edge("fee", "AGGREGATION", "sum(fee)")]

    assert list(merged(agent, log)) == [
        ("amount", "TRANSFORMATION", "cast(amount AS double)"),
        ("fee", "AGGREGATION", "sum(fee)"),
    ]


def test_an_edge_without_an_expression_does_not_get_that_of_another_client() -> None:
    assert list(merged([edge("a", "IDENTITY")], [edge("a", "TRANSFORMATION", "a + 0")])) == [
        ("a", "IDENTITY", None)
    ]


def test_several_records_of_one_client_are_added_up() -> None:
    records: list[Record] = [
        Influences(JOB, "dev|file|/in", "a", "dev|file|/out", [kind]) for kind in ("JOIN", "FILTER")
    ]

    assert list(merged([], [], records)) == [("a", "FILTER,JOIN", None)]


def test_the_order_of_clients() -> None:
    assert number_clients(SOURCES) == {"capture": 0, "spline": 1, "openlineage": 2, "event_log": 3}
