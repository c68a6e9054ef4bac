"""The event log of a real session has the lineage that the listener records in it."""

import subprocess
import sys
from typing import NamedTuple

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Feeds, FeedsColumn, Influences, Writes
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.event_log.source import EVENT_LOG
from lineage_merge.sources.spline.reader import read_capture
from tests.command_line import clean_environment
from tests.record_reading import jobs_of, problems_of, records_of, rows_of
from tests.sources.spline.event_log import session_jobs

pytestmark = pytest.mark.jvm

# What only the listener sees: plans in the log are optimized.
ONLY_LISTENER = {
    # A cast to the type that the column has.
    "orders.country -> removed.country TRANSFORMATION",
    "orders.customer -> taken.id TRANSFORMATION",
    # An argument of `coalesce` behind one that is never null.
    "orders.customer -> removed.one TRANSFORMATION",
}
ONLY_LOG = {
    "orders.country -> removed.country IDENTITY",
    "orders.customer -> taken.id IDENTITY",
}


class Session(NamedTuple):
    """The records of a session, as its event log and the listener have them."""

    log: list[Record]
    listener: list[Record]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("session")
    words = [sys.executable, "-m", session_jobs.__name__, str(folder)]
    done = subprocess.run(words, env=clean_environment(), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = {"dag_name": "daily", "environment": "dev"}
    sections = {"event_log": {"logs": f"{folder}/logs"}, "capture": {"files": f"{folder}/lineage"}}
    config = CONFIGURATION.parse({**names, **sections})
    resolver = dataset_resolver.from_config(config)
    return Session(
        rows_of(EVENT_LOG.read(LocalEngine(), config, resolver)),
        rows_of(read_capture(LocalEngine(), config, resolver)),
    )


def edges_of(rows: list[Record]) -> set[str]:
    """Return values as ``t.a -> u.x IDENTITY``, influences as ``t.a ~ u FILTER``, and feeds as ``t > u``."""
    found = {f"{short(each.source)} > {short(each.target)}" for each in records_of(Feeds, rows)}
    for flow in records_of(FeedsColumn, rows):
        kinds = ",".join(flow.transformations)
        found.add(
            f"{short(flow.source)}.{flow.source_column} -> {short(flow.target)}.{flow.target_column} {kinds}"
        )
    for influence in records_of(Influences, rows):
        kinds = ",".join(influence.transformations)
        found.add(f"{short(influence.source)}.{influence.source_column} ~ {short(influence.target)} {kinds}")
    return found


def short(dataset: str) -> str:
    return dataset.rpartition("/")[2]


def test_the_log_has_the_edges_of_the_listener(session: Session) -> None:
    log, listener = edges_of(session.log), edges_of(session.listener)

    assert listener - log == ONLY_LISTENER
    assert log - listener == ONLY_LOG
    assert len(log & listener) > 80
    assert problems_of(session.log) == set()


def test_the_log_has_the_datasets_and_the_job_of_the_listener(session: Session) -> None:
    def writes(rows: list[Record]) -> set[tuple[str, str]]:
        return {(each.job.name, each.target) for each in records_of(Writes, rows)}

    def runs(rows: list[Record]) -> set[tuple[str, str]]:
        return {(name, facts["last_run_id"]) for name, facts in jobs_of(rows).items()}

    assert writes(session.log) == writes(session.listener)
    assert runs(session.log) == runs(session.listener)


@pytest.mark.parametrize("target", ["batches", "sink"])
def test_a_stream_reads_the_folder_of_its_files(target: str, session: Session) -> None:
    feeds = {each.source for each in records_of(Feeds, session.log) if short(each.target) == target}

    assert [short(source) for source in feeds] == ["orders"]
