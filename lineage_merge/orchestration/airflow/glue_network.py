"""The network of a Glue job that the task group creates. Imports no Airflow.

Without a connection of type NETWORK a Glue job runs outside of any VPC, where it reaches neither Neptune
(port 8182), which is open to its VPC only, nor Spline's ArangoDB (port 8529): it fails after minutes, with a
time-out that does not say why. So the names of such connections are required, or deliberately waived.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Connections = Sequence[str] | str | bool | None
"""Names of Glue connections; False waives them, None says nothing."""


def connected(
    create_job_kwargs: Mapping[str, Any], vpc_connections: Connections, *, has_role: bool
) -> dict[str, Any]:
    """Return what a job is created with, with its connections into the VPC.

    `has_role`: the operator has a role for the job, without which it can create none. Raises `ValueError`
    where nothing says how the job reaches the VPC.
    """
    if vpc_connections is True:
        raise ValueError("vpc_connections: expected names of Glue connections or False, found True")
    if vpc_connections:
        given = [vpc_connections] if isinstance(vpc_connections, str) else list(vpc_connections)
        return {**create_job_kwargs, "Connections": {"Connections": given}}
    is_waived = vpc_connections is False
    if has_role and not is_waived and not names(create_job_kwargs):
        raise ValueError(
            "engine_options of glue: vpc_connections is missing: give the names of Glue connections into the "
            "VPC of Neptune (port 8182) and ArangoDB (port 8529), or False if the job reaches both without"
        )
    return dict(create_job_kwargs)


def names(create_job_kwargs: Mapping[str, Any]) -> list[str]:
    """Return the names of the connections that a job is created with."""
    found = create_job_kwargs.get("Connections") or {}
    return [str(name) for name in found.get("Connections") or ()]


def lacks_a_name(create_job_kwargs: Mapping[str, Any], *, has_role: bool) -> bool:
    """Return whether a job would be created with a connection whose template was rendered as nothing."""
    return has_role and not all(name.strip() for name in names(create_job_kwargs))
