"""The interfaces of all questions as data: options, JSON, Python methods and results, tools.

``python -m tests.questions.recorded_interface`` records the current ones: only after a change
that users may see.
"""

import importlib
import inspect
import json
import pkgutil
import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click

import lineage_merge.query
import lineage_merge.questions
from lineage_merge.cli import main
from lineage_merge.mcp.tools import TOOLS, schema
from lineage_merge.query import Lineage, Result
from tests.command_line import in_process
from tests.dbt_shop import graph
from tests.graph_folder import write_folder
from tests.questions.test_ownership import both

RECORDED = Path(__file__).with_name("recorded_interface.json")
# Commands with the arguments that give rows, in one of two folders.
_ASKED = {
    "shop": {
        "freshness": ("--older-than", "36h"),
        "tests": ("shop.main.orders",),
        "why": ("shop.main.orders", "--older-than", "1h"),
        "datasets": ("--columns",),
        "jobs": (),
        "tags": (),
        "upstream": ("shop.main.orders", "--columns", "--influences"),
        "downstream": ("shop.main.stg_orders#amount",),
        "layers": ("--layer", "mart=shop.main.*", "--layer", "raw=shop.main_raw.*"),
        "no-consumer": (),
        "no-producer": (),
        "cycles": (),
    },
    "made": {
        "path": ("raw", "report!"),
        "impact": ("raw#email", "--change", "drop"),
        "owners": ("copy",),
        "diff": ("dev", "prod"),
        "freshness": ("mart",),
    },
}


def interface(folder: Path) -> dict[str, Any]:
    """Return the interfaces; `folder`: for two graphs."""
    return {
        "commands": {name: _options(main.commands[name]) for name in dict(main.group_by_heading())["Ask"]},
        "tools": {
            name: {"input": _untexted(schema(tool.arguments)), "output": _untexted(schema(tool.answer))}
            for name, tool in TOOLS.items()
        },
        "methods": {
            name: _parameters(method)
            for name, method in inspect.getmembers(Lineage, callable)
            if not name.startswith("_")
        },
        "results": {each.__name__: _result(each) for each in _results()},
        "json": _answers(folder),
    }


def missing(recorded: Any, current: Any, path: str = "") -> list[str]:
    """Return the places of what is recorded and is now missing or different; additions are accepted."""
    if isinstance(recorded, dict) and isinstance(current, dict):
        return [
            line
            for key, value in recorded.items()
            for line in (
                missing(value, current[key], f"{path}/{key}")
                if key in current
                else [f"{path}/{key}: missing"]
            )
        ]
    if isinstance(recorded, list) and isinstance(current, list):
        return [f"{path}: {item} is missing" for item in recorded if item not in current]
    return [] if recorded == current else [f"{path}: {recorded} is {current}"]


def _options(command: click.Command) -> dict[str, Any]:
    return {
        "/".join((*each.opts, *each.secondary_opts)): {
            "type": each.type.name,
            "required": each.required,
            "multiple": each.multiple,
            "nargs": each.nargs,
            "is_flag": isinstance(each, click.Option) and each.is_flag,
            "metavar": each.metavar,
            "choices": list(getattr(each.type, "choices", ())),
        }
        for each in command.params
    }


def _untexted(value: Any) -> Any:
    """Return a schema without descriptions, with definitions in place of references."""

    def resolved(part: Any, definitions: dict[str, Any]) -> Any:
        if isinstance(part, dict):
            if "$ref" in part:
                return resolved(definitions[part["$ref"].rpartition("/")[2]], definitions)
            return {
                key: resolved(each, definitions)
                for key, each in part.items()
                if key != "$defs" and not (key == "description" and isinstance(each, str))
            }
        return [resolved(each, definitions) for each in part] if isinstance(part, list) else part

    return resolved(value, value.get("$defs", {}))


def _parameters(method: Any) -> dict[str, Any]:
    return {
        name: {
            "kind": each.kind.name,
            "default": None if each.default is inspect.Parameter.empty else _default(each.default),
        }
        for name, each in inspect.signature(method).parameters.items()
        if name != "self"
    }


def _default(value: Any) -> str:
    return str(value.__name__) if callable(value) else repr(value)


def _results() -> list[type[Result]]:
    """Return the classes of answers, by name."""
    for package in (lineage_merge.query, lineage_merge.questions):
        for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(each.name)
    found: list[type[Result]] = []
    frontier: list[type[Result]] = [Result]  # type: ignore[type-abstract]
    while frontier:
        following = frontier.pop().__subclasses__()
        found += following
        frontier += following
    public = [each for each in found if not each.__name__.startswith("_")]
    return sorted(public, key=lambda each: each.__name__)


def _result(of: type[Result]) -> dict[str, Any]:
    names = {each for each in dir(of) if not each.startswith("_")}
    names |= {each.name for each in fields(of)} if is_dataclass(of) else set()
    columns = getattr(of, "columns", {})
    return {
        "attributes": sorted(names),
        "columns": {name: kind.__name__ for name, kind in columns.items()}
        if isinstance(columns, dict)
        else {},
    }


def _answers(folder: Path) -> dict[str, Any]:
    shop = graph()
    folders = {
        "shop": write_folder(folder / "shop", shop.nodes, shop.edges),
        "made": both().folder(folder / "made"),
    }
    return {
        f"{name} of {place}": _shape(_json(name, *arguments, "--folder", folders[place]))
        for place, asked in _ASKED.items()
        for name, arguments in asked.items()
    }


def _json(*words: str) -> Any:
    outcome = in_process(*words, "--json")
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def _shape(value: Any) -> Any:
    """Return the keys of objects, of which those in a list are one, with the types of their values."""
    if isinstance(value, dict):
        return {key: "object" if key == "properties" else _shape(each) for key, each in value.items()}
    if isinstance(value, list):
        shapes = [_shape(each) for each in value]
        if any(isinstance(each, dict) for each in shapes):
            keys = {key: None for each in shapes for key in each}
            return {"items": {key: _merged([each[key] for each in shapes if key in each]) for key in keys}}
        return {"items": sorted({str(each) for each in shapes})}
    return type(value).__name__


def _merged(shapes: list[Any]) -> Any:
    objects = [each for each in shapes if isinstance(each, dict)]
    if not objects:
        return sorted({str(each) for each in shapes})
    return {key: _merged([each[key] for each in objects if key in each]) for each in objects for key in each}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        lines = [
            f'"{kind}": {{\n'
            + ",\n".join(f'  "{name}": {json.dumps(parts[name], sort_keys=True)}' for name in sorted(parts))
            + "\n}"
            for kind, parts in interface(Path(place)).items()
        ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
