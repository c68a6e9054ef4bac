"""Settings, each declared once as a field of a frozen dataclass: its JSON Schema, default, help and parsing.

A field that is a key of the configuration is annotated with a `Setting`; the program sets the others. Types
are texts, numbers, booleans, literals, tuples, mappings and further dataclasses. A `Form` says what a type
does not.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from datetime import date
from functools import cache
from inspect import get_annotations
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from lineage_merge.infra.json_schema import DEFAULT, FORM, HINTS, PATH, path_text
from lineage_merge.model.errors import ConfigError, ErrorCollector

T = TypeVar("T")
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How a value is written.

    `pattern`: of a text, and `text`: in words. `hints`: remedies by patterns of wrong texts. `is_secret`:
    messages never show it. `schema`: other keywords, which take precedence over those of the type. `written`:
    the type that is written, if it is another one. `parse`: returns the value of what is written, by its key.
    """

    pattern: str = ""
    text: str = ""
    hints: Mapping[str, str] = field(default_factory=dict)
    is_secret: bool = False
    schema: Schema = field(default_factory=dict)
    written: Any = None
    parse: Callable[[Any, str], Any] | None = None

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of JSON Schema."""
        given = {"pattern": self.pattern, FORM: self.text, HINTS: self.hints, "writeOnly": self.is_secret}
        return {**{name: value for name, value in given.items() if value}, **self.schema}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a key is, as `declare` takes it."""

    help: str = ""
    example: Any = None
    shown: str = ""
    name: str = ""
    form: Form = field(default_factory=Form)
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    is_path: bool = False

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of JSON Schema."""
        example = [*self.example] if isinstance(self.example, tuple) else self.example
        bounds = {"minimum": self.minimum, "exclusiveMinimum": self.above, "maximum": self.maximum}
        return {
            **({"description": self.help} if self.help else {}),
            **({} if example is None else {"examples": [example]}),
            **{name: bound for name, bound in bounds.items() if bound is not None},
            **({PATH: True} if self.is_path else {}),
        }


@overload
def declare(help: str, *, example: Any = None, **given: Any) -> Any: ...
@overload
def declare(help: str, default: T, example: Any = None, shown: str = "", **given: Any) -> T: ...
def declare(
    help: str,  # noqa: A002 (as click and argparse name it)
    default: Any = MISSING,
    example: Any = None,
    shown: str = "",
    **given: Any,
) -> Any:
    """Return a field that is a key with this description and default.

    `example`: if it needs one. `shown`: the default in words, if the value says less. `name`: of the key, if
    the field cannot have it. `form`: beyond that of the type. Numbers are at least `minimum`, more than
    `above` and at most `maximum`. `is_path`: relative to the configuration file.
    """
    setting = Setting(help, example, shown, **given)
    metadata = {Setting: setting}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, repr=not setting.form.is_secret, metadata=metadata)


def _parse_day(text: str, key: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(key, f"is not a day of the calendar: {text}") from None


DAY = Form(r"^\d{4}-\d{2}-\d{2}$", "a day such as 2027-01-31", written=str, parse=_parse_day)
# A list that is not empty; one text may be written without a list.
ONE_OR_MORE = Form(schema={"minItems": 1})
Texts = Annotated[tuple[str, ...], ONE_OR_MORE]
VariableName = Annotated[
    str,
    Form(
        r"^[A-Za-z_][A-Za-z0-9_]*$",
        "the name of an environment variable",
        {"": "set a variable to the value, and give its name"},
        is_secret=True,
    ),
]
SecretName = Annotated[
    str,
    Form(r"^[A-Za-z0-9/_+=.@:!-]+(#[^\s#]+)?$", "the name or ARN of a secret, or name#key", is_secret=True),
]
RegionName = Annotated[
    str,
    Form(
        r"^[a-z]{2}(-[a-z]+)+-[0-9]+$",
        "a region such as us-east-1",
        {r"^[a-z]{2}(-[a-z]+)+-[0-9]+[a-z]$": "this is an availability zone, omit its last letter"},
    ),
]

_SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number"}


class _Type(NamedTuple):
    """A type without `None`, and its forms."""

    kind: Any
    forms: tuple[Form, ...]

    @property
    def parse(self) -> Callable[[Any, str], Any] | None:
        return next((form.parse for form in reversed(self.forms) if form.parse), None)


class _Key(NamedTuple):
    """A field that is a key."""

    name: str
    type: _Type
    setting: Setting
    field: Field[Any]

    @property
    def is_required(self) -> bool:
        return self.field.default is MISSING and self.field.default_factory is MISSING


def _type_of(declared: Any, *forms: Form) -> _Type:
    if get_origin(declared) in (Union, UnionType):
        (declared,) = (each for each in get_args(declared) if each is not NoneType)
    if get_origin(declared) is Annotated:
        declared, *notes = get_args(declared)
        forms = (*(note for note in notes if isinstance(note, Form)), *forms)
    written = next((form.written for form in forms if form.written), None)
    return _Type(written or declared, forms)


@cache
def _keys(settings: type) -> tuple[_Key, ...]:
    """Return the keys of a class; what it has from a base comes last."""
    hints = get_type_hints(settings, include_extras=True)
    keys = {
        each.name: _Key(setting.name or each.name, _type_of(hints[each.name], setting.form), setting, each)
        for each in fields(settings)
        if (setting := each.metadata.get(Setting))
    }
    names = dict.fromkeys(name for base in settings.__mro__ for name in get_annotations(base))
    return tuple(keys[name] for name in names if name in keys)


def schema_of(declared: Any, description: str = "", example: Any = None) -> dict[str, Any]:
    """Return the JSON Schema of a type, such as a class of settings."""
    return _schema(_type_of(declared), Setting(description, example))


def _schema(declared: _Type, setting: Setting | None = None) -> dict[str, Any]:
    schema = _schema_of_kind(declared) | (setting.keywords() if setting else {})
    for form in declared.forms:
        schema |= form.keywords()
    if schema.get("type") == "string" and not schema.keys() & {"pattern", "enum"}:
        schema.setdefault("minLength", 1)
    return schema


def _schema_of_kind(declared: _Type) -> dict[str, Any]:
    kind, arguments = get_origin(declared.kind) or declared.kind, get_args(declared.kind)
    if kind is Literal:
        return {"enum": [*arguments]}
    if kind in (tuple, frozenset):
        items = _schema(_type_of(arguments[0]))
        if arguments[1:] not in ((), (...,)):
            return {"type": "array", "minItems": len(arguments), "maxItems": len(arguments), "items": items}
        if any(form is ONE_OR_MORE for form in declared.forms):
            return {**items, "type": ["array", "string"], "items": items}
        examples = {"examples": [items["examples"]]} if "examples" in items else {}
        return {"type": "array", **examples, "items": items}
    if kind is Mapping:
        return {"type": "object", "additionalProperties": _schema(_type_of(arguments[1]))}
    if is_dataclass(kind):
        keys = _keys(kind)  # type: ignore[arg-type]
        required = [key.name for key in keys if key.is_required]
        properties = {key.name: _schema_of_key(key) for key in keys}
        shown = required or [*properties][:1]
        return {
            "type": "object",
            "examples": [{name: _example_of(properties[name]) for name in shown}],
            "additionalProperties": False,
            **({"required": required} if required else {}),
            "properties": properties,
        }
    return {"type": _SIMPLE[kind]} if kind in _SIMPLE else {}


def _example_of(schema: Schema) -> Any:
    return schema["examples"][0] if "examples" in schema else schema.get("enum", ["text"])[-1]


def _schema_of_key(key: _Key) -> dict[str, Any]:
    schema = _schema(key.type, key.setting)
    if key.is_required or "properties" in schema:
        return schema
    default = key.field.default if key.field.default_factory is MISSING else key.field.default_factory()
    if key.setting.shown or default in ("", None, (), {}, frozenset()):
        return schema | {DEFAULT: key.setting.shown or "none"}
    schema["default"] = [*default] if isinstance(default, tuple) else default
    if "examples" not in schema and not isinstance(default, str):
        schema["examples"] = [not default if isinstance(default, bool) else schema["default"]]
    return schema


@overload
def parse(declared: type[T], written: Any, key: str) -> T: ...
@overload
def parse(declared: Any, written: Any, key: str) -> Any: ...
def parse(declared: Any, written: Any, key: str) -> Any:
    """Return the value of what is written for a type. It is valid by the schema of the type.

    A class of settings may have a method `complete`: it takes the key of the settings, returns them with what
    follows from others, and raises `ConfigError` if values do not go together. Raises `ConfigError` with all
    findings.
    """
    return _parse(_type_of(declared), written, key)


def _parse(declared: _Type, written: Any, key: str) -> Any:
    if declared.parse:
        return declared.parse(written, key)
    kind, arguments = get_origin(declared.kind) or declared.kind, get_args(declared.kind)
    if is_dataclass(kind):
        return _parse_settings(kind, written, key)  # type: ignore[arg-type]
    if kind in (tuple, frozenset):
        entries = written if isinstance(written, list | tuple) else [written]
        return kind(_parse_all(_type_of(arguments[0]), ((f"{key}[{i}]", e) for i, e in enumerate(entries))))
    if kind is Mapping:
        named = ((path_text([key, name]), value) for name, value in written.items())
        return dict(zip(written, _parse_all(_type_of(arguments[1]), named), strict=True))
    return int(written) if kind is int else written  # JSON Schema accepts 2.0 as an integer


def _parse_all(declared: _Type, entries: Iterator[tuple[str, Any]]) -> list[Any]:
    errors = ErrorCollector()
    values = []
    for key, written in entries:
        with errors.collecting():
            values.append(_parse(declared, written, key))
    errors.raise_errors()
    return values


def _parse_settings(settings: type, written: Mapping[str, Any], key: str) -> Any:
    errors = ErrorCollector()
    values = {}
    for each in _keys(settings):
        if each.name in written:
            with errors.collecting():
                path = f"{key}.{each.name}" if key else each.name
                values[each.field.name] = _parse(each.type, written[each.name], path)
    errors.raise_errors()
    parsed = settings(**values)
    return parsed.complete(key) if hasattr(parsed, "complete") else parsed
