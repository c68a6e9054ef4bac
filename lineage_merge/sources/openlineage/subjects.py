"""Events, grouped by what they are about: a run, or a job or dataset without one.

Each slice is read and validated where it is stored; the events of a subject are grouped, without duplicates.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.sources import line_files
from lineage_merge.sources.openlineage import files, row_operations
from lineage_merge.sources.openlineage.airflow_tasks import with_known_names
from lineage_merge.sources.openlineage.documents import cut_down, kind_of
from lineage_merge.sources.openlineage.jobs import is_airflow
from lineage_merge.sources.openlineage.known_datasets import may_have_unusual_names, with_known_datasets
from lineage_merge.sources.openlineage.runs import Run, combine_events

PROBLEM = "problem"
RUN = "RunEvent"

SubjectKey = tuple[str, str]  # type of the events, and what they are about
LocatedText = tuple[str, str]  # text of an event, and its location
SubjectEvent = tuple[SubjectKey, LocatedText]


class Subject(NamedTuple):
    """All events about one run, job or dataset, or all problems with one file, without duplicates."""

    kind: str
    subject: str
    events: frozenset[LocatedText]

    def run(self) -> Run:
        """Return the run that the events are about."""
        run = combine_events(loads(text) for text, _ in self.events)
        run = with_known_names(run) if is_airflow(run) else run
        return with_known_datasets(run) if self.may_have_unusual_names else run

    # Parsing is slow, so the text is searched before. Its events are about one job, so one of them is enough.
    @property
    def any_text(self) -> str:
        """The text of one of the events."""
        return next(iter(self.events))[0]

    @property
    def may_have_unusual_names(self) -> bool:
        """Whether datasets of the events may have names that are none."""
        return any(may_have_unusual_names(text) for text, _ in self.events)

    @property
    def may_be_query(self) -> bool:
        """Whether the events may be about SQL of an Airflow task."""
        return '"sql"' in self.any_text and '"AIRFLOW"' in self.any_text

    @property
    def may_have_extraction_errors(self) -> bool:
        """Whether a client may say that it could not read a part of the run's code."""
        return any('"extractionError"' in text for text, _ in self.events)

    @property
    def may_be_row_operation(self) -> bool:
        """Whether the events may be about a MERGE, UPDATE or DELETE."""
        return row_operations.may_be_row_operation(self.any_text)


def read_subjects(engine: Engine, parts: list[Slice], others: Rows[SubjectEvent]) -> Rows[Subject]:
    """Return the events of files, and `others`, by subject."""
    by_subject = line_files.parallel(engine, parts).flat_map(events_by_subject).union(others)
    distinct = by_subject.combine(_only, _add, set.__ior__)
    return distinct.map(lambda subject: Subject(*subject[0], frozenset(subject[1])))


def events_by_subject(part: Slice) -> Iterator[SubjectEvent]:
    """Yield the events of a slice, reduced to what is read, and its problems."""
    return map(assign_subject, files.events(part))


def assign_subject(read: files.Event | Problem) -> SubjectEvent:
    """Return an event, reduced to what is read, or a problem, with what it is about."""
    if isinstance(read, Problem):
        return (PROBLEM, read.document), (json.dumps(read), "")
    event = read.document
    kind = kind_of(event)
    if kind == RUN:
        subject = event["run"]["runId"]
    else:
        about = event["dataset" if kind == "DatasetEvent" else "job"]
        subject = f"{about['namespace']} {about['name']}"
    # Locations of a run's events are not needed; without them, duplicates are counted once.
    location = "" if kind == RUN else read.location
    return (kind, subject), (json.dumps(cut_down(event), sort_keys=True), location)


def _only(event: LocatedText) -> set[LocatedText]:
    return {event}


def _add(events: set[LocatedText], event: LocatedText) -> set[LocatedText]:
    events.add(event)
    return events
