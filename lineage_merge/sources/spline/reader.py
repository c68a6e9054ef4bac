"""Reader of Spline's documents into records, distributed by the engine: exports here, other inputs elsewhere.

All inputs share the same steps: write events are rows, run selection picks those to use, and each selected
plan is assembled and translated where its documents were fetched.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, replace
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.run_selection import PlanKey, PlanLabels
from lineage_merge.sources.source import Resolver
from lineage_merge.sources.spline import export, key_filter, labels
from lineage_merge.sources.spline.agent.reader import read_agent
from lineage_merge.sources.spline.arango_reader import read_arango
from lineage_merge.sources.spline.documents import (
    TRANSACTIONS,
    Document,
    check,
    parse,
    plan_key,
    plan_key_of,
    rejected,
)
from lineage_merge.sources.spline.events import event_rows
from lineage_merge.sources.spline.key_filter import KeyFilter
from lineage_merge.sources.spline.plans import (
    Context,
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
from lineage_merge.sources.spline.transactions import OPEN, Snapshot, newest
from lineage_merge.sources.spline.unmatched_labels import Label
from lineage_merge.sources.spline.versions import COLLECTION as VERSION
from lineage_merge.sources.spline.versions import Versions
from lineage_merge.sources.unmatched_patterns import Names

Passes = Callable[[str, str], bool]


class Texts(NamedTuple):
    """Documents of a plan, one per line."""

    collection: str
    text: str


# Smaller files contain no document: "[]", or an empty compressed file.
_EMPTY_BYTES = 60
# Size in characters at which a row of documents is complete.
_MAX_CHARACTERS = 1 << 20
# Prefix of a plan's key if the row is a problem instead of documents.
_PROBLEM = "!"


def read_spline(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read everything about the selected applications, as records."""
    spline = config.of(Spline)
    if spline is None:
        return engine.empty()
    context = Context(spline, resolver, config.merge.collapse_run_local)
    if spline.arango:
        return read_arango(engine, context, spline.arango)
    if spline.agent or spline.kafka:
        return read_agent(engine, context)
    return _read_export(engine, context)


# Exported files


def _read_export(engine: Engine, context: Context) -> Rows[Record]:
    by_collection: dict[str, list[export.Part]] = defaultdict(list)
    for part in export.find(context.spline.export):
        by_collection[part.collection].append(part)
    _reject_old(export.versions_of(by_collection.pop(VERSION, ())))
    transactions = [part for name in TRANSACTIONS for part in by_collection.pop(name, ())]
    context = replace(context, snapshots=_snapshots(engine, transactions))

    events = _parts(engine, by_collection["progress"]).flat_map(partial(_read_events, context))
    if context.spline.labels:
        plan_documents = _parts(engine, by_collection["executionPlan"])
        events = run_selection.labelled(events, plan_documents.flat_map(partial(_plan_labels, context)))
    events = events.cache()
    recent_events = run_selection.within_lookback(events, context.spline.runs, context.spline.lookback)
    selected = run_selection.select_writes(recent_events, context.spline.runs)

    plan_parts = [part for name, parts in by_collection.items() if name != "progress" for part in parts]
    recorded = {part.database for part in by_collection["progress"] if part.slice.end > _EMPTY_BYTES}
    unrecorded = sorted({part.database for part in plan_parts} - recorded)
    plans = selected_plans(context, recent_events, selected)
    read_texts: Callable[[export.Part], Iterator[tuple[PlanKey, Texts]]] = _text_rows
    if line_files.unpacked_bytes(part.slice for part in plan_parts) > key_filter.WORTH_BYTES:
        wanted = engine.share(key_filter.build_filter(plans.map(_key), unrecorded))
        read_texts = partial(_wanted_text_rows, wanted=wanted)
    texts: Rows[Any] = _parts(engine, plan_parts).flat_map(read_texts)
    translate = partial(_translate_texts, context, unrecorded=frozenset(unrecorded))
    translated = texts.union(plans).group(_key, translate)
    notices: list[Problem] = []
    if context.spline.applications:
        headers = [part for part in by_collection["executionPlan"] if part.database in unrecorded]
        unrecorded_names = _parts(engine, headers).flat_map(_plan_names)
        recent = recent_events.flat_map(event_names).union(unrecorded_names)
        notices = unmatched_applications(
            context.spline, recent, lambda: events.flat_map(event_names).union(unrecorded_names)
        )
    labelled = [*by_collection["progress"], *by_collection["executionPlan"]]
    return combined(
        context,
        events,
        recent_events,
        selected,
        translated,
        unrecorded,
        notices,
        lambda: _parts(engine, labelled).flat_map(partial(_label_pairs, context)),
    )


def _read_events(context: Context, part: export.Part) -> Iterator[EventRow]:
    return event_rows(part.database, _parsed(part), context.wanted(), context.snapshot(part.database))


def _reject_old(versions: Mapping[str, Versions]) -> None:
    for database, each in sorted(versions.items()):
        if each.refusal:
            raise SourceError(f"{database}: {each.refusal}" if database else each.refusal)


