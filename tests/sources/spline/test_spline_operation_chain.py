"""The operations between a source and the target."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from lineage_merge.sources.spline.operation_chain import MAX_CHAINS, operation_chains

Documents = list[dict[str, Any]]


def plan(
    edges: Mapping[str, Sequence[str]], reads: Mapping[str, Sequence[str]]
) -> tuple[Documents, Documents]:
    """Operations and `follows`: `edges` from each operation to those that it consumes, "write" the write.

    An operation's name is its key without digits.
    """
    keys = dict.fromkeys([*edges, *(child for below in edges.values() for child in below), *reads])
    operations: Documents = []
    for key in keys:
        each: dict[str, Any] = {
            "_key": f"plan:{key}",
            "name": key.rstrip("0123456789"),
            "type": "Transformation",
        }
        if key == "write":
            each |= {"type": "Write", "name": "SaveIntoDataSourceCommand", "outputSource": "s3://lake/out"}
        if key in reads:
            each |= {"type": "Read", "name": "LogicalRelation", "inputSources": list(reads[key])}
        operations.append(each)
    follows = [
        {"_from": f"operation/plan:{above}", "_to": f"operation/plan:{child}", "index": index}
        for above, below in edges.items()
        for index, child in enumerate(below)
    ]
    return operations, follows


def test_a_chain_reads_from_source_to_target() -> None:
    found = operation_chains(
        *plan(
            {"write": ["Aggregate"], "Aggregate": ["Join"], "Join": ["Filter", "r2"], "Filter": ["r1"]},
            {"r1": ["s3://raw/sales"], "r2": ["s3://raw/event"]},
        )
    )

    assert found == {"s3://raw/sales": "Filter > Join > Aggregate", "s3://raw/event": "Join > Aggregate"}


def test_a_source_right_below_the_write_has_an_empty_chain() -> None:
    assert operation_chains(*plan({"write": ["r"]}, {"r": ["s3://raw/sales"]})) == {"s3://raw/sales": ""}


def test_the_branches_to_one_source_are_sorted_and_distinct() -> None:
    found = operation_chains(
        *plan(
            {
                "write": ["Union"],
                "Union": ["Project", "Filter1", "Filter2", "r4"],
                "Project": ["r1"],
                "Filter1": ["r2"],
                "Filter2": ["r3"],
            },
            {"r1": ["s3://a"], "r2": ["s3://a"], "r3": ["s3://a"], "r4": ["s3://b", "s3://c"]},
        )
    )

    assert found == {"s3://a": "Filter > Union | Project > Union", "s3://b": "Union", "s3://c": "Union"}


def test_a_plan_that_is_used_twice_has_both_chains() -> None:
    found = operation_chains(
        *plan(
            {"write": ["Join"], "Join": ["Shared", "Filter"], "Filter": ["Shared"], "Shared": ["r"]},
            {"r": ["s3://a"]},
        )
    )

    assert found == {"s3://a": "Shared > Filter > Join | Shared > Join"}


def test_a_source_that_does_not_reach_the_write_is_left_out() -> None:
    operations, follows = plan(
        {"write": ["Filter"], "Filter": ["r1"], "Lost": ["r2"]}, {"r1": ["s3://a"], "r2": ["s3://b"]}
    )

    assert operation_chains(operations, follows) == {"s3://a": "Filter"}
    assert operation_chains(operations, []) == {}


def test_edges_to_missing_operations_are_left_out() -> None:
    operations, follows = plan({"write": ["Filter"], "Filter": ["r", "Deleted"]}, {"r": ["s3://a"]})
    operations = [each for each in operations if each["_key"] != "plan:Deleted"]

    assert operation_chains(operations, follows) == {"s3://a": "Filter"}


@pytest.mark.parametrize("is_backwards", [False, True])
def test_chains_that_double_at_each_step_are_truncated_independently_of_order(is_backwards: bool) -> None:
    # A diamond of two differently named branches a level: 2 to the power of 60 chains.
    edges: dict[str, list[str]] = {"write": ["Join0"]}
    for level in range(60):
        below = f"Join{level + 1}"
        edges |= {f"Join{level}": [f"Filter{level}", f"Sort{level}"]}
        edges |= {f"Filter{level}": [below], f"Sort{level}": [below]}
    operations, follows = plan(edges | {"Join60": ["r"]}, {"r": ["s3://a"]})
    if is_backwards:
        operations.reverse()
        follows.reverse()

    found = operation_chains(operations, follows)["s3://a"].split(" | ")

    assert len(found) == MAX_CHAINS + 1
    assert found[-1] == "..."
    assert found[0] == " > ".join(["Join", *["Filter", "Join"] * 60])
    assert found[:-1] == sorted(found[:-1])


def test_a_chain_of_thousands_of_operations_needs_no_recursion() -> None:
    keys = ["write", *(f"Project{number}" for number in range(3_000)), "r"]
    operations, follows = plan({above: [below] for above, below in pairwise(keys)}, {"r": ["s3://a"]})

    assert operation_chains(operations, follows)["s3://a"].count("Project") == 3_000


def test_cyclic_operations_terminate() -> None:
    operations, follows = plan({"write": ["A"], "A": ["B", "r"], "B": ["A"]}, {"r": ["s3://a"]})

    assert operation_chains(operations, follows) == {}
