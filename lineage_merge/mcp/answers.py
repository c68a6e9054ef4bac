"""Answers of the tools: their types are the output schemas. Empty fields are left out of an answer."""

from typing import Any

from pydantic import BaseModel, Field, model_validator

from lineage_merge.mcp.untrusted_text import has_cut


class Row(BaseModel):
    """A row of an answer."""

    cut: bool = Field(default=False, description="a text or list of this row was cut")

    @model_validator(mode="before")
    @classmethod
    def _with_cut(cls, given: Any) -> Any:
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
