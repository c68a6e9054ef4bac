"""Check `dags/lineage_merge.py` with a real Airflow, in an environment of its own.

    python tests/airflow/check_dag.py                     # Airflow 2.11.2: parse and run
    python tests/airflow/check_dag.py --airflow 3.0.6
    python tests/airflow/check_dag.py --parse-only

Needs the Python whose constraints lie beside this file, nothing else. The environment goes to
``LINEAGE_MERGE_AIRFLOW_CACHE``, where the next run finds it, else to a temporary folder.
Airflow's database, logs and home are always temporary. The last line says how it went.
"""

import argparse
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

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
CACHE = "LINEAGE_MERGE_AIRFLOW_CACHE"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--airflow", default="2.11.2", metavar="VERSION")
    arguments.add_argument("--parse-only", action="store_true")
    given = arguments.parse_args()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    constraints = HERE / f"constraints-{given.airflow}-py{python}.txt"
    if not constraints.is_file():
        known = ", ".join(sorted(path.stem.removeprefix("constraints-") for path in HERE.glob("*.txt")))
        sys.stdout.write(
            f"no constraints for Airflow {given.airflow} on Python {python}; there are: {known}\n"
        )
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lineage-merge-airflow-") as work:
        try:
            environment = installed(constraints, Path(os.environ.get(CACHE) or work))
            install_seconds = time.monotonic() - started
            facts = checked(environment, Path(work) / "home", given.parse_only)
        except subprocess.CalledProcessError as error:
            sys.stdout.write(f"{error.stdout or ''}\nFAILED: {' '.join(map(str, error.cmd))}\n")
            return 1
    line = f"OK: Airflow {facts['airflow']}, Python {python}: parsed in {facts['parse_seconds']} s"
    if "run_seconds" in facts:
        line += f", ran in {facts['run_seconds']} s, {facts['vertices']} vertices, {facts['edges']} edges"
        line += f", {facts['xcom_bytes']} bytes of XCom"
    total = time.monotonic() - started
    sys.stdout.write(f"{line} (installing {install_seconds:.0f} s, all {total:.0f} s)\n")
    return 0


def installed(constraints: Path, cache: Path) -> Path:
    """An environment with Airflow and this package; a complete one of the cache is used again."""
    project = (REPOSITORY / "pyproject.toml").read_bytes()
    digest = hashlib.sha256(constraints.read_bytes() + project + sys.version.encode()).hexdigest()[:12]
    environment = cache / f"{constraints.stem}-{digest}"
    complete = environment / "complete"
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--constraint", str(constraints)]
    if not complete.exists():
        shutil.rmtree(environment, ignore_errors=True)
        venv.create(environment, with_pip=True)
        wanted = ["apache-airflow", "apache-airflow-providers-amazon", "moto[server]"]
        _run([*pip, *wanted, f"{REPOSITORY}[local]"], dict(os.environ))
        complete.touch()
    else:
        _run([*pip, "--no-deps", "--force-reinstall", str(REPOSITORY)], dict(os.environ))
    return environment


def checked(environment: Path, home: Path, parse_only: bool) -> dict[str, Any]:
    """Run the checks in that environment; returns what they tell."""
    home.mkdir()
    binaries = environment / "bin"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    variables.pop("PYTHONPATH", None)
    variables |= {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
    }
    _run([str(binaries / "airflow"), "db", "migrate"], variables)
    # Airflow 3 runs only what its database knows.
    _run([str(binaries / "airflow"), "dags", "reserialize"], variables)
    told = home / "facts.json"
    command = [str(binaries / "python"), str(HERE / "run_in_airflow.py"), str(told)]
    _run([*command, "--parse-only"] if parse_only else command, variables)
    facts: dict[str, Any] = json.loads(told.read_text())
    return facts


def _run(command: list[str], variables: dict[str, str]) -> None:
    """Run a command; raises CalledProcessError, which holds its output."""
    subprocess.run(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )


if __name__ == "__main__":
    sys.exit(main())
