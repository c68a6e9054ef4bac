"""Checking a document against a JSON Schema, with an answer that a person can act on."""

from collections.abc import Callable, Mapping
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.infra.redaction import names_secret, redact

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

# A keyword of our own beside `pattern`: what a person would call the form, "a URL".
FORM = "x-form"

_LONGEST_VALUE = 80
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


class SchemaError(NamedTuple):
    """What is wrong with a document: the field's path and the problem."""

    path: str
    problem: str


class Checker:
    """Checks documents against one schema. Make one a schema and keep it: making it is slow.

    `often`: for schemas that very many documents are checked against. It is made code of, which finds fifty
    times as quickly that a document fits. The schema may use no keyword that came after draft 7, beside
    `$defs`, none next to a `$ref`, and not the type `number`: it takes NaN for one.
    """

    def __init__(self, schema: Mapping[str, Any], *, often: bool = False) -> None:
        self._schema = schema
        self._fits = _compiled(schema) if often else None

    @cached_property
    def _validator(self) -> "Draft202012Validator":
        # Not above: to import it takes long, and a command's help checks nothing.
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend

        types = Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
        made = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
        found: Draft202012Validator = made(self._schema)
        return found

    def error(self, document: object) -> SchemaError | None:
        """The most telling error of `document`, or None where it fits.

        A path reads like ``dbt[0].manifest``; a missing or unknown key is named in the path.
        The problem repeats no more than the first characters of the value, without passwords;
        nothing of it where it is of the wrong type (a password where a group of keys belongs), where the
        key names a secret, or where the schema says ``writeOnly``.
        """
        try:
            return self._error(document)
        except RecursionError:  # jsonschema's messages repeat whole values, however deep
            return SchemaError("", "is nested too deeply")

    def _error(self, document: object) -> SchemaError | None:
        if (self._fits and self._fits(document)) or self._validator.is_valid(document):
            return None
        from jsonschema.exceptions import best_match

        error = best_match(self._validator.iter_errors(document))
        return SchemaError("", "does not fit") if error is None else _explain(error)


def _compiled(schema: Mapping[str, Any]) -> Callable[[object], bool]:
    """Whether a document fits, as code. What it refuses is looked at again: its errors tell too little."""
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
    """Python reads NaN and Infinity in JSON, which has no such numbers, and makes infinity of 1e999."""
    return isfinite(value) if isinstance(value, float) else isinstance(value, int) and type(value) is not bool


def _explain(error: "ValidationError") -> SchemaError:
    path = list(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        return SchemaError(path_text([*path, error.instance]), "does not belong here")
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
    # Not jsonschema's own messages: they repeat whole values, secrets included.
    keyword = str(error.validator)
    match keyword:
        case "type":
            wanted = [expected] if isinstance(expected, str) else expected
            return f"expected {' or '.join(wanted)}, found {found}"
        case "enum":
            return f"expected {' or '.join(map(str, expected))}, found {found}"
        case "const":
            return f"expected {expected}, found {found}"
        case "pattern":
            return f"expected {schema.get(FORM, f'text like {expected}')}, found {found}"
        case "minLength" | "minItems":
            return "is empty" if expected == 1 else f"is shorter than {expected}"
        case "uniqueItems":
            return "has the same value twice"
        case "not":
            return f"{' and '.join(expected.get('required', ['these keys']))} exclude each other"
        case "anyOf" if all("required" in option for option in expected):
            return f"give {' or '.join(' and '.join(option['required']) for option in expected)}"
        case _ if keyword in _BOUNDS:
            return f"expected {_BOUNDS[keyword]} {expected}, found {found}"
    return f"does not fit ({keyword}), found {found}"


def path_text(path: list[Any]) -> str:
    """``["dbt", 0, "manifest"]`` as ``dbt[0].manifest``; addresses among the keys lose passwords."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return redact(text)


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
    if isinstance(value, float) and not isfinite(value):
        return f"number {value!r}"
    return _KINDS.get(type(value), type(value).__name__)


def _shown(value: object, schema: Mapping[str, Any]) -> str:
    kind = _kind(value)
    if schema.get("type") in ("object", "array"):
        return kind
    if isinstance(value, str):
        return f"{kind} {_cut(repr(redact(value)))}"
    return f"{kind} {_cut(repr(value))}" if isinstance(value, int | float) else kind


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
