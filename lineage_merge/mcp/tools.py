"""The tools, derived from the parameters, rows and answers of questions. All of them only read."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from lineage_merge.mcp.describe import describe
from lineage_merge.mcp.graphs import require_history
from lineage_merge.mcp.models import (
    Answer,
    DescribeArguments,
    DescriptionAnswer,
    Environment,
    Moment,
    Name,
    Names,
    Paged,
    Row,
    Scope,
    Text,
)
from lineage_merge.mcp.paging import Found
from lineage_merge.mcp.tool_errors import as_error
from lineage_merge.mcp.untrusted_text import SHORT, escape, text, time_text
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.model.times import duration_text
from lineage_merge.query.lineage import QUESTIONS
from lineage_merge.query.session import Session
from lineage_merge.questions.dataset_search import SearchQuestion
from lineage_merge.questions.fields import Kind, RowField, fields_of, header_of
from lineage_merge.questions.merge_history import HistoryQuestion
from lineage_merge.questions.merge_report import OnlyReportQuestion
from lineage_merge.questions.question import Declared, Input, Question, answers_of, ask, parameters_of
from lineage_merge.questions.result import RowsResult

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `ask`: from an open graph and arguments of type `arguments` to rows of `answer`.

    `reads_graph`: not only the history.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    answer: type[Answer]
    ask: Callable[[Session, Any], Found]
    reads_graph: bool = True


_INPUTS: Mapping[Input, Any] = {
    Input.DATASET: Name,
    Input.ELEMENT: Name,
    Input.AGE: Annotated[str, Field(max_length=20)],
    Input.TIME: Moment,
    Input.MOMENT: Annotated[str, Field(max_length=40)],
    Input.SCOPE: Scope,
    Input.TAG: Text,
    Input.OWNER: Text,
    Input.TEXT: Text,
}
_VALUES: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.ELEMENT: lambda vertex: escape(vertex.id),
    Kind.ID: escape,
    Kind.NAME: escape,
    Kind.TIME: time_text,
    Kind.DURATION: duration_text,
    Kind.TEXT: text,
    Kind.LABEL: lambda value: text(value, SHORT),
    Kind.TAG: escape,
    Kind.VALUE: lambda value: value,
    Kind.COUNTS: lambda counts: {escape(key): number for key, number in counts.items()},
}


def tool_of(question: type[Question[Any]]) -> Tool:
    """Return the tool of a question, which has a `ToolText`."""
    tool = question.tool
    answers = [answer for answer in answers_of(question) if issubclass(answer, RowsResult)]
    if tool is None or not answers:
        raise TypeError(f"{question.__name__} is not for assistants")
    parameters = [parameter for parameter in parameters_of(question) if "tool" in parameter.parameter.on]
    row_types = [row_type for answer in answers for row_type in answer.tool_row_types or (answer.row_type,)]
    documentation = " ".join(str(row_type.__doc__) for row_type in row_types)
    row_model = _model(row_types[0], Row, _outputs([*map(fields_of, row_types)]), documentation)
    scope: dict[str, tuple[Any, Any]] = {}
    if tool.has_past or tool.has_environment:
        scope["environment"] = (Environment, None)
    if tool.has_past:
        scope["as_of"] = (Moment, None)

    def row_values(row: Any) -> dict[str, Any]:
        return _values(row, fields_of(type(row)))

    def ask_tool(session: Session, arguments: BaseModel) -> Found:
        if not tool.reads_graph:
            require_history(session.selection)
        values = {parameter.name: getattr(arguments, parameter.tool_name) for parameter in parameters}
        answer = ask(question(**values), session)
        shown = _values(answer, header_of(type(answer)))
        note = answer.note_with(_message).replace("\n", "; ")
        return Found(
            answer.tool_items,
            lambda item: row_model(**row_values(answer.row(item))),
            {**shown, "note": text(note)},
        )

    return Tool(
        question.question,
        tool.title,
        tool.description,
        _model(
            question, Paged, scope | {parameter.tool_name: _argument(parameter) for parameter in parameters}
        ),
        _model(
            answers[0],
            Answer,
            _outputs([*map(header_of, answers)], without="of") | {"rows": (list[row_model], ...)},  # type: ignore[valid-type]
        ),
        ask_tool,
        tool.reads_graph,
    )


def _message(error: LineageMergeError) -> str:
    """Return the message of an error without what it says of this machine, which is logged."""
    _log.warning("a part of an answer is unknown: %s", error.message)
    return str(as_error(error)["message"])


def _model(of: type, base: type[BaseModel], fields: Mapping[str, tuple[Any, Any]], doc: str = "") -> Any:
    return create_model(of.__name__, __base__=base, __doc__=doc or of.__doc__, **fields)  # type: ignore[call-overload]


def _select_for_tools(fields: Iterable[RowField]) -> list[RowField]:
    return [field for field in fields if field.is_on("tool")]


def _values(record: Any, fields: Iterable[RowField]) -> dict[str, Any]:
    return {tool.tool_name: _value(tool, record) for tool in _select_for_tools(fields)}


def _value(field: RowField, record: Any) -> Any:
    """Return a value as assistants read it; the default of `_output` if there is none."""
    value = getattr(record, field.attribute)
    if field.is_list:
        show = text if field.kind == Kind.TEXT else escape
        return [show(str(getattr(item, "id", item))) for item in value or ()]
    if value is None:
        return None if _is_number(field) else ""
    return _VALUES[field.kind](value)


def _is_number(field: RowField) -> bool:
    return field.kind == Kind.VALUE and field.value_type in (int, float)


def _outputs(several: Sequence[Iterable[RowField]], without: str = "") -> dict[str, tuple[Any, Any]]:
    """Return the types and defaults of fields; what only some of several types have may be missing."""
    fields = [
        field for of_type in several for field in _select_for_tools(of_type) if field.tool_name != without
    ]
    numbers = Counter(field.tool_name for field in fields)
    return {
        field.tool_name: _output(field, may_be_missing=numbers[field.tool_name] < len(several))
        for field in fields
    }


def _output(field: RowField, *, may_be_missing: bool = False) -> tuple[Any, Any]:
    """Return the type and default of a field of an answer."""
    value_type: Any = field.value_type if field.kind == Kind.VALUE else str
    default: Any = ...
    if field.is_list:
        value_type, default = list[str], []
    elif field.kind == Kind.COUNTS:
        value_type, default = dict[str, int], {}
    elif field.is_optional or may_be_missing:
        default = "" if not _is_number(field) else None if field.is_optional else 0
        value_type = value_type | None if default is None else value_type
    elif field.default is not MISSING:
        default = field.default
    return value_type, Field(default=default, description=field.shown.help or None)


def _argument(declared: Declared) -> tuple[Any, Any]:
    """Return the type and default of an argument."""
    parameter = declared.parameter
    value_type: Any = declared.value_type
    if declared.input is not None:
        value_type = _INPUTS[declared.input]
    if declared.is_list:
        value_type = Names
    elif declared.value_type is int:
        value_type = Annotated[int, Field(ge=1)]
    note = f"; default: {parameter.default}" if parameter.default else ""
    description = parameter.tool_help or f"{parameter.help}{note}"
    if declared.is_required:
        return (Annotated[value_type, Field(description=description)] if description else value_type), ...
    if declared.default is None:
        value_type = value_type | None
    default = [] if declared.is_list else declared.default
    return Annotated[value_type, Field(description=description or None)], default


# Assistants ask for merges and events by one tool, and for a report without its DAG.
_QUESTIONS: tuple[type[Question[Any]], ...] = (*QUESTIONS.values(), HistoryQuestion, OnlyReportQuestion)
_ALL = (
    tool_of(SearchQuestion),
    Tool(
        "describe",
        "Describe an element",
        "Properties of one dataset, column or job: description, owners, tags, columns with types, the jobs "
        "that write it, direct neighbours; of a column, how it is computed.",
        DescribeArguments,
        DescriptionAnswer,
        describe,
    ),
    *(tool_of(question) for question in _QUESTIONS if question.tool),
)
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}


def schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of arguments or answers, short: assistants read it in each session."""
    shortened = _shorten(model.model_json_schema())
    shortened.pop("description", None)
    return shortened


def _shorten(schema: dict[str, Any]) -> dict[str, Any]:
    """Omit titles that repeat the names of fields, and that null is accepted for what may be omitted."""
    shorter: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            shorter[key] = {name: _shorten(property_schema) for name, property_schema in value.items()}
        elif key == "anyOf":
            kinds = [_shorten(kind) for kind in value if kind != {"type": "null"}]
            shorter |= kinds[0] if len(kinds) == 1 else {key: kinds}
        elif isinstance(value, dict):
            shorter[key] = _shorten(value)
        elif not (key == "title" and isinstance(value, str)) and not (key == "default" and not value):
            shorter[key] = value
    return shorter
