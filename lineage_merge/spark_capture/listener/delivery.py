"""Where recorded writes go: a folder, a receiver, or a list."""

import gzip
import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lineage_merge.infra import storage
from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import SourceDenied, SourceError, SourceUnreachable
from lineage_merge.spark_capture.listener.lines import Messages

Deliver = Callable[[list[Messages]], None]

_PRODUCER = "application/vnd.absa.spline.producer.v1.2+json"
_SECONDS = 10
_DENIED = (401, 403)


def delivery_of(target: str | Path | list[Any], application_id: str, token: str = "") -> Deliver:
    """Return what delivers to a target: a folder, local or in S3, a URL, or a list. It raises `SourceError`.

    `token` is the bearer token of a URL.
    """
    if isinstance(target, list):
        return _Collected(target).deliver
    location = str(target)
    if location.lower().startswith(("http://", "https://")):
        return _Posted(location, token).deliver
    return _Files(location, application_id).deliver


class _Collected:
    """Appends messages to a list, as ``["plan", {...}]`` and ``["event", {...}]``."""

    def __init__(self, collected: list[Any]) -> None:
        self._collected = collected

    def deliver(self, batch: list[Messages]) -> None:
        for messages in batch:
            self._collected += map(json.loads, messages.lines().splitlines())


class _Files:
    """Writes a file per batch, complete or not at all, with names that no other application uses."""

    def __init__(self, folder: str, application_id: str) -> None:
        self._prefix = f"{folder.rstrip('/')}/{application_id}-{uuid.uuid4().hex[:12]}"
        self._number = 0

    def deliver(self, batch: list[Messages]) -> None:
        text = b"".join(messages.lines() for messages in batch).decode()
        # A file that may have been written is written again under its name, not twice.
        storage.create_file(f"{self._prefix}-{self._number:06}.jsonl", text)
        self._number += 1


class _Posted:
    """Sends plans and events to a receiver of Spline's producer API (`lineage-merge receive`)."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/").removesuffix("/producer")
        self._headers = {"Content-Type": _PRODUCER, "Content-Encoding": "gzip"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def deliver(self, batch: list[Messages]) -> None:
        for messages in batch:
            self._post("execution-plans", messages.plan)
        self._post("execution-events", b"[" + b",".join(messages.event for messages in batch) + b"]")

    def _post(self, path: str, body: bytes) -> None:
        url = f"{self._url}/producer/{path}"
        request = urllib.request.Request(url, gzip.compress(body, 1), self._headers, method="POST")  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
                response.read()
        except urllib.error.HTTPError as error:
            kind = SourceDenied if error.code in _DENIED else SourceError
            raise kind(f"{redact(self._url)} answers {error.code}") from None
        except (OSError, ValueError) as error:
            raise SourceUnreachable(f"{redact(self._url)}: {type(error).__name__}") from None
