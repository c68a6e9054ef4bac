"""The table of exit codes, from that of the command line, in place of ``<!-- exit codes -->``."""

from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from lineage_merge.cli.exit_codes import EXIT_CODES, ExitCode

_PLACE = "<!-- exit codes -->"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the table."""
    return markdown.replace(_PLACE, _table()) if _PLACE in markdown else markdown


def _table() -> str:
    rows = (f"| {each.code} | {escaped(each.meaning)} | {_action(each)} |" for each in EXIT_CODES)
    return "\n".join(["| exit code | meaning | fix |", "| --- | --- | --- |", *rows])


def _action(code: ExitCode) -> str:
    # The sections are on the page of the table.
    anchor = code.section.lower().replace(" ", "-")
    link = f" ([{code.section.lower()}](#{anchor}))" if code.section else ""
    return f"{escaped(code.action)}{link}"
