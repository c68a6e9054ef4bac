"""The ends of writes as rows: what is asked when it is chosen which of them count."""

from typing import NamedTuple


class EventRow(NamedTuple):
    """One end of a write, as a source reports it, or only a `problem` with one, as JSON.

    `plan` names the document that holds the write's lineage, within `database` ("" where a source has
    only one), `run_id` the run that wrote. Times in ms since 1970. `target` is the raw URI, `dataset`
    the identity behind it. `unlabelled` are the wanted labels that the write itself does not have: its
    plan may have them. Writes of one job with different `statement`s are chosen each by itself.
    """

    database: str
    problem: str | None = None
    wanted: bool = False
    key: str | None = None
    plan: str | None = None
    application: str | None = None
    job: str | None = None
    job_type: str | None = None
    target: str | None = None
    dataset: str | None = None
    at: int | None = None
    duration_ms: int | None = None
    run_id: str | None = None
    shown_run_id: str | None = None
    failed: bool | None = None
    append: bool | None = None
    rows: int | None = None
    framework: str | None = None
    unlabelled: list[str] | None = None
    statement: str | None = None
