"""Chapters of the README, in place of ``<!-- README: Title -->``, to avoid duplicates."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_PLACE = re.compile(r"<!-- README: (.+?) -->")


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the chapters."""
    readme = Path(config.config_file_path).parent / "README.md"
    return _PLACE.sub(lambda found: _chapter(readme.read_text(encoding="utf-8"), found[1]), markdown)


def _chapter(readme: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    if found is None:
        raise PluginError(f"the README has no chapter {title}")
    # Its links start from the repository's root; `repository_files` takes them as a page's of docs/.
    return re.sub(r"\]\((?!https?:|#|docs/)", "](../", found[1]).replace("](docs/", "](").strip()
