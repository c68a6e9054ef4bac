"""Reader of Spline's documents into records, and of exports; other inputs have readers of their own."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

from lineage_merge.config import Config
from lineage_merge.infra.batches import gather
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.run_selection import PlanKey, PlanLabels, RowLevelPlan
from lineage_merge.sources.spline import export, labels
from lineage_merge.sources.spline.agent.reader import agent_input
from lineage_merge.sources.spline.database_state import OPEN, VERSIONS, Snapshot, newest
from lineage_merge.sources.spline.document_rows import (
    Context,
    TranslatedPlan,
    convert_jobless,
    event_rows,
    plan_facts,
    translate_plan,
)
from lineage_merge.sources.spline.documents import (
    ROW_LEVEL,
    TRANSACTIONS,
    Document,
    decode,
    decode_lines,
    plan_key_of,
    plan_of,
    row_level_mode,
)
from lineage_merge.sources.spline.key_filter import share_filter
from lineage_merge.sources.spline.labels import Label
from lineage_merge.sources.spline.plan_selection import PlanInput, SelectedPlans, names_of, read_records
from lineage_merge.sources.spline.plan_texts import DocumentTexts, text_rows
from lineage_merge.sources.spline.settings import LINES, Capture, Spline
from lineage_merge.sources.unmatched_patterns import Names

# Smaller files contain no document: "[]", or an empty compressed file.
_EMPTY_BYTES = 60


def read_spline(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read everything about the selected applications, as records."""
    spline = config.of(Spline)
    if spline is None:
        return engine.empty()
    context = Context(spline, resolver, config.merge.collapse_run_local)
    if spline.arango:
        # The client's import takes longer than that of all other readers.
        from lineage_merge.sources.spline.arango_reader import arango_input

        return read_records(arango_input(engine, context, spline.arango))
    if spline.agent or spline.kafka:
        return read_records(agent_input(engine, context))
    return read_records(_export_input(engine, context))


