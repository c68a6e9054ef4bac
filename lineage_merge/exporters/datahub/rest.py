"""Proposals to DataHub's metadata service (GMS), some at a time, through the library's emitter."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

import requests
from datahub.configuration.common import ConfigurationError, OperationalError
from datahub.emitter.rest_emitter import DatahubRestEmitter

from lineage_merge.exporters import datahub
from lineage_merge.exporters.datahub.counting import Counting
from lineage_merge.exporters.datahub.proposals import Proposal
from lineage_merge.exporters.exporter import Export, token
from lineage_merge.exporters.quiet import quiet
from lineage_merge.model.errors import ExportError, SinkDenied, SinkUnreachable

_AT_ONCE = 100
_CONNECT_SECONDS = 10.0
# A write goes to database and search.
_ANSWER_SECONDS = 60.0
_DENIED = (401, 403)


def emit(export: Export, proposals: Iterable[Proposal]) -> dict[str, int]:
    """Send them in order and count. A server that is busy or restarts is asked again, a few times.

    Each proposal says a whole aspect (or adds a tag), so sending one again changes nothing. Raises
    `SinkUnreachable`, `SinkDenied`, `ExportError`.
    """
    url = (export.url or "").rstrip("/")
    secret = token(export.settings, datahub.EXPORTER.token, datahub.EXPORTER.name) or None
    counting = Counting()
    with quiet("datahub", "urllib3"), _telling(url):
        _is_there(url, secret)
        emitter = _emitter(url, secret)
        try:
            # Whether it is GMS: DataHub's frontend answers whatever it is sent with a page.
            emitter.test_connection()
            remaining = iter(proposals)
            while some := list(islice(remaining, _AT_ONCE)):
                emitter.emit_mcps(some)
                for each in some:
                    counting.add(each)
                export.on_progress(f"sending to DataHub ({counting.counts['aspects']:,} aspects)")
        finally:
            emitter.close()
    return counting.counts


def _is_there(url: str, secret: str | None) -> None:
    """Ask once, so that a wrong address is known soon. A server that is only busy is asked again later."""
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    answer = requests.get(f"{url}/config", headers=headers, timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS))
    if answer.status_code in _DENIED:
        raise SinkDenied(f"DataHub at {url} refuses the token (status {answer.status_code})")


def _emitter(url: str, secret: str | None) -> DatahubRestEmitter:
    return DatahubRestEmitter(
        url, token=secret, connect_timeout_sec=_CONNECT_SECONDS, read_timeout_sec=_ANSWER_SECONDS
    )


@contextmanager
def _telling(url: str) -> Iterator[None]:
    """Turn what goes wrong into the project's own errors, without stack traces and requests."""
    try:
        yield
    except OperationalError as error:
        raise _told(url, error, error.message) from None
    except ConfigurationError as error:
        # What it found at the address is not GMS; its message goes on for several lines.
        raise ExportError(f"DataHub at {url}: {str(error).splitlines()[0]}") from None
    except requests.RequestException as error:
        raise _told(url, error, type(error).__name__) from None


def _told(url: str, error: Exception, message: str) -> ExportError:
    cause = error.__cause__ if isinstance(error, OperationalError) else error
    answer = cause.response if isinstance(cause, requests.RequestException) else None
    if answer is None:
        return SinkUnreachable(f"DataHub at {url}: no connection ({type(cause).__name__})")
    if answer.status_code in _DENIED:
        return SinkDenied(f"DataHub at {url} refuses the token (status {answer.status_code})")
    return ExportError(f"DataHub at {url}: status {answer.status_code}: {' '.join(message.split())}")
