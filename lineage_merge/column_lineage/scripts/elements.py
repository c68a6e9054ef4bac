"""Elements of what a script creates and writes. Pure."""

from collections.abc import Iterator, Mapping

from lineage_merge.column_lineage.scripts.shapes import ShapeColumn
from lineage_merge.column_lineage.scripts.writes import Write
from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.model.elements import (
    Authority,
    Column,
    Dataset,
    Element,
    Feeds,
    JobKey,
    Reference,
    Scalar,
    Writes,
    column_properties,
)


def column_of(ref: Reference, column: ShapeColumn, position: int | None) -> Column[Reference]:
    """Return a column that a statement declares."""
    properties = column_properties(column.data_type, column.description, position)
    return Column(ref, column.name, Authority.BUILDER, properties)


def write_elements(
    write: Write, sequence: int | None, job: JobKey, references: Mapping[str, Reference]
) -> Iterator[Element]:
    """Yield the elements of a write; `sequence`: its position in the job, from 1 (None: unknown)."""
    target = references[write.target]
    yield Dataset(target, Authority.BUILDER, None if write.label == "file" else write.label)
    yield Writes(job, target)
    properties: dict[str, Scalar] = {} if sequence is None else {"sequence": sequence}
    if write.mode:
        properties["write_mode"] = write.mode
    for source, read in sorted(write.reads.items()):
        of_read: dict[str, Scalar] = {} if read.rows else {"reads": "metadata"}
        if read.columns_lost:
            of_read["column_lineage"] = "unavailable"
        yield Feeds(
            job,
            references[source],
            target,
            {**properties, **of_read},
            {"via": tuple(sorted(read.via))} if read.via else {},
        )
    authority = Authority.READER if write.assumed else Authority.BUILDER
    for name, _ in write.columns:
        yield Column(target, name, authority)
    yield from lineage_elements(
        *write.lineage(),
        job,
        target,
        references.__getitem__,
        assumed=write.is_assumed,
    )
