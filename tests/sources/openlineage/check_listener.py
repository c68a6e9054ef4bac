"""Run a job on Spark 3.5 and 4 with openlineage-spark and read its events.

    python -m tests.sources.openlineage.check_listener           # both
    python -m tests.sources.openlineage.check_listener 3.5       # one
    python -m tests.sources.openlineage.check_listener install   # only the environment of the second

Started in an environment with the extra `test`, whose PySpark 3.5 is used. PySpark 4 (500 MB) is installed
apart: under ``LINEAGE_MERGE_SPARK4_CACHE``, where the next run finds it, else in a temporary folder. The jars
of openlineage-spark are fetched into lineage_merge's cache. Prints a line with the outcome for each.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

from lineage_merge.infra.embedded.jars import Bundle, bundle_jars
from lineage_merge.infra.embedded.java import find_java
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import FeedsColumn, Influences
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.record_reading import flows_of, jobs_of, problems_of, records_of, rows_of, writes_of

HERE = Path(__file__).resolve().parent
CACHE = "LINEAGE_MERGE_SPARK4_CACHE"
PYSPARK = "4.0.1"
LISTENER = "1.53.0"
APPLICATION = "Spark Test Load"  # openlineage-spark calls it spark_test_load, Spline as it is
SCALA = {"3.5": "2.12", "4": "2.13"}
# What Spark's own launcher opens (`JavaModuleOptions`), less the vector module: the wheel's Java has none.
_OPENED = (
    "java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent"
    " java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar"
)


def main() -> int:
    """0 if the events of each Spark report what the job did."""
    if sys.argv[1:] == ["install"]:
        installed(Path(os.environ[CACHE]))
        return 0
    chosen = sys.argv[1:] or list(SCALA)
    return max(check(spark) for spark in chosen)


def check(spark: str) -> int:
    """0 if the events of one Spark report what the job did."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lineage-merge-listener-") as work:
        folder = Path(work, "data")
        folder.mkdir()
        try:
            python = installed(Path(os.environ.get(CACHE) or work)) if spark == "4" else Path(sys.executable)
            ready = time.monotonic()
            run_job(python, folder, SCALA[spark])
        except subprocess.CalledProcessError as error:
            sys.stdout.write(f"{error.stdout or ''}\nFAILED: {' '.join(map(str, error.cmd))}\n")
            return 1
        version = _version(python)
        problems = wrong(read(folder / "events"), str(folder), version)
        problems += not_provoked(folder / "events")
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    seconds = f"installing {ready - started:.0f} s, all {time.monotonic() - started:.0f} s"
    outcome = f"FAILED, {len(problems)} faults:" if problems else "OK:"
    sys.stdout.write(f"{outcome} Spark {version} with openlineage-spark {LISTENER} ({seconds})\n")
    return 1 if problems else 0


def installed(cache: Path, pyspark: str = PYSPARK) -> Path:
    """The Python of an environment with PySpark 4; a complete one of the cache is used again."""
    version = ".".join(map(str, sys.version_info[:2]))
    environment = cache / f"spark-{pyspark}-py{version}"
    python = environment / "bin" / "python"
    if not (environment / "complete").exists():
        venv.create(environment, with_pip=True, clear=True)
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"])
        uv = [str(environment / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(python)]
        _run([*uv, f"pyspark=={pyspark}"])
        (environment / "complete").touch()
    return python


def run_job(python: Path, folder: Path, scala: str) -> None:
    """Run the job; its events go to ``folder/events``."""
    java = find_java()
    jars = bundle_jars(_listener(scala), lambda line: None)
    home = _run([str(python), "-c", "import pyspark; print(pyspark.__path__[0])"]).strip()
    (folder / "events").mkdir()
    options = {
        "spark.master": "local[1]",
        "spark.app.name": APPLICATION,
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": f"{folder}/events/events.jsonl",
        "spark.openlineage.namespace": "tests",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
    }
    submit = [
        str(java),
        "-XX:TieredStopAtLevel=1",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED.split()),
        *("-cp", f"{home}/jars/*", "org.apache.spark.deploy.SparkSubmit"),
        *("--jars", ",".join(str(jar) for jar in sorted(jars.glob("*.jar")))),
        *(part for name, value in options.items() for part in ("--conf", f"{name}={value}")),
        *(str(HERE / "listener_job.py"), str(folder)),
    ]
    _run(submit, SPARK_HOME=home, PYSPARK_PYTHON=str(python), PYTHONPATH="")


