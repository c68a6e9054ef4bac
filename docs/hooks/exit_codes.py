"""The table of exit codes, from that of the command line, in place of ``<!-- exit codes -->``."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_SOURCE = "lineage_merge.cli.exit_codes"
_PLACE = "<!-- exit codes -->"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the table."""
    return markdown.replace(_PLACE, _table()) if _PLACE in markdown else markdown


def _table() -> str:
    codes: Any = import_module(_SOURCE).EXIT_CODES if find_spec(_SOURCE) else ()
    rows = (f"| {each.code} | {escaped(each.meaning)} | {_action(each)} |" for each in codes)
    return "\n".join(["| exit code | meaning | fix |", "| --- | --- | --- |", *rows])


def _action(code: Any) -> str:
    # The sections are part of the page about operations.
    anchor = code.section.lower().replace(" ", "-")
    link = f" ([{code.section.lower()}](operations.md#{anchor}))" if code.section else ""
    return f"{escaped(code.action)}{link}"
