"""The public cases of query logs and events: each edge and no other, and the number of lines in the report.

They are in a folder beside the checkout, and skipped without it.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Dataset, Feeds, FeedsColumn, Influences
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.reader import read_openlineage
from lineage_merge.sources.registry import QUERY_LOG
from tests.record_reading import problems_of, records_of

CASES = Path(__file__).parents[3] / "shared" / "cases"


class Answer(NamedTuple):
    """Edges by the last parts of names, with `!` for one without columns; columns; lines of the report."""

    feeds: str
    columns: str = ""
    influences: str = ""
    problems: tuple[str, ...] = ()


ANSWERS = {
    "36": Answer("", problems=("not-joined",) * 3),
    "37": Answer("rna.rna>o2", problems=("not-joined",) * 2),
    "38": Answer("s.src>s.t s.t>s.u"),
    "43": Answer("in>SCH.T SCH.T>SCH.U", "in.a>SCH.T.a"),
    "44": Answer("jaffle.raw>jaffle.stg jaffle.stg>jaffle.mart"),
    "48": Answer("", problems=("not-joined",) * 2),
    "50": Answer("a>mydb.mytable mydb.mytable>a b>shop.orders shop.orders>b"),
    "52": Answer("a>orders orders>a orders>b"),
    "92": Answer(
        "dbo.source_table>dbo.target_table dbo.s2>dbo.t2",
        "dbo.source_table.col1>dbo.target_table.col1 dbo.source_table.col2>dbo.target_table.col2"
        " dbo.s2.v>dbo.t2.v",
        "dbo.source_table.amount>dbo.target_table dbo.s2.id>dbo.t2 dbo.s2.k>dbo.t2",
    ),
    "97": Answer(
        " ".join(f"raw.s{at}>mart.t{at}" for at in (1, 2, 3, 4, 5, 6, 8)),
        " ".join(
            f"raw.s{at}.{column}>mart.t{at}.{column}" for at in (1, 4, 5, 6, 8) for column in ("id", "v")
        )
        + " raw.s2.v>mart.t2.v",
        "raw.s2.id>mart.t2 raw.s3.id>mart.t3 raw.s3.v>mart.t3 raw.s4.id>mart.t4",
    ),
    "99": Answer(
        " ".join(f"RAW.S{at}>MART.T{at}" for at in (2, 3, 4, 5, 7, 8, 9, 10)),
        " ".join(
            f"RAW.S{at}.{column}>MART.T{at}.{column}"
            for at in (2, 3, 4, 5, 7, 8, 9, 10)
            for column in ("id", "v")
        ),
    ),
    "108": Answer(
        "csv>mart.direct! csv2>mart.final! avro>mart.fin2",
        "avro.id>mart.fin2.id",
        problems=("no-columns",) * 2,
    ),
}


def read(case: Path) -> list[Record]:
    document = json.loads((case / "config.yml").read_text(encoding="utf-8"))
    del document["gremlin"]
    for log in document.get("query_log", ()):
        log["path"] = str(case / log["path"])
    if events := document.get("openlineage"):
        events["events"] = str(case / events["events"])
    config = CONFIGURATION.parse(document)
    source = read_openlineage if events else QUERY_LOG.read
    return source(LocalEngine(), config, dataset_resolver.from_config(config)).collect()


def short(dataset: str) -> str:
    return ".".join(dataset.rpartition("|")[2].rpartition("/")[2].split(".")[-2:])


@pytest.mark.skipif(not CASES.exists(), reason="the public cases are not beside the checkout")
@pytest.mark.parametrize("number", ANSWERS)
def test_a_public_case_has_its_answer(number: str) -> None:
    (case,) = CASES.glob(f"{number}-*")
    records = read(case)
    feeds = {
        f"{short(each.source)}>{short(each.target)}{'!' if 'column_lineage' in each.properties else ''}"
        for each in records_of(Feeds, records)
    }
    columns = {
        f"{short(each.source)}.{each.source_column}>{short(each.target)}.{each.target_column}"
        for each in records_of(FeedsColumn, records)
    }
    influences = {
        f"{short(each.source)}.{each.source_column}>{short(each.target)}"
        for each in records_of(Influences, records)
    }
    answer = ANSWERS[number]
    assert (feeds, columns, influences) == tuple(set(text.split()) for text in answer[:3])
    assert sorted(problem[0] for problem in problems_of(records)) == sorted(answer.problems)
    assert not any("QUERY" in each.ref or "COMPLEX" in each.ref for each in records_of(Dataset, records))
