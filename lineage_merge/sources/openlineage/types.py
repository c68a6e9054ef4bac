"""Data types of the schema facet in Spark's SQL notation: ``int``, ``struct<a:int,b:string>``. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

# openlineage-spark uses the names of Spark's classes; Spline and SQL use these.
_OF_SPARK = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
_MAX_DEPTH = 50


def type_text(field: Mapping[str, Any], *, of_spark: bool, depth: int = 0) -> str:
    """Return the type of a field of the facet, "" without one."""
    kind = str(field.get("type") or "").strip()
    inner: Sequence[Mapping[str, Any]] = field.get("fields") or ()
    if of_spark:
        kind = _OF_SPARK.get(kind, kind)
    if not inner or depth > _MAX_DEPTH:
        return kind
    texts = [(each["name"], type_text(each, of_spark=of_spark, depth=depth + 1)) for each in inner]
    match kind.lower():
        case "array" if len(texts) == 1:
            return f"array<{texts[0][1]}>"
        case "map" if len(texts) == 2:
            return f"map<{texts[0][1]},{texts[1][1]}>"
        case "struct":
            return f"struct<{','.join(f'{name}:{text}' for name, text in texts)}>"
    return kind
