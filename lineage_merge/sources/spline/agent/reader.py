"""Reader of Spline agents' files and Kafka topics into records, distributed by the engine.

Each slice of a file is searched where it is stored. A plan and its events may be in different files, in any
order, and duplicated: they are joined by the plan's id, and one of several plans with the same id is used.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.model.times import latest_credible
from lineage_merge.sources import line_files
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow, largest
from lineage_merge.sources.runs.run_selection import PlanKey, PlanLabels
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.agent.api_1_0 import is_1_0
from lineage_merge.sources.spline.agent.messages import (
    check_message,
    check_plan,
    messages,
    record_line,
)
from lineage_merge.sources.spline.agent.plans import documents, header, plan_id, progress
from lineage_merge.sources.spline.document_rows import (
    Context,
    TranslatedPlan,
    convert_jobless,
    event_rows,
    plan_facts,
    translate_plan,
)
from lineage_merge.sources.spline.documents import Document, assemble, read, reject
from lineage_merge.sources.spline.key_filter import KeyFilter, share_filter
from lineage_merge.sources.spline.labels import Label
from lineage_merge.sources.spline.plan_selection import PlanInput, SelectedPlans, names_of
from lineage_merge.sources.spline.settings import AGENT
from lineage_merge.sources.unmatched_patterns import Names


class AgentPlan(NamedTuple):
    """A plan in a file; `text` is its JSON, `header` has the fields that events need.

    `position` grows with the order of files and lines. Of plans with one id the highest `rank` is used:
    malformed 0 (with an id only), version 1.0, which has less information, 1.
    """

    plan: str
    rank: int
    text: str
    location: str
    position: int
    header: Document


class AgentEvent(NamedTuple):
    """An event in a file; `text` is its JSON."""

    plan: str
    at: int
    text: str
    location: str


class PlanMessages(NamedTuple):
    """The plan with one id, and its events; of no plan (""): problems.

    `rank` 0: the plan is malformed; None: no file contains it. `plan` is set if its `rank` is greater than 0;
    its `position` is the highest of all plans with this id.
    """

    key: str
    rank: int | None
    plan: AgentPlan | None
    events: list[AgentEvent]
    problems: list[Problem]


@dataclass(frozen=True, kw_only=True)
class AgentInput(PlanInput):
    """The messages of agents' files; `newest` is the time of the newest event, `stored_bytes` their size."""

    messages: Rows[PlanMessages]
    newest: int
    stored_bytes: int

    def events(self) -> Rows[EventRow]:
        """Return the events, with the details of their plans."""
        spline = self.context.spline
        since = spline.runs.find_start(self.newest, spline.lookback)
        events = self.messages.map_partitions(partial(_event_rows, self.context, since=since))
        if not spline.labels:
            return events
        return run_selection.check_labels(events, self.messages.flat_map(partial(_plan_labels, self.context)))

    def translate(self, plans: SelectedPlans) -> Rows[TranslatedPlan]:
        """Translate the plans in files."""
        wanted = share_filter(plans, self.stored_bytes, self.unrecorded)
        read: Rows[Any] = self.messages.flat_map(partial(_select_plan, wanted=wanted))
        translate = partial(_translate, self.context, unrecorded=self.unrecorded)
        return read.union(plans).group(itemgetter(0), translate)

    def application_names(self) -> Rows[Names]:
        """Return the names of all plans."""
        return self.messages.flat_map(_application_names)

    def labels(self) -> Rows[Label]:
        """Return the labels of all plans and events."""
        return self.messages.flat_map(partial(_label_pairs, self.context))


def agent_input(
    engine: Engine, context: Context, named: tuple[str, str, Kind] = ("Spline", "agent", AGENT)
) -> AgentInput:
    """Return the input of files and a topic, after landing its new messages. Raises `SourceError`.

    `named`: the source, its key, and the kind of its files, for messages.
    """
    parts, notices = _parts(engine, context)
    heads = labels.heads(context.spline.labels)
    # Positions follow the file names: nothing else shows which plan is the newest.
    numbered = [(number << 32, part) for number, part in enumerate(parts)]
    read = engine.rows(numbered, line_files.tasks(engine, parts)).flat_map(partial(read_slice, heads=heads))
    return make_input(engine, context, read, parts, notices, named)


def make_input(
    engine: Engine,
    context: Context,
    read: Rows[AgentPlan | AgentEvent | Problem],
    parts: Sequence[Slice],
    notices: tuple[Problem, ...] = (),
    named: tuple[str, str, Kind] = ("Spline", "agent", AGENT),
) -> AgentInput:
    """Return the input of plans and events that are `read` from the files `parts`; `named` as above."""
    by_plan = read.group(_plan_of, join_messages).cache()
    latest = latest_credible()
    newest = largest(by_plan.map_partitions(partial(_newest_event, latest)).collect())
    if newest is None and parts and by_plan.is_empty():
        source, field, kind = named
        nothing = line_files.nothing_found(source, field, "plan or event", parts, kind)
        notices = (*notices, nothing)
    return AgentInput(
        engine=engine,
        context=context,
        unrecorded=[""] if newest is None else [],
        notices=notices,
        latest=latest,
        messages=by_plan,
        newest=newest or 0,
        stored_bytes=line_files.sum_stored_bytes(parts),
    )


