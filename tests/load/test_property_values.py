from typing import Any

import pytest

from lineage_merge.graph_format.schema import EDGE_KEYS, NODE_KEYS
from lineage_merge.load import element_rows

HARD = 'é 😀 "quoted" \\ back / slash \n\t {json: [1]} \x7f   '
NODE = {"id": "n", "label": "table", "environment": "dev", "dag_name": "d"}
EDGE = {"id": "e", "label": "feeds", "from": "a", "to": "b", "environment": "dev", "dag_name": "d"}


@pytest.mark.parametrize(
    ("known", "stored"),
    [
        ({}, {}),
        ({"tags": []}, {}),
        ({"name": HARD, "description": ""}, {"description": [""], "name": [HARD]}),
        ({"last_run_at": 2**53 + 1, "position": 0}, {"position": [0], "last_run_at": [2**53 + 1]}),
        ({"tags": ["b", "a", "ä", HARD]}, {"tags": [HARD, "ä", "b", "a"]}),
    ],
)
def test_an_unchanged_node_has_equal_values(known: dict[str, Any], stored: dict[str, Any]) -> None:
    assert element_rows.node_values(NODE | known) == element_rows.vertex_values(
        {"dag_name": ["d", "other"], "environment": ["dev"], **stored}
    )


@pytest.mark.parametrize(
    "stored",
    [
        {"name": ["x"], "format": ["csv"]},
        {"name": ["y"]},
        {"name": ["x"], "owner": ["another program"]},
        {"name": [1]},
        {},
    ],
)
def test_a_changed_node_has_other_values(stored: dict[str, Any]) -> None:
    assert element_rows.node_values(NODE | {"name": "x"}) != element_rows.vertex_values(
        {"dag_name": ["d"], "environment": ["dev"], **stored}
    )


def test_all_known_values_are_written_with_sorted_sets() -> None:
    known = {"name": HARD + "\x00\x1f", "last_run_at": 2**62, "tags": ["b", "a"]}
    assert element_rows.row_to_write(NODE | known, NODE_KEYS) == NODE | known | {"tags": ["a", "b"]}
    known = {"job_name": HARD, "sequence": 3, "via": None}
    assert element_rows.row_to_write(EDGE | known, EDGE_KEYS) == EDGE | {
        "job_name": HARD,
        "sequence": 3,
    }


def test_only_differing_values_are_written() -> None:
    known = {"name": "x", "format": "csv"}
    assert element_rows.row_to_write(NODE | known, NODE_KEYS, ["name"]) == NODE | {"name": "x"}
