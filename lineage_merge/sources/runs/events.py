"""Write events as rows: the columns that run selection needs."""

from typing import NamedTuple


class EventRow(NamedTuple):
    """The end of one write as reported by a source, or a `problem` as JSON.

    `plan` names the document with the write's lineage, within `database` ("" if a source has only one);
    `run_id` is the run that wrote. Times are ms since 1970. `target` is the raw URI, `dataset` the id it
    resolves to. `unlabelled`: the requested labels that the write itself lacks; its plan may have them.
    Writes of one job with different `statement`s are selected independently. `owners` and `tags` are those
    of the job.
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
    owners: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
