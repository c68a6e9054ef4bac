"""Validation of documents against JSON Schemas, with readable messages."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from itertools import groupby
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.infra.redaction import names_secret, redact
from lineage_merge.model.errors import did_you_mean

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

# Custom keyword next to `pattern`: a description of the format, "a URL".
FORM = "x-form"
# Custom keyword next to `pattern`: remedies by regular expressions that wrong values match.
HINTS = "x-hints"
# Custom keywords of settings: a default in words, and that a text is relative to the configuration file.
DEFAULT = "x-default"
PATH = "x-path"

MISSING = "is missing"
# Problem of an unknown key without a similar known one.
UNKNOWN_KEY = "is not a known key"
_MAX_VALUE_LENGTH = 80
# Keywords that are violated by a key, not by the value of a field.
_OF_KEYS = frozenset({"required", "additionalProperties", "not"})
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


def load_schema(package: str, file: str) -> dict[str, Any]:
    """Return the schema in a file of a package."""
    schema: dict[str, Any] = json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))
    return schema


class Checker:
    """Validates documents against one schema. Create one per schema and reuse it: creation is slow.

    `infra.document_decoder` is for many documents: it accepts valid ones fifty times as fast.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    @cached_property
    def _validator(self) -> "Draft202012Validator":
        # Imported here: the import is slow, and not every command validates documents.
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend

        types = Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
        made = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
        validator: Draft202012Validator = made(self._schema)
        return validator

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

    def errors(self, document: object) -> list[SchemaError]:
        """Return all errors of `document`, the most relevant one per field, as `error` does."""
        try:
            return list(dict.fromkeys(self._errors(document)))
        except RecursionError:
            return [SchemaError("", "is nested too deeply")]

    def _error(self, document: object) -> SchemaError | None:
        if self._validator.is_valid(document):
            return None
        from jsonschema.exceptions import best_match

        error = best_match(self._validator.iter_errors(document))
        return SchemaError("", "does not match the schema") if error is None else next(_schema_errors(error))

    def _errors(self, document: object) -> Iterator[SchemaError]:
        if self._validator.is_valid(document):
            return
        from jsonschema.exceptions import best_match

        errors = sorted(self._validator.iter_errors(document), key=_path_of)
        for _, of_field in groupby(errors, _path_of):
            alike = list(of_field)
            # A missing or unknown key and a contradiction of keys belong to the same object.
            separate = [error for error in alike if error.validator in _OF_KEYS]
            others = [error for error in alike if error.validator not in _OF_KEYS]
            for missing in separate:
                yield from _schema_errors(missing)
            best = best_match(iter(others))
            if best is not None and not any(error.validator == "required" for error in separate):
                yield from _schema_errors(best)


def _path_of(error: "ValidationError") -> list[str]:
    return [str(part) for part in error.absolute_path]


def _is_number(_checker: object, value: object) -> bool:
    """Whether a value is a number in JSON: Python also parses NaN and Infinity, and 1e999 as infinity."""
    return isfinite(value) if isinstance(value, float) else isinstance(value, int) and type(value) is not bool


def _schema_errors(error: "ValidationError") -> Iterator[SchemaError]:
    path = list(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        yield SchemaError(path_text([*path, error.instance]), "is not allowed here")
        return
    expected: Any = error.validator_value
    instance: Any = error.instance
    schema: Any = error.schema
    known = schema.get("properties", {})
    match error.validator:
        case "required":
            # One error per missing key, but only its message names the key.
            for key in (key for key in expected if key not in instance):
                example = _example(known.get(key, {}))
                problem = f"{MISSING}; example: {example}" if example else MISSING
                yield SchemaError(path_text([*path, key]), problem)
            return
        case "additionalProperties":
            for key in sorted(str(key) for key in instance if key not in known):
                problem = UNKNOWN_KEY + did_you_mean(key, known)
                yield SchemaError(path_text([*path, key]), problem)
            return
    is_secret = bool(schema.get("writeOnly")) or (bool(path) and names_secret(str(path[-1])))
    options = expected if error.validator == "enum" else ()
    is_mistyped = error.validator == "type" or (options and type(instance) not in map(type, options))
    shown = _kind(instance) if is_secret or is_mistyped else _show(instance, schema)
    problem = _problem(error, expected, schema, shown)
    if options and not is_secret and isinstance(instance, str):
        problem += did_you_mean(instance, (option for option in options if isinstance(option, str)))
    yield SchemaError(path_text(path), problem)


def _example(schema: Mapping[str, Any]) -> str:
    """Return the first example of a schema as it is written in YAML, "" without one."""
    examples = schema.get("examples")
    if not examples:
        return ""
    first = examples[0]
    return first if isinstance(first, str) else json.dumps(first, ensure_ascii=False)


def _problem(error: "ValidationError", expected: Any, schema: Any, actual: str) -> str:
    # Not jsonschema's own messages: they contain complete values, including secrets.
    keyword = str(error.validator)
    example = _example(schema)
    match keyword:
        case "type":
            allowed = [expected] if isinstance(expected, str) else expected
            must = f"must be {' or '.join(_TYPES[name] for name in allowed)}"
            problem = f"{must}: {example}, not {actual}" if example else f"{must}, not {actual}"
            is_entry = example and expected == "array" and isinstance(error.instance, dict)
            return f'{problem}; begin each entry with "- "' if is_entry else problem
        case "enum":
            allowed = ["null" if value is None else str(value) for value in expected]
            return f"must be {' or '.join(allowed)}, not {actual}"
        case "const":
            return f"must be {expected}, not {actual}"
        case "pattern":
            problem = f"must be {schema.get(FORM, f'text like {expected}')}"
            if actual != _kind(error.instance):  # the value is hidden, and its type is right
                problem += f", not {actual}"
            hints = schema.get(HINTS, {}).items()
            hint = next((hint for pattern, hint in hints if re.search(pattern, str(error.instance))), "")
            if hint:
                return f"{problem}: {hint}"
            return f"{problem}; example: {example}" if example else problem
        case "minLength" | "minItems":
            problem = "is empty" if expected == 1 else f"is shorter than {expected}"
            return f"{problem}; example: {example}" if example else problem
        case "uniqueItems":
            return "has duplicate values"
        case "not":
            return f"{' and '.join(expected.get('required', ['these keys']))} are mutually exclusive"
        case "anyOf" if all("required" in option for option in expected):
            return f"requires {' or '.join(' and '.join(option['required']) for option in expected)}"
        case _ if keyword in _BOUNDS:
            return f"must be {_BOUNDS[keyword]} {expected}, not {actual}"
    return f"violates {keyword}: {actual}"


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
_PYTHON_TYPES = dict(zip((dict, list, str, bool, int, float, type(None)), _TYPES.values(), strict=True))


def _kind(value: object) -> str:
    if isinstance(value, float) and not isfinite(value):
        return repr(value)
    return _PYTHON_TYPES.get(type(value), type(value).__name__)


def _show(value: object, schema: Mapping[str, Any]) -> str:
    kind = _kind(value)
    if schema.get("type") in ("object", "array"):
        return kind
    if isinstance(value, str):
        return _truncate(repr(redact(value)))
    return _truncate(repr(value)) if isinstance(value, int | float) else kind


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 1] + "…"
