"""A subgraph as a table of its edges or, without edges, of its vertices."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from lineage_merge.query.elements import Subgraph, Vertex
from lineage_merge.query.formats.describe import one_line, title


def table(graph: Subgraph) -> Table:
    """Return a table of the edges or, without edges, of the vertices."""
    if not graph.edges:
        return vertex_table(graph.vertices.values())
    made = new_table("from", "", "to", "job", "how", "DAG")
    for each in graph.edges:
        ends = (title(graph, graph.vertices[end]) for end in (each.from_id, each.to_id))
        source, target = ends
        how = [
            str(each.properties[key])
            for key in ("transformation", "expression", "write_mode", "via")
            if key in each.properties
        ]
        add_row(
            made, source, each.label, target, each.job, "  ".join(how), each.properties.get("dag_name", "")
        )
    return made


def vertex_table(vertices: Iterable[Vertex]) -> Table:
    """Return a table of vertices."""
    made = new_table("name", "label", "namespace", "environment", "DAGs", "about")
    for each in vertices:
        held = each.properties
        about = [str(held[key]) for key in ("job_type", "data_type", "format", "description") if key in held]
        namespace = str(held.get("namespace", ""))
        add_row(
            made, each.title, each.label, namespace, each.environment, ", ".join(each.dags), "  ".join(about)
        )
    return made


def new_table(*columns: str) -> Table:
    """Return an empty table."""
    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold", header_style="bold")
    return made


def add_row(made: Table, *cells: str) -> None:
    """Add a row."""
    # Text, because names may contain square brackets, which are markup in str.
    made.add_row(*(Text(one_line(cell)) for cell in cells))
