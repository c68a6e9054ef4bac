"""Subqueries: their plans are text, which differs between Spark's versions."""

import pytest

from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.lineage import column_lineage
from tests.sources.spline.columns.lineage_reading import expressions, flows, influences, read
from tests.sources.spline.columns.plan_building import PlanBuilder

_WIDE = ",".join(f"c{number}#{100 + number}" for number in range(24))


def _selected(text: str, outer: dict[str, str] | None = None, **params: object) -> PlanBuilder:
    """`SELECT a, (subquery) x FROM raw`; `outer` are columns of raw by how the params name them."""
    plan = PlanBuilder()
    raw = plan.read("s3://raw/raw", "a int", "b int")
    arguments = [raw[name] for name in (outer or {}).values()]
    given = {"plan": text, **({"outerAttrs": list(outer)} if outer else {}), **params}
    subquery = plan.call("ScalarSubquery", *arguments, params=given)
    output = [raw["a"], plan.alias("x", subquery)]
    plan.write("s3://lake/out", plan.operation("Project", raw, output=output))
    return plan


@pytest.mark.parametrize(
    "relation",
    [
        "Relation spark_catalog.shop.part[k#5L,v#6] parquet",
        "Relation shop.part[k#5L,v#6] parquet",
        "HiveTableRelation [`spark_catalog`.`shop`.`part`, S, Data Cols: [k#5L, v#6], Partition Cols: []]",
        "HiveTableRelation [`shop`.`part`, org.apache.Serde, Data Cols: [k#5L], Partition Cols: [v#6]]",
        "HiveTableRelation `shop`.`part`, org.apache.Serde, [k#5L, v#6]",
        "SubqueryAlias spark_catalog.shop.part\n   +- Relation[k#5L,v#6] parquet",
        "SubqueryAlias `shop`.`part`\n   +- Relation[k#5L,v#6] parquet",
    ],
)
def test_a_table_is_found_in_every_form_of_a_relation(relation: str) -> None:
    text = f"Aggregate [max(v#6) AS max(v)#9]\n+- {relation}\n"

    found = read(_selected(text))

    assert {(each.source, each.column) for each in found.flows if each.target_column == "x"} == {
        (Reference("spark_catalog", "shop.part"), "v")
    }


def test_a_table_of_another_catalog_stands_behind_its_columns() -> None:
    text = "Project [v#6]\n+- RelationV2[k#5L, v#6] glue.shop.part glue.shop.part\n"

    found = read(_selected(text))

    assert Reference("glue", "shop.part") in {each.source for each in found.flows}


def test_files_without_a_name_have_no_columns() -> None:
    found = read(_selected("Aggregate [max(v#6) AS max(v)#9]\n+- Relation [k#5L,v#6] csv\n"))

    assert flows(found) == {"raw.a -> a IDENTITY"}
    assert {each.source.name for each in found.sources} == {"s3://raw/raw"}


def _of_view(text: str) -> PlanBuilder:
    """`SELECT c0, (subquery) x FROM wide`, a temporary view of a file."""
    plan = PlanBuilder()
    raw = plan.read("s3://raw/wide", *(f"c{number} int" for number in range(34)))
    description = "CatalogTable(\nTable: wide\nType: VIEW\n)"
    view = plan.operation("View", raw, params={"desc": description, "isTempView": True})
    selected = plan.alias("x", plan.call("ScalarSubquery", params={"plan": text}))
    plan.write("s3://lake/out", plan.operation("Project", view, output=[view["c0"], selected]))
    return plan


def test_a_temporary_view_that_the_plan_reads_gives_its_columns_also_those_that_spark_omitted() -> None:
    text = (
        "Aggregate [max((c2#102 + c30#130)) AS max((c2 + c30))#9]\n"
        "+- SubqueryAlias wide\n"
        f"   +- View (`wide`, [{_WIDE},... 10 more fields])\n"
        f"      +- Relation [{_WIDE},... 10 more fields] csv\n"
    )

    assert flows(read(_of_view(text))) == {
        "wide.c0 -> c0 IDENTITY",
        "wide.c2 -> x AGGREGATION",
        "wide.c30 -> x AGGREGATION",
    }


