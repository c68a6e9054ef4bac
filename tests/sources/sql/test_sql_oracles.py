"""SQL lineage compared with other tools: Hive's own hook, and TPC-H's known edges."""

import json
import re
from pathlib import Path

from tests.sources.sql.sql_reading import lineage_of

HIVE_DDL = """
create table ods.orders (id int, user_id int, amount double) partitioned by (dt string);
create table ods.users (id int, name string, city string);
create table dw.user_orders (user_id int, name string, total double, n bigint);
create table dw.daily (user_id int, amount double) partitioned by (dt string);
"""
# Hive's edge names a column that its own expression (the window's partition and order) does not have.
MORE_THAN_IS_SAID = {"ods.orders#user_id > dw.city_rank#rk"}


def test_hives_own_hook_found_the_same_column_edges_in_every_statement(data: Path) -> None:
    compared = 0
    for line in (data / "hive" / "hive-lineage.log").read_text().splitlines():
        found = re.search(r"LineageLogger: (\{.*\})", line)
        if found is None:
            continue
        document = json.loads(found[1])
        vertices = {each["id"]: each for each in document["vertices"]}
        by_hive = {
            f"{_hash(vertices[source])} > {_hash(vertices[target])}"
            for edge in document["edges"]
            if edge["edgeType"] == "PROJECTION"
            for source in edge["sources"]
            for target in edge["targets"]
            if vertices[source]["vertexType"] == "COLUMN"
        }

        ours = lineage_of(document["queryText"], schema=HIVE_DDL)

        found_by_us = {each.rpartition(" ")[0] for each in ours.columns}
        assert found_by_us == by_hive - MORE_THAN_IS_SAID, document["queryText"]
        assert ours.problems == set()
        compared += 1
    assert compared == 6


def _hash(vertex: dict[str, str]) -> str:
    table, _, column = vertex["vertexId"].rpartition(".")
    return f"{table}#{column}"


TPCH_DDL = """
create table part (p_partkey int, p_name string, p_mfgr string, p_brand string, p_type string, p_size int,
  p_container string, p_retailprice double, p_comment string);
create table supplier (s_suppkey int, s_name string, s_address string, s_nationkey int, s_phone string,
  s_acctbal double, s_comment string);
create table partsupp (ps_partkey int, ps_suppkey int, ps_availqty int, ps_supplycost double,
  ps_comment string);
create table customer (c_custkey int, c_name string, c_address string, c_nationkey int, c_phone string,
  c_acctbal double, c_mktsegment string, c_comment string);
create table orders (o_orderkey int, o_custkey int, o_orderstatus string, o_totalprice double,
  o_orderdate date,   o_orderpriority string, o_clerk string, o_shippriority int, o_comment string);
create table lineitem (l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, l_quantity double,
  l_extendedprice double, l_discount double, l_tax double, l_returnflag string, l_linestatus string,
  l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, l_shipmode string,
  l_comment string);
create table nation (n_nationkey int, n_name string, n_regionkey int, n_comment string);
create table region (r_regionkey int, r_name string, r_comment string);
"""
# As the specification has them, with its validation parameters.
TPCH = {
    "q02": """select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
        from part, supplier, partsupp, nation, region
        where p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = 15 and p_type like '%BRASS'
        and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE'
        and ps_supplycost = (
          select min(ps_supplycost) from partsupp, supplier, nation, region where p_partkey = ps_partkey
          and s_suppkey = ps_suppkey and s_nationkey = n_nationkey and n_regionkey = r_regionkey
          and r_name = 'EUROPE')
        order by s_acctbal desc, n_name, s_name, p_partkey limit 100""",
    "q03": """select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate,
          o_shippriority from customer, orders, lineitem
        where c_mktsegment = 'BUILDING' and c_custkey = o_custkey
        and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
        group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10""",
    "q08": """select o_year, sum(case when nation = 'BRAZIL' then volume else 0 end) / sum(volume)
          as mkt_share from (select extract(year from o_orderdate) as o_year,
          l_extendedprice * (1 - l_discount) as volume,
          n2.n_name as nation from part, supplier, lineitem, orders, customer, nation n1, nation n2, region
          where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey
          and o_custkey = c_custkey and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey
          and r_name = 'AMERICA' and s_nationkey = n2.n_nationkey
          and o_orderdate between date '1995-01-01' and date '1996-12-31'
          and p_type = 'ECONOMY ANODIZED STEEL') as all_nations
        group by o_year order by o_year""",
    "q13": """select c_count, count(*) as custdist from (
          select c_custkey, count(o_orderkey) as c_count from customer left outer join orders
          on c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey) as c_orders
        group by c_count order by custdist desc, c_count desc""",
    "q14": """select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount)
          else 0 end) / sum(l_extendedprice * (1 - l_discount)) as promo_revenue
        from lineitem, part where l_partkey = p_partkey and l_shipdate >= date '1995-09-01'""",
    "q15": """with revenue as (select l_suppkey as supplier_no, sum(l_extendedprice * (1 - l_discount)) as
          total_revenue from lineitem
          where l_shipdate >= date '1996-01-01' group by l_suppkey)
        select s_suppkey, s_name, s_address, s_phone, total_revenue from supplier, revenue
        where s_suppkey = supplier_no and total_revenue = (select max(total_revenue) from revenue)
        order by s_suppkey""",
    "q22": """select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal from (
          select substring(c_phone from 1 for 2) as cntrycode, c_acctbal from customer
          where substring(c_phone from 1 for 2) in ('13', '31', '23') and c_acctbal > (
            select avg(c_acctbal) from customer where c_acctbal > 0.00)
          and not exists (select * from orders where o_custkey = c_custkey)) as custsale
        group by cntrycode order by cntrycode""",
}


def test_the_column_edges_of_tpch_are_those_that_are_known(data: Path) -> None:
    truth = json.loads((data / "truth" / "tpch_columns.json").read_text())
    files = {
        f"{name}.sql": f"insert overwrite directory 'file:/out/{name}' {query}"
        for name, query in TPCH.items()
    }

    found = lineage_of(files, "spark", schema=TPCH_DDL)

    known = {
        f"{table}#{column} > file:/out/{query}#{target}"
        for query in TPCH
        for table, column, target in truth[query]
    }
    assert {each.rpartition(" ")[0] for each in found.columns} == known
    assert found.problems == set()
