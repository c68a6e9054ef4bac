"""A page per command, generated from the command line, and a list of them in place of ``<!-- commands -->``.

By click's public functions rather than by mkdocs-click: its tables show click's own marks for
"no default", and have no place for the sixty flags that are keys of the configuration.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lineage_merge.cli import commands, main

PROGRAM = "lineage-merge"
_OF_CONFIGURATION = "key_"  # what `lineage_merge.cli.options` begins such a parameter's name with
_TITLE = "Commands"
_GENERAL = "Options"
_PLACE = "<!-- commands -->"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation of the commands."""
    groups: list[Any] = [{heading: [_path(name) for name in names]} for heading, names in _headings().items()]
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


def _headings() -> Mapping[str, list[str]]:
    """Return the commands by heading of the help; "More" has those without one."""
    declared: Mapping[str, Sequence[str]] = getattr(commands, "HEADINGS", {})
    found = {heading: [name for name in names if name in _commands()] for heading, names in declared.items()}
    listed = {name for names in found.values() for name in names}
    found["More" if declared else "All"] = [name for name in _commands() if name not in listed]
    return {heading: names for heading, names in found.items() if names}


def _path(name: str) -> str:
    return f"commands/{name}.md"


def _list() -> str:
    lines = []
    for heading, names in _headings().items():
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
    for title, options in _sections(command, context).items():
        parts.append(f"## {title}\n\n{_options(options, context)}")
    if any(str(each.name).startswith(_OF_CONFIGURATION) for each in command.params):
        parts.append("Each key of the [configuration](../configuration.md) is a flag and a variable.")
    return "\n\n".join(parts) + "\n"


def _sections(command: click.Command, context: click.Context) -> Mapping[str, list[click.Option]]:
    """Return the options by section of the complete help; flags of keys only if they have one."""
    found: dict[str, list[click.Option]] = {_GENERAL: []}
    for each in command.get_params(context):
        section = getattr(each, "section", None)
        if isinstance(each, click.Option) and (section or not str(each.name).startswith(_OF_CONFIGURATION)):
            found.setdefault(section or _GENERAL, []).append(each)
    return {title: options for title, options in found.items() if options}


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
