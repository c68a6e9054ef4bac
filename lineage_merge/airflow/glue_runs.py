"""Runs of a Glue job: state, search by arguments, stop. Imports no Airflow."""

import time
from collections.abc import Mapping
from itertools import islice
from typing import Any

# States in which a run may still write. A STOPPING run must not be resumed.
ACTIVE = frozenset({"STARTING", "RUNNING", "WAITING", "STOPPING"})
SUCCEEDED = "SUCCEEDED"
STOPPING = "STOPPING"
# Newest first: enough to find the run of a killed worker.
_PAGES_OF_RUNS = 3
# Glue needs seconds to stop a run.
_STOP_POLLS = 120


def run_of_attempt(client: Any, job_name: str, attempt: str) -> str:
    """Return the id of the run with this `--attempt`, or ""."""
    pages = client.get_paginator("get_job_runs").paginate(JobName=job_name)
    try:
        for page in islice(pages, _PAGES_OF_RUNS):
            for run in page["JobRuns"]:
                if (run.get("Arguments") or {}).get("--attempt") == attempt:
                    return str(run["Id"])
    except client.exceptions.EntityNotFoundException:
        pass
    return ""


def state(client: Any, job_name: str, run_id: str) -> str:
    """Return the state of a run, or ""."""
    return str(_run(client, job_name, run_id).get("JobRunState", ""))


def outcome(client: Any, job_name: str, run_id: str) -> dict[str, str]:
    """Return state and error message of a run."""
    found = _run(client, job_name, run_id)
    return {"state": str(found.get("JobRunState", "")), "message": str(found.get("ErrorMessage") or "")}


def _run(client: Any, job_name: str, run_id: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = client.get_job_run(JobName=job_name, RunId=run_id)["JobRun"]
    except client.exceptions.EntityNotFoundException:
        return {}
    return found


def request_stop(client: Any, job_name: str, run_id: str) -> None:
    """Request the stop of a run; no effect on a completed run."""
    client.batch_stop_job_run(JobName=job_name, JobRunIds=[run_id])


def stop(client: Any, job_name: str, run_id: str, poll_seconds: float) -> bool:
    """Stop a run and wait for its end; return whether it has ended."""
    request_stop(client, job_name, run_id)
    for _ in range(_STOP_POLLS):
        if state(client, job_name, run_id) not in ACTIVE:
            return True
        time.sleep(poll_seconds)
    return False
