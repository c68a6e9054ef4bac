"""Questions to a folder with a walk index and without: seconds and memory of a process, by size.

    python benchmarks/index.py --tables 19500 195000        # one and ten million elements

Each question is a process of its own, and both answers are the same, which is checked.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import options, results
from benchmarks.made_company import SCOPE, write_large_folder
from benchmarks.questions import Used, median, questions, run
from benchmarks.results import Figure
from lineage_merge.graph_format.folder_index import write_folder_index

# Limits of seconds and MB by tables: of one and of ten million elements.
MOST: Mapping[int, tuple[float, int]] = {19_500: (0.6, 150), 195_000: (1.0, 250)}
GROWTH = 1.5
INDEX, COLUMNS = "index", "columns"


def make(work: Path, tables: int) -> None:
    """Write a folder without an index."""
    print(f"{write_large_folder(work / COLUMNS, tables):,} elements")


def index(work: Path) -> None:
    """Write the same folder with an index, of links to the files."""
    for kind in ("nodes", "edges"):
        (work / INDEX / kind).mkdir(parents=True)
        for file in (work / COLUMNS / kind).iterdir():
            (work / INDEX / kind / file.name).hardlink_to(file)
    write_folder_index(str(work / INDEX), at_least=0)


def asked(tables: int) -> dict[str, tuple[str, ...]]:
    """Return the words of each question."""
    by_name = questions(tables)
    of_lineage = {name: by_name[name] for name in ("upstream", "impact", "path")}
    return {**of_lineage, "datasets": ("datasets", "--search", of_lineage["upstream"][1])}


def measure(work: Path, tables: int, rounds: int) -> Iterator[tuple[str, Used, Used]]:
    """Ask all questions in turns; yield what each took with the index and without."""
    for question, words in asked(tables).items():
        taken: dict[str, list[Used]] = {INDEX: [], COLUMNS: []}
        for _ in range(rounds):
            for place, used in taken.items():
                flags = ("--folder", str(work / place), "--environment", SCOPE.environment, "--json")
                used.append(run(sys.executable, "-m", "lineage_merge", *words, *flags))
        answers = {used[-1].printed.replace(work.as_posix().encode(), b"") for used in taken.values()}
        if len({answer.replace(b"/index", b"").replace(b"/columns", b"") for answer in answers}) != 1:
            raise SystemExit(f"{question}: the answers differ")
        yield question, median(taken[INDEX]), median(taken[COLUMNS])


def measure_size(tables: int, rounds: int) -> tuple[dict[str, float], list[Figure]]:
    """Return the seconds of each question with an index, and all figures of a size."""
    case = f"{tables:,} tables"
    seconds: dict[str, float] = {}
    found: list[Figure] = []
    most = MOST.get(tables, (None, None))
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        # Not here: the peak memory of a process counts that of the one that started it.
        subprocess.run([sys.executable, __file__, "--make", place, str(tables)], check=True)
        written = run(sys.executable, __file__, "--index", place)
        size = sum(file.stat().st_size for file in (work / INDEX / "index").iterdir()) / 1e6
        print(f"index written in {written.seconds:.1f} s, {written.memory:,.0f} MB of memory, {size:,.0f} MB")
        found.append(Figure(case, "index, written in", round(written.seconds, 1), "s"))
        found.append(Figure(case, "index, memory of writing", round(written.memory), "MB"))
        found.append(Figure(case, "index, size", round(size), "MB"))
        for question, of_index, of_columns in measure(work, tables, rounds):
            seconds[question] = of_index.seconds
            print(
                f"{case:15} {question:9} index {of_index.seconds:5.2f} s, {of_index.memory:5.0f} MB;"
                f" columns {of_columns.seconds:5.2f} s, {of_columns.memory:5.0f} MB:"
                f" {of_columns.seconds / of_index.seconds:4.1f} times the seconds,"
                f" {of_columns.memory / of_index.memory:4.1f} times the memory"
            )
            found.append(Figure(case, question, round(of_index.seconds, 2), "s", at_most=most[0]))
            found.append(Figure(case, f"{question}, memory", round(of_index.memory), "MB", at_most=most[1]))
            ratio = of_columns.seconds / of_index.seconds
            found.append(Figure(case, f"{question}, columns / index, seconds", round(ratio, 1), "times"))
    return seconds, found


def growth(seconds: Sequence[Mapping[str, float]], tables: Sequence[int]) -> Iterator[Figure]:
    """Print and yield how the seconds of each question grow from the first to the last size."""
    for question, first in seconds[0].items():
        ratio = seconds[-1][question] / first
        print(f"{question:9} {tables[-1] / tables[0]:.0f} times the tables: {ratio:.2f} times the seconds")
        yield Figure(
            f"{tables[0]:,} to {tables[-1]:,} tables", question, round(ratio, 2), "times", at_most=GROWTH
        )


def main() -> None:
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
        return
    if sys.argv[1:2] == ["--index"]:
        index(Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description="Questions to a folder with a walk index and without")
    parser.add_argument("--tables", type=int, nargs="+", default=[19_500], help="of 12 columns each")
    parser.add_argument("--rounds", type=int, default=3)
    options.add_to(parser, smallest={"tables": [60, 120], "rounds": 1})
    arguments = parser.parse_args()
    sizes = [measure_size(tables, arguments.rounds) for tables in arguments.tables]
    found = [figure for _, figures in sizes for figure in figures]
    if len(sizes) > 1:
        found += growth([seconds for seconds, _ in sizes], arguments.tables)
    results.append(arguments.results, "index", found)


if __name__ == "__main__":
    main()
