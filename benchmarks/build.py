"""Duration and memory of building a graph from Spline's plans: sources, translation, merge, files.

    python benchmarks/build.py                            # 1,000 and 4,000 plans, about six minutes
    python benchmarks/build.py --plans 1000 10000 100000  # an hour, and 2 GB of disk

Databases are made up by `benchmarks.generated`, read as exported files. Each case is a process of its own:

1. `local[1]` and `local[2]`: seconds from the call to the files on disk, the session being up. Peak memory is
   that of all processes (Python, the JVM that is driver and executor in one, Python workers), by their
   proportional set size.
2. `local-cluster[...]`: the driver is a process of its own. Its heap is asked for after forced collections
   while the build runs; the largest answer counts. It must not grow with the database.

Of the plans in a database only those are translated whose write counts: the newest one of each
application and target. Both numbers are shown, and speed by both.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import options, results
from benchmarks.results import Figure

ROOT = Path(__file__).resolve().parent.parent
EXECUTORS = 2
EXECUTOR_MB = 1024
CLUSTER = f"local-cluster[{EXECUTORS},1,{EXECUTOR_MB}]"
# Maximum growth of the driver's heap from the smallest to the largest database.
MOST_GROWTH = 1.3


@dataclass(frozen=True)
class Case:
    """The figures of one process. Sizes in MB; `heap` is 0 if it was not measured."""

    plans: int
    master: str
    seconds: float
    translated: int
    nodes: int
    edges: int
    memory: float
    heap: float


def measure(folder: Path, plans: int, master: str) -> Case:
    """Build once, in this process."""
    from benchmarks.generated.export import CONFIG
    from lineage_merge.config import SparkOptions
    from lineage_merge.infra.spark_session import session
    from lineage_merge.orchestration.configuration import CONFIGURATION
    from lineage_merge.orchestration.pipeline import build, write_folder

    config = CONFIGURATION.load(folder.resolve() / CONFIG, flags={"spark.distribute_above_mb": "0"})
    on_cluster = master.startswith("local-cluster")
    with ExitStack() as stack:
        out, work = (stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2))
        # Executors that are processes would otherwise keep their logs beside Spark's own files.
        os.environ["SPARK_WORKER_DIR"] = work
        # Executors do not inherit PYTHONPATH, which has this checkout.
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--conf spark.executorEnv.PYTHONPATH={paths} pyspark-shell"
        spark = stack.enter_context(session(SparkOptions(master=master)))
        # Workers are up and the JVM has run something before the clock starts.
        spark.sparkContext.parallelize(range(8), 2).map(lambda number: number + 1).count()
        watch = _heap_watch(spark) if on_cluster else memory_mb
        with _largest(watch, 2.0 if on_cluster else 0.5) as seen:
            start = time.perf_counter()
            built = build(spark, config)
            write_folder(built, out)
            took = time.perf_counter() - start
        read = built.report.read
        nodes, edges = built.report.nodes, built.report.edges
    largest = max(seen)
    return Case(
        plans,
        master,
        took,
        translated=read.get("execution plans", 0),
        nodes=sum(nodes.values()),
        edges=sum(edges.values()),
        memory=0.0 if on_cluster else largest,
        heap=largest if on_cluster else 0.0,
    )


@contextmanager
def _largest(watch: Callable[[], float], pause: float) -> Iterator[list[float]]:
    """Provide a list of values of `watch`, measured periodically and once more at the end."""
    seen = [watch()]
    done = threading.Event()

    def look() -> None:
        while not done.wait(pause):
            seen.append(watch())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()
        seen.append(watch())


def _heap_watch(spark: object) -> Callable[[], float]:
    """Return the used MB of the driver's heap after a garbage collection."""
    jvm = spark.sparkContext._jvm  # type: ignore[attr-defined]
    memory = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()

    def used() -> float:
        memory.gc()
        return float(memory.getHeapMemoryUsage().getUsed()) / 1e6

    return used


