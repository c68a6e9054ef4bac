"""Tables of the command `help`, in place of comments such as ``<!-- exit codes -->``."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the tables."""
    for place, table in _TABLES.items():
        if place in markdown:
            markdown = markdown.replace(place, table())
    return markdown


def _exit_codes() -> str:
    codes = _declared("lineage_merge.cli.exit_codes", "EXIT_CODES")
    rows = (f"| {each.code} | {escaped(each.meaning)} | {_action(each)} |" for each in codes)
    return "\n".join(["| exit code | meaning | fix |", "| --- | --- | --- |", *rows])


def _action(code: Any) -> str:
    # The sections are part of the page about operations.
    anchor = code.section.lower().replace(" ", "-")
    link = f" ([{code.section.lower()}](operations.md#{anchor}))" if code.section else ""
    return f"{escaped(code.action)}{link}"


def _environment_variables() -> str:
    declared = _declared("lineage_merge.cli.help_topics", "ENVIRONMENT_VARIABLES")
    rows = (f"| `{name}` | {escaped(text)} |" for name, text in declared)
    return "\n".join(["| variable | |", "| --- | --- |", *rows])


def _declared(module: str, name: str) -> Iterable[Any]:
    """Return a table of the command line; empty if this version has none."""
    return getattr(import_module(module), name) if find_spec(module) else ()


_TABLES: Mapping[str, Callable[[], str]] = {
    "<!-- exit codes -->": _exit_codes,
    "<!-- environment variables -->": _environment_variables,
}
