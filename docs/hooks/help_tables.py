"""Tables of the command `help`, in place of comments such as ``<!-- exit codes -->``."""

from collections.abc import Callable, Mapping

from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from lineage_merge.cli.exit_codes import EXIT_CODES, ExitCode
from lineage_merge.cli.help_topics import ENVIRONMENT_VARIABLES


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the tables."""
    for place, table in _TABLES.items():
        if place in markdown:
            markdown = markdown.replace(place, table())
    return markdown


def _exit_codes() -> str:
    rows = (f"| {each.code} | {escaped(each.meaning)} | {_action(each)} |" for each in EXIT_CODES)
    return "\n".join(["| exit code | meaning | fix |", "| --- | --- | --- |", *rows])


def _action(code: ExitCode) -> str:
    # The sections are part of the page about operations.
    anchor = code.section.lower().replace(" ", "-")
    link = f" ([{code.section.lower()}](operations.md#{anchor}))" if code.section else ""
    return f"{escaped(code.action)}{link}"


def _environment_variables() -> str:
    rows = (f"| `{name}` | {escaped(text)} |" for name, text in ENVIRONMENT_VARIABLES)
    return "\n".join(["| variable | |", "| --- | --- |", *rows])


_TABLES: Mapping[str, Callable[[], str]] = {
    "<!-- exit codes -->": _exit_codes,
    "<!-- environment variables -->": _environment_variables,
}
