"""Files of Spline agents, and Kafka, as `doctor` sees them."""

import socket
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.config import Config
from lineage_merge.model.errors import ConfigError, SourceMissing, SourceUnreachable
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor import machine
from lineage_merge.orchestration.preflight import check_sources
from lineage_merge.sources.diagnosis import Diagnosis
from lineage_merge.sources.kafka_landing.files import Range, file_name
from tests.doctor.diagnosing import examine
from tests.s3_fixtures import S3

CLOSED_PORT = "127.0.0.1:1"


def settings(**spline: Any) -> Config:
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": spline})


def examined(*locations: str | Path) -> list[Diagnosis]:
    return examine("Spline agent", settings(agent=[str(each) for each in locations]))


def test_files_with_plans_pass_at_any_location(data: Path, s3: S3) -> None:
    in_s3 = s3.put("logs", "spline/agent.log.gz", data / "agent" / "seed_queries.jsonl.gz")

    found = examined(data / "agent", in_s3)

    assert [(each.check, each.state) for each in found] == [("Spline agent", "ok"), ("Spline agent", "ok")]
    assert found[0].message == f"{data}/agent: 6 files, with lineage"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("2026-11-21 INFO Driver: OK\n", "no lineage", "spark.spline.lineageDispatcher"),
        ('INFO ["plan", {"id": \n', "not JSON", "a run skips it"),
    ],
)
def test_a_log_without_a_valid_plan_is_a_warning(tmp_path: Path, text: str, message: str, fix: str) -> None:
    (tmp_path / "agent.log").write_text(text)

    (found,) = examined(tmp_path)

    assert found.state == "warning"
    assert message in found.message
    assert fix in found.fix


def test_a_missing_folder_fails_in_doctor_and_run(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"

    (found,) = examined(nowhere)

    assert (found.state, found.exit_code) == ("failed", 3)
    with pytest.raises(SourceMissing):
        check_sources(settings(agent=str(nowhere)))


def topic(servers: str, landing: Path | str, **more: Any) -> Config:
    return settings(kafka={"servers": servers, "topic": "spline", "landing": str(landing), **more})


def test_an_available_broker_passes_with_the_landed_offsets(tmp_path: Path) -> None:
    for each in (Range(0, 0, 40), Range(1, 5, 7)):
        file = tmp_path / "spline" / file_name(each)
        file.parent.mkdir(parents=True)
        file.touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        servers = f"{CLOSED_PORT},127.0.0.1:{server.getsockname()[1]}"
        asked = topic(servers, tmp_path)
        (found,) = examine("Kafka", asked)
        check_sources(asked)

    assert found.state == "ok"
    assert (
        found.message == f"spline at {servers} is available; {tmp_path}/spline: read up to 47 in 2 partitions"
    )


def test_an_unavailable_broker_fails_in_doctor_and_run(tmp_path: Path) -> None:
    asked = topic(CLOSED_PORT, tmp_path)

    (found,) = examine("Kafka", asked)

    assert (found.state, found.exit_code) == ("failed", 3)
    assert found.message == "Kafka topic spline: no connection to 127.0.0.1:1 (Connection refused)"
    with pytest.raises(SourceUnreachable):
        check_sources(asked)


def test_a_missing_password_is_reported_without_its_name(tmp_path: Path) -> None:
    asked = topic(CLOSED_PORT, tmp_path, options_env={"sasl.jaas.config": "HUNTER2"})

    (found,) = examine("Kafka", asked)

    assert (found.state, found.exit_code) == ("failed", 2)
    assert "HUNTER2" not in found.message + found.fix
    with pytest.raises(ConfigError, match="options_env"):
        check_sources(asked)


def test_s3_and_secrets_need_aws() -> None:
    local = topic(CLOSED_PORT, "landing")
    in_s3 = topic(CLOSED_PORT, "s3://lake/landing")
    by_secret = topic(CLOSED_PORT, "landing", options_secret={"sasl.jaas.config": "kafka/login"})

    needing = [
        machine.needs_aws(each) for each in (local, in_s3, by_secret, settings(agent="s3://lake/logs"))
    ]

    assert needing == [False, True, True, True]
