"""Wheels of the installed package, and of its dependencies for jobs without access to an index.

The package's own is built from its files and metadata (`importlib.metadata`), without an index or build tool:
an installation from a wheel has no source tree. Those of dependencies are for Amazon Linux 2023 (glibc 2.34,
x86-64), the system of AWS Glue 5 and newer, and for the Python of the job.
"""

import base64
import csv
import hashlib
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from lineage_merge.model.errors import LineageMergeError, SourceMissing

NAME = "lineage-merge"
_PACKAGE = "lineage_merge"
_EXCLUDED = ("__pycache__", ".pyc")
# The earliest time in a zip, for reproducible wheels.
_TIME = (1980, 1, 1, 0, 0, 0)


def find_installed_package() -> Distribution:
    """Return the installed package. Raises `LineageMergeError` if it is only on the path."""
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        raise LineageMergeError(f"{NAME} is not installed, only on the path: install it") from None


def build(folder: Path) -> Path:
    """Write the wheel to `folder`; return its path."""
    distribution = find_installed_package()
    stem = f"{_PACKAGE}-{distribution.version}"
    written: list[tuple[str, str, int]] = []
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, data: bytes) -> None:
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            written.append((name, f"sha256={digest}", len(data)))

        for name, path in _package_files():
            add(name, path.read_bytes())
        information = f"{stem}.dist-info"
        for name, text in _metadata(distribution):
            add(f"{information}/{name}", text.encode())
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerows([*written, (f"{information}/RECORD", "", "")])
        add(f"{information}/RECORD", record.getvalue().encode())
    return wheel


def _package_files() -> Iterator[tuple[str, Path]]:
    root = Path(str(files(_PACKAGE)))
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root.parent).as_posix()
        if path.is_file() and not any(part.endswith(_EXCLUDED) for part in path.parts):
            yield name, path


def _metadata(distribution: Distribution) -> Iterator[tuple[str, str]]:
    yield "METADATA", distribution.read_text("METADATA") or ""
    yield (
        "WHEEL",
        f"Wheel-Version: 1.0\nGenerator: {NAME} publish\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    )
    entry_points = distribution.read_text("entry_points.txt")
    if entry_points:
        yield "entry_points.txt", entry_points


# Extra for jobs: column lineage of dbt models. The cluster provides Spark.
EXTRA = "columns"
# Python of AWS Glue by its version.
GLUE_PYTHONS: Mapping[str, str] = {"5.0": "3.11", "5.1": "3.11", "6.0": "3.13"}
GLUE_VERSION = "5.0"
# pip compares names literally: all versions of glibc up to that of Amazon Linux 2023, and legacy names.
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(34, 16, -1)),
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
    "manylinux1_x86_64",
)
# Neptune's documented version of gremlinpython. The package's metadata has a wider range for Airflow's
# constraints.
_GREMLIN_LINE = "3.7"
_CONSTRAINTS = f"gremlinpython=={_GREMLIN_LINE}.*\n"
_LAST_LINES = 3


def requirement() -> str:
    """Return this package as a requirement: ``lineage-merge[columns]==0.1.0``."""
    return f"{NAME}[{EXTRA}]=={find_installed_package().version}"


def modules() -> list[str]:
    """Return the requirements of the extra, and gremlinpython, for Glue's list of modules.

    A comma ends an entry, so versions are not ranges: ``sqlglot==30.*``.
    """
    constraints = [_CONSTRAINTS.strip()]
    for line in find_installed_package().requires or ():
        if f"extra == '{EXTRA}'" in line.replace('"', "'"):
            parts = re.match(r"([A-Za-z0-9._-]+)[^;]*?>=(\d+)", line)
            constraints += [f"{parts[1]}=={parts[2]}.*"] if parts else []
    return constraints


def download(own: Path, folder: Path, python: str, index_options: tuple[str, ...] = ()) -> list[Path]:
    """Download all dependencies of the wheel `own` for a Python (``3.11``) into `folder`; return its wheels.

    `index_options` are those of pip (``--index-url``, ``--no-index``, ``--find-links``). Raises
    `LineageMergeError` with pip's last lines.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--dest", str(folder), "--only-binary", ":all:", "--implementation", "cp"]
    command += [
        "--python-version",
        python,
        *(word for platform in PLATFORMS for word in ("--platform", platform)),
    ]
    command += [*index_options, f"{own}[{EXTRA}]"]
    with tempfile.TemporaryDirectory(prefix="lineage-merge-") as work:
        constraints = Path(work, "constraints.txt")
        constraints.write_text(_CONSTRAINTS)
        command += ["--constraint", str(constraints)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (fixed arguments)
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise LineageMergeError(f"pip cannot download the dependencies: {' '.join(lines[-_LAST_LINES:])}")
    return wheels(folder)


def wheels(folder: Path) -> list[Path]:
    """Return the wheels of a folder. Raises `SourceMissing` if there are none."""
    glob = sorted(folder.glob("*.whl"))
    if not glob:
        raise SourceMissing(f"{folder}: no wheels found")
    return glob


def bundle(own: Path, others: list[Path], target: Path) -> Path:
    """Write an archive of wheels for Glue: ``wheels/*.whl`` and ``wheels/requirements.txt``."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:  # wheels are already compressed
        archive.writestr("wheels/requirements.txt", f"{requirement()}\n")
        for wheel in _once(own, others):
            archive.write(wheel, f"wheels/{wheel.name}")
    return target


def _once(own: Path, others: list[Path]) -> Iterator[Path]:
    """Yield our own wheel, and the others without other versions of it."""
    yield own
    prefix = own.name.partition("-")[0] + "-"
    yield from (wheel for wheel in others if not wheel.name.startswith(prefix))