def read_capture(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read everything about the selected applications from files of the listener, as records."""
    capture = config.of(Capture)
    if capture is None:
        return engine.empty()
    context = Context(capture.as_agent(), resolver, config.merge.collapse_run_local)
    return read_records(agent_input(engine, context, ("Spark listener", "files", LINES)))


@dataclass(frozen=True, kw_only=True)
class ExportInput(PlanInput):
    """Exported files, by collection."""

    parts: Mapping[str, list[export.Part]]

    def events(self) -> Rows[EventRow]:
        """Return the events in files of `progress`."""
        events = self._rows("progress").flat_map(partial(_read_events, self.context)).cache()
        unknown = events.filter(_may_be_row_level)
        if not unknown.is_empty():
            of_operations = self._rows("operation").flat_map(_row_level_plans)
            events = run_selection.with_row_level(events, of_operations)
        if not self.context.spline.labels:
            return events
        of_plans = self._rows("executionPlan").flat_map(partial(_plan_labels, self.context))
        return run_selection.check_labels(events, of_plans)

    def translate(self, plans: SelectedPlans) -> Rows[TranslatedPlan]:
        """Assemble the plans from the files of all collections."""
        collections = [name for name in self.parts if name != "progress"]
        size = line_files.estimate_unpacked_bytes(
            part.slice for name in collections for part in self.parts[name]
        )
        wanted = share_filter(plans, size, self.unrecorded)
        texts: Rows[Any] = self._rows(*collections).flat_map(partial(text_rows, wanted=wanted))
        translate = partial(_translate_texts, self.context, unrecorded=self.unrecorded)
        return texts.union(plans).group(itemgetter(0), translate)

    def application_names(self) -> Rows[Names]:
        """Return the names of plans in databases without events."""
        headers = [part for part in self.parts.get("executionPlan", ()) if part.database in self.unrecorded]
        return _part_rows(self.engine, headers).flat_map(_plan_names)

    def labels(self) -> Rows[Label]:
        """Return the labels in the files of plans and events."""
        return self._rows("progress", "executionPlan").flat_map(partial(_label_pairs, self.context))

    def _rows(self, *collections: str) -> Rows[export.Part]:
        return _part_rows(self.engine, [part for name in collections for part in self.parts.get(name, ())])


def _part_rows(engine: Engine, parts: list[export.Part]) -> Rows[export.Part]:
    """Distribute files over partitions of similar size; many small files share one."""
    return engine.rows(parts, line_files.tasks(engine, (part.slice for part in parts)))


def _export_input(engine: Engine, context: Context) -> ExportInput:
    parts = gather((part.collection, part) for part in export.find(context.spline.export))
    for database, versions in sorted(export.versions_of(parts.pop(VERSIONS, ())).items()):
        if versions.refusal:
            raise SourceError(f"{database}: {versions.refusal}" if database else versions.refusal)
    snapshots = _snapshots(engine, [part for name in TRANSACTIONS for part in parts.pop(name, ())])
    recorded = {part.database for part in parts["progress"] if part.slice.end > _EMPTY_BYTES}
    of_plans = {part.database for name in parts if name != "progress" for part in parts[name]}
    return ExportInput(
        engine=engine,
        context=replace(context, snapshots=snapshots),
        unrecorded=sorted(of_plans - recorded),
        parts=parts,
    )


def _snapshots(engine: Engine, parts: list[export.Part]) -> dict[str, Snapshot]:
    """Return the snapshot of each exported database, from its transaction files."""
    if not parts:
        return {}
    opened: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, int | None] = {}
    for database, key, number in _part_rows(engine, parts).flat_map(_transactions).collect():
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
    for document in export.valid_documents(part):
        if part.collection == OPEN:
            if document.get("_key"):
                yield part.database, str(document["_key"]), None
        elif (number := newest([document])) is not None:
            yield part.database, "", number


def _read_events(context: Context, part: export.Part) -> Iterator[EventRow]:
    documents = (
        text if isinstance(text, Problem) else decode("progress", text.text, part.database)
        for text in export.texts(part)
    )
    return event_rows(context, part.database, documents)


def _may_be_row_level(event: EventRow) -> bool:
    return event.append is None and not event.problem


def _row_level_plans(part: export.Part) -> Iterator[RowLevelPlan]:
    """Return the plans that change single rows of their target."""
    for text in export.texts(part):
        # Most operations are others, and need not be decoded.
        if isinstance(text, Problem) or not any(name in text.text for name in ROW_LEVEL):
            continue
        operation = decode("operation", text.text, part.database)
        if not isinstance(operation, Problem) and operation["type"] == "Write" and row_level_mode(operation):
            yield RowLevelPlan(part.database, plan_key_of("operation", operation))


def _plan_labels(context: Context, part: export.Part) -> Iterator[PlanLabels]:
    """Return the requested labels of plans."""
    for document in export.valid_documents(part):
        if not context.snapshot(part.database).hides(document):
            present = labels.present(context.spline.labels, document)
            if present:
                yield PlanLabels(part.database, plan_key_of("executionPlan", document), sorted(present))


def _plan_names(part: export.Part) -> Iterator[Names]:
    for document in export.valid_documents(part):
        yield from names_of(document.get("name"))


def _label_pairs(context: Context, part: export.Part) -> Iterator[Label]:
    for document in export.valid_documents(part):
        yield from sorted(labels.pairs(context.spline.labels, document))


def _translate_texts(
    context: Context, key: PlanKey, rows: list[tuple[PlanKey, object]], unrecorded: Collection[str]
) -> Iterator[TranslatedPlan]:
    database, plan = key
    problems = [row for _, row in rows if isinstance(row, Problem)]
    if problems:
        yield convert_jobless(context, database, "", problems)
        return
    facts = plan_facts(rows)
    if facts.selected is None and database not in unrecorded:
        return
    documents: dict[str, list[Document]] = defaultdict(list)
    for _, texts in rows:
        if isinstance(texts, DocumentTexts):
            for document in decode_lines(texts.collection, texts.text, database):
                if isinstance(document, Problem):
                    problems.append(document)
                else:
                    documents[texts.collection].append(document)
    translated = plan_of(plan, documents, context.snapshot(database))
    yield from translate_plan(context, database, translated, facts, problems)
