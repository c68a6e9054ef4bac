"""A page per command, generated from the command line, and a list of commands.

By click's public functions rather than by mkdocs-click: its tables show click's own marks for
"no default", and have no place for the sixty flags that are keys of the configuration.
"""

import inspect
from typing import Any

import click
from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from lineage_merge.cli import main

PROGRAM = "lineage-merge"
_OF_CONFIGURATION = "key_"  # what `lineage_merge.cli.options` begins such a parameter's name with
_TITLE = "Commands"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation of the commands."""
    pages: list[Any] = ["commands/index.md", *(_path(name) for name in _commands())]
    (chapter,) = [each for each in config.nav or [] if _TITLE in each]
    chapter[_TITLE] = pages
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages."""
    files.append(File.generated(config, "commands/index.md", content=_index()))
    for name, command in _commands().items():
        files.append(File.generated(config, _path(name), content=_page(name, command)))
    return files


def _commands() -> dict[str, click.Command]:
    return {name: main.commands[name] for name in main.list_commands(click.Context(main))}


def _path(name: str) -> str:
    return f"commands/{name}.md"


def _index() -> str:
    lines = [
        "# Commands",
        "",
        "Progress goes to standard error, the outcome to standard output. How a command ended is shown by",
        "its [exit code](../operations.md#failed-runs).",
        "",
        "| command | |",
        "| --- | --- |",
    ]
    lines += [
        f"| [`{name}`]({name}.md) | {_cell(command.get_short_help_str(200))} |"
        for name, command in _commands().items()
    ]
    return "\n".join(lines) + "\n"


def _page(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"{PROGRAM} {name}")
    options = [each for each in command.params if isinstance(each, click.Option)]
    own = [each for each in options if not str(each.name).startswith(_OF_CONFIGURATION)]
    parts = [
        f"---\ntitle: {name}\n---\n# {PROGRAM} {name}",
        _text(command.help or ""),
        f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```",
    ]
    if examples := _examples(command.epilog or ""):
        parts.append(f"```sh\n{examples}\n```")
    parts.append(f"## Options\n\n{_options(own, context)}")
    if len(own) < len(options):
        parts.append("Every key of the [configuration](../configuration.md) is a flag as well.")
    return "\n\n".join(parts) + "\n"


def _options(options: list[click.Option], context: click.Context) -> str:
    lines = ["| option | |", "| --- | --- |"]
    for option in options:
        if record := option.get_help_record(context):
            flags, text = record
            lines.append(f"| `{flags}` | {_cell(text)} |")
    return "\n".join(lines)


def _examples(epilog: str) -> str:
    examples = epilog.partition("Examples:\n")[2].partition("\b")[0]
    return inspect.cleandoc(examples)


def _text(text: str) -> str:
    return escaped(inspect.cleandoc(text).replace("\b\n", ""))


def _cell(text: str) -> str:
    return escaped(" ".join(text.split()))
