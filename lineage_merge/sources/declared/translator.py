"""Translation of declarations into elements. Pure."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date

from lineage_merge.model.elements import (
    Authority,
    Column,
    Count,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Job,
    JobKey,
    Problem,
    Scalar,
    Writes,
    column_properties,
    field_path,
)
from lineage_merge.naming.jobs import DECLARED
from lineage_merge.sources.declared.declarations import (
    DeclarationFile,
    DeclaredDataset,
    DeclaredEdge,
    Place,
    parse_place,
)


def translate(file: DeclarationFile, project: str, today: date) -> Iterator[Element]:
    """Yield the elements of a file. What has expired is reported, and does not count."""
    declarations, origins = file
    yield Count("declared edges", len(declarations.lineage))
    owners: defaultdict[JobKey, set[str]] = defaultdict(set)
    for number, edge in enumerate(declarations.lineage):
        key = f"lineage[{number}]"
        if edge.until and edge.until < today:
            what = f"{edge.source} to {edge.target}: the declaration expired on {edge.until}"
            yield Problem("skipped", origins.find_origin(key), key, what)
            continue
        job = JobKey(DECLARED, f"{project}/{edge.target.rpartition('#')[0] or edge.target}")
        by = edge.by or declarations.by
        owners[job].add(by)
        yield from _translate_edge(edge, by, job)
    for job, names in owners.items():
        yield Job(job, properties={"project": project}, sets={"owners": tuple(sorted(names))})
    for number, dataset in enumerate(declarations.datasets):
        key = f"datasets[{number}]"
        if dataset.until and dataset.until < today:
            what = f"{dataset.dataset}: the declaration expired on {dataset.until}"
            yield Problem("skipped", origins.find_origin(key), key, what)
        else:
            yield from _describe(dataset)


def _translate_edge(edge: DeclaredEdge, by: str, job: JobKey) -> Iterator[Element]:
    source, target = _place(edge.source), _place(edge.target)
    until = f" until {edge.until}" if edge.until else ""
    yield Feeds(job, source.dataset, target.dataset, {"declared": f"by {by}{until}: {edge.why}"})
    yield Writes(job, target.dataset)
    columns = {target.column: [source.column]} if target.column else {}
    for column, names in edge.columns.items():
        columns[field_path(*column.split("."))] = [field_path(*each.split(".")) for each in names]
    for target_column, source_columns in columns.items():
        # Of several columns something is computed.
        how = ("IDENTITY",) if len(source_columns) == 1 else ("TRANSFORMATION",)
        for name in source_columns:
            yield FeedsColumn(job, source.dataset, name, target.dataset, target_column, how)


def _describe(declared: DeclaredDataset) -> Iterator[Element]:
    dataset = _place(declared.dataset).dataset
    described: dict[str, Scalar] = {"description": declared.description} if declared.description else {}
    sets = {name: values for name, values in (("tags", declared.tags), ("owners", declared.owners)) if values}
    yield Dataset(dataset, Authority.CATALOG, declared.label, described, sets)
    for position, (name, column) in enumerate(declared.columns.items()):
        values = (("tags", column.tags), ("owners", column.owners))
        yield Column(
            dataset,
            field_path(*name.split(".")),
            Authority.CATALOG,
            column_properties(column.data_type, column.description, position),
            {key: value for key, value in values if value},
        )


def _place(text: str) -> Place:
    place = parse_place(text)
    if place is None:  # checked when the file was parsed
        raise ValueError(text)
    return place
