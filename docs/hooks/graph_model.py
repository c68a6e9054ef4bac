"""Tables of labels and properties, from the schema, in place of ``<!-- vertices -->``."""

from collections.abc import Callable, Iterable, Mapping

from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from lineage_merge.graph_format import schema


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the tables."""
    for place, table in _TABLES.items():
        if place in markdown:
            markdown = markdown.replace(place, table())
    return markdown


def _labels(labels: Iterable[schema.Label], always: tuple[str, ...]) -> str:
    lines = ["| label | what it is | properties |", "| --- | --- | --- |"]
    for label in labels:
        named = [f"`{name}`" for name in label.properties if name not in always]
        lines.append(f"| `{label.name}` | {escaped(label.description)} | {', '.join(named)} |")
    return "\n".join(lines)


def _properties(properties: Iterable[schema.Property]) -> str:
    lines = ["| property | type | what it says |", "| --- | --- | --- |"]
    for item in properties:
        kind = f"set of {item.type}s" if item.many else item.type
        lines.append(f"| `{item.name}` | {kind} | {escaped(item.description)} |")
    return "\n".join(lines)


_TABLES: Mapping[str, Callable[[], str]] = {
    "<!-- vertices -->": lambda: _labels(schema.NODE_LABELS, ("name",)),
    "<!-- edges -->": lambda: _labels(schema.EDGE_LABELS, ("job_type", "job_name")),
    "<!-- vertex properties -->": lambda: _properties(schema.NODE_PROPERTIES),
    "<!-- edge properties -->": lambda: _properties(schema.EDGE_PROPERTIES),
}
