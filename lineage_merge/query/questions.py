"""Base class of the questions of `Lineage`: the session and the resolution of names."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, cast, get_type_hints

from lineage_merge.query.session import Session
from lineage_merge.questions.question import Question, ask, parameters_of
from lineage_merge.questions.result import Result

if TYPE_CHECKING:
    from lineage_merge.graph_format.elements import Vertex

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer", bound=Result)


class Questions:
    """Questions on the graph of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def environments(self) -> list[str]:
        """The environments of the graph, sorted."""
        return self._session.graph.environments()

    def resolve(self, name: str) -> "Vertex":
        """Return the dataset, column or job of a name. Raises `NotFound`, `Ambiguous`."""
        return self._session.element(name)


def method(
    question: Callable[_Given, Question[_Answer]],
) -> Callable[Concatenate[Questions, _Given], _Answer]:
    """Return the method of `Lineage` that asks a question, with its parameters and documentation."""

    def asked(self: Questions, /, *positional: _Given.args, **named: _Given.kwargs) -> _Answer:
        return ask(question(*positional, **named), self._session)

    declared = cast("type[Question[_Answer]]", question)
    hints = get_type_hints(declared)
    parameters = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(declared).parameters.values()
    ]
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    asked.__signature__ = inspect.Signature([itself, *parameters])  # type: ignore[attr-defined]
    asked.__name__ = declared.question.replace("-", "_")
    asked.question = declared  # type: ignore[attr-defined]
    asked.__qualname__ = f"Lineage.{asked.__name__}"
    lines = [
        f"{described.name}: {described.parameter.help}"
        for described in parameters_of(declared)
        if described.parameter.help
    ]
    asked.__doc__ = "\n".join([inspect.getdoc(declared) or "", "", *lines])
    return asked
