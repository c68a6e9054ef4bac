"""Lone surrogates, which JSON can express but no file and no graph can: records contain none."""

from lineage_merge.infra.redaction import Redacted
from lineage_merge.merge.record_builder import row
from lineage_merge.model.elements import JobKey
from lineage_merge.model.records import Record

HALF = "a\ud800b"
SHOWN = "a\ufffdb"


def test_a_lone_surrogate_is_replaced_in_each_text_of_a_record() -> None:
    record = row(
        "feeds",
        source=Redacted(HALF),
        target=Redacted(HALF),
        source_column=HALF,
        target_column=HALF,
        job=JobKey("spark", HALF),
        at=1,
        properties={"name": HALF},
        sets={"operations": [HALF, "whole"]},
        problem=(HALF, HALF, HALF),
    )

    assert record == Record(
        "feeds",
        SHOWN,
        SHOWN,
        SHOWN,
        SHOWN,
        "spark",
        SHOWN,
        at=1,
        properties={"name": SHOWN},
        sets={"operations": [SHOWN, "whole"]},
        document=SHOWN,
        field=SHOWN,
        message=SHOWN,
    )


def test_other_texts_stay_as_they_are() -> None:
    for text in ("größe", "\U0001f600", "a\ufffdb", "\x00"):
        assert row("dataset", target=Redacted(text), sets={"aliases": [text]}) == Record(
            "dataset", target=text, sets={"aliases": [text]}
        )
