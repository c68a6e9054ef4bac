"""Which executions Spark reports of one write."""

import pytest

from lineage_merge.model.elements import Reference
from lineage_merge.spark_capture.listener.nested_writes import is_part_of, join_writes
from tests.capture.listener.listener_documents import document, write

NAMED = {"table": {"identifier": {"database": "db", "table": "sales"}}}
OF_LAKE = {"table": {"identifier": "lake.db.sales"}}


def test_the_append_of_a_created_table_is_a_part_of_it() -> None:
    inner, outer = write(started=5, counts={"numOutputRows": 3}), write(document(params=NAMED), started=1)

    assert is_part_of(inner, outer)
    both = join_writes(inner, outer)
    assert (both.document, both.started_ms, both.counts) == (outer.document, 1, {"numOutputRows": 3})


def test_the_append_that_knows_the_path_stands_for_a_table_of_a_catalog() -> None:
    inner = write(document("s3://lake/db/sales", params=OF_LAKE), started=5)
    outer = write(document(table=Reference("lake", "db.sales")), started=1, error="SparkException")

    assert is_part_of(inner, outer)
    both = join_writes(inner, outer)
    assert (both.document, both.error) == (inner.document, "SparkException")


def test_columns_that_an_append_casts_have_new_ids_above_those_of_the_query() -> None:
    assert is_part_of(write(document(attributes=(1, 2, 7, 8)), started=5), write(started=1))


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        pytest.param(write(started=1), write(started=2), id="one after the other"),
        pytest.param(write(started=5), write(document("file:/lake/other"), started=1), id="another target"),
        pytest.param(write(started=5), write(document(attributes=(3, 4)), started=1), id="another query"),
        pytest.param(
            write(document(table=Reference("lake", "db.sales")), started=5),
            write(document(table=Reference("other", "db.sales")), started=1),
            id="a table of another catalog",
        ),
    ],
)
def test_writes_of_their_own(inner: object, outer: object) -> None:
    assert not is_part_of(inner, outer)  # type: ignore[arg-type]
