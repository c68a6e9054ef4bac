"""The VPC connections of a Glue job that the task group creates."""

from collections.abc import Sequence
from typing import Any

import pytest

from lineage_merge.airflow.glue_network import add_connections, lacks_a_name

CREATED = {"GlueVersion": "5.0"}
IN_VPC = {"Connections": {"Connections": ["lineage-vpc"]}}


@pytest.mark.parametrize("given", ["lineage-vpc", ["lineage-vpc"], ("lineage-vpc",)])
def test_a_job_is_created_with_the_named_connections(given: Sequence[str]) -> None:
    assert add_connections(CREATED, given, has_role=True) == CREATED | IN_VPC


@pytest.mark.parametrize("given", [None, [], ""])
def test_a_job_is_not_created_without_a_connection_by_oversight(given: Any) -> None:
    with pytest.raises(ValueError, match=r"vpc_connections is missing: .*8182.*8529.*or False"):
        add_connections(CREATED, given, has_role=True)


def test_a_connection_is_waived_with_false_alone() -> None:
    assert add_connections(CREATED, False, has_role=True) == CREATED
    with pytest.raises(ValueError, match="not True"):
        add_connections(CREATED, True, has_role=True)


def test_the_operators_own_argument_names_connections_too() -> None:
    assert add_connections(CREATED | IN_VPC, None, has_role=True) == CREATED | IN_VPC


def test_a_job_that_exists_needs_none() -> None:
    assert add_connections(CREATED, None, has_role=False) == CREATED


def test_a_template_that_is_rendered_as_nothing_is_no_name() -> None:
    rendered = CREATED | {"Connections": {"Connections": [" "]}}

    assert lacks_a_name(rendered, has_role=True)
    assert not lacks_a_name(rendered, has_role=False)
    assert not lacks_a_name(CREATED | IN_VPC, has_role=True)
    assert not lacks_a_name(CREATED, has_role=True)
