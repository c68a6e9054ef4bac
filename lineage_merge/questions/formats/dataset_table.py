"""Answer of the command `datasets` as a table and as JSON fields."""

from typing import TYPE_CHECKING, Any

from lineage_merge.graph_format.elements import Vertex, name_of_id, values_of
from lineage_merge.questions.formats.table import add_row, new_table

if TYPE_CHECKING:
    from rich.table import Table

    from lineage_merge.questions.dataset_search import FoundDatasets

_ABOUT = ("format", "description")


def dataset_table(found: "FoundDatasets") -> "Table":
    """Return a row per dataset."""
    names = ("name", "label", "namespace", "environment", "DAGs")
    optional = ("owners", "tags", "tagged columns", "failed", "about")
    table = new_table(*names, *optional, optional=optional)
    for each in found.datasets:
        columns = found.tagged_columns.get(each.id, ())
        add_row(
            table,
            each.title,
            each.label,
            str(each.properties.get("namespace", "")),
            each.environment,
            ", ".join(each.dags),
            ", ".join(values_of(each, "owners")),
            ", ".join(values_of(each, "tags")),
            ", ".join(name_of_id(column) for column in columns),
            ", ".join(failure.name for failure in found.failures.get(each.id, ())),
            _about(each),
        )
    return table


def dataset_fields(found: "FoundDatasets") -> dict[str, Any]:
    """Return JSON fields: the columns with a requested tag, and the failed jobs and tests, by dataset."""
    return {
        "tagged_columns": {dataset: list(ids) for dataset, ids in found.tagged_columns.items()},
        "failures": {
            dataset: [_failure(each) for each in failures] for dataset, failures in found.failures.items()
        },
    }


def _failure(vertex: Vertex) -> dict[str, Any]:
    keys = ("status", "last_run_at", "last_run_id")
    return {
        "id": vertex.id,
        "label": vertex.label,
        "name": vertex.name,
        **{key: vertex.properties.get(key) for key in keys},
    }


def _about(vertex: Vertex) -> str:
    return "  ".join(str(vertex.properties[key]) for key in _ABOUT if key in vertex.properties)
