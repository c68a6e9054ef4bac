"""Servers with events of OpenLineage: a domain of DataZone, and a Marquez, as their documents describe them.

Marquez is that of `OpenLineageResource.java` and `OpenLineageDao.java` (0.51): only run events are listed,
the number is that of all, and events of one time are in any order, another one for each request.
"""

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from lineage_merge.sources.openlineage.documents import moment
from tests.http_server import Answer, Request
from tests.sources.openlineage.made_events import Event

DOMAIN = "dzd_4abcdefghijklm"
_DENIED = {"__type": "AccessDeniedException", "message": "not authorized"}


@dataclass
class DataZone:
    """A domain with pages of `page` events. `deleted` events are listed and no longer found."""

    events: dict[str, bytes] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)  # ms
    failed: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    repeated: set[str] = field(default_factory=set)
    denied: str = ""
    denial: Any = field(default_factory=_DENIED.copy)
    throttle_every: int = 0
    page: int = 3
    operations: list[str] = field(default_factory=list)
    gets: list[str] = field(default_factory=list)

    def post(self, events: Iterable[Event | bytes], at: int = 0) -> "DataZone":
        for event in events:
            identifier = f"{len(self.events):014}"
            if isinstance(event, bytes):
                self.events[identifier], self.times[identifier] = event, at
            else:
                self.events[identifier] = json.dumps(event, indent=1).encode()
                self.times[identifier] = moment(event)
        return self

    def __call__(self, request: Request) -> Answer:
        path, _, query = request.path.partition("?")
        prefix, _, identifier = path.partition("/lineage/events")
        operation = "GetLineageEvent" if identifier else "ListLineageEvents"
        self.operations.append(operation)
        if self.throttle_every and len(self.operations) % self.throttle_every == 0:
            return 429, {"__type": "ThrottlingException", "message": "Rate exceeded"}
        if operation == self.denied:
            return 403, self.denial
        if prefix != f"/v2/domains/{DOMAIN}":
            return 404, {"__type": "ResourceNotFoundException", "message": "no such domain"}
        return self._list(parse_qs(query)) if not identifier else self._get(identifier.strip("/"))

    def _get(self, identifier: str) -> Answer:
        self.gets.append(identifier)
        if identifier in self.deleted:
            return 404, {"__type": "ResourceNotFoundException", "message": "no such event"}
        return 200, self.events[identifier]

    def _list(self, asked: dict[str, list[str]]) -> Answer:
        after, before = (
            datetime.fromisoformat(asked[name][0]).timestamp() * 1000 if name in asked else None
            for name in ("timestampAfter", "timestampBefore")
        )
        ids = [
            each
            for each in sorted(self.events, key=lambda each: (self.times[each], each))
            if (after is None or self.times[each] > after)
            and (before is None or self.times[each] < before)
            and (asked.get("processingStatus", ["FAILED"]) == ["FAILED"])
            and ("processingStatus" not in asked or each in self.failed)
        ]
        ids = [each for each in ids for _ in range(1 + (each in self.repeated))]
        if asked["sortOrder"] == ["DESCENDING"]:
            ids.reverse()
        start = int(asked.get("nextToken", ["0"])[0])
        end = start + min(self.page, int(asked.get("maxResults", ["50"])[0]))
        items = [
            {
                "id": each,
                "domainId": DOMAIN,
                "processingStatus": "FAILED" if each in self.failed else "SUCCESS",
                "eventTime": datetime.fromtimestamp(self.times[each] / 1000, UTC).isoformat(),
            }
            for each in ids[start:end]
        ]
        return 200, {"items": items, **({"nextToken": str(end)} if end < len(ids) else {})}


@dataclass
class Marquez:
    """A server. `others`: times of events about datasets and jobs. `busy`: requests that it rejects first."""

    events: list[Event] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    key: str = ""
    busy: int = 0
    limits: list[int] = field(default_factory=list)
    _random: random.Random = field(default_factory=lambda: random.Random(7))

    def __call__(self, request: Request) -> Answer:
        path, _, query = request.path.partition("?")
        if path != "/api/v1/events/lineage":
            return 404, {"code": 404, "message": "HTTP 404 Not Found"}
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return 401, {}
        if self.busy:
            self.busy -= 1
            return 503, {}
        asked = {name: value for name, (value,) in parse_qs(query).items()}
        assert asked.keys() <= {"sortDirection", "before", "after", "limit", "offset"}
        after, before = (
            moment({"eventTime": asked.get(name, default)})
            for name, default in (("after", "1970-01-01T00:00:00Z"), ("before", "2030-01-01T00:00:00Z"))
        )
        found = [event for event in self.events if after <= moment(event) < before]
        self._random.shuffle(found)
        found.sort(key=moment, reverse=asked.get("sortDirection", "desc") == "desc")
        limit, offset = int(asked.get("limit", "100")), int(asked.get("offset", "0"))
        self.limits.append(limit)
        number = len(found) + sum(after <= other < before for other in self.others)
        answer = {"events": [_stored(each) for each in found[offset : offset + limit]], "totalCount": number}
        return 200, answer


def _stored(event: Event) -> Event:
    """Return an event as Marquez writes it: times with an offset, no nulls."""
    time = datetime.fromisoformat(event["eventTime"]).isoformat()
    shown: Event = json.loads(json.dumps(event), object_hook=_drop_nulls)
    return {**shown, "eventTime": time}


def _drop_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if each is not None}
