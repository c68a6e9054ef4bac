"""Decoding and check of documents in one pass, which retains only the fields that are read.

A JSON Schema is the one declaration of a format: types for msgspec are made of it. What these types do not
accept is left to `jsonschema`, which decides and explains: they may be narrower than the schema, never wider.
"""

import json
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from sys import float_info
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec

from lineage_merge.infra.json_schema import Checker, SchemaError

_ERRORS = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)


def loads(text: str) -> Any:
    """Parse JSON as `json.loads` does, with the same values and errors, in less than half of its time."""
    try:
        return msgspec.json.decode(text)
    except _ERRORS:  # Python's parser also takes NaN, lone surrogates, and numbers beyond a float
        return json.loads(text)


class DocumentDecoder:
    """Decodes and checks the documents of one schema. Create one per schema and reuse it: creation is slow.

    Of an object with `properties` only these are retained, unless `additionalProperties` is true. Raises
    `TypeError` for a schema with keywords that no type is made of.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._checker = Checker(schema)
        types, complete = (_Types(schema, retains_all=retains_all) for retains_all in (True, False))
        self._type = types.type
        self._decoder = msgspec.json.Decoder(types.type)
        whole = [_Check("", (), complete.type)] if types.is_partial else []
        self._checks = (*whole, *complete.conditions)

    def decode(self, text: str) -> Any | None:
        """Return the fields of a valid document; None: `read` has to decide on the parsed document."""
        try:
            document = self._decoder.decode(text)
        except _ERRORS:
            return None
        return document if self._is_valid(document) else None

    def decode_lines(self, lines: str, count: int) -> list[Any] | None:
        """Return the fields of `count` valid objects, one per line; None: `decode` has to decide on each."""
        try:
            documents = self._decoder.decode_lines(lines)
        except _ERRORS:
            return None
        # More documents: a line of several, which is none.
        is_valid = len(documents) == count and (not self._checks or all(map(self._is_valid, documents)))
        return documents if is_valid else None

    def read(self, document: object) -> Any | SchemaError:
        """Return the fields of a valid parsed document, or its error as `Checker.error` does."""
        try:
            fields = msgspec.convert(document, self._type)
        except _ERRORS:
            fields = None
        if fields is not None and self._is_valid(fields):
            return fields
        error = self._checker.error(document)
        return document if error is None else error

    def error(self, document: object) -> SchemaError | None:
        """Return the error of a parsed document as `Checker.error` does; None if it is valid."""
        outcome = self.read(document)
        return outcome if isinstance(outcome, SchemaError) else None

    def _is_valid(self, document: Any) -> bool:
        return all(check.accepts(document) for check in self._checks)


class _Check(NamedTuple):
    """The type of the documents whose field `name` has one of `values`; without a name, of all."""

    name: str
    values: tuple[object, ...]
    type: Any

    def accepts(self, document: Any) -> bool:
        if self.name and document.get(self.name) not in self.values:
            return True
        try:
            msgspec.convert(document, self.type)
        except _ERRORS:
            return False
        return True


# Keywords that validity does not depend on.
_NOTES = frozenset({"$comment", "$defs", "$id", "$schema", "description", "title", "writeOnly", "x-form"})
# Those of one type only, and how msgspec calls the ones with a plain value.
_BOUNDS = {"minLength": "min_length", "pattern": "pattern", "minimum": "ge", "maximum": "le"}
_OF_ONE_TYPE = frozenset({"additionalProperties", "items", "properties", "required", *_BOUNDS})
# Definitions that contain themselves are followed as deep as this.
_MAX_DEPTH = 4
# Of no value: deeper ones are left to `jsonschema`.
_NOTHING: Any = Annotated[str, msgspec.Meta(min_length=1, max_length=0)]
_typed_dict: Any = TypedDict


class _Types:
    """The type of a schema's documents, and the checks that the type does not make.

    `retains_all`: objects with additional properties retain them, and `is_partial` is set: their named ones
    are not checked.
    """

    def __init__(self, schema: Mapping[str, Any], *, retains_all: bool) -> None:
        self._definitions: Mapping[str, Any] = schema.get("$defs", {})
        self._retains_all = retains_all
        # The definitions that the current part of the schema belongs to.
        self._inside: list[str] = []
        self.is_partial = False
        self.conditions: list[_Check] = []
        self.type = self._make_merged(self._merge(schema, self.conditions))

    def _make_type(self, schema: Mapping[str, Any]) -> Any:
        references = [part["$ref"] for part in self._parts(schema) if "$ref" in part]
        if any(self._inside.count(name) >= _MAX_DEPTH for name in references):
            return _NOTHING
        self._inside += references
        check = self._make_merged(self._merge(schema))
        del self._inside[len(self._inside) - len(references) :]
        return check

    def _parts(self, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield a schema and those that its values have to match as well."""
        yield schema
        if "$ref" in schema:
            yield from self._parts(self._definitions[schema["$ref"].removeprefix("#/$defs/")])
        for part in schema.get("allOf", ()):
            yield from self._parts(part)

    def _merge(self, schema: Mapping[str, Any], conditions: list[_Check] | None = None) -> Mapping[str, Any]:
        """Return one schema without `$ref` and `allOf`; what depends on a value is added to `conditions`."""
        merged: dict[str, Any] = {"required": [], "properties": {}}
        for part in self._parts(schema):
            if conditions is not None and part.keys() == {"if", "then"}:
                conditions.append(self._condition(part["if"], part["then"]))
                for name in self._merge(part["then"]).get("properties", ()):
                    merged["properties"].setdefault(name, {})
                continue
            merged["required"] += part.get("required", ())
            for name, of_name in part.get("properties", {}).items():
                known = merged["properties"].get(name)
                merged["properties"][name] = {"allOf": [known, of_name]} if known else of_name
            for keyword in part.keys() - _NOTES - {"$ref", "allOf", "properties", "required"}:
                if merged.setdefault(keyword, part[keyword]) != part[keyword]:
                    raise TypeError(f"different values of {keyword}: no type is made of them")
        return {keyword: value for keyword, value in merged.items() if value not in ([], {})}

    def _condition(self, condition: Mapping[str, Any], then: Mapping[str, Any]) -> _Check:
        """Return what `then` adds to the type of the documents that `condition` matches."""
        ((name, value),) = condition["properties"].items()
        if condition.keys() - {"properties", "required"} or value.keys() not in ({"const"}, {"enum"}):
            raise TypeError(f"no type is made of this condition: {condition}")
        values = value["enum"] if "enum" in value else (value["const"],)
        return _Check(name, tuple(values), self._make_type({"type": "object", "allOf": [then]}))

    def _make_merged(self, schema: Mapping[str, Any]) -> Any:
        unknown = schema.keys() - _OF_ONE_TYPE - {"enum", "type"}
        if unknown or (schema and ("type" in schema) == ("enum" in schema)):
            raise TypeError(f"no type is made of these keywords: {', '.join(sorted(unknown or schema))}")
        if "enum" in schema:
            return Literal[tuple(schema["enum"])]
        names = schema.get("type", ())
        types = [self._make_named(name, schema) for name in ([names] if isinstance(names, str) else names)]
        return reduce(or_, types) if types else Any

    def _make_named(self, name: str, schema: Mapping[str, Any]) -> Any:
        match name:
            case "array":
                item: Any = self._make_type(schema.get("items", {}))
                return list[item]
            case "object":
                return self._object(schema)
            case "string":
                return _limit(str, schema, "minLength", "pattern")
            case "integer":
                return _limit(int, schema, "minimum", "maximum")
            case "number":
                # Python also parses NaN and Infinity, which are none in JSON.
                finite = {"minimum": -float_info.max, "maximum": float_info.max, **schema}
                integer: Any = _limit(int, schema, "minimum", "maximum")
                return integer | _limit(float, finite, "minimum", "maximum")
            case "boolean":
                return bool
            case "null":
                return None
        raise TypeError(f"no type is made of {name}")

    def _object(self, schema: Mapping[str, Any]) -> Any:
        required = schema.get("required", ())
        properties = {name: {} for name in required} | schema.get("properties", {})
        others = schema.get("additionalProperties")
        if not properties and isinstance(others, Mapping):
            value: Any = self._make_type(others)
            return dict[str, value]
        if others not in (None, True):
            raise TypeError("no type is made of properties beside others")
        if not properties or (others and self._retains_all):
            self.is_partial |= bool(properties)
            return dict[str, Any]
        fields = {name: self._make_type(part) for name, part in properties.items()}
        optional = {name: NotRequired[type_] for name, type_ in fields.items() if name not in required}
        return _typed_dict("Fields", fields | optional)


def _limit(plain: type, schema: Mapping[str, Any], *keywords: str) -> Any:
    bounds = {_BOUNDS[keyword]: schema[keyword] for keyword in keywords if keyword in schema}
    return Annotated[plain, msgspec.Meta(**bounds)] if bounds else plain
