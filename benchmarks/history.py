"""A year of daily merges of one DAG: questions as of a moment, the history of an element, and size on disk.

    python benchmarks/history.py --entries 365 --vertices 20000

1. `folder`: a question to the newest node and edge files (Parquet), as a build writes them.
2. `--as-of`: the same question to the history of as many merges, each of which changed 1 % of the vertices.
3. `history NAME`: all changes of a column, of the same history; with and without fingerprints of entries.

Each is a command in a process of its own. Both answers of the question are the same, which is checked.
Entries are written by the code that records a merge.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import options, results
from benchmarks.made_company import SCOPE, Dag, write_folder
from benchmarks.results import Figure
from lineage_merge.history import merge_index
from lineage_merge.history.layout import FINGERPRINTS, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.recording import write_entry
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.graph_state import Picture

# Maximum ratio to the same question to a folder.
TIMES = 1.5
MAX_SECONDS = 3.0
FIRST = datetime(2025, 1, 1, 4, tzinfo=UTC)


def size(folder: Path) -> int:
    """Return the bytes of all files."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def record(location: Path, dag: Dag, entries: int) -> dict[str, float]:
    """Write the history; return bytes per merge that changed something, and per unchanged one."""
    engine = LocalEngine()
    for day in range(entries):
        if day:
            dag.change(day)
        time_ms = int((FIRST + timedelta(days=day)).timestamp() * 1000)
        name = MergeName(time_ms, f"{day:012x}")
        picture = Picture(engine.rows(dag.nodes.values()), engine.rows(dag.edges.values()))
        vertices, edges = write_entry(str(location), SCOPE, name, picture)
        newest = MergeRecord(name, "full", name, merged_at=time_ms, vertices=vertices, edges=edges)
        merge_index.write_record(str(location), SCOPE, newest)
        if day % 50 == 0:
            print(f"  entry {day}", file=sys.stderr)
    changed = size(location) / entries
    before = size(location)
    again = MergeName(newest.name.time + 1, "f" * 12)
    unchanged = MergeRecord(again, "unchanged", newest.name, vertices=vertices, edges=edges)
    merge_index.write_record(str(location), SCOPE, unchanged)
    return {"changed": changed, "unchanged": size(location) - before}


def ask(*words: str) -> tuple[float, Any]:
    """Return the seconds of a command, and its JSON."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "lineage_merge", *words, "--environment", SCOPE[0], "--json"],
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - started, json.loads(done.stdout)


def measure(folder: Path, location: Path, name: str, rounds: int) -> dict[str, list[float]]:
    """Ask in turns."""
    taken: dict[str, list[float]] = {"folder": [], "--as-of": [], "history": [], "all entries": []}
    fingerprints, renamed = location / FINGERPRINTS, location.with_name(FINGERPRINTS)
    question = ("upstream", name, "--depth", "3")
    for _ in range(rounds):
        seconds, expected = ask(*question, "--folder", str(folder))
        taken["folder"].append(seconds)
        seconds, found = ask(*question, "--as-of", "0d", "--history", str(location))
        taken["--as-of"].append(seconds)
        if _ids(found) != _ids(expected):
            raise SystemExit("the history returns another answer than the folder")
        seconds, events = ask("history", f"{name}#column_0", "--history", str(location))
        taken["history"].append(seconds)
        fingerprints.rename(renamed)
        seconds, again = ask("history", f"{name}#column_0", "--history", str(location))
        renamed.rename(fingerprints)
        taken["all entries"].append(seconds)
        if again["events"] != events["events"]:
            raise SystemExit("the history of a column is another one without fingerprints")
    print(f"{len(events['events'])} events of {name}#column_0")
    return taken


def _ids(answer: Any) -> set[str]:
    return {each["id"] for each in (*answer["vertices"], *answer["edges"])}


def figures(taken: dict[str, list[float]], bytes_of: dict[str, float], case: str) -> Iterator[Figure]:
    """Print and return the results."""
    seconds = {name: statistics.median(each) for name, each in taken.items()}
    for name, each in seconds.items():
        print(f"{name:11} {each:6.2f} s")
    ratio = seconds["--as-of"] / seconds["folder"]
    print(
        f"--as-of / folder {ratio:.2f}; all entries / history "
        f"{seconds['all entries'] / seconds['history']:.1f}; per merge: "
        f"{bytes_of['changed'] / 1024:,.0f} KiB changed, "
        f"{bytes_of['unchanged']:,.0f} bytes unchanged"
    )
    yield Figure(case, "folder", round(seconds["folder"], 3), "s")
    yield Figure(case, "--as-of", round(seconds["--as-of"], 3), "s")
    yield Figure(case, "--as-of / folder", round(ratio, 2), "times", at_most=TIMES)
    yield Figure(case, "history NAME", round(seconds["history"], 3), "s", at_most=MAX_SECONDS)
    yield Figure(case, "history NAME, all entries", round(seconds["all entries"], 3), "s")
    yield Figure(case, "size of a merge that changed 1 %", round(bytes_of["changed"] / 1024), "KiB")
    yield Figure(case, "size of an unchanged merge", round(bytes_of["unchanged"]), "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds and sizes of a history")
    parser.add_argument("--entries", type=int, default=365)
    parser.add_argument("--vertices", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options.add_to(parser, smallest={"entries": 3, "vertices": 2_000, "rounds": 1})
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder, location = Path(work, "folder"), Path(work, "history")
        dag = Dag.of_vertices(arguments.vertices)
        print(f"{len(dag.nodes):,} vertices, {len(dag.edges):,} edges")
        bytes_of = record(location, dag, arguments.entries)
        write_folder(folder, dag)
        taken = measure(
            folder, location, f"dev.schema_0.table_{dag.tables // 20 * 20 - 20:05}", arguments.rounds
        )
        found = [*figures(taken, bytes_of, f"{arguments.entries} merges")]
    results.append(arguments.results, "history", found)


if __name__ == "__main__":
    main()
