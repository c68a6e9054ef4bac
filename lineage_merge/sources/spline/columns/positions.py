"""Matching of expressions to attributes by position. Pure.

Producer API 1 lists the expressions of an operation's output and the attributes of its schema without
connecting them: Spark has both in the same order. This applies to plans of agents and of Spline's database,
where they have no `computedBy`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

# The parameter with the expressions of an operation's output, one per column.
_OUTPUTS = {"Project": "projectList", "Aggregate": "aggregateExpressions"}

Value = TypeVar("Value")


def values_by_position(
    name: str,
    parameter: Callable[[str], Sequence[Value]],
    output: Sequence[str],
    known: Collection[str],
) -> Iterator[tuple[str, Value]]:
    """Return the output attributes of an operation, each with the value at its position.

    `parameter` returns the values of a parameter in order, `known` are the attributes of the operations
    below.
    """
    new = [attribute for attribute in output if attribute not in known]
    if name in _OUTPUTS:
        yield from _paired(output, parameter(_OUTPUTS[name]))
    elif name == "Window":
        yield from _paired(new, parameter("windowExpressions"))
    elif name == "Generate":
        for value in parameter("generator"):
            yield from ((attribute, value) for attribute in new)


def _paired(attributes: Sequence[str], values: Sequence[Value]) -> Iterator[tuple[str, Value]]:
    if len(values) == len(attributes):
        yield from zip(attributes, values, strict=True)
