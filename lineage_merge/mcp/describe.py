"""The tool `describe`: the only one that is no question of the command line."""

from typing import Any

from lineage_merge.graph_format.elements import COLUMN, JOB, Edge, Vertex, values_of
from lineage_merge.mcp.models import DescribeArguments, PartRow, Writer
from lineage_merge.mcp.paging import Found
from lineage_merge.mcp.untrusted_text import SHORT, escape, text, texts, time_text
from lineage_merge.model.elements import dataset_of
from lineage_merge.query.session import Session
from lineage_merge.questions.formats.describe import declaration
from lineage_merge.questions.graph import Direction
from lineage_merge.questions.traversal.column_walk import column_edges
from lineage_merge.questions.traversal.impact import job_of

# Shown of a dataset's neighbours; upstream and downstream list all.
_NEIGHBORS = 10
_DIRECTIONS: tuple[Direction, Direction] = ("up", "down")
_PROPERTIES = (
    "qualified_name namespace format location materialization data_type constraints access contract"
    " deprecation_date exposure_type url maturity metric_type job_type framework project file_path status"
    " last_run_id duration_ms sla_ms rows_written"
).split()


def describe(session: Session, given: DescribeArguments) -> Found:
    """Return an element with its properties, neighbours and parts."""
    element = session.element(given.name)
    held = element.properties
    properties = {key: held[key] for key in _PROPERTIES if held.get(key) not in (None, "", ())}
    header: dict[str, Any] = {
        "of": escape(element.id),
        "kind": element.label,
        "name": escape(element.title),
        "environment": escape(element.environment),
        "description": text(held.get("description")),
        "owners": texts(values_of(element, "owners")),
        "tags": texts(values_of(element, "tags")),
        "dags": texts(element.dags),
        "properties": {
            key: text(", ".join(map(str, value)) if isinstance(value, tuple) else value)
            for key, value in properties.items()
        },
        "aliases": texts(values_of(element, "aliases")),
    }
    if "last_run_at" in held:
        header["properties"]["last_run_at"] = time_text(held["last_run_at"])
    if element.label == COLUMN:
        return _column(session, element, header)
    return _job(session, element, header) if element.label == JOB else _dataset(session, element, header)


def _dataset(session: Session, dataset: Vertex, header: dict[str, Any]) -> Found:
    graph, dag = session.graph, session.dag
    owned = graph.edges_below([dataset.id], ["has_column"], dag)
    columns = sorted(graph.vertices({edge.to_id for edge in owned}), key=_position)
    writers = {edge.from_id for edge in graph.edges_to([dataset.id], ["writes"], dag)}
    before = {edge.from_id for edge in graph.edges_to([dataset.id], ["feeds"], dag)}
    after = {edge.to_id for edge in graph.edges_from([dataset.id], ["feeds"], dag)}
    header |= {
        "written_by": [_writer(vertex) for vertex in graph.vertices(sorted(writers)[:_NEIGHBORS])],
        "fed_by": texts(sorted(before)[:_NEIGHBORS]),
        "fed_by_total": len(before),
        "feeds": texts(sorted(after)[:_NEIGHBORS]),
        "feeds_total": len(after),
    }

    def row(column: Vertex) -> PartRow:
        return PartRow(
            id=escape(column.id),
            role="column",
            type=text(column.properties.get("data_type"), SHORT),
            description=text(column.properties.get("description"), SHORT),
            tags=texts(values_of(column, "tags")),
        )

    return Found(columns, row, header)


def _column(session: Session, column: Vertex, header: dict[str, Any]) -> Found:
    graph, dag = session.graph, session.dag
    inputs, outgoing = (
        [
            edge
            for edge in column_edges(graph, {column.id}, direction, depth=1, dag=dag)
            if edge.label == "feeds_column"
        ]
        for direction in _DIRECTIONS
    )
    outputs = {edge.to_id for edge in outgoing}
    header |= {
        "dataset": escape(dataset_of(column.id)),
        "feeds": texts(sorted(outputs)[:_NEIGHBORS]),
        "feeds_total": len(outputs),
        "fed_by_total": len({input_.from_id for input_ in inputs}),
    }
    return Found(sorted(inputs, key=lambda input_: (input_.from_id, input_.id)), _input, header)


def _job(session: Session, job: Vertex, header: dict[str, Any]) -> Found:
    graph, dag = session.graph, session.dag
    written = sorted({edge.to_id for edge in graph.edges_from([job.id], ["writes"], dag)})
    feeds = graph.edges_to(written, ["feeds"], dag) if written else []
    read = sorted({feed.from_id for feed in feeds if job_of(feed) == job.id})
    parts = [("reads", dataset) for dataset in read] + [("writes", dataset) for dataset in written]
    return Found(parts, lambda part: PartRow(role=part[0], id=escape(part[1])), header)


def _input(edge: Edge) -> PartRow:
    held = edge.properties
    return PartRow(
        id=escape(edge.from_id),
        role="computed_from",
        job=escape(edge.job),
        transformation=text(held.get("transformation"), SHORT),
        expression=text(held.get("expression")),
        assumed=held.get("assumed") == "true",
        declared=text(declaration(edge)),
    )


def _writer(job: Vertex) -> Writer:
    return Writer(
        id=escape(job.id),
        status=text(job.properties.get("status"), SHORT),
        last_run_at=time_text(job.properties.get("last_run_at")),
    )


def _position(column: Vertex) -> tuple[int, str]:
    return (int(column.properties.get("position", 1_000_000)), column.id)
