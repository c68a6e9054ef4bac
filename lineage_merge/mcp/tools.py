"""The tools: names, descriptions, arguments and answers. All of them only read."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from lineage_merge.mcp import answers, arguments, element_tools
from lineage_merge.mcp.question_tools import Tool, tool_of
from lineage_merge.query.lineage import QUESTIONS
from lineage_merge.questions.dataset_search import SearchQuestion
from lineage_merge.questions.merge_history import HistoryQuestion
from lineage_merge.questions.merge_report import OnlyReportQuestion
from lineage_merge.questions.question import Question

# Assistants ask for merges and events by one tool, and for a report without its DAG.
_QUESTIONS: tuple[type[Question[Any]], ...] = (*QUESTIONS.values(), HistoryQuestion, OnlyReportQuestion)
_ALL = (
    tool_of(SearchQuestion),
    Tool(
        "describe",
        "Describe an element",
        "Properties of one dataset, column or job: description, owners, tags, columns with types, the jobs "
        "that write it, direct neighbours; of a column, how it is computed.",
        arguments.ElementArguments,
        answers.DescriptionAnswer,
        element_tools.describe,
    ),
    *(tool_of(question) for question in _QUESTIONS if question.tool),
)
TOOLS: Mapping[str, Tool] = {each.name: each for each in _ALL}


def schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of arguments or answers, short: assistants read it in each session."""
    found = _shortened(model.model_json_schema())
    found.pop("description", None)
    return found


def _shortened(schema: dict[str, Any]) -> dict[str, Any]:
    """Omit titles that repeat the names of fields, and that null is accepted for what may be omitted."""
    shorter: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            shorter[key] = {name: _shortened(each) for name, each in value.items()}
        elif key == "anyOf":
            kinds = [_shortened(each) for each in value if each != {"type": "null"}]
            shorter |= kinds[0] if len(kinds) == 1 else {key: kinds}
        elif isinstance(value, dict):
            shorter[key] = _shortened(value)
        elif not (key == "title" and isinstance(value, str)) and not (key == "default" and not value):
            shorter[key] = value
    return shorter
