"""OpenLineage's events into records.

Each slice of files is read and its events checked where it is read; those of one run are brought together,
the runs that count are chosen, and each is translated where its events are.
"""

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import Slice
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.records import Record, records
from lineage_merge.model.elements import Count, Element, Problem
from lineage_merge.sources import line_files
from lineage_merge.sources.openlineage import files
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.documents import Document, cut_down, kind_of
from lineage_merge.sources.openlineage.events import Wanted, event_rows, number_of, run_of
from lineage_merge.sources.openlineage.jobs import job_of
from lineage_merge.sources.openlineage.nested_writes import without_nested
from lineage_merge.sources.openlineage.runs import Run, add_up, as_run, newest
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.openlineage.translator import targets, translate, translate_dataset
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.jobs import job_records
from lineage_merge.sources.runs.run_local import Datasets, mark, own_sources
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan

_PROBLEM = "problem"
_RUN = "RunEvent"


class Text(NamedTuple):
    """What is in a file: the kind of an event, what it is about, its place and its text."""

    kind: str
    thing: str
    place: str
    text: str


class Thing(NamedTuple):
    """All events about one thing, each once: text and place."""

    kind: str
    thing: str
    events: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Context:
    """What is needed beside the events."""

    settings: OpenLineage
    names: DatasetResolver

    def wanted(self) -> Wanted:
        """Which runs count."""
        return Wanted(self.settings, self._dataset)

    def _dataset(self, namespace: str, name: str, job: str) -> str:
        return self.names.identify(reference(namespace, name, job))


def read_openlineage(engine: Engine, config: Config, names: DatasetResolver) -> Rows[Record]:
    """Everything that the events say of the wanted jobs, as records.

    Raises `SourceError` where the files cannot be read at all.
    """
    settings = config.of(OpenLineage)
    if settings is None:
        return engine.empty()
    context = Context(settings, names)
    parts, notices = _parts(engine, settings)
    texts = line_files.parallel(engine, parts).flat_map(_texts).map(_by_thing)
    things = texts.combine(_only, _added, _all).map(_thing).keep()
    runs = things.filter(_is_run)
    events = runs.flat_map(lambda thing: event_rows(_run(thing), context.wanted()))
    recent = run_selection.within_lookback(without_nested(events).keep(), settings.runs, settings.lookback)
    written = recent.filter(_has_target)
    chosen = run_selection.select_writes(written, settings.runs)
    translated = runs.map(_named).union(run_selection.by_plan(chosen).map(_of_run))
    if config.merge.fold_run_local:
        translated = translated.union(own_sources(written, chosen).map(_of_run))

    def plan_records(_run_id: Hashable, found: list[tuple[str, Any]]) -> Iterator[Record]:
        return _plan_records([each for _, each in found], context.names)

    said = [*_counted(things), *notices]
    return engine.union(
        [
            translated.group(_run_id, plan_records),
            things.filter(_is_static).map_partitions(lambda found: _static(context, found)),
            job_records(recent, chosen, context.names),
            engine.rows(records(said, names), 1),
        ]
    )


def _parts(engine: Engine, settings: OpenLineage) -> tuple[list[Slice], tuple[Problem, ...]]:
    """What is to be read, after what is new in Kafka has landed."""
    parts = files.find(settings.events)
    if settings.kafka is None:
        return parts, ()
    from lineage_merge.infra.engine.on_spark import session_of
    from lineage_merge.sources.kafka_landing import kafka

    landing = kafka.landed(session_of(engine, "Kafka"), settings.kafka)
    return [*parts, *files.find_any(landing.folder)], landing.notices


def _texts(part: Slice) -> Iterator[Text]:
    for found in files.events(part):
        if isinstance(found, Problem):
            yield Text(_PROBLEM, found.document, "", json.dumps(astuple(found)))
            continue
        event = found.document
        kind = kind_of(event)
        if kind == _RUN:
            thing = event["run"]["runId"]
        else:
            about = event["dataset" if kind == "DatasetEvent" else "job"]
            thing = f"{about['namespace']} {about['name']}"
        # The places of a run's events are not needed; without them, what arrived twice counts once.
        place = "" if kind == _RUN else found.place
        yield Text(kind, thing, place, json.dumps(cut_down(event), sort_keys=True))


