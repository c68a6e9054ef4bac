"""Tables of query results that are not a plain subgraph."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.model.times import utc_time
from lineage_merge.questions.formats.describe import one_line
from lineage_merge.questions.formats.table import add_row, new_table

if TYPE_CHECKING:
    from lineage_merge.questions.comparison import Comparison
    from lineage_merge.questions.layers import LayerCheck


def job_table(jobs: Iterable[Vertex]) -> Table:
    """Return a table of jobs with their newest run."""
    names = ("name", "type", "DAG", "environment", "status", "last run", "duration", "rows", "owners")
    table = new_table(*names, optional=("owners",))
    for each in jobs:
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
            properties.get("rows_written", ""),
            ", ".join(properties.get("owners", ())),
        )
    return table


def comparison_tables(comparison: "Comparison") -> Iterator[Table | Text]:
    """Yield a table per environment of the elements that only it has."""
    for only in (comparison.only_left, comparison.only_right):
        if not only.is_empty:
            yield Text(one_line(f"only in {only.environment}:"), style="bold")
        table = new_table("kind", "what", name=f"only in {only.environment}")
        for each in only.datasets:
            add_row(table, "dataset", each)
        for source, target in only.feeds:
            add_row(table, "feed", f"{source} → {target}")
        for each in only.columns:
            add_row(table, "column", each)
        yield table
        if not only.is_empty:
            yield Text()


def layer_tables(check_layers: "LayerCheck") -> Iterator[Table | Text]:
    """Yield the number of datasets per layer, then the edges that violate the order."""
    counts = new_table("layer", "datasets", is_summary=True)
    for name, number in check_layers.datasets.items():
        add_row(counts, name or "(none)", number)
    yield counts
    if check_layers.breaches:
        yield Text()
    table = new_table("from", "from layer", "to", "to layer", "job", "DAG")
    for each in check_layers.breaches:
        source, target = (check_layers.subgraph.vertices[end] for end in (each.edge.from_id, each.edge.to_id))
        layer = f"{each.target} (skips)" if each.skipped else each.target
        dag = str(each.edge.properties.get("dag_name", ""))
        add_row(table, source.title, each.source, target.title, layer, each.edge.job, dag)
    yield table
