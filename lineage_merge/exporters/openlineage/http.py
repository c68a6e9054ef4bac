"""Events to a server, such as Marquez, through the client's HTTP transport: gzipped, and sent again where it
is busy. The client's own configuration (a file, variables) counts for nothing here."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import requests
from openlineage.client.transport.http import HttpConfig, HttpTransport

from lineage_merge.exporters import openlineage
from lineage_merge.exporters.exporter import Export, token
from lineage_merge.exporters.openlineage.events import Event
from lineage_merge.exporters.quiet import quiet
from lineage_merge.model.errors import ExportError, SinkDenied, SinkUnreachable

_ENDPOINT = "api/v1/lineage"
_ANSWER_SECONDS = 30.0
_DENIED = (401, 403)
# An event may be sent twice: its run's id says that it is the same. An address where nobody
# answers is asked no more often, so that it is known soon.
_RETRY = {
    "total": 5,
    "connect": 1,
    "backoff_factor": 0.3,
    "status_forcelist": [429, 500, 502, 503, 504],
    "allowed_methods": ["POST"],
    "raise_on_status": False,
}


def emit(export: Export, events: Iterable[Event]) -> dict[str, int]:
    """Send them in order, and count. Raises `SinkUnreachable`, `SinkDenied`, `ExportError`."""
    url = (export.url or "").rstrip("/")
    secret = token(export.settings, openlineage.EXPORTER.token, openlineage.EXPORTER.name)
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
    told = 0
    with quiet("openlineage", "urllib3"):
        transport = HttpTransport(config)
        try:
            for each in events:
                with _telling(url):
                    transport.emit(each)
                told += 1
                export.on_progress(f"sending to OpenLineage ({told:,} events)")
        finally:
            transport.close()
    return {"events": told}


@contextmanager
def _telling(url: str) -> Iterator[None]:
    try:
        yield
    except requests.HTTPError as error:
        status = error.response.status_code
        if status in _DENIED:
            raise SinkDenied(f"OpenLineage at {url} refuses the token (status {status})") from None
        said = " ".join(error.response.text.split())[:200]
        raise ExportError(f"OpenLineage at {url}: status {status}: {said}") from None
    except requests.RequestException as error:
        raise SinkUnreachable(f"OpenLineage at {url}: no connection ({type(error).__name__})") from None
