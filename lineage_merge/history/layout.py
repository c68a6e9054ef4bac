"""Location, folders and names of the history.

::

    nodes/environment=prod/dag_name=daily/entry=20261123T031201480Z-3f9a1c2b4d5e/part-00000.parquet
    edges/environment=prod/dag_name=daily/entry=20261123T031201480Z-3f9a1c2b4d5e/part-00000.parquet
    edges_from/environment=prod/dag_name=daily/entry=20261123T031201480Z-3f9a1c2b4d5e/part-00000.parquet
    runs/environment=prod/dag_name=daily/entry=20261124T031155020Z-b01d22e07a91/part-00000.parquet
    fingerprints/environment=prod/dag_name=daily/20261123T031201480Z-3f9a1c2b4d5e.json
    moves/environment=prod/dag_name=daily/20261123T031201480Z-3f9a1c2b4d5e.json
    details/environment=prod/dag_name=daily/20261123T031201480Z-3f9a1c2b4d5e.json
    merges/environment=prod/dag_name=daily/20261123T031201480Z-3f9a1c2b4d5e.json

Partitions are named as in Hive. A merge has an object of its own in `merges/`, so that an object store needs
no append and concurrent merges never overwrite each other. It is written last: without it, the other files of
a merge do not count.
"""

import re
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from lineage_merge.config import EMBEDDED, NO_HISTORY
from lineage_merge.infra.graph_files import default_graph_file
from lineage_merge.model.errors import QueryError
from lineage_merge.model.times import EPOCH, epoch_ms, utc_time

if TYPE_CHECKING:
    from lineage_merge.config import Config


Kind = Literal["nodes", "edges", "edges_from", "runs"]
# The folders of Parquet files.
KINDS: tuple[Kind, ...] = ("nodes", "edges", "edges_from", "runs")
# Those with the elements of an entry.
ENTRY_KINDS: tuple[Kind, Kind] = ("nodes", "edges")
JsonKind = Literal["merges", "details", "moves", "fingerprints"]
MERGES: JsonKind = "merges"
DETAILS: JsonKind = "details"
MOVES: JsonKind = "moves"
FINGERPRINTS: JsonKind = "fingerprints"
# Stored in the names of folders, not in the files.
PARTITION_KEYS = ("environment", "dag_name")

# Beginnings of the names of partitions.
_ENVIRONMENT, _DAG, ENTRY = "environment=", "dag_name=", "entry="
# As in the configuration: other names could be paths.
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z0-9_.~+-]+")
_NAME = re.compile(r"(\d{8}T\d{6})(\d{3})Z-([0-9a-f]{12})")


class DagScope(NamedTuple):
    """An environment and a DAG, whose merges form one sequence."""

    environment: str
    dag_name: str


class MergeName(NamedTuple):
    """The name of a merge: its time in ms since 1970, and a random id. Sorts by time."""

    time: int
    id: str

    def __str__(self) -> str:
        return f"{file_time(self.time)}-{self.id}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the name of a merge; None for another text."""
        match = _NAME.fullmatch(text)
        if not match:
            return None
        try:
            seconds = datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            return None
        return cls(epoch_ms(seconds) + int(match[2]), match[3])


def moment_of(time: int) -> datetime:
    """Return a time in ms since 1970 as a datetime."""
    return EPOCH + timedelta(milliseconds=time)


def file_time(time: int) -> str:
    """``20261123T031201480Z``: sorts as the time does, without characters that file systems reject."""
    return f"{moment_of(time):%Y%m%dT%H%M%S}{time % 1000:03}Z"


def format_time(time: int) -> str:
    """``2026-11-23 03:12:01 UTC``."""
    return utc_time(time, seconds=True)


def scope_folder(location: str, kind: str, scope: DagScope) -> str:
    """Return the folder of an environment and DAG."""
    return f"{environment_folder(location, kind, scope.environment)}/{_DAG}{scope.dag_name}"


def environment_folder(location: str, kind: str, environment: str) -> str:
    """Return the folder of an environment. Raises `QueryError` for a name that no environment can have."""
    if not _ENVIRONMENT_NAME.fullmatch(environment):
        raise QueryError(f"invalid environment: {environment!r}; expected letters, digits and _ . ~ + - only")
    return f"{location.rstrip('/')}/{kind}/{_ENVIRONMENT}{environment}"


def entry_folder(location: str, kind: Kind, scope: DagScope, name: MergeName) -> str:
    """Return the folder of the Parquet files of a merge."""
    return f"{scope_folder(location, kind, scope)}/{ENTRY}{name}"


def json_file(location: str, kind: JsonKind, scope: DagScope, name: MergeName) -> str:
    """Return the file of a merge: its object, details, replaced ids, or the fingerprints of its entry."""
    return f"{scope_folder(location, kind, scope)}/{name}.json"


def environment_of(folder: str) -> str:
    """Return the environment that a folder is named after; "" for another folder."""
    name = folder.removeprefix(_ENVIRONMENT)
    return name if name != folder and _ENVIRONMENT_NAME.fullmatch(name) else ""


def dag_name_of(folder: str) -> str:
    """Return the DAG that a folder is named after; "" for another folder."""
    return folder.removeprefix(_DAG) if folder.startswith(_DAG) else ""


def name_of(file: str) -> MergeName | None:
    """Return the merge that a file or the folder of an entry is named after."""
    return MergeName.parse(file.removeprefix(ENTRY).removesuffix(".json"))


def history_location(config: "Config", graph_file: Path | None = None) -> str:
    """Return the folder or prefix of the history; "" if none is configured.

    That of the embedded graph (`graph_file`) is stored beside it.
    """
    configured = config.history.location
    if configured == NO_HISTORY:
        return ""
    # The file that a flag selects is another graph than that of the configuration.
    if configured and graph_file is None:
        return configured.rstrip("/")
    if config.gremlin.endpoint != EMBEDDED or not find_spec("pyarrow"):
        return configured
    return str((graph_file or default_graph_file()).with_suffix(".history"))
