"""What server is behind a Gremlin endpoint: Neptune tells by its status page, others by a script.

https://docs.aws.amazon.com/neptune/latest/userguide/access-graph-status.html
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests

from lineage_merge.load.gremlin.connection import Endpoint, open_client, translated_errors
from lineage_merge.load.gremlin.signing import signed_headers
from lineage_merge.model.errors import GraphError

_SECONDS = 3.0
_NUMBER = re.compile(r"(\d+)\.(\d+)")
_NEPTUNE = re.compile(r"\.neptune\.amazonaws\.com(\.cn)?$")


@dataclass(frozen=True, slots=True)
class Server:
    """`told` in words, `tinkerpop` the first two numbers of its version, `role` as Neptune names it.

    `refused`: why Neptune does not tell.
    """

    told: str = ""
    tinkerpop: tuple[int, int] | None = None
    role: str = ""
    refused: str = ""


def server_behind(endpoint: Endpoint) -> Server:
    """Ask, a few seconds at most; a server that tells nothing is `Server()`."""
    is_neptune = bool(_NEPTUNE.search(urlsplit(endpoint.url).hostname or ""))
    # Gremlin Server lets a GET wait without an answer, Neptune refuses a script at once.
    told = None if is_neptune else _by_script(endpoint)
    return told or _by_status(endpoint) or Server(refused="no answer" if is_neptune else "")


def from_status(status: Mapping[str, Any]) -> Server:
    """What Neptune's status says."""
    gremlin = str((status.get("gremlin") or {}).get("version", ""))
    role, engine = str(status.get("role", "")), str(status.get("dbEngineVersion", ""))
    told = f"Neptune {engine}, {gremlin}, {role}".rstrip(", ")
    return Server(told, _number(gremlin), role)


def _number(text: str) -> tuple[int, int] | None:
    found = _NUMBER.search(text)
    return (int(found[1]), int(found[2])) if found else None


def _by_status(endpoint: Endpoint) -> Server | None:
    """What the status page says, or why Neptune does not show it; None where there is none."""
    parts = urlsplit(endpoint.url)
    page = f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc.rpartition('@')[2]}/status"
    try:
        signed = signed_headers(page, endpoint.iam) if endpoint.iam else {}
        answer = requests.get(page, headers=signed, timeout=_SECONDS, allow_redirects=False)
        told = answer.json() if answer.ok else None
    except (requests.RequestException, ValueError, GraphError):
        return None
    if isinstance(told, dict) and "dbEngineVersion" in told:
        return from_status(told)
    return Server(refused=f"HTTP {answer.status_code}") if _NEPTUNE.search(parts.hostname or "") else None


def _by_script(endpoint: Endpoint) -> Server | None:
    # Groovy, which Neptune has not and nothing else of the package uses: Gremlin Server tells no other way.
    try:
        with open_client(endpoint, 1) as client, translated_errors(endpoint):
            (told,) = client.submit("Gremlin.version()").all().result()
    except (GraphError, ValueError):
        return None
    return Server(f"TinkerPop {told}", _number(str(told)))
