"""Checking a document against a JSON Schema, with an answer that a person can act on."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match


class SchemaError(NamedTuple):
    """What is wrong with a document: the field's path and the problem."""

    path: str
    problem: str


class Checker:
    """Checks documents against one schema. Make one a schema and keep it: making it is slow."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._validator = Draft202012Validator(schema)

    def error(self, document: object) -> SchemaError | None:
        """The most telling error of `document`, or None where it fits.

        A path reads like ``dbt[0].manifest``; a missing or unknown key is named in the path.
        The problem repeats no more than the first characters of the document.
        """
        if self._validator.is_valid(document):
            return None
        error = best_match(self._validator.iter_errors(document))
        return SchemaError("", "does not fit") if error is None else _explain(error)


def _explain(error: ValidationError) -> SchemaError:
    path = list(error.absolute_path)
    expected: Any = error.validator_value
    if error.validator == "required":
        found: Any = error.instance
        missing = [key for key in expected if key not in found]
        return SchemaError(path_text([*path, missing[0]]), "is missing")
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        schema: Any = error.schema
        known = schema.get("properties", {})
        unknown = sorted(key for key in error.instance if key not in known)
        return SchemaError(path_text([*path, unknown[0]]), "is not a known key")
    if error.validator == "type":
        wanted = expected if isinstance(expected, str) else " or ".join(expected)
        return SchemaError(path_text(path), f"expected {wanted}, found {_kind(error.instance)}")
    if error.validator == "not":
        keys = " and ".join(expected.get("required", ["these keys"]))
        return SchemaError(path_text(path), f"{keys} exclude each other")
    return SchemaError(path_text(path), _cut(error.message, 160))


def path_text(path: list[Any]) -> str:
    """``["dbt", 0, "manifest"]`` as ``dbt[0].manifest``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


_KINDS: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _kind(value: object) -> str:
    kind = _KINDS.get(type(value), type(value).__name__)
    return f"{kind} {_cut(repr(value), 60)}" if isinstance(value, str | int | float) else kind


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
