"""Wheel of the installed package, built from its files without an index or build tool.

An installation from a wheel has no source tree, and an index may not have the version. A wheel is a zip of
the package's files and its metadata (`importlib.metadata`).
"""

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from lineage_merge.model.errors import LineageMergeError

NAME = "lineage-merge"
_PACKAGE = "lineage_merge"
_EXCLUDED = ("__pycache__", ".pyc")
# The earliest time in a zip, for reproducible wheels.
_TIME = (1980, 1, 1, 0, 0, 0)


def installed() -> Distribution:
    """Return the installed package. Raises `LineageMergeError` if it is only on the path."""
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        raise LineageMergeError(f"{NAME} is not installed, only on the path: run pip install") from None


def build(folder: Path) -> Path:
    """Write the wheel to `folder`; return its path."""
    found = installed()
    stem = f"{_PACKAGE}-{found.version}"
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
        for name, text in _metadata(found):
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


def _metadata(found: Distribution) -> Iterator[tuple[str, str]]:
    yield "METADATA", found.read_text("METADATA") or ""
    yield (
        "WHEEL",
        f"Wheel-Version: 1.0\nGenerator: {NAME} publish\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    )
    entry_points = found.read_text("entry_points.txt")
    if entry_points:
        yield "entry_points.txt", entry_points
