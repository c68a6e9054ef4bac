"""Damage done to documents: to their structure, to the text they are written as, to the bytes of files. Pure.

All chance comes from the `random.Random` that is given, so one seed gives one document everywhere.
"""

import gzip
import json
import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

# A password in the places where addresses have one: it may stand in no message and in no record.
SECRET = "s3cr3t-Zq9"
ADDRESSES = (
    f"jdbc:redshift://host:5439/dev?user=etl&password={SECRET}",
    f"s3://key:{SECRET}@bucket/path",
    f"jdbc:postgresql://etl:{SECRET}@host/db:public.t",
    f"https://etl:{SECRET}@host:8529/x?token={SECRET}",
)

TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ufeff",
    "\ud800",
    "half \udc00 of a character",
    "\x1b[31mred\x07",
    "\r\n",
    "\n\n{",
    "\u2028\u2029\x85\x0b\x0c",
    "\u202etxt.exe",
    "'); g.V().drop() //",
    '");g.V().drop().iterate();//',
    "<script>alert(1)</script>",
    "</script><!--",
    "javascript:alert(1)",
    "[a](javascript:alert(1)) | b | `c`",
    'x"]; subgraph end %%{init: {}}%% --> y',
    '"; rank=same; "',
    "%7C|%25|%",
    "{0}{a.b[c]}${d}{{ e }}",
    "$(touch x); `y`",
    "../../../etc/passwd",
    "s3://",
    "s3:///",
    "s3://b",
    "s3://[::1",
    "jdbc:",
    "jdbc:redshift:",
    "jdbc:postgresql://h:1:2:3/d:(select 1) a",
    "://",
    "file:",
    "a" * 5000,
    "(" * 300,
    "[" * 300,
    "(((((" + "a," * 500,
    "((((((((((((((((((((((((((((((a",
    "a" * 40 + "!",
    "executionPlan/",
    ":",
    "/",
    ".",
    "`",
    '"',
    "true",
    "1e999",
    "-1",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999+23:59",
    "2026-13-45",
    "٣٤",
    "İ",
    "ß" * 50,
    *ADDRESSES,
)

# What `written` puts raw JSON for: Python cannot make all of it.
RAW = {
    "@nan@": "NaN",
    "@infinity@": "-Infinity",
    "@overflow@": "1e999",
    "@digits@": "9" * 5000,
    "@deep@": "[" * 100_000,
    "@closed@": "[" * 900 + "]" * 900,
    "@objects@": '{"a":' * 600 + "1" + "}" * 600,
    "@half@": '"\\ud83d"',
    "@tiny@": "5e-324",
}
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    -0.0,
    2.0,
    1e308,
    2**31,
    2**53 + 1,
    2**63,
    -(2**63) - 1,
    10**30,
    [],
    {},
    [[]],
    [None],
    [{}],
    {"": ""},
    {"_key": None},
    {"__proto__": {}},
)

Path = tuple[Any, Any]


def slots(document: Any) -> list[Path]:
    """Each place of a document that can be changed: the container, and the key or index in it."""
    found: list[Path] = []
    waiting = [document]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found.extend((each, key) for key in each)
            waiting.extend(each.values())
        elif isinstance(each, list):
            found.extend((each, index) for index in range(len(each)))
            waiting.extend(each)
    return found


def mutated(rng: random.Random, document: Any, most: int = 3) -> Any:
    """A copy of a document with one to `most` things changed."""
    # In a list, so that the document itself is a place too.
    holder = [deepcopy(document)]
    for _ in range(rng.randint(1, most)):
        places = slots(holder)
        rng.choice(_CHANGES)(rng, places)
        if not holder:
            break
    return holder[0] if holder else None


def written(rng: random.Random, document: Any) -> str:
    """Return a document as JSON in one of several styles, with raw values in place of their marks."""
    text = json.dumps(document, ensure_ascii=rng.random() < 0.7, separators=(",", ":"))
    for mark, raw in RAW.items():
        if mark in text:
            text = text.replace(f'"{mark}"', raw)
    if rng.random() < 0.03 and ":" in text:
        # A key that stands twice.
        text = text.replace("{", '{"name":null,"_key":"x",', 1)
    return text


