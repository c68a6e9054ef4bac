"""The tries of a step: the folder that belongs to each, and the cluster run that the newest one started.

A record of the run is stored beside the folders of the tries, so that a later try finds a run that is
still active, although the worker that started it was killed. Imports no Airflow.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from lineage_merge.model.errors import SourceMissing

# Differ between two tries of a step that do the same; a load's folder is the build's, so it counts.
_OF_A_TRY: Mapping[str, frozenset[str]] = {
    "build": frozenset({"--attempt", "--folder"}),
    "load": frozenset({"--attempt"}),
}


class Attempt(NamedTuple):
    """One try of a step: a unique name, and the folder of the node and edge files it writes or reads."""

    name: str
    folder: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run of a cluster's job that a try started; an empty `run_id`: it was about to start it.

    `digest` is of all arguments but those that belong to one try, `arguments` are without secrets.
    `inputs` and `outputs` are datasets as OpenLineage names them.
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
    """Return the folder that belongs to one try of a build."""
    return f"{root}/try-{try_number}"


def digest(step: str, arguments: Mapping[str, str]) -> str:
    """Return a digest that is equal for two tries that would do the same."""
    compared = {name: text for name, text in arguments.items() if name not in _OF_A_TRY[step]}
    return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).hexdigest()


def without_secrets(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return a job's arguments as they may be shown: addresses without users and passwords."""
    from lineage_merge.naming import redact

    return {name: redact(str(text)) for name, text in arguments.items()}


def write(root: str, step: str, record: RunRecord) -> None:
    """Store the record of a step's newest run. Raises `SourceError`."""
    from lineage_merge.infra import storage

    storage.write_text(_location(root, step), json.dumps(asdict(record), indent=2) + "\n")


def read(root: str, step: str) -> RunRecord | None:
    """Return the record of a step's newest run, None if there is none. Raises `SourceError`."""
    from lineage_merge.infra import storage

    try:
        return RunRecord(**json.loads(storage.read_text(_location(root, step))))
    except SourceMissing:
        return None
    except (TypeError, ValueError):
        return None  # of another version of this package


def _location(root: str, step: str) -> str:
    return f"{root}/{step}.run.json"
