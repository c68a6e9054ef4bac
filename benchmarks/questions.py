"""Questions to a folder and to a history of a company's size: seconds and memory of a process for each.

    python benchmarks/questions.py --tables 5000

1. `columns`: the command, which reads the columns that a question needs.
2. `rows`: the same question to the same files by a simple reader, which loads all rows as Python objects.
3. `duckdb`, where it is installed: the ids upstream of a table by one recursive query of the Parquet files.

The answers of 1 and 2 are the same, which is checked. The history has one entry.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import options, results
from benchmarks.made_company import GROUP, SCOPE, company, table, table_name, write_folder
from benchmarks.results import Figure
from lineage_merge.history import merge_index
from lineage_merge.history.layout import MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.recording import write_entry
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.graph_state import Picture

# Limits by tables: of 260,000 and of a million elements.
MOST: Mapping[int, tuple[float, int]] = {5_000: (1.5, 300), 19_500: (2.0, 500)}
_TIME = 1_767_225_600_000  # of the merge, in ms since 1970

_DUCKDB = """\
import sys, duckdb
edges, start = sys.argv[1:]
print(duckdb.execute(
    "with recursive found(id) as (select ? union"
    " select e.\\"from\\" from read_parquet(?) e join found on e.\\"to\\" = found.id where e.label = 'feeds')"
    " select count(*) from found", [start, edges]).fetchone()[0])
"""


class Used(NamedTuple):
    """What a process took: seconds, CPU seconds, peak memory in MB, and what it printed."""

    seconds: float
    cpu: float
    memory: float
    printed: bytes


def run(*command: str) -> Used:
    """Run a process that must end well."""
    with tempfile.TemporaryFile() as out:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"exit code {process.returncode}: {' '.join(command)}")
        out.seek(0)
        return Used(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read())


def median(many: Sequence[Used]) -> Used:
    """Return the median of each number."""
    return Used(
        statistics.median(each.seconds for each in many),
        statistics.median(each.cpu for each in many),
        statistics.median(each.memory for each in many),
        b"",
    )


def questions(tables: int) -> dict[str, tuple[str, ...]]:
    """Return the words of each question: the ends of a chain of tables."""
    start = (tables - 1) // GROUP * GROUP
    first, last = table_name(start), table_name(min(start + GROUP, tables) - 1)
    return {
        "upstream": ("upstream", last),
        "impact": ("impact", first),
        "path": ("path", first, last),
        "datasets": ("datasets",),
    }


def naive(place: str, question: str, *names: str) -> None:
    """Load all rows as objects, and print the answer of a question."""
    from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
    from lineage_merge.query import Lineage
    from lineage_merge.questions.backends.in_memory import InMemory

    dags = None if Path(place, "report.json").exists() else [SCOPE.dag_name]
    of_entry = {} if dags is None else dict(zip(("environment", "dag_name"), SCOPE, strict=True))
    nodes = (vertex_of_row({**row, **of_entry}, dags) for row in rows(Path(place, "nodes")))
    edges = (edge_of_row({**row, **of_entry}) for row in rows(Path(place, "edges")))
    lineage = Lineage.of_graph(InMemory(nodes, edges), environment=SCOPE.environment)
    answer = getattr(lineage, question)(*names)
    print(len(answer.datasets) if question == "datasets" else json.dumps(answer.to_dict(), default=str))


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all rows of a folder."""
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        if file.suffix == ".json":
            with file.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)
            continue
        from pyarrow import parquet

        for batch in parquet.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()


def checked(question: str, columns: bytes, of_rows: bytes) -> None:
    """Compare the answers of both readers: ids, or the number of rows of a table."""
    if question == "datasets":
        is_same = len(columns.splitlines()) - 1 == int(of_rows)
    else:
        both = [json.loads(each) for each in (columns, of_rows)]
        is_same = both[0].get("vertices") == both[1].get("vertices") and both[0].get("edges") == both[1].get(
            "edges"
        )
    if not is_same:
        raise SystemExit(f"{question}: the answers differ")


