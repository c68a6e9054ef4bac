"""Near misses: the search in the rows of a merge, beside a comparison of each dataset with each other.

    python benchmarks/near_misses.py --datasets 20000 --rounds 3

Half of the datasets are read and never written, half written and never read; each has eight columns. Cases:

    one region wrong    every table is in another region under the same name
    one name            all tables are called sales, in schemas of their own
    one folder          paths of one folder whose names begin with the same word
    ordinary            names of three words, of which few are alike

Figures are medians of seconds of CPU: one thread, no I/O. The naive comparison scores all pairs
of fewer datasets (`--naive`) with the same functions; both must find the same pairs.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import options, results
from benchmarks.results import Figure
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.near_misses.collection import find_near_misses
from lineage_merge.merge.near_misses.names import compare, parts_of
from lineage_merge.merge.near_misses.pairs import Candidate, OpenDataset, candidates, pairs
from lineage_merge.orchestration.configuration import CONFIGURATION

MOST_SECONDS = 3.0
LEAST_RATIO = 50.0
COLUMNS = 8
EAST, WEST = "redshift://wh.us-east-1:5439", "redshift://wh.us-west-2:5439"
_CONFIG = CONFIGURATION.parse({"environment": "dev", "dag_name": "daily"}, needs_source=False)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Sides = tuple[list[str], list[str]]


def _names(number: int, seed: int) -> list[str]:
    """Return different names of three words."""
    drawn = random.Random(seed)
    words = ["".join(drawn.choices(_LETTERS, k=drawn.randint(4, 9))) for _ in range(300)]
    found: dict[str, None] = {}
    while len(found) < number:
        found["_".join(drawn.choices(words, k=3))] = None
    return list(found)


def one_region_wrong(half: int) -> Sides:
    names = _names(half, 1)
    return [f"{EAST}|dev.public.{name}" for name in names], [f"{WEST}|dev.public.{name}" for name in names]


def one_name(half: int) -> Sides:
    schemas = _names(half, 2)
    return [f"{EAST}|dev.{name}.sales" for name in schemas], [f"{WEST}|dev.{name}.sales" for name in schemas]


def one_folder(half: int) -> Sides:
    names = _names(half, 3)
    reads = [f"s3://lake|shop/sales_{name}" for name in names]
    return reads, [f"s3://lake|shop/sales_{name}" for name in _names(half, 4)]


def ordinary(half: int) -> Sides:
    names = _names(half, 5)
    return [f"s3://raw|shop/{name}" for name in names], [
        f"{EAST}|dev.mart.{name}" for name in _names(half, 6)
    ]


CASES: dict[str, Callable[[int], Sides]] = {
    "one region wrong": one_region_wrong,
    "one name": one_name,
    "one folder": one_folder,
    "ordinary": ordinary,
}


def rows(reads: list[str], writes: list[str]) -> Iterator[Row]:
    """Yield the edges and columns of a pipeline that reads and writes these datasets."""
    for number, name in enumerate(reads):
        job = {"job_type": "dbt", "job_name": f"model.shop.m{number}"}
        yield {"label": "feeds", "from": f"dev|{name}", "to": f"dev|{WEST}|dev.mart.m{number}x", **job}
    for number, name in enumerate(writes):
        job = {"job_type": "spark", "job_name": f"job{number}"}
        yield {"label": "writes", "from": f"dev|daily|spark|job{number}", "to": f"dev|{name}", **job}
    for name in (*reads, *writes):
        for column in range(COLUMNS):
            yield {"label": "has_column", "from": f"dev|{name}", "to": f"dev|{name}|column_{column}"}


def _seconds(rounds: int, action: Callable[[], object]) -> float:
    found = []
    for _ in range(rounds):
        started = time.process_time()
        action()
        found.append(time.process_time() - started)
    return statistics.median(found)


def _indexed(reads: list[OpenDataset], writes: list[OpenDataset]) -> set[tuple[str, str]]:
    chosen = pairs(candidates(reads, writes), {}, _unconnected)
    return {(each.read.id, each.written.id) for each in chosen}


def _naive(reads: list[OpenDataset], writes: list[OpenDataset]) -> set[tuple[str, str]]:
    """Score all pairs."""
    read, written = ([parts_of(each.id) for each in side] for side in (reads, writes))
    found = [
        Candidate(one, other, names) for one in read for other in written if (names := compare(one, other))
    ]
    return {(each.read.id, each.written.id) for each in pairs(found, {}, _unconnected)}


def _unconnected(_start: str, _end: str) -> bool:
    return False


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--naive", type=int, default=2_000, help="datasets of which all pairs are compared")
    options.add_to(parser, smallest={"datasets": 200, "rounds": 1, "naive": 200})
    arguments = parser.parse_args()
    figures = []
    for name, made in CASES.items():
        given = LocalEngine().rows(rows(*made(arguments.datasets // 2)))
        found = len(find_near_misses(given, _CONFIG).found)
        took = _seconds(arguments.rounds, partial(find_near_misses, given, _CONFIG))
        print(f"{name}: {took:.2f} s for {arguments.datasets:,} datasets, {found} near misses listed")
        figures.append(Figure(f"{arguments.datasets:,} datasets", name, took, "s", at_most=MOST_SECONDS))
    sides = [[OpenDataset(f"dev|{each}") for each in side] for side in one_region_wrong(arguments.naive // 2)]
    assert _indexed(*sides) == _naive(*sides)
    naive, indexed = (_seconds(arguments.rounds, partial(search, *sides)) for search in (_naive, _indexed))
    ratio = naive / indexed
    case = f"{arguments.naive:,} datasets"
    print(f"{case}, all pairs: {naive:.2f} s; by names: {indexed:.3f} s; ratio {ratio:.0f}")
    figures.append(Figure(case, "all pairs", naive, "s"))
    figures.append(Figure(case, "all pairs / by names", ratio, "times", at_least=LEAST_RATIO))
    results.append(arguments.results, "near_misses", figures)


if __name__ == "__main__":
    main()
