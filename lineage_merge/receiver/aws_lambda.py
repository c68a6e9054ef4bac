"""The receiver as an AWS Lambda function, for HTTP requests and for batches of an SQS queue.

The handler is ``lineage_merge.receiver.aws_lambda.handler``. Requests come from API Gateway, a function URL
or a load balancer, and are answered by the endpoints of `app`. Each request or message is one object in S3,
named by its time and id: if it is delivered again, the same object is replaced.
"""

import asyncio
import binascii
import json
import os
import re
import sys
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from errno import EIO
from functools import cache
from hashlib import sha256
from typing import Any

from mangum import Mangum
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lineage_merge.infra.aws import secret
from lineage_merge.infra.storage import write_text
from lineage_merge.model.errors import ConfigError, DocumentError, SourceError
from lineage_merge.receiver.app import Receiver, application
from lineage_merge.receiver.bodies import RequestBodies, unpack
from lineage_merge.receiver.documents import Kind, Taken, recognize

_LANDING = "LINEAGE_MERGE_RECEIVER_LANDING"
_TOKEN = "LINEAGE_MERGE_RECEIVER_TOKEN"  # noqa: S105
_TOKEN_SECRET = "LINEAGE_MERGE_RECEIVER_TOKEN_SECRET"  # noqa: S105
_NO_TOKEN = "LINEAGE_MERGE_RECEIVER_NO_TOKEN"  # noqa: S105
# Uncompressed, as of the server. An invocation has at most 6 MB.
_MAX_BYTES = 64 << 20
_REJECTED = "rejected"
# The load balancer's id of a request: the time in hexadecimal seconds, and a random part.
_TRACE_TIME = re.compile(r"=1-([0-9a-f]{8})-")
# What gzip becomes in base64: messages of a queue are text.
_GZIP_AS_TEXT = "H4sI"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Event = Mapping[str, Any]


def handler(event: Event, context: object) -> dict[str, Any]:
    """Answer an HTTP request, or store a batch of SQS and return the messages to deliver again.

    Raises `ConfigError` or `SourceError` if the function is not configured correctly.
    """
    function = _configure()
    records = event.get("Records", ())
    if records and records[0].get("eventSource") == "aws:sqs":
        return function.store_batch(records)
    with asyncio.Runner() as runner:
        # The adapter takes the loop of the thread.
        asyncio.set_event_loop(runner.get_loop())
        answer = Mangum(function.endpoints, lifespan="off")(dict(event), context)  # type: ignore[arg-type]
    return _with_one_version(answer)


def _with_one_version(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer in which Spline's agent finds the newest version of the API.

    In format 2.0 a header has one value. The agent does not split a list, and would find no version.
    """
    for name, value in (answer.get("headers") or {}).items():
        if name.startswith("absa-spline-api"):
            answer["headers"][name] = value.partition(",")[0]
    return answer


@cache
def _configure() -> "_Function":
    """Return the function as the environment configures it."""
    landing = os.environ.get(_LANDING, "")
    if not landing.startswith("s3://"):
        raise ConfigError(_LANDING, "must be s3://BUCKET/PREFIX")
    reference = os.environ.get(_TOKEN_SECRET, "")
    given = secret(reference, _TOKEN_SECRET) if reference else os.environ.get(_TOKEN, "")
    # Several are valid while a token is replaced.
    tokens = tuple(given.split())
    if not tokens and os.environ.get(_NO_TOKEN) != "true":
        raise ConfigError(_TOKEN_SECRET, f"set it or {_TOKEN}, or {_NO_TOKEN} to true")
    storage = _Landing(landing.rstrip("/"))
    receiver = Receiver(tokens, storage, RequestBodies(_MAX_BYTES), _log)
    return _Function(storage, receiver, application(receiver))


@dataclass(frozen=True, slots=True)
class _Landing:
    """Storage in S3."""

    prefix: str

    def check(self) -> None:
        """Accept all requests: only writing shows whether S3 stores them."""

    async def store(self, kind: Kind, lines: bytes, request: Request) -> None:
        """Write the lines of a request. Raises `OSError`."""
        self.write(kind, _name_request(request), lines.decode())

    def write(self, folder: str, name: str, text: str) -> None:
        """Write a file or replace it. Raises `OSError`, without the location, which clients do not need."""
        try:
            write_text(f"{self.prefix}/{folder}/{name}.jsonl", text)
        except SourceError as error:
            _log(f"could not store {name}: {error.message}")
            raise OSError(EIO, "no answer from S3, or a refusal") from None


@dataclass(frozen=True, slots=True)
class _Function:
    """What an instance of the function has ready."""

    storage: _Landing
    receiver: Receiver
    endpoints: Starlette

    def store_batch(self, records: list[Event]) -> dict[str, Any]:
        """Store messages. Return the ids of those that could not be stored."""
        failures = []
        for record in records:
            try:
                self._store_message(record)
            except OSError:
                self.receiver.counts.not_stored += 1
                failures.append({"itemIdentifier": record["messageId"]})
        _log(str(self.receiver.counts))
        return {"batchItemFailures": failures}

    def _store_message(self, record: Event) -> None:
        """Store the documents of a message; an invalid one as rejected, since it would never be valid."""
        name = _name(int(record["attributes"]["SentTimestamp"]), record["messageId"])
        counts = self.receiver.counts
        try:
            taken = _read_message(record["body"])
        except DocumentError as error:
            rejected = {"messageId": record["messageId"], "problem": error.message, "body": record["body"]}
            self.storage.write(_REJECTED, name, json.dumps(rejected) + "\n")
            counts.refused += 1
            _log(f"rejected {name}: {error.message}")
        else:
            if taken.lines:
                self.storage.write(taken.kind, name, taken.lines.decode())
            counts.add(taken)


def _read_message(text: str) -> Taken:
    """Parse a message, which may be base64 of gzip. Raises `DocumentError`."""
    if not text.startswith(_GZIP_AS_TEXT):
        return recognize(text.encode(errors="surrogatepass"))
    try:
        return recognize(unpack(b64decode(text, validate=True), _MAX_BYTES))
    except (binascii.Error, HTTPException) as error:
        problem = error.detail if isinstance(error, HTTPException) else "neither JSON nor base64"
        raise DocumentError("the body", "", problem) from None


def _name_request(request: Request) -> str:
    """Return the name of a request: that of API Gateway or a function URL by its id, others by their body."""
    event = request.scope["aws.event"]
    context = event["requestContext"]
    trace = request.headers.get("x-amzn-trace-id", "")
    sent = _TRACE_TIME.search(trace)
    at = (
        context.get("requestTimeEpoch")
        or context.get("timeEpoch")
        or (int(sent[1], 16) * 1000 if sent else 0)
    )
    return _name(at, context.get("requestId") or f"{trace} {event.get('body')}")


def _name(at: int, identity: str) -> str:
    """Return a name like those of the server's files, which sort by time; the same for the same input."""
    time = _EPOCH + timedelta(milliseconds=at)
    return f"{time:%Y%m%dT%H%M%S%fZ}-{sha256(identity.encode()).hexdigest()[:16]}"


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
