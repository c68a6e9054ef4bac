"""The listener in jobs of their own: how they end, and what they leave in the folder."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import clean_environment

pytestmark = pytest.mark.jvm

_JOB = """
import os, sys, time
from lineage_merge import capture
from lineage_merge.config import SparkOptions
from lineage_merge.infra import spark_session
from lineage_merge.spark_capture.listener.recorder import Limits

folder, target, seconds, end = sys.argv[1:]
with spark_session.session(SparkOptions()) as spark:
    installed = time.monotonic()
    listener = capture.install(spark, target, limits=Limits(seconds=float(seconds)))
    frame = spark.range(3).coalesce(1)
    for number in range(4):
        frame.write.parquet(f"{folder}/out_{number}")
    print("written", flush=True)
    if end == "killed":
        time.sleep(600)
    if end == "exit":
        sys.exit(3)
    if end == "failed":
        raise ValueError("the job's own")
    start = time.monotonic()
    spark.stop()
    print(f"stopped {time.monotonic() - start:.1f}", flush=True)
"""


def job(folder: Path, target: str, end: str, seconds: float = 3600.0) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", _JOB, folder, target, seconds, end]
    return subprocess.Popen(
        [str(each) for each in words],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def recorded(lineage: Path) -> set[str]:
    """The targets in the files that a merge reads: each line is complete."""
    found: list[Any] = []
    for file in lineage.glob("[!.]*"):
        found += map(json.loads, file.read_text().splitlines())
    plans = {
        body["id"]: body["operations"]["write"]["outputSource"] for kind, body in found if kind == "plan"
    }
    assert {body["planId"] for kind, body in found if kind == "event"} == plans.keys()
    return {target.rpartition("/")[2] for target in plans.values()}


ALL = {"out_0", "out_1", "out_2", "out_3"}


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param("stop", 0, marks=pytest.mark.nightly),
        pytest.param("exit", 3, marks=pytest.mark.nightly),
        ("failed", 1),
    ],
)
def test_a_job_that_ends_delivers_everything(tmp_path: Path, end: str, code: int) -> None:
    with job(tmp_path, f"{tmp_path}/lineage", end) as process:
        _, errors = process.communicate(timeout=120)

    assert process.returncode == code, errors
    assert recorded(tmp_path / "lineage") == ALL
    assert "lineage:" not in errors


def test_a_job_that_is_killed_leaves_what_was_delivered_and_complete_files(tmp_path: Path) -> None:
    lineage = tmp_path / "lineage"
    with job(tmp_path, str(lineage), "killed", 0.01) as process:
        assert process.stdout
        assert process.stdout.readline() == "written\n"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (lineage.is_dir() and recorded(lineage) == ALL):
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)

    assert recorded(lineage) == ALL


def test_a_job_ends_well_where_nothing_can_be_delivered(tmp_path: Path) -> None:
    with job(tmp_path, "http://127.0.0.1:1", "stop", 0.01) as process:
        output, errors = process.communicate(timeout=120)

    assert process.returncode == 0, errors
    assert "stopped" in output
    lines = [line for line in errors.splitlines() if line.startswith("lineage:")]
    assert lines == [
        "lineage: not delivered, which is tried again: http://127.0.0.1:1: URLError",
        "lineage: 0 writes recorded, 4 executions or writes lost",
    ]
