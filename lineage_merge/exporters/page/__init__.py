"""The lineage as one self-contained HTML file: `render` creates it from a part of the graph."""

from lineage_merge.exporters.page.document import Options, render

__all__ = ["Options", "render"]
