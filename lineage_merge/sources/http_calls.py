"""Requests to servers with an HTTP API: repeated while they are busy, never redirected, with clear errors."""

import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from lineage_merge.infra.storage import MAX_UNPACKED_BYTES
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable

_ATTEMPTS = 3
_PAUSE_SECONDS = 1.0
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would take the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def send(
    server: object,
    url: str,
    *,
    token: str = "",
    body: bytes | None = None,
    timeout_seconds: float,
    rejected: str = "",
) -> bytes:
    """Return the answer to a request; with a `body` it is a POST. Raises `SourceError`.

    `server`: its name in messages. `rejected`: the problem if credentials are not accepted.
    """
    headers: Mapping[str, str] = {"Accept": "application/json", "Content-Type": "application/json"}
    if token:
        headers = {**headers, "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 (the settings allow only http)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with _opener.open(request, timeout=timeout_seconds) as answer:
                content: bytes = answer.read(MAX_UNPACKED_BYTES + 1)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in _BUSY or attempt == _ATTEMPTS:
                raise _error_of(server, urlsplit(url).path, error.code, rejected) from None
        except (OSError, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if attempt == _ATTEMPTS:
                raise SourceUnreachable(f"{server}: cannot be reached: {reason}") from None
        else:
            if len(content) > MAX_UNPACKED_BYTES:
                raise SourceError(f"{server}: the answer has more than {MAX_UNPACKED_BYTES:,} bytes")
            return content
        time.sleep(_PAUSE_SECONDS * attempt)
    raise AssertionError


def _error_of(server: object, path: str, status: int, rejected: str) -> SourceError:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return SourceDenied(f"{server}: {rejected or f'no permission for {path}'} (HTTP {status})")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return SourceDenied(f"{server}: {path} redirects, to a login or another address (HTTP {status})")
    if status == HTTPStatus.NOT_FOUND:
        return SourceMissing(f"{server}: {path} not found (HTTP {status})")
    if status in _BUSY:
        return SourceUnreachable(f"{server}: overloaded or unavailable (HTTP {status})")
    return SourceError(f"{server}: {path} failed (HTTP {status})")
