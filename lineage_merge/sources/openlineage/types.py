"""Data types of the schema facet as Spark writes them in SQL: ``int``, ``struct<a:int,b:string>``. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

# openlineage-spark tells the names of Spark's classes; Spline and everybody who writes SQL say these.
_OF_SPARK = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
_DEEPEST = 50


def type_text(field: Mapping[str, Any], *, of_spark: bool, depth: int = 0) -> str:
    """The type of a field of the facet, "" where it tells none."""
    kind = str(field.get("type") or "").strip()
    inner: Sequence[Mapping[str, Any]] = field.get("fields") or ()
    if of_spark:
        kind = _OF_SPARK.get(kind, kind)
    if not inner or depth > _DEEPEST:
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
