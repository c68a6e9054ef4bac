"""How large files of SQL are, without reading them."""

from collections.abc import Sequence

from lineage_merge.sources.sql import files
from lineage_merge.sources.sql.settings import SqlFiles


def size(folders: Sequence[SqlFiles]) -> int:
    """The bytes of all files as they are stored. Raises `SourceError`."""
    paths = (path for each in folders for path in (each.path, *each.schema))
    return sum(file.size for path in paths for file in files.stored(path).values())
