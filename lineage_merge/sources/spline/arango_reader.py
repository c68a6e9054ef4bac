"""Reader of Spline's live database: executors fetch slices of events, then the selected plans."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from math import ceil
from typing import Any

from lineage_merge.infra import input_budget
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.records import Record
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.run_selection import PlanKey
from lineage_merge.sources.spline import arango, existing_names, labels
from lineage_merge.sources.spline.events import event_rows, only_labelled
from lineage_merge.sources.spline.plans import (
    Context,
    PlanFacts,
    Translated,
    combined,
    event_names,
    names_of,
    plan_facts,
    selected_plans,
    translate_plan,
    unmatched_applications,
)
from lineage_merge.sources.spline.settings import Arango
from lineage_merge.sources.spline.unmatched_labels import Label
from lineage_merge.sources.unmatched_patterns import Names

EVENTS_PER_SLICE = 5000
PLANS_PER_SLICE = 500
MAX_SLICES = 1000


def read_arango(engine: Engine, context: Context, settings: Arango) -> Rows[Record]:
    """Read everything about the selected applications, as records."""
    server = arango.log_in(settings)
    overview = arango.overview(server)
    context = replace(context, snapshots={"": overview.snapshot})
    if not overview.events:
        return _read_arango_plans(engine, context, server, overview.collections)
    spline = context.spline
    back = overview.newest - spline.lookback // timedelta(milliseconds=1)
    since = max(overview.oldest, spline.runs.since if spline.runs.which == "since" else back)
    tasks = ceil(overview.events / EVENTS_PER_SLICE)
    engine.reserve(tasks * input_budget.BYTES_PER_PARTITION)
    spans: list[tuple[int, int] | None] = [*_spans(since, overview.newest + 1, tasks), None]
    read_events = partial(_fetch_events, context, server)
    events = _limited_partitions(engine.rows(spans, MAX_SLICES)).flat_map(read_events).cache()
    selected = run_selection.select_writes(events, spline.runs)
    facts: Rows[Any] = selected_plans(context, events, selected)
    plans = facts.group(_key, _known_plan)
    fetch = partial(_fetch_plans, context, server, overview.collections)
    translated = _limited_partitions(plans).map_partitions(fetch)
    notices = unmatched_applications(
        spline, events.flat_map(event_names), lambda: _all_names(engine, server, is_recorded=True)
    )
    return combined(
        context,
        events,
        events,
        selected,
        translated,
        [],
        notices,
        lambda: _all_labels(engine, context, server, overview.collections),
    )


def _all_labels(
    engine: Engine, context: Context, server: arango.Server, collections: frozenset[str]
) -> Rows[Label]:
    """Return the requested labels that the database has, and the names of the others without values."""
    wanted = context.spline.labels
    found = existing_names.labels_of_all(server, wanted, collections)
    names = existing_names.label_names(server)
    return engine.rows(
        [
            *(pair for label in found for pair in sorted(labels.pairs(wanted, label))),
            *((name, "") for name in names if name not in wanted),
        ]
    )


def _all_names(engine: Engine, server: arango.Server, *, is_recorded: bool) -> Rows[Names]:
    """Return the names of all applications of the database; events are read of the selected ones only."""
    return engine.rows(existing_names.application_names(server, is_recorded)).flat_map(names_of)


def _limited_partitions(rows: Rows[Any]) -> Rows[Any]:
    """Return rows in as many partitions as are computed at a time, unless the engine limits that itself."""
    return rows.repartition(rows.engine.parallelism) if rows.engine.is_local else rows


def _fetch_events(
    context: Context, server: arango.Server, span: tuple[int, int] | None
) -> Iterator[EventRow]:
    snapshot = context.snapshot("")

    def labels_of(keys: list[str]) -> Mapping[str, set[str]]:
        return arango.plan_labels(server, keys, context.spline.labels, snapshot)

    documents = arango.events(server, *span) if span else arango.malformed_events(server)
    return only_labelled(event_rows("", documents, context.wanted(), snapshot), labels_of)


def _known_plan(key: PlanKey, facts: list[tuple[PlanKey, object]]) -> Iterator[tuple[str, PlanFacts]]:
    known = plan_facts(each for _, each in facts)
    if known.selected:
        yield key[1], known


def _fetch_plans(
    context: Context,
    server: arango.Server,
    collections: frozenset[str],
    plans: Iterable[tuple[str, PlanFacts]],
) -> Iterator[Translated]:
    known = dict(plans)
    for key, documents in arango.plans(server, iter(known), collections):
        yield from translate_plan(context, "", key, documents, known[key], [])


def _read_arango_plans(
    engine: Engine, context: Context, server: arango.Server, collections: frozenset[str]
) -> Rows[Record]:
    """Read all plans of a database without `progress`; the newest per job and target is used."""
    count = arango.plan_count(server)
    offsets = range(0, max(count, 1), max(PLANS_PER_SLICE, ceil(count / MAX_SLICES)))
    fetch = partial(_fetch_slice, context, server, collections, offsets.step)
    translated = _limited_partitions(engine.rows(offsets, MAX_SLICES)).flat_map(fetch)
    events: Rows[EventRow] = engine.empty()
    selected = run_selection.select_writes(events, context.spline.runs)
    wanted = context.spline.applications
    names = _all_names(engine, server, is_recorded=False) if wanted else engine.empty()
    notices = unmatched_applications(context.spline, names, lambda: names)
    return combined(
        context,
        events,
        events,
        selected,
        translated,
        [""],
        notices,
        lambda: _all_labels(engine, context, server, collections),
    )


def _fetch_slice(
    context: Context, server: arango.Server, collections: frozenset[str], number: int, offset: int
) -> Iterator[Translated]:
    keys = arango.plan_keys(server, offset, number)
    for key, documents in arango.plans(server, keys, collections):
        yield from translate_plan(context, "", key, documents, PlanFacts(), [])


def _spans(since: int, until: int, count: int) -> list[tuple[int, int]]:
    """Split `since` to `until` into about `count` spans."""
    step = max(1, ceil((until - since) / min(max(count, 1), MAX_SLICES)))
    return [(start, min(start + step, until)) for start in range(since, until, step)]


def _key(row: tuple[PlanKey, object]) -> PlanKey:
    return row[0]
