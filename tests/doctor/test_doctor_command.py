"""`lineage-merge doctor`: lines, JSON, exit codes, and how long it may take."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lineage_merge.cli.checks import as_lines
from lineage_merge.cli.sample import config_file
from lineage_merge.config import Config
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor.examination import CHECKS, Check, examine
from lineage_merge.sources.diagnosis import Diagnosis
from tests.command_line import as_process, in_process

PLAIN = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev"}, needs_source=False)


@pytest.mark.jvm
def test_the_sample_passes() -> None:
    outcome = in_process("doctor", "--config", config_file())

    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "✓ ok       configuration: tickit_daily in dev"
    assert {line.split(":")[0] for line in lines[1:]} == {
        "✓ ok       Spline export",
        "✓ ok       dbt manifest",
        "✓ ok       joins",
        "- skipped  graph connection",
        "✓ ok       Spark",
        "✓ ok       Java",
        "✓ ok       SQL parser",
    }


@pytest.mark.jvm
def test_json_has_every_finding_and_the_exit_code_of_the_first_failure(tmp_path: Path) -> None:
    settings = yaml.safe_load(config_file().read_text())
    settings["spline"]["export"] = str(tmp_path / "nothing")
    settings["dbt"][0]["manifest"] = str(config_file().parent / "dbt" / "manifest.json")
    settings["gremlin"]["endpoint"] = "ws://127.0.0.1:1/gremlin"
    (tmp_path / "merge.yml").write_text(yaml.safe_dump(settings))

    outcome = in_process("doctor", "-c", tmp_path / "merge.yml", "--json")

    message = json.loads(outcome.out)
    assert outcome.code == message["exit_code"] == 3
    failed = {each["check"]: each["exit_code"] for each in message["findings"] if each["state"] == "failed"}
    assert failed == {"Spline export": 3, "graph connection": 5}
    assert all(each["fix"] for each in message["findings"] if each["state"] in ("failed", "warning"))


def test_of_an_invalid_configuration_each_problem_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "merge.yml").write_text("dag_name: daily\nenvironment: d v\nspline: {eksport: x}\n")

    outcome = in_process("doctor", "-c", tmp_path / "merge.yml")

    assert outcome.code == 2
    first, second = outcome.out.splitlines()
    assert first.startswith(f"✗ failed   configuration: {tmp_path}/merge.yml:2: environment: must be")
    assert "Fix:" not in first
    assert f"{tmp_path}/merge.yml:3: spline.eksport: is not a known key; did you mean export? Fix:" in second
    as_json = json.loads(in_process("doctor", "-c", tmp_path / "merge.yml", "--json").out)
    assert [each["message"].partition(": ")[0] for each in as_json["findings"]] == [
        f"{tmp_path}/merge.yml:2",
        f"{tmp_path}/merge.yml:3",
    ]


def test_a_hanging_or_failing_check_hides_no_other() -> None:
    with socket.create_server(("127.0.0.1", 0)) as no_progress:

        def hangs(_config: Config) -> Iterator[Diagnosis]:
            yield Diagnosis("before", "ok", "seen")
            client = socket.create_connection(no_progress.getsockname())
            client.settimeout(30)
            with client:
                client.recv(1)

        def breaks(_config: Config) -> Iterator[Diagnosis]:
            raise KeyError("s3://user:hunter2@bucket/key")

        started = time.monotonic()
        found = examine(
            PLAIN, [Check("a", hangs, 3), Check("b", breaks), Check("c", lambda _: iter([]))], seconds=0.5
        )
        assert time.monotonic() - started < 15

    assert [(each.check, each.state, each.exit_code) for each in found] == [
        ("before", "ok", 0),
        ("a", "failed", 3),
        ("b", "failed", 1),
    ]
    assert "hunter2" not in str(found)


@pytest.mark.jvm
def test_silent_hosts_do_not_block_the_command(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as no_progress:
        address = f"127.0.0.1:{no_progress.getsockname()[1]}"
        settings = {
            "dag_name": "daily",
            "environment": "dev",
            "spline": {"arango": {"hosts": f"http://{address}", "database": "spline", "timeout_seconds": 1}},
            "gremlin": {"endpoint": f"ws://{address}/gremlin", "timeout_seconds": 1},
        }
        (tmp_path / "merge.yml").write_text(yaml.safe_dump(settings))
        started = time.monotonic()

        outcome = as_process("doctor", "-c", tmp_path / "merge.yml")

        assert time.monotonic() - started < 30
    assert outcome.code == 3
    failed = {line.split(":")[0] for line in outcome.out.splitlines() if " failed  " in line}
    assert failed == {"✗ failed   ArangoDB connection", "✗ failed   graph connection"}


def test_a_silent_s3_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as no_progress:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{no_progress.getsockname()[1]}")
        project = {"manifest": "s3://artifacts/manifest.json", "namespace": "redshift://wh.us-east-1:5439"}
        of = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "dbt": [project]})

        (dbt,) = examine(of, [check for check in CHECKS if check.area == "dbt"], seconds=1)

    assert (dbt.state, dbt.exit_code) == ("failed", 3)
    assert dbt.message.startswith("no result after 1 s")


def test_lines_are_ascii_for_ascii_terminals() -> None:
    found = [Diagnosis("a", "ok", "is"), Diagnosis("b", "skipped", "why"), Diagnosis("c", "skipped", "why")]
    found.append(Diagnosis("d", "failed", "is not", "do"))

    lines = [line for line, _ in as_lines(found, "US-ASCII")]

    assert lines == ["+ ok       a: is", "- skipped  b, c: why", "x failed   d: is not. Fix: do"]
    assert all(check.exit_code in (1, 3, 5, 11) for check in CHECKS)
