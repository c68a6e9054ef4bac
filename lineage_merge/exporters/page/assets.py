"""The page's own files, and the layout library that was put beside them when the package was built."""

from functools import cache
from importlib.resources import files

from lineage_merge.model.errors import LineageMergeError

# In the order in which they run: each says its part under the name that the first one makes.
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
    """A file of this folder."""
    return files("lineage_merge.exporters.page").joinpath(*name.split("/")).read_text(encoding="utf-8")


def library() -> str:
    """The layout library's text. Raises `LineageMergeError` where the package was built without it."""
    return _built(LIBRARY)


def licence() -> str:
    """The layout library's licence. Raises `LineageMergeError`."""
    return _built(_LICENCE)


def _built(name: str) -> str:
    try:
        return text(name)
    except FileNotFoundError:
        raise LineageMergeError(
            "this installation was built where the npm registry could not be reached, so it lacks the page's "
            "layout library: install a released wheel, or run `python hatch_build.py` in the checkout"
        ) from None
