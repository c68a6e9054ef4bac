"""A table of the configuration keys, from the schema, in place of ``<!-- keys -->``."""

from typing import Any

from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from lineage_merge.orchestration.configuration import CONFIGURATION

_PLACE = "<!-- keys -->"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the table."""
    return markdown.replace(_PLACE, _table()) if _PLACE in markdown else markdown


def _table() -> str:
    rows = (
        f"| `{key.dotted}` | {escaped(key.schema['description'])}{_more(key.schema)} |"
        for key in CONFIGURATION.settable
    )
    return "\n".join(["| key | what it says |", "| --- | --- |", *rows])


def _more(schema: Any) -> str:
    parts = []
    if "enum" in schema:
        parts.append("one of " + ", ".join(f"`{value}`" for value in schema["enum"]))
    if "default" in schema:
        value = schema["default"]
        parts.append(f"default: `{str(value).lower() if isinstance(value, bool) else value}`")
    return f" ({'; '.join(parts)})" if parts else ""
