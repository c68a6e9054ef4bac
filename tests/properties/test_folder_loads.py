"""Loads into an embedded graph that compare columns end as those that compare every row."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load import graph_access
from lineage_merge.load.folder import plan_changes
from lineage_merge.load.result import LoadResult
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.errors import RetireRefused
from tests.made_merges import ALL, Made
from tests.snapshots import whole_folder

NAMES = st.sampled_from("abc")
TEXTS = st.sampled_from(["", "x", "y", 'quoted "\n', "\0"])
SETS = st.lists(st.sampled_from(["t", "u", "v", "t\x1eu"]), max_size=3)
LABELS = st.sampled_from(["table", "view", "file"])


@st.composite
def merges(draw: st.DrawFn) -> Made:
    """A merge of one of two DAGs that share datasets."""
    # Little that differs: what two merges have in common is to be compared.
    made = Made(draw(st.sampled_from(["daily", "daily", "weekly"])))
    for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        values: dict[str, Any] = {"description": draw(TEXTS), "tags": draw(SETS)}
        if draw(st.booleans()):
            values["location"] = f"s3://{name}"
        made.node(name, draw(LABELS), **values)
    made.column("a", "p", data_type=draw(TEXTS))
    operations, sequence = draw(st.sampled_from([None, "Filter"])), draw(st.integers(0, 1))
    flows = {"b": ["a"], **draw(st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=1))}
    made.job("spark", "load", flows, draw(st.integers(1, 3)), operations=operations, sequence=sequence)
    if draw(st.booleans()) and "dev|wh|a" in made.nodes:
        made.alias("old", "a")
    return made


@contextmanager
def every_row() -> Iterator[None]:
    """Compare every row, as without columns."""
    with patch.object(plan_changes, "_compare", lambda *_: None):
        yield


def load(folder: GraphFolder, made: Made, coverage: SourceCompleteness, allow: bool) -> LoadResult | str:
    try:
        return graph_access.update(
            made.merge(LocalEngine(), coverage), folder, "dev", made.dag, allow_retire=allow
        )
    except RetireRefused as error:
        return error.message


def described(result: LoadResult | str) -> Any:
    if isinstance(result, str):
        return result
    names = (
        "nodes",
        "edges",
        "unchanged",
        "retired_nodes",
        "retired_edges",
        "relabelled",
        "added",
        "effect",
        "moves",
    )
    return {name: getattr(result, name) for name in names}


def content(folder: GraphFolder) -> Any:
    return whole_folder(folder.path)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(merges(), st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_columns_and_rows_end_with_the_same_graph(loads: list[tuple[Made, bool, bool]]) -> None:
    with tempfile.TemporaryDirectory() as work:
        by_columns, by_rows = (GraphFolder(Path(work, name)) for name in ("columns", "rows"))
        for made, is_complete, allow in loads:
            coverage = ALL if is_complete else SourceCompleteness(runs=False, projects={})
            of_columns = load(by_columns, made, coverage, allow)
            with every_row():
                of_rows = load(by_rows, made, coverage, allow)
            assert described(of_columns) == described(of_rows)
            assert content(by_columns) == content(by_rows)
