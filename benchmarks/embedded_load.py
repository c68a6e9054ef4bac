"""The load into the embedded graph: a folder of columns against Gremlin requests, and the whole command.

    python benchmarks/embedded_load.py --tables 5000
    python benchmarks/embedded_load.py --tables 19500 --without-server    # a million elements

Both write the same company (`made_company.company`: 52 elements per table) into an empty graph. The parts of
the command `load` are those of its progress, from a folder as `build` writes it: into a graph that does not
exist yet, once more unchanged, and with 1 % of the columns changed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks import options, results
from benchmarks.made_company import SCOPE, Dag, company, write_folder
from benchmarks.results import Figure
from lineage_merge.graph_format.folder_index import write_folder_index
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.embedded.graph_tables import arrow
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.graph_access import Graph, update
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.merge.source_completeness import SourceCompleteness

FOLDER, REQUESTS = "folder", "requests"
FIRST, UNCHANGED, CHANGED = "first load", "unchanged load", "1% changed"
# Of the seconds of requests, at most.
EXPECTED = 0.5
# Seconds of a first load, by tables.
MOST = {19_500: 60.0}


def written(dag: Dag, mode: str, folder: Path) -> float:
    """Return the seconds of a first load of the rows."""
    engine = LocalEngine(threads=os.cpu_count() or 1)
    coverage = SourceCompleteness(runs=True, projects={})
    merge = MergeOutput(engine.rows(dag.nodes.values()), engine.rows(dag.edges.values()), coverage=coverage)
    with ExitStack() as stack:
        graph: Graph = GraphFolder(folder / mode)
        if mode == REQUESTS:
            graph = Endpoint(stack.enter_context(EmbeddedServer(None)).url)
        started = time.perf_counter()
        update(merge, graph, *SCOPE)
        return time.perf_counter() - started


def command_parts(folder: Path, graph: Path) -> dict[str, float]:
    """Return the seconds of each part of the command `load`, by the beginning of its progress line."""
    program = [sys.executable, "-m", "lineage_merge", "load", str(folder), "--graph-file", str(graph)]
    parts: dict[str, float] = {}
    started = before = time.perf_counter()
    part = "start"
    with subprocess.Popen(program, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as load:
        assert load.stderr is not None
        for line in load.stderr:
            now = time.perf_counter()
            parts[part] = parts.get(part, 0) + now - before
            before, part = now, line.strip().partition(" s  ")[2].partition(" (")[0].partition(" from ")[0]
    if load.returncode:
        raise RuntimeError(f"load ended with {load.returncode}")
    now = time.perf_counter()
    parts[part] = parts.get(part, 0) + now - before
    return parts | {"total": now - started}


def compare_with_server(dag: Dag, case: str, work: Path) -> list[Figure]:
    """Load into a folder and into a server; print and return the seconds of each."""
    seconds = {mode: written(dag, mode, work) for mode in (REQUESTS, FOLDER)}
    print("".join(f"{mode:26} {value:8.1f} s\n" for mode, value in seconds.items()), end="")
    share = seconds[FOLDER] / seconds[REQUESTS]
    print(f"{'folder / requests':26} {share:8.2f}")
    figures = [Figure(case, mode, value, "s") for mode, value in seconds.items()]
    return [*figures, Figure(case, f"{FOLDER} / {REQUESTS}", share, "times", at_most=EXPECTED)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Loads into the embedded graph and into a server")
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--without-server", action="store_true", help="only the command")
    options.add_to(parser, smallest={"tables": 60})
    arguments = parser.parse_args()
    dag = company(arguments.tables)
    case = f"{len(dag.nodes) + len(dag.edges):,} elements"
    print(case)
    found: list[Figure] = []
    arrow()  # its import is measured with the command
    with tempfile.TemporaryDirectory() as work:
        if not arguments.without_server:
            found += compare_with_server(dag, case, Path(work))
        folders = {
            FIRST: Path(work, "folder"),
            UNCHANGED: Path(work, "folder"),
            CHANGED: Path(work, "changed"),
        }
        write_folder(folders[FIRST], dag)
        write_folder_index(str(folders[FIRST]))
        dag.change(0)
        write_folder(folders[CHANGED], dag)
        write_folder_index(str(folders[CHANGED]))
        del dag  # the loads need the memory
        totals = {}
        for load, folder in folders.items():
            parts = command_parts(folder, Path(work, "graph"))
            totals[load] = parts["total"]
            print(f"\n{load}\n" + "".join(f"  {name:24} {value:8.1f} s\n" for name, value in parts.items()))
            found += [Figure(case, f"{load}, {name}", value, "s") for name, value in parts.items()]
    found.append(Figure(case, FIRST, totals[FIRST], "s", at_most=MOST.get(arguments.tables)))
    for load in (UNCHANGED, CHANGED):
        share = totals[load] / totals[FIRST]
        print(f"{load} / {FIRST}: {share:.0%}")
        found.append(Figure(case, f"{load} / {FIRST}", share, "times"))
    results.append(arguments.results, "embedded_load", found)


if __name__ == "__main__":
    main()
