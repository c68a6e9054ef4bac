"""The lineage as one HTML file that needs nothing else: `render` makes it of a part of the graph."""

from lineage_merge.exporters.page.document import Options, render

__all__ = ["Options", "render"]
