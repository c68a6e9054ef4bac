"""Data types of Spark's JSON in SQL notation: ``bigint``, ``array<string>``, ``struct<a:int>``."""

from typing import Any

_SQL_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint", "void": "void"}


def sql_type(data_type: Any) -> str:
    """Return the text of a data type; "" for anything else."""
    if isinstance(data_type, str):
        return _SQL_NAMES.get(data_type, data_type)
    if not isinstance(data_type, dict):
        return ""
    match data_type.get("type"):
        case "array":
            return f"array<{sql_type(data_type.get('elementType'))}>"
        case "map":
            return f"map<{sql_type(data_type.get('keyType'))},{sql_type(data_type.get('valueType'))}>"
        case "struct":
            fields = data_type.get("fields") or ()
            texts = (f"{each['name']}:{sql_type(each.get('type'))}" for each in fields)
            return f"struct<{','.join(texts)}>"
        case "udt":
            return sql_type(data_type.get("sqlType"))
        case other:
            return sql_type(other)
