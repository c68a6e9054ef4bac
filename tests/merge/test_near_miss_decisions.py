"""Dismissed near misses: which ones, for how long, and what brings them back; who reads them."""

from typing import Any

import pytest

from lineage_merge.airflow.report_check import NEAR_MISS, judge
from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.near_misses import dismissals
from lineage_merge.merge.near_misses.collection import Details, NearMisses, find_near_misses
from lineage_merge.merge.report import Report
from lineage_merge.merge.report_builder import with_near_misses
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.made_merges import Made

EAST, WEST = "redshift://wh.us-east-1:5439", "redshift://wh.us-west-2:5439"
WRITTEN, READ = f"{EAST}|dev.public.orders", f"{WEST}|dev.public.orders"
ENTRY = {"written": WRITTEN, "read": READ, "by": "anna", "reason": "of another shop"}
COLUMNS = ("id", "total", "placed_at")


def config(*entries: dict[str, Any]) -> Config:
    merge = {"dismissed_near_misses": list(entries)}
    return CONFIGURATION.parse(
        {"environment": "dev", "dag_name": "daily", "merge": merge}, needs_source=False
    )


def shop(written: tuple[str, ...] = (), read: tuple[str, ...] = ()) -> Made:
    """A job that writes orders, and a project that reads them in another region, with columns."""
    made = Made().job("spark", "load", {WRITTEN: ["s3://raw|orders"]})
    made.job("dbt", "model.shop.report", {f"{WEST}|dev.mart.report": [READ]})
    for dataset, columns in ((WRITTEN, written), (READ, read)):
        for column in columns:
            made.column(dataset, column)
    return made


def of(made: Made, *entries: dict[str, Any], is_environment: bool = False) -> NearMisses:
    rows = LocalEngine().rows([*made.nodes.values(), *made.edges.values()])
    if not is_environment:
        return find_near_misses(rows, config(*entries))
    return find_near_misses(rows, config(*entries), lambda _ids, _others: Details())


def entry_of(made: Made, **changes: Any) -> dict[str, Any]:
    (near_miss,) = of(made).found
    return {**dismissals.entry(near_miss, "anna", "of another shop"), **changes}


def test_a_dismissed_near_miss_is_listed_apart() -> None:
    found = of(shop(), {**ENTRY, "until": "2999-01-31"})
    assert found.found == ()
    assert found.notes == ()
    assert [(each.written, each.read, each.by, each.reason, each.until) for each in found.dismissed] == [
        (f"dev|{WRITTEN}", f"dev|{READ}", "anna", "of another shop", "2999-01-31")
    ]


@pytest.mark.parametrize("written", [f"dev|{WRITTEN}", WRITTEN])
def test_datasets_are_named_as_printed_or_by_id(written: str) -> None:
    assert of(shop(), {**ENTRY, "written": written}).found == ()
    bucket = Made().job("spark", "load", {"s3://acme.lake|shop/orders": []})
    bucket.job("dbt", "model.shop.report", {"report": ["s3://acme-lake|shop/orders"]})
    entry = {**ENTRY, "written": "s3://acme.lake/shop/orders", "read": "s3://acme-lake/shop/orders"}
    assert len(of(bucket).found) == len(of(bucket, entry).dismissed) == 1


def test_it_returns_after_its_last_day() -> None:
    (near_miss,) = of(shop(), {**ENTRY, "until": "2020-01-31"}).found
    assert near_miss.note == "dismissed by anna until 2020-01-31: of another shop"
    assert near_miss.fix == of(shop()).found[0].fix


@pytest.mark.parametrize(
    ("before", "after", "is_back"),
    [
        ((), (), False),
        ((), COLUMNS, True),
        (COLUMNS, (*COLUMNS, "customer"), True),
        (COLUMNS, (), False),
        (COLUMNS, ("id", "total", "day"), False),
    ],
    ids=["same", "columns are known", "more columns", "no columns", "fewer common columns"],
)
def test_it_returns_on_evidence_that_is_not_weaker(
    before: tuple[str, ...], after: tuple[str, ...], is_back: bool
) -> None:
    entry = entry_of(shop(before, before))
    # The reader's columns change, or all of them.
    found = of(shop(before if len(after) == 3 and before else after, after), entry)
    notes = [f"dismissed by anna on other evidence (score {entry['score']}): of another shop"]
    assert [each.note for each in found.found] == notes * is_back
    assert len(found.dismissed) == (not is_back)


