"""Telemetry of a run: JSON lines, metrics, spans; one real run for all of them."""

import json
import logging
import re
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml
from gremlin_python.process.graph_traversal import GraphTraversalSource
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lineage_merge.infra import telemetry
from lineage_merge.infra.telemetry import ActiveRun, bind_step, emf_line, running, step
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.command_line import Outcome, in_process, python_imports

# What CloudWatch demands of a document, from its specification of the format.
EMF_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["_aws"],
    "properties": {
        "_aws": {
            "type": "object",
            "required": ["Timestamp", "CloudWatchMetrics"],
            "properties": {
                "Timestamp": {"type": "integer"},
                "CloudWatchMetrics": {"type": "array", "items": {"$ref": "#/$defs/directive"}},
            },
        }
    },
    "$defs": {
        "directive": {
            "type": "object",
            "required": ["Namespace", "Dimensions", "Metrics"],
            "properties": {
                "Namespace": {"type": "string", "minLength": 1, "maxLength": 1024},
                "Dimensions": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": 30,
                        "items": {"type": "string", "minLength": 1, "maxLength": 250},
                    },
                },
                "Metrics": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 100,
                    "items": {
                        "type": "object",
                        "required": ["Name"],
                        "properties": {
                            "Name": {"type": "string", "minLength": 1, "maxLength": 1024},
                            "Unit": {"enum": ["Count", "Seconds", "Milliseconds", "Bytes", "None"]},
                        },
                        "additionalProperties": False,
                    },
                },
            },
            "additionalProperties": False,
        }
    },
}


def checked(line: str) -> dict[str, Any]:
    """A line of metrics as CloudWatch would read it: what it names is there, and of the right type."""
    document: dict[str, Any] = json.loads(line)
    jsonschema.validate(document, EMF_SCHEMA)
    for directive in document["_aws"]["CloudWatchMetrics"]:
        for metric in directive["Metrics"]:
            assert type(document[metric["Name"]]) in (int, float)
        for dimensions in directive["Dimensions"]:
            for name in dimensions:
                assert isinstance(document[name], str)
                assert 0 < len(document[name]) <= 1024
    return document


class JobArguments(NamedTuple):
    """A run's outcome, its log lines and its spans."""

    outcome: Outcome
    lines: list[dict[str, Any]]
    spans: list[Any]


