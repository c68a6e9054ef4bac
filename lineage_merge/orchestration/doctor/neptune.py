"""Server behind a Gremlin endpoint: from Neptune's status page, or by a script.

https://docs.aws.amazon.com/neptune/latest/userguide/access-graph-status.html
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests

from lineage_merge.load.gremlin.connection import Endpoint, open_client, translate_errors
from lineage_merge.load.gremlin.signing import sign_headers
from lineage_merge.model.errors import GraphError

_SECONDS = 3.0
_NUMBER = re.compile(r"(\d+)\.(\d+)")
_NEPTUNE = re.compile(r"\.neptune\.amazonaws\.com(\.cn)?$")


@dataclass(frozen=True, slots=True)
class Server:
    """A server: description, TinkerPop version (first two numbers), role in the Neptune cluster.

    `refusal`: why Neptune does not report its status.
    """

    description: str = ""
    tinkerpop: tuple[int, int] | None = None
    role: str = ""
    refusal: str = ""


def server_behind(endpoint: Endpoint) -> Server:
    """Return the server, within seconds; `Server()` if it reports nothing."""
    is_neptune = bool(_NEPTUNE.search(urlsplit(endpoint.url).hostname or ""))
    # Gremlin Server does not respond to a GET; Neptune rejects scripts.
    by_script = None if is_neptune else _ask_script(endpoint)
    return by_script or _ask_status(endpoint) or Server(refusal="no answer" if is_neptune else "")


def from_status(status: Mapping[str, Any]) -> Server:
    """Return the server of Neptune's status."""
    gremlin = str((status.get("gremlin") or {}).get("version", ""))
    role, engine = str(status.get("role", "")), str(status.get("dbEngineVersion", ""))
    description = f"Neptune {engine}, {gremlin}, {role}".rstrip(", ")
    return Server(description, _number(gremlin), role)


def _number(text: str) -> tuple[int, int] | None:
    match = _NUMBER.search(text)
    return (int(match[1]), int(match[2])) if match else None


def _ask_status(endpoint: Endpoint) -> Server | None:
    """Return the server of the status page, or why Neptune refuses it; None without a page."""
    parts = urlsplit(endpoint.url)
    page = f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc.rpartition('@')[2]}/status"
    try:
        signed = sign_headers(page, endpoint.iam) if endpoint.iam else {}
        answer = requests.get(page, headers=signed, timeout=_SECONDS, allow_redirects=False)
        status = answer.json() if answer.ok else None
    except (requests.RequestException, ValueError, GraphError):
        return None
    if isinstance(status, dict) and "dbEngineVersion" in status:
        return from_status(status)
    return Server(refusal=f"HTTP {answer.status_code}") if _NEPTUNE.search(parts.hostname or "") else None


def _ask_script(endpoint: Endpoint) -> Server | None:
    # Groovy, only here: Gremlin Server reports its version by no other means.
    try:
        with open_client(endpoint, 1) as client, translate_errors(endpoint):
            (version,) = client.submit("Gremlin.version()").all().result()
    except (GraphError, ValueError):
        return None
    return Server(f"TinkerPop {version}", _number(str(version)))
