"""A page per command, generated from the command line, and a list of commands.

By click's public functions rather than by mkdocs-click: its tables show click's own marks for
"no default", and know no sections of options.
"""

import inspect
from typing import Any

import click
from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from lineage_merge.cli import main
from lineage_merge.cli.command import sections

PROGRAM = "lineage-merge"
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
        "Progress is written to standard error, the result to standard output; how a command ended is shown",
        "by its [exit code](../operations.md#failed-runs). `--help` shows the common options of a command,",
        "`--help-all` all. [Shell completion](../completion.md) completes names in the graph.",
    ]
    for title, names in main.by_heading():
        lines += ["", f"## {title}", "", "| command | |", "| --- | --- |"]
        lines += [f"| [`{name}`]({name}.md) | {_cell(_summary(main.commands[name]))} |" for name in names]
    return "\n".join(lines) + "\n"


def _summary(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").partition("\n\n")[0]


def _page(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"{PROGRAM} {name}")
    parts = [
        f"---\ntitle: {name}\n---\n# {PROGRAM} {name}",
        _text(command.help or ""),
        f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```",
    ]
    if examples := _examples(command.epilog or ""):
        parts.append(f"```sh\n{examples}\n```")
    groups = sections(command, context, everything=True)
    parts += [f"## {title}\n\n{_options(records)}" for title, records in groups.items()]
    if len(groups) > 1:
        parts.append("Each key of the [configuration](../configuration.md) is a flag and a variable.")
    return "\n\n".join(parts) + "\n"


def _options(records: list[tuple[str, str]]) -> str:
    lines = ["| option | |", "| --- | --- |"]
    lines += [f"| `{flags}` | {_cell(text)} |" for flags, text in records]
    return "\n".join(lines)


def _examples(epilog: str) -> str:
    examples = epilog.partition("Examples:\n")[2].partition("\b")[0]
    return inspect.cleandoc(examples)


def _text(text: str) -> str:
    return escaped(inspect.cleandoc(text).replace("\b\n", ""))


def _cell(text: str) -> str:
    return escaped(" ".join(text.split()))
