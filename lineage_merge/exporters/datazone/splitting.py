"""Splits a run event that is larger than DataZone accepts into events that are valid each by itself.

An event means that all its inputs feed all its outputs. Every part has a subset of both, so no part adds an
edge; together they have all edges of the event: input to output, column to column, column to rows. The
schemas of the datasets are in every part if they leave half of the space, otherwise they are spread too.
Descriptions, owners and tags, which are no lineage, are left out if they do not leave half of it.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from openlineage.client.facet_v2 import parent_run
from openlineage.client.serde import Serde

from lineage_merge.exporters.datazone.assets import Json, name_of
from lineage_merge.exporters.openlineage.facets import PRODUCER
from lineage_merge.model.errors import ExportError

# Of `LineageEvent` in the service model, in bytes.
LIMIT = 300_000
# Longer than any number of a part: sizes are measured with it.
_LARGEST_NUMBER = 10**6


def encode(event: Json) -> bytes:
    """Return the bytes that are sent. Unpaired surrogates become question marks."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def split(event: Json, limit: int = LIMIT) -> list[Json]:
    """Return the event itself, or parts of it, each at most `limit` bytes when encoded.

    Parts after the first are runs of jobs of their own (`name.part2`), with the first as parent: facets of a
    later event of one run replace those of an earlier one. Raises `ExportError` if one edge is too large.
    """
    if len(encode(event)) <= limit:
        return [event]
    parts = _Splitting(_number(event, event, _LARGEST_NUMBER), limit).parts()
    return [_number(event, part, number) for number, part in enumerate(parts, 1)]


def _number(event: Json, part: Json, number: int) -> Json:
    """Return a part with the job and run of its number: the first has those of the event."""
    if number == 1:
        return {**part, "job": event["job"], "run": event["run"]}
    job, run = event["job"], event["run"]
    parent = parent_run.ParentRunFacet(
        parent_run.Run(run["runId"]), parent_run.Job(job["namespace"], job["name"]), producer=PRODUCER
    )
    own_run = str(uuid.uuid5(uuid.UUID(run["runId"]), str(number)))
    return {
        **part,
        "job": {**job, "name": f"{job['name']}.part{number}"},
        "run": {
            **run,
            "runId": own_run,
            "facets": {"parent": Serde.to_dict(parent), **run.get("facets", {})},
        },
    }


class _Atom(NamedTuple):
    """What one event must contain together, by index: an input and an output, and one edge or schema field.

    `edge`: of the output's `column` (no column: of the edges to its rows). `field`: of the input's schema if
    `of_input`, otherwise of the output's.
    """

    output: int
    input: int | None = None
    column: str | None = None
    edge: int | None = None
    field: int | None = None
    of_input: bool = False


_Unit = Sequence[_Atom]


