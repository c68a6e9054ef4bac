"""Tables that only subqueries read.

Spline records no operations for a subquery (scalar, IN, EXISTS): its plan is text, in `params.plan` of the
subquery's expression, as Spark prints logical plans. The relations in that text are sources of the write like
any other read. The text does not name files that are read by path, unless they are behind a temporary view
that the plan reads as well: a name is one view in all of a query.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
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
# View (`orders`, [id#1L,amount#2]): a temporary view has no database.
_VIEW = re.compile(rf"{_NODE}View \(`(?P<name>(?:[^`]|``)+)`, ")
_VIEW_NAME = re.compile(r"^Table: (.+)$", re.MULTILINE)


def plan_texts(expressions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Return the key and the plan's text of each subquery expression."""
    for expression in expressions:
        text = (expression.get("params") or {}).get("plan")
        if isinstance(text, str):
            yield str(expression.get("_key", "")), text


def temporary_views(operations: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the operations, by id, that read temporary views, by the view's name."""
    described: dict[str, set[str]] = {}
    by_name: dict[str, str] = {}
    for key, operation in operations.items():
        params = operation.get("params") or {}
        if operation.get("name") == "View" and params.get("isTempView") is True:
            description = str(params.get("desc"))
            if matched := _VIEW_NAME.search(description):
                described.setdefault(matched[1], set()).add(description)
                by_name[matched[1]] = key
    # Frames of one plan may be made before and after a view was replaced.
    return {name: key for name, key in by_name.items() if len(described[name]) == 1}


def relations(text: str, views: Container[str] = ()) -> tuple[set[CatalogTable], set[str]]:
    """Return the tables in a plan's text, and the kinds (``csv``, ``JDBCRelation``) of unnamed relations.

    Relations below one of the `views` are known.
    """
    names: set[tuple[str, tuple[str, ...]]] = set()
    unnamed: set[str] = set()
    above = ""
    view_indent: int | None = None
    for line in text.split("\n"):
        if view_indent is not None and _indent(line) <= view_indent:
            view_indent = None
        if view_indent is None and (view := _VIEW.match(line)) and view["name"] in views:
            view_indent = _indent(line)
        for leaf in _TABLES:
            if match := leaf.match(line):
                columns = match.groupdict().get("columns") or ""
                names.add((match["name"], tuple(_COLUMN.findall(columns))))
        if view_indent is None and (relation := _UNNAMED.match(line)):
            if alias := _ALIAS.match(above):
                names.add((alias[1], ()))
            else:
                unnamed.add(relation[1])
        above = line.rstrip()
    unnamed.update(name.partition(".")[0].strip("`") for name, _ in names if "/" in name)
    return {table for name in names if (table := table_from_text(*name))}, unnamed


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" :|+-"))
