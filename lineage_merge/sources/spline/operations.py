"""Spline's operations of a plan and the edges between them. Pure."""

from collections.abc import Iterator

from lineage_merge.model.elements import Element, Follows, JobKey, Operation
from lineage_merge.sources.spline.documents import Plan


def operations(plan: Plan, job: JobKey, sequence: int) -> Iterator[Element]:
    """Yield the operations of a job's write and the edges between them.

    Keys are ``{sequence}:op-3``, with the position of the write in its run instead of the plan's key, which
    changes with the plan's content.
    """
    known = {operation["_key"] for operation in plan.operations}
    for operation in plan.operations:
        kind = operation["type"]
        properties = {"name": operation.get("name") or kind, "operation_type": kind}
        yield Operation(job, _key(operation["_key"], sequence), properties)
    for edge in plan.follows:
        ends = [edge[end].rpartition("/")[2] for end in ("_from", "_to")]
        if known.issuperset(ends):
            yield Follows(job, *(_key(end, sequence) for end in ends))


def _key(key: str, sequence: int) -> str:
    return f"{sequence}:{key.rpartition(':')[2]}"
