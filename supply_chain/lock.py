"""Write the lock files, or say whether they still fit pyproject.toml.

    python -m supply_chain.lock             # what is locked stays, unless pyproject.toml wants another
    python -m supply_chain.lock --upgrade   # the newest of everything
    python -m supply_chain.lock --check     # writes nothing; exit code 1 where a file would change

Runs `uv pip compile` with the index that uv is set up for. The files hold versions and hashes and no
address, so they serve with any index that has the same files.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "nox -s lock"
# The oldest Python that the package supports: newer ones, and every platform, get markers.
PYTHON = "3.11"
# Airflow has constraints of its own, one set a version: https://airflow.apache.org/docs/apache-airflow/stable/
EXTRAS = (
    "columns",
    "datahub",
    "dev",
    "docs",
    "lambda",
    "local",
    "mcp",
    "notebook",
    "openlineage",
    "otel",
    "parquet",
    "receive",
    "spark",
    "test",
)
LEFT_OUT = ("airflow",)


class Lock(NamedTuple):
    """A lock file and what it is made from, as paths of the repository."""

    file: str
    source: str
    extras: tuple[str, ...] = ()


LOCKS = (
    Lock("supply_chain/requirements.txt", "pyproject.toml", EXTRAS),
    Lock("supply_chain/tools.txt", "supply_chain/tools.in"),
)


def main() -> int:
    """0 if each file is written, or with ``--check``, as it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--check", action="store_true", help="write nothing, say what no longer fits")
    kind.add_argument("--upgrade", action="store_true", help="the newest versions that pyproject.toml allows")
    arguments = parser.parse_args()
    if not arguments.check:
        for lock in LOCKS:
            compiled(lock, ROOT / lock.file, upgrade=arguments.upgrade)
        return 0
    changed = [lock for lock in LOCKS if not _fits(lock)]
    for lock in changed:
        sys.stdout.write(f"{lock.file} does not fit {lock.source} any more: {COMMAND}\n")
    return 1 if changed else 0


def compiled(lock: Lock, target: Path, *, upgrade: bool = False) -> None:
    """Write a lock to `target`; existing pins are retained where they fit. Raises `CalledProcessError`."""
    words = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", PYTHON]
    words += ["--generate-hashes", "--custom-compile-command", COMMAND, "--output-file", str(target)]
    # Without an address, and without the folders of wheels that a machine may have.
    words += ["--no-emit-index-url", "--no-emit-find-links", "--no-emit-build-options"]
    words += [word for extra in lock.extras for word in ("--extra", extra)]
    words += ["--upgrade"] if upgrade else []
    # A newer pyspark must not be what an older Python gets: one version for as many Pythons as can be.
    words += ["--fork-strategy", "fewest"]
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    subprocess.run([*words, lock.source], cwd=ROOT, env=environment, check=True)


def _fits(lock: Lock) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, Path(lock.file).name)
        before = (ROOT / lock.file).read_text()
        copy.write_text(before)
        compiled(lock, copy)
        return copy.read_text() == before


if __name__ == "__main__":
    sys.exit(main())
