"""Reader of Spline agents' files and Kafka topics into records, distributed by the engine.

Each slice of a file is searched where it is stored. A plan and its events may be in different files, in any
order, and duplicated: they are joined by the plan's id, and one of several plans with the same id is used.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow, largest, nulls_first
from lineage_merge.sources.runs.run_selection import PlanKey, PlanLabels
from lineage_merge.sources.spline import key_filter, labels
from lineage_merge.sources.spline.agent import checks
from lineage_merge.sources.spline.agent.api_1_0 import is_1_0
from lineage_merge.sources.spline.agent.events import header, progress
from lineage_merge.sources.spline.agent.messages import Message, messages
from lineage_merge.sources.spline.agent.plans import documents, plan_id
from lineage_merge.sources.spline.documents import Document, rejected
from lineage_merge.sources.spline.events import event_rows
from lineage_merge.sources.spline.key_filter import KeyFilter
from lineage_merge.sources.spline.plans import (
    Context,
    PlanFacts,
    Translated,
    combined,
    event_names,
    names_of,
    of_plan,
    plan_facts,
    selected_plans,
    translate_plan,
    unmatched_applications,
)
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.spline.source import AGENT
from lineage_merge.sources.spline.transactions import EVERYTHING
from lineage_merge.sources.spline.unmatched_labels import Label
from lineage_merge.sources.unmatched_patterns import Names


class Found(NamedTuple):
    """A plan, an event or a problem in a file; texts are JSON.

    `header` has the fields of the plan that events need. `position` grows with the order of files and lines.
    Of plans with one id the highest `rank` is used: malformed 0, version 1.0, which has less information, 1.
    """

    kind: str
    plan: str | None = None
    at: int | None = None
    rank: int | None = None
    position: int | None = None
    header: str | None = None
    text: str | None = None
    location: str | None = None


class Plan(NamedTuple):
    """The selected `Found` of those with one id; `position` is the highest of all of them."""

    key: str
    rank: int
    header: str
    text: str
    location: str
    position: int


class Messages(NamedTuple):
    """All messages of one plan id, None for problems, which are JSON.

    `plan` is set if its `rank` is greater than 0; `rank` None: no file contains it.
    """

    key: str | None
    rank: int | None
    plan: Plan | None
    events: list[Found]
    problems: list[str]


def read_agent(engine: Engine, context: Context) -> Rows[Record]:
    """Read what the agents of the selected applications wrote, as records. Raises `SourceError`."""
    parts, notices = _parts(engine, context)
    heads = labels.heads(context.spline.labels)
    # Positions follow the file names: nothing else shows which plan is the newest.
    numbered = [(number << 32, part) for number, part in enumerate(parts)]
    searched = engine.rows(numbered, line_files.tasks(engine, parts)).flat_map(partial(_search, heads=heads))
    found = searched.group(_plan_of, _together).cache()
    newest = largest(found.map_partitions(_newest_event).collect())
    is_recorded = newest is not None
    if not is_recorded and parts and found.is_empty():
        nothing = line_files.nothing_found("Spline", "agent", "plan or event", parts, AGENT)
        notices = (*notices, nothing)

    events = found.map_partitions(partial(_event_rows, context, since=_since(context.spline, newest or 0)))
    if context.spline.labels:
        events = run_selection.labelled(events, found.flat_map(partial(_plan_labels, context)))
    events = events.cache()
    recent_events = run_selection.within_lookback(events, context.spline.runs, context.spline.lookback)
    selected = run_selection.select_writes(recent_events, context.spline.runs)

    plans = selected_plans(context, recent_events, selected)
    read_plans: Callable[[Messages], Iterator[tuple[PlanKey, Plan]]] = _plan
    if is_recorded and sum(part.end - part.start for part in parts) > key_filter.WORTH_BYTES:
        wanted = engine.share(key_filter.build_filter(plans.map(_key)))
        read_plans = partial(_wanted_plan, wanted=wanted)
    texts: Rows[Any] = found.flat_map(read_plans)
    translate = partial(_translate_found, context, is_recorded=is_recorded)
    translated = texts.union(plans).group(_key, translate)
    unrecorded = [] if is_recorded else [""]
    if context.spline.applications:
        names = found.flat_map(_application_names)
        recent = recent_events.flat_map(event_names) if is_recorded else names
        notices = (*notices, *unmatched_applications(context.spline, recent, lambda: names))
    whole = combined(
        context,
        events,
        recent_events,
        selected,
        translated,
        unrecorded,
        labels_of=lambda: found.flat_map(partial(_label_pairs, context)),
    )
    return whole.union(engine.rows(list(context.resolver.records(notices)), 1))


def _since(spline: Spline, newest: int) -> int:
    """Return the earliest time of an event to be used, as in `run_selection.within_lookback`."""
    if spline.runs.which == "since":
        return spline.runs.since
    return newest - spline.lookback // timedelta(milliseconds=1)


def _parts(engine: Engine, context: Context) -> tuple[list[Slice], tuple[Problem, ...]]:
    """Return the slices to read, after landing new Kafka messages."""
    spline = context.spline
    if spline.kafka is None:
        return line_files.find(spline.agent), ()
    from lineage_merge.infra.engine.on_spark import session_of
    from lineage_merge.sources.kafka_landing import kafka
    from lineage_merge.sources.spline.agent.record_lines import record_line

    landed = kafka.landed(session_of(engine, "Kafka"), spline.kafka, record_line)
    found = line_files.find(spline.agent)
    try:
        found += line_files.find([landed.folder])
    except SourceMissing:
        nothing = Problem("notice", f"Kafka topic {spline.kafka.topic}", "", "no messages yet")
        return found, (*landed.notices, nothing)
    return found, landed.notices


def _search(numbered: tuple[int, Slice], heads: list[str]) -> Iterator[Found]:
    position, part = numbered
    return _found(part, position, heads)


def _found(part: Slice, position: int, heads: list[str]) -> Iterator[Found]:
    for number, each in enumerate(line_files.until_damage(messages(line_files.numbered(part)))):
        wrong = each if isinstance(each, Problem) else checks.problem(each)
        if wrong:
            yield Found("problem", text=json.dumps(astuple(wrong)))
        if not isinstance(each, Message):
            continue
        if wrong:
            # Its events are valid: the plan exists, but is malformed.
            named = each.body.get("id") if isinstance(each.body, dict) and each.kind == "plan" else None
            if isinstance(named, str):
                yield Found("plan", named.lower(), rank=0)
            continue
        text = json.dumps(each.body, separators=(",", ":"))
        if each.kind == "plan":
            rank = 1 if is_1_0(each.body) else 2
            key, head = plan_id(each.body), json.dumps(header(each.body, heads))
            yield Found("plan", key, None, rank, position + number, head, text, each.location)
        else:
            key = each.body["planId"].lower()
            yield Found("event", key, int(each.body["timestamp"]), text=text, location=each.location)


def _plan_of(found: Found) -> str | None:
    return found.plan


def _together(key: str | None, found: list[Found]) -> Iterator[Messages]:
    plans = [each for each in found if each.kind == "plan"]
    best = max(plans, key=_precedence, default=None)
    by_time: dict[int | None, Found] = {}
    for each in found:
        if each.kind == "event":
            # Duplicate events count once.
            other = by_time.get(each.at, each)
            by_time[each.at] = max(each, other, key=lambda event: nulls_first(event.text, event.location))
    problems = [each.text for each in found if each.kind == "problem" and each.text]
    plan = None
    if best and best.rank and key is not None:
        position = largest(each.position for each in plans) or 0
        plan = Plan(key, best.rank, best.header or "", best.text or "", best.location or "", position)
    yield Messages(key, best.rank if best else None, plan, list(by_time.values()), problems)


def _precedence(plan: Found) -> tuple[tuple[bool, object], ...]:
    return nulls_first(plan.rank, plan.text, plan.header, plan.location)


def _newest_event(found: Iterable[Messages]) -> Iterator[int | None]:
    yield largest(event.at for each in found for event in each.events)


def _event_rows(context: Context, found: Iterable[Messages], since: int) -> Iterator[EventRow]:
    for each in found:
        yield from (EventRow("", problem=problem) for problem in each.problems)
        # The events of a malformed plan are valid.
        if each.rank != 0:
            yield from event_rows("", _progress(each, since), context.wanted(), EVERYTHING)


def _progress(found: Messages, since: int) -> Iterator[dict[str, Any] | Problem]:
    details = json.loads(found.plan.header)["details"] if found.plan else None
    for event in found.events:
        if details is not None:
            yield progress(json.loads(event.text or ""), details)
        # Files with a retention period begin anywhere: events before the lookback may lack their plan.
        elif event.at is not None and event.at >= since:
            yield rejected(event.location or "", "planId", f"missing plan {found.key}")


def _application_names(found: Messages) -> Iterator[Names]:
    if found.plan:
        name = json.loads(found.plan.header)["details"]["applicationName"]
        yield from names_of(name if isinstance(name, str) else "")


def _plan_labels(context: Context, found: Messages) -> Iterator[PlanLabels]:
    """Return the requested labels of a plan."""
    if found.plan:
        present = labels.of_plan(context.spline.labels, json.loads(found.plan.header))
        yield PlanLabels("", found.plan.key, sorted(present))


def _label_pairs(context: Context, found: Messages) -> Iterator[Label]:
    headers = [found.plan.header] if found.plan else []
    for text in (*headers, *(event.text or "{}" for event in found.events)):
        yield from sorted(labels.pairs(context.spline.labels, json.loads(text)))


def _plan(found: Messages) -> Iterator[tuple[PlanKey, Plan]]:
    if found.plan:
        yield ("", found.plan.key), found.plan


def _wanted_plan(found: Messages, wanted: Shared[KeyFilter]) -> Iterator[tuple[PlanKey, Plan]]:
    return ((key, plan) for key, plan in _plan(found) if wanted.value.passes(*key))


def _key(row: tuple[PlanKey, object]) -> PlanKey:
    return row[0]


def _translate_found(
    context: Context, _key: PlanKey, rows: list[tuple[PlanKey, object]], is_recorded: bool
) -> Iterator[Translated]:
    known = plan_facts(each for _, each in rows)
    if is_recorded and known.selected is None:
        return
    for _, plan in rows:
        if isinstance(plan, Plan):
            yield from _translate(context, plan, known)


def _translate(context: Context, found: Plan, known: PlanFacts) -> Iterator[Translated]:
    plan = json.loads(found.text)
    problem = checks.problem_inside(plan, found.location)
    parts: dict[str, list[Document]] = {}
    if problem is None:
        try:
            parts = documents(plan, found.position)
        except RecursionError:
            problem = rejected(found.location, "", "nested too deeply")
    if problem:
        yield of_plan(context, "", found.key, [problem])
    else:
        yield from translate_plan(context, "", found.key, parts, known, [])
