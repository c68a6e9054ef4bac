"""Events of one run added up: what it read and wrote, and how it ended. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.sources.openlineage.documents import Document, moment

_ENDS = ("COMPLETE", "ABORT", "FAIL")
_ORDER = {"START": 0, "RUNNING": 1, "OTHER": 2}

DatasetKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """What the events of one run say together; the later one counts where two differ.

    `at` (ms since 1970) is when it ended, or when a stream last told of itself; None while it is under
    way. `failed`: there is an event FAIL or ABORT, whatever follows it. Inputs and outputs are by namespace
    and name, sorted; each has `facets` and `outputFacets`.
    """

    run_id: str
    job: Document
    facets: Mapping[str, Any]
    producer: str = ""
    inputs: Mapping[DatasetKey, Document] = field(default_factory=dict)
    outputs: Mapping[DatasetKey, Document] = field(default_factory=dict)
    at: int | None = None
    failed: bool = False
    duration_ms: int | None = None

    @property
    def job_facets(self) -> Mapping[str, Any]:
        """The job's facets of all events."""
        facets: Mapping[str, Any] = self.job.get("facets") or {}
        return facets


def add_up(events: Iterable[Document]) -> Run:
    """One run of its events (`RunEvent`, checked, at least one), in any order and however often each."""
    in_order = sorted(events, key=_order)
    ends = [event for event in in_order if event.get("eventType") in _ENDS]
    jobs = _added(event["job"] for event in in_order)
    starts = [moment(event) for event in in_order if event.get("eventType") == "START"]
    at = moment(ends[-1]) if ends else None
    # openlineage-spark ends a failed action with FAIL (of Spark's job), then COMPLETE (of the SQL execution
    # around it): one failure is enough, in whichever order the two arrive.
    failed = any(end["eventType"] != "COMPLETE" for end in ends)
    if at is None and _is_stream(jobs):
        told = [moment(event) for event in in_order if event.get("eventType") == "RUNNING"]
        at = told[-1] if told else None
    producers = [event["producer"] for event in in_order if event.get("producer")]
    return Run(
        run_id=in_order[0]["run"]["runId"],
        job=jobs,
        facets=_added(event["run"] for event in in_order).get("facets") or {},
        producer=producers[-1] if producers else "",
        inputs=_datasets(in_order, "inputs"),
        outputs=_datasets(in_order, "outputs"),
        at=at,
        failed=failed,
        duration_ms=max(at - starts[0], 0) if at is not None and starts else None,
    )


def newest(events: Iterable[Document]) -> Document:
    """The last of several events about one thing."""
    return max(events, key=_order)


def as_run(event: Document) -> Run:
    """A `JobEvent` as what a run of the job would say."""
    return Run(
        run_id="",
        job=event["job"],
        facets={},
        producer=event.get("producer") or "",
        inputs=_datasets([event], "inputs"),
        outputs=_datasets([event], "outputs"),
        at=moment(event),
    )


def _order(event: Document) -> tuple[int, int, str]:
    return moment(event), _ORDER.get(event.get("eventType") or "OTHER", 3), json.dumps(event, sort_keys=True)


def _is_stream(job: Document) -> bool:
    """A stream has no end by nature (`jobType.processingType`)."""
    kind = ((job.get("facets") or {}).get("jobType") or {}).get("processingType") or ""
    return kind.upper() in ("STREAMING", "SERVICE")


def _datasets(events: list[Document], part: str) -> dict[DatasetKey, Document]:
    found: dict[DatasetKey, list[Document]] = {}
    for event in events:
        for each in event.get(part) or ():
            found.setdefault((each["namespace"], each["name"]), []).append(each)
    return {key: _added(found[key]) for key in sorted(found)}


def _added(parts: Iterable[Document]) -> Document:
    """Facet by facet, the last one that says something."""
    whole: Document = {}
    for part in parts:
        for name, value in part.items():
            if name in ("facets", "outputFacets"):
                told = {facet: told for facet, told in (value or {}).items() if _says_something(told)}
                whole[name] = {**whole.get(name, {}), **told}
            else:
                whole[name] = value
    return whole


def _says_something(facet: Any) -> bool:
    """A facet without anything in it, as some producers send at the start, takes nothing away."""
    return isinstance(facet, dict) and any(
        value not in (None, {}, [], "") for name, value in facet.items() if not name.startswith("_")
    )