def _parts(engine: Engine, context: Context) -> tuple[list[Slice], tuple[Problem, ...]]:
    """Return the slices to read, after landing new Kafka messages."""
    spline = context.spline
    if spline.kafka is None:
        return line_files.find(spline.agent), ()
    from lineage_merge.infra.engine.on_spark import session_of
    from lineage_merge.sources.kafka_landing import kafka

    landed = kafka.land_messages(session_of(engine), spline.kafka, record_line)
    parts = line_files.find(spline.agent)
    try:
        parts += line_files.find([landed.folder])
    except SourceMissing:
        nothing = Problem("notice", f"Kafka topic {spline.kafka.topic}", "", "no messages yet")
        return parts, (*landed.notices, nothing)
    return parts, landed.notices


def read_slice(numbered: tuple[int, Slice], heads: list[str]) -> Iterator[AgentPlan | AgentEvent | Problem]:
    """Yield the plans, events and problems in a slice, whose position is given."""
    start, part = numbered
    for number, message in enumerate(line_files.stop_at_damage(messages(line_files.number_lines(part)))):
        if isinstance(message, Problem):
            yield message
        elif problem := check_message(message):
            yield problem
            # Its events are valid: the plan exists, but is malformed.
            named = message.body.get("id") if isinstance(message.body, dict) else None
            if message.kind == "plan" and isinstance(named, str):
                yield AgentPlan(named.lower(), 0, "", "", 0, {})
        else:
            body, location = message.body, message.location
            text = json.dumps(body, separators=(",", ":"))
            if message.kind == "event":
                yield AgentEvent(body["planId"].lower(), int(body["timestamp"]), text, location)
            else:
                rank = 1 if is_1_0(body) else 2
                yield AgentPlan(plan_id(body), rank, text, location, start + number, header(body, heads))


def _plan_of(message: AgentPlan | AgentEvent | Problem) -> str:
    return "" if isinstance(message, Problem) else message.plan


def join_messages(key: str, group: list[AgentPlan | AgentEvent | Problem]) -> Iterator[PlanMessages]:
    """Select one of the plans with one id, and drop duplicate events."""
    plans = [message for message in group if isinstance(message, AgentPlan)]
    best = max(plans, key=attrgetter("rank", "text", "location"), default=None)
    events: dict[int, AgentEvent] = {}
    for event in group:
        if isinstance(event, AgentEvent):
            events[event.at] = max(event, events.get(event.at, event))
    plan = best._replace(position=max(plan.position for plan in plans)) if best and best.rank else None
    problems = [message for message in group if isinstance(message, Problem)]
    yield PlanMessages(key, best.rank if best else None, plan, list(events.values()), problems)


def _newest_event(latest: int, groups: Iterable[PlanMessages]) -> Iterator[int | None]:
    """Yield the newest time of events up to `latest`, 0 if all are later, None without events."""
    times = (event.at for group in groups for event in group.events)
    yield largest(at if at <= latest else 0 for at in times)


def _event_rows(context: Context, groups: Iterable[PlanMessages], since: int) -> Iterator[EventRow]:
    for group in groups:
        yield from (EventRow("", problem=json.dumps(problem)) for problem in group.problems)
        # The events of a malformed plan are valid.
        if group.rank != 0:
            for row in event_rows(context, "", _progress(group, since)):
                # The plan's header has counted row-level operations as appending.
                yield row._replace(append=bool(row.append))


def _progress(group: PlanMessages, since: int) -> Iterator[Document | Problem]:
    for event in group.events:
        if group.plan:
            yield read("progress", progress(loads(event.text), group.plan.header["details"]))
        # Files with a retention period begin anywhere: events before the lookback may lack their plan.
        elif event.at >= since:
            yield reject(event.location, "planId", f"missing plan {group.key}")


def _application_names(group: PlanMessages) -> Iterator[Names]:
    if group.plan:
        yield from names_of(group.plan.header["details"]["applicationName"])


def _plan_labels(context: Context, group: PlanMessages) -> Iterator[PlanLabels]:
    """Return the requested labels of a plan."""
    if group.plan:
        yield PlanLabels("", group.key, sorted(labels.present(context.spline.labels, group.plan.header)))


def _label_pairs(context: Context, group: PlanMessages) -> Iterator[Label]:
    headers = [group.plan.header] if group.plan else []
    for document in (*headers, *(loads(event.text) for event in group.events)):
        yield from sorted(labels.pairs(context.spline.labels, document))


def _select_plan(
    group: PlanMessages, wanted: Shared[KeyFilter] | None
) -> Iterator[tuple[PlanKey, AgentPlan]]:
    if group.plan and (wanted is None or wanted.value.passes("", group.key)):
        yield ("", group.key), group.plan


def _translate(
    context: Context, key: PlanKey, rows: list[tuple[PlanKey, object]], unrecorded: Collection[str]
) -> Iterator[TranslatedPlan]:
    facts = plan_facts(rows)
    plan = next((row for _, row in rows if isinstance(row, AgentPlan)), None)
    if plan is None or (facts.selected is None and not unrecorded):
        return
    body = loads(plan.text)
    problem = check_plan(body, plan.location)
    parts: dict[str, list[Document]] = {}
    if problem is None:
        try:
            parts = documents(body, plan.position)
        except RecursionError:
            problem = reject(plan.location, "", "nested too deeply")
    if problem:
        yield convert_jobless(context, "", plan.plan, [problem])
    else:
        translated, problems = assemble(plan.plan, parts, context.snapshot(""))
        yield from translate_plan(context, "", translated, facts, problems)
