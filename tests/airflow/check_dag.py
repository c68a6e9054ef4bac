"""Check the DAGs of `dags/` with a real Airflow, in an environment of its own.

    python tests/airflow/check_dag.py                             # Airflow 2.11.2
    python tests/airflow/check_dag.py --airflow 2.11.2 3.0.6      # one after the other
    python tests/airflow/check_dag.py --airflow 2.10.5 --unpinned # without constraints of ours
    python tests/airflow/check_dag.py --airflow 2.10.3 --mwaa     # with the pins of Amazon MWAA's image
    python tests/airflow/check_dag.py --parse-only

Needs a Python with pins in `pins/` (with `--mwaa`, in `mwaa/`), nothing else. Environments go to
``LINEAGE_MERGE_AIRFLOW_CACHE``, where the next run finds them, else to a temporary folder.
Airflow's database, logs and home are always temporary. The last lines say how it went.
"""

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import check_scheduler
from check_scheduler import SchedulerFailed

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
CACHE = "LINEAGE_MERGE_AIRFLOW_CACHE"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--airflow", nargs="+", default=["2.11.2"], metavar="VERSION")
    arguments.add_argument("--unpinned", action="store_true", help="install what the index has today")
    arguments.add_argument("--mwaa", action="store_true", help="install what Amazon MWAA's image pins")
    arguments.add_argument("--parse-only", action="store_true")
    arguments.add_argument("--install-only", action="store_true", help="make the environment, check nothing")
    arguments.add_argument("--no-scheduler", action="store_true", help="leave out the real scheduler")
    arguments.add_argument("--only-scheduler", action="store_true", help="leave out what needs no scheduler")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="lineage-merge-airflow-") as work:
        cache = Path(os.environ.get(CACHE) or work)
        for version in given.airflow:
            folder = HERE / ("mwaa" if given.mwaa else "pins")
            constraints = folder / f"{version}-py{PYTHON}.txt"
            if not given.unpinned and not constraints.is_file():
                known = sorted(path.stem for path in folder.iterdir())
                sys.stdout.write(f"no pins for Airflow {version} on Python {PYTHON}: {known}\n")
                return 2
            try:
                line = check(version, None if given.unpinned else constraints, cache, Path(work), given)
            except SchedulerFailed as error:
                sys.stdout.write(f"{error}\nFAILED: Airflow {version} with a real scheduler\n")
                return 1
            except subprocess.CalledProcessError as error:
                sys.stdout.write(f"{error.stdout or ''}\nFAILED: {' '.join(map(str, error.cmd))}\n")
                return 1
            sys.stdout.write(line)
            sys.stdout.flush()
    return 0


def check(version: str, constraints: Path | None, cache: Path, work: Path, given: argparse.Namespace) -> str:
    """Install, parse, run; returns a line with the outcome. Raises CalledProcessError, SchedulerFailed."""
    started = time.monotonic()
    environment = installed(version, constraints, cache)
    install_seconds = time.monotonic() - started
    if given.install_only:
        return f"OK: Airflow {version} is installed in {install_seconds:.0f} s\n"
    facts: dict[str, Any] = {"airflow": version, "parse_seconds": 0}
    if not given.only_scheduler:
        facts |= checked(environment, work / f"home-{version}", given.parse_only)
    if not given.parse_only and not given.no_scheduler:
        variables = variables_for(environment)
        facts |= check_scheduler.check(
            environment, work / f"scheduled-{version}", variables, version.startswith("2.")
        )
    line = f"OK: Airflow {facts['airflow']}, Python {PYTHON}: parsed in {facts['parse_seconds']} s"
    if "scheduler" in facts:
        line += f" (real scheduler {facts['scheduler']})"
    elif "scheduler_dags" in facts:
        line += f", {facts['scheduler_dags']} DAGs by a real scheduler in {facts['scheduler_seconds']} s"
    if "vertices" in facts:
        ran = ", ".join(
            f"{name.removesuffix('_seconds')} {value} s"
            for name, value in facts.items()
            if name.endswith("_seconds") and name not in ("parse_seconds", "scheduler_seconds")
        )
        line += f", ran {ran}; {facts['vertices']} vertices, {facts['edges']} edges"
        line += f", {facts['xcom_bytes']} bytes of XCom"
    return f"{line} (installing {install_seconds:.0f} s, all {time.monotonic() - started:.0f} s)\n"


