"""The fixture `neptune_loader`: a server that answers as Neptune's bulk loader does, and really loads.

What it accepts comes from botocore's own model of the service (`neptunedata`): paths, members, their
types and allowed values. It reads the CSV from S3 with `tests.neptune_reading`, and writes into the
Gremlin Server of the tests. Queue, dependencies and statuses are those of AWS's "Loader Command".
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from queue import Queue
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import boto3
import pytest
from botocore.model import ServiceModel, Shape
from botocore.session import get_session
from botocore.validate import ParamValidator
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.traversal_source import source
from tests.http_server import Answer, Request, receiving
from tests.neptune_reading import LoadError, put, records

ROLE = "arn:aws:iam::111122223333:role/neptune-loader"
REGION = "us-east-1"
LONGEST_QUEUE = 64
_MOST_ERRORS = 10_000


class Refused(Exception):
    """An answer that is an error: a shape of the service's model, and the message."""

    def __init__(self, shape: str, message: str) -> None:
        super().__init__(message)
        self.shape, self.message = shape, message


@dataclass
class Job:
    """A load."""

    id: str
    asked: dict[str, Any]
    status: str = "LOAD_IN_QUEUE"
    files: dict[str, str] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    cancelled: Event = field(default_factory=Event)

    @property
    def source(self) -> str:
        return str(self.asked["source"])

    @property
    def is_over(self) -> bool:
        return self.status not in ("LOAD_IN_QUEUE", "LOAD_NOT_STARTED", "LOAD_IN_PROGRESS")


