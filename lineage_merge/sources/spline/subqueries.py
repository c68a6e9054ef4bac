"""Tables that only a subquery reads.

Spline keeps no operations for a subquery (scalar, IN, EXISTS): its plan is text, in
`params.plan` of the subquery's expression, as Spark prints logical plans. The relations in
that text are sources of the write as much as any read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lineage_merge.sources.spline.naming import CatalogTable, table_from_text

_PART = r"(?:`[^`]+`|[\w$-]+)"
_DOTTED = rf"{_PART}(?:\.{_PART})+"
_NODE = r"^[\s:|+-]*"
_LEAVES = (
    # Relation spark_catalog.tpch.part[p_partkey#126L,...] parquet
    re.compile(rf"{_NODE}Relation ({_DOTTED})\[", re.MULTILINE),
    # HiveTableRelation [`spark_catalog`.`tpch`.`part`, org.apache...
    re.compile(rf"{_NODE}HiveTableRelation \[({_DOTTED})[,\]]", re.MULTILINE),
    # RelationV2[id#1] glue_catalog.db.sales glue_catalog.db.sales
    re.compile(rf"{_NODE}(?:RelationV2|DataSourceV2Relation) ?\[[^\]\n]*\] ({_DOTTED})", re.MULTILINE),
)
# Relation [a#1,b#2] csv: files read by path, and the path is not in the text.
_UNNAMED = re.compile(rf"{_NODE}Relation ?\[", re.MULTILINE)


def plan_texts(expressions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The key and the plan's text of each expression that is a subquery."""
    for expression in expressions:
        text = (expression.get("params") or {}).get("plan")
        if isinstance(text, str):
            yield str(expression.get("_key", "")), text


def relations(text: str) -> tuple[set[CatalogTable], bool]:
    """The tables that a plan's text reads, and whether it also reads files it does not name."""
    names = {match for leaf in _LEAVES for match in leaf.findall(text)}
    tables = {table for name in names if (table := table_from_text(name))}
    return tables, bool(_UNNAMED.search(text))
