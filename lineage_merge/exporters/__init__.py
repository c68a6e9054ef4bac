"""What takes the merged picture on: catalogs, other tools, files. A module or folder each."""
