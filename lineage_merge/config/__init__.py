"""The one configuration: read once, checked against its schema, passed down.

Three layers, the later wins: the YAML file, environment variables, flags. Which keys there
are stands in `config.schema.json`; the name of a key's variable and flag follow from it
(``spline.arango.hosts``: ``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``, ``--spline-arango-hosts``).
"""

from collections.abc import Mapping
from pathlib import Path

from lineage_merge.config.keys import Key, schema, settable
from lineage_merge.config.layers import by_key, gather
from lineage_merge.config.settings import (
    EMBEDDED,
    Bulk,
    Config,
    Gremlin,
    Load,
    Log,
    Merge,
    Metrics,
    Query,
    Rule,
    SparkOptions,
)
from lineage_merge.config.validation import parse, parse_default, split_dataset

__all__ = [
    "EMBEDDED",
    "Bulk",
    "Config",
    "Gremlin",
    "Key",
    "Load",
    "Log",
    "Merge",
    "Metrics",
    "Query",
    "Rule",
    "SparkOptions",
    "by_key",
    "gather",
    "load",
    "parse",
    "parse_default",
    "schema",
    "settable",
    "split_dataset",
]


def load(
    file: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    *,
    needs_source: bool = True,
) -> Config:
    """Read and check the configuration: `gather` and `parse`."""
    return parse(gather(file, environ, flags), needs_source=needs_source)
