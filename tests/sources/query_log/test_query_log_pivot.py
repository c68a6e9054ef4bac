"""PIVOT and UNPIVOT of AWS's documentation: values that name columns remain if they are identifiers."""

from pathlib import Path

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.sources.query_log.statements.templates import Templates, template_of
from tests.sources.query_log.log_reading import LogLineage, read_log
from tests.sources.query_log.redshift_history import History


def lineage(folder: Path, query: str) -> LogLineage:
    history = History()
    history.columns("core.part", "partname varchar", "manufacturer varchar", "quality", "price")
    history.columns("core.count_by_color", "quality", "red", "green", "blue")
    history.session(1).run(f"create table mart.p as {query}")
    return read_log(LocalEngine(), history.write(folder))


def columns_of(found: LogLineage) -> set[str]:
    return {each.split(" > mart.p#")[1] for each in found.columns}


def test_plain_identifiers_name_columns(tmp_path: Path) -> None:
    found = lineage(
        tmp_path,
        "select * from (select partname, price from core.part) "
        "pivot (avg(price) for partname in ('prop', 'rudder', 'wing'))",
    )
    assert columns_of(found) == {
        f"{name} {kind}" for name in ("prop", "rudder", "wing") for kind in ("AGGREGATION", "CONDITIONAL")
    }
    assert not found.problems


def test_aliases_name_columns_and_their_values_are_data(tmp_path: Path) -> None:
    found = lineage(
        tmp_path,
        "select * from (select quality, partname, price from core.part) "
        "pivot (avg(price) as p for partname in ('me@example.com' as ours, 'prop', 'secret' yours))",
    )
    kinds = ("AGGREGATION", "CONDITIONAL")
    assert columns_of(found) == {
        *(f"{name}_p {kind}" for name in ("ours", "prop", "yours") for kind in kinds),
        "quality IDENTITY",
    }
    assert not found.problems
    assert not [word for word in ("example.com", "secret") if word in repr(found.records)]


@pytest.mark.parametrize(
    "values", ["'prop', 'me@example.com'", "1, 2, 3", "'a b', 'c'", "date '2026-01-01', 'c'"]
)
def test_other_values_are_no_columns_and_reported(tmp_path: Path, values: str) -> None:
    found = lineage(
        tmp_path,
        "select * from (select quality, partname, price from core.part) "
        f"pivot (avg(price) as a, max(price) as m for partname in ({values}))",
    )
    assert columns_of(found) == {"quality IDENTITY"}
    assert [problem for kind, *_, problem in found.problems if kind == "no-columns"] == [
        "PIVOT names columns after values that are not plain identifiers: name them with AS"
    ]
    assert "example.com" not in repr(found.records)


def test_aliases_of_unpivot_are_values(tmp_path: Path) -> None:
    found = lineage(
        tmp_path,
        "select * from (select quality, red, green from core.count_by_color) "
        "unpivot (cnt for color in (red as 'secret', green as g))",
    )
    assert found.columns == {
        "core.count_by_color#quality > mart.p#quality IDENTITY",
        "core.count_by_color#red > mart.p#cnt IDENTITY",
        "core.count_by_color#green > mart.p#cnt IDENTITY",
    }
    assert not found.problems
    assert "secret" not in repr(found.records)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            (
                "create table t as select * from s pivot (max(case when a in ('x', 'y') then b end) as m "
                "for c in ('d', 'e' as f)) where g in ('h', 'i')"
            ),
            (
                "create table t as select * from s pivot (max(case when a in ('?') then b end) as m "
                "for c in ('d', '?' as f)) where g in ('?')"
            ),
        ),
        (
            "create table t as select pivot from s where pivot in ('h', 'i')",
            "create table t as select pivot from s where pivot in ('?')",
        ),
    ],
)
def test_only_the_values_of_the_pivot_itself_remain(text: str, expected: str) -> None:
    assert template_of(text).text == expected
    assert Templates().find_template(text).text == expected


def test_pivots_of_other_columns_are_other_statements() -> None:
    text = "create table t as select * from s pivot (max(a) for b in ('{}'))"
    templates = Templates()
    assert (
        templates.find_template(text.format("x")).fingerprint
        != templates.find_template(text.format("y")).fingerprint
    )
    assert (
        templates.find_template(text.format("1")).fingerprint
        == templates.find_template(text.format("2")).fingerprint
    )


def test_tasks_whose_names_differ_in_digits_are_different_owners() -> None:
    templates = Templates()
    texts = [
        f"/* dag_id='d',task_id='part-{number}' */ insert into a.t select b from a.s" for number in (1, 2)
    ]
    owners = [templates.find_template(text).owner for text in texts]
    assert [owner.name for owner in owners if owner is not None] == ["d.part-1", "d.part-2"]
