"""The network of a Glue job that the task group creates. Imports no Airflow.

Without a connection of type NETWORK a Glue job runs outside the VPC, and cannot reach Neptune (port 8182) or
Spline's ArangoDB (port 8529): it fails after minutes with a timeout. So the names of such connections are
required, or must be waived explicitly.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Connections = Sequence[str] | str | bool | None
"""Names of Glue connections; False: waived, None: not set."""


def add_connections(
    create_job_kwargs: Mapping[str, Any], vpc_connections: Connections, *, has_role: bool
) -> dict[str, Any]:
    """Return the arguments for creating a job, with its VPC connections.

    `has_role`: the operator has a role, which is required to create a job. Raises `ValueError` if no
    connections are set.
    """
    if vpc_connections is True:
        raise ValueError("vpc_connections: must be names of Glue connections or False, not True")
    if vpc_connections:
        given = [vpc_connections] if isinstance(vpc_connections, str) else list(vpc_connections)
        return {**create_job_kwargs, "Connections": {"Connections": given}}
    is_waived = vpc_connections is False
    if has_role and not is_waived and not names(create_job_kwargs):
        raise ValueError(
            "engine_options of glue: vpc_connections is missing: set the names of Glue connections to the"
            " VPC of Neptune (port 8182) and ArangoDB (port 8529), or False if the job needs none"
        )
    return dict(create_job_kwargs)


def names(create_job_kwargs: Mapping[str, Any]) -> list[str]:
    """Return the connection names of a new job."""
    connections = create_job_kwargs.get("Connections") or {}
    return [str(name) for name in connections.get("Connections") or ()]


def lacks_a_name(create_job_kwargs: Mapping[str, Any], *, has_role: bool) -> bool:
    """Return whether a new job would have an empty connection name, such as from a template."""
    return has_role and not all(name.strip() for name in names(create_job_kwargs))
