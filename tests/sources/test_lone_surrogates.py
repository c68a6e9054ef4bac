"""Lone surrogates, which JSON can express but no file and no graph can: records contain none."""

from lineage_merge.merge.record_builder import Identity, RecordBuilder
from lineage_merge.model.elements import (
    Assertion,
    Column,
    DatasetName,
    Element,
    Feeds,
    FeedsColumn,
    Follows,
    JobKey,
    Problem,
    Reference,
)
from lineage_merge.model.elements import Authority as By
from lineage_merge.model.records import Record

HALF = "a\ud800b"
SHOWN = "a\ufffdb"
JOB, SHOWN_JOB = JobKey("spark", HALF), JobKey("spark", SHOWN)
DATASET, ID = Reference("s3://b", HALF), f"dev|s3://b|{SHOWN}"


def record_of(element: Element) -> Record:
    builder = RecordBuilder("dev", lambda ref: Identity(DatasetName(ref.namespace, ref.name), label="table"))
    *_, record = builder.records(element)
    return record


def test_a_lone_surrogate_is_replaced_in_each_text_of_a_record() -> None:
    properties, sets = {"description": HALF}, {"operations": (HALF, "whole"), "constraints": (HALF,)}
    shown, shown_sets = {"description": SHOWN}, {"operations": [SHOWN, "whole"], "constraints": [SHOWN]}

    assert record_of(Feeds(JOB, DATASET, DATASET, properties, sets)) == Feeds(
        SHOWN_JOB, ID, ID, shown, shown_sets
    )
    assert record_of(Column(DATASET, HALF, By.READER, properties, sets)) == Column(
        ID, SHOWN, 1, shown, shown_sets
    )
    assert record_of(FeedsColumn(JOB, DATASET, HALF, DATASET, HALF, ("IDENTITY",), HALF)) == FeedsColumn(
        SHOWN_JOB, ID, SHOWN, ID, SHOWN, ("IDENTITY",), SHOWN
    )
    assert record_of(Assertion(JOB, DATASET, HALF, HALF, 1, "checks", properties, sets)) == Assertion(
        SHOWN_JOB, ID, SHOWN, SHOWN, 1, "checks", shown, shown_sets
    )
    assert record_of(Follows(JOB, HALF, HALF)) == Follows(SHOWN_JOB, SHOWN, SHOWN)
    assert record_of(Problem("notice", HALF, HALF, HALF)) == Problem("notice", SHOWN, SHOWN, SHOWN)


def test_other_texts_stay_as_they_are() -> None:
    for text in ("größe", "\U0001f600", "a\ufffdb", "\x00"):
        assert record_of(Follows(JobKey("spark", text), text, text)) == Follows(
            JobKey("spark", text), text, text
        )