def _parsed(part: export.Part) -> Iterator[Document | Problem]:
    for text in export.texts(part):
        if isinstance(text, Problem):
            yield text
        else:
            yield parse(part.collection, text.text, part.database)


def _snapshots(engine: Engine, parts: list[export.Part]) -> dict[str, Snapshot]:
    """Return the snapshot of each exported database, from its transaction files."""
    if not parts:
        return {}
    opened: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, int | None] = {}
    for database, key, number in _parts(engine, parts).flat_map(_transactions).collect():
        if number is None:
            opened[database].add(key)
        else:
            numbers[database] = max(number, numbers.get(database) or 0)
    return {
        database: Snapshot(frozenset(opened[database]), numbers.get(database))
        for database in {*opened, *numbers}
    }


def _transactions(part: export.Part) -> Iterator[tuple[str, str, int | None]]:
    """Return the keys of open transactions, or the number of the newest one."""
    for document in _parsed(part):
        if isinstance(document, Problem):
            continue
        if part.collection == OPEN:
            if document.get("_key"):
                yield part.database, str(document["_key"]), None
        elif (number := newest([document])) is not None:
            yield part.database, "", number


def _every(_database: str, _plan: str) -> bool:
    return True


def _wanted_text_rows(part: export.Part, wanted: Shared[KeyFilter]) -> Iterator[tuple[PlanKey, Texts]]:
    return _text_rows(part, wanted.value.passes)


def _text_rows(part: export.Part, passes: Passes = _every) -> Iterator[tuple[PlanKey, Texts]]:
    """Yield the documents of plans; consecutive documents of a plan share a row."""
    texts: list[str] = []
    size = 0
    plan = ""
    is_wanted = False
    for text in export.texts(part):
        if isinstance(text, Problem):
            yield _problem_row(part, text)
            continue
        key = plan_key(part.collection, text.text)
        if not key:
            yield _problem_row(part, _of_no_plan(part, text))
            continue
        if key != plan or size > _MAX_CHARACTERS:
            if texts:
                yield (part.database, plan), Texts(part.collection, "\n".join(texts))
            texts, size, plan = [], 0, key
            is_wanted = passes(part.database, plan)
        if is_wanted:
            texts.append(text.text)
            size += len(text.text)
    if texts:
        yield (part.database, plan), Texts(part.collection, "\n".join(texts))


def _problem_row(part: export.Part, problem: Problem) -> tuple[PlanKey, Texts]:
    return (part.database, _PROBLEM + problem.document), Texts(_PROBLEM, json.dumps(astuple(problem)))


def _of_no_plan(part: export.Part, found: export.Text) -> Problem:
    """Return why the plan of a document is unknown."""
    parsed = parse(part.collection, found.text, part.database)
    if isinstance(parsed, Problem):
        return rejected(found.location, "", parsed.message, part.database)
    wrong = check(part.collection, parsed)
    if wrong:
        return rejected(found.location, wrong.field, wrong.message, part.database)
    return rejected(found.location, "_belongsTo", "the document refers to no plan", part.database)


def _key(row: tuple[PlanKey, object]) -> PlanKey:
    return row[0]


def _translate_texts(
    context: Context, key: PlanKey, rows: list[tuple[PlanKey, object]], unrecorded: frozenset[str]
) -> Iterator[Translated]:
    database, plan = key
    texts = [each for _, each in rows if isinstance(each, Texts)]
    if plan.startswith(_PROBLEM):
        yield of_plan(context, database, "", (Problem(*json.loads(row.text)) for row in texts))
        return
    known = plan_facts(each for _, each in rows)
    if known.selected is None and database not in unrecorded:
        return
    documents: dict[str, list[Document]] = defaultdict(list)
    problems: list[Problem] = []
    for collection, text in texts:
        for line in text.split("\n"):
            document = parse(collection, line, database)
            if isinstance(document, Problem):
                problems.append(document)
            else:
                documents[collection].append(document)
    yield from translate_plan(context, database, plan, documents, known, problems)


def _plan_labels(context: Context, part: export.Part) -> Iterator[PlanLabels]:
    """Return the requested labels of plans."""
    for document in _parsed(part):
        if not isinstance(document, Problem) and not context.snapshot(part.database).hides(document):
            found = labels.of_plan(context.spline.labels, document)
            if found:
                yield PlanLabels(part.database, plan_key_of("executionPlan", document), sorted(found))


def _plan_names(part: export.Part) -> Iterator[Names]:
    for document in _parsed(part):
        if not isinstance(document, Problem) and isinstance(document.get("name"), str):
            yield from names_of(document["name"])


def _label_pairs(context: Context, part: export.Part) -> Iterator[Label]:
    for document in _parsed(part):
        if not isinstance(document, Problem):
            yield from sorted(labels.pairs(context.spline.labels, document))


def _parts(engine: Engine, parts: list[export.Part]) -> Rows[export.Part]:
    """Distribute files over partitions of similar size; many small files share one."""
    return engine.rows(parts, line_files.tasks(engine, (part.slice for part in parts)))