@pytest.mark.parametrize("view", ["(`wide`, [c0#1,c1#2])", "(`other`, [c0#1])", "(`wide`, [k#1])", ""])
def test_another_temporary_view_has_no_columns(view: str) -> None:
    text = f"Aggregate [max(c0#1) AS m#9]\n+- View {view}\n   +- Relation [c0#1] csv\n"

    assert flows(read(_of_view(text))) == {"wide.c0 -> c0 IDENTITY"}


def test_columns_that_spark_omitted_are_known_by_their_ids() -> None:
    text = (
        "Aggregate [max(c30#130) AS max(c30)#9]\n"
        "+- Filter (c2#102 > c40#140)\n"
        f"   +- Relation spark_catalog.shop.wide[{_WIDE},... 10 more fields] parquet\n"
    )

    found = read(_selected(text))

    # 24 are shown and 10 more exist: number 140 is none of them.
    assert flows(found) == {"raw.a -> a IDENTITY", "wide.c30 -> x AGGREGATION"}
    assert influences(found) == {"wide.c2 FILTER"}


def test_ids_with_gaps_are_not_counted_on() -> None:
    shown = _WIDE.replace("c3#103", "c3#903")
    text = (
        "Aggregate [max(c30#130) AS max(c30)#9]\n"
        f"+- Relation spark_catalog.shop.wide[{shown},... 10 more fields] parquet\n"
    )

    assert flows(read(_selected(text))) == {"raw.a -> a IDENTITY"}


