"""Redaction reads each part of a text a bounded number of times: the work is counted, not timed."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from re import _parser
from types import ModuleType
from typing import Any, SupportsIndex

import pytest

from lineage_merge.infra import redaction
from lineage_merge.infra.redaction import addresses, functions, parameters, spans
from tests.redaction.secret_forms import forms

_MODULES = (addresses, functions, parameters, redaction, spans)
_LENGTH = 10_000
# Reading everything again for each part of such a text would be thousands a character.
_MOST_A_CHARACTER = 250

_PIECES = (
    "a",
    " ",
    "/",
    "//",
    "://",
    ":",
    "@",
    "=",
    "a=",
    "password=",
    "password=a ",
    "?password=",
    ";password=",
    "(password=",
    "/password=",
    "&token=x",
    "=password",
    "a=b=c",
    "'",
    "''",
    '"',
    "\\",
    "\\'",
    "aes_encrypt(",
    "aes_encrypt('a', ",
    "hmac(a,",
    "(",
    ")",
    "(a",
    ",",
    "a,b",
    "jdbc:",
    "jdbc:a:",
    "jdbc:oracle:thin:",
    "thin:a/",
    "oci:",
    "jdbc:a:b;",
    "jdbc:a:b, ",
    "'jdbc:a:b;'",
    "'x jdbc:a:b;y' ",
    "'x jdbc:a:b;y\n",
    "'jdbc:a:b=c' ",
    " 'a",
    "/* jdbc:a:b;y */",
    "\\u003d",
    "jdbc:a://b:c/",
    "jdbc:a:://",
    "jdbc:a:1,2:3",
    "phoenix:",
    "phoenix:a:1:/b:c:",
    "a:b:",
    "a:b:c@",
    "a:b@c:80 ",
    "a/b@c:80 ",
    "https://u:p@h/ ",
    "https://u:p",
    "s3a://k:s/",
    "//a:b",
    "://a:b ",
    "password: ",
    'password: "',
    '"password": "a", ',
    "--token ",
    "%",
    "%25",
    "%3D",
    "password%3D",
    "%253D%40",
    "AKIA",
    "eyJ",
    "eyJa.eyJb.",
    "ghp_",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY----- -----END ",
    "Bearer ",
    "Authorization: ",
    "Authorization: Bearer a ",
    "\n",
    "é",
    "password=>'",
    "xcrypt(",
    "staticinvoke(",
    "GCM, ",
    "a b ",
    "|",
    "a|b@",
    "secretsecretsecret",
)


class _Counted(str):
    """A text that counts how much of it is read."""

    read = 0

    def _scanned(self, found: int, start: int, end: int) -> int:
        _Counted.read += (end if found < 0 else found) - start
        return found

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        end = len(self) if end is None else end
        return self._scanned(super().find(sub, start, end), start, end)

    def rfind(self, sub: str, start: Any = 0, end: Any = None) -> int:
        end = len(self) if end is None else end
        found = super().rfind(sub, start, end)
        _Counted.read += end - max(found, start)
        return found

    def rindex(self, sub: str, start: Any = 0, end: Any = None) -> int:
        found = self.rfind(sub, start, end)
        assert found >= 0
        return found

    def lower(self) -> str:
        _Counted.read += len(self)
        return super().lower()

    def __contains__(self, key: object) -> bool:
        return self.find(str(key)) >= 0

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        found = super().__getitem__(key)
        _Counted.read += len(found)
        return found


class _Pattern:
    """A compiled pattern that counts how much of a text its searches pass."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def _found(
        self, found: re.Match[str] | None, text: str, start: int, end: int | None
    ) -> re.Match[str] | None:
        last = len(text) if end is None else min(end, len(text))
        _Counted.read += max((found.end() if found else last) - start, 0) + 1
        return found

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        return self._found(self._pattern.search(text, start, *_given(end)), text, start, end)

    def match(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        return self._found(self._pattern.match(text, start, *_given(end)), text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        return self._found(self._pattern.fullmatch(text, start, *_given(end)), text, start, end)

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
        _Counted.read += (len(text) if end is None else end) - start
        return self._pattern.finditer(text, start, *_given(end))

    def sub(self, replacement: str, text: str) -> str:
        _Counted.read += len(text)
        return self._pattern.sub(replacement, text)


def _given(end: int | None) -> Sequence[int]:
    return () if end is None else (end,)


def _patterns(module: ModuleType) -> dict[str, re.Pattern[str]]:
    return {name: each for name, each in vars(module).items() if isinstance(each, re.Pattern)}


@pytest.mark.parametrize("piece", [*_PIECES, *forms()[::8]])
def test_the_work_grows_with_the_length_of_a_text(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in _MODULES:
        for name, pattern in _patterns(module).items():
            monkeypatch.setattr(module, name, _Pattern(pattern))
    whole = "x" + piece * (_LENGTH // len(piece)) + "@y"
    of_text, of_sql = (partial(redaction._spans, is_sql=is_sql) for is_sql in (False, True))
    for find in (of_text, of_sql, addresses.unknown_parameters):
        _Counted.read = 0
        found = list(find(_Counted(whole)))
        spans.replace(whole, found)

        assert 0 < _Counted.read < _MOST_A_CHARACTER * len(whole)


def test_no_pattern_repeats_a_repetition() -> None:
    """A repetition without a limit inside of another one is what makes a search exponential."""
    patterns = {
        f"{module.__name__}.{name}": each for module in _MODULES for name, each in _patterns(module).items()
    }

    assert len(patterns) > 30
    assert {
        name for name, each in patterns.items() if _nested(_parser.parse(each.pattern, each.flags), 0)
    } == set()


def _nested(tree: Any, depth: int) -> bool:
    for operation, argument in tree:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            _, most, body = argument
            unlimited = most == _parser.MAXREPEAT and name != "POSSESSIVE_REPEAT"
            if (unlimited and depth) or _nested(body, depth + unlimited):
                return True
        elif name == "SUBPATTERN":
            if _nested(argument[-1], depth):
                return True
        elif name == "BRANCH":
            if any(_nested(each, depth) for each in argument[1]):
                return True
        elif name in ("ASSERT", "ASSERT_NOT") and _nested(argument[1], 0):
            return True
    return False
