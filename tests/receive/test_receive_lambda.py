"""The Lambda function, called with the example events of AWS's documentation, and what it stores in S3."""

import copy
import gzip
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest

from lineage_merge.infra import storage
from lineage_merge.model.errors import ConfigError, SourceUnreachable
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.receiver import aws_lambda
from tests.receiver import V12, as_sent, event, exchange, plan, receiver, run_event
from tests.s3_fixtures import S3

PLANS = "/producer/execution-plans"
EVENTS = "/producer/execution-events"
LINEAGE = "/api/v1/lineage"
JSON = "application/json"
# With a resource, headers with several values, and those of format 2.0, which has one.
EXAMPLES = (
    "rest_api",
    "http_api_1",
    "http_api_2",
    "function_url",
    "load_balancer",
    "load_balancer_multi_value",
)
ONE_VALUE = ("http_api_2", "function_url")
TOKEN = "a-token-for-tests"


@pytest.fixture(autouse=True)
def function(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A function that stores in `s3://lineage/received`."""
    s3.client.create_bucket(Bucket="lineage")
    monkeypatch.setenv("LINEAGE_MERGE_RECEIVER_LANDING", "s3://lineage/received/")
    monkeypatch.setenv("LINEAGE_MERGE_RECEIVER_TOKEN", TOKEN)
    aws_lambda._configure.cache_clear()
    yield
    aws_lambda._configure.cache_clear()


@pytest.fixture
def examples(data: Path) -> dict[str, Any]:
    return {file.stem: json.loads(file.read_text()) for file in data.joinpath("receive/lambda").iterdir()}


def request(
    example: Mapping[str, Any],
    path: str,
    body: object,
    media: str = V12,
    *,
    number: int = 0,
    method: str = "POST",
    **headers: str,
) -> dict[str, Any]:
    """An example with another request: `number` makes its id and time. `bytes` are sent as base64."""
    made = copy.deepcopy(dict(example))
    context = made["requestContext"]
    sent = {"content-type": media, "authorization": f"Bearer {TOKEN}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    if "elb" in context:
        sent["x-amzn-trace-id"] = f"Root=1-{0x5BDB40CA + number:08x}-556d8b0c50dc66f0511bf520"
    else:
        context["requestId"] += str(number)
        context["timeEpoch" if "timeEpoch" in context else "requestTimeEpoch"] += number
    if made.get("headers"):
        made["headers"] |= sent
    if made.get("multiValueHeaders"):
        made["multiValueHeaders"] |= {name: [value] for name, value in sent.items()}
    if "http" in context:
        made["rawPath"] = path
        context["http"] |= {"path": path, "method": method}
    else:
        made |= {"path": path, "httpMethod": method}
    made["isBase64Encoded"] = isinstance(body, bytes)
    made["body"] = b64encode(body).decode() if isinstance(body, bytes) else body
    if not isinstance(body, bytes | str):
        made["body"] = json.dumps(body)
    return made


def call(made: Mapping[str, Any]) -> tuple[int, str]:
    answer = aws_lambda.handler(made, None)
    return answer["statusCode"], answer["body"]


def stored(s3: S3) -> dict[str, str]:
    """Each object with its text."""
    listing = s3.client.list_objects_v2(Bucket="lineage").get("Contents", ())
    return {
        each["Key"]: s3.client.get_object(Bucket="lineage", Key=each["Key"])["Body"].read().decode()
        for each in listing
    }


def lines(s3: S3, kind: str) -> list[Any]:
    """The documents of a kind, in the order of their files."""
    texts = [text for key, text in sorted(stored(s3).items()) if key.startswith(f"received/{kind}/")]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def graph(location: object) -> tuple[list[dict[str, Any]], list[str]]:
    """The graph of all that is stored, and the problems, without the names of files."""
    settings = {
        "dag_name": "daily",
        "environment": "dev",
        "spline": {"agent": f"{location}/spline"},
        "openlineage": {"events": f"{location}/openlineage"},
        "merge": {"default_schemas": {"redshift://tickit-wh.us-east-1:5439": "dev.public"}},
    }
    report, elements = read_sources.merge(CONFIGURATION.parse(settings))
    problems = sorted(f"{each.kind} {each.message}" for each in report.problems)
    return sorted(elements.collect(), key=lambda row: row["id"]), problems


def captured(data: Path) -> list[dict[str, Any]]:
    """The requests of two agents, and of Airflow."""
    found = [
        json.loads(line)
        for version in ("1_0", "1_2")
        for line in data.joinpath(f"receive/spline_{version}.jsonl").read_text().splitlines()
    ]
    for line in gzip.decompress(
        data.joinpath("openlineage/airflow/airflow_3_0.jsonl.gz").read_bytes()
    ).splitlines():
        headers = {"Content-Type": JSON, "Content-Encoding": "gzip", "Content-Length": "", "Host": "x"}
        found.append({"method": "POST", "path": LINEAGE, "headers": headers, "body": line.decode()})
    return found


@pytest.mark.jvm
def test_requests_to_the_function_give_the_graph_of_requests_to_the_server(
    tmp_path: Path, data: Path, examples: Mapping[str, Any]
) -> None:
    requests = captured(data)
    with receiver(tmp_path / "received") as running:
        by_server = [exchange(running.port, as_sent(each)) for each in requests]
        running.stop()
    expected = graph(tmp_path / "received")
    assert {row["label"] for row in expected[0]} >= {"job", "feeds"}

    for number, example in enumerate(EXAMPLES):
        landing = f"s3://lineage/{example}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LINEAGE_MERGE_RECEIVER_LANDING", landing)
            aws_lambda._configure.cache_clear()
            by_function = []
            for count, each in enumerate(requests):
                packed = each["headers"].get("Content-Encoding") == "gzip"
                body = gzip.compress(each["body"].encode()) if packed else each["body"]
                more = {"content_encoding": "gzip"} if packed else {}
                media = each["headers"].get("Content-Type", "")
                made = request(
                    examples[example],
                    each["path"],
                    body,
                    media,
                    number=number * 1000 + count,
                    method=each["method"],
                    **more,
                )
                by_function.append(call(made))

        assert [status for status, _ in by_function] == [status for status, _, _ in by_server]
        # Gateways and the server send no body in the answer to HEAD.
        posted = [number for number, each in enumerate(requests) if each["method"] == "POST"]
        assert [by_function[each][1] for each in posted] == [by_server[each][2].decode() for each in posted]
        assert graph(landing) == expected


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_request_that_is_delivered_twice_is_one_object(
    s3: S3, examples: Mapping[str, Any], example: str
) -> None:
    first = request(examples[example], PLANS, plan(1))
    second = request(examples[example], PLANS, plan(2), number=1000)

    assert [call(each) for each in (second, first, first, second)] == [
        (201, json.dumps(body["id"])) for body in (plan(2), plan(1), plan(1), plan(2))
    ]

    assert lines(s3, "spline") == [["plan", plan(1)], ["plan", plan(2)]]
    assert len(stored(s3)) == 2


def test_a_plan_without_an_id_that_is_delivered_twice_is_one_object(
    s3: S3, examples: Mapping[str, Any]
) -> None:
    made = request(examples["http_api_1"], PLANS, {"operations": {}})

    (_, first), (_, last) = call(made), call(made)

    assert first != last
    assert [body["id"] for _, body in lines(s3, "spline")] == [json.loads(last)]


def test_a_request_without_an_id_is_named_by_its_body(s3: S3, examples: Mapping[str, Any]) -> None:
    without = copy.deepcopy(examples["rest_api"])
    del without["requestContext"]["requestTimeEpoch"]
    for body in (plan(1), plan(2), plan(1)):
        made = request(
            {**without, "requestContext": {**without["requestContext"], "requestTimeEpoch": 0}}, PLANS, body
        )
        made["requestContext"]["requestId"] = None
        assert call(made)[0] == 201

    assert sorted(key[:39] for key in stored(s3)) == ["received/spline/19700101T000000000000Z-"] * 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_agents_find_the_versions_of_the_api(examples: Mapping[str, Any], example: str) -> None:
    answer = aws_lambda.handler(request(examples[example], "/producer/status", "", method="HEAD"), None)

    assert answer["statusCode"] == 200
    named = [*(answer.get("headers") or {}).items(), *(answer.get("multiValueHeaders") or {}).items()]
    versions = [
        version
        for name, value in named
        if name.lower() == "absa-spline-api-version"
        for version in ([value] if isinstance(value, str) else value)
    ]
    # The agent does not split "1.2,1.1,1".
    assert versions == (["1.2"] if example in ONE_VALUE else ["1.2", "1.1", "1"])


def test_unknown_senders_and_invalid_documents_are_refused(s3: S3, examples: Mapping[str, Any]) -> None:
    example = examples["http_api_1"]

    assert call(request(example, PLANS, plan(1), authorization="Bearer other")) == (401, "unknown token")
    assert call(request(example, PLANS, [], JSON))[0] == 400
    assert call(request(example, PLANS, b"no gzip", content_encoding="gzip")) == (400, "body is not gzip")
    assert call(request(example, PLANS, plan(1), "text/plain"))[0] == 415
    assert call(request(example, f"{LINEAGE}/batch", [], JSON))[0] == 200
    assert stored(s3) == {}


def test_what_s3_does_not_store_is_to_be_sent_again(
    s3: S3, examples: Mapping[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    s3.client.delete_bucket(Bucket="lineage")
    made = request(examples["http_api_1"], LINEAGE, run_event(1), JSON)

    answer = aws_lambda.handler(made, None)

    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "5")
    assert "lineage" not in answer["body"]
    assert "no such bucket" in capsys.readouterr().err
    s3.client.create_bucket(Bucket="lineage")
    assert call(made)[0] == 201
    assert lines(s3, "openlineage") == [run_event(1)]


def batch(example: Mapping[str, Any], *bodies: object) -> dict[str, Any]:
    """The example of a queue with other messages."""
    records = []
    for number, body in enumerate(bodies):
        record = copy.deepcopy(example["Records"][number % 2])
        record["messageId"] = f"message-{number}"
        record["attributes"]["SentTimestamp"] = str(1545082649183 + number)
        records.append(record | {"body": body if isinstance(body, str) else json.dumps(body)})
    return {"Records": records}


def test_messages_of_a_queue_are_recognized_and_stored(s3: S3, examples: Mapping[str, Any]) -> None:
    packed = b64encode(gzip.compress(json.dumps(plan(2)).encode())).decode()
    made = batch(
        examples["queue"],
        plan(1),
        [event(1), event(2)],
        run_event(1),
        [run_event(2), run_event(3)],
        packed,
        [],
    )

    assert aws_lambda.handler(made, None) == {"batchItemFailures": []}

    assert lines(s3, "spline") == [
        ["plan", plan(1)],
        ["event", event(1)],
        ["event", event(2)],
        ["plan", plan(2)],
    ]
    assert lines(s3, "openlineage") == [run_event(1), run_event(2), run_event(3)]
    assert len(stored(s3)) == 5


def test_only_messages_that_were_not_stored_are_delivered_again(
    s3: S3, examples: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = batch(examples["queue"], plan(1), run_event(1), plan(2))
    failing = ["openlineage"]

    def write(location: str, text: str) -> None:
        if any(each in location for each in failing):
            raise SourceUnreachable(f"{location}: no connection to S3")
        storage.write_text(location, text)

    monkeypatch.setattr(aws_lambda, "write_text", write)

    assert aws_lambda.handler(made, None) == {"batchItemFailures": [{"itemIdentifier": "message-1"}]}
    assert (lines(s3, "spline"), lines(s3, "openlineage")) == ([["plan", plan(1)], ["plan", plan(2)]], [])

    failing.clear()
    # The queue may deliver others again as well.
    for record in made["Records"]:
        record["attributes"]["ApproximateReceiveCount"] = "2"
        record["receiptHandle"] = "another"
    assert aws_lambda.handler(made, None) == {"batchItemFailures": []}
    assert len(stored(s3)) == 3
    assert lines(s3, "openlineage") == [run_event(1)]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("Test message.", "not JSON: Expecting value at character 0"),
        ('{"id": "a"}', "neither an execution plan, an array of its events, nor an OpenLineage event"),
        ('[{"planId": "a"}]', "[0].timestamp: is missing"),
        ("H4sIAAAA", "incomplete gzip stream"),
        ("H4sI!", "neither JSON nor base64"),
        (
            b64encode(gzip.compress(b" " * (1 << 22))).decode(),
            "body decompresses to more than 300 times its size",
        ),
    ],
)
def test_an_invalid_message_is_stored_as_rejected_and_not_delivered_again(
    s3: S3, examples: Mapping[str, Any], capsys: pytest.CaptureFixture[str], body: str, problem: str
) -> None:
    assert aws_lambda.handler(batch(examples["queue"], body, plan(1)), None) == {"batchItemFailures": []}

    assert lines(s3, "spline") == [["plan", plan(1)]]
    (rejected,) = lines(s3, "rejected")
    assert rejected == {"messageId": "message-0", "problem": rejected["problem"], "body": body}
    assert problem in rejected["problem"]
    assert "rejected 1 request" in capsys.readouterr().err


def test_a_rejected_message_that_could_not_be_stored_is_delivered_again(
    s3: S3, examples: Mapping[str, Any]
) -> None:
    s3.client.delete_bucket(Bucket="lineage")

    answer = aws_lambda.handler(batch(examples["queue"], "Test message."), None)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "message-0"}]}


def test_tokens_are_read_from_a_secret(
    examples: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch, s3: S3
) -> None:
    boto3.client("secretsmanager").create_secret(Name="receiver", SecretString='{"tokens": "old new"}')
    monkeypatch.setenv("LINEAGE_MERGE_RECEIVER_TOKEN_SECRET", "receiver#tokens")
    example = examples["http_api_1"]

    answers = [
        call(request(example, PLANS, plan(1), authorization=f"Bearer {token}"))[0]
        for token in ("old", "new", "old new", TOKEN)
    ]

    assert answers == [201, 201, 401, 401]


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"LINEAGE_MERGE_RECEIVER_LANDING": "/tmp"}, "LINEAGE_MERGE_RECEIVER_LANDING: must be s3://"),
        ({"LINEAGE_MERGE_RECEIVER_TOKEN": " "}, "LINEAGE_MERGE_RECEIVER_NO_TOKEN to true"),
    ],
)
def test_a_function_that_is_not_configured_says_what_is_missing(
    examples: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str], problem: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ConfigError, match=problem):
        aws_lambda.handler(request(examples["http_api_1"], PLANS, plan(1)), None)


def test_a_function_without_a_token_says_so_explicitly(
    examples: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINEAGE_MERGE_RECEIVER_TOKEN")
    monkeypatch.setenv("LINEAGE_MERGE_RECEIVER_NO_TOKEN", "true")

    assert call(request(examples["http_api_1"], PLANS, plan(1), authorization=""))[0] == 201