def test_a_column_of_the_outer_query_decides_inside() -> None:
    text = (
        "Aggregate [max(v#6) AS max(v)#9]\n"
        "+- Filter (outer(a#1L) = k#5L)\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    )

    found = read(_selected(text, outer={"outer(a#1L)": "a"}))

    assert influences(found) == {"raw.a FILTER", "part.k FILTER"}
    assert flows(found) == {"raw.a -> a IDENTITY", "part.v -> x AGGREGATION"}


def test_a_column_of_the_outer_query_may_be_named_like_an_expression() -> None:
    text = (
        "Project [1 AS 1#9]\n"
        "+- Filter (k#5L = outer(max(coalesce(a#1, 0))#334))\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    )

    found = read(_selected(text, outer={"max(coalesce(a#1, 0))#334": "b"}))

    assert influences(found) == {"raw.b FILTER", "part.k FILTER"}


def test_a_column_of_the_outer_query_is_a_value_where_it_is_selected() -> None:
    text = "Project [(outer(b#2) + v#6) AS s#9]\n+- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"

    assert flows(read(_selected(text, outer={"b#2": "b"}))) == {
        "raw.a -> a IDENTITY",
        "raw.b -> x TRANSFORMATION",
        "part.v -> x TRANSFORMATION",
    }


def test_spark_3_1_and_older_have_outer_columns_by_name_only() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/raw", "a int", "b int")
    text = (
        "Aggregate [max(v#6) AS max(v)#9]\n"
        "+- Filter (outer(b#2) = k#5L)\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    )
    subquery = plan.call("ScalarSubquery", raw["a"], raw["b"], params={"plan": text})
    plan.write("s3://lake/out", plan.operation("Project", raw, output=[plan.alias("x", subquery)]))

    assert influences(read(plan)) == {"raw.b FILTER", "part.k FILTER"}


def test_a_subquery_within_a_subquery_sees_the_columns_of_both() -> None:
    text = (
        "Project [v#6]\n"
        "+- Filter (k#5L = scalar-subquery#20 [k#5L && a#1])\n"
        "   :  +- Aggregate [max(w#8) AS max(w)#12]\n"
        "   :     +- Filter ((y#7 = outer(k#5L)) AND (w#8 > outer(a#1)))\n"
        "   :        +- Relation spark_catalog.shop.other[y#7,w#8] parquet\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    )

    found = read(_selected(text, outer={"a#1": "a"}))

    assert flows(found) == {"raw.a -> a IDENTITY", "part.v -> x IDENTITY"}
    assert influences(found) == {"part.k FILTER", "other.w FILTER", "other.y FILTER", "raw.a FILTER"}


def test_a_join_in_the_text_keeps_its_sides_apart_and_a_semi_join_its_left() -> None:
    text = (
        "Project [v#6]\n"
        "+- Join LeftSemi, (k#5L = y#7)\n"
        "   :- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
        "   +- Relation spark_catalog.shop.other[y#7,v#8] parquet\n"
    )

    found = read(_selected(text))

    assert flows(found) == {"raw.a -> a IDENTITY", "part.v -> x IDENTITY"}
    assert influences(found) == {"part.k FILTER", "other.y FILTER"}


def test_constants_with_brackets_and_line_breaks_do_not_break_a_plans_text() -> None:
    text = (
        "Aggregate [max(CASE WHEN (k#5L = [x) THEN v#6 END) AS m#9]\n"
        "+- Filter (v#6 = a\n"
        "+ b)\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    )

    found = read(_selected(text))

    assert flows(found) == {"raw.a -> a IDENTITY", "part.k -> x CONDITIONAL", "part.v -> x AGGREGATION"}
    assert influences(found) == {"part.v FILTER"}


def test_a_case_and_a_window_in_the_text_are_indirect() -> None:
    text = (
        "Project [CASE WHEN (k#5L > 1) THEN v#6 ELSE w#7 END AS c#9]\n"
        "+- Relation spark_catalog.shop.part[k#5L,v#6,w#7] parquet\n"
    )
    window = (
        "Project [s#9]\n"
        "+- Window [sum(v#6) windowspecdefinition(k#5L, w#7 ASC NULLS FIRST, "
        "specifiedwindowframe(RangeFrame, unboundedpreceding$(), currentrow$())) AS s#9], [k#5L], "
        "[w#7 ASC NULLS FIRST]\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6,w#7] parquet\n"
    )

    assert flows(read(_selected(text))) - {"raw.a -> a IDENTITY"} == {
        "part.k -> x CONDITIONAL",
        "part.v -> x TRANSFORMATION",
        "part.w -> x TRANSFORMATION",
    }
    assert flows(read(_selected(window))) - {"raw.a -> a IDENTITY"} == {
        "part.k -> x WINDOW",
        "part.v -> x AGGREGATION",
        "part.w -> x WINDOW",
    }


def test_a_cte_of_the_plan_is_known_in_a_subquerys_text() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/raw", "a int", "b int")
    definition = plan.operation("CTERelationDef", raw, params={"id": 3})
    reference = plan.operation(
        "CTERelationRef", output=[plan.attribute("a"), plan.attribute("b")], params={"cteId": 3}
    )
    text = "Aggregate [max(b#71) AS max(b)#9]\n+- CTERelationRef 3, true, [a#70, b#71], false\n"
    subquery = plan.call("ScalarSubquery", params={"plan": text})
    query = plan.operation("Project", reference, output=[reference["a"], plan.alias("x", subquery)])
    plan.write("s3://lake/out", plan.operation("WithCTE", definition, query, output=query.output))

    assert flows(read(plan)) == {"raw.a -> a IDENTITY", "raw.b -> x AGGREGATION"}


def test_exists_selects_nothing_and_in_only_as_many_columns_as_it_compares() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/raw", "a int", "b int")
    text = "Project [k#5L, v#6]\n+- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    exists = plan.call("Exists", params={"plan": text})
    several = plan.call("ListQuery", params={"plan": text, "numCols": 1})
    contained = plan.call("InSubquery", raw["a"], several)
    output = [plan.alias("e", exists), plan.alias("i", contained)]
    plan.write("s3://lake/out", plan.operation("Project", raw, output=output))

    assert flows(read(plan)) == {"raw.a -> i TRANSFORMATION", "part.k -> i TRANSFORMATION"}


@pytest.mark.parametrize(
    "text", ["", "Nothing", "+- ", "Project [\n", "Aggregate\n+- Relation", "Join\n", "Union\n"]
)
def test_unparsable_text_is_ignored(text: str) -> None:
    assert flows(read(_selected(text))) == {"raw.a -> a IDENTITY"}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("(cast(k#5L as decimal(20,0)) * v#6) AS s#9", {"part.k", "part.v"}),
        ("cast(k#5L as decimal(20,0)) AS s#9", {"part.k"}),
        ("CASE WHEN (v#6 = 1) THEN x,y ELSE z END AS s#9", {"part.v"}),
    ],
)
def test_a_comma_without_a_blank_is_part_of_an_expression(item: str, expected: set[str]) -> None:
    text = f"Project [{item}]\n+- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"

    found = {each.partition(" -> x")[0] for each in flows(read(_selected(text))) if " -> x" in each}

    assert found == expected


def test_a_relations_column_may_have_a_blank_or_a_bracket_in_its_name() -> None:
    text = (
        "Aggregate [max(`net (eur`#6) AS m#9]\n"
        "+- Relation spark_catalog.shop.part[order id#5L,net (eur#6,c#7] parquet\n"
    )

    assert flows(read(_selected(text))) == {"raw.a -> a IDENTITY", "part.net (eur -> x AGGREGATION"}


@pytest.mark.parametrize("values", ["p, k#5L, q, v#6", "p,q, k#5L, z, v#6"])
def test_a_column_of_a_stack_has_its_own_arguments(values: str) -> None:
    text = (
        "Project [n#9]\n"
        f"+- Generate stack(2, {values}), false, s, [name#8, n#9]\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6,w#7] parquet\n"
    )

    assert flows(read(_selected(text))) == {
        "raw.a -> a IDENTITY",
        "part.k -> x TRANSFORMATION",
        "part.v -> x TRANSFORMATION",
    }
    assert flows(read(_selected(text.replace("Project [n#9]", "Project [name#8]")))) == {
        "raw.a -> a IDENTITY"
    }


def test_grouping_in_the_text_depends_on_one_column() -> None:
    text = (
        "Aggregate [k#15L, v#16, spark_grouping_id#17L], "
        "[cast((shiftright(spark_grouping_id#17L, 1) & 1) as tinyint) AS g#9]\n"
        "+- Expand [[k#5L, v#6, k#5L, v#6, 0], [k#5L, v#6, k#5L, null, 1]], "
        "[k#5L, v#6, k#15L, v#16, spark_grouping_id#17L]\n"
        "   +- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    )

    assert flows(read(_selected(text))) == {"raw.a -> a IDENTITY", "part.k -> x CONDITIONAL"}
    assert influences(read(_selected(text))) == {"part.k GROUP_BY", "part.v GROUP_BY"}


def test_a_subquery_in_the_text_of_an_expression_is_shown_by_what_it_selects() -> None:
    text = "Aggregate [max(v#6) AS max(v)#9]\n+- Relation spark_catalog.shop.part[k#5L,v#6] parquet\n"
    plan = PlanBuilder()
    raw = plan.read("s3://raw/raw", "a int")
    subquery = plan.call("ScalarSubquery", params={"plan": text})
    total = plan.alias("x", plan.call("Add", raw["a"], subquery))
    plan.write("s3://lake/out", plan.operation("Project", raw, output=[total]))

    assert expressions(column_lineage(plan.documents())) == {"x": "a + (SELECT max(v))"}
