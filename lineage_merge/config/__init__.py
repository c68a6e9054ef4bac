"""The one configuration: read once, checked against its schema, passed down.

Three layers, the later take precedence: the YAML file, environment variables, flags. The keys are in
`config.schema.json`, those of sources in their own schemas; the name of a key's variable and flag follows
from it (``spline.arango.hosts``: ``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``, ``--spline-arango-hosts``). Sources
and exporters are injected (`orchestration.configuration`).
"""

from lineage_merge.config.config_reader import ConfigReader
from lineage_merge.config.keys import Key
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
from lineage_merge.config.validation import parse_default, split_dataset

__all__ = [
    "EMBEDDED",
    "Bulk",
    "Config",
    "ConfigReader",
    "Gremlin",
    "Key",
    "Load",
    "Log",
    "Merge",
    "Metrics",
    "Query",
    "Rule",
    "SparkOptions",
    "parse_default",
    "split_dataset",
]
