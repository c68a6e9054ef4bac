"""Elements of data sets of dashboard tools: views, their columns, and what these are computed from. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage.derive import Rows, derive_flows, derive_influences
from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.column_lineage.value_graph import Value
from lineage_merge.model.elements import (
    Authority,
    Column,
    Dataset,
    Element,
    Feeds,
    Job,
    JobKey,
    Problem,
    ProblemKind,
    Reference,
    Writes,
    column_properties,
)
from lineage_merge.naming import redact


class ColumnDescription(NamedTuple):
    """What a tool knows of a column."""

    data_type: str = ""
    description: str = ""


@dataclass(slots=True)
class DataSetLineage:
    """The columns of a data set with their values, what decides on its rows, and what it reads, by key.

    `problems`: each with the path of a field.
    """

    columns: list[tuple[str, Value[str]]] = field(default_factory=list)
    rows: Rows[str] = field(default_factory=Rows)
    reads: dict[str, Reference] = field(default_factory=dict)
    problems: list[tuple[ProblemKind, str, str]] = field(default_factory=list)


class Asset(NamedTuple):
    """A dashboard or data set of a tool, and what the tool calls it."""

    reference: Reference
    name: str

    @property
    def title(self) -> str:
        """``dashboard/Sales``: its name in place of its id."""
        # A secret is only recognized where it begins a text.
        return f"{self.reference.name.partition('/')[0]}/{redact(self.name)}"


def key_of(reference: Reference) -> str:
    """Return the key of an asset of a tool, which values name it by."""
    return f"{reference.namespace}|{reference.name}"


def job_of(job_type: str, reference: Reference) -> JobKey:
    """Return the job of an asset; its project is the asset's namespace."""
    return JobKey(job_type, f"{reference.namespace}/{reference.name.replace('/', '.')}")


def translate_lineage(
    asset: Asset,
    job: Job,
    description: str,
    lineage: DataSetLineage,
    described: Mapping[str, ColumnDescription],
    location: str,
) -> Iterator[Element]:
    """Yield the elements of a data set; `described`: columns by name."""
    reference = asset.reference
    properties = {"name": asset.name, "title": asset.title, "description": description}
    yield job
    yield Dataset(
        reference, Authority.BUILDER, "view", {key: text for key, text in properties.items() if text}
    )
    yield Writes(job.key, reference)
    for position, (name, _) in enumerate(lineage.columns):
        known = described.get(name, ColumnDescription())
        of_column = column_properties(known.data_type, known.description, position)
        yield Column(reference, name, Authority.BUILDER, {**of_column, "dataset_title": asset.title})
    for key in sorted(lineage.reads):
        yield Feeds(job.key, lineage.reads[key], reference)
    yield from lineage_elements(
        derive_flows(lineage.columns),
        derive_influences(lineage.rows),
        job.key,
        reference,
        lineage.reads.__getitem__,
    )
    for kind, path, message in lineage.problems:
        yield Problem(kind, location, redact(path), redact(message))