def test_an_entry_without_evidence_applies_to_any_and_one_with_a_score_up_to_it() -> None:
    made = shop(COLUMNS, COLUMNS)
    score = of(made).found[0].score
    assert of(made, ENTRY).found == ()
    assert of(made, {**ENTRY, "score": score}).found == ()
    assert len(of(made, {**ENTRY, "score": score - 1}).found) == 1


def test_another_table_of_the_same_difference_does_not_bring_it_back() -> None:
    entry = entry_of(shop())
    made = shop().job("spark", "load_stock", {f"{EAST}|dev.public.stock": []})
    made.job("dbt", "model.shop.stock", {f"{WEST}|dev.mart.s": [f"{WEST}|dev.public.stock"]})
    found = of(made, entry)
    assert [each.read for each in found.found] == [f"dev|{WEST}|dev.public.stock"]
    assert found.dismissed[0].score > entry["score"]


def test_the_next_best_counterpart_takes_the_place_of_a_dismissed_one() -> None:
    made = shop(COLUMNS, COLUMNS).job("spark", "copy", {f"{EAST}|dev.raw.orders": []})
    for column in COLUMNS:
        made.column(f"{EAST}|dev.raw.orders", column)
    assert [each.written for each in of(made).found] == [f"dev|{WRITTEN}"]
    found = of(made, ENTRY)
    assert [each.written for each in found.dismissed] == [f"dev|{WRITTEN}"]
    assert [each.written for each in found.found] == [f"dev|{EAST}|dev.raw.orders"]


def test_a_dismissal_of_nothing_is_a_notice_with_similar_pairs() -> None:
    (notice,) = of(shop(), {**ENTRY, "written": f"{EAST}|dev.public.order"}).notes
    assert (notice.kind, notice.field) == ("notice", "merge.dismissed_near_misses[0]")
    assert notice.message == (
        f"no near miss of {EAST}|dev.public.order and {READ}; did you mean {WRITTEN} and {READ}?"
    )
    other = {**ENTRY, "written": "s3://a/b", "read": "s3://c/d"}
    # A single merge does not have the datasets of other DAGs.
    assert of(shop(), other).notes == ()
    (notice,) = of(shop(), other, is_environment=True).notes
    assert notice.message == "no near miss of s3://a/b and s3://c/d; remove the entry"
    (notice,) = of(Made(), other, is_environment=True).notes
    assert notice.field == "merge.dismissed_near_misses[0]"


def test_dismissed_near_misses_do_not_fail_a_task_and_stay_in_the_stored_report() -> None:
    report = with_near_misses(Report({}, {}, {}, (), ()), of(shop(), ENTRY))
    stored = report.as_json()
    assert stored["near_misses"] == []
    assert [each["by"] for each in stored["dismissed_near_misses"]] == ["anna"]
    assert Report.from_json(stored) == report
    assert judge(stored, {}, {NEAR_MISS: "fail"}).failures == ()
    back = with_near_misses(Report({}, {}, {}, (), ()), of(shop(), {**ENTRY, "until": "2020-01-31"}))
    assert len(judge(back.as_json(), {}, {NEAR_MISS: "fail"}).failures) == 1


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reason": ""}, "merge.dismissed_near_misses[0].reason: is empty"),
        ({"until": "2027-02-30"}, "merge.dismissed_near_misses[0].until: is not a day of the calendar"),
        ({"until": "soon"}, "must be a day such as 2027-01-31"),
        ({"evidence": "x"}, "must be 8 hexadecimal digits"),
    ],
)
def test_invalid_entries(changes: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config({**ENTRY, **changes})
    assert problem in raised.value.message
