"""Tables of answers that are more than a part of the graph."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.query.elements import Vertex
from lineage_merge.query.formats.describe import one_line
from lineage_merge.query.formats.table import add, headed

if TYPE_CHECKING:
    from lineage_merge.query.comparison import Comparison
    from lineage_merge.query.cycles import Cycles
    from lineage_merge.query.impact import Impact
    from lineage_merge.query.layers import Layering


def impact_tables(changed: Vertex, impact: "Impact") -> Iterator[Table | Text]:
    """The counts, then the lists behind them."""
    yield Text(one_line(f"what depends on {changed.title}:"), style="bold")
    counts = headed("", "number")
    for what, number in impact.counts.items():
        add(counts, what, f"{number:,}")
    yield counts
    for what in ("datasets", "steered", "exposures", "jobs", "columns"):
        found: Sequence[Vertex] = getattr(impact, what)
        if found:
            yield Text()
            listed = headed(what, "label", "environment", "DAGs")
            for each in found:
                add(listed, each.title, each.label, each.environment, ", ".join(each.dags))
            yield listed
    if impact.dags:
        yield Text()
        dags = headed("DAGs")
        for name in impact.dags:
            add(dags, name)
        yield dags


def job_table(jobs: Iterable[Vertex]) -> Table:
    """Jobs with their newest run."""
    made = headed("name", "type", "DAG", "environment", "status", "last run", "took", "rows")
    for each in jobs:
        held = each.properties
        add(
            made,
            each.name,
            held.get("job_type", ""),
            ", ".join(each.dags),
            each.environment,
            held.get("status", ""),
            _moment(held.get("last_run_at")),
            f"{held['duration_ms'] / 1000:,.1f} s" if "duration_ms" in held else "",
            f"{held['rows_written']:,}" if "rows_written" in held else "",
        )
    return made


def cycle_table(cycles: "Cycles") -> Table:
    """A row for each dataset, group by group, with the jobs that keep it in its circle."""
    made = headed("cycle", "dataset", "feeds in it", "by")
    leaving: dict[str, list[tuple[str, str]]] = {}
    for edge in cycles.subgraph.edges:
        leaving.setdefault(edge.from_id, []).append((cycles.subgraph.vertices[edge.to_id].title, edge.job))
    for number, group in enumerate(cycles.groups, 1):
        for each in group:
            for target, job in leaving.get(each, [("", "")]):
                add(made, str(number), cycles.subgraph.vertices[each].title, target, job)
    return made


def comparison_tables(comparison: "Comparison") -> Iterator[Table | Text]:
    """What each environment has alone."""
    for only in (comparison.only_left, comparison.only_right):
        if only.is_empty:
            continue
        yield Text(one_line(f"only in {only.environment}:"), style="bold")
        made = headed("", "what")
        for each in only.datasets:
            add(made, "dataset", each)
        for source, target in only.feeds:
            add(made, "feed", f"{source} → {target}")
        for each in only.columns:
            add(made, "column", each)
        yield made
        yield Text()


def layer_tables(layering: "Layering") -> Iterator[Table | Text]:
    """How many datasets each layer has, then the edges that break the order."""
    counts = headed("layer", "datasets")
    for name, number in layering.datasets.items():
        add(counts, name or "(none)", f"{number:,}")
    yield counts
    if layering.breaches:
        yield Text()
        made = headed("from", "layer", "to", "layer", "job", "DAG")
        for each in layering.breaches:
            source, target = (layering.subgraph.vertices[end] for end in (each.edge.from_id, each.edge.to_id))
            layer = f"{each.target} (skips)" if each.skipped else each.target
            dag = str(each.edge.properties.get("dag_name", ""))
            add(made, source.title, each.source, target.title, layer, each.edge.job, dag)
        yield made


def _moment(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
