"""``["plan", {...}]``: the line format of a stored plan or event. Pure; `messages` reads it."""

import json


def array_line(kind: str, body: bytes, version: str = "") -> bytes:
    """Return the line of a plan or an event, without a line feed.

    `body` is its JSON on one line. A given `version` of the producer API is appended.
    """
    suffix = b", " + json.dumps(version).encode() if version else b""
    return b'["' + kind.encode() + b'", ' + body + suffix + b"]"
