"""Types of arguments and answers of the tools. Their descriptions are what an assistant reads."""

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lineage_merge.mcp.untrusted_text import has_cut, unescape

MAX_NAME = 2_000
MAX_LIST = 20


def _parse_list(value: Any) -> Any:
    """Return a list of what some clients send for one: JSON in a text, or one value."""
    if not isinstance(value, str):
        return value
    try:
        content = json.loads(value)
    except ValueError:
        return [value]
    return content if isinstance(content, list) else [value]


Text = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(unescape)]
Names = Annotated[list[Text], BeforeValidator(_parse_list), Field(max_length=MAX_LIST)]
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
    def _drop_empty(cls, given: Any) -> Any:
        """Omit what some clients send for an argument without a value."""
        if not isinstance(given, dict):
            return given
        return {key: value for key, value in given.items() if value is not None and value != ""}


class Row(BaseModel):
    """A row of an answer."""

    cut: bool = Field(default=False, description="a text or list of this row was cut")

    @model_validator(mode="before")
    @classmethod
    def _set_cut(cls, given: Any) -> Any:
        """Set `cut` before the type of cut texts is lost."""
        return {**given, "cut": True} if isinstance(given, dict) and has_cut(given) else given


class Answer(BaseModel):
    """A page of an answer."""

    total: int = Field(description="rows of the complete answer")
    truncated: bool = Field(default=False, description="more rows: call again with next_cursor")
    next_cursor: str = ""
    of: str = Field(default="", description="id of the element in question")
    note: str = ""
    cut: bool = Field(default=False, description="a text or list beside the rows was cut")


class DescribeArguments(Paged):
    """Arguments of the tool `describe`: an element."""

    environment: Environment = None
    as_of: Moment = None
    name: Name


class PartRow(Row):
    """A column of a dataset, an input of a column, or a dataset that a job reads or writes."""

    id: str
    role: str = Field(description="column, computed_from, reads or writes")
    type: str = ""
    description: str = ""
    tags: list[str] = []
    job: str = ""
    transformation: str = ""
    expression: str = ""
    assumed: bool = Field(default=False, description="the name of a column is assumed")
    declared: str = Field(default="", description="no tool reports it: a person declares it")


class Writer(Row):
    """A job that writes a dataset, with its newest run."""

    id: str
    status: str = ""
    last_run_at: str = ""


class DescriptionAnswer(Answer):
    """An element with its properties; the rows are its parts."""

    kind: str = ""
    name: str = ""
    environment: str = ""
    description: str = ""
    owners: list[str] = []
    tags: list[str] = []
    dags: list[str] = []
    properties: dict[str, str] = Field(default={}, description="format, location, data_type and others")
    aliases: list[str] = []
    dataset: str = Field(default="", description="id of a column's dataset")
    written_by: list[Writer] = []
    fed_by: list[str] = Field(default=[], description="nearest upstream datasets")
    fed_by_total: int = 0
    feeds: list[str] = Field(default=[], description="nearest downstream datasets")
    feeds_total: int = 0
    rows: list[PartRow]
