"""Tables of query results that are not a plain subgraph."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.query.elements import Vertex
from lineage_merge.query.formats.describe import one_line
from lineage_merge.query.formats.table import add_row, new_table
from lineage_merge.query.formats.times import utc_time

if TYPE_CHECKING:
    from lineage_merge.query.comparison import Comparison
    from lineage_merge.query.cycles import Cycles
    from lineage_merge.query.impact import Impact
    from lineage_merge.query.layers import LayerCheck


def impact_tables(changed: Vertex, impact: "Impact") -> Iterator[Table | Text]:
    """Yield counts, then lists of the elements."""
    yield Text(one_line(f"affected by a change of {changed.title}:"), style="bold")
    counts = new_table("", "number")
    for what, number in impact.counts.items():
        add_row(counts, what, f"{number:,}")
    yield counts
    for what in ("datasets", "indirectly_affected", "exposures", "jobs", "columns"):
        found: Sequence[Vertex] = getattr(impact, what)
        if found:
            yield Text()
            listed = new_table(what, "label", "environment", "DAGs")
            for each in found:
                add_row(listed, each.title, each.label, each.environment, ", ".join(each.dags))
            yield listed
    if impact.dags:
        yield Text()
        dags = new_table("DAGs")
        for name in impact.dags:
            add_row(dags, name)
        yield dags


def job_table(jobs: Iterable[Vertex]) -> Table:
    """Return a table of jobs with their newest run."""
    found = list(jobs)
    has_owners = any(each.properties.get("owners") for each in found)
    table = new_table(
        *("name", "type", "DAG", "environment", "status", "last run", "duration", "rows"),
        *(["owners"] if has_owners else []),
    )
    for each in found:
        properties = each.properties
        add_row(
            table,
            each.name,
            properties.get("job_type", ""),
            ", ".join(each.dags),
            each.environment,
            properties.get("status", ""),
            utc_time(properties.get("last_run_at")),
            f"{properties['duration_ms'] / 1000:,.1f} s" if "duration_ms" in properties else "",
            f"{properties['rows_written']:,}" if "rows_written" in properties else "",
            *([", ".join(properties.get("owners", ()))] if has_owners else []),
        )
    return table


def cycle_table(cycles: "Cycles") -> Table:
    """Return a row per dataset of each cycle, with the jobs of the cycle."""
    table = new_table("cycle", "dataset", "feeds", "job")
    leaving: dict[str, list[tuple[str, str]]] = {}
    for edge in cycles.subgraph.edges:
        leaving.setdefault(edge.from_id, []).append((cycles.subgraph.vertices[edge.to_id].title, edge.job))
    for number, group in enumerate(cycles.groups, 1):
        for each in group:
            for target, job in leaving.get(each, [("", "")]):
                add_row(table, str(number), cycles.subgraph.vertices[each].title, target, job)
    return table


def comparison_tables(comparison: "Comparison") -> Iterator[Table | Text]:
    """Yield a table per environment of the elements that only it has."""
    for only in (comparison.only_left, comparison.only_right):
        if only.is_empty:
            continue
        yield Text(one_line(f"only in {only.environment}:"), style="bold")
        table = new_table("", "what")
        for each in only.datasets:
            add_row(table, "dataset", each)
        for source, target in only.feeds:
            add_row(table, "feed", f"{source} → {target}")
        for each in only.columns:
            add_row(table, "column", each)
        yield table
        yield Text()


def layer_tables(check_layers: "LayerCheck") -> Iterator[Table | Text]:
    """Yield the number of datasets per layer, then the edges that violate the order."""
    counts = new_table("layer", "datasets")
    for name, number in check_layers.datasets.items():
        add_row(counts, name or "(none)", f"{number:,}")
    yield counts
    if check_layers.breaches:
        yield Text()
        table = new_table("from", "layer", "to", "layer", "job", "DAG")
        for each in check_layers.breaches:
            source, target = (
                check_layers.subgraph.vertices[end] for end in (each.edge.from_id, each.edge.to_id)
            )
            layer = f"{each.target} (skips)" if each.skipped else each.target
            dag = str(each.edge.properties.get("dag_name", ""))
            add_row(table, source.title, each.source, target.title, layer, each.edge.job, dag)
        yield table
