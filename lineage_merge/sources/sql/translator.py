"""Translation of the lineage of SQL files into `lineage_merge.model.elements`. Pure."""

from collections.abc import Iterator

from lineage_merge.column_lineage.scripts.elements import column_of, write_elements
from lineage_merge.column_lineage.scripts.project import ProjectLineage
from lineage_merge.column_lineage.scripts.shapes import NOTHING
from lineage_merge.column_lineage.scripts.writes import Note
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Dataset,
    Element,
    Job,
    JobKey,
    Problem,
    Scalar,
)
from lineage_merge.naming import redact

JOB_TYPE = "sql"
# Name of the rule on vertices and in reports: a table and the path of its files are one dataset.
LOCATION_RULE = "sql-location"


def translate(lineage: ProjectLineage, project: str, dialect: str, location: str) -> Iterator[Element]:
    """Yield the elements of a folder's files; each file that writes is a job.

    `location` is the folder, which precedes the files' names in problems.
    """
    references = lineage.datasets.references
    for file in lineage.files:
        yield from (problem(note, file.name, location) for note in file.notes)
        job = job_key(project, file.name)
        if file.writes:
            yield Job(job, properties={"framework": dialect, "project": project})
        for created in file.created:
            ref = references[created.key]
            yield Dataset(ref, Authority.BUILDER, created.label)
            for at, column in enumerate(lineage.shapes.get(created.key, NOTHING).columns):
                yield column_of(ref, column, at if lineage.shapes[created.key].complete else None)
        for sequence, write in enumerate(file.writes, 1):
            yield from write_elements(write, sequence, job, references)
    referenced = _list_referenced(lineage)
    for key, path in lineage.locations.items():
        if key in referenced:
            table = references[key]
            called: dict[str, Scalar] = {"qualified_name": table.name, "name": table.name.rpartition(".")[2]}
            yield Dataset(references[path], Authority.BUILDER, "table", called)
            yield Alias(table, references[path], LOCATION_RULE)


def job_key(project: str, file: str) -> JobKey:
    """Return the job of a file: its path, with the folder's name first."""
    return JobKey(JOB_TYPE, f"{project}/{file}")


def problem(note: Note, file: str, location: str) -> Problem:
    """Return a note on a statement as a problem, with file and line."""
    return Problem(note.kind, f"{location.rstrip('/')}/{file}", f"line {note.line}", redact(note.message))


def _list_referenced(lineage: ProjectLineage) -> set[str]:
    return {
        key
        for file in lineage.files
        for key in (
            *(created.key for created in file.created),
            *(end for write in file.writes for end in (write.target, *write.reads)),
        )
    }
