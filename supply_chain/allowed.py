"""Which licences may come in (pure, but for reading licences.toml)."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("licences.toml")


class NotAllowed(ValueError):
    """A licence that is not reviewed."""


def spdx(package: str, says: str) -> str:
    """The licence by its SPDX identifiers. Raises `NotAllowed`.

    Of an ``OR`` one side must be allowed, and that one is named; of an ``AND`` each.
    """
    reviewed = _rules().get("reviewed", {}).get(package)
    if reviewed and reviewed["says"] == says:
        return str(reviewed["is"])
    # A spelling may have one of the words within it.
    spellings = _spellings()
    if says in spellings:
        return spellings[says]
    choices = [_each(choice) for choice in says.split(" OR ")]
    known = [choice for choice in choices if choice]
    if not known:
        raise NotAllowed(f"{package}: {says or 'no licence'} is not among the allowed ones of {FILE.name}")
    return " OR ".join(known)


def _each(said: str) -> str:
    parts = [_spellings().get(part.strip()) for part in re.split(r"; | AND ", said)]
    return "" if None in parts else " AND ".join(sorted({str(part) for part in parts}))


@cache
def _spellings() -> dict[str, str]:
    return {spelling: name for name, spellings in _rules()["allowed"].items() for spelling in spellings}


@cache
def _rules() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text())
