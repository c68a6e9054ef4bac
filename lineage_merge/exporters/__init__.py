"""Exporters of the merged lineage: catalogs, files of other tools. One module or folder each."""
