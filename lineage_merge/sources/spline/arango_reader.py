"""Reader of Spline's live database: executors fetch slices of events, then the selected plans."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from operator import itemgetter
from typing import Any

from lineage_merge.infra import input_budget
from lineage_merge.infra.batches import batched
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.times import latest_credible
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.future_times import drop_future_times
from lineage_merge.sources.runs.run_selection import PlanKey
from lineage_merge.sources.spline import arango_queries
from lineage_merge.sources.spline.arango_queries import Overview
from lineage_merge.sources.spline.document_rows import (
    Context,
    PlanFacts,
    TranslatedPlan,
    event_rows,
    plan_facts,
    translate_plan,
)
from lineage_merge.sources.spline.documents import assemble, read
from lineage_merge.sources.spline.labels import Label
from lineage_merge.sources.spline.plan_selection import PlanInput, SelectedPlans, names_of
from lineage_merge.sources.spline.settings import Arango
from lineage_merge.sources.unmatched_patterns import Names

EVENTS_PER_SLICE = 5000
PLANS_PER_SLICE = 500
MAX_SLICES = 1000
# Number of events per query for labels or the operations of their plans.
_EVENTS_PER_QUERY = 1000


@dataclass(frozen=True, kw_only=True)
class ArangoInput(PlanInput):
    """A live database; `settings` have the password, for executors."""

    settings: Arango
    overview: Overview

    def events(self) -> Rows[EventRow]:
        """Fetch the events within the lookback, and the malformed ones."""
        if self.unrecorded:
            return self.engine.empty()
        spline, overview = self.context.spline, self.overview
        since = max(overview.oldest, spline.runs.find_start(overview.newest, spline.lookback))
        tasks = ceil(overview.events / EVENTS_PER_SLICE)
        self.engine.reserve(tasks * input_budget.BYTES_PER_PARTITION)
        spans: list[tuple[int, int | None] | None] = [*_spans(since, overview.newest + 1, tasks), None]
        if overview.ahead:
            spans.append((self.latest + 1, None))
        fetch = partial(_fetch_events, self.context, self.settings)
        return _limit_partitions(self.engine.rows(spans, MAX_SLICES)).flat_map(fetch)

    def recent(self, events: Rows[EventRow]) -> Rows[EventRow]:
        """Return the events without wrong times: only recent ones are fetched."""
        return drop_future_times(events, self.latest)

    def translate(self, plans: SelectedPlans) -> Rows[TranslatedPlan]:
        """Fetch and translate the selected plans, or all of a database without events."""
        arguments = (self.context, self.settings, self.overview.collections)
        if not self.unrecorded:
            rows: Rows[Any] = plans
            selected = rows.group(itemgetter(0), _select_plan)
            return _limit_partitions(selected).map_partitions(partial(_fetch_plans, *arguments))
        count = arango_queries.plan_count(self.settings)
        offsets = range(0, max(count, 1), max(PLANS_PER_SLICE, ceil(count / MAX_SLICES)))
        fetch = partial(_fetch_slice, *arguments, offsets.step)
        return _limit_partitions(self.engine.rows(offsets, MAX_SLICES)).flat_map(fetch)

    def application_names(self) -> Rows[Names]:
        """Return the names of all applications of the database."""
        names = arango_queries.application_names(self.settings, is_recorded=not self.unrecorded)
        return self.engine.rows(names).flat_map(names_of)

    def labels(self) -> Rows[Label]:
        """Return the labels of the database."""
        return self.engine.rows(arango_queries.all_labels(self.settings, self.context.spline.labels))


def arango_input(engine: Engine, context: Context, settings: Arango) -> ArangoInput:
    """Return the input of a database. Raises `SourceError`."""
    settings = settings.with_password()
    latest = latest_credible()
    overview = arango_queries.overview(settings, latest)
    return ArangoInput(
        engine=engine,
        context=replace(context, snapshots={"": overview.snapshot}),
        unrecorded=[] if overview.events else [""],
        latest=latest,
        settings=settings,
        overview=overview,
    )


def _limit_partitions(rows: Rows[Any]) -> Rows[Any]:
    """Return rows in as many partitions as are computed at a time, unless the engine limits that itself."""
    return rows.repartition(rows.engine.parallelism) if rows.engine.is_local else rows


def _fetch_events(
    context: Context, settings: Arango, span: tuple[int, int | None] | None
) -> Iterator[EventRow]:
    """Yield problems and the wanted events, after checking the labels of their plans."""
    documents = (
        arango_queries.events(settings, *span) if span else arango_queries.list_malformed_events(settings)
    )
    rows = event_rows(context, "", (read("progress", document) for document in documents))
    for batch in batched(rows, _EVENTS_PER_QUERY):
        keys = sorted({row.plan for row in batch if row.wanted and row.unlabelled and row.plan})
        wanted = context.spline.labels
        present = arango_queries.plan_labels(settings, keys, wanted, context.snapshot("")) if keys else {}
        unknown = sorted({row.plan for row in batch if row.append is None and row.wanted and row.plan})
        changing = arango_queries.row_level_plans(settings, unknown) if unknown else set()
        for row in batch:
            is_labelled = set(row.unlabelled or ()) <= present.get(row.plan or "", set())
            if row.problem or (row.wanted and is_labelled):
                yield row._replace(append=row.plan in changing) if row.append is None else row


def _select_plan(key: PlanKey, rows: list[tuple[PlanKey, object]]) -> Iterator[tuple[str, PlanFacts]]:
    facts = plan_facts(rows)
    if facts.selected:
        yield key[1], facts


def _fetch_plans(
    context: Context, settings: Arango, collections: frozenset[str], plans: Iterable[tuple[str, PlanFacts]]
) -> Iterator[TranslatedPlan]:
    facts = dict(plans)
    for key, documents in arango_queries.plans(settings, iter(facts), collections):
        plan, problems = assemble(key, documents, context.snapshot(""))
        yield from translate_plan(context, "", plan, facts[key], problems)


def _fetch_slice(
    context: Context, settings: Arango, collections: frozenset[str], number: int, offset: int
) -> Iterator[TranslatedPlan]:
    keys = arango_queries.plan_keys(settings, offset, number)
    return _fetch_plans(context, settings, collections, ((key, PlanFacts()) for key in keys))


def _spans(since: int, until: int, count: int) -> list[tuple[int, int]]:
    """Split `since` to `until` into about `count` spans."""
    step = max(1, ceil((until - since) / min(max(count, 1), MAX_SLICES)))
    return [(start, min(start + step, until)) for start in range(since, until, step)]
