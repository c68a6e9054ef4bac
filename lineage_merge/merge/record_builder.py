"""Conversion of elements to records, in which references are ids.

Each worker converts what it translated, so that the merge joins and groups by id alone.

`row` creates every record and redacts its texts, so no source can pass on a secret of a document.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lineage_merge.infra.redaction import Redacted, redact, redact_sql
from lineage_merge.model.elements import (
    Alias,
    Assertion,
    Authority,
    Column,
    Count,
    Dataset,
    DatasetName,
    Element,
    Feeds,
    FeedsColumn,
    Follows,
    Influences,
    Job,
    JobKey,
    Operation,
    Problem,
    Reference,
    SuccessfulRuns,
    Writes,
    dataset_id,
    encode,
    path_of,
)
from lineage_merge.model.records import ASSUMED, Record

# SQL: `password = 'x'` is a comparison in it, and an expression can name a column.
_SQL = frozenset({"expression", "constraints"})


def row(
    kind: str,
    *,
    source: Redacted | None = None,
    target: Redacted | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    job: JobKey | None = None,
    label: str | None = None,
    authority: int | None = None,
    at: int | None = None,
    rule: str | None = None,
    properties: Mapping[str, Any] | None = None,
    sets: Mapping[str, Iterable[str]] | None = None,
    problem: tuple[str, str, str] | None = None,
) -> Record:
    """Return a record with redacted texts. `source` and `target` are ids of redacted names."""
    record = Record(
        kind,
        source,
        target,
        None if source_column is None else redact_sql(source_column),
        None if target_column is None else redact_sql(target_column),
        redact(job.job_type) if job else None,
        redact(job.name) if job else None,
        label,
        None if authority is None else int(authority),  # pickles as a plain number
        at,
        rule,
        _redacted(properties or {}, of_column=kind == "column"),
        {
            name: [redact_sql(value) if name in _SQL else redact(value) for value in values]
            for name, values in (sets or {}).items()
        },
        redact(problem[0]) if problem else None,
        redact(problem[1]) if problem else None,
        redact(problem[2]) if problem else None,
    )
    return record if _is_ascii(record) else _without_lone_surrogates(record)


def _redacted(properties: Mapping[str, Any], *, of_column: bool) -> dict[str, str]:
    texts: dict[str, str] = {
        name: redact_sql(str(value)) if of_column and name == "name" else redact(str(value))
        for name, value in properties.items()
    }
    # The short name is the end of the full name, without the context that identifies a secret.
    whole = texts.get("qualified_name")
    if whole is not None and "name" in texts and whole != properties["qualified_name"]:
        texts["name"] = redact(whole.rpartition(".")[2])
    return texts


def _is_ascii(record: Record) -> bool:
    texts = [each for each in record if type(each) is str]
    return (
        "".join(texts).isascii()
        and "".join(record.properties.values()).isascii()
        and all("".join(values).isascii() for values in record.sets.values())
    )


def _without_lone_surrogates(record: Record) -> Record:
    """Replace lone surrogates, which neither files nor graphs can store, by U+FFFD."""
    return Record._make(
        _replace_surrogates(each) if isinstance(each, str) else each for each in record
    )._replace(
        properties={name: _replace_surrogates(value) for name, value in record.properties.items()},
        sets={name: [_replace_surrogates(value) for value in values] for name, values in record.sets.items()},
    )


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


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
    label: str = ""
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
        self._introductions: list[Record] = []

    def records(self, element: Element) -> Iterator[Record]:
        """Yield the record of an element, after those about the datasets that it references first."""
        made = self._row(element)
        yield from self._introductions
        self._introductions.clear()
        if made is not None:
            yield made

    def _row(self, element: Element) -> Record | None:
        match element:
            case Dataset(ref, authority, label, properties, sets):
                target = self._id(ref)
                identity = self._identities[ref]
                # Only files have a format: a warehouse table has none, and the format of a
                # temporary file is not that of the table.
                if identity.rule or not identity.stored_as_files:
                    properties = {name: value for name, value in properties.items() if name != "format"}
                if not target:
                    return None
                return row(
                    "dataset",
                    target=target,
                    label=label,
                    authority=authority,
                    properties=properties,
                    sets=sets,
                )
            case Column(ref, name, authority, properties, sets):
                target = self._id(ref)
                return (
                    row(
                        "column",
                        target=target,
                        target_column=name,
                        authority=authority,
                        properties={**properties, "name": name},
                        sets=sets,
                    )
                    if target and name
                    else None
                )
            case FeedsColumn(
                job, source_ref, source_column, target_ref, target_column, transformations, text, assumed
            ):
                source, target = self._id(source_ref), self._id(target_ref)
                how = ASSUMED if assumed else "transformation"
                sets = {how: transformations, "expression": (text,) if text else ()}
                return (
                    row(
                        "feeds_column",
                        source=source,
                        source_column=source_column,
                        target=target,
                        target_column=target_column,
                        job=job,
                        sets=sets,
                    )
                    if source and target
                    else None
                )
            case Influences(job, source_ref, source_column, target_ref, transformations):
                source, target = self._id(source_ref), self._id(target_ref)
                return (
                    row(
                        "influences",
                        source=source,
                        source_column=source_column,
                        target=target,
                        job=job,
                        sets={"transformation": transformations},
                    )
                    if source and target
                    else None
                )
            case Operation(job, key, properties):
                return row("operation", source=redact(key), job=job, properties=properties)
            case Follows(job, operation, consumed):
                return row("follows", source=redact(operation), target=redact(consumed), job=job)
            case Feeds(job, source_ref, target_ref, properties, sets):
                source, target = self._id(source_ref), self._id(target_ref)
                return (
                    row("feeds", source=source, target=target, job=job, properties=properties, sets=sets)
                    if source and target
                    else None
                )
            case Writes(job, ref):
                target = self._id(ref)
                return row("writes", target=target, job=job) if target else None
            case Alias(ref, of, rule, assumed):
                source = self._id(ref)
                # An assumed dataset exists only if the alias is resolved to it.
                assumption = self._resolve(of) if assumed else None
                target = self._id(of) if assumption is None else self._id_of(assumption)
                if not source or not target or source == target:
                    return None
                shown = f"{'|'.join(self._identities[ref].name or ())} ({rule})"
                return row(
                    "alias",
                    source=source,
                    target=target,
                    authority=Authority.READER if assumed else Authority.CATALOG,
                    rule=rule,
                    properties=_properties_of_name(assumption) if assumption else None,
                    sets={"aliases": [shown]},
                )
            case Job(key, at, properties, sets):
                return row("job", job=key, at=at, properties=properties, sets=sets)
            case Assertion():
                return self._assertion(element)
            case Count(what, number):
                return row("count", rule=what, at=number)
            case SuccessfulRuns(key, number):
                return row("runs", job=key, at=number)
            case Problem(kind, document, field, message):
                return row("problem", rule=kind, problem=(document, field, message))

    def _assertion(self, assertion: Assertion) -> Record | None:
        target = self._id(assertion.target)
        if not target:
            return None
        return row(
            "assertion",
            source=redact(assertion.key),
            target=target,
            target_column=assertion.column or None,
            job=assertion.job,
            label=assertion.edge,
            at=assertion.at,
            properties=assertion.properties,
            sets=assertion.sets,
        )

    def _id(self, ref: Reference) -> Redacted | None:
        known = self._identities.get(ref)
        if known is None:
            known = self._identities[ref] = self._resolve(ref)
            self._introductions.extend(self._introduce(ref, known))
        return self._id_of(known)

    def _id_of(self, identity: Identity) -> Redacted | None:
        return self._dataset_id(identity.name) if identity.name else None

    def _dataset_id(self, name: DatasetName) -> Redacted:
        # Names are redacted already, and encoding them reveals nothing.
        return Redacted(dataset_id(self._environment, name))

    def _introduce(self, ref: Reference, identity: Identity) -> Iterator[Record]:
        """Yield the properties of a dataset's name, the rule that found it, and its problem."""
        if identity.problem:
            reference = f"{redact(ref.namespace)}|{redact(ref.name)}" if ref.namespace else ref.name
            yield row("problem", rule="not-joined", problem=(reference, "", identity.problem))
        if identity.name is None:
            return
        target = self._dataset_id(identity.name)
        sets = {"aliases": [f"{identity.alias} ({identity.rule})"]} if identity.rule else {}
        if identity.replaced:
            sets["resolved_names"] = [
                "|".join(map(encode, (each.rule, *each.name))) for each in identity.replaced
            ]
        yield row(
            "dataset",
            target=target,
            label=identity.label,
            authority=Authority.PLATFORM,
            properties=_properties_of_name(identity),
            sets=sets,
        )
        if identity.rule:
            yield row("joined", target=target, rule=identity.rule)
        for each in identity.replaced:
            source = self._dataset_id(each.name)
            yield row("resolved", source=source, target=target, rule=each.rule, at=int(each.everywhere))
        if identity.own:
            yield row("resolved", source=target, target=target, at=0)


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
