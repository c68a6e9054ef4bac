"""Arguments of the tools. Their descriptions are what an assistant reads."""

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lineage_merge.mcp.untrusted_text import unescape

MAX_NAME = 2_000
MAX_LIST = 20


def _listed(value: Any) -> Any:
    """Return a list of what some clients send for one: JSON in a text, or one value."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except ValueError:
        return [value]
    return found if isinstance(found, list) else [value]


Text = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(unescape)]
Names = Annotated[list[Text], BeforeValidator(_listed), Field(max_length=MAX_LIST)]
Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_NAME,
        description="id of an answer, or a unique name, qualified name or URI; #column for a column",
    ),
    AfterValidator(unescape),
]
# As in the configuration: a name is also that of a folder of a history.
Scope = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.~+-]+$")]
Environment = Annotated[Scope | None, Field(description="such as prod; default: that of the server, or all")]
Moment = Annotated[
    str | None,
    Field(max_length=40, description="as of now, a date, time, age (3d) or merge"),
]
# The instructions of the server say that the other arguments stay the same.
Cursor = Annotated[str | None, Field(max_length=80, description="next_cursor of the page before")]


class Paged(BaseModel):
    """Arguments of every tool."""

    model_config = ConfigDict(extra="forbid")

    cursor: Cursor = None

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, given: Any) -> Any:
        """Omit what some clients send for an argument without a value."""
        if not isinstance(given, dict):
            return given
        return {key: value for key, value in given.items() if value is not None and value != ""}


class Arguments(Paged):
    """Arguments of tools with a scope."""

    environment: Environment = None


class PastArguments(Arguments):
    """Arguments of tools that also ask the history."""

    as_of: Moment = None


class ElementArguments(PastArguments):
    """One element."""

    name: Name
