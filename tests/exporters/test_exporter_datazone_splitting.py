"""Splitting of run events: every part is small and valid, and all of them have exactly the event's edges."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_merge.exporters.datazone.splitting import LIMIT, encode, split
from lineage_merge.exporters.openlineage.facets import PRODUCER
from lineage_merge.model.errors import ExportError
from tests.exporters.openlineage_schemas import problems

Json = dict[str, Any]
RUN = "5f0c1e5a-9f0d-5c07-a2a6-0d2f0f8f3c11"
FACETS = "https://openlineage.io/spec/facets"
# A part's frame without datasets has about 1,000 bytes.
SMALL = 3_000


def facet(schema: str, **values: Any) -> Json:
    return {"_producer": PRODUCER, "_schemaURL": f"{FACETS}/{schema}", **values}


def dataset(name: str, columns: Iterable[str] = (), **facets: Json) -> Json:
    fields = [{"name": column, "type": "string"} for column in columns]
    schema = facet("1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet", fields=fields)
    return {
        "namespace": "s3://lake",
        "name": name,
        "facets": {"schema": schema, **facets} if fields else facets,
    }


def source(name: str, column: str, expression: str = "") -> Json:
    change = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": expression}
    return {"namespace": "s3://lake", "name": name, "field": column, "transformations": [change]}


def lineage(fields: dict[str, list[Json]], rows: list[Json]) -> Json:
    return facet(
        "1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
        fields={name: {"inputFields": sources} for name, sources in fields.items()},
        dataset=rows,
    )


def event(inputs: list[Json], outputs: list[Json]) -> Json:
    return {
        "eventTime": "2026-11-21T12:00:00.000+00:00",
        "eventType": "COMPLETE",
        "producer": PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": RUN, "facets": {}},
        "job": {"namespace": "prod", "name": "daily.spark.load", "facets": {}},
        "inputs": inputs,
        "outputs": outputs,
    }


def edges(events: Iterable[Json]) -> set[tuple[str, ...]]:
    """Return all that the events state, other than texts: edges, and columns without a source."""
    found: set[tuple[str, ...]] = set()
    for each in events:
        for output in each["outputs"]:
            found |= {("feeds", into["name"], output["name"]) for into in each["inputs"]}
            facets = output["facets"].get("columnLineage", {})
            for column, value in facets.get("fields", {}).items():
                found.add(("column", output["name"], column))
                found |= {("to", output["name"], column, json.dumps(one)) for one in value["inputFields"]}
            found |= {("rows", output["name"], json.dumps(one)) for one in facets.get("dataset", ())}
    return found


def columns(events: Iterable[Json]) -> set[tuple[str, str]]:
    """Return the columns of all datasets."""
    return {
        (each["name"], field["name"])
        for one in events
        for each in (*one["inputs"], *one["outputs"])
        for field in each["facets"].get("schema", {}).get("fields", ())
    }


def check_parts(whole: Json, limit: int) -> list[Json]:
    parts = split(whole, limit)
    assert edges(parts) == edges([whole])
    assert columns(parts) == columns([whole])
    assert max(len(encode(part)) for part in parts) <= limit
    assert problems(parts[-1]) == []
    names = [(part["job"]["name"], part["run"]["runId"]) for part in parts]
    assert names[0] == ("daily.spark.load", RUN)
    assert len({job for job, _ in names}) == len({run for _, run in names}) == len(parts)
    return parts


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
NAMES = st.lists(TEXT, min_size=1, max_size=6, unique=True)


@st.composite
def events(draw: st.DrawFn) -> Json:
    inputs = [f"in{number}" for number in range(draw(st.integers(0, 3)))]
    known = {name: draw(NAMES) for name in inputs}
    sources = st.lists(
        st.builds(source, st.sampled_from([*inputs, "elsewhere"]), TEXT, st.text(max_size=300)), max_size=6
    )
    outputs = []
    for number in range(draw(st.integers(1, 2))):
        fields = {name: draw(sources) for name in draw(NAMES)}
        outputs.append(dataset(f"out{number}", fields, columnLineage=lineage(fields, draw(sources))))
    return event([dataset(name, known[name]) for name in inputs], outputs)


@given(events())
@settings(max_examples=40, deadline=None)
def test_parts_have_exactly_the_edges_of_the_event(whole: Json) -> None:
    check_parts(whole, SMALL)


def test_an_event_that_fits_is_unchanged() -> None:
    whole = event(
        [dataset("a", ["x"])], [dataset("b", ["y"], columnLineage=lineage({"y": [source("a", "x")]}, []))]
    )
    assert split(whole, len(encode(whole))) == [whole]
    assert len(split(whole, len(encode(whole)) - 1)) > 1


def test_a_wide_table_is_split_by_columns_and_each_column_stays_whole() -> None:
    wide = {f"column_{number}": [source("a", f"x{number}"), source("b", "k")] for number in range(3_000)}
    whole = event([dataset("a", ["x"]), dataset("b")], [dataset("c", columnLineage=lineage(wide, []))])
    parts = check_parts(whole, LIMIT)
    assert 3 <= len(parts) <= 5
    fields = [part["outputs"][0]["facets"].get("columnLineage", {"fields": {}})["fields"] for part in parts]
    assert sum(map(len, fields)) == 3_000


def test_a_column_with_too_many_sources_is_split_by_its_sources() -> None:
    many = {
        "total": [source("a", f"x{number}", "é" * 100) for number in range(2_000)],
        "key": [source("a", "k")],
    }
    rows = [source("a", f"filter{number}") for number in range(3_000)]
    whole = event([dataset("a")], [dataset("b", columnLineage=lineage(many, rows))])
    parts = check_parts(whole, LIMIT)
    fields = [part["outputs"][0]["facets"].get("columnLineage", {}).get("fields", {}) for part in parts]
    assert sum("total" in each for each in fields) > 1
    assert sum("key" in each for each in fields) == 1


def test_complete_schemas_are_in_every_part_unless_they_are_large() -> None:
    names = [f"column_{number}" for number in range(40)]
    fields = {name: [source("a", name, "x" * 200)] for name in names}
    whole = event([dataset("a")], [dataset("b", names, columnLineage=lineage(fields, []))])
    parts = check_parts(whole, 8_000)
    assert len(parts) > 1
    assert {len(part["outputs"][0]["facets"]["schema"]["fields"]) for part in parts} == {40}

    check_parts(event([dataset("a", names)], [dataset("b", names, columnLineage=lineage(fields, []))]), SMALL)


def test_long_descriptions_do_not_make_an_event_of_each_edge() -> None:
    schema = "1-1-0/DocumentationDatasetFacet.json#/$defs/DocumentationDatasetFacet"
    documentation = facet(schema, description="x" * 290_000)
    fields = {f"column_{number}": [source("a", f"x{number}")] for number in range(200)}
    output = dataset("b", columnLineage=lineage(fields, []))
    parts = check_parts(event([dataset("a", documentation=documentation)], [output]), LIMIT)
    assert len(parts) == 1


def test_a_text_that_is_too_large_is_left_out_and_an_edge_that_is_too_large_is_an_error() -> None:
    documentation = facet(
        "1-1-0/DocumentationDatasetFacet.json#/$defs/DocumentationDatasetFacet", description="x" * SMALL
    )
    whole = event([dataset("a", documentation=documentation)], [dataset("b")])
    (part,) = split(whole, SMALL)
    assert edges([part]) == {("feeds", "a", "b")}
    assert "documentation" not in part["inputs"][0]["facets"]

    large = lineage({"y": [source("a", "x" * SMALL)]}, [])
    with pytest.raises(
        ExportError, match=r"^daily\.spark\.load: one edge needs [\d,]+ bytes, the limit is 3,000$"
    ):
        split(event([dataset("a")], [dataset("b", columnLineage=large)]), SMALL)


def test_parts_have_the_first_as_parent() -> None:
    fields = {f"c{number}": [source("a", "x", "x" * 300)] for number in range(20)}
    first, *others = split(event([dataset("a")], [dataset("b", columnLineage=lineage(fields, []))]), SMALL)
    assert others
    for number, part in enumerate(others, 2):
        assert part["job"]["name"] == f"daily.spark.load.part{number}"
        assert part["run"]["facets"]["parent"]["run"]["runId"] == first["run"]["runId"]
        assert part["run"]["facets"]["parent"]["job"]["name"] == "daily.spark.load"