def _by_thing(found: Text) -> tuple[tuple[str, str], tuple[str, str]]:
    return (found.kind, found.thing), (found.text, found.place)


def _only(event: tuple[str, str]) -> set[tuple[str, str]]:
    return {event}


def _added(events: set[tuple[str, str]], event: tuple[str, str]) -> set[tuple[str, str]]:
    events.add(event)
    return events


def _all(some: set[tuple[str, str]], others: set[tuple[str, str]]) -> set[tuple[str, str]]:
    some |= others
    return some


def _thing(found: tuple[tuple[str, str], set[tuple[str, str]]]) -> Thing:
    key, events = found
    return Thing(*key, frozenset(events))


def _is_run(thing: Thing) -> bool:
    return thing.kind == _RUN


def _is_static(thing: Thing) -> bool:
    return thing.kind != _RUN


def _run(thing: Thing) -> Run:
    return add_up(json.loads(text) for text, _ in thing.events)


def _has_target(event: EventRow) -> bool:
    return event.target is not None


def _named(thing: Thing) -> tuple[str, Any]:
    return thing.thing, thing


def _of_run(found: tuple[PlanKey, SelectedPlan | Datasets]) -> tuple[str, Any]:
    (_, plan), _ = found
    return run_of(plan), found


def _run_id(found: tuple[str, Any]) -> str:
    return found[0]


def _plan_records(
    found: Iterable[Thing | tuple[PlanKey, SelectedPlan | Datasets]], names: DatasetResolver
) -> Iterator[Record]:
    """The records of what the chosen writes of one run did; a write is a run and one of its targets."""
    of_run: Thing | None = None
    chosen: dict[str, SelectedPlan] = {}
    own: dict[str, Datasets] = {}
    for each in found:
        if isinstance(each, Thing):
            of_run = each
            continue
        (_, plan), value = each
        if isinstance(value, SelectedPlan):
            chosen[plan] = value
        else:
            own[plan] = value
    if of_run is None or not chosen:
        return
    run = _run(of_run)
    keys = targets(run)
    for plan, how in chosen.items():
        elements = translate(run, keys[number_of(plan)], how.sequence)
        for record in records(elements, names):
            yield mark(record, own.get(plan, frozenset()))


def _static(context: Context, things: Iterable[Thing]) -> Iterator[Record]:
    """What events without a run say: the newest one of each job and each dataset."""
    return records((element for thing in things for element in _of_static(context, thing)), context.names)


def _of_static(context: Context, thing: Thing) -> Iterator[Element]:
    if thing.kind == _PROBLEM:
        for each in sorted(text for text, _ in thing.events):
            yield Problem(*json.loads(each))
        return
    # Of one that is in several places the first is named, whichever was read first.
    by_text: dict[str, str] = {}
    for text, place in sorted(thing.events):
        by_text.setdefault(text, place)
    documents: list[Document] = [json.loads(text) for text in by_text]
    event = newest(documents)
    place = by_text[json.dumps(event, sort_keys=True)]
    if thing.kind == "DatasetEvent":
        yield from translate_dataset(event, place)
        return
    run = as_run(event)
    if context.wanted().applies(run, job_of(run)):
        for key in run.outputs:
            yield from translate(run, key)


def _counted(things: Rows[Thing]) -> Iterator[Element]:
    numbers = things.map_partitions(_numbers).collect()
    events = sum(events for events, _ in numbers)
    yield Count("OpenLineage events", events)
    yield Count("OpenLineage runs", sum(runs for _, runs in numbers))
    if not events:
        yield Problem("notice", "OpenLineage", "events", "no event was found in what the settings name")


def _numbers(things: Iterable[Thing]) -> Iterator[tuple[int, int]]:
    """How many different events there are, and of how many runs."""
    for thing in things:
        if thing.kind != _PROBLEM:
            yield len({text for text, _ in thing.events}), int(thing.kind == _RUN)
