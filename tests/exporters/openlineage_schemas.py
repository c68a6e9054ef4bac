"""OpenLineage's JSON Schemas, as the classes hold them that its client generates from them.

Which properties each object has, of which types, and which of them it must have. Stricter than the
specification: what the client's version does not know is not allowed, so that a typing error is found.
"""

import types
import typing
from enum import Enum
from typing import Any, Union

import attr
from jsonschema import Draft202012Validator, FormatChecker
from openlineage.client import facet_v2
from openlineage.client.event_v2 import DatasetEvent, InputDataset, JobEvent, OutputDataset, RunEvent
from openlineage.client.generated import base

_FACETS = {
    cls._get_schema().partition("#")[0]: cls
    for module in vars(facet_v2).values()
    if isinstance(module, types.ModuleType)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, base.BaseFacet) and cls.__module__ == module.__name__
}
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}
_FORMATS = {"eventTime": "date-time", "producer": "uri", "schemaURL": "uri", "runId": "uuid"}


def problems(event: dict[str, Any]) -> list[str]:
    """What is wrong with an event, and with each facet of it; nothing where it is valid."""
    cls = RunEvent if "run" in event else DatasetEvent if "dataset" in event else JobEvent
    return [f"{each.json_path}: {each.message}" for each in _validator(cls).iter_errors(event)] + [
        f"{facet['_schemaURL']}{each.json_path}: {each.message}"
        for facet in _facets(event)
        for each in _validator(_FACETS[facet["_schemaURL"].partition("#")[0]]).iter_errors(facet)
    ]


def _facets(event: dict[str, Any]) -> list[dict[str, Any]]:
    holders = [event[part] for part in ("job", "run", "dataset") if part in event]
    holders += [*event.get("inputs", ()), *event.get("outputs", ())]
    return [facet for each in holders for facet in each.get("facets", {}).values()]


def _validator(cls: type) -> Draft202012Validator:
    return Draft202012Validator(_schema(cls), format_checker=FormatChecker())


def _schema(kind: Any) -> dict[str, Any]:
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _schema(next(each for each in typing.get_args(kind) if each is not type(None)))
    if origin is list:
        return {"type": "array", "items": _schema(typing.get_args(kind)[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(typing.get_args(kind)[1])}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if kind is Any or kind in _OPEN:
        return {"type": "object", "required": ["_producer", "_schemaURL"]}
    return _object(kind)


_OPEN = {
    getattr(base, name)
    for name in ("DatasetFacet", "JobFacet", "RunFacet", "InputDatasetFacet", "OutputDatasetFacet")
}
_ALWAYS = {"_producer", "_schemaURL", "schemaURL", "producer"}
_LEVELS = 3  # of fields of fields


def _object(cls: type, levels: int = _LEVELS) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    declared = {each.name: each for each in attr.fields(cls)}
    properties: dict[str, Any] = {}
    for name in declared:
        if name == "fields" and cls.__name__.endswith("Fields"):
            nested = {"items": _object(cls, levels - 1)} if levels else {"maxItems": 0}
            properties[name] = {"type": "array", **nested}
        else:
            properties[name] = _schema(hints[name])
        if name in _FORMATS:
            properties[name] |= {"format": _FORMATS[name]}
    needed = [name for name, each in declared.items() if each.default is attr.NOTHING or name in _ALWAYS]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


# Referred to by name in annotations.
__all__ = ["InputDataset", "OutputDataset", "problems"]
