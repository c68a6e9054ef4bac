"""Tests and source freshness of a dbt project, with their last results, as `lineage_merge.model.elements`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lineage_merge.model.elements import Assertion, Element, Problem, Reference, Scalar
from lineage_merge.sources.dbt.declared_tests import FRESHNESS, DeclaredTest, Freshness
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.metadata import plain_column
from lineage_merge.sources.dbt.nodes import Manifest, Node
from lineage_merge.sources.dbt.order import find_behind
from lineage_merge.sources.dbt.run_results import NodeRun, RunResults
from lineage_merge.sources.dbt.source_freshness import FreshnessResults, FreshnessRun


def assertion_elements(
    manifest: Manifest,
    references: Mapping[str, Reference],
    results: Sequence[RunResults],
    freshness: FreshnessResults,
    jobs: Jobs,
    location: str,
) -> Iterator[Element]:
    """Yield the tests of a project and the freshness checks of its sources.

    `references` are the datasets of the nodes by unique id; `location` names the manifest in problems.
    """
    runs = _newest(results)
    without_dataset = 0
    for test in manifest.tests:
        checked = find_checked(manifest, references, test)
        without_dataset += not checked
        properties = _describe_test(manifest, test, runs.get(test.unique_id))
        at = int(properties.get("last_run_at") or manifest.generated_at)
        sets = {"tags": test.tags, "owners": test.owners}
        job = jobs.key(test.unique_id)
        for unique_id, column in checked.items():
            yield Assertion(job, references[unique_id], column, at=at, properties=properties, sets=sets)
        other, column = test.references or ("", "")
        if checked and other in references:
            yield Assertion(
                job, references[other], column, at=at, edge="references", properties=properties, sets=sets
            )
    if without_dataset:
        what = f"{without_dataset} {'test checks' if without_dataset == 1 else 'tests check'}"
        why = f"{what} no dataset of the graph (ephemeral models without sources): left out"
        yield Problem("notice", location, "nodes", why)
    for unique_id, node in manifest.nodes.items():
        run = freshness.runs.get(unique_id)
        if node.kind == "source" and (node.freshness.is_checked or run):
            properties = _describe_source(manifest, node, run, freshness.invocation_id)
            at = run.at if run else manifest.generated_at
            yield Assertion(
                jobs.key(unique_id), references[unique_id], key=FRESHNESS, at=at, properties=properties
            )


def find_checked(
    manifest: Manifest, references: Mapping[str, Reference], test: DeclaredTest
) -> dict[str, str]:
    """Return the datasets that a test checks by unique id, each with the column ("": the whole dataset).

    A test of an ephemeral model reads, and so checks, the datasets behind the model.
    """
    checked = {
        unique_id: _column(test.column, manifest.nodes.get(unique_id))
        for unique_id in test.checks
        if unique_id in references
    }
    for unique_id in test.checks:
        node = manifest.nodes.get(unique_id)
        if node is not None and node.folded:
            for parent, _ in find_behind(manifest.nodes, node):
                if parent in references:
                    checked.setdefault(parent, "")
    return checked


def _column(name: str, node: Node | None) -> str:
    """Return the column or field that a test names, "" for an expression."""
    declared = node.code.columns if node is not None else ()
    return name if "." in name and any(column.name == name for column in declared) else plain_column(name)


class _Run(NamedTuple):
    """The newest run of a test, and its invocation."""

    run: NodeRun
    invocation_id: str


def _newest(results: Sequence[RunResults]) -> dict[str, _Run]:
    """Return the newest run of each test."""
    latest: dict[str, _Run] = {}
    for result in results:
        for unique_id, run in result.tests.items():
            known = latest.get(unique_id)
            if known is None or known.run.at < run.at:
                latest[unique_id] = _Run(run, result.invocation_id)
    return latest


def _describe_test(manifest: Manifest, test: DeclaredTest, newest: _Run | None) -> dict[str, Scalar]:
    known: dict[str, Scalar | None] = {
        "name": test.name,
        "assertion_type": test.type,
        "column_name": test.column,
        "severity": test.severity,
        "description": test.description,
        "file_path": test.file_path,
        **_describe_project(manifest),
    }
    if newest is not None:
        known |= {
            "status": newest.run.status,
            "last_run_at": newest.run.at,
            "last_run_id": newest.invocation_id,
            "duration_ms": newest.run.duration_ms,
            "failures": newest.run.failures,
        }
    return _drop_unknown(known)


def _describe_source(
    manifest: Manifest, node: Node, run: FreshnessRun | None, invocation_id: str
) -> dict[str, Scalar]:
    limits = node.freshness
    if run is not None and not limits.is_checked:
        limits = run.criteria
    known: dict[str, Scalar | None] = {
        # ``freshness.crm.customers``, from the unique id ``source.shop.crm.customers``
        "name": ".".join([FRESHNESS, *node.unique_id.split(".")[2:]]),
        "assertion_type": FRESHNESS,
        "column_name": node.freshness.loaded_at,
        "severity": _severity(limits),
        "warn_after_ms": limits.warn_after_ms,
        "error_after_ms": limits.error_after_ms,
        **_describe_project(manifest),
    }
    if run is not None:
        known |= {
            "status": run.status,
            "last_run_at": run.at,
            "last_run_id": invocation_id,
            "duration_ms": run.duration_ms,
            "max_loaded_at": run.max_loaded_at,
        }
    return _drop_unknown(known)


def _severity(limits: Freshness) -> str:
    if limits.error_after_ms is not None:
        return "error"
    return "warn" if limits.warn_after_ms is not None else ""


def _describe_project(manifest: Manifest) -> dict[str, Scalar | None]:
    return {"project": manifest.project, "described_at": manifest.generated_at or None}


def _drop_unknown(properties: Mapping[str, Scalar | None]) -> dict[str, Scalar]:
    return {name: value for name, value in properties.items() if value is not None and value != ""}
