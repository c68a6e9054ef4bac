"""Owners and tags of jobs that users add with Spline's agent, in documents as its server stores them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.merge.join import merge_locally
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.labels import owners_and_tags
from lineage_merge.sources.spline.reader import read_spline

DATA = Path(__file__).parents[2] / "data"
Document = dict[str, Any]


def job(spline: Document) -> Document:
    """The job of the captured application, by the settings of `spline`."""
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": spline})
    records = read_spline(LocalEngine(), config, from_config(config)).collect()
    (found,) = (row for row in merge_locally(records, "dev", "daily").nodes if row["label"] == "job")
    return found


def changed(folder: Path, change: Callable[[str, Document], None]) -> Document:
    """The job of a copy of the captured database with changed documents."""
    source = DATA / "spline" / "tickit_sales_load"
    for file in source.iterdir():
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for document in lines:
            change(file.name.partition(".")[0], document)
        (folder / file.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return job({"export": str(folder)})


def test_labels_of_a_plan_are_owners_and_tags_of_its_job(tmp_path: Path) -> None:
    def label(collection: str, document: Document) -> None:
        labels = {"owner": ["sales@example.com"], "tags": ["daily", "pii"], "team": ["b"]}
        if collection == "executionPlan":
            document["labels"] = labels
        if collection == "progress":  # which has a copy
            document["execPlanDetails"]["labels"] = labels

    found = changed(tmp_path, label)
    assert (found["name"], found["owners"], found["tags"]) == (
        "tickit_sales_load",
        ["sales@example.com"],
        ["daily", "pii"],
    )


def test_labels_of_executions_and_extra_fields_count_too(tmp_path: Path) -> None:
    def label(collection: str, document: Document) -> None:
        if collection == "executionPlan":
            document["extra"]["owners"] = ["a@example.com", "b@example.com"]
        if collection == "progress":
            document["labels"] = {"tag": ["nightly"]}
            document["extra"]["tags"] = "backfill"

    found = changed(tmp_path, label)
    assert (found["owners"], found["tags"]) == (["a@example.com", "b@example.com"], ["backfill", "nightly"])


def test_without_labels_nothing_is_known(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda _collection, _document: None)
    assert {"owners", "tags"}.isdisjoint(found)


def test_labels_that_an_agent_sends_are_read(tmp_path: Path) -> None:
    with gzip.open(DATA / "agent" / "tickit_sales_load.jsonl.gz", "rt", encoding="utf-8") as lines:
        sent = [json.loads(line) for line in lines]
    for kind, document in sent:
        if kind == "plan":
            document["labels"] = {"owner": ["sales@example.com"]}
            document["extraInfo"]["tag"] = "gold"
        else:
            document["labels"] = {"tags": ["nightly"]}
    (tmp_path / "sent.jsonl").write_text("".join(json.dumps(each) + "\n" for each in sent))
    found = job({"agent": [str(tmp_path)]})
    assert (found["owners"], found["tags"]) == (["sales@example.com"], ["gold", "nightly"])


@pytest.mark.parametrize("value", [None, 7, {"a": "b"}, [None, 1, ["x"]], "", [" "]])
def test_values_that_are_no_texts_are_ignored(value: Any) -> None:
    assert owners_and_tags({"labels": {"owner": value}, "extra": value}) == {}
    assert owners_and_tags({"labels": value, "execPlanDetails": {"labels": {"tags": value}}}) == {}


def test_values_are_bounded() -> None:
    found = owners_and_tags({"labels": {"tags": ["x" * 1000]}})
    assert found == {"tags": ("x" * 300,)}
