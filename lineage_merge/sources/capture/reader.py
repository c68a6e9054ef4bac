"""Reader of the listener's files into records: that of Spline's agent."""

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import StoredFile
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.capture.source import LINES, Capture
from lineage_merge.sources.source import Resolver
from lineage_merge.sources.spline import inspection
from lineage_merge.sources.spline.agent.reader import agent_input
from lineage_merge.sources.spline.document_rows import Context
from lineage_merge.sources.spline.plan_selection import read_records


def read_capture(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read everything about the selected applications, as records."""
    capture = config.of(Capture)
    if capture is None:
        return engine.empty()
    context = Context(capture.as_agent(), resolver, config.merge.collapse_run_local)
    return read_records(agent_input(engine, context, ("Spark listener", "files", LINES)))


def preflight(capture: Capture) -> None:
    """Check that the files can be listed. Raises `SourceError`."""
    line_files.find(capture.files)


def size(capture: Capture) -> int:
    """Return the stored bytes of the files. Raises `SourceError`."""
    return line_files.stored_bytes(line_files.find(capture.files))


def has_messages(file: StoredFile) -> bool:
    """Return whether the first message of a file is one of the listener. Raises `SourceError`."""
    return inspection.first_message_is(file, of_listener=True)
