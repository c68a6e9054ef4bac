"""The source `capture`: settings, what `init` and `doctor` make of its files, and views as datasets."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import StoredFile
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Dataset, Job, Problem, Reference
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources import document_kind
from lineage_merge.sources.spline.settings import LINES, Capture
from lineage_merge.sources.spline.source import CAPTURE, SPLINE
from lineage_merge.spark_capture.listener.facts import Application
from lineage_merge.spark_capture.listener.lines import messages
from tests.capture.listener.listener_documents import document, write
from tests.doctor.diagnosing import examine
from tests.record_reading import flows_of, jobs_of, records_of, rows_of

GLUE = Application("app-1", {"glueJobName": "sales", "glueJobRunId": "jr_0a"})


def config(folder: Path, **more: Any) -> Any:
    settings = {"files": str(folder), **more}
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "capture": settings})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of a write of a view that reads a folder."""
    made = document(table=Reference("spark_catalog", "shop.totals"), is_view=True)
    (tmp_path / "app-1-0.jsonl").write_bytes(messages(write(made), GLUE).lines())
    return tmp_path


def test_a_view_is_named_by_its_catalog(folder: Path) -> None:
    known = config(folder)

    found = rows_of(CAPTURE.read(LocalEngine(), known, dataset_resolver.from_config(known)))

    assert flows_of(found) == {("job", "file|/lake/orders", "spark_catalog|shop.totals")}
    labels = {(each.ref, each.label) for each in records_of(Dataset, found) if each.label == "view"}
    assert labels == {("dev|spark_catalog|shop.totals", "view")}
    assert jobs_of(found)["job"]["last_run_id"] == "jr_0a"
    assert records_of(Problem, found) == []
    assert records_of(Job, found)


def test_applications_are_selected(folder: Path) -> None:
    known = config(folder, applications=["other_*"])

    found = rows_of(CAPTURE.read(LocalEngine(), known, dataset_resolver.from_config(known)))

    assert flows_of(found) == set()


def test_settings_need_files(tmp_path: Path) -> None:
    assert config(tmp_path).of(Capture).files == (str(tmp_path),)
    with pytest.raises(ConfigError, match="capture"):
        CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "capture": {"lookback": 3}})


def test_its_files_are_told_apart_from_those_of_the_agent(folder: Path, data: Path) -> None:
    (file,) = folder.iterdir()
    own = StoredFile(str(file), file.stat().st_size)
    of_agent = data / "agent" / "http_probe_1_2.jsonl"
    other = StoredFile(str(of_agent), of_agent.stat().st_size)

    listener, agent = CAPTURE.discovery(), SPLINE.discovery()
    assert (listener.has_documents(own), agent.has_documents(own)) == (True, False)
    assert (listener.has_documents(other), agent.has_documents(other)) == (False, True)
    assert document_kind.recognize_bytes(file.read_bytes()) is LINES
    assert document_kind.recognize_bytes(file.read_bytes()[:200]) is LINES


def test_doctor_reads_a_message(folder: Path, tmp_path: Path) -> None:
    (found,) = examine("capture files", config(folder))
    assert (found.state, found.message) == ("ok", f"{folder}: 1 files, with lineage")

    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "a.jsonl").write_text(json.dumps(["plan", {"id": 1}]) + "\n")
    (found,) = examine("capture files", config(empty))
    assert found.state == "warning"
