"""Addresses without the passwords, tokens and keys that people put in them."""

import re

from lineage_merge.naming.address import CONTAINER_SCHEMES, parse, split_authority

MASK = "*****"

_PARAMETER = re.compile(r"(?P<before>[?&;,(/:\s])\s{0,4}(?P<key>[A-Za-z][\w.-]{0,80})\s{0,4}=")
_SECRET_WORDS = ("pass", "pwd", "secret", "token", "credential", "signature", "jwt")
_SECRET_KEYS = frozenset({"sig", "pw", "auth", "authorization"})
_ACCESS_KEY = re.compile(r"(?:AKIA|ASIA)[0-9A-Z]{16}")
_ORACLE = re.compile(r"(?i)(jdbc:(?:[a-z-]{1,40}:)?oracle:[a-z0-9]{1,20}:)")


def redact(uri: str) -> str:
    """The address for a message or a log: no user, no password, no secret parameter.

    Where it cannot tell where a secret ends, it takes too much rather than too little.
    """
    return _ACCESS_KEY.sub(MASK, _without_parameters(_without_users(uri)))


def _without_users(uri: str) -> str:
    oracle = _ORACLE.match(uri)
    if oracle and "@" in uri:  # jdbc:oracle:thin:scott/tiger@host
        uri = oracle[1] + uri[uri.rindex("@") :]
    keeps_user = parse(uri).scheme in CONTAINER_SCHEMES
    kept: list[str] = []
    rest = uri
    while True:
        before, slashes, rest = rest.partition("//")
        kept += [before, slashes]
        if not slashes:
            return "".join(kept)
        authority, tail = split_authority(rest, keeps_user=keeps_user)
        kept.append(authority)
        rest = tail
        keeps_user = False


def _without_parameters(uri: str) -> str:
    kept: list[str] = []
    position = 0
    for match in _PARAMETER.finditer(uri):
        if match.start() < position or not _is_secret(match["key"]):
            continue
        kept += [uri[position : match.end()], MASK]
        position = _end_of_value(uri, match.end(), match["before"])
    kept.append(uri[position:])
    return "".join(kept)


def _is_secret(key: str) -> bool:
    lowered = key.lower()
    return (
        lowered in _SECRET_KEYS or lowered.endswith("key") or any(word in lowered for word in _SECRET_WORDS)
    )


def _end_of_value(uri: str, start: int, before: str) -> int:
    """A value ends where its own kind of list goes on: SQL Server's at ``;``, a query's at ``&``."""
    if before == "(":
        return max(uri.rfind(")"), start)
    if before == ";" and uri.startswith("{", start):
        start = max(uri.rfind("}"), start)
    end = uri.find(";" if before == ";" else "&", start)
    return len(uri) if end < 0 else end
