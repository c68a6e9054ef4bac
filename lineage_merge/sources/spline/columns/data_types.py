"""Data types in Spark's SQL notation: ``int``, ``array<string>``, ``struct<a:int,b:string>``."""

from collections.abc import Mapping

from lineage_merge.sources.spline.documents import Document


def type_texts(types: Mapping[str, Document]) -> dict[str, str]:
    """Return the text of each data type of a plan (`executionPlan.extra.dataTypes`, by id).

    A type that is unknown or contains itself is "".
    """
    texts: dict[str, str] = {}
    for start in types:
        waiting = [start]
        entered: set[str] = set()
        while waiting:
            key = waiting[-1]
            if key in texts or key not in types:
                waiting.pop()
                continue
            parts = _parts(types[key])
            missing = [part for part in parts if part in types and part not in texts]
            if missing and key not in entered:
                entered.add(key)
                waiting.extend(part for part in missing if part not in entered)
                continue
            texts[key] = _text(types[key], texts)
            waiting.pop()
    return texts


def _parts(data_type: Document) -> list[str]:
    if "elementDataTypeId" in data_type:
        return [str(data_type["elementDataTypeId"])]
    if "keyDataTypeId" in data_type:
        return [str(data_type["keyDataTypeId"]), str(data_type.get("valueDataTypeId"))]
    return [str(field.get("dataTypeId")) for field in data_type.get("fields") or ()]


def _text(data_type: Document, texts: Mapping[str, str]) -> str:
    parts = [texts.get(part, "") for part in _parts(data_type)]
    if "elementDataTypeId" in data_type:
        return f"array<{parts[0]}>"
    if "keyDataTypeId" in data_type:
        return f"map<{parts[0]},{parts[1]}>"
    if "fields" in data_type:
        names = [str(field.get("name")) for field in data_type["fields"]]
        return f"struct<{','.join(f'{name}:{part}' for name, part in zip(names, parts, strict=True))}>"
    return str(data_type.get("name") or "")