def installed(version: str, constraints: Path | None, cache: Path) -> Path:
    """An environment with Airflow and this package; a complete one of the cache is used again."""
    seed = (constraints.read_bytes() if constraints else b"") + (REPOSITORY / "pyproject.toml").read_bytes()
    digest = hashlib.sha256(seed + sys.version.encode()).hexdigest()[:12]
    environment = cache / f"airflow-{version}-py{PYTHON}-{digest}"
    complete = environment / "complete"
    install = [*installer(cache), "--python", str(environment / "bin" / "python")]
    if constraints:
        install += ["--constraint", str(constraints)]
    if not complete.exists():
        shutil.rmtree(environment, ignore_errors=True)
        venv.create(environment, with_pip=False)
        wanted = [
            f"apache-airflow=={version}",
            "apache-airflow-providers-amazon[aiobotocore]",
            "apache-airflow-providers-openlineage",
            "psycopg2-binary",
            *(() if version.startswith("2.") else ("asyncpg",)),
            "moto[server]",
            "lark",
            "pytest",
        ]
        _run([*install, *wanted, f"{REPOSITORY}[local]"], dict(os.environ))
        complete.touch()
    else:
        _run(
            [*install, "--no-deps", "--reinstall-package", "lineage-merge", str(REPOSITORY)], dict(os.environ)
        )
    return environment


def installer(cache: Path) -> list[str]:
    """uv, which installs Airflow in a fraction of pip's time, in an environment of its own."""
    tools = cache / f"tools-py{PYTHON}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"tools-py{PYTHON}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may make it for another Airflow
        if not (tools / "complete").exists():
            shutil.rmtree(tools, ignore_errors=True)
            venv.create(tools, with_pip=True)
            pip = [str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            _run([*pip, "--disable-pip-version-check", "uv"], dict(os.environ))
            (tools / "complete").touch()
    return [str(tools / "bin" / "uv"), "pip", "install", "--quiet"]


def checked(environment: Path, home: Path, parse_only: bool) -> dict[str, Any]:
    """Run the checks in that environment; returns what they tell."""
    dags = home / "dags"
    shutil.copytree(REPOSITORY / "dags", dags, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "checked_dags.py", dags)
    binaries = environment / "bin"
    variables = variables_for(environment) | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
    }
    _run([str(binaries / "airflow"), "db", "migrate"], variables)
    # Airflow 3 runs only what its database knows.
    _run([str(binaries / "airflow"), "dags", "reserialize"], variables)
    checks = ["--noconftest", "-c", os.devnull, "-p", "no:cacheprovider", "--quiet"]
    _run([str(binaries / "python"), "-m", "pytest", *checks, str(HERE / "operator_checks.py")], variables)
    facts_file = home / "facts.json"
    command = [str(binaries / "python"), str(HERE / "run_in_airflow.py"), str(facts_file)]
    _run([*command, "--parse-only"] if parse_only else command, variables)
    facts: dict[str, Any] = json.loads(facts_file.read_text())
    return facts


def variables_for(environment: Path) -> dict[str, str]:
    """The variables of this process without those that would change Airflow, AWS or the package."""
    hidden = ("AIRFLOW", "AWS_", "LINEAGE_MERGE_")
    passed = (
        "AWS_CA_BUNDLE",
        "LINEAGE_MERGE_CACHE",
        "LINEAGE_MERGE_MAVEN_REPOSITORY",
    )
    variables = {
        name: value for name, value in os.environ.items() if name in passed or not name.startswith(hidden)
    }
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):  # Airflow is compiled once, not by each process
        variables.pop(name, None)
    path = f"{environment / 'bin'}:{os.environ['PATH']}"
    # The installed package, not one of the working folder.
    return {**variables, "PATH": path, "PYTHONSAFEPATH": "1"}


def _run(command: list[str], variables: dict[str, str]) -> None:
    """Run a command; raises CalledProcessError, which holds its output."""
    subprocess.run(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )


if __name__ == "__main__":
    sys.exit(main())
