"""Effects of a change, from the transformations of a path alone."""

from collections.abc import Sequence

import pytest

from lineage_merge.questions.traversal.effects import (
    TEST,
    UNTYPED_TEST,
    USE,
    Change,
    Effect,
    State,
    Step,
    effect,
    follow,
    worst,
)

COPY = Step("IDENTITY")
ALONG = Step("IDENTITY", copies_all=True)
SUM = Step("AGGREGATION", "sum(amount)")
COUNT = Step("AGGREGATION", "COUNT(DISTINCT amount)")
CAST = Step("TRANSFORMATION", "CAST(amount AS DECIMAL(10, 2))")
CASE = Step("CONDITIONAL", "case when amount > 5 then 1 end")
FILTER = Step("FILTER")

BREAKS, CHANGES, DEPENDS, UNAFFECTED = Effect


def effect_of(change: Change, path: Sequence[Step]) -> Effect:
    """The effect at the end of a path from the changed element."""
    state = State.CARRIED
    for step in path:
        state = follow(change, state, step)
    return effect(change, state)


@pytest.mark.parametrize(
    ("step", "drop", "rename", "retype"),
    [
        (COPY, BREAKS, BREAKS, CHANGES),
        (ALONG, BREAKS, CHANGES, CHANGES),
        (CAST, BREAKS, BREAKS, DEPENDS),
        (Step("TRANSFORMATION", "amount + 1"), BREAKS, BREAKS, BREAKS),
        (Step("TRANSFORMATION"), BREAKS, BREAKS, BREAKS),
        (SUM, BREAKS, BREAKS, BREAKS),
        (COUNT, BREAKS, BREAKS, UNAFFECTED),
        (Step("AGGREGATION", "max(amount)"), BREAKS, BREAKS, CHANGES),
        (Step("AGGREGATION"), BREAKS, BREAKS, BREAKS),
        (CASE, BREAKS, BREAKS, BREAKS),
        (Step("WINDOW", "row_number() over (order by amount)"), BREAKS, BREAKS, CHANGES),
        (FILTER, BREAKS, BREAKS, BREAKS),
        (Step("JOIN"), BREAKS, BREAKS, BREAKS),
        (Step("GROUP_BY"), BREAKS, BREAKS, CHANGES),
        (Step("SORT"), BREAKS, BREAKS, CHANGES),
        (Step(""), BREAKS, BREAKS, BREAKS),
        (Step(USE), BREAKS, BREAKS, CHANGES),
        (Step(TEST), BREAKS, BREAKS, BREAKS),
        (Step(UNTYPED_TEST), BREAKS, BREAKS, UNAFFECTED),
    ],
)
def test_the_effect_on_a_direct_reader(step: Step, drop: Effect, rename: Effect, retype: Effect) -> None:
    assert [effect_of(change, [step]) for change in Change] == [drop, rename, retype]


@pytest.mark.parametrize(
    ("change", "path", "expected"),
    [
        # A dropped column has no source at any depth, but what it only controlled can be computed without it.
        ("drop", [COPY, SUM, COPY], BREAKS),
        ("drop", [COPY, CASE], BREAKS),
        ("drop", [COPY, CASE, COPY], DEPENDS),
        ("drop", [CASE, FILTER], DEPENDS),
        # Without a transformation, the column may be computed from the dropped one.
        ("drop", [Step(""), COPY], BREAKS),
        # A new name reaches as far as it is copied with all columns, and breaks the next reader.
        ("rename", [COPY, COPY], DEPENDS),
        ("rename", [ALONG, ALONG], CHANGES),
        ("rename", [ALONG, ALONG, COPY], BREAKS),
        ("rename", [ALONG, FILTER], BREAKS),
        ("rename", [ALONG, SUM, COPY], DEPENDS),
        # A new type is inherited down to the first cast, and ends at a count.
        ("retype", [COPY, COPY, COPY], CHANGES),
        ("retype", [COPY, CAST, SUM], DEPENDS),
        ("retype", [COPY, COPY, SUM], BREAKS),
        ("retype", [COPY, SUM, COPY], DEPENDS),
        ("retype", [COPY, COUNT, Step("TRANSFORMATION", "n + 1")], UNAFFECTED),
    ],
)
def test_the_effect_at_the_end_of_a_path(change: str, path: list[Step], expected: Effect) -> None:
    assert effect_of(Change(change), path) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cast(amount as string)", DEPENDS),
        ("try_cast(`the amount` as timestamp without time zone)", DEPENDS),
        ("cast(amount as int) | cast(amount as bigint)", DEPENDS),
        ("cast(upper(amount) as int)", BREAKS),
        ("cast(amount > 5 as int)", BREAKS),
        ("cast(a as int) + cast(b as int)", BREAKS),
        ("cast(amount as int) | amount + 1", BREAKS),
    ],
)
def test_only_a_cast_of_the_column_itself_accepts_another_type(expression: str, expected: Effect) -> None:
    assert effect_of(Change.RETYPE, [Step("TRANSFORMATION", expression)]) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("count(id)", UNAFFECTED),
        ("count(a, b)", UNAFFECTED),
        ("count(case when amount > 5 then 1 end)", BREAKS),
        ("count(id) / sum(id)", BREAKS),
        ("count(id) | sum(id)", BREAKS),
        ("count(id) | min(id)", CHANGES),
        ("count(id) over (partition by day)", UNAFFECTED),
        ("max(id) OVER (PARTITION BY day ORDER BY hour)", CHANGES),
        ("first_value(id) over latest", CHANGES),
        ("any_value(id)", CHANGES),
        ("max(id) over (order by a) + max(id) over (order by b)", BREAKS),
        ("sum(id) over (partition by day)", BREAKS),
    ],
)
def test_only_a_count_of_columns_accepts_any_type(expression: str, expected: Effect) -> None:
    assert effect_of(Change.RETYPE, [Step("AGGREGATION", expression)]) == expected


def test_the_worst_of_several_paths_counts() -> None:
    assert worst([DEPENDS, CHANGES, UNAFFECTED]) == CHANGES
    assert worst([CHANGES, BREAKS]) == BREAKS
