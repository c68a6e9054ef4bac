"""A page per command, generated from the command line, and a list of them in place of ``<!-- commands -->``.

By click's public functions rather than by mkdocs-click: its tables show click's own marks for
"no default", and know no sections of options.
"""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import click
from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lineage_merge.cli import main
from lineage_merge.cli.command import sections

PROGRAM = "lineage-merge"
_TITLE = "Commands"
_PLACE = "<!-- commands -->"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation of the commands."""
    groups: list[Any] = [
        {heading: [_path(name) for name in names]} for heading, names in main.group_by_heading()
    ]
    for chapter in _chapters(config.nav or []):
        if _TITLE in chapter:
            chapter[_TITLE] = ["commands.md", *groups]
    return config


def _chapters(nav: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the chapters of the navigation, at every level."""
    for chapter in nav:
        if isinstance(chapter, dict):
            yield chapter
            for below in chapter.values():
                if isinstance(below, list):
                    yield from _chapters(below)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, command in _commands().items():
        files.append(File.generated(config, _path(name), content=_page(name, command)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the list."""
    return markdown.replace(_PLACE, _list()) if _PLACE in markdown else markdown


def _commands() -> dict[str, click.Command]:
    return {name: main.commands[name] for name in main.list_commands(click.Context(main))}


def _path(name: str) -> str:
    return f"commands/{name}.md"


def _list() -> str:
    lines = []
    for heading, names in main.group_by_heading():
        lines += [f"## {heading}", "", "| command | |", "| --- | --- |"]
        lines += [
            f"| [`{name}`]({_path(name)}) | {_cell(_commands()[name].get_short_help_str(200))} |"
            for name in names
        ]
        lines.append("")
    return "\n".join(lines)


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