def measure(work: Path, tables: int, rounds: int) -> Iterator[Figure]:
    """Ask all questions in turns; print and return the results."""
    seconds_limit, memory_limit = MOST.get(tables, (None, None))
    places = {
        "Parquet": ("--folder", str(work / "parquet")),
        "JSON lines": ("--folder", str(work / "jsonl")),
        "history": ("--as-of", "now", "--history", str(work / "history")),
    }
    for place, flags in places.items():
        for question, words in questions(tables).items():
            output = () if question == "datasets" else ("--json",)
            taken: dict[str, list[Used]] = {"columns": [], "rows": []}
            for _ in range(rounds):
                asked = [*words, *flags, "--environment", SCOPE.environment, *output]
                taken["columns"].append(run(sys.executable, "-m", "lineage_merge", *asked))
                taken["rows"].append(run(sys.executable, str(Path(__file__)), "--naive", flags[-1], *words))
                checked(question, *(each[-1].printed for each in taken.values()))
            columns, of_rows = (median(many) for many in taken.values())
            ratio, memory = of_rows.cpu / columns.cpu, of_rows.memory / columns.memory
            print(
                f"{place:10} {question:9} {columns.seconds:6.2f} s, CPU {columns.cpu:6.2f} s, "
                f"{columns.memory:5.0f} MB; all rows {of_rows.seconds:6.2f} s, CPU {of_rows.cpu:6.2f} s, "
                f"{of_rows.memory:5.0f} MB; ratio {ratio:.1f}, {memory:.1f}"
            )
            case, limited = f"{place}, {tables:,} tables", place == "Parquet"
            most = (seconds_limit, memory_limit) if limited else (None, None)
            yield Figure(case, question, round(columns.seconds, 2), "s", at_most=most[0])
            yield Figure(case, f"{question}, memory", round(columns.memory), "MB", at_most=most[1])
            yield Figure(case, f"{question}, all rows / columns, CPU", round(ratio, 1), "times")
    if find_spec("duckdb"):
        last = table(int(questions(tables)["upstream"][1].rpartition("_")[2]))
        edges = str(work / "parquet" / "edges" / "*.parquet")
        used = median([run(sys.executable, "-c", _DUCKDB, edges, last) for _ in range(rounds)])
        print(
            f"Parquet    upstream  {used.seconds:6.2f} s, CPU {used.cpu:6.2f} s, {used.memory:5.0f} MB; "
            "the ids alone, by DuckDB"
        )
        yield Figure(f"Parquet, {tables:,} tables", "upstream, ids by DuckDB", round(used.seconds, 2), "s")


def make(work: Path, tables: int) -> None:
    """Write both folders, and a history whose one entry has the same elements."""
    dag = company(tables)
    print(f"{len(dag.nodes):,} vertices, {len(dag.edges):,} edges")
    for file_format in ("parquet", "jsonl"):
        write_folder(work / file_format, dag, file_format)
    engine, location, name = LocalEngine(), str(work / "history"), MergeName(_TIME, "0" * 12)
    picture = Picture(engine.rows(dag.nodes.values()), engine.rows(dag.edges.values()))
    vertices, edges = write_entry(location, SCOPE, name, picture)
    record = MergeRecord(name, "full", name, merged_at=_TIME, vertices=vertices, edges=edges)
    merge_index.write_record(location, SCOPE, record)


def main() -> None:
    if sys.argv[1:2] == ["--naive"]:
        naive(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description="Seconds and memory of questions to a folder and a history")
    parser.add_argument("--tables", type=int, default=5_000, help="of 12 columns each")
    parser.add_argument("--rounds", type=int, default=3)
    options.add_to(parser, smallest={"tables": 60, "rounds": 1})
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        # Not here: the peak memory of a process counts that of the one that started it.
        subprocess.run(
            [sys.executable, str(Path(__file__)), "--make", work, str(arguments.tables)], check=True
        )
        found = [*measure(Path(work), arguments.tables, arguments.rounds)]
    results.append(arguments.results, "questions", found)


if __name__ == "__main__":
    main()
