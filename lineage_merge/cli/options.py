"""Options: flags for the keys of the configuration, generated from its schema, and common options.

Most keys are set in the file, so their flags are only in `--help-all`, by section of the configuration.
"""

import getpass
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from lineage_merge import config
from lineage_merge.cli.command import Option, add_options
from lineage_merge.cli.completion import complete_dags, complete_environments
from lineage_merge.config import Config
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.registry import SOURCES

Command = TypeVar("Command", bound=Callable[..., Any])

# Structured values are given as YAML.
_METAVARS = {"array": "YAML", "object": "YAML", "integer": "N", "number": "N"}
# The keys in the short help.
_COMMON_KEYS = {"dag_name", "environment", "gremlin.endpoint"}
_COMPLETED = {"dag_name": complete_dags, "environment": complete_environments}
_SECTIONS = {source.key: source.name for source in SOURCES}


def _config_file(text: str) -> Callable[[Any], Any]:
    return click.option(
        "--config",
        "-c",
        "config_file",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="LINEAGE_MERGE_CONFIG",
        help=text,
    )


class CommandSettings(NamedTuple):
    """The configuration file and the keys set by flags."""

    file: Path | None
    flags: dict[str, str]

    def load(self, *, needs_source: bool = True, needs_scope: bool = True) -> Config:
        """Return the configuration, as `ConfigReader.load`. Raises `ConfigError`."""
        try:
            return CONFIGURATION.load(
                self.file, flags=self.flags, needs_source=needs_source, needs_scope=needs_scope
            )
        except ConfigError as error:
            if self.file:
                raise
            *others, last = error.findings
            hint = f"{last.problem} (no configuration file; set one with --config)"
            findings = (*others, ConfigError(last.key, hint, last.origin))
            raise ConfigError(
                findings[0].key, findings[0].problem, findings[0].origin, findings[1:]
            ) from None


def with_configuration(command: Command) -> Command:
    """Add `--config` and a flag for every key to a command; it gets them as `CommandSettings`."""

    @wraps(command)
    def gather(**given: Any) -> Any:
        flags = {}
        for key in CONFIGURATION.settable:
            value = given.pop(_parameter(key))
            if value is not None:
                flags[key.dotted] = str(value)
        return command(settings=CommandSettings(given.pop("config_file"), flags), **given)

    file = _config_file("configuration file (YAML)  [env: LINEAGE_MERGE_CONFIG]")
    options = [file, *map(_option, CONFIGURATION.settable)]
    return add_options(gather, options)  # type: ignore[no-any-return]


def _parameter(key: config.Key) -> str:
    return "key_" + "_".join(key.path)


def _option(key: config.Key) -> Callable[[Any], Any]:
    text = config.format_default(key.schema)
    default = f"default: {text}; " if text else ""
    attributes: dict[str, Any] = {
        "cls": Option,
        "more": key.dotted not in _COMMON_KEYS,
        "section": _section(key),
        "help": f"{key.schema['description']}  [{default}env: {key.variable}]",
        "shell_complete": _COMPLETED.get(key.dotted),
    }
    if key.schema.get("type") == "boolean":
        return click.option(f"{key.flag}/--no-{key.flag[2:]}", _parameter(key), default=None, **attributes)
    return click.option(key.flag, _parameter(key), metavar=_metavar(key), **attributes)


def _section(key: config.Key) -> str:
    """Return the heading of a key: its source or section; "General" for single keys."""
    first = key.path[0]
    return _SECTIONS.get(first) or (first.capitalize() if len(key.path) > 1 else "General")


def _metavar(key: config.Key) -> str:
    if "enum" in key.schema:
        return "|".join(key.schema["enum"])
    if key.schema.get("items", {}).get("type") == "string":
        return "NAME,..."
    kind = key.schema.get("type", "string")
    return "TEXT" if isinstance(kind, list) else _METAVARS.get(kind, "TEXT")


with_config_file = _config_file("configuration file (YAML); flags take precedence")
as_json_or_text = click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
without_progress = click.option("--quiet", "-q", is_flag=True, help="do not show progress")
dry_run_only = click.option("--dry-run", is_flag=True, help="print the changes without writing them")


def user_name() -> str:
    """Return the name of the user of this machine. Raises `click.UsageError` without one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # an id without a name, as in containers
        raise click.UsageError("the user of this machine has no name: set --by") from None
