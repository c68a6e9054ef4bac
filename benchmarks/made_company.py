"""A made-up company: groups of tables with columns, computed from the tables before them, in one DAG.

`company(5_000)` has 260,000 elements, `company(19_500)` a million.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from lineage_merge.graph_format.arrow import arrow_schema, write_parquet
from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.history.layout import DagScope
from lineage_merge.infra.arrow_tables import table_of_rows
from lineage_merge.merge.report import EMPTY, REPORT
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.elements import JobKey, column_id, edge_id, job_id

COLUMNS = 8
PARENTS = 3
# Tables that feed each other, in a chain.
GROUP = 50
TABLES_PER_JOB = 10
# Tables that are made and written at a time.
_AT_ONCE = 100 * GROUP
SCOPE = DagScope("prod", "daily")
NAMESPACE = "redshift://warehouse.eu-west-1:5439"
Row = dict[str, Any]


def table_name(number: int) -> str:
    """Return the qualified name of a table."""
    return f"dev.schema_{number % 20}.table_{number:05}"


def table(number: int) -> str:
    """Return the id of a table."""
    return f"{SCOPE.environment}|{NAMESPACE}|{table_name(number)}"


class Dag:
    """Node and edge rows by id, of which each day changes some."""

    def __init__(self, tables: int, columns: int = COLUMNS, sources: int = 1, first: int = 0) -> None:
        """Make tables of so many columns, each computed from a column of so many tables.

        `first`: the number of the first one, that of a group.
        """
        self.nodes: dict[str, Row] = {}
        self.edges: dict[str, Row] = {}
        self.tables, self._columns, self._sources = tables, columns, sources
        for number in range(first, tables):
            self._add(number)

    @classmethod
    def of_vertices(cls, vertices: int) -> "Dag":
        """Make a DAG of about so many vertices."""
        return cls(vertices * TABLES_PER_JOB // ((COLUMNS + 1) * TABLES_PER_JOB + 1))

    def _add(self, number: int) -> None:
        job = JobKey("spark", f"job_{number // TABLES_PER_JOB:04}")
        name = table_name(number)
        self._node(job_id(*SCOPE, job), "job", name=job.name, job_type="spark", last_run_at=1_750_000_000_000)
        self._node(
            table(number), "table", name=name, namespace=NAMESPACE, qualified_name=name, format="parquet"
        )
        self._edge(job, job_id(*SCOPE, job), "writes", table(number))
        parents = range(max(number - number % GROUP, number - PARENTS), number)
        for parent in parents:
            self._edge(
                job, table(parent), "feeds", table(number), operations="Filter > Join", write_mode="overwrite"
            )
        for position in range(self._columns):
            column = column_id(table(number), f"column_{position}")
            self._node(
                column, "column", name=f"column_{position}", data_type="decimal(18,2)", position=position
            )
            self._edge(None, table(number), "has_column", column)
            for parent in parents[-self._sources :]:
                source = column_id(table(parent), f"column_{position}")
                expression = f"coalesce(t.column_{position}, 0) * {number}"
                self._edge(
                    job,
                    source,
                    "feeds_column",
                    column,
                    transformation="TRANSFORMATION",
                    expression=expression,
                )

    def change(self, day: int) -> None:
        """Change the data types of 1 % of the columns, other ones each day."""
        columns = [each for each in self.nodes.values() if each["label"] == "column"]
        for each in columns[day % 100 :: 100]:
            each["data_type"] = f"decimal(18,{day % 9})"

    def _node(self, identifier: str, label: str, **values: Any) -> None:
        self.nodes[identifier] = {
            "id": identifier,
            "label": label,
            "environment": SCOPE[0],
            "dag_name": SCOPE[1],
            **values,
        }

    def _edge(self, job: JobKey | None, start: str, label: str, end: str, **values: Any) -> None:
        of_job = {"job_type": job.job_type, "job_name": job.name} if job else {}
        identifier = edge_id(*SCOPE, job, start, label, end)
        ends = {"id": identifier, "label": label, "from": start, "to": end}
        self.edges[identifier] = {**ends, "environment": SCOPE[0], "dag_name": SCOPE[1], **of_job, **values}


def company(tables: int) -> Dag:
    """Return tables of twelve columns, each computed from two others."""
    return Dag(tables, columns=12, sources=2)


def write_large_folder(folder: Path, tables: int) -> int:
    """Write a company as `write_folder` does, but some tables at a time; return the number of elements."""
    from pyarrow import parquet

    kinds = (("nodes", arrow_schema(node_ddl())), ("edges", arrow_schema(edge_ddl())))
    elements = 0
    with ExitStack() as stack:
        writers = []
        for kind, schema in kinds:
            (folder / kind).mkdir(parents=True)
            file = folder / kind / "part-00000.parquet"
            writers.append(stack.enter_context(parquet.ParquetWriter(file, schema)))
        for first in range(0, tables, _AT_ONCE):
            dag = Dag(min(first + _AT_ONCE, tables), columns=12, sources=2, first=first)
            for rows, writer in zip((dag.nodes, dag.edges), writers, strict=True):
                writer.write_table(pa.Table.from_pylist([*rows.values()], writer.schema))
                elements += len(rows)
    _write_report(folder)
    return elements


def write_folder(folder: Path, dag: Dag, file_format: str = "parquet") -> None:
    """Write nodes, edges and the report of complete sources as a build does."""
    for kind, rows, ddl in (("nodes", dag.nodes, node_ddl()), ("edges", dag.edges, edge_ddl())):
        (folder / kind).mkdir(parents=True)
        if file_format == "jsonl":
            lines = [json.dumps(row, ensure_ascii=False) for row in rows.values()]
            (folder / kind / "part-00000.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
            continue
        write_parquet(
            folder / kind / "part-00000.parquet",
            table_of_rows(list(rows.values()), arrow_schema(ddl)),
            arrow_schema(ddl),
        )
    _write_report(folder)


def _write_report(folder: Path) -> None:
    coverage = SourceCompleteness(runs=True, projects={}).as_json()
    (folder / REPORT).write_text(json.dumps({**EMPTY.as_json(), "coverage": coverage}), encoding="utf-8")