class Standin:
    """The loader. Tests hold it, make it fail and look at what it was asked.

    While `going` is not set, loads wait whose source ends with `held`. `failing`: by the end of a
    source's name, an overall status and the errors that go with it, once. `calls`: operation,
    parameters and the request's headers.
    """

    def __init__(self, gremlin_url: str) -> None:
        self._gremlin_url = gremlin_url
        self._model: ServiceModel = get_session().get_service_model("neptunedata")
        self._queue: Queue[Job | None] = Queue()
        self.jobs: dict[str, Job] = {}
        self.calls: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.going = Event()
        self.going.set()
        self.held = ""
        self.failing: dict[str, tuple[str, list[dict[str, Any]]]] = {}
        self.queue_is_full = 0
        self.role_may_read = True
        self.lost_answers = 0
        self.url = ""
        self._thread = Thread(target=self._work)
        self._thread.start()

    def close(self) -> None:
        for job in self.jobs.values():
            job.cancelled.set()
        self.going.set()
        self._queue.put(None)
        self._thread.join()

    def asked(self, operation: str) -> list[dict[str, Any]]:
        """The parameters of every call of an operation."""
        return [parameters for name, parameters, _ in self.calls if name == operation]

    # What the loader does

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            while job.source.endswith(self.held) and not self.going.wait(0.02):
                if job.cancelled.is_set():
                    break
            needed = [self.jobs[each].status for each in job.asked.get("dependencies", ())]
            if job.cancelled.is_set():
                job.status = "LOAD_CANCELLED_BY_USER"
            elif any(status != "LOAD_COMPLETED" for status in needed):
                job.status = "LOAD_FAILED_BECAUSE_DEPENDENCY_NOT_SATISFIED"
            else:
                self._run(job)

    def _run(self, job: Job) -> None:
        failure = next(
            (self.failing.pop(end) for end in list(self.failing) if job.source.endswith(end)), None
        )
        if not self.role_may_read:
            failure = (
                "LOAD_FAILED",
                [{"errorCode": "S3_ACCESS_DENIED_ERROR", "errorMessage": "Access denied"}],
            )
        if failure:
            job.errors = failure[1]
            job.files = {job.source: failure[0]}
            job.status = failure[0]
            return
        job.status = "LOAD_IN_PROGRESS"
        connection = DriverRemoteConnection(self._gremlin_url, "g")
        try:
            job.status = self._load(job, source(connection))
        finally:
            connection.close()

    def _load(self, job: Job, g: GraphTraversalSource) -> str:
        client: Any = boto3.client("s3", region_name=REGION)
        bucket, _, prefix = job.source.removeprefix("s3://").partition("/")
        found = client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])
        keys = [each["Key"] for each in found]
        job.files = dict.fromkeys(keys, "LOAD_NOT_STARTED")
        for key in keys:
            job.files[key] = "LOAD_IN_PROGRESS"
            number = 0
            try:
                with client.get_object(Bucket=bucket, Key=key)["Body"] as body:
                    data = body.read()
                for number, record in enumerate(records(data), 1):  # noqa: B007
                    if job.cancelled.is_set():
                        return "LOAD_CANCELLED_BY_USER"
                    put(g, record, update_single=job.asked.get("updateSingleCardinalityProperties", False))
            except LoadError as error:
                place = {"fileName": f"s3://{bucket}/{key}", "recordNum": error.record}
                job.errors.append({"errorCode": error.code, "errorMessage": error.message, **place})
                job.files[key] = "LOAD_FAILED"
                if job.asked.get("failOnError", True):
                    return "LOAD_FAILED"
            else:
                job.files[key] = "LOAD_COMPLETED"
        client.close()
        return "LOAD_FAILED" if not keys or job.errors else "LOAD_COMPLETED"

    # What it answers

    def start_loader_job(self, asked: dict[str, Any]) -> dict[str, Any]:
        waiting = [job for job in self.jobs.values() if not job.is_over]
        start = f"Failed to start new load for the source {asked['source']}. "
        if self.queue_is_full or len(waiting) >= LONGEST_QUEUE:
            self.queue_is_full = max(self.queue_is_full - 1, 0)
            message = f"{start}Max load task queue size limit breached. Limit is {LONGEST_QUEUE}"
            raise Refused("BadRequestException", message)
        if waiting and not asked.get("queueRequest"):
            raise Refused("BadRequestException", f"{start}Max concurrent load limit breached. Limit is 1")
        if asked["s3BucketRegion"] != REGION:
            raise Refused("InvalidParameterException", f"{start}The bucket is in another region")
        for needed in asked.get("dependencies", ()):
            if needed not in self.jobs:
                raise Refused("BulkLoadIdNotFoundException", f"{start}No load {needed}")
        job = Job(str(uuid.uuid4()), asked)
        self.jobs[job.id] = job
        self._queue.put(job)
        return {"status": "200 OK", "payload": {"loadId": job.id}}

    def get_loader_job_status(self, asked: dict[str, Any]) -> dict[str, Any]:
        job = self._job(asked)
        counts: dict[str, int] = {}
        for status in job.files.values():
            counts[status] = counts.get(status, 0) + 1
        payload: dict[str, Any] = {
            "feedCount": [{status: count} for status, count in counts.items()],
            "overallStatus": {"fullUri": job.source, "runNumber": 1, "retryNumber": 0, "status": job.status},
        }
        if asked.get("errors"):
            size = asked.get("errorsPerPage", 10)
            first = (asked.get("page", 1) - 1) * size
            some = job.errors[:_MOST_ERRORS][first : first + size]
            payload["errors"] = {"startIndex": first + 1, "endIndex": first + len(some), "loadId": job.id}
            payload["errors"]["errorLogs"] = some
        return {"status": "200 OK", "payload": payload}

    def cancel_loader_job(self, asked: dict[str, Any]) -> dict[str, Any]:
        job = self._job(asked)
        if job.is_over:
            raise Refused("InvalidParameterException", f"{job.id} is over")
        job.cancelled.set()
        return {"status": "200 OK"}

    def list_loader_jobs(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"status": "200 OK", "payload": {"loadIds": list(self.jobs)[: asked.get("limit", 100)]}}

    def _job(self, asked: dict[str, Any]) -> Job:
        try:
            return self.jobs[asked["loadId"]]
        except KeyError:
            raise Refused("BulkLoadIdNotFoundException", f"no load {asked['loadId']}") from None

    # How it is asked

    def answer(self, request: Request) -> Answer:
        """The status and the JSON of an answer."""
        if self.lost_answers:
            self.lost_answers -= 1
            return 503, {
                "code": "InternalFailureException",
                "requestId": "0",
                "detailedMessage": "unavailable",
            }
        parts = urlsplit(request.path)
        try:
            query = dict(parse_qsl(parts.query))
            operation, values = self._operation(request.method, parts.path, query, request.body)
            self.calls.append((operation, values, request.headers))
            return 200, getattr(self, re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower())(values)
        except Refused as error:
            code = self._model.shape_for(error.shape).metadata["error"]["httpStatusCode"]
            answer = {"code": error.shape, "requestId": str(uuid.uuid4()), "detailedMessage": error.message}
            return code, {**answer, "message": error.message}

    def _operation(
        self, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> tuple[str, dict[str, Any]]:
        for name in ("StartLoaderJob", "GetLoaderJobStatus", "CancelLoaderJob", "ListLoaderJobs"):
            operation = self._model.operation_model(name)
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(operation.http["requestUri"]))
            found = re.fullmatch(pattern, path)
            if operation.http["method"] == method and found:
                shape: Any = operation.input_shape
                return name, self._parameters(shape, found.groupdict(), query, body)
        raise Refused("BadRequestException", f"no operation {method} {path}")

    def _parameters(
        self, shape: Any, path: Mapping[str, str], query: Mapping[str, str], body: Any
    ) -> dict[str, Any]:
        sent = {"uri": dict(path), "querystring": dict(query), None: body or {}}
        values: dict[str, Any] = {}
        for name, member in shape.members.items():
            place = member.serialization.get("location")
            key = member.serialization.get("name", name)
            if key in sent[place]:
                given = sent[place].pop(key)
                values[name] = _of_text(member, given) if place else given
                if getattr(member, "enum", None) and values[name] not in member.enum:
                    raise Refused("InvalidParameterException", f"{name} is not one of {member.enum}")
        if unknown := [key for rest in sent.values() for key in rest]:
            raise Refused("InvalidParameterException", f"unknown: {unknown}")
        report = ParamValidator().validate(values, shape)
        if report.has_errors():
            raise Refused("InvalidParameterException", report.generate_report())
        return values


def _of_text(shape: Shape, text: str) -> Any:
    if shape.type_name == "boolean":
        return {"true": True, "false": False}[text]
    return int(text) if shape.type_name == "integer" else unquote(text)


@pytest.fixture
def neptune_loader(s3: object, gremlin_url: str) -> Iterator[Standin]:
    """The loader of a cluster whose graph is the Gremlin Server's; it reads the tests' S3."""
    with (
        closing(Standin(gremlin_url)) as standin,
        receiving(lambda request: standin.answer(request)) as server,
    ):
        standin.url = server.url
        yield standin
