"""Location of the history of a graph."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.config import EMBEDDED, NO_HISTORY
from lineage_merge.infra.graph_files import default_graph_file

if TYPE_CHECKING:
    from lineage_merge.config import Config

_SUFFIX = ".history"


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
    return beside(graph_file or default_graph_file())


def beside(graph_file: Path) -> str:
    """Return the history of an embedded graph."""
    return str(graph_file.with_suffix(_SUFFIX))
