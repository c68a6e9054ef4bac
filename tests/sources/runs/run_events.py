"""Ends of writes for the tests of `sources/runs`."""

from typing import Any

from lineage_merge.sources.runs.events import EventRow


def event(plan: str | None, at: int, run: str = "r1", **more: Any) -> EventRow:
    """A wanted write of the job "load" to the dataset "x", that ended without error."""
    fields: dict[str, Any] = {
        "database": "",
        "wanted": True,
        "key": f"{plan} {at}",
        "plan": plan,
        "application": "load",
        "job": "load",
        "job_type": "spark",
        "target": more.get("dataset", "x"),
        "dataset": "x",
        "at": at,
        "duration_ms": 0,
        "run_id": run,
        "shown_run_id": run,
        "failed": False,
        "append": False,
        "framework": "spark",
        "unlabelled": [],
    }
    return EventRow(**{**fields, **more})
