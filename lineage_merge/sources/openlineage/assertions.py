"""Data quality assertions of runs (the facet `dataQualityAssertions`). Pure.

A malformed assertion is ignored. Expected and actual values are data and are not read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.model.elements import Assertion, Element, Reference, Scalar
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.facets import listed, mapping, text
from lineage_merge.sources.openlineage.jobs import job_of
from lineage_merge.sources.openlineage.runs import Run

_OF_EXPRESSIONS = frozenset("()'\"*/+,;=<>")


def assertions(run: Run) -> Iterator[Element]:
    """Yield the data quality assertions that a finished run reports about its inputs and outputs."""
    if run.at is None:
        return
    job_run = job_of(run)
    for key, dataset in (*run.inputs.items(), *run.outputs.items()):
        target = reference(*key, job_run.key.name)
        for group in ("inputFacets", "facets"):
            facets = mapping(dataset.get(group))
            for each in listed(mapping(facets.get("dataQualityAssertions")).get("assertions")):
                yield from _assertion(run, target, key, mapping(each))


def _assertion(
    run: Run, target: Reference, key: tuple[str, str], stated: Mapping[str, Any]
) -> Iterator[Assertion]:
    kind, column = text(stated.get("assertion")), text(stated.get("column"))
    if not kind or not isinstance(stated.get("success"), bool):
        return
    job_run, severity = job_of(run), text(stated.get("severity")).lower()
    failed = "warned" if severity == "warn" else "failed"
    given_name = text(stated.get("name"))
    properties: dict[str, Scalar] = {
        "name": given_name or f"{kind} {column}".rstrip(),
        "description": text(stated.get("description")),
        "assertion_type": kind,
        "column_name": column,
        "severity": severity if severity in ("error", "warn") else "",
        "status": "passed" if stated["success"] else failed,
        "last_run_id": job_run.shown_run_id,
        "last_run_at": run.at or 0,
        "project": job_run.project,
    }
    known = {name: value for name, value in properties.items() if value}
    # Tests of one kind, such as custom_sql, differ only in their names.
    name = ":".join(part for part in (f"{'|'.join(key)}#{column}", kind, given_name) if part)
    checked = "" if _OF_EXPRESSIONS.intersection(column) else column
    yield Assertion(job_run.key, target, checked, name, run.at or 0, properties=known)
