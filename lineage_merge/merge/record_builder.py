"""Conversion of elements to records, in which references are ids.

Each worker converts what it translated, so that the merge joins and groups by id alone.

`RecordBuilder` creates every record and redacts its texts, so no source can pass on a secret of a document.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.model.elements import (
    Alias,
    Assertion,
    Authority,
    Column,
    Count,
    Dataset,
    DatasetLabel,
    DatasetName,
    Element,
    Feeds,
    FeedsColumn,
    Follows,
    Influences,
    Job,
    JobKey,
    ObservedLog,
    Operation,
    Problem,
    Reference,
    Scalar,
    SuccessfulRuns,
    UnreadColumns,
    Writes,
    dataset_id,
    encode,
    path_of,
)
from lineage_merge.model.records import JoinedRecord, Record, ResolvedRecord


def _text(text: str) -> str:
    return _storable(redact(text))


def _column_text(text: str) -> str:
    # A column may be named by an expression: `password = 'x'` is a comparison in it.
    return _storable(redact_sql(text))


def _storable(text: str) -> str:
    """Replace lone surrogates, which neither files nor graphs can store, by U+FFFD."""
    return (
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def _properties(properties: Mapping[str, Scalar]) -> dict[str, Scalar]:
    texts: dict[str, Scalar] = {name: _text(str(value)) for name, value in properties.items()}
    # The short name is the end of the full name, without the context that identifies a secret.
    whole = texts.get("qualified_name")
    if whole is not None and "name" in texts and whole != properties["qualified_name"]:
        texts["name"] = _text(str(whole).rpartition(".")[2])
    return texts


def _sets(sets: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {
        name: [*map(_column_text if name == "constraints" else _text, values)]  # constraints are SQL
        for name, values in sets.items()
    }


class ReplacedName(NamedTuple):
    """A name that a reference would have without one part of the configuration, `rule`.

    `everywhere`: all references to the name are replaced, in every DAG.
    """

    name: DatasetName
    rule: str
    everywhere: bool = False


class Identity(NamedTuple):
    """The dataset that a reference resolves to.

    `name` is None if it names no dataset; `problem` is the reason. `rule` is the rule that matched it, ""
    if none did; `alias` is then the name that the rule replaced. `problem` with a name: the dataset has
    its own name, but the table that it represents is unknown. `replaced` are the names that the
    configuration replaced by `name`; `own`: a location under its own name, without a rule.
    """

    name: DatasetName | None
    short_name: str = ""
    label: DatasetLabel | None = None
    stored_as_files: bool = False
    rule: str = ""
    alias: str = ""
    problem: str = ""
    replaced: tuple[ReplacedName, ...] = ()
    own: bool = False


class RecordBuilder:
    """Builds records; resolves each reference once."""

    def __init__(self, environment: str, resolve: Callable[[Reference], Identity]) -> None:
        self._environment = environment
        self._resolve = resolve
        self._identities: dict[Reference, Identity] = {}
        self._ids: dict[Reference, str | None] = {}
        self._jobs: dict[JobKey, JobKey] = {}
        self._introductions: list[Record] = []

    def records(self, element: Element) -> Iterator[Record]:
        """Yield the record of an element, after those about the datasets that it references first."""
        record = self._record(element)
        yield from self._introductions
        self._introductions.clear()
        if record is not None:
            yield record

    def _record(self, element: Element) -> Record | None:
        match element:
            case Dataset(ref, authority, label, properties, sets) if dataset := self._id(ref):
                identity = self._identities[ref]
                # Only files have a format: a warehouse table has none, and the format of a
                # temporary file is not that of the table.
                if identity.rule or not identity.stored_as_files:
                    properties = {name: value for name, value in properties.items() if name != "format"}
                # A plain number pickles faster.
                return Dataset(dataset, int(authority), label, _properties(properties), _sets(sets))
            case Column(ref, name, authority, properties, sets) if (dataset := self._id(ref)) and name:
                text = _column_text(name)
                return Column(dataset, text, int(authority), _properties(properties), _sets(sets))
            case FeedsColumn(job, start, source_column, end, target_column, how, text, assumed) if (
                ends := self._ends(start, end)
            ):
                columns = _column_text(source_column), _column_text(target_column)
                text = _column_text(text) if text else ""
                return FeedsColumn(
                    self._job(job), ends[0], columns[0], ends[1], columns[1], how, text, assumed
                )
            case Influences(job, start, source_column, end, how, assumed) if ends := self._ends(start, end):
                return Influences(self._job(job), ends[0], _column_text(source_column), ends[1], how, assumed)
            case ObservedLog():
                return element._replace(namespace=_text(element.namespace))
            case Operation(job, key, properties):
                return Operation(self._job(job), _text(key), _properties(properties))
            case Follows(job, operation, consumed):
                return Follows(self._job(job), _text(operation), _text(consumed))
            case Feeds(job, start, end, properties, sets) if ends := self._ends(start, end):
                return Feeds(self._job(job), *ends, _properties(properties), _sets(sets))
            case Writes(job, ref) if target := self._id(ref):
                return Writes(self._job(job), target)
            case Alias():
                return self._alias(element)
            case Job(key, at, properties, sets):
                return Job(self._job(key), at, _properties(properties), _sets(sets))
            case Assertion(job, ref, name, key, at, edge, properties, sets) if target := self._id(ref):
                texts = _column_text(name) if name else "", _text(key)
                return Assertion(
                    self._job(job), target, *texts, at, edge, _properties(properties), _sets(sets)
                )
            case Count():
                return element
            case SuccessfulRuns() | UnreadColumns():
                return element._replace(job=self._job(element.job))
            case Problem(kind, document, field, message):
                return Problem(kind, _text(document), _text(field), _text(message))
        return None

    def _ends(self, source: Reference, target: Reference) -> tuple[str, str] | None:
        """Return the ids of two datasets, if both are resolved; both are introduced."""
        start, end = self._id(source), self._id(target)
        return (start, end) if start and end else None

    def _alias(self, alias: Alias[Reference]) -> Alias[str] | None:
        alias_id = self._id(alias.ref)
        # An assumed dataset exists only if the alias is resolved to it.
        assumption = self._resolve(alias.of) if alias.assumed else None
        dataset = self._id(alias.of) if assumption is None else self._id_of(assumption)
        if not alias_id or not dataset or alias_id == dataset:
            return None
        text = _text(f"{'|'.join(self._identities[alias.ref].name or ())} ({alias.rule})")
        properties = _properties(_properties_of_name(assumption)) if assumption else {}
        rule, of_dataset = _storable(alias.rule), tuple(properties.items())
        return Alias(alias_id, dataset, rule, alias.assumed, text, of_dataset)

    def _job(self, job: JobKey) -> JobKey:
        # One object per job: a batch of records is pickled with one copy of it.
        redacted = self._jobs.get(job)
        if redacted is None:
            redacted = self._jobs[job] = JobKey(_text(job.job_type), _text(job.name))
        return redacted

    def _id(self, ref: Reference) -> str | None:
        if ref not in self._ids:
            identity = self._identities[ref] = self._resolve(ref)
            self._ids[ref] = self._id_of(identity)
            self._introductions.extend(self._introduce(ref, identity))
        return self._ids[ref]

    def _id_of(self, identity: Identity) -> str | None:
        return self._dataset_id(identity.name) if identity.name else None

    def _dataset_id(self, name: DatasetName) -> str:
        # Names are redacted already, and encoding them reveals nothing.
        return _storable(dataset_id(self._environment, name))

    def _introduce(self, ref: Reference, identity: Identity) -> Iterator[Record]:
        """Yield the properties of a dataset's name, the rule that found it, and its problem."""
        if identity.problem:
            reference = f"{redact(ref.namespace)}|{redact(ref.name)}" if ref.namespace else ref.name
            yield Problem("not-joined", _text(reference), "", _text(identity.problem))
        dataset = self._ids[ref]
        if dataset is None:
            return
        sets = {"aliases": [f"{identity.alias} ({identity.rule})"]} if identity.rule else {}
        if identity.replaced:
            sets["resolved_names"] = [
                "|".join(map(encode, (replaced.rule, *replaced.name))) for replaced in identity.replaced
            ]
        properties = _properties(_properties_of_name(identity))
        yield Dataset(dataset, int(Authority.PLATFORM), identity.label, properties, _sets(sets))
        if identity.rule:
            yield JoinedRecord(dataset, _storable(identity.rule))
        for replaced in identity.replaced:
            yield ResolvedRecord(self._dataset_id(replaced.name), dataset, replaced.everywhere)
        if identity.own:
            yield ResolvedRecord(dataset, dataset, is_everywhere=False)


def _properties_of_name(identity: Identity) -> dict[str, str]:
    """Return the properties of a dataset that follow from its name."""
    if identity.name is None:
        return {}
    properties = {
        "name": identity.short_name,
        "namespace": identity.name.namespace,
        "qualified_name": identity.name.name,
    }
    if identity.label == "file":  # the location of a catalog's table is not part of its name
        properties["location"] = path_of(identity.name)
    return properties
