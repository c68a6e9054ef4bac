"""MERGE, UPDATE and DELETE of Delta, as Spline's agent 2.2 records them: in texts that Delta 3.3 prints."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lineage_merge.sources.spline.columns.lineage import ColumnLineage
from tests.sources.spline.columns.lineage_reading import expressions, flows, influences, read, short
from tests.sources.spline.columns.plan_building import Operation, PlanBuilder

TARGET = ("id int", "amount double", "country string", "note string")


def merge(
    condition: str,
    *,
    source: Sequence[str] = TARGET,
    derives: Mapping[str, Sequence[str]] | None = None,
    **clauses: Sequence[str],
) -> ColumnLineage:
    """A MERGE into `t` of a plain read of `s`; `derives` are source columns that the agent saw assigned."""
    plan = PlanBuilder()
    source_read, target_read = plan.read("s3://lake/s", *source), plan.read("s3://lake/t", *TARGET)
    output = [
        plan.attribute(name, derives_from=[target_read[name], *map(source_read.__getitem__, columns)])
        for name, columns in {**dict.fromkeys(target_read.names, ()), **(derives or {})}.items()
    ]
    params = {"condition": condition, "matchedClauses": [], "notMatchedClauses": [], **clauses}
    merged = plan.operation("MergeIntoCommand", source_read, target_read, output=output, params=params)
    return written(plan, merged, "MergeIntoCommand", {})


def changed(command: str, columns: Sequence[str] = TARGET, **params: Any) -> ColumnLineage:
    """An UPDATE or DELETE of `t`."""
    plan = PlanBuilder()
    return written(plan, plan.read("s3://lake/t", *columns), command, params)


def written(plan: PlanBuilder, below: Operation, command: str, params: Mapping[str, Any]) -> ColumnLineage:
    plan.write("s3://lake/t", below, command, params)
    return read(plan)


STAR = "[actions: [`id` = id#1, `amount` = amount#2, `country` = country#3, `note` = note#4]]"


def test_a_row_that_is_copied_as_it_is_has_no_lineage() -> None:
    found = changed("UpdateCommand", updateExpressions=["id#9", "(amount#10 * 2.0)", "country#11", "note#12"])

    assert flows(found) == {"t.amount -> amount TRANSFORMATION"}
    assert (expressions(found), influences(found)) == ({"amount": "(amount * 2.0)"}, set())
    assert [each.name for each in found.columns] == ["id", "amount", "country", "note"]
    assert found.rewritten == frozenset()


def test_an_update_reads_columns_of_its_own_rows_and_where_filters_them() -> None:
    found = changed(
        "UpdateCommand",
        condition="((country#11 = DE) AND isnotnull(note#12))",
        updateExpressions=["id#9", "amount#10", "note#12", "CASE WHEN (id#9 > 1) THEN upper(note#12) END"],
    )

    assert flows(found) == {
        "t.note -> country IDENTITY",
        "t.note -> note TRANSFORMATION",
        "t.id -> note CONDITIONAL",
    }
    assert influences(found) == {"t.country FILTER", "t.note FILTER"}


def test_a_deletion_only_filters() -> None:
    found = changed("DeleteCommand", condition="(amount#10 > cast(10 as double))")

    assert (flows(found), influences(found)) == (set(), {"t.amount FILTER"})
    assert [short(each) for each in found.rewritten] == ["t"]


def test_everything_is_copied_from_the_source() -> None:
    found = merge("(id#7 = id#1)", matchedClauses=[f"Update {STAR}"], notMatchedClauses=[f"Insert {STAR}"])

    assert flows(found) == {f"s.{each} -> {each} IDENTITY" for each in ("id", "amount", "country", "note")}
    assert influences(found) == {"s.id JOIN", "t.id JOIN"}
    assert [short(each) for each in found.rewritten] == ["t"]


def test_clauses_filter_and_each_of_them_assigns() -> None:
    update = (
        "actions: [`id` = id#7, `amount` = (amount#2 + amount#8), `country` = country#9,"
        " `note` = concat(note#4, ], actions: , country#9)]"
    )
    insert = "actions: [`id` = id#1, `amount` = amount#2, `country` = null, `note` = cast(0 as string)]"
    update_unmatched = "actions: [`id` = id#7, `amount` = amount#8, `country` = OLD, `note` = country#9]"
    found = merge(
        "(id#7 = id#1)",
        matchedClauses=[
            "Delete [condition: (note#4 = CLOSED)]",
            f"Update [condition: (amount#2 > amount#8), {update}]",
        ],
        notMatchedClauses=[
            f"Insert [condition: (country#3 = DE), {insert}]",
        ],
        notMatchedBySourceClauses=[
            f"Update [condition: (id#7 > 5), {update_unmatched}]",
            "Delete []",
        ],
    )

    assert flows(found) == {
        "s.id -> id IDENTITY",
        "s.amount -> amount IDENTITY,TRANSFORMATION",
        "t.amount -> amount TRANSFORMATION",
        "s.note -> note TRANSFORMATION",
        "t.country -> note IDENTITY,TRANSFORMATION",
    }
    assert influences(found) == {
        "s.id JOIN",
        "t.id FILTER,JOIN",
        "s.note FILTER",
        "s.amount FILTER",
        "t.amount FILTER",
        "s.country FILTER",
    }
    assert (found.rewritten, found.problems) == (frozenset(), ())


def test_without_an_insert_what_the_agent_derives_distinguishes_source_and_target() -> None:
    update = (
        "Update [actions: [`id` = id#7, `amount` = (amount#2 + 1), `country` = country#3, `note` = note#10]]"
    )
    found = merge("(id#7 = id#1)", derives={"country": ["country"]}, matchedClauses=[update])

    assert flows(found) == {"s.amount -> amount TRANSFORMATION", "s.country -> country IDENTITY"}
    assert found.problems == ()


def test_a_column_that_may_be_of_both_sides_is_left_out_and_reported() -> None:
    plan = PlanBuilder()
    sides = [
        plan.operation("Project", each, output=[plan.alias(name, each[name]) for name in ("id", "amount")])
        for each in (plan.read(f"s3://lake/{name}", "id int", "amount double") for name in "st")
    ]
    output = [plan.attribute("id"), plan.attribute("amount")]  # API 1.0: what they derive from is unknown
    params = {
        "condition": "(id#7 = id#1)",
        "matchedClauses": [
            "Delete [condition: (amount#8 > 9)]",
            "Update [actions: [`id` = id#7, `amount` = (amount#2 + 1)]]",
        ],
        "notMatchedClauses": [],
    }
    merged = plan.operation("MergeIntoCommand", *sides, output=output, params=params)
    found = written(plan, merged, "MergeIntoCommand", {})

    assert flows(found) == set()
    assert influences(found) == {"s.id JOIN", "t.id JOIN"}
    assert [what for _, what in found.problems] == [
        "the text does not say whether amount, id is a column of the source or of the target"
    ]


def test_a_column_that_the_merge_adds_to_the_table() -> None:
    star = f"{STAR[:-2]}, `extra` = extra#5]]"
    found = merge(
        "(id#8 = id#1)",
        source=(*TARGET, "extra double"),
        matchedClauses=[f"Update {star}"],
        notMatchedClauses=[f"Insert {star}"],
    )

    assert "s.extra -> extra IDENTITY" in flows(found)
    assert [each.name for each in found.columns] == ["id", "amount", "country", "note", "extra"]


def test_fields_that_keep_their_value_are_no_lineage() -> None:
    geo = "named_struct(lat, 0.0, lon, address#9.geo.lon)"
    address = f"named_struct(city, upper(name#8), zip, address#9.zip, geo, {geo})"
    found = changed(
        "UpdateCommand",
        ["name string", "address struct<city:string,zip:string,geo:struct<lat:double,lon:double>>"],
        updateExpressions=["name#8", address],
    )

    assert flows(found) == {"t.name -> address.city TRANSFORMATION"}


def test_a_structure_that_is_merged_field_by_field_is_merged_whole() -> None:
    field = "if (isnull(s#9)) null else named_struct(city, s#9.city, zip, s#9.zip AS zip#12)"
    other = "named_struct(city, s#9.zip, zip, upper(s#9.city))"

    def merged(value: str) -> set[str]:
        plan = PlanBuilder()
        parts = {"fields": [{"name": name, "dataTypeId": plan.type("string")} for name in ("city", "zip")]}
        plan.complex_type("struct<city:string,zip:string>", {"_typeHint": "dt.Struct", **parts})
        before = plan.read(
            "s3://lake/t", "s struct<city:string,zip:string>", "a struct<city:string,zip:string>"
        )
        return flows(written(plan, before, "UpdateCommand", {"updateExpressions": ["s#9", value]}))

    assert merged(field) == {"t.s -> a IDENTITY"}
    assert merged(other) == {"t.s.zip -> a.city IDENTITY", "t.s.city -> a.zip TRANSFORMATION"}


@pytest.mark.parametrize(
    ("value", "inputs"),
    [
        # A variable of a lambda function may be named as a column is.
        ("transform(tags#8, lambdafunction((lambda id#12 + n#9), lambda id#12, false))", {"tags", "n"}),
        ("(unit price#10L + 1)", {"unit price"}),
        ("concat(`tags` = , n#9)", {"n"}),
    ],
)
def test_texts_are_read_column_by_column(value: str, inputs: set[str]) -> None:
    columns = ["id int", "tags array<int>", "n int", "x"]
    plan = PlanBuilder()
    before = plan.read("s3://lake/t", *columns)
    price = plan.attribute("unit price", "bigint")
    table = plan.operation("SubqueryAlias", before, output=[*before.output[:3], price])
    plan.contents["derivesFrom"].append(
        {"_key": "d", "_from": price, "_to": before["x"], "_belongsTo": "executionPlan/plan"}
    )

    found = written(
        plan, table, "UpdateCommand", {"updateExpressions": [value, "tags#8", "n#9", "unit price#10L"]}
    )

    names = {"x": "unit price"}
    assert {names.get(each.column, each.column) for each in found.flows} == inputs
    assert {each.target_column for each in found.flows} == {"id"}
