"""Delivery of events: as JSON lines, or to a server such as Marquez through the client's HTTP transport.

The client's own configuration (file, variables) is ignored.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import requests
from openlineage.client.event_v2 import DatasetEvent
from openlineage.client.serde import Serde
from openlineage.client.transport.http import HttpConfig, HttpTransport

from lineage_merge.exporters import openlineage
from lineage_merge.exporters.exporter import Export, errors_only, open_text, read_token
from lineage_merge.exporters.openlineage.events import Event
from lineage_merge.model.errors import ExportDenied, ExportError, ExportUnreachable, one_line

_ENDPOINT = "api/v1/lineage"
_ANSWER_SECONDS = 30.0
_DENIED = (401, 403)
# Retries are safe: an event sent twice has the same run id. One connection retry only, so that a wrong
# address fails soon.
_RETRY = {
    "total": 5,
    "connect": 1,
    "backoff_factor": 0.3,
    "status_forcelist": [429, 500, 502, 503, 504],
    "allowed_methods": ["POST"],
    "raise_on_status": False,
}


def emit(export: Export, events: Iterable[Event | DatasetEvent]) -> dict[str, int]:
    """Send events in order and return their number.

    Raises `ExportUnreachable`, `ExportDenied`, `ExportError`.
    """
    url = (export.url or "").rstrip("/")
    exporter = openlineage.EXPORTER
    secret = read_token(export.settings, exporter.token_variable, exporter.name)
    config = HttpConfig.from_dict(
        {
            "url": f"{url}/",
            "endpoint": export.settings.get("endpoint", _ENDPOINT),
            "timeout": _ANSWER_SECONDS,
            "compression": "gzip",
            "retry": _RETRY,
            "auth": {"type": "api_key", "apiKey": secret} if secret else {},
        }
    )
    sent = 0
    with errors_only("openlineage", "urllib3"):
        transport = HttpTransport(config)
        try:
            for event in events:
                with _export_errors(url):
                    transport.emit(event)
                sent += 1
                export.on_progress(f"sending to OpenLineage ({sent:,} events)")
        finally:
            transport.close()
    return {"events": sent}


@contextmanager
def _export_errors(url: str) -> Iterator[None]:
    try:
        yield
    except requests.HTTPError as error:
        status = error.response.status_code
        if status in _DENIED:
            raise ExportDenied(f"OpenLineage at {url} rejects the token (status {status})") from None
        message = one_line(error.response.text, 200)
        raise ExportError(f"OpenLineage at {url}: status {status}: {message}") from None
    except requests.RequestException as error:
        raise ExportUnreachable(f"OpenLineage at {url}: no connection ({type(error).__name__})") from None


def write(destination: str | None, events: Iterable[Event | DatasetEvent]) -> dict[str, int]:
    """Write events (None: to standard output) and return their number. Raises the errors of `open_text`."""
    written = 0
    with open_text(destination) as write_text:
        for event in events:
            write_text(Serde.to_json(event) + "\n")
            written += 1
    return {"events": written}
