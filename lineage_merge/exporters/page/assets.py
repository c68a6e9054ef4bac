"""Files of the page."""

from functools import cache
from importlib.resources import files

# In execution order: each adds its part to the namespace that the first one creates.
SCRIPTS = (
    "dom.js",
    "theme.js",
    "measure.js",
    "places.js",
    "processes.js",
    "assertions.js",
    "bands.js",
    "model.js",
    "attention.js",
    "clusters.js",
    "ranking.js",
    "isotonic.js",
    "ordering.js",
    "routing.js",
    "layout.js",
    "frames.js",
    "scene.js",
    "overview_scene.js",
    "column_graph.js",
    "matching.js",
    "viewport.js",
    "cards.js",
    "board.js",
    "pipeline.js",
    "overview.js",
    "column.js",
    "listing.js",
    "details.js",
    "panel.js",
    "search.js",
    "environments.js",
    "filters.js",
    "links.js",
    "keyboard.js",
    "picture.js",
    "exporting.js",
    "heading.js",
    "table_rows.js",
    "transitions.js",
    "events.js",
    "main.js",
)
# Only of a page with several moments, before `main.js`.
MOMENT_SCRIPTS = ("moments.js", "changes.js", "marks.js", "effects.js", "compare.js")


def script_names(*, has_moments: bool) -> tuple[str, ...]:
    """Return the scripts of a page in execution order."""
    return (*SCRIPTS[:-1], *MOMENT_SCRIPTS, SCRIPTS[-1]) if has_moments else SCRIPTS


@cache
def text(name: str) -> str:
    """Return the content of a file of this folder."""
    return files("lineage_merge.exporters.page").joinpath(name).read_text(encoding="utf-8")
