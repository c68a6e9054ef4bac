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


class TagRow(Row):
    """A carrier of a tag, or a place where it stops; without `id`: numbers of a tag."""

    tag: str
    id: str = ""
    how: str = Field(default="", description="own, inherited, by rows (through filters), or stopped")
    origin: str = ""
    reason: str = ""
    path: list[str] = Field(default=[], description="elements from the origin")
    own_datasets: int = 0
    own_columns: int = 0
    inherited_datasets: int = 0
    inherited_columns: int = 0
    stops: int = 0


class TagsAnswer(Answer):
    """Carriers and stops, or numbers by tag."""

    rows: list[TagRow]


class ChangeRow(Row):
    """A changed property, or an added or removed element."""

    action: str
    kind: str
    id: str
    source: str = Field(default="", description="of an edge: where it begins; id is its end")
    property: str = ""
    before: str = ""
    after: str = ""


class ChangesAnswer(Answer):
    """Changes between two moments."""

    start: str
    end: str
    rows: list[ChangeRow]


class OnlyRow(Row):
    """An element that one environment has and the other has not."""

    environment: str
    kind: str = Field(description="dataset, feed or column")
    id: str
    target: str = Field(default="", description="of a feed: the dataset that is fed")


class ComparisonAnswer(Answer):
    """What only one of two environments has; ids are without the environment."""

    rows: list[OnlyRow]


class HistoryRow(Row):
    """A merge, or what one changed of an element."""

    merge: str
    at: str
    environment: str
    dag: str
    event: str = ""
    what: str = ""
    name: str = ""
    before: str = ""
    after: str = ""
    added: int = 0
    changed: int = 0
    retired: int = 0


class HistoryAnswer(Answer):
    """Merges or events, the newest first."""

    rows: list[HistoryRow]


class ReportRow(Row):
    """A near miss, or a problem."""

    kind: str = Field(description="near-miss (probably one dataset under two names), or a kind of problem")
    written: str = ""
    read: str = ""
    score: int = 0
    evidence: list[str] = []
    fix_key: str = Field(default="", description="key of the configuration that joins them")
    fix: list[str] = Field(default=[], description="lines of YAML for it")
    document: str = ""
    field: str = ""
    message: str = ""


class ReportAnswer(Answer):
    """The last merge of a DAG: near misses, then examples of problems."""

    environment: str
    dag: str
    merged_at: str
    written: int
    retired: int
    datasets_joined: int = 0
    totals: dict[str, int] = Field(default={}, description="problems by kind")
    unmet: list[str] = Field(default=[], description="expectations that the merge did not meet")
    rows: list[ReportRow]
