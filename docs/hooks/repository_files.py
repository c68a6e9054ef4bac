"""Files outside docs/: the changelog and similar documents as pages, and linked files as pages of their text.

On GitHub a link leads to the file; the site must not need GitHub. So a link from a page to a file or
folder of the repository leads to a page under ``files/`` that shows it.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
}
_LINK = re.compile(r"\]\((?P<path>(?!https?:|mailto:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".md": "text", ".sh": "sh"}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages."""
    root = Path(config.config_file_path).parent
    for name, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(root / name)))
    linked = set()
    for source in [*Path(config.docs_dir).rglob("*.md"), *(root / name for name in (*PAGES, "README.md"))]:
        for link in _LINK.finditer(source.read_text(encoding="utf-8")):
            target = _in_repository(root, source.parent, link["path"])
            if target and target not in (*PAGES, "README.md") and not target.startswith("docs/"):
                linked.add(target)
    for target in sorted(linked):
        page_of, path = _page_of(target), root / target
        if page_of.endswith(".md"):
            files.append(File.generated(config, page_of, content=_shown(path, target)))
        else:
            files.append(File.generated(config, page_of, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links to repository files to their pages."""
    root = Path(config.config_file_path).parent
    here = page.file.src_uri
    folder = root if here in PAGES.values() else root / "docs" / posixpath.dirname(here)

    def led(link: re.Match[str]) -> str:
        target = _in_repository(root, folder, link["path"])
        if target is None or (target.startswith("docs/") and folder != root):
            return link[0]
        anchor = link["anchor"] or ""
        if target == "README.md":  # the entry on GitHub, as the start page is here
            page_of, anchor = "index.md", ""
        elif target.startswith("docs/"):
            page_of = target.removeprefix("docs/")
        else:
            page_of = PAGES.get(target) or _page_of(target)
        return f"]({posixpath.relpath(page_of, posixpath.dirname(here) or '.')}{anchor})"

    return _LINK.sub(led, markdown)


def _in_repository(root: Path, folder: Path, path: str) -> str | None:
    """Return a link's target relative to the repository's root; None if the file is missing."""
    target = Path(os.path.normpath(folder / path))
    return target.relative_to(root).as_posix() if target.is_relative_to(root) and target.exists() else None


def _page_of(target: str) -> str:
    if target.endswith(".ipynb"):
        return f"files/{target}"  # to be taken along, not to be read
    return f"files/{target.replace('.', '_')}.md"


def _shown(path: Path, name: str) -> str:
    inner = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    texts = [f"# {name}\n"]
    for each in inner:
        if "__pycache__" in each.parts:
            continue
        if path.is_dir():
            texts.append(f"## {each.relative_to(path).as_posix()}\n")
        language = _LANGUAGES.get(each.suffix, "text")
        texts.append(f"`````{language}\n{each.read_text(encoding='utf-8').rstrip()}\n`````\n")
    return "\n".join(texts)
