"""dbt: what a `manifest.json` says of a project's datasets and how they feed each other.

`manifest` reads the file's text and checks it, `translate` turns it into elements of
`lineage_merge.model`. Neither opens a file.
"""

from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.nodes import Manifest, Node
from lineage_merge.sources.dbt.translate import translate

__all__ = ["Manifest", "Node", "read_manifest", "translate"]
