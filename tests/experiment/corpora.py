"""The queries of TPC-H and TPC-DS with generated data, by DuckDB's extensions.

    python -m tests.experiment.corpora tpch --scale 0.01

prints how many edges of values an experiment confirmed, and what it refuted. The extensions come as wheels
(`duckdb-extension-tpch`, `duckdb-extension-tpcds`): nothing is downloaded at run time.
"""

import argparse
import importlib
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from tests.experiment.changes import Verdict, experiment
from tests.experiment.execution import Column, Laboratory, Table, connect
from tests.experiment.product import sql_lineage

_GENERATORS = {"tpch": "dbgen", "tpcds": "dsdgen"}


def corpus(name: str, scale: float) -> tuple[Laboratory, list[str]]:
    """Return tables with data, and the queries."""
    connection = connect()
    package = importlib.import_module(f"duckdb_extension_{name}")
    (extension,) = Path(str(package.__file__)).parent.rglob(f"{name}.duckdb_extension")
    connection.execute(f"load '{extension}'")
    connection.execute("create schema data")
    connection.execute(f"call {_GENERATORS[name]}(sf = {scale}, schema = 'data')")
    queries = [
        _with_names(text)
        for (text,) in connection.execute(f"select query from {name}_queries() order by query_nr").fetchall()
    ]
    return Laboratory(tuple(_tables(connection)), None, connection=connection), queries


def _with_names(query: str) -> str:
    """Return a query whose columns have names: those without one are named by the platform only."""
    tree = sqlglot.parse_one(query, dialect="duckdb")
    select = tree if isinstance(tree, exp.Select) else tree.find(exp.Select)
    if select is not None:
        named = [
            column if column.is_star or column.alias_or_name else exp.alias_(column, f"column_{at}")
            for at, column in enumerate(select.selects, 1)
        ]
        select.set("expressions", named)
    return tree.sql(dialect="duckdb")


def _tables(connection: duckdb.DuckDBPyConnection) -> Iterator[Table]:
    found = connection.execute(
        "select table_name, column_name, data_type from duckdb_columns()"
        " where schema_name = 'data' order by all"
    ).fetchall()
    for name in dict.fromkeys(row[0] for row in found):
        columns = {
            column: Column(kind, column, _changed(kind)) for table, column, kind in found if table == name
        }
        yield Table(name, columns, f"(select row_number() over () - 1 as i, * from data.{name})")


def _changed(kind: str) -> str:
    if kind.startswith(("VARCHAR", "CHAR")):
        return "c || 'z'"
    return "c + 3" if not kind.startswith("DATE") else "c + 40"


def verdicts(laboratory: Laboratory, queries: Sequence[str]) -> Iterator[Verdict]:
    """Yield the verdict of each query."""
    for query in queries:
        yield experiment(laboratory, query, sql_lineage(query, laboratory.tables), max_rows=math.inf)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if no edge is refuted."""
    parser = argparse.ArgumentParser(prog="python -m tests.experiment.corpora", description=__doc__)
    parser.add_argument("corpus", choices=sorted(_GENERATORS))
    parser.add_argument("--scale", type=float, default=0.01)
    given = parser.parse_args(arguments)
    started = time.monotonic()
    laboratory, queries = corpus(given.corpus, given.scale)
    confirmed = never = unknown = 0
    for number, verdict in enumerate(verdicts(laboratory, queries), 1):
        confirmed, never = confirmed + len(verdict.confirmed), never + len(verdict.never)
        for found in verdict.unknown:
            unknown += 1
            sys.stdout.write(f"query {number}: {found}\n")
        for source, column in sorted(verdict.never):
            sys.stdout.write(f"query {number}: never observed: {'.'.join(source)} > {column}\n")
    share = 100 * confirmed / max(confirmed + never, 1)
    sys.stdout.write(
        f"{given.corpus}: {len(queries)} queries, {confirmed} edges of values confirmed ({share:.1f} %), "
        f"{never} never observed, {unknown} unknown dependencies ({time.monotonic() - started:.0f} s)\n"
    )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
