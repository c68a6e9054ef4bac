"""Properties as facts of the page: pairs of a name and a text without passwords (pure)."""

from collections.abc import Iterable, Mapping
from typing import Any

from lineage_merge.infra.redaction import redact
from lineage_merge.model.times import utc_time

Facts = list[list[str]]

_TIMES = frozenset({"last_run_at"})


def safe(text: str) -> str:
    """Return text without passwords; graphs of other versions or programs may contain some."""
    return redact(text)


def safe_id(identifier: str) -> str:
    """Return a vertex id without passwords; each part, separated by ``|``, may be an address."""
    return "|".join(safe(part) for part in identifier.split("|"))


def facts(properties: Mapping[str, Any], keys: Iterable[str]) -> Facts:
    """Return the properties with these keys that have a value; values of a set are lines."""
    found = []
    for key in keys:
        value = properties.get(key)
        if value is None or value == "" or value == () or value == []:
            continue
        if key in _TIMES:
            value = utc_time(int(value), seconds=True)
        found.append([key.replace("_", " "), shown(value)])
    return found


def shown(value: Any) -> str:
    """Return a value as text, a set with one value per line."""
    if isinstance(value, list | tuple):
        return "\n".join(safe(str(each)).replace("\n", " ") for each in value)
    return safe(str(value))