class _Splitting:
    def __init__(self, event: Json, limit: int) -> None:
        self._event, self._limit = event, limit
        self._inputs: list[Json] = event.get("inputs") or []
        self._outputs: list[Json] = event.get("outputs") or []
        self._index = {name_of(dataset): index for index, dataset in enumerate(self._inputs)}
        self._repeats_schemas = self._leaves_half("columnLineage")
        self._repeats_texts = self._repeats_schemas or self._leaves_half("columnLineage", "schema")

    def _leaves_half(self, *facets: str) -> bool:
        """Whether the event without these facets of datasets leaves half of the space."""
        inputs, outputs = (
            [_drop_columns(dataset, *facets) for dataset in some] for some in (self._inputs, self._outputs)
        )
        return len(encode({**self._event, "inputs": inputs, "outputs": outputs})) <= self._limit // 2

    def parts(self) -> Iterator[Json]:
        units = list(self._units())
        if not units:
            raise self._too_large(self._event)
        return self._parts(units)

    def _parts(self, units: list[_Unit]) -> Iterator[Json]:
        """Halve by outputs and columns; only a column that is too large alone by its edges."""
        event = self._event_of([atom for unit in units for atom in unit])
        if len(encode(event)) <= self._limit:
            yield event
            return
        if len(units) == 1:
            units = [[atom] for atom in units[0]]
        if len(units) > 1:
            middle = len(units) // 2
            yield from self._parts(units[:middle])
            yield from self._parts(units[middle:])
            return
        event = self._event_of(units[0], edges_only=True)
        if len(encode(event)) > self._limit:
            raise self._too_large(event)
        yield event

    def _units(self) -> Iterator[_Unit]:
        for output, dataset in enumerate(self._outputs):
            yield from ([_Atom(output, index)] for index in range(len(self._inputs)))
            if not self._inputs:
                yield [_Atom(output)]
            lineage = _lineage(dataset)
            for column, value in lineage.get("fields", {}).items():
                sources = value.get("inputFields", ())
                yield list(self._edges(output, sources, column)) or [_Atom(output, column=column)]
            if rows := list(self._edges(output, lineage.get("dataset") or ())):
                yield rows
            if not self._repeats_schemas:
                yield from ([_Atom(output, field=field)] for field in range(len(_schema(dataset))))
        if self._outputs and not self._repeats_schemas:
            for index, dataset in enumerate(self._inputs):
                for field in range(len(_schema(dataset))):
                    yield [_Atom(0, index, field=field, of_input=True)]

    def _edges(self, output: int, sources: Sequence[Json], column: str | None = None) -> Iterator[_Atom]:
        for edge, source in enumerate(sources):
            yield _Atom(output, self._index.get(name_of(source)), column, edge)

    def _event_of(self, atoms: Iterable[_Atom], *, edges_only: bool = False) -> Json:
        inputs: dict[int, list[int]] = defaultdict(list)
        outputs: dict[int, list[_Atom]] = defaultdict(list)
        for atom in atoms:
            outputs[atom.output].append(atom)
            if atom.input is not None:
                inputs[atom.input] += [atom.field] if atom.of_input and atom.field is not None else []
        return {
            **self._event,
            "inputs": [
                self._dataset(self._inputs[index], fields, edges_only)
                for index, fields in sorted(inputs.items())
            ],
            "outputs": [
                self._output(self._outputs[index], contents, edges_only)
                for index, contents in sorted(outputs.items())
            ],
        }

    def _output(self, dataset: Json, atoms: Sequence[_Atom], edges_only: bool) -> Json:
        fields = [atom.field for atom in atoms if atom.field is not None and not atom.of_input]
        part = self._dataset(_drop_columns(dataset, "columnLineage"), fields, edges_only)
        whole = _lineage(dataset)
        columns: dict[str, list[Json]] = {}
        rows: list[Json] = []
        for atom in atoms:
            if atom.column is not None:
                sources = columns.setdefault(atom.column, [])
                if atom.edge is not None:
                    sources.append(whole["fields"][atom.column]["inputFields"][atom.edge])
            elif atom.edge is not None:
                rows.append(whole["dataset"][atom.edge])
        if columns or rows:
            lineage = {**whole, "fields": _select_sources(whole, columns)}
            lineage |= {"dataset": rows} if "dataset" in whole else {}
            part["facets"] = {**part.get("facets", {}), "columnLineage": lineage}
        return part

    def _dataset(self, dataset: Json, fields: Sequence[int], edges_only: bool) -> Json:
        facets = dict(dataset.get("facets", {}))
        if edges_only or not self._repeats_texts:
            retained = {"symlinks"} if edges_only else {"datasetType", "schema", "symlinks"}
            facets = {name: facet for name, facet in facets.items() if name in retained}
        if not self._repeats_schemas and (schema := facets.pop("schema", None)) and fields:
            facets["schema"] = {**schema, "fields": [schema["fields"][field] for field in fields]}
        return {**dataset, "facets": facets}

    def _too_large(self, event: Json) -> ExportError:
        job = self._event["job"]["name"].removesuffix(f".part{_LARGEST_NUMBER}")
        size = len(encode(event))
        return ExportError(f"{job}: one edge needs {size:,} bytes, the limit is {self._limit:,}")


def _select_sources(whole: Json, columns: Mapping[str, list[Json]]) -> Json:
    return {name: {**whole["fields"][name], "inputFields": sources} for name, sources in columns.items()}


def _lineage(dataset: Json) -> Json:
    lineage: Json = dataset.get("facets", {}).get("columnLineage", {})
    return lineage


def _schema(dataset: Json) -> list[Json]:
    fields: list[Json] = dataset.get("facets", {}).get("schema", {}).get("fields") or []
    return fields


def _drop_columns(dataset: Json, *facets: str) -> Json:
    others = {name: facet for name, facet in dataset.get("facets", {}).items() if name not in facets}
    return {**dataset, "facets": others}
