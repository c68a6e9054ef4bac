"""Lines of a request's body: the work that a batch costs, and texts that UTF-8 cannot hold. No server."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lineage_merge.model.errors import DocumentError
from lineage_merge.receiver import documents
from tests.receiver import event, plan, run_event


class CountedText(str):
    """A text that counts the characters copied out of it."""

    copied = 0

    def __getitem__(self, key: Any) -> str:
        found = super().__getitem__(key)
        type(self).copied += len(found)
        return found


@pytest.mark.parametrize(
    ("read", "make"),
    [
        (documents.openlineage_batch, run_event),
        (lambda body: documents.events(body, "1.2"), event),
    ],
)
def test_a_batch_is_copied_once_however_many_documents_it_has(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[bytes], documents.Taken], make: Callable[[int], object]
) -> None:
    monkeypatch.setattr(CountedText, "copied", 0)
    monkeypatch.setattr(documents, "_text", lambda body: CountedText(body.decode()))
    body = json.dumps([make(number) for number in range(1_000)]).encode()

    taken = read(body)

    assert taken.documents == 1_000
    assert len(body) // 2 < CountedText.copied < 2 * len(body)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"])
def test_numbers_that_json_lacks_are_rejected(number: str) -> None:
    valid = json.dumps(run_event(1)), json.dumps(event(1))
    one, several = (text.replace("{", f'{{"x": {number}, ', 1).encode() for text in valid)

    with pytest.raises(DocumentError, match=r"not JSON: -?(nan|inf) is no number"):
        documents.openlineage(one)
    with pytest.raises(DocumentError, match=r"not JSON: -?(nan|inf) is no number"):
        documents.events(b"[" + several + b"]", "1.2")


HALVES = [
    r"\ud800",
    r"\uDFFF",
    r"x\uDBFFx",
    r"\ud83d\ud83d\ude00",
    r"\ude00\ud83d",
    r"\ud83d\n\ude00",
    r"\\\ud800",
    r"\\\\\udc00",
    r"\\ud83d\ude00",
]
WHOLE = [r"\ud83d\ude00", r"\uD83D\uDE00\ud83d\ude00", r"\\ud800", r"\\\\udc00", r"\ue000", r"\"\\\\ud800"]


def bodies(text: str) -> list[tuple[Callable[[bytes], documents.Taken], str]]:
    """Bodies of each kind that hold a text: as a key, a value, deep inside, hidden by a repeated key."""
    found: list[tuple[Callable[[bytes], documents.Taken], str]] = []
    for place in ('"PLACE": 1', '"a": "PLACE"', '"a": [{"b": ["PLACE"]}]', '"a": "PLACE", "a": 1'):
        more = place.replace("PLACE", text)

        def of(document: object, more: str = more) -> str:
            return json.dumps(document)[:-1] + f", {more}}}"

        found += [
            (lambda body: documents.plan(body, "1.2"), of(plan(1))),
            (lambda body: documents.plan(body, "1.0"), of({"operations": {}})),
            (lambda body: documents.events(body, "1.2"), f"[{json.dumps(event(1))}, {of(event(2))}]"),
            (documents.openlineage, of(run_event(1))),
            (documents.openlineage_batch, f"[{json.dumps(run_event(1))}, {of(run_event(2))}]"),
        ]
    found.append((lambda body: documents.plan(body, "1.2"), f'{{"id": "{text}", "operations": {{}}}}'))
    found.append((lambda body: documents.events(body, "1.2"), f'[{{"planId": "{text}", "timestamp": 1}}]'))
    return found


@pytest.mark.parametrize("text", HALVES)
def test_a_lone_surrogate_is_rejected_everywhere(text: str) -> None:
    for read, body in bodies(text):
        with pytest.raises(DocumentError, match="a lone surrogate"):
            read(body.encode())


@pytest.mark.parametrize("text", WHOLE)
def test_whole_pairs_and_escaped_backslashes_are_taken(text: str) -> None:
    for read, body in bodies(text):
        assert all(json.loads(line) for line in read(body.encode()).lines.decode().splitlines())
