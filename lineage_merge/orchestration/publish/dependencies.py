"""The wheels that the package depends on, for a job that reaches no index.

For AWS Glue 5 and EMR 7, whose machines are Amazon Linux 2023 (glibc 2.34) on x86-64, and for
Python 3.11: whatever machine this runs on.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from lineage_merge.model.errors import LineageMergeError, SourceMissing
from lineage_merge.orchestration.publish.wheel import NAME, installed

# What the job wants of this package besides its core: to read the SQL of dbt models. The cluster
# has Spark.
EXTRA = "columns"
PYTHON = "3.11"
# pip takes a name literally: every glibc up to that of Amazon Linux 2023, and the old names.
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(34, 16, -1)),
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
    "manylinux1_x86_64",
)
# Neptune documents gremlinpython 3.7 for its engines. The wider range of the package's metadata is for
# Airflow's constraints.
_GREMLIN_LINE = "3.7"
_CONSTRAINTS = f"gremlinpython=={_GREMLIN_LINE}.*\n"
_LAST_LINES = 3


def requirement() -> str:
    """This package as a line of requirements: ``lineage-merge[columns]==0.1.0``."""
    return f"{NAME}[{EXTRA}]=={installed().version}"


def modules() -> list[str]:
    """Return what the extra adds, and the line of gremlinpython, for Glue's list of modules.

    A comma ends a name there, so none is a range: ``sqlglot==30.*``.
    """
    found = [_CONSTRAINTS.strip()]
    for line in installed().requires or ():
        if f"extra == '{EXTRA}'" in line.replace('"', "'"):
            parts = re.match(r"([A-Za-z0-9._-]+)[^;]*?>=(\d+)", line)
            found += [f"{parts[1]}=={parts[2]}.*"] if parts else []
    return found


def download(own: Path, folder: Path, index_options: tuple[str, ...] = ()) -> list[Path]:
    """Fetch everything that the wheel `own` depends on into `folder`; the wheels that are there then.

    `index_options` are pip's own (``--index-url``, ``--no-index``, ``--find-links``). Raises
    `LineageMergeError` with pip's last words.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--dest", str(folder), "--only-binary", ":all:", "--implementation", "cp"]
    command += ["--python-version", PYTHON, *(word for each in PLATFORMS for word in ("--platform", each))]
    command += [*index_options, f"{own}[{EXTRA}]"]
    with tempfile.TemporaryDirectory(prefix="lineage-merge-") as work:
        constraints = Path(work, "constraints.txt")
        constraints.write_text(_CONSTRAINTS)
        command += ["--constraint", str(constraints)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own words)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise LineageMergeError(f"pip cannot fetch the dependencies: {' '.join(lines[-_LAST_LINES:])}")
    return wheels(folder)


def wheels(folder: Path) -> list[Path]:
    """The wheels of a folder. Raises `SourceMissing` where there is none."""
    found = sorted(folder.glob("*.whl"))
    if not found:
        raise SourceMissing(f"{folder}: no wheels there")
    return found


def bundle(own: Path, others: list[Path], target: Path) -> Path:
    """One archive of wheels as Glue 5 installs it: ``wheels/*.whl`` and ``wheels/requirements.txt``."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:  # wheels are packed already
        archive.writestr("wheels/requirements.txt", f"{requirement()}\n")
        for wheel in _once(own, others):
            archive.write(wheel, f"wheels/{wheel.name}")
    return target


def _once(own: Path, others: list[Path]) -> Iterator[Path]:
    """Our own wheel as it was just made, and no other version of it."""
    yield own
    prefix = own.name.partition("-")[0] + "-"
    yield from (wheel for wheel in others if not wheel.name.startswith(prefix))
