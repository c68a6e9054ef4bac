"""``["plan", {...}]``: the line in which a plan or an event is kept. Pure; `messages` reads it."""

import json


def array_line(kind: str, body: bytes, version: str = "") -> bytes:
    """The line of a plan or an event, without a line feed.

    `body` is its JSON without one. `version` of the producer API stands behind it where it is given.
    """
    told = b", " + json.dumps(version).encode() if version else b""
    return b'["' + kind.encode() + b'", ' + body + told + b"]"
