"""Answers that list datasets or jobs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lineage_merge.graph_format.elements import Vertex, values_of
from lineage_merge.query.records import (
    EDGE_COLUMNS,
    RUN_COLUMNS,
    VERTEX_COLUMNS,
    edge_record,
    vertex_record,
)
from lineage_merge.questions.dataset_search import FoundDatasets
from lineage_merge.questions.layers import LayerCheck
from lineage_merge.questions.result import Record, Result

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, kw_only=True, repr=False)
class VerticesResult(Result):
    """Vertices, such as datasets without a consumer."""

    columns: ClassVar[Mapping[str, type]] = VERTEX_COLUMNS

    def records(self) -> Iterator[Record]:
        """Yield the vertices."""
        return map(vertex_record, self.graph.vertices.values())


@dataclass(frozen=True, kw_only=True, repr=False)
class DatasetsResult(Result):
    """Datasets. `graph` contains their columns if `with_columns`."""

    columns: ClassVar[Mapping[str, type]] = {
        **VERTEX_COLUMNS,
        "namespace": str,
        "format": str,
        "description": str,
        "owners": tuple,
        "tags": tuple,
        "tagged_columns": tuple,
        "failures": tuple,
    }

    found: FoundDatasets
    search: str = ""
    with_columns: bool = False

    @property
    def datasets(self) -> tuple[Vertex, ...]:
        """The datasets, by id."""
        return self.found.datasets

    def records(self) -> Iterator[Record]:
        """Yield the datasets."""
        for each in self.found.datasets:
            yield {
                **vertex_record(each),
                **{key: each.properties.get(key) for key in ("namespace", "format", "description")},
                "owners": values_of(each, "owners"),
                "tags": values_of(each, "tags"),
                "tagged_columns": tuple(self.found.tagged_columns.get(each.id, ())),
                "failures": tuple(failure.id for failure in self.found.failures.get(each.id, ())),
            }

    def parameters(self) -> dict[str, Any]:
        """Return the text, and what is known of the datasets beyond their properties."""
        from lineage_merge.questions.formats.dataset_table import dataset_fields

        return {"search": self.search, **dataset_fields(self.found)}

    @property
    def roots(self) -> Sequence[str] | None:
        """The datasets, if the answer has columns below them."""
        return [each.id for each in self.found.datasets] if self.with_columns else None

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per dataset, or the edges to the columns."""
        from lineage_merge.questions.formats.dataset_table import dataset_table

        return super().tables() if self.with_columns else [dataset_table(self.found)]

    def csv_tables(self) -> "Iterable[RenderableType]":
        """Return a row per dataset, or the edges to the columns."""
        from lineage_merge.questions.formats.table import edge_table

        return [edge_table(self.graph)] if self.roots else self.tables()


@dataclass(frozen=True, kw_only=True, repr=False)
class JobsResult(Result):
    """Jobs with their newest run, in the requested order."""

    columns: ClassVar[Mapping[str, type]] = {
        **VERTEX_COLUMNS,
        "job_type": str,
        **RUN_COLUMNS,
        "owners": tuple,
    }

    search: str = ""
    since: int | None = None
    failed: bool = False

    @property
    def jobs(self) -> tuple[Vertex, ...]:
        """The jobs."""
        return tuple(self.graph.vertices.values())

    def records(self) -> Iterator[Record]:
        """Yield the jobs."""
        for each in self.jobs:
            run = {key: each.properties.get(key) for key in ("job_type", *RUN_COLUMNS)}
            yield {**vertex_record(each), **run, "owners": values_of(each, "owners")}

    def parameters(self) -> dict[str, Any]:
        """Return the conditions."""
        return {"search": self.search, "since": self.since, "failed": self.failed}

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per job."""
        from lineage_merge.questions.formats.answer_tables import job_table

        return [job_table(self.jobs)]


@dataclass(frozen=True, kw_only=True, repr=False)
class LayersResult(Result):
    """Edges that violate an order of layers."""

    columns: ClassVar[Mapping[str, type]] = {
        **EDGE_COLUMNS,
        "from_layer": str,
        "to_layer": str,
        "skips": bool,
    }

    check: LayerCheck

    def records(self) -> Iterator[Record]:
        """Yield the edges."""
        for each in self.check.breaches:
            layers = {"from_layer": each.source, "to_layer": each.target, "skips": each.skipped}
            yield {**edge_record(self.graph, each.edge), **layers}

    def parameters(self) -> dict[str, Any]:
        """Return the numbers of datasets by layer."""
        return {"datasets": self.check.datasets}

    def fields(self) -> dict[str, Any]:
        """Return the edges with their layers."""
        return {
            "breaches": [
                {
                    "edge": each.edge.id,
                    "from": each.edge.from_id,
                    "to": each.edge.to_id,
                    "from_layer": each.source,
                    "to_layer": each.target,
                    "skips": each.skipped,
                }
                for each in self.check.breaches
            ]
        }

    def tables(self) -> "Iterable[RenderableType]":
        """Return the numbers of datasets by layer, then the edges."""
        from lineage_merge.questions.formats.answer_tables import layer_tables

        return layer_tables(self.check)
