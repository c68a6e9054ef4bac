"""Reader of the listener's files into records: that of Spline's agent."""

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.records import Record
from lineage_merge.sources.capture.settings import LINES, Capture
from lineage_merge.sources.resolver import Resolver
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
