"""What a question is: parameters as the fields of a dataclass, and an answer.

The command, the tool for assistants and the method of `Lineage` are derived from it; `registry` lists them.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from enum import Enum, auto
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args, get_type_hints

from lineage_merge.model.errors import QueryError
from lineage_merge.model.times import epoch_ms, parse_age, parse_time
from lineage_merge.questions.fields import metadata, unwrap
from lineage_merge.questions.result import Result
from lineage_merge.questions.scoped_graph import ScopedGraph

Answer = TypeVar("Answer", bound=Result, covariant=True)


class Input(Enum):
    """What a parameter is, where its type does not say so."""

    DATASET = auto()
    ELEMENT = auto()
    AGE = auto()
    TIME = auto()
    MOMENT = auto()
    SCOPE = auto()
    TAG = auto()
    OWNER = auto()
    TEXT = auto()


# A unique name, qualified name, URI or id: of a dataset or column, and of these or a job.
DatasetName = Annotated[str, Input.DATASET]
ElementName = Annotated[str, Input.ELEMENT]
# ``1d``, ms or a timedelta; a date, time or age, or ms since 1970.
Age = Annotated[str | int | timedelta, Input.AGE]
Since = Annotated[str | int | date | timedelta, Input.TIME]
# Of a history: now, a date, time, age or the id of a merge. An environment or DAG.
MomentText = Annotated[str, Input.MOMENT]
ScopeName = Annotated[str, Input.SCOPE]
TagName = Annotated[str, Input.TAG]
OwnerName = Annotated[str, Input.OWNER]
# Part of a name.
SearchText = Annotated[str, Input.TEXT]


@dataclass(frozen=True, slots=True)
class Parameter:
    """How a parameter is given to the command, by an option or (`is_argument`) an argument, and to the tool.

    `default`: in words, for the help. `flag`, `tool_name`: where it is not the name of the field. `is_rare`:
    without it in the short help. `tool_help`: other words for assistants. `on`: where it can be given,
    besides Python. `value_if_empty`: that of the option
    without a value.
    """

    help: str = ""
    default: str = ""
    metavar: str = ""
    flag: str = ""
    is_argument: bool = False
    is_rare: bool = False
    tool_help: str = ""
    tool_name: str = ""
    on: tuple[Literal["command", "tool"], ...] = ("command", "tool")
    value_if_empty: int | None = None


class Declared(NamedTuple):
    """A parameter. `value_type`: of one value, `is_list`: of several; `default`: MISSING if required."""

    name: str
    input: Input | None
    value_type: Any
    is_list: bool
    default: Any
    parameter: Parameter

    @property
    def flag(self) -> str:
        return self.parameter.flag or f"--{self.name.replace('_', '-')}"

    @property
    def tool_name(self) -> str:
        return self.parameter.tool_name or self.name

    @property
    def is_required(self) -> bool:
        return self.default is MISSING


class ToolText(NamedTuple):
    """What assistants read of a question.

    `has_environment`, `has_past`: it can be asked in an environment, as of a moment. `reads_graph`: not only
    the history.
    """

    title: str
    description: str
    has_past: bool = True
    has_environment: bool = True
    reads_graph: bool = True


# Parameters of several questions.
DATASET = Parameter(metavar="DATASET[#COLUMN]", is_argument=True)
ELEMENT = Parameter(metavar="DATASET[#COLUMN]|JOB", is_argument=True)
OPTIONAL_DATASET = Parameter(
    metavar="[DATASET[#COLUMN]]",
    is_argument=True,
    tool_help="dataset or column, with its upstream; default: all",
)
LIMIT = Parameter("maximum number of results", "all", metavar="N", is_rare=True, on=("command",))
UNUSED_FOR = Parameter(
    "only what no statement read for so long: 90d, 12w",
    metavar="DURATION",
)
DEPTH = Parameter("maximum hops", "unlimited", metavar="N")
OLDER_THAN = Parameter(
    "age from which any dataset is stale: 90m, 36h, 1d, 2w",
    "that of checks and policies",
    metavar="DURATION",
    tool_help="age from which data is stale: 6h, 1d, 2w",
)


class Question(Generic[Answer]):
    """A question; subclasses are frozen dataclasses, whose documentation is the help of the command.

    `question`: the name of the command, tool and method. `examples`: of the command; none: another command
    asks it. `short_help`: if the first sentence is too long.
    `formats`: of the command; none: all.
    """

    __slots__ = ()

    question: ClassVar[str]
    short_help: ClassVar[str] = ""
    examples: ClassVar[tuple[str, ...]] = ()
    formats: ClassVar[tuple[str, ...]] = ()
    default_format: ClassVar[str] = "table"
    tool: ClassVar[ToolText | None] = None

    def check(self, flag: Callable[[str], str]) -> None:
        """Raise `QueryError` if parameters exclude each other; `flag` returns the name of one to the user."""

    def output_format(self, output_format: str) -> str:
        """Return the format of the command for a requested one. Raises `QueryError` if there is none."""
        return output_format

    @abstractmethod
    def answer(self, graph: ScopedGraph) -> Answer:
        """Return the answer."""


def answers_of(question: type[Question[Any]]) -> tuple[type[Result], ...]:
    """Return the types of the answers."""
    answer = get_type_hints(question.answer)["return"]
    return get_args(answer) or (answer,)


def parameters_of(question: type[Question[Any]]) -> tuple[Declared, ...]:
    """Return the parameters that can be given to a command or tool."""
    hints = get_type_hints(question, include_extras=True)
    declared = []
    for field in fields(question):  # type: ignore[arg-type] # subclasses are dataclasses
        parameter = metadata(hints[field.name], Parameter)
        if parameter is not None:
            kind, value_type, is_list, _ = unwrap(hints[field.name], Input)
            declared.append(Declared(field.name, kind, value_type, is_list, field.default, parameter))
    return tuple(declared)


def ask(question: Question[Answer], graph: ScopedGraph) -> Answer:
    """Return the answer. Raises `QueryError`, `NotFound`, `Ambiguous`, `GraphError`."""
    question.check(lambda name: name)
    return question.answer(graph)


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000


def age_ms(age: Age | None, name: str = "older_than") -> int | None:
    """Return an age such as ``1d`` in ms; numbers are ms. Raises `QueryError`."""
    if age is None or isinstance(age, int):
        return age
    if isinstance(age, timedelta):
        return age // timedelta(milliseconds=1)
    try:
        return parse_age(age)
    except ValueError as error:
        raise QueryError(f"{name}: {error}") from None


def time_ms(moment: Since | None) -> int | None:
    """Return a time such as ``2026-11-01`` (UTC), or ``1d`` ago, in ms since 1970.

    Numbers are ms since 1970; datetimes without a time zone are UTC. Raises `QueryError`.
    """
    if moment is None or isinstance(moment, int):
        return moment
    if isinstance(moment, timedelta):
        return now_ms() - moment // timedelta(milliseconds=1)
    if isinstance(moment, datetime):
        return epoch_ms(moment)
    if isinstance(moment, date):
        return epoch_ms(datetime.combine(moment, time_of_day.min))
    try:
        return parse_time(moment, now_ms())
    except ValueError as error:
        raise QueryError(f"since: {error}") from None
