"""Superset's REST API: login, the list of dashboards, and the export of each."""

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from lineage_merge.infra import input_budget
from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable
from lineage_merge.model.times import epoch_ms
from lineage_merge.sources.document_files import Text
from lineage_merge.sources.http_calls import send
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.superset.dashboards import DashboardFacts
from lineage_merge.sources.superset.files import EXPORT_FILES
from lineage_merge.sources.superset.server_facts import ServerFacts, combine_facts
from lineage_merge.sources.superset.settings import Superset

_PAGE = 100
# Access tokens by server and user: a worker logs in once.
_tokens: dict[tuple[str, str, str], str] = {}


class ListedDashboard(NamedTuple):
    """A dashboard that the list names."""

    number: int
    uuid: str
    title: str
    facts: DashboardFacts


def list_dashboards(settings: Superset) -> list[ListedDashboard]:
    """Return the dashboards that the user may see, page by page. Raises `SourceError`."""
    return [_read_entry(number, entry) for number, entry in _list(settings, "dashboard").items()]


def read_facts(settings: Superset) -> tuple[ServerFacts, list[Problem]]:
    """Return what the server knows beside exports, and what the user may not read. Raises `SourceError`."""
    problems: list[Problem] = []
    lists: list[Collection[Mapping[str, Any]]] = []
    for resource, what in (
        ("dataset", "data sets that others name by number, and row level security"),
        ("rowlevelsecurity", "row level security"),
    ):
        try:
            lists.append(_list(settings, resource).values())
        except SourceUnreachable:
            raise
        except SourceError as error:
            problems.append(Problem("no-columns", str(settings), "", f"{what}: unknown: {error.message}"))
            lists.append(())
    return combine_facts(*lists), problems


def _list(settings: Superset, resource: str) -> dict[int, Mapping[str, Any]]:
    """Return the objects of a list by number, page by page."""
    found: dict[int, Mapping[str, Any]] = {}
    page = 0
    order = "order_column:changed_on_delta_humanized,order_direction:asc"
    while True:
        answer = _get_json(settings, f"/api/v1/{resource}/?q=({order},page:{page},page_size:{_PAGE})")
        entries = [as_mapping(entry) for entry in as_list(answer.get("result"))]
        known = len(found)
        for entry in entries:
            if isinstance(number := entry.get("id"), int):
                found[number] = entry
        page += 1
        if len(found) == known or len(found) >= _count(answer):
            return found


def _count(answer: Mapping[str, Any]) -> int:
    count = answer.get("count")
    return count if isinstance(count, int) else 0


def _read_entry(number: int, entry: Mapping[str, Any]) -> ListedDashboard:
    owners = (
        f"{as_text(owner.get('first_name'))} {as_text(owner.get('last_name'))}".strip()
        for owner in map(as_mapping, as_list(entry.get("owners")))
    )
    facts = DashboardFacts(
        as_text(entry.get("url")),
        _parse_time(entry.get("changed_on_utc")) if entry.get("published") else 0,
        tuple(sorted({owner for owner in owners if owner})),
    )
    uuid = as_text(entry.get("uuid")).lower()
    return ListedDashboard(number, uuid, as_text(entry.get("dashboard_title")), facts)


def _parse_time(value: Any) -> int:
    try:
        return epoch_ms(datetime.fromisoformat(as_text(value)))
    except (ValueError, OverflowError):
        return 0


def export_dashboard(settings: Superset, dashboard: ListedDashboard) -> Iterator[Text | Problem]:
    """Yield the documents of a dashboard, or why it cannot be read; it is skipped then."""
    location = f"{settings}: dashboard {dashboard.number} ({redact(dashboard.title)})"
    yield from _export(settings, f"dashboard/export/?q=!({dashboard.number})", location)


def export_data_set(settings: Superset, number: int) -> Iterator[Text | Problem]:
    """Yield the documents of a data set and its database, or why it cannot be read; it is skipped then."""
    location = f"{settings}: data set {number}"
    yield from _export(settings, f"dataset/export/?q=!({number})", location)


def _export(settings: Superset, path: str, location: str) -> Iterator[Text | Problem]:
    try:
        content = _get(settings, f"/api/v1/{path}")
    except SourceMissing:
        return  # deleted since the list was made
    except SourceDenied as error:
        yield Problem("rejected", location, "", f"no permission to export it: {error.message}")
        return
    except SourceUnreachable:
        raise
    except SourceError as error:
        yield Problem("rejected", location, "", error.message)
        return
    input_budget.count(len(content))
    yield from EXPORT_FILES.unzip(location, content)


def _get_json(settings: Superset, path: str) -> Mapping[str, Any]:
    return _parse(settings, _get(settings, path))


def _parse(settings: Superset, content: bytes) -> Mapping[str, Any]:
    try:
        return as_mapping(loads(content.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        raise SourceError(f"{settings}: not an answer of Superset's API: give its address as url") from None


def _get(settings: Superset, path: str) -> bytes:
    """Return an answer; a token that is no longer valid is replaced once."""
    try:
        return _send(settings, path, _token(settings))
    except SourceDenied:
        if settings.token_env or _tokens.pop(_user(settings), None) is None:
            raise
    return _send(settings, path, _token(settings))


def _user(settings: Superset) -> tuple[str, str, str]:
    return settings.url, settings.provider, settings.username


def _token(settings: Superset) -> str:
    if settings.token_env:
        return settings.secret()
    user = _user(settings)
    if user not in _tokens:
        login = {
            "username": settings.username,
            "password": settings.secret(),
            "provider": settings.provider,
            "refresh": False,
        }
        answer = _send(settings, "/api/v1/security/login", "", json.dumps(login).encode())
        token = as_text(_parse(settings, answer).get("access_token"))
        if not token:
            raise SourceError(f"{settings}: not an answer of Superset's API: give its address as url")
        _tokens[user] = token
    return _tokens[user]


def _send(settings: Superset, path: str, token: str, body: bytes | None = None) -> bytes:
    return send(
        settings,
        settings.url + quote(path, safe="/?=()!:,_"),
        token=token,
        body=body,
        timeout_seconds=settings.timeout_seconds,
        rejected="" if token else "rejects the login",
    )
