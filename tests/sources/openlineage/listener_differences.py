"""Known differences between OpenLineage's listener and Spline's agent for the same jobs, with reasons.

Each difference stands here by itself: sources by target, tables and folders by their last word. On which
columns flow and which decide both agree everywhere; these are about what is done with them. OpenLineage reads
the plan that the optimiser made, Spline the one that was analysed.
"""

from typing import NamedTuple


class Difference(NamedTuple):
    """Edges of one label whose `transformation` is one text by Spline, another (None: none) here."""

    reason: str
    label: str
    by_spline: str
    here: str | None
    edges: dict[str, str]


DIFFERENCES = (
    Difference(
        "of an aggregate of what a step below computed they tell that step",
        "feeds_column",
        "AGGREGATION",
        "TRANSFORMATION",
        {
            "q07.revenue": "lineitem.l_discount lineitem.l_extendedprice",
            "q08.mkt_share": "lineitem.l_discount lineitem.l_extendedprice",
            "q09.sum_profit": "lineitem.l_discount lineitem.l_extendedprice lineitem.l_quantity"
            " partsupp.ps_supplycost",
            "dws_kdt_comment_ranks_info.infos": "dws_kdt_comment_rank_base.content"
            " dws_kdt_comment_rank_base.shop dws_kdt_comment_rank_base.team_id",
        },
    ),
    Difference(
        "of a condition on a column that a step below renamed they tell the renaming",
        "feeds_column",
        "CONDITIONAL",
        "IDENTITY",
        {"q08.mkt_share": "nation.n_name"},
    ),
    Difference(
        "a cast is no transformation to them",
        "feeds_column",
        "TRANSFORMATION",
        "IDENTITY",
        {"q03.o_orderdate": "orders.o_orderdate"},
    ),
    Difference(
        "the optimiser makes a join of WHERE a = b, and keeps that neither may be null",
        "influences",
        "FILTER",
        "FILTER,JOIN",
        {
            "q02": "nation.n_nationkey nation.n_regionkey partsupp.ps_suppkey partsupp.ps_supplycost"
            " region.r_regionkey supplier.s_nationkey supplier.s_suppkey",
            "q03": "customer.c_custkey orders.o_custkey orders.o_orderkey",
            "q05": "customer.c_custkey customer.c_nationkey lineitem.l_orderkey lineitem.l_suppkey"
            " nation.n_nationkey nation.n_regionkey orders.o_custkey orders.o_orderkey region.r_regionkey"
            " supplier.s_nationkey supplier.s_suppkey",
            "q07": "customer.c_custkey customer.c_nationkey lineitem.l_orderkey lineitem.l_suppkey"
            " nation.n_nationkey orders.o_custkey orders.o_orderkey supplier.s_nationkey supplier.s_suppkey",
            "q08": "customer.c_custkey customer.c_nationkey lineitem.l_orderkey lineitem.l_partkey"
            " lineitem.l_suppkey nation.n_nationkey nation.n_regionkey orders.o_custkey orders.o_orderkey"
            " part.p_partkey region.r_regionkey supplier.s_nationkey supplier.s_suppkey",
            "q09": "lineitem.l_orderkey lineitem.l_partkey lineitem.l_suppkey nation.n_nationkey"
            " orders.o_orderkey part.p_partkey partsupp.ps_partkey partsupp.ps_suppkey supplier.s_nationkey"
            " supplier.s_suppkey",
            "q10": "customer.c_nationkey lineitem.l_orderkey nation.n_nationkey orders.o_custkey"
            " orders.o_orderkey",
            "q11": "nation.n_nationkey partsupp.ps_suppkey supplier.s_nationkey supplier.s_suppkey",
            "q12": "lineitem.l_orderkey orders.o_orderkey",
            "q14": "lineitem.l_partkey part.p_partkey",
            "q16": "part.p_partkey partsupp.ps_partkey",
            "q17": "lineitem.l_quantity part.p_partkey",
            "q18": "orders.o_custkey",
            "q19": "lineitem.l_partkey lineitem.l_quantity part.p_brand part.p_container part.p_partkey"
            " part.p_size",
            "q20": "nation.n_nationkey partsupp.ps_availqty partsupp.ps_partkey partsupp.ps_suppkey"
            " supplier.s_nationkey",
            "q21": "lineitem.l_orderkey lineitem.l_suppkey nation.n_nationkey orders.o_orderkey"
            " supplier.s_nationkey supplier.s_suppkey",
        },
    ),
    Difference(
        "the same of columns that group too",
        "influences",
        "FILTER,GROUP_BY",
        "FILTER,JOIN,GROUP_BY",
        {
            "q03": "lineitem.l_orderkey",
            "q10": "customer.c_custkey",
            "q18": "customer.c_custkey lineitem.l_orderkey orders.o_orderkey",
        },
    ),
    Difference(
        "the same of columns that sort too",
        "influences",
        "FILTER,SORT",
        "FILTER,JOIN,SORT",
        {"q02": "part.p_partkey", "q15": "supplier.s_suppkey"},
    ),
    Difference(
        "IN and EXISTS are joins to the optimiser",
        "influences",
        "FILTER",
        "JOIN",
        {
            "q04": "lineitem.l_orderkey orders.o_orderkey",
            "q16": "supplier.s_suppkey",
            "q20": "part.p_partkey supplier.s_suppkey",
            "q22": "customer.c_custkey orders.o_custkey",
        },
    ),
    Difference(
        "IN and EXISTS of a column that sorts too",
        "influences",
        "FILTER,SORT",
        "JOIN,SORT",
        {"q16": "partsupp.ps_suppkey"},
    ),
    Difference(
        "the optimiser groups a subquery by the columns of the query around it",
        "influences",
        "FILTER",
        "FILTER,JOIN,GROUP_BY",
        {
            "q02": "partsupp.ps_partkey",
            "q17": "lineitem.l_partkey",
            "q20": "lineitem.l_partkey lineitem.l_suppkey",
        },
    ),
    Difference(
        "the optimiser filters one side before an outer join",
        "influences",
        "JOIN",
        "FILTER",
        {"q13": "orders.o_comment"},
    ),
    Difference(
        "the optimiser keeps that the key of an outer join is not null",
        "influences",
        "JOIN",
        "FILTER,JOIN",
        {"q13": "orders.o_custkey"},
    ),
    Difference(
        "of a computed value that sorts they tell how it is computed",
        "influences",
        "SORT",
        None,
        {
            "q03": "lineitem.l_discount lineitem.l_extendedprice",
            "q05": "lineitem.l_discount lineitem.l_extendedprice",
            "q10": "lineitem.l_discount lineitem.l_extendedprice",
        },
    ),
    Difference(
        "of a computed value that filters they tell how it is computed",
        "influences",
        "FILTER",
        None,
        {
            "q15": "lineitem.l_discount lineitem.l_extendedprice",
            "q18": "lineitem.l_quantity",
            "q20": "lineitem.l_quantity",
        },
    ),
    Difference(
        "of a computed value that filters and sorts they tell how it is computed",
        "influences",
        "FILTER,SORT",
        None,
        {"q11": "partsupp.ps_availqty partsupp.ps_supplycost"},
    ),
    Difference(
        "of a computed value that groups and sorts they tell how it is computed",
        "influences",
        "GROUP_BY,SORT",
        None,
        {"q09": "nation.n_name orders.o_orderdate"},
    ),
    Difference(
        "of a column that filters, and computed groups and sorts, they tell the filter",
        "influences",
        "FILTER,GROUP_BY,SORT",
        "FILTER",
        {"q07": "lineitem.l_shipdate", "q08": "orders.o_orderdate", "q22": "customer.c_phone"},
    ),
    Difference(
        "of a column that joins and filters, and renamed groups and sorts, they tell the first two",
        "influences",
        "FILTER,GROUP_BY,SORT",
        "FILTER,JOIN",
        {"q07": "nation.n_name"},
    ),
)
