"""The result of a capture: the graph of one job, for display and for loading."""

import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from lineage_merge.config import Config
from lineage_merge.graph_format.captures import CaptureDocument, Clause
from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, edge_of_row, subgraph, vertex_of_row
from lineage_merge.infra import storage
from lineage_merge.infra.redaction import redact_sql
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.model.elements import Element, Problem, Reference
from lineage_merge.model.errors import CaptureError
from lineage_merge.model.records import Record
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.expressions import ExpressionTexts
from lineage_merge.sources.spline.documents import Plan
from lineage_merge.spark_capture.origins import Origins, origins

_HEIGHT = 480  # height of the page in a notebook, in pixels


@dataclass(frozen=True)
class NotebookPage:
    """The interactive page in a frame of its own, which a notebook displays."""

    document: str = field(repr=False)

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:{_HEIGHT}px;border:0"'
            f' srcdoc="{html.escape(self.document)}"></iframe>'
        )


@dataclass(frozen=True)
class Captured:
    """The lineage of one write. Notebooks display it as a picture with a table, `print` as a tree."""

    name: str
    _config: Config = field(repr=False)
    _names: DatasetResolver = field(repr=False)
    _elements: tuple[Element, ...] = field(repr=False)
    _plan: Plan = field(repr=False)
    _tables: Mapping[str, Reference] = field(repr=False)

    @cached_property
    def graph(self) -> Subgraph:
        """Return the vertices and edges that a merge would load."""
        merged = self._merged
        return subgraph(map(vertex_of_row, merged.nodes), map(edge_of_row, merged.edges))

    @cached_property
    def _merged(self) -> join.Graph:
        config = self._config
        return join.merge_locally(self.records(), config.environment, config.dag_name, config.metadata)

    @property
    def nodes(self) -> tuple[Vertex, ...]:
        """Return the vertices: datasets, their columns and the job."""
        return tuple(self.graph.vertices.values())

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Return the edges, in a fixed order."""
        return self.graph.edges

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return what the plan does not contain, such as the sources of an RDD."""
        return tuple(record for record in self.records() if isinstance(record, Problem))

    def columns(self) -> Origins:
        """Return how each written column is computed, down to sources and constants."""
        columns = PlanColumns(self._plan.header, self._plan.parts)
        return origins(columns, self._names, self._tables)

    def elements(self) -> tuple[Element, ...]:
        """Return the lineage as `lineage_merge.model.elements`, as a source yields them."""
        return self._elements

    def records(self) -> list[Record]:
        """Return the elements as records, for `merge.join` with others."""
        return list(self._names.records(self._elements))

    def write(self, folder: str) -> None:
        """Write node and edge files to a folder, local or in S3, for ``lineage-merge load``.

        Raises `CaptureError` without a target dataset.
        """
        self._require_target("loading")
        for kind, rows in (("nodes", self._merged.nodes), ("edges", self._merged.edges)):
            lines = (json.dumps(row, ensure_ascii=False) for row in rows)
            below = f"{folder.rstrip('/')}/{kind}"
            if not storage.is_s3(folder):
                Path(below).mkdir(parents=True, exist_ok=True)
            storage.write_text(f"{below}/part-00000.jsonl", "\n".join(lines) + "\n")

    def save(self, file: str) -> None:
        """Write the lineage to a file, local or in S3, for ``lineage-merge review --capture``.

        Unlike `write`, it also has the conditions, joins and groupings of the query. Raises `CaptureError`
        without a target dataset.
        """
        self._require_target("saving")
        document = CaptureDocument(
            self._config.environment,
            self._config.dag_name,
            "spark",
            self.name,
            self._merged.nodes,
            self._merged.edges,
            clauses_of(PlanColumns(self._plan.header, self._plan.parts)),
            [f"{problem.document}: {problem.message}" for problem in self.problems],
        )
        storage.write_text(file, document.text())

    def _require_target(self, before: str) -> None:
        if any(reference.namespace == "dataframe" for reference in self._list_references()):
            raise CaptureError(f"no target: set target= to the dataset that will be written, before {before}")

    def _list_references(self) -> list[Reference]:
        targets = (getattr(element, "target", None) for element in self._elements)
        return [target for target in targets if isinstance(target, Reference)]

    # Output formats.

    def __str__(self) -> str:
        from rich.console import Console

        from lineage_merge.questions.formats.tree import tree

        console = Console(file=StringIO(), width=10_000, color_system=None)
        with console.capture() as shown:
            for line in tree(self.graph):
                console.print(line, soft_wrap=True)
        return shown.get().rstrip()

    def to_mermaid(self) -> str:
        """Return a Mermaid flowchart, which Markdown on GitHub and GitLab renders."""
        from lineage_merge.questions.formats.diagrams import mermaid

        return mermaid(self.graph)

    def to_dot(self) -> str:
        """Return a Graphviz digraph."""
        from lineage_merge.questions.formats.diagrams import dot

        return dot(self.graph)

    def to_graphml(self) -> str:
        """Return GraphML."""
        from lineage_merge.questions.formats.graphml import graphml

        return graphml(self.graph)

    def to_svg(self) -> str:
        """Return an SVG drawing, which needs no other file."""
        from lineage_merge.questions.formats.svg import svg

        return svg(self.graph, self.name)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of ``--format json`` (`query.formats.json_text`)."""
        from lineage_merge.questions.formats.conversions import as_json

        return as_json(self.graph)

    def to_html(self) -> str:
        """Return the page: one file that works offline."""
        from lineage_merge.exporters.page import Options, render

        return render(self.graph, Options(title=self.name, source="capture"))

    def page(self) -> NotebookPage:
        """Return the page for display in a notebook; it needs scripts, unlike the picture."""
        return NotebookPage(self.to_html())

    def _repr_html_(self) -> str:
        from lineage_merge.questions.formats.picture import picture

        return picture(self.graph)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}


_LIMITS = frozenset({"GlobalLimit", "Tail", "Sample"})
_SETS = frozenset({"Union", "Intersect", "Except"})


def clauses_of(plan: PlanColumns) -> list[Clause]:
    """Return the clauses of a plan, sorted: conditions one by one, without their order."""
    texts = ExpressionTexts(plan)
    return sorted(Clause(kind, redact_sql(text)) for kind, text in _clauses(plan, texts))


def _clauses(plan: PlanColumns, texts: ExpressionTexts) -> Iterator[tuple[str, str]]:
    for operation in plan.bottom_up:
        name = str(plan.operations[operation].get("name"))
        if name == "Filter":
            for condition in plan.parameter(operation, "condition"):
                yield from (("filter", texts.text(part)) for part in _conditions(plan, condition))
        elif name == "Join":
            kind = str(plan.params(operation).get("joinType") or "").lower()
            on = sorted(
                texts.text(part)
                for condition in plan.parameter(operation, "condition")
                for part in _conditions(plan, condition)
            )
            yield "join", " ".join((kind, "join", *(["on", " and ".join(on)] if on else []))).strip()
        elif name == "Aggregate":
            grouped = sorted(map(texts.text, plan.parameter(operation, "groupingExpressions")))
            yield "grouping", f"group by {', '.join(grouped)}" if grouped else "group all rows"
        elif name in ("Distinct", "Deduplicate"):
            by = sorted(map(texts.text, plan.parameter(operation, "keys")))
            yield "grouping", f"distinct {', '.join(by)}".strip()
        elif name in _SETS:
            yield "set operation", name.lower()
        elif name in _LIMITS:
            values = [texts.text(use.value) for use in plan.uses.get(operation, ())]
            yield "limit", " ".join((name.removeprefix("Global").lower(), *values))


def _conditions(plan: PlanColumns, expression: str) -> Iterator[str]:
    """Yield the parts of a conjunction."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if part in plan.expressions and plan.class_name(part).rpartition(".")[2] == "And":
            waiting.extend(reversed(plan.arguments.get(part, ())))
        else:
            yield part
