"""Tables that only subqueries read.

Spline records no operations for a subquery (scalar, IN, EXISTS): its plan is text, in `params.plan` of the
subquery's expression, as Spark prints logical plans. The relations in that text are sources of the write like
any other read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lineage_merge.sources.spline.naming import CatalogTable, table_from_text

_PART = r"(?:`(?:[^`]|``)+`|[\w$-]+)"
_DOTTED = rf"{_PART}(?:\.{_PART})+"
_NODE = r"[ :|+-]*"
_TABLES = (
    # Relation spark_catalog.tpch.part[p_partkey#126L,...] parquet
    re.compile(rf"{_NODE}Relation (?P<name>{_DOTTED})\["),
    # HiveTableRelation [`spark_catalog`.`tpch`.`part`, org.apache...; without the bracket in Spark 2
    re.compile(rf"{_NODE}HiveTableRelation \[?(?P<name>{_DOTTED})[,\]]"),
    # RelationV2[id#1] glue_catalog.db.sales glue_catalog.db.sales
    re.compile(rf"{_NODE}(?:RelationV2|DataSourceV2Relation) ?\[(?P<columns>[^\]]*)\] (?P<name>{_DOTTED})"),
)
_COLUMN = re.compile(r"([\w.$]+)#\d")
# Relation [a#1,b#2] csv: files read by path, or a database's table: the text does not name it.
_UNNAMED = re.compile(rf"{_NODE}Relation ?\[[^\]]*\] ?(\w*)")
# Spark 3.0 and older name a table in the line above its relation: SubqueryAlias `tpch`.`part`
_ALIAS = re.compile(rf"{_NODE}SubqueryAlias ({_DOTTED})$")


def plan_texts(expressions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Return the key and the plan's text of each subquery expression."""
    for expression in expressions:
        text = (expression.get("params") or {}).get("plan")
        if isinstance(text, str):
            yield str(expression.get("_key", "")), text


def relations(text: str) -> tuple[set[CatalogTable], set[str]]:
    """Return the tables in a plan's text, and the kinds (``csv``, ``JDBCRelation``) of unnamed relations."""
    names: set[tuple[str, tuple[str, ...]]] = set()
    unnamed: set[str] = set()
    above = ""
    for line in text.split("\n"):
        for leaf in _TABLES:
            if found := leaf.match(line):
                columns = found.groupdict().get("columns") or ""
                names.add((found["name"], tuple(_COLUMN.findall(columns))))
        if relation := _UNNAMED.match(line):
            if alias := _ALIAS.match(above):
                names.add((alias[1], ()))
            else:
                unnamed.add(relation[1])
        above = line.rstrip()
    unnamed.update(name.partition(".")[0].strip("`") for name, _ in names if "/" in name)
    return {table for name in names if (table := table_from_text(*name))}, unnamed
