"""The facet `lineage`: explicit inputs of each output, in place of all inputs to all outputs."""

from typing import Any

import pytest

from lineage_merge.model.elements import Feeds, FeedsColumn, Influences, Reference
from lineage_merge.sources.openlineage import translator
from lineage_merge.sources.openlineage.documents import check, cut_down
from lineage_merge.sources.openlineage.runs import Run, as_run, combine_events
from tests.sources.openlineage.made_events import Event, dataset, event

A, B = "s3://lake|a", "s3://lake|b"
ONE, TWO = "s3://mart|one", "s3://mart|two"


def entry(address: str, *inputs: Event, **fields: list[Event]) -> Event:
    """A target with inputs of the dataset, and of fields."""
    columns = {name: {"inputs": of_field} for name, of_field in fields.items()}
    return {**dataset(address), "type": "DATASET", "inputs": list(inputs), "fields": columns}


def source(address: str, field: str = "", subtype: str = "", description: str = "") -> Event:
    made: Event = {**dataset(address), "type": "DATASET"}
    if field:
        made["field"] = field
    if subtype:
        kind = "DIRECT" if subtype in ("IDENTITY", "AGGREGATION") else "INDIRECT"
        made["transformations"] = [{"type": kind, "subtype": subtype, "description": description}]
    return made


ENTRIES = [
    entry(
        ONE,
        source(A),
        source(B, "day", "FILTER"),
        total=[source(A, "price", "AGGREGATION", "sum(price)")],
    ),
    entry(TWO, source(B)),
]


def run_of(job: list[Event] | None = None, run: list[Event] | None = None, outputs: Any = (ONE, TWO)) -> Run:
    made = event(
        "COMPLETE",
        "06:01",
        inputs=[A, B],
        outputs=outputs,
        job_facets={"lineage": {"entries": job}} if job else {},
        run_facets={"lineage": {"lineage": run}} if run else {},
    )
    assert check(made, "events.json:1") is None
    return combine_events([cut_down(made)])


def _last(reference: Reference) -> str:
    return reference.name.rpartition("/")[2]


def edges(run: Run) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for key in translator.targets(run):
        for element in translator.translate(run, key):
            match element:
                case Feeds(source=start, target=end):
                    found.add((_last(start), _last(end)))
                case FeedsColumn():
                    found.add(
                        (
                            _last(element.source),
                            element.source_column,
                            _last(element.target),
                            element.target_column,
                            *element.transformations,
                            element.expression,
                        )
                    )
                case Influences():
                    found.add(
                        (
                            _last(element.source),
                            element.source_column,
                            _last(element.target),
                            *element.transformations,
                        )
                    )
    return found


EXPLICIT = {
    ("a", "one"),
    ("b", "one"),
    ("b", "two"),
    ("a", "price", "one", "total", "AGGREGATION", "sum(price)"),
    ("b", "day", "one", "FILTER"),
}


def test_without_the_facet_all_inputs_feed_all_outputs() -> None:
    assert edges(run_of()) == {(start, end) for start in "ab" for end in ("one", "two")}


@pytest.mark.parametrize("place", ["job", "run"])
def test_each_output_has_its_inputs_and_columns(place: str) -> None:
    assert edges(run_of(**{place: ENTRIES})) == EXPLICIT


def test_what_a_run_observed_replaces_what_its_job_declares() -> None:
    assert edges(run_of(job=[entry(ONE, source(B))], run=[entry(ONE, source(A))], outputs=(ONE,))) == {
        ("a", "one")
    }


def test_an_output_that_is_not_listed_or_has_no_inputs_has_no_source() -> None:
    assert edges(run_of(job=[entry(ONE)])) == set()


def test_an_output_that_only_the_facet_has_is_written() -> None:
    assert edges(run_of(job=ENTRIES, outputs=(ONE,))) == EXPLICIT


def test_jobs_as_ends_are_no_datasets() -> None:
    generator = {"type": "JOB", "namespace": "tests", "name": "generator"}
    sink = {"type": "JOB", "inputs": [source(A)]}
    assert edges(run_of(job=[entry(ONE, source(A), generator), sink], outputs=(ONE,))) == {("a", "one")}


def test_the_facet_of_a_static_job_counts() -> None:
    static = event(
        "COMPLETE", "06:01", inputs=[A, B], outputs=[ONE, TWO], job_facets={"lineage": {"entries": ENTRIES}}
    )
    assert (
        edges(as_run(cut_down({key: static[key] for key in static if key not in ("run", "eventType")})))
        == EXPLICIT
    )


def test_a_malformed_facet_is_rejected_with_its_path() -> None:
    made = event("COMPLETE", "06:01", outputs=[ONE], job_facets={"lineage": {"entries": [{"inputs": "a"}]}})
    problem = check(made, "events.json:1")
    assert problem is not None
    assert (problem.kind, problem.field) == ("rejected", "job.facets.lineage.entries[0].inputs")
