"""The queries of TPC-H and TPC-DS with generated data, by DuckDB's extensions, and the sample's dbt project.

    python -m tests.experiment.corpora tpch --scale 0.01

prints how many edges of values an experiment confirmed, and what it refuted; with ``--client event_log``,
which of them the event log of Spark has, where the queries ran. The extensions come as wheels
(`duckdb-extension-tpch`, `duckdb-extension-tpcds`): nothing is downloaded at run time.

Filters by constants and limits leave few rows of small data, or none. So an edge that no change moved is
tested again in the query without them, whose edges of values must be the same.
"""

import argparse
import importlib
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import sqlglot
from sqlglot import exp

from tests.experiment import dbt_project, event_logs
from tests.experiment.changes import Verdict, experiment
from tests.experiment.execution import Column, Laboratory, Source, StatementError, Table, connect
from tests.experiment.product import Lineage, sql_lineage

# Large tables at every scale, of which only the rows are taken that others refer to: their key, and the end
# of the names of columns that refer to it.
_SHORTENED = {"date_dim": ("d_date_sk", "date_sk"), "time_dim": ("t_time_sk", "time_sk")}
_MAX_ROWS = 200_000
SAMPLE = Path(__file__).parents[2] / "sample_data" / "company" / "sources" / "dbt"
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
            column
            if column.is_star or column.alias_or_name
            else exp.alias_(column, column.unnest().alias_or_name or f"column_{at}")
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
        rows = f"data.{name}"
        if name in _SHORTENED:
            key, ending = _SHORTENED[name]
            references = [
                f"select {column} from data.{table}"
                for table, column, _ in found
                if column.endswith(ending) and table != name
            ]
            rows += f" where {key} in ({' union '.join(references)})"
        yield Table(name, columns, f"(select row_number() over () - 1 as i, * from {rows})")


def _changed(kind: str) -> str:
    if kind.startswith(("VARCHAR", "CHAR")):
        return "c || 'z'"
    return "c + 3" if not kind.startswith("DATE") else "c + 40"


def verdicts(laboratory: Laboratory, queries: Sequence[str]) -> Iterator[Verdict]:
    """Yield the verdict of each query."""
    for query in queries:
        lineage = sql_lineage(query, laboratory.tables)
        verdict = experiment(laboratory, query, lineage, max_rows=math.inf)
        for is_filter in (_compares_constants, _joins_nothing):
            if verdict.never:
                _test_without(laboratory, verdict, lineage, is_filter)
        yield verdict


def _test_without(
    laboratory: Laboratory, verdict: Verdict, lineage: Lineage, is_filter: Callable[[exp.Expr], bool]
) -> None:
    query = without_filters(verdict.statement, is_filter)
    own = sql_lineage(query, laboratory.tables)
    if own.edges != lineage.edges:
        raise AssertionError(f"other edges of values without filters: {verdict.statement}")
    try:
        again = experiment(laboratory, query, own, max_rows=_MAX_ROWS)
    except StatementError:  # such as of too many rows
        return
    verdict.unknown += again.unknown
    verdict.confirmed |= again.confirmed & verdict.never
    verdict.never -= again.confirmed


def _compares_constants(condition: exp.Expr) -> bool:
    """Return whether a condition is on one table only."""
    tables = {column.table or column.name for column in condition.find_all(exp.Column)}
    return len(tables) < 2 and not condition.find(exp.Query)


def _joins_nothing(condition: exp.Expr) -> bool:
    """Return whether a condition compares no columns of tables for equality, or only tests a subquery."""
    if condition.find(exp.Query):
        return True
    pairs = condition.find_all(exp.EQ)
    return not any(isinstance(pair.left, exp.Column) and isinstance(pair.right, exp.Column) for pair in pairs)


def without_filters(query: str, is_filter: Callable[[exp.Expr], bool] = _compares_constants) -> str:
    """Return a query without limits, and without the conditions of WHERE and HAVING that only filter."""
    tree = sqlglot.parse_one(query, dialect="duckdb")
    for clause in list(tree.find_all(exp.Where, exp.Having)):
        for part in list(clause.this.flatten()) if isinstance(clause.this, exp.And) else [clause.this]:
            if is_filter(part):
                part.replace(exp.true())
    for limit in list(tree.find_all(exp.Limit)):
        limit.pop()
    return tree.sql(dialect="duckdb")


def compare_event_log(name: str, scale: float) -> int:
    """Print which edges an event log lacks or adds; return the number of those that it adds."""
    laboratory, queries = corpus(name, scale)
    with TemporaryDirectory() as folder:
        logged = event_logs.lineage_of_event_log(laboratory, queries, Path(folder))
    counts = Counter[str]()
    for number, (query, found) in enumerate(zip(queries, logged, strict=True), 1):
        expected = sql_lineage(query, laboratory.tables)
        for kind, true, read in (
            ("values", _pairs(expected), _pairs(found)),
            ("influences", expected.influences, found.influences),
        ):
            counts[f"{kind} found"] += len(true & read)
            for what, edges in (("missing", true - read), ("wrong", read - true)):
                counts[f"{kind} {what}"] += len(edges)
                for edge in sorted(map(str, edges)):
                    sys.stdout.write(f"query {number}: {kind} {what}: {edge}\n")
    shown = ", ".join(f"{count} {what}" for what, count in counts.items())
    sys.stdout.write(f"{name} from an event log: {len(queries)} queries, {shown}\n")
    return counts["values wrong"] + counts["influences wrong"]


def _pairs(lineage: Lineage) -> set[tuple[Source, str]]:
    return {(source, target) for source, targets in lineage.edges.items() for target in targets}


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if no edge is refuted."""
    parser = argparse.ArgumentParser(prog="python -m tests.experiment.corpora", description=__doc__)
    parser.add_argument("corpus", choices=[*sorted(_GENERATORS), "dbt"])
    parser.add_argument("--scale", type=float, default=0.01, help="of TPC's data")
    parser.add_argument("--client", choices=["sql", "event_log"], default="sql", help="whose lineage it is")
    given = parser.parse_args(arguments)
    if given.client == "event_log":
        if given.corpus == "dbt":
            parser.error("the models of dbt are not run on Spark")
        return 1 if compare_event_log(given.corpus, given.scale) else 0
    started = time.monotonic()
    found: Iterable[Verdict]
    if given.corpus == "dbt":
        laboratory, models = dbt_project.read_models(SAMPLE)
        found = [experiment(laboratory, model.query, model.lineage) for model in models]
    else:
        laboratory, queries = corpus(given.corpus, given.scale)
        found = verdicts(laboratory, queries)
    confirmed = never = unknown = number = 0
    for number, verdict in enumerate(found, 1):
        confirmed, never = confirmed + len(verdict.confirmed), never + len(verdict.never)
        for dependency in verdict.unknown:
            unknown += 1
            sys.stdout.write(f"query {number}: {dependency}\n")
        for source, column in sorted(verdict.never):
            sys.stdout.write(f"query {number}: never observed: {'.'.join(source)} > {column}\n")
    share = 100 * confirmed / max(confirmed + never, 1)
    sys.stdout.write(
        f"{given.corpus}: {number} queries, {confirmed} edges of values confirmed ({share:.1f} %), "
        f"{never} never observed, {unknown} unknown dependencies ({time.monotonic() - started:.0f} s)\n"
    )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
