"""Tries of a step: the folder of each, and the cluster run that the newest one started.

The record of the run is stored next to the folders, so that a later try finds a run that is still active
although its worker was killed. Imports no Airflow.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.model.errors import ConfigError, SourceMissing

# Arguments that differ between equal tries of a step. The folder of a load is that of the build, so it
# counts.
_OF_A_TRY: Mapping[str, frozenset[str]] = {
    "build": frozenset({"--attempt", "--folder"}),
    "load": frozenset({"--attempt"}),
    "check": frozenset({"--attempt"}),
}


class Attempt(NamedTuple):
    """A try of a step: a unique name, and the folder of its node and edge files."""

    name: str
    folder: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A cluster run that a try started; an empty `run_id`: it was about to start it.

    `digest`: of all arguments except those of a single try; `arguments`: without secrets. `inputs` and
    `outputs`: OpenLineage dataset names.
    """

    attempt: str
    folder: str
    job_name: str
    digest: str
    run_id: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    inputs: Sequence[Sequence[str]] = ()
    outputs: Sequence[Sequence[str]] = ()


def try_folder(root: str, try_number: int) -> str:
    """Return the folder of a try of a build."""
    return f"{root}/try-{try_number}"


def digest(step: str, arguments: Mapping[str, str]) -> str:
    """Return a digest that is equal for equal tries."""
    compared = {name: text for name, text in arguments.items() if name not in _OF_A_TRY[step]}
    return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).hexdigest()


def redact_secrets(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return a job's arguments for display, with secrets redacted."""
    from lineage_merge.naming import redact

    return {name: redact(str(text)) for name, text in arguments.items()}


def write(root: str, step: str, record: RunRecord) -> None:
    """Store the record of a step's newest run. Raises `SourceError`."""
    from lineage_merge.infra import storage

    storage.write_text(_location(root, step), json.dumps(asdict(record), indent=2) + "\n")


def read(root: str, step: str) -> RunRecord | None:
    """Return the record of a step's newest run, or None. Raises `SourceError`."""
    from lineage_merge.infra import storage

    try:
        return RunRecord(**json.loads(storage.read_text(_location(root, step))))
    except SourceMissing:
        return None
    except (TypeError, ValueError):
        return None  # of another version of this package


def _location(root: str, step: str) -> str:
    return f"{root}/{step}.run.json"


def private_folder(folder: Path) -> Path:
    """Return a folder, created if it is missing, that no other user may read or write.

    Raises `ConfigError` if it is another user's: in a folder for all users, anyone may have made it.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        problem = f"{folder} is not a folder of this user. Fix: set folder or artifacts of the task group"
        raise ConfigError("", problem)
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder
