"""Combination of the events of one run: its inputs, outputs and status. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.infra.batches import gather
from lineage_merge.sources.json_values import as_text
from lineage_merge.sources.openlineage.documents import Document, moment
from lineage_merge.sources.openlineage.explicit_lineage import add_explicit_lineage

_ENDS = ("COMPLETE", "ABORT", "FAIL")
_ORDER = {"START": 0, "RUNNING": 1, "OTHER": 2}

DatasetKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """The combined events of one run; later events take precedence.

    `at` (ms since 1970) is the end, or the last report of a stream; None while it is running. `failed`: there
    is a FAIL or ABORT event, whatever follows it; of Airflow, the last end is one. Inputs and outputs are by
    namespace and name, sorted; each has `facets`, `inputFacets` and `outputFacets`. `problems`: those with
    names of datasets.
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
    began_at: int | None = None
    problems: tuple[str, ...] = ()

    @property
    def job_facets(self) -> Mapping[str, Any]:
        """Return the job's facets of all events."""
        facets: Mapping[str, Any] = self.job.get("facets") or {}
        return facets


def combine_events(events: Iterable[Document]) -> Run:
    """Combine the events of one run (`RunEvent`, validated, at least one), in any order, with duplicates."""
    in_order = sorted(events, key=_order)
    ends = [event for event in in_order if event.get("eventType") in _ENDS]
    jobs = _merge_facets(event["job"] for event in in_order)
    starts = [moment(event) for event in in_order if event.get("eventType") == "START"]
    at = moment(ends[-1]) if ends else None
    # openlineage-spark ends a failed action with FAIL (of Spark's job), then COMPLETE (of the surrounding SQL
    # execution): one failure is enough, in either order. In Airflow, a person may set the state afterwards.
    failures = [end["eventType"] != "COMPLETE" for end in ends]
    failed = failures[-1] if failures and _is_airflow(jobs) else any(failures)
    if at is None and _is_stream(jobs):
        reported = [moment(event) for event in in_order if event.get("eventType") == "RUNNING"]
        at = reported[-1] if reported else None
    producers = [event["producer"] for event in in_order if event.get("producer")]
    facets = _merge_facets(event["run"] for event in in_order).get("facets") or {}
    return Run(
        run_id=in_order[0]["run"]["runId"],
        job=jobs,
        facets=facets,
        producer=producers[-1] if producers else "",
        inputs=_datasets(in_order, "inputs"),
        outputs=add_explicit_lineage(jobs.get("facets") or {}, facets, _datasets(in_order, "outputs")),
        at=at,
        failed=failed,
        duration_ms=max(at - starts[0], 0) if at is not None and starts else None,
        began_at=starts[0] if starts else None,
    )


def newest(events: Iterable[Document]) -> Document:
    """Return the last of several events about one subject."""
    return max(events, key=_order)


def as_run(event: Document) -> Run:
    """Return a `JobEvent` in the form of a run of the job."""
    return Run(
        run_id="",
        job=event["job"],
        facets={},
        producer=event.get("producer") or "",
        inputs=_datasets([event], "inputs"),
        outputs=add_explicit_lineage(event["job"].get("facets") or {}, {}, _datasets([event], "outputs")),
        at=moment(event),
    )


def _order(event: Document) -> tuple[int, int, str]:
    # Of an event without a run, the type is not checked: it has none.
    kind = as_text(event.get("eventType")) or "OTHER"
    return moment(event), _ORDER.get(kind, 3), json.dumps(event, sort_keys=True)


def _is_airflow(job: Document) -> bool:
    integration = ((job.get("facets") or {}).get("jobType") or {}).get("integration") or ""
    return str(integration).upper() == "AIRFLOW"


def _is_stream(job: Document) -> bool:
    """Return whether the job is a stream (`jobType.processingType`), which has no end."""
    kind = ((job.get("facets") or {}).get("jobType") or {}).get("processingType") or ""
    return kind.upper() in ("STREAMING", "SERVICE")


def _datasets(events: list[Document], part: str) -> dict[DatasetKey, Document]:
    datasets = (dataset for event in events for dataset in event.get(part) or ())
    documents = gather(((dataset["namespace"], dataset["name"]), dataset) for dataset in datasets)
    return {key: _merge_facets(documents[key]) for key in sorted(documents)}


def _merge_facets(parts: Iterable[Document]) -> Document:
    """Merge facet by facet; the last non-empty one takes precedence."""
    whole: Document = {}
    for part in parts:
        for name, value in part.items():
            if name in ("facets", "inputFacets", "outputFacets"):
                facets = {facet: content for facet, content in (value or {}).items() if _has_content(content)}
                whole[name] = {**whole.get(name, {}), **facets}
            else:
                whole[name] = value
    return whole


def _has_content(facet: Any) -> bool:
    """Return whether a facet has content.

    Empty facets, as some producers send at the start, replace nothing.
    """
    return isinstance(facet, dict) and any(
        value not in (None, {}, [], "") for name, value in facet.items() if not name.startswith("_")
    )