def read(events: Path) -> list[Record]:
    """The events as records."""
    settings = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "openlineage": {"events": str(events)}}
    )
    return rows_of(read_openlineage(LocalEngine(), settings, dataset_resolver.from_config(settings)))


def not_provoked(events: Path) -> list[str]:
    """A line if no failed write sent FAIL before COMPLETE: then the check would not show what it is for."""
    ends: dict[str, list[str]] = {}
    for path in sorted(events.iterdir()):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            ends.setdefault(event["run"]["runId"], []).append(event["eventType"])
    found = sum("COMPLETE" in kinds[kinds.index("FAIL") :] for kinds in ends.values() if "FAIL" in kinds)
    sys.stdout.write(f"{found} runs ended with FAIL, then COMPLETE\n")
    return [] if found else [f"no run ended with FAIL, then COMPLETE: {sorted(map(tuple, ends.values()))}"]


def wrong(rows: list[Record], folder: str, version: str) -> list[str]:
    """Differences between what the events report and what the job did, a line each.

    The writes that failed must not be among them.
    """
    raw, totals, copied = (f"file|{folder}/{name}" for name in ("raw", "totals", "warehouse/copied"))
    job = jobs_of(rows).get(APPLICATION, {})
    expected: dict[str, tuple[Any, Any]] = {
        "feeds": (flows_of(rows), {(APPLICATION, raw, totals), (APPLICATION, raw, copied)}),
        "writes": (writes_of(rows), {(APPLICATION, target) for target in (raw, totals, copied)}),
        "feeds_column": (
            _columns(rows),
            {
                (f"{raw}|city", f"{totals}|city", "IDENTITY"),
                (f"{raw}|price", f"{totals}|total", "AGGREGATION"),
                (f"{raw}|id", f"{copied}|next", "TRANSFORMATION"),
            },
        ),
        "influences": (
            _influences(rows),
            {(f"{raw}|id", totals, "FILTER"), (f"{raw}|city", totals, "GROUP_BY")},
        ),
        "job": (
            (job.get("framework"), job.get("status"), job.get("rows_written")),
            (f"spark {version}", "failed", "3"),
        ),
        "problems": (problems_of(rows), set()),
    }
    return [
        f"{what}: {found}, expected {truth}" for what, (found, truth) in expected.items() if found != truth
    ]


def _columns(rows: list[Record]) -> set[tuple[str, str, str]]:
    return {
        (
            f"{row.source.removeprefix('dev|')}|{row.source_column}",
            f"{row.target.removeprefix('dev|')}|{row.target_column}",
            ",".join(row.transformations),
        )
        for row in records_of(FeedsColumn, rows)
    }


def _influences(rows: list[Record]) -> set[tuple[str, str, str]]:
    return {
        (
            f"{row.source.removeprefix('dev|')}|{row.source_column}",
            row.target.removeprefix("dev|"),
            ",".join(row.transformations),
        )
        for row in records_of(Influences, rows)
    }


def _listener(scala: str) -> Bundle:
    lock = HERE.parents[1] / "locks" / f"openlineage-spark_{scala}-{LISTENER}.lock"
    return Bundle(f"openlineage-spark {LISTENER}", lock)


def _version(python: Path) -> str:
    return _run([str(python), "-c", "import pyspark; print(pyspark.__version__)"]).strip()


def _run(command: list[str], **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
