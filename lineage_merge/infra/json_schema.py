"""Validation of documents against JSON Schemas, with readable messages."""

from collections.abc import Callable, Mapping
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.infra.redaction import names_secret, redact

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

# Custom keyword next to `pattern`: a description of the format, "a URL".
FORM = "x-form"

_MAX_VALUE_LENGTH = 80
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


class SchemaError(NamedTuple):
    """An invalid field of a document: its path and the problem."""

    path: str
    problem: str


class Checker:
    """Validates documents against one schema. Create one per schema and reuse it: creation is slow.

    `often`: compile the schema to code, which accepts valid documents fifty times as fast. The schema is then
    restricted to keywords of draft 7 and `$defs`, without keywords next to a `$ref`, and without the type
    `number`, for which the code accepts NaN.
    """

    def __init__(self, schema: Mapping[str, Any], *, often: bool = False) -> None:
        self._schema = schema
        self._fits = _compiled(schema) if often else None

    @cached_property
    def _validator(self) -> "Draft202012Validator":
        # Imported here: the import is slow, and not every command validates documents.
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend

        types = Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
        made = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
        found: Draft202012Validator = made(self._schema)
        return found

    def error(self, document: object) -> SchemaError | None:
        """Return the most relevant error of `document`; None if it is valid.

        A path is written ``dbt[0].manifest``; it includes a missing or unknown key. The problem contains at
        most the first characters of the value, without passwords; only its type if the type is wrong (it may
        be a password in place of an object), if the key names a secret, or if the schema has ``writeOnly``.
        """
        try:
            return self._error(document)
        except RecursionError:  # jsonschema's messages contain complete values, at any depth
            return SchemaError("", "is nested too deeply")

    def _error(self, document: object) -> SchemaError | None:
        if (self._fits and self._fits(document)) or self._validator.is_valid(document):
            return None
        from jsonschema.exceptions import best_match

        error = best_match(self._validator.iter_errors(document))
        return SchemaError("", "does not match the schema") if error is None else _schema_error(error)


def _compiled(schema: Mapping[str, Any]) -> Callable[[object], bool]:
    """Return a compiled check. Documents that it rejects are validated again: its errors lack details."""
    import fastjsonschema

    validate = fastjsonschema.compile(dict(schema), use_default=False)

    def fits(document: object) -> bool:
        try:
            validate(document)
        except fastjsonschema.JsonSchemaValueException:
            return False
        return True

    return fits


def _is_number(_checker: object, value: object) -> bool:
    """Whether a value is a number in JSON: Python also parses NaN and Infinity, and 1e999 as infinity."""
    return isfinite(value) if isinstance(value, float) else isinstance(value, int) and type(value) is not bool


def _schema_error(error: "ValidationError") -> SchemaError:
    path = list(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        return SchemaError(path_text([*path, error.instance]), "is not allowed here")
    expected: Any = error.validator_value
    found: Any = error.instance
    schema: Any = error.schema
    match error.validator:
        case "required":
            missing = [key for key in expected if key not in found]
            return SchemaError(path_text([*path, missing[0]]), "is missing")
        case "additionalProperties":
            unknown = sorted(str(key) for key in found if key not in schema.get("properties", {}))
            return SchemaError(path_text([*path, unknown[0]]), "is not a known key")
    is_secret = bool(schema.get("writeOnly")) or (bool(path) and names_secret(str(path[-1])))
    options = expected if error.validator == "enum" else ()
    is_mistyped = error.validator == "type" or (options and type(found) not in map(type, options))
    shown = _kind(found) if is_secret or is_mistyped else _shown(found, schema)
    return SchemaError(path_text(path), _problem(error, expected, schema, shown))


def _problem(error: "ValidationError", expected: Any, schema: Any, found: str) -> str:
    # Not jsonschema's own messages: they contain complete values, including secrets.
    keyword = str(error.validator)
    match keyword:
        case "type":
            allowed = [expected] if isinstance(expected, str) else expected
            return f"must be {' or '.join(_TYPES[each] for each in allowed)}, not {found}"
        case "enum":
            allowed = ["null" if each is None else str(each) for each in expected]
            return f"must be {' or '.join(allowed)}, not {found}"
        case "const":
            return f"must be {expected}, not {found}"
        case "pattern":
            return f"must be {schema.get(FORM, f'text like {expected}')}, not {found}"
        case "minLength" | "minItems":
            return "is empty" if expected == 1 else f"is shorter than {expected}"
        case "uniqueItems":
            return "has duplicate values"
        case "not":
            return f"{' and '.join(expected.get('required', ['these keys']))} are mutually exclusive"
        case "anyOf" if all("required" in option for option in expected):
            return f"requires {' or '.join(' and '.join(option['required']) for option in expected)}"
        case _ if keyword in _BOUNDS:
            return f"must be {_BOUNDS[keyword]} {expected}, not {found}"
    return f"violates {keyword}: {found}"


def path_text(path: list[Any]) -> str:
    """Return ``dbt[0].manifest`` for ``["dbt", 0, "manifest"]``; passwords in keys are redacted."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return redact(text)


_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "null": "null",
}
_PYTHON_TYPES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _kind(value: object) -> str:
    if isinstance(value, float) and not isfinite(value):
        return repr(value)
    name = _PYTHON_TYPES.get(type(value))
    return _TYPES[name] if name else type(value).__name__


def _shown(value: object, schema: Mapping[str, Any]) -> str:
    kind = _kind(value)
    if schema.get("type") in ("object", "array"):
        return kind
    if isinstance(value, str):
        return _truncate(repr(redact(value)))
    return _truncate(repr(value)) if isinstance(value, int | float) else kind


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 1] + "…"
