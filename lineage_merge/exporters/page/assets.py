"""Files of the page, and the layout library that the package build adds to them."""

from functools import cache
from importlib.resources import files

from lineage_merge.model.errors import LineageMergeError

# In execution order: each adds its part to the namespace that the first one creates.
SCRIPTS = (
    "dom.js",
    "model.js",
    "clusters.js",
    "scene.js",
    "layout.js",
    "viewport.js",
    "drawing.js",
    "panel.js",
    "search.js",
    "filters.js",
    "links.js",
    "keyboard.js",
    "theme.js",
    "main.js",
)
LIBRARY = "vendor/dagre.min.js"
_LICENCE = "vendor/dagre.LICENSE.txt"


@cache
def text(name: str) -> str:
    """Return the content of a file of this folder."""
    return files("lineage_merge.exporters.page").joinpath(*name.split("/")).read_text(encoding="utf-8")


def library() -> str:
    """Return the layout library. Raises `LineageMergeError` if the package was built without it."""
    return _built(LIBRARY)


def licence() -> str:
    """Return the layout library's licence. Raises `LineageMergeError` if the package was built without it."""
    return _built(_LICENCE)


def _built(name: str) -> str:
    try:
        return text(name)
    except FileNotFoundError:
        raise LineageMergeError(
            "the page's layout library is missing: this installation was built without access to the npm"
            " registry. Fix: install a released wheel, or run `python hatch_build.py` in the checkout"
        ) from None