@pytest.fixture(scope="session")
def exporter() -> InMemorySpanExporter:
    """Where spans go; a process has one provider, set once."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    trace.set_tracer_provider(provider)
    return memory


@pytest.fixture
def settings(data: Path, tmp_path: Path) -> Path:
    """A configuration with one dbt project, as people keep it."""
    manifest = str(data / "dbt" / "redshift_v12" / "manifest.json")
    file = tmp_path / "lineage_merge.yml"
    project = {"manifest": manifest, "namespace": "redshift://wh.us-east-1:5439"}
    file.write_text(yaml.safe_dump({"dag_name": "daily", "environment": "dev", "dbt": [project]}))
    return file


FLAGS = ("--log-format", "json", "--metrics-format", "emf", "--metrics-namespace", "Lineage")


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_logs_metrics_and_spans_of_a_run_have_one_id(
    settings: Path, gremlin: GraphTraversalSource, gremlin_url: str, exporter: InMemorySpanExporter
) -> None:
    exporter.clear()

    outcome = in_process("run", "-c", settings, "--gremlin-endpoint", gremlin_url, *FLAGS)

    assert outcome.code == 0, outcome
    lines = [json.loads(line) for line in outcome.err.splitlines()]
    (run_id,) = {line["run_id"] for line in lines}
    assert re.fullmatch("[0-9a-f]{32}", run_id)
    assert {(line["dag_name"], line["environment"], line["level"]) for line in lines} == {
        ("daily", "dev", "INFO")
    }
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["timestamp"]) for line in lines)
    assert {line.get("step") for line in lines} == {"read", "join", "load", None}
    done = lines[-1]
    assert done["message"] == "done"
    assert done["counts"]["vertices_written"] == gremlin.V().not_(_merge_runs()).count().next()
    assert done["counts"]["edges_written"] == gremlin.E().count().next() > 0

    (metrics,) = [line for line in outcome.out.splitlines() if line.startswith("{")]
    document = checked(metrics)
    assert document["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Lineage"
    assert (document["run_id"], document["failed"]) == (run_id, 0)
    assert {name: document[name] for name in done["counts"]} == done["counts"]

    spans = {span.name.removeprefix("lineage_merge."): span for span in exporter.get_finished_spans()}
    parents = {
        name: next(
            (other for other, each in spans.items() if each.context.span_id == span.parent.span_id), ""
        )
        for name, span in spans.items()
        if span.parent
    }
    assert parents == {
        "build": "run",
        "read": "build",
        "join": "build",
        "load": "run",
        "compare": "load",
        "write": "load",
    }
    attributes = {name: span.attributes or {} for name, span in spans.items()}
    assert {values["lineage_merge.run_id"] for values in attributes.values()} == {run_id}
    written = attributes["load"]["lineage_merge.edges_written"]
    assert written == done["counts"]["edges_written"]


def _merge_runs() -> Any:
    from gremlin_python.process.graph_traversal import __

    return __.has_label("merge_run", "merge_state")


def test_a_run_that_fails_says_so_in_the_log_and_in_the_metrics(
    settings: Path, exporter: InMemorySpanExporter
) -> None:
    exporter.clear()

    outcome = in_process("run", "-c", settings, "--gremlin-endpoint", "ws://127.0.0.1:1/gremlin", *FLAGS)

    assert outcome.code == 5
    (line,) = [json.loads(line) for line in outcome.err.splitlines()]
    assert (line["level"], line["exit_code"]) == ("ERROR", 5)
    assert "127.0.0.1:1" in line["message"]
    document = checked(outcome.out.strip())
    assert (document["failed"], document["run_id"]) == (1, line["run_id"])
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR


def test_metrics_leave_standard_output_to_json(settings: Path) -> None:
    flags = ("--gremlin-endpoint", "ws://127.0.0.1:1/gremlin", "--metrics-format", "emf", "--json")

    outcome = in_process("run", "-c", settings, *flags)

    assert outcome.out == ""
    metrics, error = outcome.err.splitlines()
    assert checked(metrics)["failed"] == 1
    assert error.startswith("error: ")


def test_telemetry_is_off_by_default(settings: Path) -> None:
    outcome = in_process("run", "-c", settings, "--gremlin-endpoint", "ws://127.0.0.1:1/gremlin")

    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err.startswith("error: ")


def test_a_document_names_at_most_a_hundred_metrics() -> None:
    counts = {f"count_{number:03}": number for number in range(150)}

    document = checked(emf_line("Lineage", ActiveRun("r", "daily", "dev"), counts, 1.5, 1_700_000_000_000))

    assert len(document["_aws"]["CloudWatchMetrics"][0]["Metrics"]) == 100
    assert document["seconds"] == 1.5


def test_an_unknown_dag_is_no_dimension_of_a_metric() -> None:
    run = ActiveRun("r", dag_name="", environment="dev")

    document = json.loads(emf_line("Lineage", run, {"failed": 1}, 1.5, 1_700_000_000_000))

    assert document["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["environment"]]


@pytest.mark.parametrize("namespace", ["AWS/Neptune", "a b", "", "x" * 256])
def test_namespaces_that_cloudwatch_refuses_are_refused(namespace: str) -> None:
    settings = {"dag_name": "daily", "environment": "dev", "metrics": {"namespace": namespace}}

    with pytest.raises(ConfigError, match=r"metrics\.namespace"):
        CONFIGURATION.parse(settings, needs_source=False)


def test_a_line_from_another_thread_belongs_to_its_step() -> None:
    from threading import Thread

    parsed = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev"}, needs_source=False)
    stream = StringIO()
    with telemetry.as_json(stream=stream), running(parsed) as run, step("load"):
        say = bind_step(logging.getLogger("lineage_merge").info)
        thread = Thread(target=say, args=("writing nodes",))
        thread.start()
        thread.join()

    first = json.loads(stream.getvalue().splitlines()[0])
    assert (first["message"], first["step"], first["run_id"]) == ("writing nodes", "load", run.id)


def test_what_other_libraries_log_is_json_too_and_without_secrets() -> None:
    stream = StringIO()
    with telemetry.as_json(stream=stream):
        try:
            raise ValueError("x")  # noqa: TRY301
        except ValueError:
            logging.getLogger("py4j").exception("lost %s", "jdbc:redshift://u:hunter2@wh:5439/dev\n\tat Foo")
        logging.getLogger("py4j").info("irrelevant to users")

    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert (entry["logger"], entry["level"], entry["error"]) == ("py4j", "ERROR", "ValueError")
    assert "hunter2" not in line
    assert "run_id" not in entry


def test_the_package_imports_opentelemetry_only_when_a_step_runs() -> None:
    assert "opentelemetry" not in python_imports("-c", "import lineage_merge.infra.telemetry")
