"""The tries of a step: what their folders and records hold."""

import json
import os
from pathlib import Path

import pytest

from lineage_merge.airflow import attempts
from lineage_merge.airflow.attempts import RunRecord, private_folder
from lineage_merge.model.errors import ConfigError

SENT = {"--step": "build", "--folder": "s3://b/r/try-1", "--attempt": "d/g.build/r/-1/1", "--dag-name": "d"}


@pytest.mark.parametrize(
    ("step", "changed", "equal"),
    [
        ("build", {"--attempt": "d/g.build/r/-1/2", "--folder": "s3://b/r/try-2"}, True),
        ("build", {"--dag-name": "other"}, False),
        ("build", {"--strict": "true"}, False),
        ("load", {"--attempt": "d/g.load/r/-1/2"}, True),
        ("load", {"--folder": "s3://b/r/try-2"}, False),
    ],
)
def test_two_tries_do_the_same_if_all_but_their_own_arguments_are_equal(
    step: str, changed: dict[str, str], equal: bool
) -> None:
    assert (attempts.digest(step, SENT) == attempts.digest(step, SENT | changed)) is equal


def test_each_try_of_a_build_has_a_folder_of_its_own() -> None:
    assert [attempts.try_folder("s3://b/r", number) for number in (1, 2)] == [
        "s3://b/r/try-1",
        "s3://b/r/try-2",
    ]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = RunRecord(
        "d/g.build/r/-1/1", "s3://b/r/try-1", "job", "0a", "jr_1", SENT, [["s3://b", "m"]], [["s3://b", "r"]]
    )

    assert attempts.read(str(tmp_path), "build") is None
    attempts.write(str(tmp_path), "build", record)

    assert attempts.read(str(tmp_path), "build") == record
    assert attempts.read(str(tmp_path), "load") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"attempt": "a"}', json.dumps({"unknown": 1})])
def test_a_record_of_another_version_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "build.run.json").write_text(text)

    assert attempts.read(str(tmp_path), "build") is None


def test_arguments_are_shown_without_passwords() -> None:
    sent = {
        "--gremlin-endpoint": "wss://user:hunter2@graph:8182/gremlin",
        "--merge-default-schemas": '{"redshift://wh.us-east-1:5439":"dev.public"}',
        "--conf": "spark.x=1",
        "--number-of-workers": 2,
    }

    assert attempts.redact_secrets(sent) == {
        "--gremlin-endpoint": "wss://graph:8182/gremlin",
        "--merge-default-schemas": '{"redshift://wh.us-east-1:5439":"dev.public"}',
        "--conf": "spark.x=1",
        "--number-of-workers": "2",
    }


def test_the_default_folder_is_private_and_of_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, open_to_all, link = tmp_path / "made", tmp_path / "open", tmp_path / "link"
    open_to_all.mkdir(mode=0o755)
    link.symlink_to(open_to_all)

    assert [each.stat().st_mode & 0o777 for each in map(private_folder, (made, open_to_all))] == [0o700] * 2
    with pytest.raises(ConfigError, match="link is not a folder of this user"):
        private_folder(link)
    monkeypatch.setattr(os, "geteuid", lambda: 1 << 20)
    with pytest.raises(ConfigError, match="made is not a folder of this user"):
        private_folder(made)
