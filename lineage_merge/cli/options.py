"""The configuration's keys as flags, made from its schema."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lineage_merge import config
from lineage_merge.config import Config

Command = TypeVar("Command", bound=Callable[..., Any])

# Long values are easier in the file; the flag takes them as YAML.
_METAVARS = {"array": "YAML", "object": "YAML", "integer": "N", "number": "N", "boolean": "true|false"}


class Settings:
    """What the command line says of the configuration: a file, and keys set by flag."""

    def __init__(self, file: Path | None, flags: dict[str, str]) -> None:
        self.file = file
        self.flags = flags

    def load(self, default: Path | None = None) -> Config:
        """The configuration; `default` is the file where none was named. Raises `ConfigError`."""
        return config.load(self.file or default, flags=self.flags)


def configured(command: Command) -> Command:
    """Give a command `--config` and a flag for every key; it gets a `Settings`."""

    def gather(**given: Any) -> Any:
        flags = {}
        for key in config.settable():
            text = given.pop(_parameter(key))
            if text is not None:
                flags[key.dotted] = text
        return command(settings=Settings(given.pop("config_file"), flags), **given)

    gather.__name__ = command.__name__
    gather.__doc__ = command.__doc__
    wrapped: Any = gather
    for key in reversed(config.settable()):
        wrapped = click.option(
            key.flag,
            _parameter(key),
            metavar=_metavar(key),
            help=f"{key.schema['description']}  [env: {key.variable}]",
        )(wrapped)
    file = click.option(
        "--config",
        "-c",
        "config_file",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="LINEAGE_MERGE_CONFIG",
        help="the configuration, a YAML file  [env: LINEAGE_MERGE_CONFIG]",
    )
    wrapped = file(wrapped)
    existing = getattr(command, "__click_params__", [])
    wrapped.__click_params__ = [*existing, *wrapped.__click_params__]
    return wrapped  # type: ignore[no-any-return]


def _parameter(key: config.Key) -> str:
    return "key_" + "_".join(key.path)


def _metavar(key: config.Key) -> str:
    if "enum" in key.schema:
        return "|".join(key.schema["enum"])
    return _METAVARS.get(key.schema.get("type", "string"), "TEXT")
