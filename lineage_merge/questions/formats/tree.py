"""A subgraph as a tree of lines.

A vertex is expanded once, at the end of its shortest path; other occurrences refer to that place. So the
depth of the tree is limited by the shortest paths, also with cycles and diamonds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from rich.text import Text

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, column_order
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.formats.describe import declaration, one_line, title, transformation, truncate
from lineage_merge.questions.graph import Direction


def tree(graph: Subgraph, roots: Sequence[str] | None = None, direction: Direction = "down") -> list[Text]:
    """Return lines from `roots`, in the direction of the data flow (`down`) or against it (`up`).

    Without `roots`, the tree starts at all vertices without incoming edges, and at the first vertex of cycles
    that have none. Columns that determine rows (`influences`) follow the tree.
    """
    plan = _make_plan(graph, roots, direction)
    lines = list(_draw(plan))
    influences = [edge for edge in graph.edges if edge.label == "influences"]
    if influences:
        lines += [Text(), Text("rows determined by:", style="bold")]
    for influence in influences:
        source, target = (
            one_line(title(graph, graph.vertices[end])) for end in (influence.from_id, influence.to_id)
        )
        line = Text(f"  {source} → {target}")
        lines.append(line.append(f"  {transformation(influence)}  {influence.job}", style="dim"))
    return lines


@dataclass(frozen=True, slots=True)
class _Plan:
    """The structure of the tree: neighbours, where each vertex is expanded, and in which order."""

    graph: Subgraph
    direction: Direction
    starts: list[str]
    # Neighbours by vertex, with the edges between them.
    following: dict[str, list[tuple[str, list[Edge]]]]
    # A dataset's columns, by place, where the subgraph has them.
    columns: dict[str, list[Vertex]]
    column_sources: dict[str, list[Edge]]
    opened_under: dict[str, str] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)

    def children(self, identifier: str) -> Iterator[tuple[str, list[Edge], bool]]:
        """Yield the children of a vertex, with their edges and whether they are expanded there."""
        for there, edges in self.following.get(identifier, ()):
            yield there, edges, self.opened_under.get(there) == identifier


def _make_plan(graph: Subgraph, roots: Sequence[str] | None, direction: Direction) -> _Plan:
    columns: dict[str, list[Vertex]] = defaultdict(list)
    fields: set[tuple[str, str]] = set()
    for edge in graph.edges:
        if edge.label != "has_column":
            continue
        column, owner = graph.vertices[edge.to_id], dataset_of(edge.to_id)
        if owner not in graph.vertices:
            fields.add((edge.from_id, edge.to_id))
        elif column not in columns[owner]:  # an edge for each DAG
            columns[owner].append(column)
    for owned in columns.values():
        owned.sort(key=partial(column_order, graph.vertices))
    listed = {column.id for owned in columns.values() for column in owned}
    between: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    column_sources: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        if edge.label == "feeds_column" and edge.to_id in listed:
            column_sources[edge.to_id].append(edge)
        elif edge.label in ("feeds", "feeds_column", "writes"):
            pair = (edge.from_id, edge.to_id) if direction == "down" else (edge.to_id, edge.from_id)
            between[pair].append(edge)
    for pair in fields:  # of a walk of columns
        between.setdefault(pair, [])
    following = gather((here, (there, edges)) for (here, there), edges in sorted(between.items()))
    led_to = {there for _, there in between}
    deciding = {
        end for edge in graph.edges if edge.label == "influences" for end in (edge.from_id, edge.to_id)
    }
    own = [
        vertex
        for vertex in graph.vertices
        if vertex not in listed and (vertex not in deciding or vertex in following)
    ]
    starts = [key for key in (own if roots is None else roots) if roots is not None or key not in led_to]
    plan = _Plan(graph, direction, starts, following, columns, column_sources)
    _open(plan, starts)
    for identifier in own if roots is None else ():
        if identifier not in plan.opened_under:
            starts.append(identifier)
            _open(plan, [identifier])
    _number(plan)
    return plan


def _open(plan: _Plan, starts: Iterable[str]) -> None:
    """Determine where each vertex is expanded: at its first occurrence, level by level."""
    frontier = list(starts)
    plan.opened_under.update(dict.fromkeys(frontier, ""))
    while frontier:
        met = []
        for here in frontier:
            for there, _ in plan.following.get(here, ()):
                if there not in plan.opened_under:
                    plan.opened_under[there] = here
                    met.append(there)
        frontier = met


def _number(plan: _Plan) -> None:
    """Number the vertices in the order of their expansion."""
    left = list(reversed(plan.starts))
    while left:
        here = left.pop()
        plan.order[here] = len(plan.order)
        left += [there for there, _, opened in reversed(list(plan.children(here))) if opened]


def _draw(plan: _Plan) -> Iterator[Text]:
    for start in plan.starts:
        if start not in plan.graph.vertices:
            continue
        yield _write_name(plan, start)
        # A stack of lines to draw, each with its prefix.
        left = [("", child) for child in reversed(_list_below(plan, start))]
        while left:
            guide, (line, opened, is_last) = left.pop()
            yield Text(f"{guide}{'└── ' if is_last else '├── '}").append_text(line)
            if opened is not None:
                inner = f"{guide}{'    ' if is_last else '│   '}"
                left += [(inner, child) for child in reversed(_list_below(plan, opened))]


def _list_below(plan: _Plan, here: str) -> list[tuple[Text, str | None, bool]]:
    """Return the lines below a vertex, each with the expanded vertex if any, and whether it is the last."""
    lines: list[tuple[Text, str | None]] = [
        (_column(plan, column), None) for column in plan.columns.get(here, ())
    ]
    arrow = "←" if plan.direction == "down" else "→"
    for there, edges, opened in plan.children(here):
        line = _write_name(plan, there)
        if moves := "; ".join(dict.fromkeys(_write_job(edge) for edge in edges)):
            line.append(f"  {arrow} {moves}", style="cyan")
        for via in dict.fromkeys(edge.properties["via"] for edge in edges if "via" in edge.properties):
            line.append(f" via {one_line(via)}", style="dim")
        if any(edge.properties.get("column_lineage") == "unavailable" for edge in edges):
            line.append("  column lineage unavailable", style="dim")
        if any(edge.properties.get("undeclared") == "true" for edge in edges):
            line.append("  undeclared", style="dim")
        if edges and all(edge.properties.get("reads") == "metadata" for edge in edges):
            line.append("  metadata only", style="dim")
        if not opened and (plan.following.get(there) or plan.columns.get(there)):
            above = plan.order[there] <= plan.order[here]
            line.append("  (see above)" if above else "  (see below)", style="dim")
        lines.append((line, there if opened else None))
    return [(line, opened, number == len(lines)) for number, (line, opened) in enumerate(lines, 1)]


def _write_name(plan: _Plan, identifier: str) -> Text:
    vertex = plan.graph.vertices[identifier]
    name = Text(one_line(title(plan.graph, vertex)), style="bold")
    return Text().append_text(name).append(f"  {vertex.label}", style="dim")


def _write_job(edge: Edge) -> str:
    parts = [edge.job, transformation(edge), edge.properties.get("expression", ""), declaration(edge)]
    return "  ".join(truncate(one_line(part)) for part in parts if part)


def _column(plan: _Plan, column: Vertex) -> Text:
    line = Text(f"· {one_line(column.qualified_name)}")
    line.append(f"  {one_line(column.properties.get('data_type', ''))}".rstrip(), style="dim")
    for edge in plan.column_sources.get(column.id, ()):
        source = one_line(title(plan.graph, plan.graph.vertices[edge.from_id]))
        expression = truncate(one_line(edge.properties.get("expression", "")), 60)
        line.append(f"  ← {source}  {transformation(edge)}", style="cyan")
        line.append(f"  {expression}".rstrip(), style="dim")
        line.append(f"  {one_line(declaration(edge))}".rstrip(), style="cyan")
    return line
