"""Damaged documents of Spline's database, as one file of a collection and as one plan of an export."""

import json
import random
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.model.records import Record
from lineage_merge.sources.spline import export
from lineage_merge.sources.spline.document_rows import event_rows
from lineage_merge.sources.spline.documents import TRANSACTIONS, decode, read
from lineage_merge.sources.spline.plan_texts import text_rows
from lineage_merge.sources.spline.reader import (
    _read_events,
    _transactions,
    _translate_texts,
)
from tests.fuzz import cases
from tests.fuzz.mutation import damaged, encoded, mutated, packed, written
from tests.fuzz.spline_material import bundle, context, documents, plans
from tests.record_reading import problems_of
from tests.spline_documents import FORMATS

_TEXT_DDL = "database string, plan string, collection string, text string"


class File(NamedTuple):
    """A collection's file: lines, of which the first and the last are good, or any bytes."""

    collection: str
    name: str
    content: bytes
    good: tuple[bytes, ...] = ()


def _file(rng: random.Random) -> File:
    collection = rng.choice(sorted(documents()))
    own = documents()[collection]
    good = [json.dumps(rng.choice(own)).encode() for _ in range(2)]
    if rng.random() < 0.85:
        text = encoded(written(rng, mutated(rng, rng.choice(own))))
        bad = damaged(rng, text) if rng.random() < 0.4 else text
        content = b"\n".join([good[0], bad, good[1], b""])
        return File(collection, f"{collection}.jsonl", content, tuple(good))
    ending, write = FORMATS[rng.choice(sorted(FORMATS))]
    content = write([mutated(rng, each, 1) or {} for each in rng.sample(own, min(3, len(own)))])
    content = damaged(rng, content) if rng.random() < 0.6 else content
    return File(collection, collection + ending, packed(rng, content) if ending.endswith("gz") else content)


def _smaller_file(file: File) -> Iterator[File]:
    for content in cases.less_text(file.content):
        yield file._replace(content=content, good=())


@pytest.mark.parametrize("numbers", cases.blocks(40_000, 5000), ids=str)
def test_a_file_of_documents(numbers: range, tmp_path: Path) -> None:
    def check_file(file: File) -> None:
        path = tmp_path / file.name
        path.write_bytes(file.content)
        slice_ = Slice(str(path), 0, len(file.content))
        part = export.Part("", file.collection, slice_, is_json=file.name.endswith((".json", ".json.gz")))
        with suppress(DocumentError) if not file.good else nullcontext():
            check_part(part, file)

    def check_part(part: export.Part, file: File) -> None:
        if file.collection == "progress":
            _check_events(part, file)
        elif file.collection in TRANSACTIONS:
            for row in _transactions(part):
                cases.assert_fits(row, "database string, key string, number bigint")
        else:
            _check_documents(part, file)

    cases.run("spline file", numbers, _file, check_file, _smaller_file)


def _check_documents(part: export.Part, file: File) -> None:
    texts: list[bytes] = []
    for (database, key), row in text_rows(part):
        if isinstance(row, Problem):
            [plan] = _translate_texts(context(), (database, key), [((database, key), row)], unrecorded=())
            [(_, document, _, _)] = problems_of(cases.assert_records(plan.records))
            assert document == row.document
            continue
        collection, text = row
        cases.assert_fits((database, key, collection, text), _TEXT_DDL)
        for line in text.split("\n"):
            texts.append(encoded(line))
            if isinstance(found := decode(collection, line), Problem):
                cases.assert_named(found)
    assert all(text in texts for text in file.good)


def _check_events(part: export.Part, file: File) -> None:
    rows = list(_read_events(context(), part))
    for row in rows:
        cases.assert_fits(row, cases.EVENT_DDL)
        if row.problem:
            cases.assert_named(Problem(*json.loads(row.problem)))
    alone = event_rows(context(), "", (read("progress", json.loads(text)) for text in file.good))
    assert all(row in rows for row in alone)


def _translated(key: str, texts: list[tuple[str, str]], chosen: bool) -> list[Record]:
    """The records of a plan, each of which fits."""
    unrecorded = frozenset() if chosen else frozenset({""})
    plans = list(_translate_texts(context(), *bundle(key, texts, chosen), unrecorded=unrecorded))
    for each in plans:
        cases.assert_made(each)
    return cases.assert_records(record for each in plans for record in each.records)


Texts = tuple[str, list[tuple[str, str]], bool]


def _plan(rng: random.Random) -> Texts:
    key, plan = rng.choice(plans())
    own = [(collection, document) for collection, found in plan.items() for document in found]
    hurt = {rng.randrange(len(own)) for _ in range(rng.randint(1, 3))}
    texts = [
        (collection, written(rng, mutated(rng, document)) if number in hurt else json.dumps(document))
        for number, (collection, document) in enumerate(own)
    ]
    if rng.random() < 0.3:
        # Whole documents may lack, or be there twice with a difference.
        texts.pop(rng.randrange(len(texts)))
        texts.append(rng.choice(texts))
    return key, texts, rng.random() < 0.8


def _smaller_plan(case: Texts) -> Iterator[Texts]:
    key, texts, chosen = case
    for number in range(len(texts)):
        yield key, texts[:number] + texts[number + 1 :], chosen


def _check_plan(case: Texts) -> None:
    key, texts, chosen = case
    _translated(key, texts, chosen)


@pytest.mark.parametrize("numbers", cases.blocks(5_000, 1000), ids=str)
def test_a_plan(numbers: range) -> None:
    cases.run("spline plan", numbers, _plan, _check_plan, _smaller_plan)
