"""Checks of `doctor`, recognition of the file by `init`, and Airflow's connection."""

from collections.abc import Iterator
from typing import Any

from lineage_merge.sources.letters.source import LINES, Letters
from lineage_merge.sources.letters.translator import translate

from lineage_merge.infra.storage import Slice, StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.sources import line_files
from lineage_merge.sources.airflow_support import AirflowSupport, ConnectionSettings
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, examine_lines

_FIX = "write lines such as copier: a -> b"


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    elements = [
        each for location, line in line_files.numbered(part) for each in translate(line.decode(), location)
    ]
    problems = [each for each in elements if isinstance(each, Problem)]
    return len(problems) < len(elements), problems[0] if problems else None


def _examine(letters: Letters) -> Iterator[Diagnosis]:
    files = (letters.file,)
    return examine_lines("Letters", "letters.file", files, _inspect, _FIX, LINES)


def has_letters(file: StoredFile) -> bool:
    """Return whether a file contains a letter."""
    return _inspect(Slice(file.location, 0, file.size))[0]


CHECKS = (SourceCheck("Letters", _examine),)


def _connect(connection: Any, *, here: bool) -> ConnectionSettings:
    return ConnectionSettings({"letters.file": connection.host}, {})


def _no_server(*_arguments: Any) -> None:
    return None


SUPPORT = AirflowSupport(
    "letters_default", (), _connect, _no_server, _no_server, lambda _request, _password: "", _no_server
)