def memory_mb(program: str = "") -> float:
    """Return the MB of this process and its descendants, shared pages counted once. Linux only.

    `program`: only of those whose name begins with it.
    """
    whole, waiting = 0, [os.getpid()]
    while waiting:
        place = Path(f"/proc/{waiting.pop()}")
        try:
            waiting += [
                int(child) for task in place.glob("task/*/children") for child in task.read_text().split()
            ]
            if not place.joinpath("comm").read_text().startswith(program):
                continue
            for line in place.joinpath("smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    whole += int(line.split()[1])
        except OSError:
            continue  # it has ended meanwhile
    return whole / 1e3


def run(folder: Path, plans: int, master: str, checkout: Path = ROOT) -> Case:
    """Measure the code of a checkout in a separate process."""
    script = str(checkout / "benchmarks" / "build.py")
    command = [sys.executable, script, "--measure", str(folder.resolve()), master, "--plans", str(plans)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    # Workers import from the current folder first.
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=checkout
    )
    return Case(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plans", type=int, nargs="+", default=[1000, 4000], help="sizes of the databases")
    parser.add_argument("--models", type=int, default=500, help="dbt models beside them")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--masters", nargs="+", default=["local[1]", "local[2]", CLUSTER])
    parser.add_argument("--folder", type=Path, help="where to make databases, and to find them again")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="measure another checkout, too")
    parser.add_argument("--measure", nargs=2, metavar=("FOLDER", "MASTER"), help=argparse.SUPPRESS)
    options.add_to(parser, smallest={"plans": [20], "models": 5, "masters": ["local[2]", CLUSTER]})
    arguments = parser.parse_args()
    if arguments.measure:
        folder, master = arguments.measure
        print(json.dumps(asdict(measure(Path(folder), arguments.plans[0], master))))
        return
    with tempfile.TemporaryDirectory() as scratch:
        found = [*_cases(arguments, arguments.folder or Path(scratch))]
    results.append(arguments.results, "build", [*_figures(found)])


def _cases(arguments: argparse.Namespace, folder: Path) -> Iterator[Case]:
    from benchmarks.generated.export import CONFIG, write

    head = (
        "plans",
        "master",
        "translated",
        "nodes",
        "edges",
        "seconds",
        "plans/s",
        "of them",
        "memory",
        "heap",
    )
    print("{:>8} {:>22} {:>10} {:>9} {:>9} {:>8} {:>8} {:>8} {:>9} {:>9}".format(*head))
    for plans in arguments.plans:
        place = folder / f"company_{plans}_{arguments.models}_{arguments.seed}"
        if not (place / CONFIG).exists():
            write(place, plans, arguments.models, arguments.seed, packed=True)
        for master in arguments.masters:
            case = run(place, plans, master)
            sizes = [f"{size:,.0f} MB" if size else "" for size in (case.memory, case.heap)]
            print(
                f"{plans:>8,} {master:>22} {case.translated:>10,} {case.nodes:>9,} {case.edges:>9,}"
                f" {case.seconds:>8.1f} {plans / case.seconds:>8,.0f} {case.translated / case.seconds:>8,.0f}"
                f" {sizes[0]:>9} {sizes[1]:>9}",
                flush=True,
            )
            yield case
            if arguments.against and not master.startswith("local-cluster"):
                other = run(place, plans, master, arguments.against.resolve())
                ratio = other.seconds / case.seconds
                print(f"{'':>8} {'the other checkout':>22} {other.seconds:>51.1f}: {ratio:.2f} times as long")


def _figures(cases: list[Case]) -> Iterator[Figure]:
    for case in cases:
        name = f"{case.plans:,} plans"
        yield Figure(name, f"{case.master}, plans in the database", case.plans / case.seconds, "plans/s")
        yield Figure(name, f"{case.master}, plans translated", case.translated / case.seconds, "plans/s")
        if case.memory:
            yield Figure(name, f"{case.master}, peak memory", case.memory, "MB")
        if case.heap:
            yield Figure(name, f"{case.master}, driver's heap after a collection", case.heap, "MB")
    by_size = {(case.plans, case.master): case for case in cases}
    for plans in sorted({case.plans for case in cases}):
        one, two = by_size.get((plans, "local[1]")), by_size.get((plans, "local[2]"))
        if one and two:
            ratio = one.seconds / two.seconds
            print(f"{plans:,} plans: two cores are {ratio:.2f} times as fast as one")
            yield Figure(f"{plans:,} plans", "two cores / one", ratio, "times")
    heaps = sorted((case.plans, case.heap) for case in cases if case.heap)
    if len(heaps) > 1:
        growth = heaps[-1][1] / heaps[0][1]
        print(
            f"driver's heap at {heaps[-1][0]:,} plans: {growth:.2f} times that at {heaps[0][0]:,}"
            f" (at most {MOST_GROWTH} wanted)"
        )
        yield Figure("driver's heap", "largest / smallest database", growth, "times", at_most=MOST_GROWTH)


if __name__ == "__main__":
    main()