def encoded(text: str) -> bytes:
    """UTF-8, with half characters as a careless program writes them."""
    return text.encode("utf-8", "surrogatepass")


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes with one piece of them broken."""
    if not data:
        return data
    at = rng.randrange(len(data))
    end = min(len(data), at + rng.choice((1, 1, 2, 10, 200)))
    return rng.choice(_DAMAGES)(rng, data, at, end)


def packed(rng: random.Random, data: bytes) -> bytes:
    """A gzip file, most often not a whole one."""
    whole = gzip.compress(data, compresslevel=1, mtime=0)
    return rng.choice(
        (
            lambda: whole,
            lambda: whole[: rng.randrange(len(whole))],
            lambda: damaged(rng, whole),
            lambda: whole + whole,
            lambda: whole + b"rubbish",
            lambda: data,
            lambda: b"",
        )
    )()


def unexpected_value(rng: random.Random) -> Any:
    """Return an unexpected value of any type."""
    chance = rng.random()
    if chance < 0.5:
        return rng.choice(TEXTS)
    if chance < 0.6:
        # Deep ones take a while to be written and refused.
        marks = [mark for mark in RAW if mark != "@deep@"]
        return "@deep@" if rng.random() < 0.02 else rng.choice(marks)
    return deepcopy(rng.choice(VALUES))


def _drop(rng: random.Random, places: Sequence[Path]) -> None:
    container, key = rng.choice(places)
    del container[key]


def _retype(rng: random.Random, places: Sequence[Path]) -> None:
    container, key = rng.choice(places)
    container[key] = unexpected_value(rng)


def _convert(rng: random.Random, places: Sequence[Path]) -> None:
    container, key = rng.choice(places)
    value = container[key]
    match value:
        case bool() | None:
            container[key] = str(value)
        case str():
            container[key] = rng.choice(([value], {value: value}, len(value), encoded(value).hex()))
        case int() | float():
            container[key] = rng.choice((str(value), float(value) if abs(value) < 1e300 else 0.0, [value]))
        case dict():
            container[key] = rng.choice((list(value.values()), list(value), json.dumps(value)))
        case list():
            container[key] = rng.choice(
                ({str(index): each for index, each in enumerate(value)}, value[:1], json.dumps(value))
            )


def _duplicate(rng: random.Random, places: Sequence[Path]) -> None:
    container, key = rng.choice(places)
    if isinstance(container, list):
        container.insert(key, deepcopy(container[key]))
    elif isinstance(key, str):
        name = rng.choice((key.upper(), key + " ", f"_{key}", rng.choice(TEXTS)))
        container[name] = deepcopy(container[key])


def _rename(rng: random.Random, places: Sequence[Path]) -> None:
    container, key = rng.choice(places)
    if isinstance(container, dict):
        container[rng.choice(TEXTS)] = container.pop(key)


def _swap(rng: random.Random, places: Sequence[Path]) -> None:
    (one, first), (two, second) = rng.choice(places), rng.choice(places)
    value = deepcopy(two[second])
    two[second] = deepcopy(one[first])
    # The one may lie inside the other, which is another's now.
    if (isinstance(one, dict) and first in one) or (isinstance(one, list) and first < len(one)):
        one[first] = value


def _deepen(rng: random.Random, places: Sequence[Path]) -> None:
    container, key = rng.choice(places)
    value = container[key]
    for _ in range(rng.choice((1, 1, 2, 50))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    container[key] = value


def _refer(rng: random.Random, places: Sequence[Path]) -> None:
    """A text becomes another one of the document: ids come to name themselves, and each other."""
    texts = [(container, key) for container, key in places if isinstance(container[key], str)]
    if texts:
        container, key = rng.choice(texts)
        other, name = rng.choice(texts)
        container[key] = other[name]


def _spoil(rng: random.Random, places: Sequence[Path]) -> None:
    texts = [(container, key) for container, key in places if isinstance(container[key], str)]
    if texts:
        container, key = rng.choice(texts)
        hostile = rng.choice(TEXTS)
        container[key] = rng.choice((container[key] + hostile, hostile + container[key]))


_CHANGES: tuple[Callable[[random.Random, Sequence[Path]], None], ...] = (
    _drop,
    _retype,
    _retype,
    _convert,
    _duplicate,
    _rename,
    _swap,
    _deepen,
    _refer,
    _refer,
    _spoil,
    _spoil,
)

_INSERTED = (
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\r",
    b"\n",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"'",
    b"\x1b",
    b"\xe2\x80\xa8",
    b"[" * 2000,
    b'{"a":' * 2000,
    b"9" * 5000,
    b"\\ud800",
    b"\\u0000",
    b"NaN",
    b" " * 3000,
)

Damage = Callable[[random.Random, bytes, int, int], bytes]
_DAMAGES: tuple[Damage, ...] = (
    lambda _, data, at, __: data[:at],
    lambda _, data, at, __: data[at:],
    lambda _, data, at, end: data[:at] + data[end:],
    lambda _, data, at, end: data[:end] + data[at:end] * 3 + data[end:],
    lambda rng, data, at, _: data[:at] + rng.choice(_INSERTED) + data[at:],
    lambda rng, data, at, end: data[:at] + rng.choice(_INSERTED) + data[end:],
    lambda rng, data, at, _: data[:at] + bytes((data[at] ^ (1 << rng.randrange(8)),)) + data[at + 1 :],
    lambda rng, data, at, end: data[:at] + rng.randbytes(end - at) + data[end:],
    lambda _, data, at, end: data[:at] + data[at:end][::-1] + data[end:],
)
